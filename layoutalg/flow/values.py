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
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.compare.missing import missing
from layoutalg.core.carrying import given, held_in_both, needed, settled
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.edges import Edge, axes_of, edges_of, lacks, projected
from layoutalg.flow.levels import PartlySaid, layout_at, levels_of, narrowed
from layoutalg.flow.relations import relation_of
from layoutalg.flow.solver import Problem, Use, solve
from layoutalg.ir.places import place_of

if TYPE_CHECKING:
    from layoutalg.flow.graph import Flow, Value
    from layoutalg.flow.relations import Demand
    from layoutalg.flow.written_layouts import WrittenLayout

__all__ = ["Candidate", "Solved", "solved", "stated_candidate", "stated_layout"]

_CACHED = 1 << 14
_LEVELS = frozenset(("sg", "lane"))
_MOST = 10
"""Candidates of one value; which ones are kept depends on the candidates alone."""
_LLVM = 24
"""The version whose attributes demands are asked for; the layouts are the same in all of them."""
_MOST_ALTERNATIVES = 8
"""Broken edges for which other choices are looked for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A layout that a value may have: it counts at the `levels` that are said (of `sg` and `lane`).

    `attribute` is the layout as it is written, where the value has it as a whole. `how` says whether it is stated about the
    value, carried to it from its operands, or wanted by its uses; `statement` is where it comes from.

    >>> Candidate(Layout.parse("d0 = 8@lane"), frozenset({"lane"}), None, "carried", None).how
    'carried'
    """

    layout: Layout
    levels: frozenset[str]
    attribute: Distributed | None
    how: Literal["stated", "carried", "wanted"]
    statement: WrittenLayout | None

    @property
    def said(self) -> Distributed:
        """The layout as demands are asked about it: as it is written, or at its levels with registers in row-major order.

        >>> print(Candidate(Layout.parse("d0 = 2@reg, d1 = 2@reg:2 8@lane"), frozenset({"lane"}), None, "carried", None).said)
        d0 = 2@reg:2, d1 = 2@reg 8@lane (lane)
        """
        return PartlySaid.of(self.layout, self.levels) if self.attribute is None else self.attribute


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
    """Values that work-items make themselves (constants, steps) and of which nothing is stated."""
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


def stated_layout(attribute: Distributed, shape: tuple[int, ...], machine: Machine) -> Layout:
    """Who holds what of a value of which this is written; along a dimension of one element everybody holds a copy.

    Raises `LayoutError` where the layout does not fit the shape.

    >>> strips = la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>")
    >>> print(stated_layout(strips, (8, 1), Machine(lanes=16)))
    d0 = 8@reg, d1 = 1 | replicas 16@lane
    """
    try:
        found = layout_at(attribute, shape, machine)
    except LayoutError:
        shared = narrowed(attribute, shape)
        if shared is None:
            raise
        try:
            found = layout_at(shared, shape, machine)
        except LayoutError:
            found = None
        if found is None:
            raise
    if found.shape != shape:
        raise LayoutError(f"{attribute} is a layout of {list(found.shape)}, and the value has {list(shape)}")
    return found


def stated_candidate(statement: WrittenLayout, shape: tuple[int, ...], machine: Machine) -> Candidate | None:
    """What a statement says of a value of this shape; None where the layout does not fit it.

    >>> from layoutalg.flow.written_layouts import WrittenLayout
    >>> lanes = la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>")
    >>> stated_candidate(WrittenLayout(None, None, None, "layout", lanes), (8, 17), Machine(lanes=16))
    """
    try:
        layout = stated_layout(statement.attribute, shape, machine)
    except LayoutError:
        return None
    return Candidate(layout, levels_of(statement.attribute) & _LEVELS, statement.attribute, "stated", statement)


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
    search = _Candidates(flow, machine)
    search.pass_on({number: list(found) for number, found in search.wanted.items()})
    answer = _Choice(search, target).answer()
    if not answer.is_right and search.offer_more(answer.unmet, target):
        other = _Choice(search, target).answer()
        if other.violations < answer.violations:
            return other
    return answer


_Key = tuple[Layout, frozenset[str]]


class _Candidates:
    """What every value of a flow may be: statements, and what neighbours pass on, in rounds that end by themselves."""

    def __init__(self, flow: Flow, machine: Machine) -> None:
        self.flow, self.machine = flow, machine
        self.values = flow.values
        self.edges = edges_of(flow)
        self.touching: list[list[Edge]] = [[] for _ in self.values]
        for edge in self.edges:
            self.touching[edge.operand].append(edge)
            if edge.result != edge.operand:
                self.touching[edge.result].append(edge)
        self.bound: list[Candidate | None] = [None] * len(self.values)
        """What is stated about a value: at its levels, every candidate is so."""
        self.of: list[dict[_Key, Candidate]] = [{} for _ in self.values]
        self.misfits: list[tuple[WrittenLayout, str]] = []
        self.wanted: dict[int, list[Candidate]] = {}
        """By value, what statements say of it where it is used."""
        self.taken_as: dict[tuple[Operation, int | None], Distributed] = {}
        """What a use says that it takes: demands ask about that, however the value is held."""
        for value in self.values:
            known = [one for statement in value.stated if (one := self._stated(statement, value)) is not None]
            if known:
                most = max(known, key=lambda one: (len(one.levels), sorted(one.levels, reverse=True)))
                self.bound[value.number] = most
                self.of[value.number][_key(most)] = most
        for statement in flow.wanted:
            value = flow.value_of(statement.value)
            found = self._stated(statement, value)
            if found is not None:
                one = Candidate(found.layout, found.levels, found.attribute, "wanted", statement)
                self.wanted.setdefault(value.number, []).append(one)
                self.taken_as[statement.user, statement.number] = statement.attribute

    def _stated(self, statement: WrittenLayout, value: Value) -> Candidate | None:
        found = stated_candidate(statement, value.shape, self.machine)
        if found is None:
            try:
                stated_layout(statement.attribute, value.shape, self.machine)
            except LayoutError as problem:
                self.misfits.append((statement, str(problem)))
        return found

    def is_free(self, number: int) -> bool:
        """Whether work-items make a value themselves, in whatever layout each of its uses needs."""
        return self.values[number].makes is not None and self.bound[number] is None

    def offer_more(self, unmet: tuple[Demand, ...], target: str | None) -> bool:
        """Offer what no neighbour has: the fully replicated layout of what is read or made in place, what unmet demands take,
        and what is held in both of two operands."""
        made = {edge.result for edge in self.edges if edge.tie.beside is None}
        sources = [
            value
            for value in self.values
            if value.number not in made
            and self.bound[value.number] is None
            and all(_is_read(member) for member in value.members)
        ]
        everyone = [Factor(self.machine.subgroups or 1, 1, "sg"), Factor(self.machine.lanes or 1, 1, "lane")]
        offers: dict[int, list[Candidate]] = {}
        for value in sources:
            whole = settled(Layout([[Factor(size, 0, None)] for size in value.shape], everyone))
            offers[value.number] = [Candidate(whole, _LEVELS, None, "wanted", None)]
        for demand in unmet:
            value = self.flow.value_of(demand.value)
            if self.bound[value.number] is None and all(
                one.levels <= {"lane"} for one in self.of[value.number].values()
            ):
                for choice in demand.choices("lane", self.machine, target, _LLVM):
                    try:
                        layout = stated_layout(choice.attribute, value.shape, self.machine)
                    except LayoutError:
                        continue
                    found = Candidate(layout, frozenset({"lane"}), choice.attribute, "wanted", None)
                    offers.setdefault(value.number, []).append(found)
        self.pass_on(offers)
        met = self._held_in_both()
        self.pass_on(met)
        return bool(offers or met)

    def _held_in_both(self) -> dict[int, list[Candidate]]:
        """Of values that are made of several, what work-items have that hold their share of two operands."""
        into: dict[int, list[Edge]] = {}
        for edge in self.edges:
            if edge.passes_on and edge.tie.reach == "work-item":
                into.setdefault(edge.result, []).append(edge)
        offers: dict[int, list[Candidate]] = {}
        for number, edges in into.items():
            shape = self.values[number].shape
            if self.bound[number] is not None or len(edges) < 2:
                continue
            made = [
                [one for each in self.of[edge.operand].values() if (one := _moved(edge, each, shape, True)) is not None]
                for edge in edges
            ]
            for first, second in combinations(made, 2):
                for one, other in product(first, second):
                    layout = _met(one.layout, other.layout) if one.levels == other.levels else None
                    if layout is not None:
                        found = Candidate(layout, one.levels, None, "carried", one.statement)
                        offers.setdefault(number, []).append(found)
        return offers

    def pass_on(self, offers: dict[int, list[Candidate]]) -> None:
        """Pass every candidate on to all neighbours at once, until nothing is new; no order matters."""
        fresh = {number: list(found.values()) for number, found in enumerate(self.of) if found}
        while fresh or offers:
            for number, found in fresh.items():
                for edge in self.touching[number]:
                    self._along(edge, number, found, offers)
            fresh = {}
            for number, offered in offers.items():
                new = self._taken(number, offered)
                if new:
                    fresh[number] = new
            offers = {}
        for number, found in enumerate(self.of):
            if len(found) > 1:
                self._refine(number, list(found.values()))

    def _along(self, edge: Edge, number: int, found: list[Candidate], offers: dict[int, list[Candidate]]) -> None:
        for forward in (True, False):
            source, target = (edge.operand, edge.result) if forward else (edge.result, edge.operand)
            if source != number or not (edge.passes_on if forward else edge.passes_back):
                continue
            bound = self.bound[target]
            if bound is not None and bound.levels == _LEVELS:
                continue
            shape = self.values[target].shape
            made = [one for each in found if (one := _moved(edge, each, shape, forward)) is not None]
            if made:
                offers.setdefault(target, []).extend(made)

    def _taken(self, number: int, offered: list[Candidate]) -> list[Candidate]:
        """What of these is new to a value, within what is stated about it."""
        have, bound = self.of[number], self.bound[number]
        by_key: dict[_Key, Candidate] = {}
        for one in offered:
            key = _key(one)
            if key in have or (bound is not None and not _refines(one, bound)):
                continue
            other = by_key.get(key)
            if other is None or _rank(one) < _rank(other):
                by_key[key] = one
        new = list(by_key.values())
        if len(new) > 1:
            new.sort(key=lambda one: (_rank(one), _text(one.layout)))
        new = new[: max(0, _MOST - len(have))]
        have.update((_key(one), one) for one in new)
        return new

    def _refine(self, number: int, found: list[Candidate]) -> None:
        """Drop what says less than another candidate that agrees with it."""
        for one in found:
            if len(one.levels) < 2 and any(_refines(other, one) for other in found):
                del self.of[number][_key(one)]


def _is_read(member: SSAValue) -> bool:
    """Whether an operation that is known makes a value, of no other value: it reads memory."""
    owner = member.owner
    return not isinstance(owner, Block) and relation_of(owner) is not None


class _Choice:
    """One candidate for every value: what is crossed, what is not met, and the choice that has the least of it."""

    def __init__(self, search: _Candidates, target: str | None) -> None:
        self.search, self.flow = search, search.flow
        self.machine, self.target = search.machine, target
        self.labels = [_ordered(list(found.values())) for found in search.of]
        self.nodes = [number for number, found in enumerate(self.labels) if len(found) > 1]
        self.place = {number: at for at, number in enumerate(self.nodes)}
        self.uncompared: dict[int, str] = {}
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
        for demand in self.demands.get(number, ()):
            said = self.search.taken_as.get((demand.user, demand.number))
            if said is None and (one.levels or one.attribute is not None):
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


def _key(one: Candidate) -> _Key:
    return one.layout, one.levels


@lru_cache(maxsize=_CACHED)
def _text(layout: Layout) -> str:
    return str(layout.canonical())


def _registers(one: Candidate) -> int:
    return int(one.layout.axes.get("reg", 1))


def _refines(one: Candidate, other: Candidate) -> bool:
    """Whether one says more than the other, and the same where both speak."""
    if not one.levels > other.levels:
        return False
    axes = tuple([axis for axis in ("sg", "lane") if axis in other.levels])
    return not axes or projected(one.layout, axes) == projected(other.layout, axes)


_HOW = {"stated": 0, "carried": 1, "wanted": 2}


def _rank(one: Candidate) -> tuple[Any, ...]:
    """Which of two names of one layout is told."""
    return one.attribute is None, _HOW[one.how], str(one.attribute), _where(one)


def _where(one: Candidate) -> tuple[int, int]:
    place = None if one.statement is None else place_of(one.statement.user)
    return (1 << 30, 0) if place is None else (place.line, place.column)


def _ordered(found: list[Candidate]) -> list[Candidate]:
    """Candidates in the order of their statements in the text."""
    return sorted(found, key=lambda one: (_where(one), _text(one.layout))) if len(found) > 1 else found


@lru_cache(maxsize=_CACHED)
def _given(relation: Layout, operand: Layout) -> Layout | None:
    try:
        return given(relation, operand)
    except LayoutError:
        return None


@lru_cache(maxsize=_CACHED)
def _needed(relation: Layout, result: Layout) -> Layout | None:
    try:
        return needed(relation, result)
    except LayoutError:
        return None


@lru_cache(maxsize=_CACHED)
def _met(one: Layout, other: Layout) -> Layout | None:
    try:
        return held_in_both(one, other)
    except LayoutError:
        return None


def _moved(edge: Edge, one: Candidate, shape: tuple[int, ...], forward: bool) -> Candidate | None:
    """A candidate passed on to the other end of an edge; None where it has no closed form, or covers a part alone."""
    how = "carried" if forward and one.how != "wanted" else "wanted"
    if edge.equal:
        return Candidate(one.layout, one.levels, one.attribute, how, one.statement)
    # Within a subgroup it does not matter which lane has an element: a product says nothing of its result's lanes.
    levels = one.levels & {"sg"} if edge.tie.reach == "subgroup" else one.levels
    layout = (_given if forward else _needed)(edge.tie.relation, one.layout) if levels else None
    if layout is None or layout.shape != shape or any(layout.origins):
        return None
    return Candidate(layout, levels, None, how, one.statement)
