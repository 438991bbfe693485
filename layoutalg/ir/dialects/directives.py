"""The words of declared syntax that xDSL lacks: index lists, enums, types of several operands at once.

An operation declares its syntax in the words of LLVM's own definitions (`layoutalg.ir.operations.declared`):

    assembly_format = "$descriptor `` custom<OptionalIndexList>($offsets, $const_offsets) prop-dict attr-dict `:` ..."

LLVM writes indices that are partly known as `[%m, 16]`. In the operation these are two things: the value `%m` (an operand) and
the array `[?, 16]` (a property), with `-2^63` standing for "take the next value". Small enough to check by hand:

>>> from layoutalg.ir import read_module, write_module
>>> text = '%m, %t = "test.op"() : () -> (index, !xegpu.tensor_desc<8x16xf16>)'
>>> module = read_module(text + "xegpu.prefetch_nd %t[%m, 16] {mine = 1 : i32} : !xegpu.tensor_desc<8x16xf16>")
>>> prefetch = list(module.ops)[1]
>>> len(prefetch.offsets), str(prefetch.const_offsets)
(1, 'array<i64: -9223372036854775808, 16>')

The law: what a directive writes, it reads back as the same operands, properties and types.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from typing import Literal, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    OperandVariable,
    OptionalOperandVariable,
    ParsingState,
    PrintingState,
    TypeDirective,
    UniqueBaseAttributeVariable,
    VariadicOperandVariable,
    VariadicResultVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.hints import isa
from xdsl.utils.mlir_lexer import MLIRTokenKind
from xdsl.utils.str_enum import StrEnum

from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.operations.numbers import optional_numbers
from layoutalg.ir.operations.old_spellings import note_old_spelling

__all__ = [
    "EnumWord",
    "FunctionTypes",
    "IndexList",
    "KeywordIndexLists",
    "KeywordOperand",
    "OperandBeforeTrait",
    "OptionalIndexList",
    "PlainInteger",
    "SameType",
    "print_indices",
    "read_indices",
    "required_indices",
]


# -- index lists


def read_indices(parser: Parser) -> tuple[list[UnresolvedOperand], DenseArrayBase[IntegerType]] | None:
    """Read `[%m, 16]` if it is there: the values that were named, and the array with a marker in their places.

    >>> from xdsl.context import Context
    >>> values, numbers = read_indices(Parser(Context(), "[%m, -16]"))
    >>> [value.operand_name for value in values], str(numbers)
    (['m'], 'array<i64: -9223372036854775808, -16>')
    """
    known = optional_numbers(parser)
    if known is not None:
        return [], known
    entries = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _index(parser))
    if entries is None:
        return None
    values = [entry for entry in entries if isinstance(entry, UnresolvedOperand)]
    numbers = [entry if isinstance(entry, int) else DYNAMIC_INDEX for entry in entries]
    return values, DenseArrayBase.from_list(i64, numbers)


def required_indices(parser: Parser) -> tuple[list[UnresolvedOperand], DenseArrayBase[IntegerType]]:
    """What `read_indices` gives; an error where no list begins.

    >>> from xdsl.context import Context
    >>> str(required_indices(Parser(Context(), "[8, 16]"))[1])
    'array<i64: 8, 16>'
    """
    found = read_indices(parser)
    return parser.raise_error("expected a list of indices like [%m, 16]") if found is None else found


def _index(parser: Parser) -> UnresolvedOperand | int:
    operand = parser.parse_optional_unresolved_operand()
    return parser.parse_integer(allow_boolean=False) if operand is None else operand


def print_indices(printer: Printer, values: Sequence[SSAValue], numbers: Attribute | None) -> None:
    """Write `[%m, 16]`.

    >>> print_indices(Printer(), [], DenseArrayBase.from_list(i64, [3, 16]))
    [3, 16]
    """
    remaining = iter(values)

    def entry(number: int) -> None:
        if number == DYNAMIC_INDEX:
            printer.print_ssa_value(next(remaining))
        else:
            printer.print_string(str(number))

    with printer.in_square_brackets():
        printer.print_list(static_numbers(numbers), entry)


class _Indices(CustomDirective, ABC):
    """What lists of indices have in common; `values` and `numbers` are the operands and the property."""

    values: VariadicOperandVariable
    numbers: AttributeVariable

    def put(
        self, state: ParsingState, found: tuple[Sequence[UnresolvedOperand], DenseArrayBase[IntegerType]] | None
    ) -> None:
        """Note what was read; None for a list that was left out."""
        self.values.set(state, found[0] if found else ())
        if found is not None:
            self.numbers.set(state, found[1])

    def set_empty(self, state: ParsingState) -> None:
        self.put(state, None)

    def is_present(self, op: IRDLOperation) -> bool:
        return self.numbers.get(op) is not None

    def is_anchorable(self) -> bool:
        return True

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        if self.is_present(op):
            state.print_whitespace(printer)
            print_indices(printer, self.values.get(op), self.numbers.get(op))
        state.should_emit_space = True


@irdl_custom_directive
class IndexList(_Indices):
    """`[%m, 16]`, which must be there."""

    values: VariadicOperandVariable
    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the list."""
        self.put(state, required_indices(parser))


@irdl_custom_directive
class OptionalIndexList(_Indices):
    """`[%m, 16]`, or nothing."""

    values: VariadicOperandVariable
    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the list if there is one."""
        self.put(state, read_indices(parser))

    def is_optional_like(self) -> bool:
        """The list may be left out."""
        return True


@irdl_custom_directive
class KeywordIndexLists(CustomDirective):
    """`, shape : [%m, 64], strides : [64, 1]`, or nothing; the names are those of the operands."""

    first: VariadicOperandVariable
    first_numbers: AttributeVariable
    second: VariadicOperandVariable
    second_numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read both lists, with their names or, as LLVM did until version 20, without."""
        self.set_empty(state)
        if parser.parse_optional_punctuation(",") is None:
            return
        named = parser.parse_optional_keyword(self.first.name) is not None
        self._list(parser, state, self.first, self.first_numbers, ":" if named else None)
        parser.parse_punctuation(",")
        if named:
            parser.parse_keyword(self.second.name)
        self._list(parser, state, self.second, self.second_numbers, ":" if named else None)
        if not named:
            today = f"`{self.first.name} : [...], {self.second.name} : [...]`"
            note_old_spelling(parser, "`[...], [...]`", today)

    def _list(
        self,
        parser: Parser,
        state: ParsingState,
        values: VariadicOperandVariable,
        numbers: AttributeVariable,
        mark: Literal[":"] | None,
    ) -> None:
        if mark is not None:
            parser.parse_punctuation(mark)
        found = required_indices(parser)
        values.set(state, found[0])
        numbers.set(state, found[1])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write both lists with their names."""
        for values, numbers in ((self.first, self.first_numbers), (self.second, self.second_numbers)):
            array = numbers.get(op)
            if array is not None:
                printer.print_string(f", {values.name} : ")
                print_indices(printer, values.get(op), array)
        state.should_emit_space = True
        state.last_was_punctuation = False

    def set_empty(self, state: ParsingState) -> None:
        """Neither list is there."""
        self.first.set(state, ())
        self.second.set(state, ())


# -- words, operands and types


@irdl_custom_directive
class EnumWord(CustomDirective):
    """The word of an enum attribute alone: `slm` for `#xegpu<memory_space slm>`."""

    attribute: UniqueBaseAttributeVariable

    def _kind(self) -> type[EnumAttribute[StrEnum]]:
        return cast("type[EnumAttribute[StrEnum]]", self.attribute.unique_base)

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word."""
        kind = self._kind()
        self.attribute.set(state, kind(parser.parse_str_enum(kind.enum_type)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word."""
        value = self.attribute.get(op)
        state.print_whitespace(printer)
        printer.print_string(str(cast("EnumAttribute[StrEnum]", value).data))


@irdl_custom_directive
class PlainInteger(CustomDirective):
    """A 64-bit integer without its type: `4`."""

    attribute: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the number."""
        self.attribute.set(state, IntegerAttr(parser.parse_integer(allow_boolean=False), i64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the number."""
        value = self.attribute.get(op)
        state.print_whitespace(printer)
        printer.print_string(str(value.value.data) if isa(value, IntegerAttr[IntegerType]) else str(value))


@irdl_custom_directive
class OperandBeforeTrait(CustomDirective):
    """`%acc`, behind which an alias of a dictionary may stand: `%acc #trait` is not the result `%acc#trait`."""

    operand: OperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the operand, and leave the alias."""
        found = None
        if _TRAIT_FOLLOWS.match(parser.lexer.input.content, parser.pos):
            token = parser._parse_optional_token(MLIRTokenKind.PERCENT_IDENT)  # pyright: ignore[reportPrivateUsage]
            found = None if token is None else UnresolvedOperand(token.span, 0)
        self.operand.set(state, parser.parse_unresolved_operand() if found is None else found)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the operand."""
        self.operand.print(printer, state, op)


_TRAIT_FOLLOWS = re.compile(r"%[\w$.-]+\s*#[A-Za-z_]")


@irdl_custom_directive
class KeywordOperand(CustomDirective):
    """`scale_a = %s`, or nothing: an optional operand behind its name."""

    operand: OptionalOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the name and the operand if they are there."""
        found = None
        if parser.parse_optional_keyword(self.operand.name) is not None:
            parser.parse_punctuation("=")
            found = parser.parse_unresolved_operand()
        self.operand.set(state, found)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the name and the operand if the operation has it."""
        value = self.operand.get(op)
        if value is None:
            return
        state.print_whitespace(printer)
        printer.print_string(f"{self.operand.name} = ")
        printer.print_ssa_value(value)

    def is_optional_like(self) -> bool:
        """The operand may be left out."""
        return True


@irdl_custom_directive
class SameType(CustomDirective):
    """`f16`: one type in the text, of an operand and of the result; as many where there are several of them."""

    shown: TypeDirective
    other: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the type, and give it to both."""
        several = isinstance(self.shown.inner, VariadicOperandVariable | VariadicResultVariable)
        one_or_more = parser.parse_comma_separated_list
        found = one_or_more(parser.Delimiter.NONE, parser.parse_type) if several else [parser.parse_type()]
        self.shown.inner.set_types(state, found)
        self.other.inner.set_types(state, found)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the first one's type."""
        self.shown.print(printer, state, op)


@irdl_custom_directive
class FunctionTypes(CustomDirective):
    """`(f16, f16) -> f32`: the types of all operands that were written, and the result's."""

    first: TypeDirective
    second: TypeDirective
    third: TypeDirective
    fourth: TypeDirective
    fifth: TypeDirective
    result: TypeDirective

    @property
    def _operands(self) -> tuple[TypeDirective, ...]:
        return (self.first, self.second, self.third, self.fourth, self.fifth)

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the types, with or without brackets around them; each operand that is there takes one."""
        start = parser.pos
        types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if types is None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            note_old_spelling(parser, "a list of types without brackets", "`(...) -> ...`")
        parser.parse_punctuation("->")
        result = parser.parse_type()
        counts = [len(operands or ()) for operands in state.operands]
        if sum(counts) != len(types):
            parser.raise_error(f"{sum(counts)} operands and {len(types)} types", start)
        remaining = iter(types)
        for directive, count in zip(self._operands, counts, strict=True):
            directive.inner.set_types(state, [next(remaining) for _ in range(count)])
        self.result.inner.set_types(state, [result])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the types."""
        state.print_whitespace(printer)
        with printer.in_parens():
            printer.print_list(op.operand_types, printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(op.results[0].type)
