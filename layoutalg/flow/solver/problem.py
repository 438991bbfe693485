"""A labelling problem: nodes that take one label each, what a label costs, and what conversions between labels cost.

A node is an operation's result, its labels are the layouts that the operation can make, and every operation that uses the
result needs it in some layout, which depends on the user's own label. Where a label of the maker isn't the layout that is
needed, a conversion is paid. One conversion serves all the uses that need the same layout.

Here node 0 is a load that takes 10 in its label 0 and 30 in its label 1. Nodes 1 and 2 use it. Both need it in the layout
of need 0 where they take label 0, and in that of need 1 where they take label 1; a conversion costs 8. Nodes 1 and 2
strongly prefer label 1, so the cheapest is one conversion for the two of them: 10 + 8.

>>> problem = Problem(
...     costs=((10, 30), (50, 0), (50, 0)),
...     uses=(Use(0, 1, (0, 1)), Use(0, 2, (0, 1))),
...     conversions=([[0, 8], [8, 0]], [[], []], [[], []]))
>>> cost_of(problem, (0, 1, 1)), cost_of(problem, (1, 1, 1)), cost_of(problem, (0, 0, 1))
(18, 30, 68)

The cost of labels `x` is the sum of `costs[n][x[n]]` over the nodes, and of `conversions[m][x[m], k]` over every node `m`
and the distinct needs `k` of its uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import found_whole, instance_of, listed, whole_number

__all__ = ["IMPOSSIBLE", "Labelling", "Problem", "Use", "cost_of"]

IMPOSSIBLE = 1 << 50
"""A cost of at least this much, or None, means: never."""

_MOST_NODES = 1 << 20
_MOST_LABELS = 1 << 10


@dataclass(frozen=True, slots=True)
class Use:
    """Node `user` uses what node `maker` makes; `needs[l]` is which need it has when the user takes its label `l`.

    >>> Use(maker=0, user=1, needs=(0, 0, 1)).needs[2]
    1
    """

    maker: int
    user: int
    needs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes with labels, the uses between them, and per node a table [labels, needs] of what conversions cost.

    The tables are copied to read-only int64 arrays. Raises `LayoutError` for costs that are negative or not whole
    numbers, for tables of other shapes, and for uses of nodes and needs that do not exist.

    >>> Problem(((0, 5),), (Use(0, 1, (0,)),), ([[0], [1]],))
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: use 0: user 1: expected a node from 0 to 0
    """

    costs: Sequence[Sequence[int | None]]
    uses: Sequence[Use]
    conversions: Sequence[Any]

    def __post_init__(self) -> None:
        costs = tuple(
            tuple(_cost(cost, f"node {node}, label {label}") for label, cost in enumerate(_row(row, node)))
            for node, row in enumerate(listed(self.costs, "costs", _MOST_NODES))
        )
        tables = listed(self.conversions, "conversions", _MOST_NODES)
        if len(tables) != len(costs):
            raise LayoutError(f"conversions: {len(tables)} tables: expected one for each of the {len(costs)} nodes")
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "conversions", tuple(_table(t, n, len(costs[n])) for n, t in enumerate(tables)))
        object.__setattr__(self, "uses", tuple(listed(self.uses, "uses", 8 * _MOST_NODES)))
        for number, use in enumerate(self.uses):
            self._check_use(use, f"use {number}")

    def _check_use(self, use: object, what: str) -> None:
        instance_of(use, Use, f"{what} =")
        use = cast(Use, use)
        for role, node in (("maker", use.maker), ("user", use.user)):
            if type(node) is not int or not 0 <= node < len(self.costs):
                raise LayoutError(f"{what}: {role} {shown(node)}: expected a node from 0 to {len(self.costs) - 1}")
        labels, needs = len(self.costs[use.user]), self.conversions[use.maker].shape[1]
        if not isinstance(cast(object, use.needs), tuple) or len(use.needs) != labels:
            raise LayoutError(
                f"{what}: needs {shown(use.needs)}: expected a need for each of the user's {labels} labels"
            )
        if not all(type(need) is int and 0 <= need < needs for need in use.needs):
            raise LayoutError(f"{what}: needs {shown(use.needs)}: node {use.maker} has needs 0 to {needs - 1}")

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each node, the numbers of its uses.

        >>> Problem(((0,), (0,)), (Use(0, 1, (0,)),), ([[0]], [[]])).users
        ((0,), ())
        """
        users: list[list[int]] = [[] for _ in self.costs]
        for number, use in enumerate(self.uses):
            users[use.maker].append(number)
        return tuple(map(tuple, users))


@dataclass(frozen=True, slots=True)
class Labelling:
    """A label for every node, what that costs, and a `bound`: no labelling costs less.

    `methods` says how each connected component was solved: its number of nodes, and by what. The largest come first, and all
    nodes that depend on no other are one entry, "alone".

    >>> found = Labelling((0, 1, 1), 18, 16, ((3, "branch and bound"),))
    >>> found.is_optimal, found.gap
    (False, 0.125)
    """

    labels: tuple[int, ...]
    cost: int
    bound: int
    methods: tuple[tuple[int, str], ...] = ()

    @property
    def is_optimal(self) -> bool:
        """Whether no labelling costs less.

        >>> Labelling((), 0, 0).is_optimal
        True
        """
        return self.cost == self.bound

    @property
    def gap(self) -> float:
        """How far the cost is above the bound, as a part of the bound; infinite where the bound is 0 and the cost is not.

        >>> Labelling((0,), 3, 0).gap
        inf
        """
        if self.cost == self.bound:
            return 0.0
        return (self.cost - self.bound) / self.bound if self.bound > 0 else float("inf")


def cost_of(problem: Problem, labels: Sequence[int]) -> int:
    """What labels cost, by the definition; `IMPOSSIBLE` where one of them, or a conversion between them, is.

    >>> problem = Problem(((1, 2), (3, None)), (Use(0, 1, (0, 0)),), ([[0], [4]], [[], []]))
    >>> cost_of(problem, (1, 0)), cost_of(problem, (1, 1)) == IMPOSSIBLE
    (9, True)
    """
    instance_of(problem, Problem, "problem =")
    taken = listed(labels, "labels", _MOST_NODES)
    if len(taken) != len(problem.costs):
        raise LayoutError(f"{len(taken)} labels: expected one for each of the {len(problem.costs)} nodes")
    taken = [
        whole_number(label, f"node {node}: label", 0, len(problem.costs[node]) - 1) for node, label in enumerate(taken)
    ]
    paid = [cast(int, row[label]) for row, label in zip(problem.costs, taken, strict=True)]
    for maker, numbers in enumerate(problem.users):
        uses = (problem.uses[number] for number in numbers)
        needs: set[int] = {use.needs[taken[use.user]] for use in uses}
        paid += (int(problem.conversions[maker][taken[maker], need]) for need in needs)
    return IMPOSSIBLE if any(cost >= IMPOSSIBLE for cost in paid) else sum(paid)


def _row(row: object, node: int) -> Sequence[object]:
    found = listed(row, f"costs of node {node}", _MOST_LABELS)
    if not found:
        raise LayoutError(f"node {node}: expected at least one label")
    return found


def _cost(cost: object, what: str) -> int:
    if type(cost) is int and 0 <= cost <= IMPOSSIBLE:
        return cost
    number = IMPOSSIBLE if cost is None else found_whole(cost)
    if number is None or number < 0:
        raise LayoutError(f"{what}: cost {shown(cost)}: expected a whole number of at least 0, or None")
    return min(number, IMPOSSIBLE)


def _table(table: object, node: int, labels: int) -> Any:
    try:
        found = np.array(table)
    except (ValueError, MemoryError):  # a view of one number may be of any size
        raise LayoutError(f"node {node}: conversions {shown(table)}: expected rows of one length") from None
    if found.size == 0:
        found = np.zeros((labels, found.shape[1] if found.ndim == 2 else 0), np.int64)
    if found.dtype.kind not in "iu" or found.ndim != 2 or len(found) != labels:
        read = f"of shape {found.shape} and type {found.dtype}"
        raise LayoutError(f"node {node}: conversions {read}: expected whole numbers for {labels} labels and each need")
    if (found < 0).any():
        raise LayoutError(f"node {node}: a conversion costs {found.min()}: expected at least 0")
    found = np.minimum(found, IMPOSSIBLE).astype(np.int64)
    found.setflags(write=False)
    return found
