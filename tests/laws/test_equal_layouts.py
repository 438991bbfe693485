"""Equal layouts answer alike: every public operation is a function of the relation, not of how a layout was written.

Layouts are written in another way that is `==`: digits split and joined, factors of extent 1, replicas in another order or
with others added to them, a digit XORed with what a replica flips anyway. Then every operation gives equal answers, or
refuses both.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core import Factor, Layout, LayoutError, Table, block_product, compose, compose_exactly, index_function
from layoutalg.core.distributing import collect, distribute
from layoutalg.core.factors import XorFactor, xor_factor
from tests.laws.xor import covering, spread

PARTS = 20
EACH = 400 if os.environ.get("LAYOUTALG_EXHAUSTIVE") else 25


def rewritten(rng: random.Random, layout: Layout) -> Layout:
    """An equal layout that is written in another way, through `of_parts` or the constructor."""
    dims = [_split(rng, factors) for factors in layout.dims]
    replicas = _split(rng, layout.replicas)
    flips = None if layout.flips is None else set(layout.flips)
    rng.shuffle(replicas)
    if flips is not None:
        spans = [set(one.places) for one in replicas if isinstance(one, XorFactor)]
        if spans and rng.random() < 0.5:
            flips ^= rng.choice(spans)
        if spans:
            dims = [[_moved(rng, factor, rng.choice(spans)) for factor in factors] for factors in dims]
        if len(spans) > 1:
            i, j = rng.sample(range(len(spans)), 2)
            at = [k for k, one in enumerate(replicas) if isinstance(one, XorFactor)]
            if spans[i] != spans[j]:
                replicas[at[i]] = xor_factor(spans[i] ^ spans[j])
    parts = tuple(map(tuple, dims)), tuple(replicas)
    if rng.random() < 0.5:
        starts = tuple(sorted(layout.offsets.items()))
        how = None if flips is None else tuple(sorted(flips))
        return Layout.of_parts(*parts, starts, layout.names, layout.origins, layout.codomain_order, how)
    return Layout(
        *parts, layout.offsets, names=layout.names, origins=layout.origins, codomain=layout.codomain_order,
        flips=None if flips is None else sorted(flips),
    )  # fmt: skip


def _split(rng: random.Random, factors: tuple[Factor, ...]) -> list[Factor]:
    found: list[Factor] = []
    for factor in factors:
        if rng.random() < 0.2:
            found.append(Factor(1, 1, rng.choice(("sg", "lane", "reg"))))
        if isinstance(factor, XorFactor):
            found.append(factor)
            continue
        extent, stride, axis = factor
        inner = rng.choice([n for n in range(1, int(extent) + 1) if int(extent) % n == 0])
        found += [
            f for f in (Factor(extent // inner, stride * inner, axis), Factor(inner, stride, axis)) if f.extent > 1
        ]
    return found


def _moved(rng: random.Random, factor: Factor, places: set[tuple[str, int]]) -> Factor:
    if not isinstance(factor, XorFactor) or rng.random() < 0.5 or set(factor.places) == places:
        return factor
    return xor_factor(set(factor.places) ^ places)


def plain(rng: random.Random) -> Layout:
    """Factors with strides alone, any strides, some that meet."""

    def factor(extents: tuple[int, ...] = (2, 3, 4, 6, 8)) -> Factor:
        return Factor(
            rng.choice(extents), rng.choice((0, 1, 1, 2, 2, 3, 4, 6, 8, 16)), rng.choice(("lane", "reg", "addr"))
        )

    dims = [[factor() for _ in range(rng.randint(0, 2))] for _ in range(rng.randint(1, 2))]
    dims = [[f if f.stride else Factor(f.extent) for f in factors] for factors in dims]
    copies = [f for f in (factor((2, 3)) for _ in range(rng.choice((0, 0, 1)))) if f.stride]
    return Layout(dims, copies, {"addr": rng.choice((0, 0, 5))})


def some_layout(rng: random.Random) -> Layout:
    kind = rng.random()
    if kind < 0.3:
        return plain(rng)
    if kind < 0.5:
        return spread(rng, ("lane", "reg")) or covering(rng)
    return covering(rng, most=64)


def answer(operation: Callable[[Layout], Any], layout: Layout) -> Any:
    """What an operation says, in a form that `==` compares; the kind of its refusal where it refuses."""
    try:
        found = operation(layout)
    except LayoutError as refused:
        return "refused", type(refused).__name__
    return _plain(found)


def _plain(found: Any) -> Any:
    if isinstance(found, np.ndarray):
        return found.shape, found.tolist()
    if isinstance(found, dict):
        return {key: str(value) for key, value in found.items()}
    if isinstance(found, (tuple, list)):
        return [_plain(one) for one in found]
    return found


def operations(rng: random.Random, layout: Layout) -> dict[str, Callable[[Layout], Any]]:
    """Every public operation, with arguments for a layout of this shape."""
    shape: Any = layout.shape
    rank = layout.rank
    dim = rng.randrange(rank) if rank else 0
    whole = shape[dim] if rank else 1
    size = rng.randint(1, whole)
    start = rng.randint(0, whole - size)
    order = rng.sample(range(rank), rank)
    element = [rng.randrange(n) + o for n, o in zip(shape, layout.origins, strict=True)]
    count = prod(shape)
    flat = rng.choice([n for n in range(1, count + 1) if count % n == 0])
    tile = [rng.choice([n for n in range(1, size + 1) if size % n == 0]) for size in shape]
    repeats = [rng.randint(1, 3) for _ in shape]
    inner = Layout(
        [[(rng.choice((2, 3, 4)), rng.choice((1, 2, 3)), rng.choice(layout.names))] for _ in range(rng.randint(1, 2))]
    )
    blocks = Layout([[(rng.choice((1, 2, 3)), 1, rng.choice(("reg", "lane")))] for _ in shape], names=layout.names)
    outer = rng.choice(
        (
            Layout.parse("lane = 4@a 4@b, reg = 8@a:4 2@c"),
            Layout.parse("lane = 2@(a^a:2) 8@b, reg = 2@(a) 8@c, addr = 16@d, sg = 1"),
        )
    )
    tensor = np.arange(count).reshape(shape)
    other = rewritten(rng, layout)
    found: dict[str, Callable[[Layout], Any]] = {
        "text": lambda x: str(x.canonical()), "hash": hash, "==": lambda x: x == other,
        "shape": lambda x: x.shape,
        "rank": lambda x: x.rank, "names": lambda x: x.names, "offsets": lambda x: x.canonical().offsets,
        "origins": lambda x: x.origins, "codomain": lambda x: x.codomain, "axes": lambda x: x.axes,
        "spans": lambda x: x.spans(),
        "fragment_shape": lambda x: x.fragment_shape, "conditions": lambda x: x.conditions,
        "levels": lambda x: sorted(x.levels),
        "operand": lambda x: x.operands()[0].layout, "tensor_shape": lambda x: x.tensor_shape(),
        "layout": lambda x: x.layout(shape),
        "addresses": lambda x: x.addresses(), "coordinates": lambda x: x.coordinates(), "inverse": lambda x: x.inverse(),
        "twice": lambda x: x.inverse().inverse(), "product": lambda x: blocks * x, "blocks": lambda x: block_product(x, blocks),
        "permute": lambda x: x.permute(order), "reshape": lambda x: x.reshape((flat, count // flat)),
        "slice": lambda x: x.slice(dim), "broadcast": lambda x: x.broadcast(dim, 3), "tile": lambda x: x.tile(repeats),
        "divide": lambda x: x.divide(tile), "restrict": lambda x: x.restrict(dim, start, size),
        "fragment_map": lambda x: x.fragment_map(), "lane 0": lambda x: x.fragment_map(lane=0),
        "coords": lambda x: x.coords(lane=0),
        "owners": lambda x: x.owners(element), "owner_map": lambda x: x.owner_map(x.codomain[-1]),
        "axis_exprs": lambda x: x.axis_exprs(), "index_exprs": lambda x: x.index_exprs(),
        "index_function": lambda x: index_function(x)(*element), "substitute": lambda x: x.substitute(),
        "compose": lambda x: compose(x, inner), "composed": lambda x: compose(outer, x),
        "self": lambda x: compose(x, x.inverse()),
        "exactly": lambda x: compose_exactly(x, inner), "table": Table.of, "distribute": lambda x: distribute(x, tensor),
        "collect": lambda x: collect(x, distribute(x, tensor)), "to_xegpu": la.to_xegpu, "to_nested": la.to_nested,
        "to_cute": la.to_cute,
        "to_linear_layout": la.to_linear_layout, "swizzled": lambda x: la.swizzled(x, la.Swizzle(1, 0, 2), "addr"),
        "same": lambda x: (bool(la.same(x, other)), str(la.same(x, blocks))), "banks": la.bank_conflicts,
        "coalescing": lambda x: la.coalescing(x, element_bits=32),
        "memory": lambda x: la.bank_conflicts(f"d0 = {count}@lane", memory=x) if rank < 2 else 0,
    }  # fmt: skip
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_equal_layouts_give_equal_answers_or_are_both_refused(part: int) -> None:
    for i in range(EACH):
        rng = random.Random(f"equal {part} {i}")
        layout = some_layout(rng)
        other = rewritten(rng, layout)
        assert other == layout
        for name, operation in operations(rng, layout).items():
            assert answer(operation, layout) == answer(operation, other), f"{name} of {layout} and {other}"
