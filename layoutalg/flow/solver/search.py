"""What is too wide to eliminate: a bound from messages, values from regions, and branch and bound between the two.

A part of the problem is a network and what it has at least to cost. The part with the lowest bound is next: it is reduced; if
tables are small enough now it is solved exactly; otherwise messages raise its bound, and their hints at values are improved
region by region. Values that the bound rules out, as they can't be part of anything cheaper than what is known, are dropped,
after which more can be reduced. A part that is still open is split by the values of one variable. When the budget is spent,
the lowest bound of the open parts holds for the whole.

Six variables of two values, where each pair that agrees costs 1: at best, three take one value and three the other.

>>> clique = Network([np.zeros(2) for _ in range(6)], [{} for _ in range(6)])
>>> for one in range(6):
...     for other in range(one):
...         clique.add(one, other, np.eye(2))
>>> search(clique, range(6), budget=10**7, most=8).bound
6
>>> search(clique, range(6), budget=0, most=8).bound
3
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.flow.solver.elimination import bounded, eliminate, elimination_order
from layoutalg.flow.solver.messages import MOST_ENTRIES, Messages, table_entries
from layoutalg.flow.solver.network import Network, cost_in
from layoutalg.flow.solver.reduction import ReducedNetwork, reduced
from layoutalg.flow.solver.regions import improved

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OVERHEAD", "Solution", "search"]

OVERHEAD = 1 << 12
"""What the bookkeeping of one variable takes, in entries of tables that are computed in the same time."""

# How much is done for a part; the first one, which is the whole, gets more.
_SWEEPS, _FEW_SWEEPS = 300, 10
_FIRST_GROUPS, _GROUPS = 1 << 14, 1 << 11
_FIRST_REGIONS, _NEXT_REGIONS, _REGIONS = ((1 << 10, 2), (1 << 13, 2)), ((1 << 13, 2),), ((1 << 10, 1),)
_ROUNDS = 4
_WORTHWHILE = 50
"""A further round is worth it when one value of so many was dropped."""
_LAST = 1 << 22
"""So much is left when the budget is spent, for tables that settle a part and for finding any possible values."""
_MOST_HELD = 1 << 17
"""The variables of all parts that were split, which are kept in memory: about two kilobytes each."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The cheapest values that were found (none if there are none), what they cost, and what any values cost at least."""

    values: dict[int, int] | None
    cost: float
    bound: float
    """Infinite where there are no possible values."""
    parts: int
    """How many parts the problem was split into."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A part of the problem: a network with fewer values, and the reductions that led to it."""

    network: Network
    variables: list[int]
    constant: float = 0.0
    path: tuple[ReducedNetwork, ...] = ()

    def reduced(self) -> _Part | None:
        """None where a variable has no possible value."""
        found = reduced(self.network, self.variables)
        if found.emptied is not None:
            return None
        return _Part(found.network, found.variables, self.constant + found.constant, (*self.path, found))

    def complete(self, values: dict[int, int]) -> dict[int, int]:
        """Values of the whole problem."""
        for reduction in reversed(self.path):
            values = reduction.complete(values)
        return values

    def with_costs(self, network: Network) -> _Part:
        return _Part(network, self.variables, self.constant, self.path)


class _Search:
    """What is known so far: the cheapest values, and how much of the budget is left."""

    def __init__(self, network: Network, variables: Iterable[int], budget: int, most: int) -> None:
        self.network = network
        self.variables = list(variables)
        self.budget = budget
        self.most = most
        self.values: dict[int, int] | None = None
        self.cost = np.inf
        self.parts = 0
        self.scale = _scale(network, self.variables)
        # By how much sums of floats may be wrong.
        self.slack = max(1e-6, self.scale * 2.0**-44)

    def closed(self, bound: float) -> bool:
        """Whether nothing with this bound is cheaper than what is known: costs are whole numbers."""
        return bound > self.cost - 1 + self.slack

    def offer(self, part: _Part, values: dict[int, int]) -> None:
        full = part.complete(values)
        cost = cost_in(self.network, full)
        if cost < self.cost:
            self.values, self.cost = full, cost

    def run(self) -> Solution:
        """The best part first. Without any possible values so far, the search goes on beyond its budget, but not for ever."""
        number = count()
        waiting = [(-np.inf, next(number), _Part(self.network, self.variables))]
        last = -8 * self.budget - _LAST
        held = 0
        while waiting and not self.closed(waiting[0][0]):
            if self.parts and (self.budget <= (last if self.values is None else 0) or held > _MOST_HELD):
                break
            lowest, _, part = heapq.heappop(waiting)
            self.parts += 1
            held += len(part.variables)
            for bound, smaller in self.split(part):
                if not self.closed(bound):
                    heapq.heappush(waiting, (max(bound, lowest), next(number), smaller))
        bound = self.cost
        if waiting and not self.closed(waiting[0][0]):
            bound = ceil(waiting[0][0] - self.slack)
        cost, bound = (int(one) if one < np.inf else one for one in (self.cost, bound))
        return Solution(self.values, cost, bound, self.parts)

    def split(self, part: _Part) -> list[tuple[float, _Part]]:
        """The parts that are left of one, each with its bound; none where it was solved, or can't be cheaper."""
        rounds = 0
        while True:
            self.budget -= OVERHEAD * len(part.variables)
            smaller = part.reduced()
            if smaller is None or self.solved(smaller):
                return []
            part, least = self.bounded(smaller)
            kept, dropped = self.without_dear_values(part, least)
            if kept is None:
                return []
            part = kept
            rounds += 1
            few = dropped * _WORTHWHILE < sum(len(part.network.unary[one]) for one in part.variables)
            if few or rounds == _ROUNDS or self.budget <= 0:
                return self.children(part, least)

    def solved(self, part: _Part) -> bool:
        """Solve a part exactly, if that is possible with small tables."""
        order = elimination_order(part.network, part.variables, self.most)
        if order.rest or order.entries > max(self.budget, _LAST):
            return False
        self.budget -= order.entries + OVERHEAD * len(order.variables)
        cost, values = eliminate(part.network, order.variables)
        if cost < np.inf:
            self.offer(part, values)
        return True

    def bounded(self, part: _Part) -> tuple[_Part, NDArray[np.float64]]:
        """The part with its costs moved by messages, and what each value of each variable leads to at least."""
        first = self.parts == 1
        if table_entries(part.network, part.variables) > MOST_ENTRIES:
            sizes = [len(part.network.unary[one]) for one in part.variables]
            least = np.full((len(sizes), max(sizes)), -np.inf)
        else:
            messages = Messages(part.network, part.variables)
            most = min(_SWEEPS if first else _FEW_SWEEPS, max(_FEW_SWEEPS, self.budget // (3 * messages.entries)))
            self.budget -= messages.entries * messages.sweep_often(most)
            least = messages.excess() + (part.constant + messages.bound())
            part = part.with_costs(messages.shifted())
            if not self.closed(float(least.min())):
                self.improve(part, messages.rounded())
        if self.closed(float(least.min())):
            return part, least
        most = min(self.most, _FIRST_GROUPS if first else _GROUPS)
        order = elimination_order(part.network, part.variables, most)
        bound, values = bounded(part.network, order.variables + order.rest, most)
        self.budget -= order.entries + most * len(order.rest) + OVERHEAD * len(part.variables)
        self.improve(part, values)
        return part, np.maximum(least, part.constant + bound)

    def improve(self, part: _Part, values: dict[int, int]) -> None:
        """Improve values region by region; where they are impossible, as if that cost very much."""
        network = part.network
        if cost_in(network, values) == np.inf:
            network = _softened(network, part.variables, 2 * self.scale + 1)
        for most, rounds in _REGIONS if self.parts > 1 else _FIRST_REGIONS if self.values is None else _NEXT_REGIONS:
            values, entries = improved(network, part.variables, values, min(self.most, most), rounds)
            self.budget -= entries + OVERHEAD * rounds * len(part.variables)
        self.offer(part, values)

    def without_dear_values(self, part: _Part, least: NDArray[np.float64]) -> tuple[_Part | None, int]:
        """The part without the values that nothing cheaper has, and their number; None where a variable has no other."""
        unary = list(part.network.unary)
        dropped = 0
        for place, one in enumerate(part.variables):
            dear = least[place, : len(unary[one])] > self.cost - 1 + self.slack
            if dear.all():
                return None, dropped
            if dear.any():
                dropped += int(dear.sum())
                unary[one] = np.where(dear, np.inf, unary[one])
        return part.with_costs(Network(unary, part.network.neighbours)), dropped

    def children(self, part: _Part, least: NDArray[np.float64]) -> list[tuple[float, _Part]]:
        """The part split by the values of one of the variables that make tables large: the one with the most neighbours."""
        wide = elimination_order(part.network, part.variables, self.most >> 4).rest or part.variables
        one = max(wide, key=lambda one: (len(part.network.neighbours[one]), -one))
        place = part.variables.index(one)
        found: list[tuple[float, _Part]] = []
        for value in np.flatnonzero(np.isfinite(part.network.unary[one])).tolist():
            unary = list(part.network.unary)
            unary[one] = np.where(np.arange(len(unary[one])) == value, unary[one], np.inf)
            found.append((float(least[place, value]), part.with_costs(Network(unary, part.network.neighbours))))
        return found


def search(network: Network, variables: Iterable[int], *, budget: int, most: int) -> Solution:
    """The cheapest values that `budget` entries of tables lead to, with at most `most` in a table; costs are whole numbers."""
    return _Search(network, variables, budget, most).run()


def _scale(network: Network, variables: Iterable[int]) -> float:
    """All possible costs together."""
    tables = [network.unary[one] for one in variables]
    tables += [table for one in variables for other, table in network.neighbours[one].items() if other < one]
    return sum(float(table[np.isfinite(table)].max(initial=0.0)) for table in tables)


def _softened(network: Network, variables: Iterable[int], never: float) -> Network:
    """The network with a finite cost for what is impossible."""
    soft = Network(list(network.unary), [{} for _ in network.unary])
    for one in variables:
        soft.unary[one] = np.minimum(network.unary[one], never)
        for other, table in network.neighbours[one].items():
            if other < one:
                soft.add(one, other, np.minimum(table, never))
    return soft
