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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.flow.solver.network import Network, cost_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]

__all__ = ["MOST_ENTRIES", "STEP", "Messages", "table_entries"]

STEP = 1 << 12
"""One step of a sweep takes as long as computing so many entries of tables, however few it has."""
_SOME, _LITTLE = 10, 0.01
"""After every ten sweeps: it is enough when they have added less than a hundredth of what all have."""

MOST_ENTRIES = 1 << 24
"""How many entries the tables of all pairs may have for messages to be sent."""


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Variables that are visited at once: the directed pairs that lead to them, and those that lead on from them."""

    variables: Indices
    incoming: Indices
    starts: Indices
    """Where in `incoming` the pairs of each variable begin."""
    onwards: tuple[list[_Onwards], list[_Onwards]]
    """To later levels, and to earlier ones."""


@dataclass(frozen=True, slots=True, eq=False)
class _Onwards:
    """Directed pairs of one block, their places there, and the places of their tails in the level."""

    block: _Block
    pairs: Indices
    rows: Indices
    tails: Indices


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Directed pairs whose tables are put into one array: those of about the same size."""

    pairs: Indices
    tables: NDArray[np.float64]
    """[pairs, values of the tail, values of the head]; what is beyond a variable's values is 0."""


class Messages:
    """The messages of a network whose variables all have neighbours and possible values (`reduction.reduced`)."""

    def __init__(self, network: Network, variables: Iterable[int]) -> None:
        self.network = network
        # Needs come after all nodes, which makes few levels.
        self.variables = tuple(sorted(variables))
        at = {one: place for place, one in enumerate(self.variables)}
        self.sizes = [len(network.unary[one]) for one in self.variables]
        # What is beyond a variable's values is infinite by its own costs.
        self._unary = np.full((len(at), max(self.sizes)), np.inf)
        for place, one in enumerate(self.variables):
            self._unary[place, : self.sizes[place]] = network.unary[one]
        # Each pair in both directions.
        pairs = [
            (at[one], at[other], table) for one in at for other, table in network.neighbours[one].items() if other in at
        ]
        self._tail = np.array([tail for tail, _, _ in pairs], np.intp)
        self._head = np.array([head for _, head, _ in pairs], np.intp)
        number_of = {(tail, head): number for number, (tail, head, _) in enumerate(pairs)}
        self._reverse = np.array([number_of[head, tail] for tail, head, _ in pairs], np.intp)
        self._blocks = _blocks([table for _, _, table in pairs])
        self._sent = np.zeros((len(pairs), max(self.sizes)))
        """What each directed pair has passed on to its head; taken from its table."""
        self._levels, self._forwards = _levels(self._tail, self._head, len(at), self._blocks)
        later = np.bincount(self._tail[self._forwards], minlength=len(at))
        self._earlier = np.bincount(self._tail[~self._forwards], minlength=len(at))
        self._share = 1.0 / np.maximum(1, np.maximum(later, self._earlier))
        """The part of its costs that a variable gives to each of the pairs that lead on."""

    @property
    def entries(self) -> int:
        """How many entries of tables one sweep computes, or would in the time that its steps take anyway."""
        steps = sum(len(onwards) for level in self._levels for onwards in level.onwards)
        return sum(block.tables.size for block in self._blocks) + steps * STEP

    def sweep_often(self, most: int) -> int:
        """Sweep until the bound hardly grows any more, at most so often; say how often."""
        before, sweeps, first = -np.inf, 0, self.bound()
        while sweeps < most:
            for _ in range(min(_SOME, most - sweeps)):
                self.sweep()
                sweeps += 1
            bound = self.bound()
            if bound - before <= _LITTLE * (bound - first):
                break
            before = bound
        return sweeps

    def sweep(self) -> None:
        """Visit all variables forth and back."""
        for direction, levels in enumerate((self._levels, self._levels[::-1])):
            for level in levels:
                if not level.onwards[direction]:
                    continue
                costs = self._unary[level.variables] + np.add.reduceat(self._sent[level.incoming], level.starts, axis=0)
                costs *= self._share[level.variables, None]
                for onwards in level.onwards[direction]:
                    tables = onwards.block.tables[onwards.rows]
                    _, tails, heads = tables.shape
                    given = costs[onwards.tails, :tails] - self._sent[self._reverse[onwards.pairs], :tails]
                    tables += given[:, :, None]
                    sent = tables.min(axis=1)
                    self._sent[onwards.pairs, :heads] = sent - sent[:, :1]

    def _kept(self) -> NDArray[np.float64]:
        """What variables keep of their costs after a sweep, when each pair to an earlier level has its share."""
        costs = self._costs()
        keeps = (1 - self._earlier * self._share)[:, None]
        # A variable that keeps nothing would have 0 times infinity for a value that it does not have.
        return np.where(np.isinf(costs), np.inf, np.where(np.isinf(costs), 0.0, costs) * keeps)

    def _tables(self) -> Iterator[tuple[Indices, NDArray[np.float64]]]:
        """The pairs to earlier levels, and what their tables are with the share of their tails, [pairs, tail, head]."""
        shares = self._costs() * self._share[:, None]
        for block in self._blocks:
            back = ~self._forwards[block.pairs]
            pairs, tables = block.pairs[back], block.tables[back]
            if not len(pairs):
                continue
            _, tails, heads = tables.shape
            tables += (shares[self._tail[pairs], :tails] - self._sent[self._reverse[pairs], :tails])[:, :, None]
            tables += np.where(np.isinf(self._unary[self._head[pairs], :heads]), np.inf, -self._sent[pairs, :heads])[
                :, None, :
            ]
            yield pairs, tables

    def _costs(self) -> NDArray[np.float64]:
        costs = self._unary.copy()
        np.add.at(costs, self._head, self._sent)
        return costs

    def bound(self) -> float:
        """No values cost less than this, up to the rounding of sums of floats."""
        tables = sum(float(tables.min(axis=(1, 2)).sum()) for _, tables in self._tables())
        return tables + float(self._kept().min(axis=1).sum())

    def excess(self) -> NDArray[np.float64]:
        """How much larger the bound is when a variable takes a value, [variables, values]."""
        kept = self._kept()
        found = kept - kept.min(axis=1, keepdims=True)
        for pairs, tables in self._tables():
            tables -= tables.min(axis=(1, 2), keepdims=True)
            _, tails, heads = tables.shape
            np.add.at(found[:, :tails], self._tail[pairs], tables.min(axis=2))
            np.add.at(found[:, :heads], self._head[pairs], tables.min(axis=1))
        return found

    def rounded(self) -> dict[int, int]:
        """A value for each variable in turn: the cheapest beside those that are taken, and by the messages of the others."""
        values = np.zeros(len(self.variables), np.intp)
        taken = np.zeros(len(self.variables), bool)
        for level in self._levels:
            costs = self._sent[level.incoming]
            tails, heads = self._tail[level.incoming], self._head[level.incoming]
            for row in np.flatnonzero(taken[tails]).tolist():
                tail, head = int(tails[row]), int(heads[row])
                table = self.network.pair(self.variables[tail], self.variables[head])[values[tail]]
                costs[row, : self.sizes[head]] = table
            costs = self._unary[level.variables] + np.add.reduceat(costs, level.starts, axis=0)
            values[level.variables] = costs.argmin(axis=1)
            taken[level.variables] = True
        return dict(zip(self.variables, values.tolist(), strict=True))

    def cost(self, values: dict[int, int]) -> float:
        """What values of the variables cost."""
        return cost_in(self.network, {one: values[one] for one in self.variables})

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
            one, other = self.variables[tail], self.variables[head]
            taken, given = self._sent[number, : self.sizes[head]], self._sent[self._reverse[number], : self.sizes[tail]]
            moved.add(one, other, self.network.pair(one, other) - taken[None, :] - given[:, None])
        return moved


def table_entries(network: Network, variables: Iterable[int]) -> int:
    """How many entries the tables of all pairs have, both ways."""
    return sum(table.size for one in variables for table in network.neighbours[one].values())


def _blocks(tables: Sequence[NDArray[np.float64]]) -> list[_Block]:
    """Tables of about the same size in one array: sizes are rounded up to 2, 5, 12, 32, ..."""
    steps = [2, 5, 12, *(1 << power for power in range(5, 12))]
    sizes = np.array([table.shape for table in tables], np.intp).reshape(-1, 2)
    kinds = np.searchsorted(steps, sizes)
    blocks: list[_Block] = []
    for kind in np.unique(kinds, axis=0):
        pairs = np.flatnonzero((kinds == kind).all(axis=1))
        array = np.zeros((len(pairs), *sizes[pairs].max(axis=0).tolist()))
        for row, pair in enumerate(pairs.tolist()):
            array[row, : sizes[pair, 0], : sizes[pair, 1]] = tables[pair]
        blocks.append(_Block(pairs, array))
    return blocks


def _levels(
    tail: Indices, head: Indices, count: int, blocks: Sequence[_Block]
) -> tuple[list[_Level], NDArray[np.bool_]]:
    """Each variable one level above the highest of its neighbours that have a lower number."""
    level = np.zeros(count, np.intp)
    up = np.flatnonzero(tail < head)
    for pair in up[np.lexsort((tail[up], head[up]))]:
        level[head[pair]] = max(level[head[pair]], level[tail[pair]] + 1)
    forwards = level[tail] < level[head]
    by_head = np.argsort(head, kind="stable")
    place = np.zeros(count, np.intp)
    levels: list[_Level] = []
    groups = [np.flatnonzero(level == number) for number in range(int(level.max()) + 1)]
    for variables in groups:
        place[variables] = np.arange(len(variables))
    incoming = np.split(
        by_head[np.argsort(level[head[by_head]], kind="stable")], np.cumsum(np.bincount(level[head]))[:-1]
    )
    onwards: tuple[list[list[_Onwards]], list[list[_Onwards]]] = ([[] for _ in groups], [[] for _ in groups])
    for block in blocks:
        for way, chosen in zip(onwards, (forwards[block.pairs], ~forwards[block.pairs]), strict=True):
            rows = np.flatnonzero(chosen)
            rows = rows[np.argsort(level[tail[block.pairs[rows]]], kind="stable")]
            of = level[tail[block.pairs[rows]]]
            for some in np.split(rows, np.flatnonzero(np.diff(of)) + 1) if len(rows) else []:
                pairs = block.pairs[some]
                way[level[tail[pairs[0]]]].append(_Onwards(block, pairs, some, place[tail[pairs]]))
    for variables, arriving, later, earlier in zip(groups, incoming, *onwards, strict=True):
        starts = np.searchsorted(place[head[arriving]], np.arange(len(variables)))
        levels.append(_Level(variables, arriving, starts, (later, earlier)))
    return levels, forwards
