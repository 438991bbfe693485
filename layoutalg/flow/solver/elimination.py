"""Labelling by eliminating one variable after the other: dynamic programming on chains, on trees, on anything narrow.

To eliminate a variable is to add up all tables that it is in, and keep, for every choice of the variables around it, the
cheapest of its own values. Of the chain 0 - 1 - 2, variable 0 leaves a table over 1, then 1 one over 2. On a tree every
table is over one variable; the widest table that an order leads to is the width of the graph in that order, and its size is
what the method costs. The next variable is always the one with the smallest table.

>>> network = Network([np.array([0.0, 5]), np.array([4.0, 0]), np.zeros(2)], [{}, {}, {}])
>>> network.add(0, 1, 3 * (1 - np.eye(2))); network.add(1, 2, 3 * (1 - np.eye(2)))
>>> order = elimination_order(network, [0, 1, 2], most=2**20)
>>> order.variables, order.width, eliminate(network, order.variables)
((0, 1, 2), 1, (3.0, {2: 1, 1: 1, 0: 0}))

Where a graph is too wide, the tables of a variable are added up in groups that are small enough, and each group takes the
variable's cheapest value by itself: the result is a bound ("mini-buckets", Dechter and Rish, 2003).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.flow.solver.network import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Factor = tuple[tuple[int, ...], NDArray[np.float64]]

__all__ = ["Order", "bounded", "combined", "eliminate", "elimination_order"]


@dataclass(frozen=True, slots=True)
class Order:
    """Variables in the order of their elimination; `rest` are those that are left when tables would become too large."""

    variables: tuple[int, ...]
    rest: tuple[int, ...]
    entries: int
    """How many entries all tables have together."""
    width: int
    """The most variables that one elimination leaves a table over."""


def elimination_order(
    network: Network, variables: Iterable[int], most: int, *, fixed: dict[int, int] | None = None
) -> Order:
    """An order that always takes the variable with the smallest table next, until one has over `most` entries.

    With `fixed`, it goes on: of the variables that make the table large, one is fixed, which takes it out of all tables.
    That is the one with the most neighbours, where `fixed` doesn't say that it was fixed more often.
    """
    inside = set(variables)
    around = {one: {other for other in network.neighbours[one] if other in inside} for one in inside}
    sizes = {one: len(network.unary[one]) for one in inside}

    def entries(one: int) -> int:
        """The size of a table, or `most` + 1 for a larger one: nobody multiplies what thousands of neighbours have."""
        found = sizes[one]
        for other in around[one]:
            found *= sizes[other]
            if found > most:
                return most + 1
        return found

    waiting = [(entries(one), one) for one in inside]
    heapq.heapify(waiting)
    order: list[int] = []
    rest: list[int] = []
    total = width = 0
    while waiting:
        size, one = heapq.heappop(waiting)
        if one not in around or size != entries(one):
            continue
        if size <= most:
            order.append(one)
            total += size
            clique = around.pop(one)
            width = max(width, len(clique))
            for other in clique:
                around[other] |= clique
                around[other] -= {one, other}
        elif fixed is None:
            break
        else:
            times = fixed
            one = min((one, *around[one]), key=lambda other: (times.get(other, 0), -len(around[other]), other))
            rest.append(one)
            clique = around.pop(one)
            for other in clique:
                around[other].discard(one)
        for other in clique:
            heapq.heappush(waiting, (entries(other), other))
    # Those that are left come in about the order in which they would have gone.
    left = sorted(around, key=lambda one: (len(around[one]), one))
    return Order(tuple(order), tuple(rest + left), total, width)


def eliminate(network: Network, order: Sequence[int]) -> tuple[float, dict[int, int]]:
    """The least cost of the variables in `order` by themselves, and their values; infinite where no values are possible."""
    place, buckets = _buckets(network, order)
    chosen: list[tuple[tuple[int, ...], NDArray[np.intp]]] = []
    total = 0.0
    for at, one in enumerate(order):
        scope, table = combined(buckets[at], one, place)
        buckets[at] = []
        best = table.min(axis=0)
        chosen.append((scope[1:], table.argmin(axis=0).astype(np.int16)))
        if len(scope) == 1:
            total += float(best)
        else:
            buckets[place[scope[1]]].append((scope[1:], best))
    if total == np.inf:
        return total, {}
    values: dict[int, int] = {}
    for one, (scope, best) in zip(reversed(order), reversed(chosen), strict=True):
        values[one] = int(best[tuple(values[other] for other in scope)])
    return total, values


def bounded(network: Network, order: Sequence[int], most: int) -> tuple[float, dict[int, int]]:
    """A lower bound of the cost with tables of at most `most` entries (or of one pair), and values that follow from them."""
    place, buckets = _buckets(network, order)
    total = 0.0
    for at, one in enumerate(order):
        groups = [combined(group, one, place) for group in _groups(network, buckets[at], most)]
        # Groups that agree on what each value of the variable costs at best lose less (moment matching).
        least = [table.reshape(len(table), -1).min(axis=1) for _, table in groups]
        with np.errstate(invalid="ignore"):
            mean = reduce(np.add, least) / len(groups)
            shifts = [np.where(np.isfinite(mean), mean - own, 0.0) for own in least]
        for (scope, table), shift in zip(groups, shifts, strict=True):
            if len(groups) > 1:
                table = table + shift.reshape(-1, *[1] * (table.ndim - 1))
            best = table.min(axis=0)
            if len(scope) == 1:
                total += float(best)
            else:
                buckets[place[scope[1]]].append((scope[1:], best))
    values: dict[int, int] = {}
    for at, one in reversed(list(enumerate(order))):
        costs = np.zeros(len(network.unary[one]))
        for scope, table in buckets[at]:
            index = tuple(slice(None) if other == one else values[other] for other in scope)
            costs = costs + table[index]
        values[one] = int(costs.argmin())
    return total, values


def _buckets(network: Network, order: Sequence[int]) -> tuple[dict[int, int], list[list[Factor]]]:
    """The costs of the network, each with the variable that is eliminated first."""
    place = {one: at for at, one in enumerate(order)}
    buckets: list[list[Factor]] = []
    for at, one in enumerate(order):
        around = network.neighbours[one].items()
        later = [((one, other), table) for other, table in around if place.get(other, -1) > at]
        buckets.append([((one,), network.unary[one]), *later])
    return place, buckets


def _groups(network: Network, factors: Sequence[Factor], most: int) -> list[list[Factor]]:
    """Factors in groups whose common tables have at most `most` entries, the widest factors first."""
    groups: list[tuple[set[int], list[Factor]]] = []
    for factor in sorted(factors, key=lambda factor: -factor[1].size):
        for scope, group in groups:
            if prod(len(network.unary[other]) for other in scope.union(factor[0])) <= most:
                scope.update(factor[0])
                group.append(factor)
                break
        else:
            groups.append((set(factor[0]), [factor]))
    return [group for _, group in groups]


def combined(factors: Sequence[Factor], one: int, place: dict[int, int]) -> Factor:
    """The sum of tables over the variables of all of them: `one` first, then in the order of `place`."""
    scope = sorted({other for names, _ in factors for other in names}, key=place.__getitem__)
    axis = {other: at for at, other in enumerate(scope)}

    def aligned(names: tuple[int, ...], table: NDArray[np.float64]) -> NDArray[np.float64]:
        shape = [1] * len(scope)
        for name, extent in zip(names, table.shape, strict=True):
            shape[axis[name]] = extent
        order = sorted(range(len(names)), key=lambda at: axis[names[at]])
        return table.transpose(order).reshape(shape)

    return tuple(scope), reduce(np.add, (aligned(names, table) for names, table in factors))
