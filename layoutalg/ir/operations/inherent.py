"""Where an operation's inherent attributes are written: in `{...}` up to LLVM 23, beside the operands from LLVM 24 on.

LLVM 22 and 23 write a load's alignment among its other attributes, LLVM 24 in front of them:

    %v = vector.load %m[%i] {alignment = 8 : i64, note} : memref<?xf32>, vector<8xf32>
    %v = vector.load %m[%i] alignment = 8 {note} : memref<?xf32>, vector<8xf32>

An operation whose row in the table says `inherent  alignment nontemporal` has both spellings: every one is read, and the
printer's version decides which is written. `inherent,` puts commas between several, `inherent()` writes `alignment(8)`.
Inherent attributes without a spelling of their own are written as `<{...}>` for LLVM 24.

The law: both spellings give the same properties.

>>> from layoutalg.ir import read_module, write_module
>>> old = read_module('%m = "test.op"() : () -> memref<4xf32> %i = arith.constant 0 : index '
...                   '%v = vector.load %m[%i] {alignment = 8 : i64} : memref<4xf32>, vector<2xf32>')
>>> write_module(old, llvm=24).splitlines()[-2].strip()
'%v = vector.load %m[%i] alignment = 8 : memref<4xf32>, vector<2xf32>'
>>> write_module(read_module(write_module(old, llvm=24))) == write_module(old)
True
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, OptionalDef
from xdsl.irdl.declarative_assembly_format import (
    AttrDictDirective,
    ParsingState,
    PrintingState,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from layoutalg.core.llvm_versions import rules
from layoutalg.ir.operations.old_spellings import note_refused_spelling
from layoutalg.ir.versions import printed_for

__all__ = ["InherentDictionary", "parse_inherent", "print_inherent"]


def parse_inherent(
    parser: Parser, names: tuple[str, ...], separator: str = "", *, equals: bool = True
) -> dict[str, Attribute]:
    """Read `alignment = 8 nontemporal = true`, as much of it as is there, and `<{...}>`.

    >>> from xdsl.context import Context
    >>> print(parse_inherent(Parser(Context(), "alignment = 8 : f32"), ("alignment",))["alignment"])
    8 : i64
    """
    found: dict[str, Attribute] = {}
    for name in names:
        if found and separator:
            parser.parse_optional_punctuation(",")
        if parser.parse_optional_keyword(name) is None:
            continue
        if equals:
            parser.parse_punctuation("=")
            found[name] = _parse_value(parser)
        else:
            with parser.in_parens():
                found[name] = _parse_value(parser)
    if _dictionary_follows(parser):
        found |= parser.parse_optional_properties_dict()
    if found:
        note_refused_spelling(parser, (22, 23), "expected ':'")
    return found


def _parse_value(parser: Parser) -> Attribute:
    """Read a value; a number is a 64-bit integer, and the colon after it begins the operation's types."""
    number = parser.parse_optional_integer(allow_boolean=False)
    return parser.parse_attribute() if number is None else IntegerAttr(number, i64)


def _dictionary_follows(parser: Parser) -> bool:
    return parser.lexer.input.slice(parser.pos, parser.pos + 2) == "<{"


def print_inherent(
    printer: Printer, values: dict[str, Attribute], names: tuple[str, ...], separator: str = "", *, equals: bool = True
) -> None:
    """Write `alignment = 8 nontemporal = true`, and the values without such a spelling as `<{...}>`.

    >>> print_inherent(Printer(), {"alignment": IntegerAttr(8, i64)}, ("alignment",))
    alignment = 8
    """
    first = True
    for name in names:
        if name not in values:
            continue
        printer.print_string(" " if first else separator + " ")
        first = False
        printer.print_string(f"{name} = " if equals else f"{name}(")
        _print_value(printer, values[name])
        printer.print_string("" if equals else ")")
    rest = {name: value for name, value in sorted(values.items()) if name not in names}
    if rest:
        printer.print_string(" ")
        with printer.in_angle_brackets():
            printer.print_attr_dict(rest)


def _print_value(printer: Printer, value: Attribute) -> None:
    """Write a value as LLVM's own syntax has it: 64-bit integers without their type."""
    if isa(value, IntegerAttr[IntegerType]) and value.type == i64:
        printer.print_string(str(value.value.data))
    elif isa(value, ArrayAttr[Attribute]) or isa(value, DenseArrayBase[IntegerType]):
        with printer.in_square_brackets():
            entries = value.data if isinstance(value, ArrayAttr) else [IntegerAttr(n, i64) for n in value.get_values()]
            printer.print_list(entries, lambda entry: _print_value(printer, entry))
    else:
        printer.print_attribute(value)


@dataclass(frozen=True)
class InherentDictionary(AttrDictDirective):
    """The dictionary of a declared format, which leaves the inherent attributes to a spelling of their own.

    >>> InherentDictionary(False, set(), {"alignment"}, ("alignment",), "", True).names
    ('alignment',)
    """

    names: tuple[str, ...]
    separator: str
    equals: bool

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read both spellings."""
        state.properties |= parse_inherent(parser, self.names, self.separator, equals=self.equals)
        beside = set(state.properties)
        super().parse(parser, state)
        known = state.op_type.get_irdl_definition().properties
        for name in self.names:
            if name not in beside and not isinstance(known[name], OptionalDef) and known[name].default_value is None:
                note_refused_spelling(parser, (24,), f"custom op '{state.op_type.name}' expected '{name}'")
                return
        plain = next((name for name in known if name in state.properties and name not in beside), None)
        if plain is not None:
            reason = "cannot be parsed from attr-dict when strict properties in assembly format is enabled"
            message = f"custom op '{state.op_type.name}' inherent attribute '{plain}' {reason}"
            note_refused_spelling(parser, (24,), message)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the spelling of the printer's version."""
        if not rules(printed_for(printer)).strict_properties:
            super().print(printer, state, op)
            return
        definition = op.get_irdl_definition()
        values: dict[str, Attribute] = {
            name: value
            for name, value in op.properties.items()
            if name in self.expected_properties and value != definition.properties[name].default_value
        }
        print_inherent(printer, values, self.names, self.separator, equals=self.equals)
        dictionary = printer.print_op_attributes(
            op.attributes, reserved_attr_names=self.reserved_attr_names, print_keyword=self.with_keyword
        )
        if values or dictionary:
            state.last_was_punctuation = False
            state.should_emit_space = True
