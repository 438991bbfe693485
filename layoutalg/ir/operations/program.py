"""A declared syntax as a program that reads and prints an operation, and the check of what was read.

xDSL's own program checks types while it reads, infers missing ones by constraints, sorts values into groups and back, and
checks everything once more afterwards. Here a type that the syntax leaves out is looked up (it is always the same, or that of
another value), types that are wrong are left for the verifier to refuse, and the check looks at what can be wrong at all.

>>> from layoutalg.ir import read_module
>>> text = '%a = "test.op"() : () -> vector<4xi32> %b = arith.addi %a, %a : vector<4xi32>'
>>> print(list(read_module(text).ops)[1].lhs.type)
vector<4xi32>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    OpDef,
    OptionalDef,
    OptPropertyDef,
    OptResultDef,
    VarConstraint,
    VarOperandDef,
    VarResultDef,
)
from xdsl.irdl.constraints import RangeConstraint, VerificationContext
from xdsl.irdl.declarative_assembly_format import FormatDirective, FormatProgram, ParsingState
from xdsl.parser import Parser
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

__all__ = ["Program", "quick_check"]

OperationT = TypeVar("OperationT", bound=IRDLOperation)

Groups = Sequence[Sequence[Any] | None]
Missing = Callable[[Groups, Groups], Attribute | None]
"""Gives a type that was not written, from the types of the operands and of the results that were."""


class Program(FormatProgram):
    """A format whose types are not checked while it is read: what is wrong with them is for the verifier to say.

    >>> from layoutalg.ir.dialects.index import CmpOp
    >>> Program((), CmpOp.get_irdl_definition()).counts  # operands, results, regions
    (2, 1, 0)
    """

    def __init__(self, steps: tuple[FormatDirective, ...], definition: OpDef) -> None:
        super().__init__(steps)
        values = [constraint.constr for _, constraint in (*definition.operands, *definition.results)]
        count = len(definition.operands)
        missing = [_missing(number, values, count) for number in range(len(values))]
        self.missing_operands, self.missing_results = missing[:count], missing[count:]
        self.segments = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
        self.regions = bool(definition.regions)
        self.counts = count, len(definition.results), len(definition.regions)
        self.optional_results = [isinstance(one, VarResultDef | OptResultDef) for _, one in definition.results]

    def state(self, op_type: type[IRDLOperation]) -> ParsingState:
        """What was read so far: nothing. (The constructor of xDSL's class looks the numbers up each time.)"""
        state = ParsingState.__new__(ParsingState)
        state.op_type = op_type
        operands, results, regions = self.counts
        state.operands, state.operand_types = [None] * operands, [None] * operands
        state.result_types, state.regions, state.successors = [None] * results, [None] * regions, []
        state.attributes, state.properties = {}, {}
        state.context = VerificationContext()
        return state

    def parse(self, parser: Parser, op_type: type[OperationT]) -> OperationT:
        """Read an operation."""
        state = self.state(op_type)
        start = parser.pos
        for step in self.stmts:
            step.parse(parser, state)
        written, results = state.operand_types, state.result_types
        operands: list[SSAValue] = []
        sizes: list[int] = []
        for names, types, missing in zip(state.operands, written, self.missing_operands, strict=True):
            if names:
                if types is None:
                    types = (_found(parser, missing, written, results),) * len(names)
                if len(names) != len(types):
                    parser.raise_error(_types_missing(state), start, start)
                for name, kind in zip(names, types, strict=True):
                    operands.append(parser.resolve_operand(name, kind))
            elif types:
                parser.raise_error(_types_missing(state), start, start)
            sizes.append(len(names or ()))
        made: list[Attribute] = []
        for types, missing, optional in zip(results, self.missing_results, self.optional_results, strict=True):
            if types is not None:
                made += types
            elif not optional:
                made.append(_found(parser, missing, written, results))
        if self.segments:
            state.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
        regions = [region for given in state.regions for region in given or ()] if self.regions else ()
        return op_type.create(
            operands=operands,
            result_types=made,
            properties=state.properties,
            attributes=state.attributes,
            regions=regions,
        )


def _found(parser: Parser, missing: Missing, operands: Groups, results: Groups) -> Attribute:
    kind = missing(operands, results)
    return parser.raise_error("a type is missing") if kind is None else kind


def _types_missing(state: ParsingState) -> str:
    """What LLVM says where a list of types is shorter or longer than its operands (types that the syntax leaves out count)."""
    given = [(len(names or ()), kinds) for names, kinds in zip(state.operands, state.operand_types, strict=True)]
    operands = sum(count for count, _ in given)
    types = sum(count if kinds is None else len(kinds) for count, kinds in given)
    return f"number of operands and types do not match: got {operands} operands and {types} types"


def _missing(number: int, constraints: Sequence[Any], operands: int) -> Missing:
    """How to know the type of a value that is not written: from its constraint, or from values that have the same type."""
    variable = _variable(constraints[number])
    if variable is None:
        try:
            kind: Attribute | None = constraints[number].infer(VerificationContext(), length=1)[0]
        except (VerifyException, ValueError, NotImplementedError, KeyError):
            kind = None
        return lambda given, made: kind
    alike = [other for other, one in enumerate(constraints) if other != number and _variable(one) == variable]

    def found(given: Groups, made: Groups) -> Attribute | None:
        for other in alike:
            types = given[other] if other < operands else made[other - operands]
            if types:
                kind: Attribute = types[0]
                return kind
        return None

    return found


def _variable(constraint: Any) -> str | None:
    """The name of the variable that stands for a value's type."""
    while not isinstance(constraint, VarConstraint):
        constraint = getattr(constraint, "constr", None) or getattr(constraint, "constraint", None)
        if constraint is None:
            return None
    return constraint.name


def quick_check(operation: type[IRDLOperation]) -> None:
    """Give an operation that has neither regions nor successors a quick `verify_`; where it finds something, xDSL's says it.

    >>> from xdsl.dialects.builtin import IndexType, i32
    >>> from xdsl.dialects.test import TestOp
    >>> from layoutalg.ir.dialects.index.operations import OPERATIONS
    >>> (number,) = TestOp(result_types=[i32]).results
    >>> add = next(one for one in OPERATIONS if one.name == "index.add")
    >>> try:
    ...     add.create(operands=[number, number], result_types=[IndexType()]).verify_()
    ... except VerifyException as problem:
    ...     print(str(problem).splitlines()[0])
    operand 'lhs' at position 0 does not verify:
    """
    definition = operation.get_irdl_definition()
    defaults = {
        name: one.default_value
        for name, one in definition.properties.items()
        if one.default_value is not None and not isinstance(one, OptionalDef)
    }

    def complete(self: IRDLOperation) -> None:
        for name, value in defaults.items():
            self.properties.setdefault(name, value)

    setattr(operation, "__post_init__", complete)  # noqa: B010 (pyright knows no such field)
    if definition.regions or definition.successors:
        return
    judging = [trait for trait in definition.traits.traits if type(trait).verify is not OpTrait.verify]
    check = _check(definition, judging)

    def verify_(self: IRDLOperation) -> None:
        if not check(self):
            definition.verify(self)

    setattr(operation, "verify_", verify_)  # noqa: B010
    setattr(operation, "JUDGED_ALONE", not judging)  # noqa: B010 (nothing around it makes it wrong)


def _check(definition: OpDef, traits: Sequence[OpTrait]) -> Callable[[Operation], bool]:
    """Whether an operation is surely right; where it is not sure, xDSL's own check decides."""
    segments = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
    operands, results = [one for _, one in definition.operands], [one for _, one in definition.results]
    single = not any(isinstance(one, VarOperandDef | VarResultDef) for one in (*operands, *results))
    constraints = [one.constr for one in (*operands, *results)]
    variables = [_variable(constraint) for constraint in constraints]
    alike = [(variables.index(one), number) for number, one in enumerate(variables) if one is not None]
    alike = [(one, other) for one, other in alike if one != other]
    elements = [_element(constraint) for constraint in constraints]
    free = [number for number, one in enumerate(elements) if variables[number] is None and not isinstance(one, AnyAttr)]
    asked = [(number, elements[number]) for number in free]
    properties: Mapping[str, Any] = definition.properties
    required = {name for name, one in properties.items() if not isinstance(one, OptPropertyDef)}
    known: dict[str, set[Attribute]] = {name: set() for name in properties}
    right: set[tuple[int, Attribute]] = set()
    context = VerificationContext()

    def fits(number: int, constraint: Any, types: Sequence[Attribute]) -> None:
        for kind in types:
            if (number, kind) not in right:
                constraint.verify(kind, context)
                right.add((number, kind))

    def check(operation: Operation) -> bool:
        given = operation.properties
        if not required <= given.keys() or not given.keys() <= properties.keys():
            return False
        types = (*operation.operand_types, *operation.result_types)
        if single:
            if len(operation.operands) != len(operands) or len(operation.results) != len(results):
                return False
            groups: list[Sequence[Attribute]] = [(kind,) for kind in types]
        else:
            ins = _grouped(
                types[: len(operation.operands)], operands, given.get("operandSegmentSizes") if segments else None
            )
            outs = _grouped(types[len(operation.operands) :], results, None)
            if ins is None or outs is None:
                return False
            groups = ins + outs
        if any(groups[one] != groups[other] for one, other in alike):
            return False
        try:
            for number, constraint in asked:
                fits(number, constraint, groups[number])
            for name, value in given.items():
                seen = known[name]
                if value not in seen:
                    properties[name].constr.verify(value, context)
                    if len(seen) < 64:
                        seen.add(value)
        except VerifyException:
            return False
        for trait in traits:
            trait.verify(operation)
        return True

    return check


def _grouped(
    types: Sequence[Attribute], groups: Sequence[Any], segments: Attribute | None
) -> list[Sequence[Attribute]] | None:
    """The types of each group of operands or results; None where it is not sure which they are."""
    if isinstance(segments, DenseArrayBase):
        sizes = [int(size) for size in segments.get_values()]
    else:
        several = [isinstance(one, VarOperandDef | VarResultDef) for one in groups]
        if sum(several) > 1:
            return None
        left = len(types) - (len(groups) - sum(several))
        sizes = [left if one else 1 for one in several]
    if len(sizes) != len(groups) or sum(sizes) != len(types) or min(sizes, default=0) < 0:
        return None
    found: list[Sequence[Attribute]] = []
    start = 0
    for size, group in zip(sizes, groups, strict=True):
        if size != 1 and (
            not isinstance(group, VarOperandDef | VarResultDef) or (size and isinstance(group, OptionalDef))
        ):
            return None
        found.append(types[start : start + size])
        start += size
    return found


def _element(constraint: Any) -> Any:
    """What a constraint asks of one value."""
    while isinstance(constraint, RangeConstraint):
        constraint = getattr(cast(Any, constraint), "constr", None) or getattr(
            cast(Any, constraint), "constraint", None
        )
    return constraint
