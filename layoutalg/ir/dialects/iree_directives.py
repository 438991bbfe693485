"""The pieces of syntax that IREE's dialects have and LLVM's lack.

    hal.executable.variant public @rocm target(<"rocm", "rocm-hsaco-fb">) { ... }

IREE leaves out the name of an attribute that can be of one kind alone: `target(<...>)` is
`target(#hal.executable.target<...>)`. Both are read, the whole name is written.

>>> from layoutalg.ir import read_module
>>> text = '%a = "test.op"() : () -> index %b = util.assume.int %a<umin = 16, udiv = 16> : index'
>>> print(list(read_module(text).ops)[1].assumptions)
[[#util.int.assumption<umin = 16, udiv = 16>]]

The law: what a directive writes, it reads back as the same operands, properties, regions and types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IndexType,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Region
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    RegionVariable,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects.directives import print_indices, required_indices

__all__ = [
    "Flags",
    "HostRegion",
    "Layout",
    "MetadataTypes",
    "NestedIndexList",
    "NullPointer",
    "Padding",
    "RootOp",
    "SizesInBrackets",
    "SourceIndexTypes",
    "Target",
    "TruthWord",
    "Visibility",
    "WordsInAnyOrder",
    "parse_named",
    "print_spaced",
    "read_signature",
]


_INDEX = IndexType()
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def parse_named(parser: Parser, name: str, *, is_type: bool = False) -> Attribute:
    """Read an attribute whose name the text leaves out: `<...>` for `#hal.pipeline.layout<...>`."""
    read: Any = parser._parse_dialect_type_or_attribute_body  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
    return read(name, is_type, False, None)


def print_spaced(printer: Printer, state: PrintingState, text: str) -> None:
    """Write a word, with the space that is due before it."""
    state.print_whitespace(printer)
    printer.print_string(text)


class _Named(CustomDirective):
    """An attribute whose name may be left out."""

    NAME: ClassVar[str]
    attribute: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the attribute, with its name or without."""
        bare = parser.lexer.input.content[parser.pos : parser.pos + 1] == "<"
        self.attribute.set(state, parse_named(parser, self.NAME) if bare else parser.parse_attribute())

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the attribute with its name."""
        self.attribute.print(printer, state, op)


@irdl_custom_directive
class Layout(_Named):
    """`#hal.pipeline.layout<...>`: what the host gives to a kernel."""

    NAME: ClassVar = "hal.pipeline.layout"
    attribute: AttributeVariable


@irdl_custom_directive
class Target(_Named):
    """`#hal.executable.target<...>`."""

    NAME: ClassVar = "hal.executable.target"
    attribute: AttributeVariable


@irdl_custom_directive
class RootOp(_Named):
    """`#iree_codegen.root_op<set = 0>`."""

    NAME: ClassVar = "iree_codegen.root_op"
    attribute: AttributeVariable


@irdl_custom_directive
class NullPointer(CustomDirective):
    """Nothing is written of the type of a null pointer."""

    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Set the only type."""
        self.type.set(state, (parse_named(parser, "iree_codegen.null_pointer", is_type=True),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write nothing."""


@irdl_custom_directive
class Visibility(CustomDirective):
    """`private`, `public`, or nothing."""

    word: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word if it is there."""
        found = parser.parse_optional_visibility_keyword()
        if found is not None:
            self.word.set(state, found)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word if there is one."""
        word = self.word.get(op)
        if isinstance(word, StringAttr):
            print_spaced(printer, state, word.data)
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Flags(CustomDirective):
    """`ReadOnly`, or several: `"ReadOnly|Indirect"`."""

    flags: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word, or the words in quotes."""
        words = parser.parse_optional_str_literal()
        self.flags.set(state, StringAttr(parser.parse_identifier() if words is None else words))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word, or the words in quotes."""
        flags = self.flags.get(op)
        words = flags.data if isinstance(flags, StringAttr) else ""
        print_spaced(printer, state, words if _WORD.fullmatch(words) else "")
        if not _WORD.fullmatch(words):
            printer.print_string_literal(words)

    def is_present(self, op: IRDLOperation) -> bool:
        """Whether there are any."""
        return self.flags.get(op) is not None

    def is_anchorable(self) -> bool:
        """They may be left out."""
        return True

    def set_empty(self, state: ParsingState) -> None:
        """There are none."""


@irdl_custom_directive
class TruthWord(CustomDirective):
    """`unique_indices(true)`, the name of the attribute and its value."""

    truth: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the name and the value."""
        parser.parse_keyword(self.truth.name)
        with parser.in_parens():
            self.truth.set(state, BoolAttr.from_bool(parser.parse_boolean()))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the name and the value."""
        value = self.truth.get(op)
        print_spaced(printer, state, f"{self.truth.name}({'false' if value == BoolAttr.from_bool(False) else 'true'})")


# -- lists of indices


@irdl_custom_directive
class SizesInBrackets(CustomDirective):
    """`%x, 5, 3`: indices between brackets that stand outside."""

    values: VariadicOperandVariable
    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the indices."""
        entries = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _entry(parser))
        self.values.set(state, [entry for entry in entries if isinstance(entry, UnresolvedOperand)])
        self.numbers.set(state, _numbers(entries))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the indices."""
        values = iter(self.values.get(op))
        numbers = self.numbers.get(op)
        for place, number in enumerate(numbers.get_values() if isinstance(numbers, DenseArrayBase) else ()):
            printer.print_string(", " if place else "")
            if number == DYNAMIC_INDEX:
                printer.print_ssa_value(next(values))
            else:
                printer.print_string(str(number))


def _entry(parser: Parser) -> UnresolvedOperand | int:
    operand = parser.parse_optional_unresolved_operand()
    return parser.parse_integer(allow_boolean=False) if operand is None else operand


def _numbers(entries: Sequence[UnresolvedOperand | int]) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(i64, [entry if isinstance(entry, int) else DYNAMIC_INDEX for entry in entries])


@irdl_custom_directive
class NestedIndexList(CustomDirective):
    """`[[2], [%h, 32]]`: lists of indices in a list."""

    values: VariadicOperandVariable
    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the lists."""
        operands: list[UnresolvedOperand] = []
        numbers: list[Attribute] = []

        def read() -> None:
            entries = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _entry(parser))
            operands.extend(entry for entry in entries if isinstance(entry, UnresolvedOperand))
            numbers.append(_numbers(entries))

        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, read)
        self.values.set(state, operands)
        self.numbers.set(state, ArrayAttr(numbers))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the lists."""
        values = iter(self.values.get(op))
        lists: Any = self.numbers.get(op)

        def entry(number: int) -> None:
            if number == DYNAMIC_INDEX:
                printer.print_ssa_value(next(values))
            else:
                printer.print_string(str(number))

        def one(numbers: Any) -> None:
            with printer.in_square_brackets():
                printer.print_list(static_numbers(numbers), entry)

        state.print_whitespace(printer)
        with printer.in_square_brackets():
            printer.print_list(lists.data, one)


@irdl_custom_directive
class Padding(CustomDirective):
    """`input_pad_low = [0, 1] input_pad_high = [0, %p]`, both or neither; the names are those of the operands."""

    low: VariadicOperandVariable
    low_numbers: AttributeVariable
    high: VariadicOperandVariable
    high_numbers: AttributeVariable

    def _sides(self) -> tuple[tuple[VariadicOperandVariable, AttributeVariable], ...]:
        return (self.low, self.low_numbers), (self.high, self.high_numbers)

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read both lists if they are there."""
        for values, numbers in self._sides():
            values.set(state, ())
            if parser.parse_optional_keyword(values.name) is None:
                continue
            parser.parse_punctuation("=")
            found = required_indices(parser)
            values.set(state, found[0])
            numbers.set(state, found[1])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write both lists if there are any."""
        for values, numbers in self._sides():
            array = numbers.get(op)
            if static_numbers(array):
                print_spaced(printer, state, f"{values.name} = ")
                print_indices(printer, values.get(op), array)
                state.should_emit_space, state.last_was_punctuation = True, False


# -- copies into shared memory


@irdl_custom_directive
class WordsInAnyOrder(CustomDirective):
    """`in_bounds [true, true] permutation_map #map`, either or both, in any order."""

    first: AttributeVariable
    second: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read what is there."""
        found = True
        left = [self.first, self.second]
        while found:
            found = False
            for attribute in left[:]:
                if parser.parse_optional_keyword(attribute.name) is not None:
                    attribute.set(state, parser.parse_attribute())
                    left.remove(attribute)
                    found = True

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write what is there."""
        for attribute in (self.first, self.second):
            value = attribute.get(op)
            if value is not None:
                print_spaced(printer, state, f"{attribute.name} ")
                printer.print_attribute(value)


@irdl_custom_directive
class SourceIndexTypes(CustomDirective):
    """`[vector<4xindex>, index]`, or nothing where all indices are of type index."""

    indices: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the types if they are there."""
        found = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_type)
        place = next(number for number, (name, _) in enumerate(state.op_type.get_irdl_definition().operands)
                     if name == self.indices.name)  # fmt: skip
        count = len(state.operands[place] or ())
        self.types.inner.set_types(state, [_INDEX] * count if found is None else found)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the types where one of them is not index."""
        types = self.types.get(op)
        if any(kind != _INDEX for kind in types):
            with printer.in_square_brackets():
                printer.print_list(types, printer.print_attribute)


# -- values with what is known of them


@irdl_custom_directive
class MetadataTypes(CustomDirective):
    """`memref<f32>, index, index, index`: a buffer, an offset, and as many sizes as strides."""

    buffer: TypeDirective
    offset: TypeDirective
    sizes: TypeDirective
    strides: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the types."""
        start = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) < 2 or len(types) % 2:
            parser.raise_error(f"expected a memref, an offset, sizes and strides, found {len(types)} types", start)
        rank = len(types) // 2 - 1
        self.buffer.set(state, types[:1])
        self.offset.set(state, types[1:2])
        self.sizes.set(state, types[2 : 2 + rank])
        self.strides.set(state, types[2 + rank :])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the types."""
        state.print_whitespace(printer)
        printer.print_list([result.type for result in op.results], printer.print_attribute)


# -- regions with arguments in front


def read_signature(parser: Parser) -> tuple[list[Parser.Argument], list[Attribute]]:
    """Read `(%device: !hal.device) -> (index, index)`: arguments of a region, and types, of which there may be none."""
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
    if parser.parse_optional_punctuation("->") is None:
        return arguments, []
    kinds = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return arguments, [parser.parse_type()] if kinds is None else [*kinds]


@irdl_custom_directive
class HostRegion(CustomDirective):
    """`count(%device: !hal.device) -> (index, index, index) {...}`, or nothing: what the host computes before a launch."""

    region: RegionVariable

    @property
    def _signature(self) -> tuple[str, list[Attribute], str]:
        """The word in front, the types that the region gives, and how they are called where they are others."""
        if self.region.name == "condition":
            return "condition", [i1], "condition region must return a boolean value"
        return "count", [IndexType()] * 3, "workgroup count region must return the XYZ dimension counts"

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read arguments, types and region."""
        word, wanted, otherwise = self._signature
        if parser.parse_optional_keyword(word) is None:
            self.region.set(state, Region())
            return
        arguments, kinds = read_signature(parser)
        if kinds != wanted:
            parser.raise_error(otherwise)
        self.region.set(state, parser.parse_region(arguments))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the same."""
        region = self.region.get(op)
        if not region.blocks:
            return
        word, kinds, _ = self._signature
        print_spaced(printer, state, f"{word}(")
        printer.print_list(region.blocks[0].args, printer.print_block_argument)
        printer.print_string(f") -> {kinds[0]} " if len(kinds) == 1 else f") -> ({', '.join(map(str, kinds))}) ")
        printer.print_region(region, print_entry_block_args=False)
        state.should_emit_space, state.last_was_punctuation = True, False
