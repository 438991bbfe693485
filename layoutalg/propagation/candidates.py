"""The layouts that come into question for every value: from what is written, from what messages take, and carried along ties.

What the user wrote is the only candidate of its value; where it says subgroups alone and lanes are asked for, it is a bound
that every candidate refines (`levels`). Every other value takes the candidates of its neighbours, carried across
the operation between them, until nothing new comes: `MOST` of them at the most, those from near anchors first; how many were
left out is counted. What is new is offered to all neighbours at once (`flow.rounds`), so that no order counts. A load takes
what its messages can deliver and nothing else (`demand_options`). Equal maps are one candidate.

>>> from layoutalg.ir import read_module
>>> from layoutalg.flow.graph import flows_of
>>> text = '''func.func @f(%x: vector<16x8xf32>, %y: vector<8x16xf32>) {
...   %t = vector.transpose %x, [1, 0] : vector<16x8xf32> to vector<8x16xf32>
...   %s = arith.addf %t, %y {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<8x16xf32>
...   func.return }'''
>>> from layoutalg.core.notation import Machine
>>> [flow] = flows_of(read_module(text))
>>> found = candidates_of(flow, DemandOptions("lane", "pvc", 24, Machine(lanes=16)))
>>> for value, options in zip(flow.values, found.options):
...     print(value.shape, *(f"{option.held.key} ({option.why})" for option in options))
(16, 8) lane: d0 = 16@lane, d1 = 8@reg (as vector.transpose needs it)
(8, 16) lane: d0 = 8@reg, d1 = 16@lane (as arith.addf needs it)
(8, 16) lane: d0 = 8@reg, d1 = 16@lane (as arith.addf needs it)
(8, 16) lane: d0 = 8@reg, d1 = 16@lane (written there)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.ir import Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.flow.graph import Flow, Value
from layoutalg.flow.relations import Demand, Tie
from layoutalg.flow.rounds import Rounds
from layoutalg.flow.written_layouts import WrittenLayout
from layoutalg.propagation.avoiding import price_of_mistake
from layoutalg.propagation.default_layouts import product_operand, usual_layouts
from layoutalg.propagation.demand_options import (
    DemandOptions,
    Option,
    cost_at,
    ignored,
    messages_of,
    options_of,
    problem_of,
    refinements,
    written_at,
)
from layoutalg.propagation.named_layout import NamedLayout, as_written, carry_back, carry_on
from layoutalg.propagation.refinement import block_of, coarse_held, is_coarse, leaves_lanes, refine

__all__ = ["CONVERSIONS", "MOST", "Candidates", "candidates_of", "carried", "owner_of", "usual_of"]

MOST = 8
"""Candidates of one value."""
_LARGE = 2000
"""Functions of more values have half as many, so that time and memory stay in proportion."""
CONVERSIONS = frozenset({"xegpu.convert_layout", "ttg.convert_layout"})
"""What changes a layout and nothing else, at a price."""
_WRITTEN = "written there"


@dataclass(slots=True)
class Candidates:
    """The options of every value; what each demand on an operand takes; what is written about operands; what was left out."""

    options: list[list[Option]]
    fixed: list[NamedLayout | None]
    demanded: dict[int, list[Option]]
    """By the number of the demand in the flow; those that are about operands."""
    refused: list[tuple[WrittenLayout, str]]
    dropped: int = 0
    wanted: dict[tuple[Operation, int], WrittenLayout] = field(
        default_factory=dict[tuple[Operation, int], WrittenLayout]
    )
    bounds: dict[tuple[Operation, int], NamedLayout] = field(default_factory=dict[tuple[Operation, int], NamedLayout])
    """What is written about operands at a coarser level than the one that is asked for: what they are taken in refines it."""
    coarse: dict[int, NamedLayout] = field(default_factory=dict[int, NamedLayout])
    """The same of values."""


class _Search(Rounds[Option]):
    """The options of every value, and the text that they come from."""

    def __init__(self, flow: Flow, asked: DemandOptions) -> None:
        count = len(flow.values)
        super().__init__(count)
        self.flow, self.asked = flow, asked
        self.most = MOST if count <= _LARGE else MOST // 2
        self.found = Candidates([[] for _ in range(count)], [None] * count, {}, [])
        self.closed = [False] * count
        """Values about which something is written: that is their only option."""
        self.ties: list[list[tuple[Tie, bool]]] = [[] for _ in range(count)]
        """For each value, its ties; whether it is the result."""
        self.coarse: dict[int, NamedLayout] = {}
        """What is written about values at a coarser level than the one that is asked for: their options refine it."""
        self.made: dict[int, Demand] = {}
        """Values that a message or a product makes: it must be able to make an option."""
        for tie in flow.ties:
            if tie.operand in flow and tie.result in flow:
                self.ties[flow.value_of(tie.result).number].append((tie, True))
                self.ties[flow.value_of(tie.operand).number].append((tie, False))

    def key(self, one: Option) -> str:
        """The map, and the tile of one instruction."""
        return one.held.key

    def order(self, one: Option) -> tuple[Any, ...]:
        """Those from near anchors first."""
        return one.rank, one.held.key, str(one.held.attribute), one.why

    def admitted(self, number: int, one: Option) -> Option | None:
        """An option within what is written about the value, where the operation that makes the value can deliver it."""
        coarse, demand = self.coarse.get(number), self.made.get(number)
        known = one.held if coarse is None else refine(coarse, one.held, self.asked.llvm)
        if known is not None and demand is not None:
            known = written_at(demand.user, known, self.asked.llvm)
        if known is None or known.key in self.of[number]:
            return None
        if demand is not None:
            if ignored(demand, known) or problem_of(demand, known, self.asked) is not None:
                return None
            cost = cost_at(demand, known, self.asked) + price_of_mistake(demand, known, self.asked)
            why = one.why if coarse is None else messages_of(demand, known, self.asked) or one.why
            return Option(known, why, cost, one.rank)
        return one if known is one.held else Option(known, one.why, one.cost, one.rank)

    def passed_on(self, number: int, fresh: list[Option]) -> Iterator[tuple[int, list[Option]]]:
        """What the neighbours of a value can have, across the operations between them."""
        for tie, is_result in self.ties[number]:
            yield from self.along(tie, is_result, fresh)

    def along(self, tie: Tie, is_result: bool, options: list[Option]) -> Iterator[tuple[int, list[Option]]]:
        """Options carried along one tie."""
        other = self.flow.value_of(tie.operand if is_result else tie.result)
        if self.closed[other.number]:
            return
        why = f"as {tie.user.name} needs it" if is_result else f"as {tie.user.name} makes it"
        made: list[Option] = []
        for option in options:
            held = carried(tie, option.held, is_result, other.shape, self.asked)
            if held is not None:
                source, place, needed = option.rank
                made.append(Option(held, why, rank=(source, place, needed or is_result)))
        if made:
            yield other.number, made


def carried(
    tie: Tie, known: NamedLayout, is_result: bool, shape: tuple[int, ...], asked: DemandOptions
) -> NamedLayout | None:
    """The layout of the other end of a tie, where the operation leaves one choice."""
    at = (id(tie.relation), tie.reach, tie.combines, tie.user.name in CONVERSIONS, id(known), is_result, shape)
    found = asked.kept.get(at)
    if found is None:
        # The relation and the layout are kept too, so that nothing else gets their identity.
        found = asked.kept[at] = (_carried(tie, known, is_result, shape, asked), tie.relation, known)
    return found[0]


def _carried(
    tie: Tie, known: NamedLayout, is_result: bool, shape: tuple[int, ...], asked: DemandOptions
) -> NamedLayout | None:
    if tie.user.name in CONVERSIONS:
        return None
    if tie.reach == "subgroup":
        if not is_result or "sg" not in known.levels:
            return None
        return product_operand(tie, known, shape, asked.llvm)
    if tie.reach == "workgroup" and not tie.combines:
        return None
    if is_result:
        return carry_back(tie.relation, known, shape, asked.llvm)
    return carry_on(tie.relation, known, shape, asked.llvm)


def candidates_of(flow: Flow, asked: DemandOptions) -> Candidates:
    """The candidates of every value of a function, as the module's docstring says."""
    search = _Search(flow, asked)
    _written(search)
    made, taken = _demanded(search)
    for number, options in made:
        search.offer(number, *(replace(option, rank=(1, at, False)) for at, option in enumerate(options)))
    for number, options in taken:
        if not search.closed[number]:
            search.offer(number, *(replace(option, rank=(2, at, True)) for at, option in enumerate(options)))
    search.settle()
    _added_in_lanes(search)
    _unreached(search)
    found = search.found
    found.options, found.dropped = [list(one.values()) for one in search.of], search.dropped
    found.coarse = search.coarse
    return found


def _written(search: _Search) -> None:
    """What is written about a value is its only option; what is written about an operand is what its use needs."""
    found = search.found
    for value in search.flow.values:
        for statement in value.stated:
            _fix(search, value, statement)
    for statement in search.flow.wanted:
        if statement.number is None or statement.value not in search.flow:
            continue
        value = search.flow.value_of(statement.value)
        if statement.user.name in CONVERSIONS and _fix(search, value, statement):
            continue
        known = as_written(statement.attribute, value.shape)
        if known is None:
            _refuse(search, statement, value)
            continue
        if _is_open(search, statement):
            if is_coarse(statement.attribute):
                found.bounds[statement.user, statement.number] = coarse_held(statement.attribute, value.shape) or known
            continue
        found.wanted[statement.user, statement.number] = statement
        if not search.closed[value.number]:
            search.offer(value.number, Option(known, f"written at {statement.user.name}"))


def _fix(search: _Search, value: Value, statement: WrittenLayout) -> bool:
    """Let a value have what is written about it; False where it has another layout already."""
    known = as_written(statement.attribute, value.shape)
    if known is None:
        _refuse(search, statement, value)
        return True
    if _is_open(search, statement):
        if is_coarse(statement.attribute):
            search.coarse.setdefault(value.number, coarse_held(statement.attribute, value.shape) or known)
        return True
    present = search.found.fixed[value.number]
    if present is not None:
        return present.key == known.key
    search.found.fixed[value.number] = known
    search.closed[value.number] = True
    option = Option(known, _WRITTEN)
    search.of[value.number] = {known.key: option}
    search.offered.pop(value.number, None)
    search.fresh[value.number] = [option]
    return True


def _is_open(search: _Search, statement: WrittenLayout) -> bool:
    """Whether lanes are asked for, and a statement leaves them open."""
    return search.asked.level == "lane" and leaves_lanes(statement.attribute)


def _refuse(search: _Search, statement: WrittenLayout, value: Value) -> None:
    try:
        layout = str(statement.attribute.operands(value.shape, None))
        problem = f"does not fit {layout}"
    except LayoutError as error:
        problem = str(error)
    search.found.refused.append((statement, problem))


_Offers = list[tuple[int, list[Option]]]


def _demanded(search: _Search) -> tuple[_Offers, _Offers]:
    """What the operations of a function make, and what they take."""
    made: _Offers = []
    taken: _Offers = []
    for number, demand in enumerate(search.flow.demands):
        if demand.value not in search.flow:
            continue
        value = search.flow.value_of(demand.value)
        options = options_of(demand, value.shape, search.asked)
        if demand.number is None:
            fixed = search.found.fixed[value.number]
            if fixed is None and options:
                search.made[value.number] = demand
                made.append((value.number, options))
            elif fixed is not None:
                cost = cost_at(demand, fixed, search.asked)
                search.of[value.number] = {fixed.key: Option(fixed, _WRITTEN, cost)}
        else:
            bound = search.found.bounds.get((demand.user, demand.number)) or search.coarse.get(value.number)
            options = options if bound is None else refinements(demand, bound, search.asked)
            wrong = [price_of_mistake(demand, one.held, search.asked) for one in options]
            search.found.demanded[number] = [
                replace(one, cost=one.cost + price) for one, price in zip(options, wrong, strict=True)
            ]
            name = demand.user.name
            taken.append((value.number, [Option(one.held, f"{name} takes it: {one.why}") for one in options]))
    return made, taken


def _added_in_lanes(search: _Search) -> None:
    """Reductions may take usual layouts too: where a lane holds all of a row, nothing crosses lanes.

    Without that, a kernel whose load and store are written could never convert for a reduction between them.
    """
    for tie in search.flow.ties:
        if not tie.combines or tie.reach != "workgroup" or tie.operand not in search.flow:
            continue
        value = search.flow.value_of(tie.operand)
        for known in usual_of(value, search.coarse.get(value.number), search.asked)[:-1]:
            option = Option(known, f"{tie.user.name} adds so")
            if not search.closed[value.number]:
                search.offer(value.number, option)
            for number, made in search.along(tie, False, [option]):
                search.offer(number, *made)
    search.settle()


def _unreached(search: _Search) -> None:
    """Values that no anchor reaches take a usual layout, those first of which others are made."""
    while left := [value for value in search.flow.values if not search.of[value.number]]:
        numbers = {value.number for value in left}
        first = [value for value in left if not numbers.intersection(_made_of(search, value))] or left
        for value in first:
            for at, known in enumerate(usual_of(value, search.coarse.get(value.number), search.asked)):
                search.offer(value.number, Option(known, "no load, store or product says more", rank=(3, at, False)))
        search.settle()
        if all(not search.of[value.number] for value in first):
            return  # nothing fits them


def _made_of(search: _Search, value: Value) -> Iterator[int]:
    """The other values that a value is made of."""
    for tie, is_result in search.ties[value.number]:
        if is_result:
            operand = search.flow.value_of(tie.operand).number
            if operand != value.number:
                yield operand


def usual_of(value: Value, coarse: NamedLayout | None, asked: DemandOptions) -> list[NamedLayout]:
    """The usual layouts of a value; where its subgroups are known, those of a subgroup's block. The last has all everywhere."""
    shape = value.shape if coarse is None else block_of(coarse)
    found = usual_layouts(shape, asked.level, asked.machine, asked.llvm)
    if coarse is None:
        return list(found)
    return [finer for known in found if (finer := refine(coarse, known, asked.llvm)) is not None]


def owner_of(member: SSAValue) -> Operation | None:
    """The operation that makes a value, or whose region has it as an argument."""
    owner = member.owner
    return owner if isinstance(owner, Operation) else owner.parent_op()
