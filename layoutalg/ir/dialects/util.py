"""IREE's functions, and what the compiler is told about values.

>>> from layoutalg.ir import read_module, write_module
>>> text = "util.func private @f(%a: index) { %b = util.optimization_barrier %a : index util.return }"
>>> print(write_module(read_module(text)).splitlines()[1].strip())
util.func private @f(%a: index) {
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.dialects.func import Function
from layoutalg.ir.dialects.iree_directives import parse_named
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS", "UTIL", "UtilFuncOp"]


@irdl_custom_directive
class Assumptions(CustomDirective):
    """`%a<umin = 16, udiv = 16>, %b[<udiv = 8>, <udiv = 32>]`: values, each with what may be assumed of it."""

    values: VariadicOperandVariable
    assumptions: AttributeVariable
    NAME: ClassVar = "util.int.assumption"

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read values and assumptions."""
        operands: list[UnresolvedOperand] = []
        lists: list[Attribute] = []

        def one() -> Attribute:
            return parse_named(parser, self.NAME)

        def read() -> None:
            operands.append(parser.parse_unresolved_operand())
            several = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, one)
            lists.append(ArrayAttr([one()] if several is None else several))

        parser.parse_comma_separated_list(parser.Delimiter.NONE, read)
        self.values.set(state, operands)
        self.assumptions.set(state, ArrayAttr(lists))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write values and assumptions."""
        lists: Any = self.assumptions.get(op)
        state.print_whitespace(printer)
        for place, (value, known) in enumerate(zip(self.values.get(op), lists.data, strict=True)):
            printer.print_string(", " if place else "")
            printer.print_ssa_value(value)
            words = [str(one).removeprefix(f"#{self.NAME}") for one in known.data]
            printer.print_string(words[0] if len(words) == 1 else f"[{', '.join(words)}]")
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Barred(CustomDirective):
    """`%a, %b : f32, index`, or nothing; the results have the same types."""

    values: VariadicOperandVariable
    types: TypeDirective
    made: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read values and types."""
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        kinds: Sequence[Attribute] = ()
        if operands:
            parser.parse_punctuation(":")
            kinds = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        self.values.set(state, operands or ())
        self.types.inner.set_types(state, kinds)
        self.made.inner.set_types(state, kinds)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write values and types."""
        values = self.values.get(op)
        if values:
            state.print_whitespace(printer)
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(values.types, printer.print_attribute)


OPERATIONS = define(__name__, "util", directives=(Assumptions, Barred, SameType))
"""The classes, in the order of the table."""


@irdl_op_definition
class UtilFuncOp(Function):
    """A function; its syntax is that of `func.func`."""

    name = "util.func"


UTIL = Dialect("util", [UtilFuncOp, *OPERATIONS])
"""The dialect."""
