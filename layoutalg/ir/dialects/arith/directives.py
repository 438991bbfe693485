"""The pieces of syntax that arithmetic has: rounding modes, predicates of comparisons, constants.

Rounding modes and predicates are words in the syntax and numbers in the operation:

>>> from layoutalg.ir import read_module
>>> text = "%x = arith.constant 1.0 : f32 %y = arith.truncf %x toward_zero : f32 to f16"
>>> print(list(read_module(text).ops)[1].roundingmode)
3 : i32
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i32, i64
from xdsl.ir import Attribute, TypedAttribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

__all__ = ["ROUNDING_MODES", "Constant", "FloatPredicate", "IntegerPredicate", "RoundingMode", "Selected"]

ROUNDING_MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
"""How a result is rounded; the places are LLVM's numbers."""


def _word_of(operation: IRDLOperation, number: Attribute | None, words: Sequence[str]) -> str:
    if isa(number, IntegerAttr[IntegerType]) and 0 <= number.value.data < len(words):
        return words[number.value.data]
    raise ValueError(f"{operation.name}: {number} stands for none of {', '.join(words)}")


def _read_word(parser: Parser, words: Sequence[str]) -> int:
    start = parser.pos
    word = parser.parse_optional_str_literal() or parser.parse_identifier()  # as LLVM, which writes the word alone
    if word not in words:
        parser.raise_error(f"expected one of {', '.join(words)}", start, parser.pos)
    return words.index(word)


@irdl_custom_directive
class RoundingMode(CustomDirective):
    """`toward_zero`, or nothing."""

    mode: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word if there is one."""
        start = parser.pos
        word = parser.parse_optional_str_literal()
        if word is not None and word not in ROUNDING_MODES:
            parser.raise_error(f"expected one of {', '.join(ROUNDING_MODES)}", start, parser.pos)
        for number, mode in enumerate(ROUNDING_MODES):
            if word == mode or (word is None and parser.parse_optional_keyword(mode) is not None):
                self.mode.set(state, IntegerAttr(number, i32))
                return

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word if there is one."""
        mode = self.mode.get(op)
        if mode is not None:
            state.print_whitespace(printer)
            printer.print_string(_word_of(op, mode, ROUNDING_MODES))


@irdl_custom_directive
class IntegerPredicate(CustomDirective):
    """`slt`, how two integers are compared."""

    predicate: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word."""
        self.predicate.set(state, IntegerAttr(_read_word(parser, CMPI_COMPARISON_OPERATIONS), i64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word."""
        state.print_whitespace(printer)
        printer.print_string(_word_of(op, self.predicate.get(op), CMPI_COMPARISON_OPERATIONS))


@irdl_custom_directive
class FloatPredicate(CustomDirective):
    """`olt`, how two floats are compared."""

    predicate: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word."""
        self.predicate.set(state, IntegerAttr(_read_word(parser, CMPF_COMPARISON_OPERATIONS), i64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word."""
        state.print_whitespace(printer)
        printer.print_string(_word_of(op, self.predicate.get(op), CMPF_COMPARISON_OPERATIONS))


@irdl_custom_directive
class Selected(CustomDirective):
    """`vector<8xi1>, vector<8xf16>`; a single type is that of the values, the condition is an i1 then."""

    condition: TypeDirective
    result: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read one or two types."""
        first: Attribute = parser.parse_type()
        condition: Attribute = i1
        if parser.parse_optional_punctuation(",") is not None:
            condition, first = first, parser.parse_type()
        self.condition.set(state, (condition,))
        self.result.set(state, (first,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write one or two types."""
        state.print_whitespace(printer)
        condition = self.condition.get(op)[0]
        if condition != i1:
            printer.print_attribute(condition)
            printer.print_string(", ")
        printer.print_attribute(self.result.get(op)[0])


@irdl_custom_directive
class Constant(CustomDirective):
    """`1 : i32`; the result has the value's type."""

    value: AttributeVariable
    result: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the value."""
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, TypedAttribute):
            parser.raise_error(f"expected a number or numbers with a type, found {value}", start, parser.pos)
        self.value.set(state, value)
        self.result.set(state, (value.get_type(),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the value."""
        value = self.value.get(op)
        state.print_whitespace(printer)
        if value is not None:
            printer.print_attribute(value)
