"""The layout of every value of a flow, chosen for all of them together: what check reports on and lower writes.

A value that something is stated about has that layout. Any other may have each layout that a neighbour passes on to it: its
operands forwards, its uses backwards. Of these the choice is the one where elements have to move along the fewest edges; then
the one with the fewest elements in each work-item; then the one that renames the fewest registers. Here the load says its
layout, and nobody wants the exponential otherwise:

>>> from layoutalg.ir import read_module
>>> from layoutalg.flow.graph import flows_of
>>> text = '''func.func @f(%p: memref<64x64xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
...   %y = math.exp %x : vector<8x16xf32>
...   func.return }'''
>>> [flow] = flows_of(read_module(text))
>>> for number, one in solved(flow, Machine(lanes=16)).of.items():
...     print(number, one.how, one.layout)
0 stated d0 = 8@reg, d1 = 16@lane
1 carried d0 = 8@reg, d1 = 16@lane

The law: the answer is a function of what is tied to what, not of the order of operands or operations. The place in the text
decides only between choices that are equally good, and `Solved.alternatives` says what else could have been converted.

A constant makes itself in every use's layout: no edge from it is crossed. A value that no layout reaches has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layoutalg.compare.missing import missing
from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import Machine
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.edges import Edge, axes_of, lacks, projected
from layoutalg.flow.open_levels import OpenLevels, as_taken, operand_statements
from layoutalg.flow.solver import Problem, Use, solve

if TYPE_CHECKING:
    from layoutalg.flow.graph import Flow
    from layoutalg.flow.relations import Demand
    from layoutalg.flow.written_layouts import WrittenLayout
from layoutalg.flow.value_candidates import Candidate, ValueCandidates, text_of, where_stated

__all__ = ["Candidate", "Solved", "solved"]

_MOST_ALTERNATIVES = 8
"""Broken edges for which other choices are looked for."""


@dataclass(frozen=True, slots=True)
class Solved:
    """The layout of each value by its number (without those that none reaches), and what no choice can satisfy.

    `broken` are the edges along which elements have to move, `unmet` the demands and `unwanted` the statements about operands
    that are not met; no other choice among the candidates has fewer in all. `alternatives` has, for a broken edge, the edges
    that a choice that keeps this one would break instead.

    >>> Solved({}).is_right
    True
    """

    of: dict[int, Candidate]
    broken: tuple[Edge, ...] = ()
    unmet: tuple[Demand, ...] = ()
    unwanted: tuple[WrittenLayout, ...] = ()
    alternatives: dict[Edge, tuple[Edge, ...]] = field(default_factory=dict[Edge, tuple[Edge, ...]])
    free: frozenset[int] = frozenset()
    """Values that work-items make themselves (constants, steps) and that nothing is stated about."""
    misfits: tuple[tuple[WrittenLayout, str], ...] = ()
    """Statements that do not fit their values, and why."""
    uncompared: tuple[tuple[Edge, str], ...] = ()
    """Edges of which nobody knows whether elements move, and why: no closed form, and too large to write out."""

    @property
    def is_right(self) -> bool:
        """Whether nothing has to move that nobody converts."""
        return not self.violations

    @property
    def violations(self) -> int:
        """How many edges, demands and statements about operands are not satisfied.

        >>> Solved({}).violations
        0
        """
        return len(self.broken) + len(self.unmet) + len(self.unwanted)

    @property
    def stated(self) -> dict[int, Candidate]:
        """The layouts without those of values that work-items make themselves, in whatever layout each use needs.

        >>> Solved({}).stated
        {}
        """
        return {number: one for number, one in self.of.items() if number not in self.free}


def solved(flow: Flow, machine: Machine, target: str | None = None) -> Solved:
    """The layouts of a flow's values; `target` is the chip whose messages and products count (None: the default).

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> solved(flow_of(read_module("%x = arith.constant dense<0.0> : vector<8xf32>")), Machine(lanes=16)).of
    {}
    """
    from layoutalg.flow.graph import Flow

    instance_of(flow, Flow, "flow")
    instance_of(machine, Machine, "machine")
    search = ValueCandidates(flow, machine)
    search.pass_on_all({number: list(found) for number, found in search.wanted.items()})
    beside = OpenLevels.of(search)
    before: object = None
    while (offers := beside.offers()) and before != (now := [frozenset(found) for found in search.of]):
        search.pass_on_all(offers)
        before = now
    answer = _Choice(search, target).answer()
    if not answer.is_right and search.offer_more(answer.unmet, target):
        other = _Choice(search, target).answer()
        if other.violations < answer.violations:
            return other
    return answer


class _Choice:
    """One candidate for every value: what is crossed, what is not met, and the choice that has the least of it."""

    def __init__(self, search: ValueCandidates, target: str | None) -> None:
        self.search, self.flow = search, search.flow
        self.machine, self.target = search.machine, target
        self.labels = [_ordered(list(found.values())) for found in search.of]
        self.nodes = [number for number, found in enumerate(self.labels) if len(found) > 1]
        self.place = {number: at for at, number in enumerate(self.nodes)}
        self.uncompared: dict[int, str] = {}
        fits = (one for one in self.flow.wanted if (one.user, one.number) in search.taken_as)
        self.taken = operand_statements(fits)
        self.demands: dict[int, list[Demand]] = {}
        for demand in self.flow.demands:
            if demand.value in self.flow:
                self.demands.setdefault(self.flow.value_of(demand.value).number, []).append(demand)

    def answer(self) -> Solved:
        """The layouts that are chosen, and what they leave broken."""
        edges = self.search.edges
        chosen = self._chosen(())
        of = {number: found[chosen.get(number, 0)] for number, found in enumerate(self.labels) if found}
        broken = self._broken(of)
        alternatives = self._alternatives(broken, of) if broken and self.nodes else {}
        return Solved(
            of,
            broken,
            tuple([demand for number, one in of.items() for demand in self._unmet(number, one)]),
            tuple([want.statement for number, one in of.items() for want in self._unwanted(number, one)]),  # pyright: ignore[reportArgumentType]
            alternatives,
            frozenset(number for number in of if self.search.is_free(number)),
            tuple(self.search.misfits),
            tuple([(edges[at], why) for at, why in sorted(self.uncompared.items())]),
        )

    def _broken(self, of: dict[int, Candidate]) -> tuple[Edge, ...]:
        return tuple(
            [
                edge
                for at, edge in enumerate(self.search.edges)
                if edge.operand in of and edge.result in of and self._crosses(at, of[edge.operand], of[edge.result])
            ]
        )

    def _alternatives(self, broken: tuple[Edge, ...], of: dict[int, Candidate]) -> dict[Edge, tuple[Edge, ...]]:
        """Of broken edges, what choices that are as good break instead."""
        found: dict[Edge, tuple[Edge, ...]] = {}
        before, count = set(broken), self._violations(broken, of)
        for edge in broken[:_MOST_ALTERNATIVES]:
            if edge.operand not in self.place and edge.result not in self.place:
                continue
            chosen = self._chosen((edge,))
            other = {number: labels[chosen.get(number, 0)] for number, labels in enumerate(self.labels) if labels}
            instead = self._broken(other)
            if edge not in instead and self._violations(instead, other) == count:
                found[edge] = tuple([one for one in instead if one not in before])
        return found

    def _violations(self, broken: tuple[Edge, ...], of: dict[int, Candidate]) -> int:
        return len(broken) + sum(self._violated(number, one) for number, one in of.items())

    def _chosen(self, kept: tuple[Edge, ...]) -> dict[int, int]:
        """The label of every value that has several; edges in `kept` are broken only if nothing else helps."""
        if not self.nodes:
            return {}
        edges, place = self.search.edges, self.place
        between = [(at, edge) for at, edge in enumerate(edges) if edge.operand in place or edge.result in place]
        between = [one for one in between if self.labels[one[1].operand] and self.labels[one[1].result]]
        # Each aim outweighs all that come after it together.
        later = sum(len(self.labels[number]) - 1 for number in self.nodes)
        renamed = later + 1
        work = renamed * (1 + len(between))
        least = {number: min(_registers(one) for one in self.labels[number]) for number in self.nodes}
        most = sum(max(_registers(one) for one in self.labels[number]) - least[number] for number in self.nodes)
        violated = work * (1 + most)
        costs = [
            [
                violated * self._violated(number, one) + work * (_registers(one) - least[number]) + at
                for at, one in enumerate(self.labels[number])
            ]
            for number in self.nodes
        ]
        uses: list[Use] = []
        tables: list[list[list[int]]] = [[[] for _ in self.labels[number]] for number in self.nodes]
        for at, edge in between:
            if edge.operand == edge.result:
                continue
            weight = violated * (2 if edge in kept else 1)

            def cost(
                operand: Candidate, result: Candidate, at: int = at, edge: Edge = edge, weight: int = weight
            ) -> int:
                if self._crosses(at, operand, result):
                    return weight
                return renamed if edge.equal and operand.layout != result.layout else 0

            operands, results = self.labels[edge.operand], self.labels[edge.result]
            if edge.operand in place and edge.result in place:
                table = tables[place[edge.operand]]
                first = len(table[0])
                for row, one in zip(table, operands, strict=True):
                    row.extend(cost(one, other) for other in results)
                uses.append(Use(place[edge.operand], place[edge.result], tuple(range(first, first + len(results)))))
            elif edge.operand in place:
                for label, one in enumerate(operands):
                    costs[place[edge.operand]][label] += cost(one, results[0])
            else:
                for label, one in enumerate(results):
                    costs[place[edge.result]][label] += cost(operands[0], one)
        found = solve(Problem(costs, uses, tables))
        return {number: found.labels[at] for number, at in place.items()}

    def _crosses(self, at: int, operand: Candidate, result: Candidate) -> bool:
        """Whether elements have to move along an edge; where nobody knows, that is noted, and no."""
        edge = self.search.edges[at]
        if self.search.is_free(edge.operand) or (edge.equal and operand.layout is result.layout):
            return False
        axes = axes_of(edge.tie, operand.levels, result.levels)
        try:
            return lacks(edge.tie, operand.layout, result.layout, axes) is not None
        except LayoutError as problem:
            self.uncompared[at] = str(problem)
            return False

    def _violated(self, number: int, one: Candidate) -> int:
        return sum(1 for _ in self._unmet(number, one)) + sum(1 for _ in self._unwanted(number, one))

    def _unmet(self, number: int, one: Candidate) -> Iterator[Demand]:
        shape = self.flow.values[number].shape
        for demand in self.demands.get(number, ()):
            statement, said = self.taken.get((demand.user, demand.number)), None
            if statement is not None:
                said = as_taken(one, statement, shape, self.machine)
            elif one.levels or one.attribute is not None:
                said = one.said
            if said is not None and demand.problem(said, self.machine, self.target) is not None:
                yield demand

    def _unwanted(self, number: int, one: Candidate) -> Iterator[Candidate]:
        if self.search.is_free(number):
            return
        for want in self.search.wanted.get(number, ()):
            axes = tuple([axis for axis in ("sg", "lane") if axis in one.levels and axis in want.levels])
            if axes and missing(projected(want.layout, axes), projected(one.layout, axes)) is not None:
                yield want


def _registers(one: Candidate) -> int:
    return int(one.layout.axes.get("reg", 1))


def _ordered(found: list[Candidate]) -> list[Candidate]:
    """Candidates in the order of their statements in the text."""
    return sorted(found, key=lambda one: (where_stated(one), text_of(one.layout))) if len(found) > 1 else found
