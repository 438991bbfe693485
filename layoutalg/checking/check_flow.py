"""One function checked: what is stated about its values, what its operations tie together, what they take and make.

>>> from layoutalg.flow.graph import flows_of
>>> module = la.read('''func.func @f(%x: vector<8x17xf32>) {
...   %y = math.exp %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<8x17xf32>
...   func.return }''')
>>> [flow] = flows_of(module.parts[0].module)
>>> [mistake] = check_flow(flow, module, "pvc", 22).mistakes
>>> mistake.finding.rule, mistake.finding.message
('layouts.fit', 'cannot distribute [8, 17] using #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]> (layout_result_0
of %y)')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from xdsl.dialects.builtin import TensorType
from xdsl.ir import OpResult, SSAValue

from layoutalg.checking.conversions import CheckedConversion, conversions_of
from layoutalg.checking.mistakes import UNCOMPARED, Mistake
from layoutalg.checking.repairs import Repairing
from layoutalg.compare import same
from layoutalg.compare.missing import Missing, missing
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.compiler_mistakes import compiler_mistake, reduction_mistakes
from layoutalg.flow.edges import axes_of, edges_of, lacking, lacks, projected
from layoutalg.flow.levels import layout_at, levels_of, machine_in, narrowed, unblocked
from layoutalg.flow.open_levels import as_taken, operand_statements
from layoutalg.flow.relations import shape_of
from layoutalg.flow.value_candidates import Candidate, stated_candidate
from layoutalg.flow.values import solved
from layoutalg.flow.written_layouts import CONVERTING, WrittenLayout, called, statements_of
from layoutalg.ir.dialects.unread import UNREAD, UndefinedOp, UnreadOp
from layoutalg.ir.findings import OURS, Finding
from layoutalg.ir.places import place_of
from layoutalg.ir.well_formed import is_well_formed
from layoutalg.module.names import Names
from layoutalg.xegpu import LayoutAttr, SliceAttr

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from layoutalg.flow.edges import Edge
    from layoutalg.flow.graph import Flow, Value
    from layoutalg.flow.relations import Demand, Tie
    from layoutalg.module import Module

__all__ = ["FunctionCheck", "check_flow", "unread_in"]

_AXES = ("sg", "lane")
_LEVELS = frozenset(_AXES)
_MOST_INSTEAD = 2
"""Other places for a conversion that a finding names."""
_VERIFIED = frozenset(("descriptor", "input_layout", "target_layout"))
"""What LLVM's own verifiers look at; the rest it finds out when it distributes, or never."""


@dataclass(frozen=True, slots=True)
class FunctionCheck:
    """What was found in one function."""

    mistakes: tuple[Mistake, ...]
    conversions: tuple[CheckedConversion, ...]
    operations: int
    unknown: tuple[str, ...]
    unsaid: int = 0


def check_flow(flow: Flow, module: Module, target: str, llvm: int) -> FunctionCheck:
    """Check one function of a module."""
    return _Checking(flow, module, target, llvm).found()


class _Checking:
    def __init__(self, flow: Flow, module: Module, target: str, llvm: int) -> None:
        self.flow, self.target, self.llvm = flow, target, llvm
        self.machine = machine_in(flow, target)
        self.module = module
        self.names = Names(module.lines)
        self.solved = solved(flow, self.machine, target)
        self.held = self.solved.stated
        self.taken = operand_statements(flow.wanted)
        self.repairing = Repairing(flow, self.held, self.names, self.machine, target, llvm)

    def found(self) -> FunctionCheck:
        mistakes = [
            *self._refused(),
            *self._fits(),
            *self._contradictions(),
            *self._wanted(),
            *self._ties(),
            *self._demands(),
            *self._compilers(),
        ]
        users: set[Operation] = set()
        for member in (member for value in self.flow.values for member in value.members):
            users.update(use.operation for use in member.uses)
            if isinstance(member, OpResult) and not isinstance(member.op, UndefinedOp):
                users.add(member.op)
        conversions = tuple(conversions_of(self.flow, self.module, self.machine, self.target, self.held, self.llvm))
        unsaid = sum(value.makes is None and value.number not in self.held for value in self.flow.values)
        unknown = tuple([called(one) for one in self.flow.unknown if _is_unknown(one)])
        return FunctionCheck(tuple(mistakes), conversions, len(users), unknown, unsaid)

    def _refused(self) -> Iterator[Mistake]:
        """Operations that are not as their dialect wants them, in the words of the verifier that refuses them."""
        if not self.flow.refused:
            return
        told = {(one.operation, one.place): one for one in self.module.verify(llvm=self.llvm) if one.level == "error"}
        for operation in self.flow.refused:
            name, place = called(operation), place_of(operation)
            found = told.get((name, place)) or Finding("layouts.operation", "is not as its dialect has it", name, place)
            yield Mistake(found, "")

    # Layouts that don't fit

    def _fits(self) -> Iterator[Mistake]:
        for value in self.flow.values:
            for statement in value.stated:
                yield from self._fit(statement, value.shape)
        for statement in self.flow.wanted:
            yield from self._fit(statement, self.flow.value_of(statement.value).shape)

    def _fit(self, statement: WrittenLayout, shape: tuple[int, ...]) -> Iterator[Mistake]:
        problem = _misfit(statement.attribute, shape, self.machine, self.llvm, statement.name == "descriptor")
        if problem is None:
            return
        words, theirs = problem
        name = self.names.of(statement.value)
        source = f"LLVM {self.llvm}" if theirs and statement.name in _VERIFIED else OURS
        shared = narrowed(statement.attribute, shape)
        fits = shared is not None and stated_candidate(statement, shape, self.machine) is not None
        notes = ("a dimension of size 1 is taken as shared: every work-item along it has its element",) if fits else ()
        if theirs and isinstance(statement.attribute, LayoutAttr | SliceAttr):
            why = statement.attribute.refusal(shape, self.llvm)
            notes = notes if why is None else (str(why), *notes)
        level: Literal["error", "warning"] = "warning" if fits and statement.name.startswith("layout_") else "error"
        told = f"{words} ({statement.name} of {name})"
        finding = Finding("layouts.fit", told, called(statement.user), place_of(statement.user), source, level, notes)
        yield Mistake(finding, name, None, statement.attribute)

    # Statements about one value

    def _contradictions(self) -> Iterator[Mistake]:
        for value in self.flow.values:
            chosen = self.held.get(value.number)
            if len(value.stated) < 2 or chosen is None or chosen.statement is None:
                continue
            for statement in value.stated:
                other = stated_candidate(statement, value.shape, self.machine)
                if statement is chosen.statement or other is None:
                    continue
                yield from self._against(chosen, other, statement)

    def _against(self, chosen: Candidate, other: Candidate, statement: WrittenLayout) -> Iterator[Mistake]:
        """Two statements about one value: who holds what, and else in which register."""
        kept = _common(chosen, other)
        name = self.names.of(statement.value)
        first = chosen.statement
        for one, two in ((other, chosen), (chosen, other)):
            gap = missing(projected(one.layout, kept), projected(two.layout, kept)) if kept else None
            if gap is not None:
                needs, holds = (statement, first) if one is other else (first, statement)
                message = (
                    f"states two layouts of {name}: by {_named(needs)} {gap.where} has element {gap.element}, "
                    f"and by {_named(holds)} it is {gap.held}"
                )
                yield self._mistake(
                    "layouts.contradiction", message, statement.user, name, other, chosen, gap,
                    repairs=self.repairing.of_statements(statement, chosen),
                )  # fmt: skip
                return
        yield from self._registers(chosen, other, statement.user, name, kept)

    def _registers(
        self, held: Candidate, needed: Candidate, user: Operation, name: str, kept: tuple[str, ...]
    ) -> Iterator[Mistake]:
        """The same holders, and other registers: right where only instruction tiles differ, which blocking takes away."""
        if held.attribute is None or needed.attribute is None or held.attribute == needed.attribute:
            return
        if held.levels != needed.levels or len(kept) != len(held.levels):
            return
        told = _reordered(held.attribute, needed.attribute, held.layout.shape, self.machine)
        if told is not None:
            message = f"takes {name} with other registers: {told}"
            yield self._mistake("layouts.registers", message, user, name, needed, held, None, "warning")

    # Operands

    def _wanted(self) -> Iterator[Mistake]:
        for statement in self.flow.wanted:
            value = self.flow.value_of(statement.value)
            held, needed = self.held.get(value.number), stated_candidate(statement, value.shape, self.machine)
            if held is None or needed is None or held.attribute == needed.attribute:
                continue
            kept, name = _common(held, needed), self.names.of(statement.value)
            gap = missing(projected(needed.layout, kept), projected(held.layout, kept)) if kept else None
            if gap is not None:
                message = f"wants {name} as its {statement.name} says: {_told(gap)}"
                repairs = self.repairing.of_operand(statement.user, statement.number, value, held, needed.attribute)
                yield self._mistake(
                    "layouts.operand", message, statement.user, name, needed, held, gap, repairs=repairs
                )
            elif missing(projected(held.layout, kept), projected(needed.layout, kept)) is None:
                yield from self._registers(held, needed, statement.user, name, kept)

    def _ties(self) -> Iterator[Mistake]:
        unknown = dict(self.solved.uncompared)
        broken = set(self.solved.broken)
        for edge in edges_of(self.flow):
            operand, result = self.held.get(edge.operand), self.held.get(edge.result)
            if operand is None or result is None or (edge.equal and operand.layout is result.layout):
                continue
            if edge in unknown:
                yield self._not_compared(edge.tie, unknown[edge])
            elif edge in broken:
                gap = self._gap(edge, operand, result)
                if gap is not None:
                    yield self._lacks(edge, operand, result, gap)
            elif edge.equal and edge.tie.reach == "work-item":
                kept, name = _common(operand, result), self.names.of(edge.tie.operand)
                if lacking(edge.tie.relation, operand.layout, result.layout, kept) is None:
                    yield from self._registers(operand, result, edge.tie.user, name, kept)

    def _gap(self, edge: Edge, operand: Candidate, result: Candidate) -> Missing | None:
        """What the result lacks along an edge: first at the levels that the module states, then at those that were inferred."""
        ends = ((edge.operand, operand), (edge.result, result))
        for levels in ([self._said(number, one) for number, one in ends], [operand.levels, result.levels]):
            gap = lacks(edge.tie, operand.layout, result.layout, axes_of(edge.tie, *levels))
            if gap is not None:
                return gap
        return None

    def _said(self, number: int, one: Candidate) -> frozenset[str]:
        """The levels that the module states of a value; where it states none, the inferred ones."""
        stated = self.flow.values[number].stated
        return (
            frozenset[str]().union(*(levels_of(each.attribute) for each in stated)) & one.levels
            if stated
            else one.levels
        )

    def _lacks(self, edge: Edge, operand: Candidate, result: Candidate, gap: Missing) -> Mistake:
        tie = edge.tie
        name = self.names.of(tie.operand)
        value = self.flow.value_of(tie.operand)
        if tie.combines and tie.reach == "workgroup":
            made = self.names.of(tie.result)
            message = f"{gap.where} gets element {gap.element} of {made} and has no part of it: those are {gap.held}"
            repairs = self.repairing.of_result(tie, operand)
            return self._mistake(
                "layouts.part",
                message,
                tie.user,
                name,
                result,
                operand,
                gap,
                repairs=repairs,
                notes=self._instead(edge),
            )
        message = _told(gap, name)
        repairs = self.repairing.of_tie(tie, value, operand, result)
        return self._mistake(
            "layouts.operand", message, tie.user, name, result, operand, gap,
            repairs=repairs, made=tie, notes=self._instead(edge),
        )  # fmt: skip

    def _instead(self, edge: Edge) -> Iterator[str]:
        """What could be converted instead of the operand of a broken edge: another choice of layouts breaks no more."""
        others = self.solved.alternatives.get(edge, ())
        for other in others[:_MOST_INSTEAD]:
            place = place_of(other.tie.user)
            line = "" if place is None else f" (line {place.line})"
            yield f"or convert {self.names.of(other.tie.operand)} for {called(other.tie.user)}{line} instead"

    def _not_compared(self, tie: Tie, why: str) -> Mistake:
        name = self.names.of(tie.operand)
        return self._mistake(UNCOMPARED, f"{name} is not compared: {why}", tie.user, name, None, None, None, "warning")

    # What operations take and make

    def _demands(self) -> Iterator[Mistake]:
        for demand in self.flow.demands:
            if demand.value not in self.flow:
                continue
            value = self.flow.value_of(demand.value)
            held = self.held.get(value.number)
            if held is None:
                continue
            problem = next(self._refusals(demand, value, held), None)
            if problem is not None:
                name = self.names.of(demand.value)
                message = f"cannot {'make' if demand.number is None else 'take'} {name} in its layout: {problem}"
                repairs = self.repairing.of_demand(demand, value, held)
                yield self._mistake("layouts.demand", message, demand.user, name, None, held, None, repairs=repairs)

    def _refusals(self, demand: Demand, value: Value, held: Candidate) -> Iterator[str]:
        """Why an operation does not take or make a value as it is held, or in the instruction's tile that is stated."""
        statement = self.taken.get((demand.user, demand.number))
        taken = None if statement is None else as_taken(held, statement, value.shape, self.machine)
        tiles = [one.attribute for one in value.stated if not levels_of(one.attribute) & _LEVELS]
        own = [held.said] * bool(held.levels or held.attribute) + tiles
        for said in dict.fromkeys(own if taken is None else [taken]):
            problem = demand.problem(said, self.machine, self.target)
            if problem is not None:
                yield problem

    # What compilers get wrong

    def _compilers(self) -> Iterator[Mistake]:
        wanted = {statement.user: statement for statement in self.flow.wanted}
        for value in self.flow.values:
            held = self.held.get(value.number)
            if held is None:
                continue
            for statement in value.stated:
                if statement.user.name == "xegpu.load_matrix":
                    yield from self._moves_others(statement.user, None, value, statement.attribute)
            for use in (use for member in value.members for use in member.uses):
                if use.operation.name == "xegpu.store_matrix" and use.index == 0:
                    statement = wanted.get(use.operation)
                    attribute = held.attribute if statement is None else statement.attribute
                    if attribute is not None:
                        yield from self._moves_others(use.operation, 0, value, attribute)
        for one in reduction_mistakes(self.flow):
            found, statement = one.mistake, one.statement
            if self.llvm in found.versions:
                value, name = self.flow.value_of(statement.value), self.names.of(statement.value)
                made = self.names.of(one.reduction.results[0])
                of = (
                    ""
                    if one.user is statement.user
                    else f"; {name} is computed from {made}, which {one.reduction.name} makes"
                )
                message = f"takes {name} rightly, and {found.by} crash: {found.message}{of}"
                repairs = self.repairing.of_reduction(one)
                held = self.held.get(value.number)
                yield self._mistake(found.rule, message, statement.user, name, None, held, None, repairs=repairs)

    def _moves_others(
        self, user: Operation, number: int | None, value: Value, attribute: Distributed
    ) -> Iterator[Mistake]:
        operand = value.members[0] if number is None else user.operands[number]
        found, held = compiler_mistake(user, operand, attribute), self.held.get(value.number)
        if found is None or self.llvm not in found.versions or held is None:
            return
        message = f"is right, and {found.by} move other elements: {found.message}"
        repairs = self.repairing.of_matrix(user, number, value, held)
        yield self._mistake(found.rule, message, user, self.names.of(operand), None, held, None, repairs=repairs)

    # Words

    def _mistake(
        self,
        rule: str,
        message: str,
        user: Operation,
        operand: str,
        needed: Candidate | None,
        held: Candidate | None,
        gap: Missing | None,
        level: Literal["error", "warning"] = "error",
        *,
        repairs: Sequence[object] = (),
        made: Tie | None = None,
        notes: Iterable[str] = (),
    ) -> Mistake:
        more, notes = notes, list[str]()
        if held is not None:
            notes.append(f"{operand} is {self._whence(held)}")
        if needed is not None:
            what = "needed" if made is None else f"{self.names.of(made.result)} is"
            notes.append(f"{what}{':' if made is None else ''} {self._whence(needed)}")
        notes += [f"repair: {one}" for one in repairs]
        notes += more
        finding = Finding(rule, message, called(user), place_of(user), OURS, level, tuple(notes))
        return Mistake(
            finding,
            operand,
            None if needed is None else self._as_attribute(needed),
            None if held is None else self._as_attribute(held),
            None if gap is None else gap.element,
            () if gap is None else gap.needed_by,
            () if gap is None else gap.holders,
            () if gap is None else gap.axes,
            tuple(repairs),  # pyright: ignore[reportArgumentType]
        )

    def _as_attribute(self, held: Candidate) -> Distributed:
        shape = tuple(int(size) for size in held.layout.shape)
        return held.attribute or self.repairing.written(held.layout, shape, held.levels) or held.layout

    def _whence(self, held: Candidate) -> str:
        text = str(self._as_attribute(held))
        statement = held.statement
        if statement is None:
            return text
        place = place_of(statement.user)
        line = "" if place is None else f" at line {place.line}"
        said = f"{statement.name} of {called(statement.user)}{line}"
        return f"{text} ({said})" if held.how == "stated" else f"{text} (from {said})"


def _is_unknown(operation: Operation) -> bool:
    """Whether nobody knows what an operation does with distributed values; one that takes none is like an argument."""
    if isinstance(operation, UnreadOp) or called(operation) in CONVERTING:
        return False  # see `unread_in`; a conversion says what it does
    return any(shape_of(operand) is not None for operand in operation.operands)


def unread_in(module: Operation) -> Iterator[str]:
    """The operations that cannot be looked at: of unknown syntax where something is distributed, or with layouts of open sizes.

    >>> list(unread_in(la.read("%x = arith.constant dense<0.0> : vector<8xf32> my.op %x : vector<8xf32>").parts[0].module))
    ['my.op']
    """
    for operation in module.walk():
        if isinstance(operation, UnreadOp) and operation.called:
            values = (*operation.operands, *operation.results)
            if operation.mentions or any(shape_of(one) is not None or one.type == UNREAD for one in values):
                yield operation.called
        elif _has_open(operation) and any(_is_open(statement.value) for statement in statements_of(operation)):
            yield called(operation)


def _has_open(operation: Operation) -> bool:
    return any(_is_open(one) for one in (*operation.operands, *operation.results)) and is_well_formed(operation)


def _is_open(value: SSAValue) -> bool:
    """Whether a tensor has sizes that are known only when the program runs."""
    kind: Any = value.type
    return isinstance(kind, TensorType) and any(size < 0 for size in kind.get_shape())


def _common(one: Candidate, other: Candidate) -> tuple[str, ...]:
    """The axes of the levels that both say."""
    return tuple([axis for axis in _AXES if axis in one.levels and axis in other.levels])


def _told(gap: Missing, name: str = "") -> str:
    of = f" of {name}" if name else ""
    return f"{gap.where} needs element {gap.element}{of}, which is {gap.held}"


def _named(statement: WrittenLayout | None) -> str:
    return "its layout" if statement is None else "its descriptor" if statement.name == "descriptor" else statement.name


@lru_cache(maxsize=1 << 14)
def _reordered(held: Distributed, needed: Distributed, shape: tuple[int, ...], machine: Machine) -> str | None:
    """Where the registers part that two layouts give the same work-items; None where they are the same without tiles."""
    try:
        answer = same(layout_at(unblocked(held), shape, machine), layout_at(unblocked(needed), shape, machine))
    except LayoutError:
        return None
    return None if answer else answer.explanation.partition(";")[0]


@lru_cache(maxsize=1 << 14)
def _misfit(
    attribute: Distributed, shape: tuple[int, ...], machine: Machine, llvm: int, on_descriptor: bool
) -> tuple[str, bool] | None:
    """Why a layout does not fit a shape, and whether these are LLVM's words."""
    if isinstance(attribute, LayoutAttr | SliceAttr):
        ask = attribute.descriptor_problem if on_descriptor else attribute.check
        words = ask(shape, llvm)
        if words is not None:
            return words.removeprefix("'xegpu.convert_layout' op "), True
    try:
        found: Layout = layout_at(attribute, shape, machine)
    except LayoutError as error:
        return str(error), False
    if found.shape != shape:
        return f"{attribute} is a layout of {list(found.shape)}, and the value has {list(shape)}", False
    return None
