"""A lower bound for any network, from messages between its variables: the dual of the linear relaxation.

Every table of a pair may give some of its costs to its two variables, and take some from them: what each assignment costs in
all stays the same, and the sum of the minima of all parts is a bound. Variables are visited in an order, forth and back, and
each spreads its costs evenly over the tables that lead onwards; a table passes on what its other variable will pay in any
case. Each sweep makes the bound larger (Kolmogorov, "Convergent tree-reweighted message passing for energy minimization",
2006). All variables of one level are visited at once: no two of them are neighbours.

In a ring of three variables, every table asks for different values and one value of each costs 1. Two values cannot be
different all around:

>>> ring = Network([np.array([0.0, 1.0]) for _ in range(3)], [{} for _ in range(3)])
>>> for one in range(3):
...     ring.add(one, (one + 1) % 3, 4 * np.eye(2))
>>> messages = Messages(ring, range(3))
>>> for _ in range(10):
...     messages.sweep()
>>> round(messages.bound(), 6), messages.cost(messages.rounded())
(1.5, 5.0)

The bound is 1.5, as variables may take half of each value in the relaxation; the least cost is 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.propagation.labelling.network import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]

__all__ = ["MOST_ENTRIES", "Messages", "table_entries"]

MOST_ENTRIES = 1 << 24
"""How many entries the tables of all pairs may have when they are put into one array."""


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Variables that are visited at once: the directed pairs that lead to them, and those that lead on from them."""

    variables: Indices
    incoming: Indices
    starts: Indices
    """Where in `incoming` the pairs of each variable begin."""
    onwards: tuple[Indices, Indices]
    """Directed pairs to later levels, and to earlier ones."""
    place: tuple[Indices, Indices]
    """For these pairs, the variable's place in `variables`."""


class Messages:
    """The messages of a network whose variables all have neighbours and possible values (`reduction.reduced`).

    >>> pair = Network([np.array([0.0, 2.0]), np.array([3.0, 0.0])], [{}, {}])
    >>> pair.add(0, 1, np.array([[0.0, 9.0], [9.0, 0.0]]))
    >>> messages = Messages(pair, [0, 1])
    >>> messages.bound()
    0.0
    >>> messages.sweep(); messages.bound()
    2.0
    """

    def __init__(self, network: Network, variables: Iterable[int]) -> None:
        self.network = network
        self.variables = tuple(variables)
        at = {one: place for place, one in enumerate(self.variables)}
        self.sizes = [len(network.unary[one]) for one in self.variables]
        most = max(self.sizes)
        self._unary = np.full((len(at), most), np.inf)
        for place, one in enumerate(self.variables):
            self._unary[place, : self.sizes[place]] = network.unary[one]
        # Each pair in both directions. What is beyond a variable's values is infinite by its own costs; in tables it is 0.
        pairs = [
            (at[one], at[other], table) for one in at for other, table in network.neighbours[one].items() if other in at
        ]
        self._table = np.zeros((len(pairs), most, most))
        for number, (_, _, table) in enumerate(pairs):
            self._table[number, : table.shape[0], : table.shape[1]] = table
        self._tail = np.array([tail for tail, _, _ in pairs], np.intp)
        self._head = np.array([head for _, head, _ in pairs], np.intp)
        number_of = {(tail, head): number for number, (tail, head, _) in enumerate(pairs)}
        self._reverse = np.array([number_of[head, tail] for tail, head, _ in pairs], np.intp)
        self._sent = np.zeros((len(pairs), most))
        """What each directed pair has passed on to its head; taken from its table."""
        self._levels, self._forwards = _levels(self._tail, self._head, len(at))
        later = np.bincount(self._tail[self._forwards], minlength=len(at))
        self._earlier = np.bincount(self._tail[~self._forwards], minlength=len(at))
        self._share = 1.0 / np.maximum(1, np.maximum(later, self._earlier))
        """The part of its costs that a variable gives to each of the pairs that lead on."""

    @property
    def entries(self) -> int:
        """How many entries of tables one sweep computes.

        >>> pair = Network([np.zeros(2), np.zeros(2)], [{}, {}]); pair.add(0, 1, np.eye(2))
        >>> Messages(pair, [0, 1]).entries
        8
        """
        return self._table.size

    def sweep(self) -> None:
        """Visit all variables forth and back.

        >>> pair = Network([np.zeros(2), np.zeros(2)], [{}, {}]); pair.add(0, 1, np.eye(2) + 1)
        >>> messages = Messages(pair, [0, 1]); messages.sweep(); messages.bound()
        1.0
        """
        for direction, levels in enumerate((self._levels, self._levels[::-1])):
            for level in levels:
                pairs, place = level.onwards[direction], level.place[direction]
                if len(pairs):
                    costs = self._unary[level.variables] + np.add.reduceat(
                        self._sent[level.incoming], level.starts, axis=0
                    )
                    costs *= self._share[level.variables, None]
                    given = costs[place] - self._sent[self._reverse[pairs]]
                    sent = (given[:, :, None] + self._table[pairs]).min(axis=1)
                    self._sent[pairs] = sent - sent[:, :1]

    def _parts(self) -> tuple[NDArray[np.float64], NDArray[np.float64], Indices]:
        """The costs as they are after a sweep: what variables keep, and tables [pairs to earlier levels, tail, head]."""
        costs = self._costs()
        pairs = np.flatnonzero(~self._forwards)
        given = (costs * self._share[:, None])[self._tail[pairs]] - self._sent[self._reverse[pairs]]
        tables = given[:, :, None] + self._table[pairs] - self._sent[pairs][:, None, :]
        tables += np.where(np.isinf(self._unary[self._head[pairs]]), np.inf, 0.0)[:, None, :]
        keeps = 1 - self._earlier * self._share
        # A variable that keeps nothing would have 0 times infinity for a value that it does not have.
        kept = np.where(np.isinf(costs), np.inf, np.where(np.isinf(costs), 0.0, costs) * keeps[:, None])
        return kept, tables, pairs

    def _costs(self) -> NDArray[np.float64]:
        costs = self._unary.copy()
        np.add.at(costs, self._head, self._sent)
        return costs

    def bound(self) -> float:
        """No values cost less than this, up to the rounding of sums of floats.

        >>> pair = Network([np.array([2.0]), np.array([5.0])], [{}, {}]); pair.add(0, 1, np.array([[4.0]]))
        >>> Messages(pair, [0, 1]).bound()
        11.0
        """
        kept, tables, _ = self._parts()
        return float(kept.min(axis=1).sum() + tables.min(axis=(1, 2)).sum())

    def excess(self) -> NDArray[np.float64]:
        """How much larger the bound is when a variable takes a value, [variables, values].

        >>> pair = Network([np.array([0.0, 2.0]), np.array([3.0, 0.0])], [{}, {}]); pair.add(0, 1, np.zeros((2, 2)))
        >>> Messages(pair, [0, 1]).excess().tolist()
        [[0.0, 2.0], [3.0, 0.0]]
        """
        kept, tables, pairs = self._parts()
        found = kept - kept.min(axis=1, keepdims=True)
        tables -= tables.min(axis=(1, 2), keepdims=True)
        np.add.at(found, self._tail[pairs], tables.min(axis=2))
        np.add.at(found, self._head[pairs], tables.min(axis=1))
        return found

    def rounded(self) -> dict[int, int]:
        """A value for each variable in turn: the cheapest beside those that are taken, and by the messages of the others.

        >>> pair = Network([np.array([0.0, 2.0]), np.array([3.0, 0.0])], [{}, {}]); pair.add(0, 1, np.zeros((2, 2)))
        >>> Messages(pair, [0, 1]).rounded()
        {0: 0, 1: 1}
        """
        values = np.zeros(len(self.variables), np.intp)
        taken = np.zeros(len(self.variables), bool)
        for level in self._levels:
            tails = self._tail[level.incoming]
            by_value = self._table[level.incoming, values[tails]]
            costs = np.where(taken[tails, None], by_value, self._sent[level.incoming])
            costs = self._unary[level.variables] + np.add.reduceat(costs, level.starts, axis=0)
            values[level.variables] = costs.argmin(axis=1)
            taken[level.variables] = True
        return dict(zip(self.variables, values.tolist(), strict=True))

    def cost(self, values: dict[int, int]) -> float:
        """What values of the variables cost.

        >>> pair = Network([np.array([2.0]), np.array([5.0])], [{}, {}]); pair.add(0, 1, np.array([[4.0]]))
        >>> Messages(pair, [0, 1]).cost({0: 0, 1: 0})
        11.0
        """
        taken = np.array([values[one] for one in self.variables])
        pairs = np.flatnonzero(self._forwards)
        tables = self._table[pairs, taken[self._tail[pairs]], taken[self._head[pairs]]]
        return float(self._unary[np.arange(len(taken)), taken].sum() + tables.sum())

    def shifted(self) -> Network:
        """The same network with its costs where the messages have brought them; all values cost the same as before.

        >>> pair = Network([np.array([0.0, 2.0]), np.array([3.0, 0.0])], [{}, {}])
        >>> pair.add(0, 1, np.array([[0.0, 9.0], [9.0, 0.0]]))
        >>> messages = Messages(pair, [0, 1]); messages.sweep()
        >>> moved = messages.shifted()
        >>> [float(moved.unary[0][a] + moved.unary[1][b] + moved.pair(0, 1)[a, b]) for a, b in ((0, 0), (0, 1), (1, 1))]
        [3.0, 9.0, 2.0]
        """
        costs = self._costs()
        moved = Network(list(self.network.unary), [{} for _ in self.network.unary])
        for place, one in enumerate(self.variables):
            moved.unary[one] = costs[place, : self.sizes[place]]
        for number in np.flatnonzero(self._forwards):
            tail, head = int(self._tail[number]), int(self._head[number])
            table = self._table[number] - self._sent[number][None, :] - self._sent[self._reverse[number]][:, None]
            moved.add(self.variables[tail], self.variables[head], table[: self.sizes[tail], : self.sizes[head]])
        return moved


def table_entries(network: Network, variables: Iterable[int]) -> int:
    """How many entries the tables of `Messages` would have.

    >>> pair = Network([np.zeros(2), np.zeros(3)], [{}, {}]); pair.add(0, 1, np.ones((2, 3)))
    >>> table_entries(pair, [0, 1])
    18
    """
    names = list(variables)
    most = max(len(network.unary[one]) for one in names)
    return sum(len(network.neighbours[one]) for one in names) * most * most


def _levels(tail: Indices, head: Indices, count: int) -> tuple[list[_Level], NDArray[np.bool_]]:
    """Each variable one level above the highest of its neighbours that have a lower number."""
    level = np.zeros(count, np.intp)
    up = np.flatnonzero(tail < head)
    for pair in up[np.lexsort((tail[up], head[up]))]:
        level[head[pair]] = max(level[head[pair]], level[tail[pair]] + 1)
    forwards = level[tail] < level[head]
    by_head = np.argsort(head, kind="stable")
    levels: list[_Level] = []
    for number in range(int(level.max()) + 1):
        variables = np.flatnonzero(level == number)
        place = np.full(count, -1)
        place[variables] = np.arange(len(variables))
        incoming = by_head[place[head[by_head]] >= 0]
        starts = np.searchsorted(place[head[incoming]], np.arange(len(variables)))
        out = np.flatnonzero(level[tail] == number)
        later, earlier = out[forwards[out]], out[~forwards[out]]
        levels.append(_Level(variables, incoming, starts, (later, earlier), (place[tail[later]], place[tail[earlier]])))
    return levels, forwards
