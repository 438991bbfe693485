"""The layouts that come into question for every value: from what is written, from what messages take, and carried along ties.

What the user wrote is the only candidate of its value; where it says subgroups alone and lanes are asked for, it is a bound
that every candidate refines (`levels`). Every other value takes the candidates of its neighbours, carried across
the operation between them, until nothing new comes: `MOST` of them at the most, those from near anchors first; how many were
left out is counted. What is new is offered to all neighbours at once, so that no order counts. A load takes what its messages
can deliver and nothing else. Equal maps are one candidate.

>>> from layoutalg.ir import read_module
>>> from layoutalg.flow.graph import flows_of
>>> text = '''func.func @f(%x: vector<16x8xf32>, %y: vector<8x16xf32>) {
...   %t = vector.transpose %x, [1, 0] : vector<16x8xf32> to vector<8x16xf32>
...   %s = arith.addf %t, %y {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<8x16xf32>
...   func.return }'''
>>> [flow] = flows_of(read_module(text))
>>> found = candidates_of(flow, Asked("lane", "pvc", 24, Machine(lanes=16)))
>>> for value, options in zip(flow.values, found.options):
...     print(value.shape, *(f"{option.held.key} ({option.why})" for option in options))
(16, 8) lane: d0 = 16@lane, d1 = 8@reg (as vector.transpose needs it)
(8, 16) lane: d0 = 8@reg, d1 = 16@lane (as arith.addf needs it)
(8, 16) lane: d0 = 8@reg, d1 = 16@lane (as arith.addf needs it)
(8, 16) lane: d0 = 8@reg, d1 = 16@lane (written there)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from xdsl.ir import Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import Machine
from layoutalg.flow.graph import Flow, Value
from layoutalg.flow.relations import Choice, Demand, Tie
from layoutalg.flow.relations.blocks import BlockDemand
from layoutalg.flow.written_layouts import WrittenLayout
from layoutalg.propagation.avoiding import price_of_mistake, right_layouts
from layoutalg.propagation.costs import Prices, bits_of
from layoutalg.propagation.default_layouts import product_operand, usual_layouts
from layoutalg.propagation.named_layout import NamedLayout, as_written, carry_back, carry_on, if_accepted
from layoutalg.propagation.refinement import block_of, coarse_held, is_coarse, leaves_lanes, refine
from layoutalg.xegpu import LayoutAttr

__all__ = [
    "MOST",
    "Asked",
    "Candidates",
    "Option",
    "candidates_of",
    "carried",
    "cost_at",
    "options_of",
    "owner_of",
    "problem_of",
    "refinements",
]

MOST = 8
"""Candidates of one value."""
_LARGE = 2000
"""Functions of more values have half as many, so that time and memory stay in proportion."""
CONVERSION = "xegpu.convert_layout"
_WRITTEN = "written there"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is propagated: the level (`lane`, `inst`, `workgroup`), for which chip, in which version of LLVM's syntax.

    >>> Asked("lane", "pvc", 24, Machine(lanes=16)).level
    'lane'
    """

    level: str
    target: str
    llvm: int
    machine: Machine
    kept: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False, repr=False)
    """Answers that were found before: many operations of a module ask the same."""


@dataclass(frozen=True, slots=True)
class Option:
    """A layout that a value may have, why, and what its maker asks for it (the price of the message that delivers it).

    >>> from layoutalg.xegpu import LayoutAttr
    >>> Option(if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16)), "written there").cost
    0
    """

    held: NamedLayout
    why: str
    cost: int = 0
    rank: tuple[int, int, bool] = (0, 0, False)
    """Where it came from: what is written, made, taken, usual; the place among those; and whether it is what a use needs."""


@dataclass(slots=True)
class Candidates:
    """The options of every value; what each demand on an operand takes; what is written about operands; what was left out.

    >>> Candidates([], [], {}, []).dropped
    0
    """

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


@dataclass(slots=True)
class _Search:
    flow: Flow
    asked: Asked
    found: Candidates
    closed: list[bool]
    """Values about which something is written: that is their only option."""
    keys: list[set[str]]
    ties: list[list[tuple[Tie, bool]]]
    """For each value, its ties; whether it is the result."""
    offered: dict[int, list[Option]] = field(default_factory=dict[int, list[Option]])
    """By value, what it is offered in this round."""
    fresh: list[tuple[int, Option]] = field(default_factory=list[tuple[int, Option]])
    """What is written: it has been taken, and not been offered to neighbours yet."""
    most: int = MOST
    coarse: dict[int, NamedLayout] = field(default_factory=dict[int, NamedLayout])
    """What is written about values at a coarser level than the one that is asked for: their options refine it."""
    made: dict[int, Demand] = field(default_factory=dict[int, Demand])
    """Values that a message or a product makes: it must be able to make an option."""

    def offer(self, number: int, option: Option) -> None:
        """Offer an option to a value; `settle` decides."""
        self.offered.setdefault(number, []).append(option)

    def settle(self) -> None:
        """Give values what they are offered, and offer that to all neighbours at once, until nothing new comes."""
        while self.offered or self.fresh:
            offered, self.offered = self.offered, {}
            fresh, self.fresh = self.fresh, []
            fresh += [(number, option) for number, options in offered.items() for option in self.taken(number, options)]
            for number, option in fresh:
                for tie, is_result in self.ties[number]:
                    self.carry(tie, is_result, option)

    def taken(self, number: int, offered: list[Option]) -> list[Option]:
        """What is new to a value of all that it is offered in a round, whatever order that came in."""
        coarse, demand, keys = self.coarse.get(number), self.made.get(number), self.keys[number]
        by_key: dict[str, Option] = {}
        for option in offered:
            known = option.held if coarse is None else refine(coarse, option.held, self.asked.llvm)
            if known is None or known.key in keys:
                continue
            if demand is not None:
                if ignored(demand, known) or problem_of(demand, known, self.asked) is not None:
                    continue
                cost = cost_at(demand, known, self.asked) + price_of_mistake(demand, known, self.asked)
                why = option.why if coarse is None else _why(demand, known, self.asked) or option.why
                option = Option(known, why, cost, option.rank)
            elif known is not option.held:
                option = Option(known, option.why, option.cost, option.rank)
            other = by_key.get(known.key)
            if other is None or _order(option) < _order(other):
                by_key[known.key] = option
        found = sorted(by_key.values(), key=_order) if len(by_key) > 1 else list(by_key.values())
        room = max(0, self.most - len(self.found.options[number]))
        self.found.dropped += max(0, len(found) - room)
        found = found[:room]
        keys.update(option.held.key for option in found)
        self.found.options[number] += found
        return found

    def carry(self, tie: Tie, is_result: bool, option: Option) -> None:
        """Carry an option along one tie."""
        other = self.flow.value_of(tie.operand if is_result else tie.result)
        if self.closed[other.number]:
            return
        made = carried(tie, option.held, is_result, other.shape, self.asked)
        if made is None:
            return
        why = f"as {tie.user.name} needs it" if is_result else f"as {tie.user.name} makes it"
        source, place, needed = option.rank
        self.offer(other.number, Option(made, why, rank=(source, place, needed or is_result)))


def _order(option: Option) -> tuple[Any, ...]:
    return option.rank, option.held.key, str(option.held.attribute), option.why


def carried(tie: Tie, known: NamedLayout, is_result: bool, shape: tuple[int, ...], asked: Asked) -> NamedLayout | None:
    """The layout of the other end of a tie, where the operation leaves one choice.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.relations import relation_of
    >>> from layoutalg.xegpu import LayoutAttr
    >>> text = "func.func @f(%a: vector<8x16xf32>) { %b = arith.addf %a, %a : vector<8x16xf32> func.return }"
    >>> addition = next(op for op in read_module(text).walk() if op.name == "arith.addf")
    >>> rows = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
    >>> carried(relation_of(addition).ties[0], rows, True, (8, 16), Asked("lane", "pvc", 24, Machine(lanes=16))).key
    'lane: d0 = 8@reg, d1 = 16@lane'
    """
    at = (id(tie.relation), tie.reach, tie.combines, tie.user.name == CONVERSION, id(known), is_result, shape)
    found = asked.kept.get(at)
    if found is None:
        # The relation and the layout are kept too, so that nothing else gets their identity.
        found = asked.kept[at] = (_carried(tie, known, is_result, shape, asked), tie.relation, known)
    return found[0]


def _carried(tie: Tie, known: NamedLayout, is_result: bool, shape: tuple[int, ...], asked: Asked) -> NamedLayout | None:
    if tie.user.name == CONVERSION:
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


def candidates_of(flow: Flow, asked: Asked) -> Candidates:
    """The candidates of every value of a function, as the module's docstring says.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> candidates_of(flow_of(read_module("gpu.barrier")), Asked("lane", "pvc", 24, Machine(lanes=16))).options
    []
    """
    count = len(flow.values)
    found = Candidates([[] for _ in range(count)], [None] * count, {}, [])
    ties: list[list[tuple[Tie, bool]]] = [[] for _ in range(count)]
    for tie in flow.ties:
        if tie.operand in flow and tie.result in flow:
            ties[flow.value_of(tie.result).number].append((tie, True))
            ties[flow.value_of(tie.operand).number].append((tie, False))
    search = _Search(flow, asked, found, [False] * count, [set() for _ in range(count)], ties)
    search.most = MOST if count <= _LARGE else MOST // 2
    _written(search)
    made, taken = _demanded(search)
    for number, options in made:
        for at, option in enumerate(options):
            search.offer(number, replace(option, rank=(1, at, False)))
    for number, options in taken:
        if not search.closed[number]:
            for at, option in enumerate(options):
                search.offer(number, replace(option, rank=(2, at, True)))
    search.settle()
    _added_in_lanes(search)
    _unreached(search)
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
        if statement.user.name == CONVERSION and _fix(search, value, statement):
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
    search.keys[value.number] = {known.key}
    search.found.options[value.number] = [option]
    search.offered.pop(value.number, None)
    search.fresh.append((value.number, option))
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
                search.found.options[value.number] = [Option(fixed, _WRITTEN, cost)]
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


def options_of(demand: Demand, shape: tuple[int, ...], asked: Asked) -> list[Option]:
    """The layouts that an operation takes or makes, each map once.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> flow = flow_of(read_module('''%a, %b = "test.op"() : () -> (vector<8x16xf16>, vector<16x16xf16>)
    ... %d = xegpu.dpas %a, %b : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>'''))
    >>> [one.held.key for one in options_of(flow.demands[1], (16, 16), Asked("lane", "pvc", 24, Machine(lanes=16)))]
    ['lane: d0 = 16@reg, d1 = 16@lane']
    """
    at = ("options", _kind_of(demand), shape, asked.level)
    if at not in asked.kept:
        asked.kept[at] = _options(demand, shape, asked)
    return asked.kept[at]


def refinements(demand: Demand, coarse: NamedLayout, asked: Asked) -> list[Option]:
    """The layouts that an operation takes of those that refine one of subgroups.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> flow = flow_of(read_module('''%a, %b = "test.op"() : () -> (vector<16x16xf16>, vector<16x16xf16>)
    ... %d = xegpu.dpas %a, %b : vector<16x16xf16>, vector<16x16xf16> -> vector<16x16xf32>'''))
    >>> rows = as_written(LayoutAttr(sg_layout=(2, 1), sg_data=(8, 16)), (16, 16))
    >>> [one] = refinements(flow.demands[0], rows, Asked("lane", "pvc", 24, Machine(lanes=16, subgroups=2)))
    >>> print(one.held.attribute)
    #xegpu.layout<sg_layout = [2, 1], sg_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>
    """
    found: dict[str, Option] = {}
    for option in options_of(demand, coarse.shape, asked):
        known = refine(coarse, option.held, asked.llvm)
        if known is None or ignored(demand, known) or problem_of(demand, known, asked) is not None:
            continue
        for other in right_layouts(demand, known, asked) if price_of_mistake(demand, known, asked) else ():
            found.setdefault(other.key, Option(other, "compilers move it rightly", cost_at(demand, other, asked)))
        why = _why(demand, known, asked) or option.why
        found.setdefault(known.key, Option(known, why, cost_at(demand, known, asked)))
    return list(found.values())


def _why(demand: Demand, known: NamedLayout, asked: Asked) -> str | None:
    """The messages of one subgroup, where messages move the value."""
    return demand.messages(known.attribute, asked.machine, asked.target) if isinstance(demand, BlockDemand) else None


def problem_of(demand: Demand, known: NamedLayout, asked: Asked) -> str | None:
    """Why an operation does not take or make a layout; None where it does.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> from layoutalg.xegpu import LayoutAttr
    >>> flow = flow_of(read_module('''%a, %b = "test.op"() : () -> (vector<8x16xf16>, vector<16x16xf16>)
    ... %d = xegpu.dpas %a, %b : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>'''))
    >>> rows = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
    >>> problem_of(flow.demands[0], rows, Asked("lane", "pvc", 24, Machine(lanes=16)))
    """
    at = ("problem", _kind_of(demand), known.attribute)
    if at not in asked.kept:
        asked.kept[at] = demand.problem(known.attribute, asked.machine, asked.target)
    return asked.kept[at]


def ignored(demand: Demand, known: NamedLayout) -> bool:
    """Whether every version of LLVM moves the block as if another layout were written.

    Blocks of 8x8 elements exist, so lanes in two rows of 8 can be loaded. LLVM 22, 23 and 24 accept `lane_layout = [2, 8]` and
    load rows of 16.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> from layoutalg.xegpu import LayoutAttr
    >>> flow = flow_of(read_module('''%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32>
    ... %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>'''))
    >>> shapes = ((1, 16), (2, 8))
    >>> [ignored(flow.demands[0], as_written(LayoutAttr(lane_layout=one, lane_data=(1, 1)), (8, 16))) for one in shapes]
    [False, True]
    """
    if demand.user.name not in ("xegpu.load_nd", "xegpu.store_nd") or not isinstance(known.attribute, LayoutAttr):
        return False
    lanes = known.attribute.lane_layout
    return lanes is not None and sum(count != 1 for count in lanes) > 1


def _kind_of(demand: Demand) -> tuple[Any, ...]:
    """What a demand's answers depend on: the operation's name, types and properties, and which value it is about."""
    user: Any = demand.user
    about = tuple(getattr(demand, one.name) for one in fields(demand) if one.name != "user")  # pyright: ignore[reportArgumentType]
    properties = tuple((name, one) for name, one in user.properties.items() if not name.startswith("layout"))
    types = tuple(value.type for value in (*user.operands, *user.results))
    return (type(demand), user.name, about, properties, types)


def _options(demand: Demand, shape: tuple[int, ...], asked: Asked) -> list[Option]:
    choices: tuple[Choice, ...] = tuple(demand.choices(asked.level, asked.machine, asked.target, asked.llvm))
    options: dict[str, Option] = {}
    for choice in choices:
        known = if_accepted(choice.attribute, shape, asked.llvm)
        if known is None or ignored(demand, known):
            continue
        for other in right_layouts(demand, known, asked) if price_of_mistake(demand, known, asked) else ():
            cost = demand.price(other.attribute, asked.machine, asked.target)
            options.setdefault(other.key, Option(other, "compilers move it rightly", cost))
        options.setdefault(known.key, Option(known, choice.why, choice.cost))
    return list(options.values())


def cost_at(demand: Demand, known: NamedLayout, asked: Asked) -> int:
    """What an operation costs with a layout: that of its choice, or its price where the layout is not one of its choices.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> from layoutalg.xegpu import LayoutAttr
    >>> flow = flow_of(read_module('''%a, %b = "test.op"() : () -> (vector<8x16xf16>, vector<16x16xf16>)
    ... %d = xegpu.dpas %a, %b : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>'''))
    >>> rows = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
    >>> cost_at(flow.demands[0], rows, Asked("lane", "pvc", 24, Machine(lanes=16)))
    0
    """
    at = ("cost", _kind_of(demand), known.key, known.attribute)
    if at not in asked.kept:
        asked.kept[at] = _cost_at(demand, known, asked)
    return asked.kept[at]


def _cost_at(demand: Demand, known: NamedLayout, asked: Asked) -> int:
    for option in options_of(demand, known.shape, asked):
        if option.held.key == known.key:
            return option.cost
    if known.tile is not None and "sg" not in known.levels:
        tiles = options_of(demand, known.shape, replace(asked, level="inst"))
        cost = next((option.cost for option in tiles if option.held.tile == known.tile), None)
        if cost is not None:
            return cost
    if known.levels == ("sg",):
        # The words that each lane then has: what grids of subgroups cost.
        count = Prices(asked.machine, asked.target).registers(known)
        return -(-count * bits_of(str(getattr(demand.value.type, "element_type", demand.value.type))) // 32)
    return demand.price(known.attribute, asked.machine, asked.target)


def _added_in_lanes(search: _Search) -> None:
    """Reductions may take usual layouts too: where a lane holds all of a row, nothing crosses lanes.

    Without that, a kernel whose load and store are written could never convert for a reduction between them.
    """
    for tie in search.flow.ties:
        if not tie.combines or tie.reach != "workgroup" or tie.operand not in search.flow:
            continue
        value = search.flow.value_of(tie.operand)
        for known in _usual(search, value)[:-1]:
            option = Option(known, f"{tie.user.name} adds so")
            if not search.closed[value.number]:
                search.offer(value.number, option)
            search.carry(tie, False, option)
    search.settle()


def _unreached(search: _Search) -> None:
    """Values that no anchor reaches take a usual layout, those first of which others are made."""
    while left := [value for value in search.flow.values if not search.found.options[value.number]]:
        numbers = {value.number for value in left}
        first = [value for value in left if not numbers.intersection(_made_of(search, value))] or left
        for value in first:
            for at, known in enumerate(_usual(search, value)):
                search.offer(value.number, Option(known, "no load, store or product says more", rank=(3, at, False)))
        search.settle()
        if all(not search.found.options[value.number] for value in first):
            return  # nothing fits them


def _made_of(search: _Search, value: Value) -> Iterator[int]:
    """The other values that a value is made of."""
    for tie, is_result in search.ties[value.number]:
        if is_result:
            operand = search.flow.value_of(tie.operand).number
            if operand != value.number:
                yield operand


def _usual(search: _Search, value: Value) -> list[NamedLayout]:
    """The usual layouts of a value; where its subgroups are known, those of a subgroup's block."""
    asked, coarse = search.asked, search.coarse.get(value.number)
    shape = value.shape if coarse is None else block_of(coarse)
    found = usual_layouts(shape, asked.level, asked.machine, asked.llvm)
    if coarse is None:
        return list(found)
    return [finer for known in found if (finer := refine(coarse, known, asked.llvm)) is not None]


def owner_of(member: SSAValue) -> Operation | None:
    """The operation that makes a value, or whose region has it as an argument.

    >>> from xdsl.dialects.test import TestOp
    >>> from xdsl.dialects.builtin import i32
    >>> owner_of(TestOp(result_types=[i32]).results[0]).name
    'test.op'
    """
    owner = member.owner
    return owner if isinstance(owner, Operation) else owner.parent_op()
