"""What every value of a flow may be: what is stated about it, or what its neighbours pass on to it.

>>> from layoutalg.flow.graph import flow_of
>>> from layoutalg.ir import read_module
>>> text = '''
... %x = arith.constant {layout_result_0 = #xegpu.layout<lane_layout = [8], lane_data = [1]>} dense<0.0> : vector<8xf32>
... %z = math.exp %x : vector<8xf32>'''
>>> search = ValueCandidates(flow_of(read_module(text)), Machine(lanes=8))
>>> search.pass_on_all({})
>>> [[str(one.layout) for one in found.values()] for found in search.of]
[['d0 = 8@lane'], ['d0 = 8@lane']]

Candidates go to all neighbours in rounds (`flow.rounds`), so no order matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.core.carrying import given, held_in_both, needed, settled
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.edges import Edge, edges_of, projected
from layoutalg.flow.levels import PartlySaid, layout_at, levels_of, narrowed
from layoutalg.flow.relations import relation_of
from layoutalg.flow.rounds import Rounds
from layoutalg.ir.places import place_of

if TYPE_CHECKING:
    from layoutalg.flow.graph import Flow, Value
    from layoutalg.flow.relations import Demand
    from layoutalg.flow.written_layouts import WrittenLayout


__all__ = ["Candidate", "ValueCandidates", "stated_candidate", "stated_layout", "text_of", "where_stated"]

_CACHED = 1 << 14
_LEVELS = frozenset(("sg", "lane"))
_LLVM = 24
"""The version whose attributes demands are asked for; the layouts are the same in all of them."""


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


def stated_layout(attribute: Distributed, shape: tuple[int, ...], machine: Machine) -> Layout:
    """Who holds what of a value with this attribute; along a dimension of one element every lane holds a copy.

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
    """What a statement says of a value of this shape; None where the layout does not fit it."""
    try:
        layout = stated_layout(statement.attribute, shape, machine)
    except LayoutError:
        return None
    return Candidate(layout, levels_of(statement.attribute) & _LEVELS, statement.attribute, "stated", statement)


_Key = tuple[Layout, frozenset[str]]


class ValueCandidates(Rounds[Candidate]):
    """What every value of a flow may be: statements, and what neighbours pass on, in rounds that end by themselves."""

    most = 10

    def __init__(self, flow: Flow, machine: Machine) -> None:
        super().__init__(len(flow.values))
        self.flow, self.machine = flow, machine
        self.values = flow.values
        self.edges = edges_of(flow)
        self.touching: list[list[Edge]] = [[] for _ in self.values]
        for edge in self.edges:
            self.touching[edge.operand].append(edge)
            if edge.result != edge.operand:
                self.touching[edge.result].append(edge)
        self.bound: list[Candidate | None] = [None] * len(self.values)
        """What is stated about a value; at the levels that this says, every candidate agrees with it."""
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
                self.of[value.number][self.key(most)] = most
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
        self.pass_on_all(offers)
        met = self._held_in_both()
        self.pass_on_all(met)
        return bool(offers or met)

    def _held_in_both(self) -> dict[int, list[Candidate]]:
        """For values made of several operands, the layout in which each work-item holds what it holds of two of them."""
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
                    layout = _held_in_both(one.layout, other.layout) if one.levels == other.levels else None
                    if layout is not None:
                        found = Candidate(layout, one.levels, None, "carried", one.statement)
                        offers.setdefault(number, []).append(found)
        return offers

    def pass_on_all(self, offers: dict[int, list[Candidate]]) -> None:
        """Pass every candidate on to all neighbours, and these offers with them, until nothing is new."""
        self.offered = offers
        self.fresh = {number: list(found.values()) for number, found in enumerate(self.of) if found}
        self.pass_on()
        self.settle()
        for number, found in enumerate(self.of):
            if len(found) > 1:
                self._refine(number, list(found.values()))

    def key(self, one: Candidate) -> _Key:
        """A layout and its levels: candidates with the same two are one."""
        return one.layout, one.levels

    def order(self, one: Candidate) -> tuple[Any, ...]:
        """What is told first: the name of a layout that is written, and the one that is stated."""
        return one.attribute is None, _HOW[one.how], str(one.attribute), where_stated(one), text_of(one.layout)

    def admitted(self, number: int, one: Candidate) -> Candidate | None:
        """A candidate, within what is stated about the value."""
        bound = self.bound[number]
        return one if bound is None or _refines(one, bound) else None

    def passed_on(self, number: int, fresh: list[Candidate]) -> Iterator[tuple[int, list[Candidate]]]:
        """What the neighbours of a value can be, across the edges between them."""
        for edge in self.touching[number]:
            for forward in (True, False):
                source, target = (edge.operand, edge.result) if forward else (edge.result, edge.operand)
                if source != number or not (edge.passes_on if forward else edge.passes_back):
                    continue
                bound = self.bound[target]
                if bound is not None and bound.levels == _LEVELS:
                    continue
                shape = self.values[target].shape
                made = [one for each in fresh if (one := _moved(edge, each, shape, forward)) is not None]
                if made:
                    yield target, made

    def _refine(self, number: int, found: list[Candidate]) -> None:
        """Drop what says less than another candidate that agrees with it."""
        for one in found:
            if len(one.levels) < 2 and any(_refines(other, one) for other in found):
                del self.of[number][self.key(one)]


def _is_read(member: SSAValue) -> bool:
    """Whether a value is read from memory, by an operation that is known."""
    owner = member.owner
    return not isinstance(owner, Block) and relation_of(owner) is not None


@lru_cache(maxsize=_CACHED)
def text_of(layout: Layout) -> str:
    """The canonical text of a layout, which is kept."""
    return str(layout.canonical())


def _refines(one: Candidate, other: Candidate) -> bool:
    """Whether one says more than the other, and the same where both speak."""
    if not one.levels > other.levels:
        return False
    axes = tuple([axis for axis in ("sg", "lane") if axis in other.levels])
    return not axes or projected(one.layout, axes) == projected(other.layout, axes)


_HOW = {"stated": 0, "carried": 1, "wanted": 2}


def where_stated(one: Candidate) -> tuple[int, int]:
    """The line and column of the statement that a candidate comes from; those of none are last."""
    place = None if one.statement is None else place_of(one.statement.user)
    return (1 << 30, 0) if place is None else (place.line, place.column)


def _or_none(combined: Callable[[Layout, Layout], Layout]) -> Callable[[Layout, Layout], Layout | None]:
    """The same, kept, with None where there is no such layout."""

    @lru_cache(maxsize=_CACHED)
    def found(one: Layout, other: Layout) -> Layout | None:
        try:
            return combined(one, other)
        except LayoutError:
            return None

    return found


_given, _needed, _held_in_both = _or_none(given), _or_none(needed), _or_none(held_in_both)


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
