"""Larger problems in the shapes of real kernels, with costs drawn at random.

Labels are layouts: what a conversion costs depends on the two layouts, and is 0 from a layout to itself. Most operations
(elementwise ones) need their operands in their own layout, some (transposes) in another one, some (matrix
instructions) in one layout whatever else they choose. Loads are cheaper in some layouts than in others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from layoutalg.flow.solver import Problem, Use

Pairs = list[tuple[int, int]]


def chain_with_skips(draw: Any, nodes: int) -> Pairs:
    """Each uses the one before; every fourth also one of up to 40 earlier."""
    pairs = [(user - 1, user) for user in range(1, nodes)]
    return pairs + [(int(draw.integers(max(0, user - 40), user)), user) for user in range(2, nodes, 4)]


def attention(draw: Any, nodes: int) -> Pairs:
    """Blocks of q k -> s -> max, sub, exp, sum -> p v -> o, where o, max and sum are carried from block to block."""
    pairs: Pairs = []
    size, q, carried = 1, 0, (0, 0, 0)
    while size + 12 <= nodes:
        k, v, s, top, low, p, total, scale, old, pv, o, cast = range(size, size + 12)
        m, d, a = carried
        pairs += [(q, s), (k, s), (s, top), (m, top), (s, low), (top, low), (low, p), (p, total), (d, total)]
        pairs += [(top, scale), (m, scale), (scale, total), (a, old), (scale, old), (p, cast), (cast, pv), (v, pv)]
        pairs += [(pv, o), (old, o)]
        carried, size = (top, total, o), size + 12
    return pairs + [(size - 1, one) for one in range(size, nodes)]


def unrolled_gemm(draw: Any, nodes: int) -> Pairs:
    """A tile of 4 x 4 accumulators (8 x 8 from 1,000 nodes on): each step loads 4 of A and 4 of B, and multiplies all."""
    side = 8 if nodes >= 1000 else 4
    step = 2 * side + side * side
    pairs: Pairs = []
    for start in range(0, nodes - step + 1, step):
        for i in range(side):
            for j in range(side):
                c = start + 2 * side + i * side + j
                pairs += [(start + i, c), (start + side + j, c)] + ([(c - step, c)] if start else [])
    return pairs + [(one - 1, one) for one in range(nodes - nodes % step, nodes)]


def random_dag(draw: Any, nodes: int) -> Pairs:
    """Each uses up to three of the 30 before it."""
    return [
        (int(draw.integers(max(0, user - 30), user)), user)
        for user in range(1, nodes)
        for _ in range(draw.integers(1, 4))
    ]


def far_dag(draw: Any, nodes: int) -> Pairs:
    """Each uses one or two of all before it: about three neighbours, and no structure at all."""
    return [(int(draw.integers(0, user)), user) for user in range(1, nodes) for _ in range(draw.integers(1, 3))]


def loops(draw: Any, nodes: int) -> Pairs:
    """A chain with skips, cut into bodies whose last value is carried to their first."""
    backwards = [(min(start + 25, nodes) - 1, start) for start in range(0, nodes, 25)]
    return chain_with_skips(draw, nodes) + [pair for pair in backwards if pair[0] != pair[1]]


SHAPES: dict[str, Callable[[Any, int], Pairs]] = {
    one.__name__: one for one in (chain_with_skips, attention, unrolled_gemm, random_dag, far_dag, loops)
}


def kernel(shape: str, nodes: int, seed: int, *, layouts: int = 5, wild: bool = False) -> Problem:
    """A problem of this shape; with `wild` the needs and all costs are independent of each other."""
    draw = np.random.default_rng([seed, nodes, list(SHAPES).index(shape)])
    pairs = SHAPES[shape](draw, nodes)
    made = [
        sorted(draw.choice(layouts, draw.integers(1, min(layouts, 5) + 1), replace=False).tolist())
        for _ in range(nodes)
    ]
    between = draw.integers(4, 60, (layouts, layouts))
    between = (between + between.T) // 2
    np.fill_diagonal(between, 0)
    weight = draw.choice([1, 1, 2, 4], nodes)
    used = {maker for maker, _ in pairs}
    makers = {user for _, user in pairs}
    costs: list[tuple[int, ...]] = []
    for node in range(nodes):
        loaded = node not in makers
        price = draw.integers(0, 80 if loaded else 8, layouts) * (weight[node] if loaded else 1)
        if node not in used or draw.random() < 0.1:
            price = price + draw.integers(0, 60, layouts) * weight[node]
        costs.append(tuple(int(price[label]) for label in made[node]))
    uses: list[Use] = []
    for maker, user in pairs:
        kind = draw.random()
        if wild:
            needs = draw.integers(0, layouts, len(made[user]))
        elif kind < 0.7:
            needs = np.array(made[user])
        elif kind < 0.85:
            needs = draw.permutation(layouts)[made[user]]
        else:
            needs = np.full(len(made[user]), draw.integers(0, layouts))
        uses.append(Use(maker, user, tuple(map(int, needs))))
    if wild:
        tables = [draw.integers(0, 60, (len(made[node]), layouts)) for node in range(nodes)]
    else:
        tables = [between[made[node]] * weight[node] for node in range(nodes)]
    return Problem(costs, uses, tables)
