"""Exact labelling by eliminating one variable after the other: dynamic programming on chains, on trees, on anything narrow.

To eliminate a variable is to add up all tables that it is in, and keep, for every choice of the variables around it, the
cheapest of its own values. Of the chain 0 - 1 - 2, variable 0 leaves a table over 1, then 1 one over 2. On a tree every
table is over one variable; the widest table that an order leads to is the width of the graph in that order, and its size is
what the method costs. The next variable is always the one with the smallest table.

>>> network = Network([np.array([0.0, 5]), np.array([4.0, 0]), np.zeros(2)], [{}, {}, {}])
>>> network.add(0, 1, 3 * (1 - np.eye(2))); network.add(1, 2, 3 * (1 - np.eye(2)))
>>> order = elimination_order(network, [0, 1, 2], most=2**20)
>>> order.variables, order.width, eliminate(network, order.variables)
((0, 1, 2), 1, (3.0, {2: 1, 1: 1, 0: 0}))
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.propagation.labelling.network import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Factor = tuple[tuple[int, ...], NDArray[np.float64]]

__all__ = ["Order", "eliminate", "elimination_order"]


@dataclass(frozen=True, slots=True)
class Order:
    """Variables in the order of their elimination; `rest` are those that are left when tables would become too large.

    >>> Order((0, 1), (), entries=8, width=1).rest
    ()
    """

    variables: tuple[int, ...]
    rest: tuple[int, ...]
    entries: int
    """How many entries all tables have together."""
    width: int
    """The most variables that one elimination leaves a table over."""


def elimination_order(network: Network, variables: Iterable[int], most: int) -> Order:
    """An order that always takes the variable with the smallest table next, until one has over `most` entries.

    >>> ring = Network([np.zeros(2) for _ in range(5)], [{} for _ in range(5)])
    >>> for one in range(5):
    ...     ring.add(one, (one + 1) % 5, np.eye(2))
    >>> elimination_order(ring, range(5), most=2**20).width
    2
    """
    inside = set(variables)
    around = {one: {other for other in network.neighbours[one] if other in inside} for one in inside}
    sizes = {one: len(network.unary[one]) for one in inside}

    def entries(one: int) -> int:
        return sizes[one] * prod(sizes[other] for other in around[one])

    waiting = [(entries(one), one) for one in inside]
    heapq.heapify(waiting)
    order: list[int] = []
    total = width = 0
    while waiting:
        size, one = heapq.heappop(waiting)
        if one not in around or size != entries(one):
            continue
        if size > most:
            break
        order.append(one)
        total += size
        clique = around.pop(one)
        width = max(width, len(clique))
        for other in clique:
            around[other] |= clique
            around[other] -= {one, other}
        for other in clique:
            heapq.heappush(waiting, (entries(other), other))
    return Order(tuple(order), tuple(sorted(around)), total, width)


def eliminate(network: Network, order: Sequence[int]) -> tuple[float, dict[int, int]]:
    """The least cost of the variables in `order` by themselves, and their values; infinite where no values are possible.

    >>> network = Network([np.array([np.inf, 1]), np.zeros(1)], [{}, {}])
    >>> network.add(0, 1, np.array([[0.0], [np.inf]]))
    >>> eliminate(network, [0, 1])
    (inf, {})
    """
    place = {one: at for at, one in enumerate(order)}
    buckets: list[list[Factor]] = [[] for _ in order]
    for one in order:
        buckets[place[one]].append(((one,), network.unary[one]))
        for other, table in network.neighbours[one].items():
            if place.get(other, -1) > place[one]:
                buckets[place[one]].append(((one, other), table))
    chosen: list[tuple[tuple[int, ...], NDArray[np.intp]]] = []
    total = 0.0
    for at, one in enumerate(order):
        scope, table = combined(buckets[at], one, place)
        best = table.min(axis=0)
        chosen.append((scope[1:], table.argmin(axis=0).astype(np.int16)))
        if len(scope) == 1:
            total += float(best)
        else:
            buckets[place[scope[1]]].append((scope[1:], best))
        buckets[at] = []
    if total == np.inf:
        return total, {}
    values: dict[int, int] = {}
    for one, (scope, best) in zip(reversed(order), reversed(chosen), strict=True):
        values[one] = int(best[tuple(values[other] for other in scope)])
    return total, values


def combined(factors: Sequence[Factor], one: int, place: dict[int, int]) -> Factor:
    """The sum of tables over the variables of all of them: `one` first, then in the order of `place`.

    >>> scope, table = combined([((1,), np.zeros(2)), ((1, 0), np.ones((2, 3)))], 1, {1: 0, 0: 1})
    >>> scope, table.shape
    ((1, 0), (2, 3))
    """
    scope = sorted({other for names, _ in factors for other in names}, key=place.__getitem__)
    axis = {other: at for at, other in enumerate(scope)}

    def aligned(names: tuple[int, ...], table: NDArray[np.float64]) -> NDArray[np.float64]:
        shape = [1] * len(scope)
        for name, extent in zip(names, table.shape, strict=True):
            shape[axis[name]] = extent
        order = sorted(range(len(names)), key=lambda at: axis[names[at]])
        return table.transpose(order).reshape(shape)

    return tuple(scope), reduce(np.add, (aligned(names, table) for names, table in factors))
