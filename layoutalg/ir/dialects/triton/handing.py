"""How operations that stand beside Triton's own write their words: of groups of warps, of its profiler, of its sanitizers.

>>> from layoutalg.ir import read_module
>>> print(list(read_module('proton.record start "load"').ops)[0].properties["isStart"])
unit
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i32
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

from layoutalg.ir.dialects.iree_directives import parse_named, print_spaced
from layoutalg.ir.dialects.triton.types import ArefType

__all__ = ["Bracketed", "Handed", "Started"]


@irdl_custom_directive
class Bracketed(CustomDirective):
    """`[0, 16]`: whole numbers in brackets."""

    offsets: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the numbers and the brackets."""
        with parser.in_square_brackets():
            found = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_integer)
        self.offsets.set(state, DenseArrayBase.from_list(i32, found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the numbers and the brackets."""
        held: Any = self.offsets.get(op)
        print_spaced(printer, state, f"[{', '.join(map(str, held.get_values()))}]")
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Handed(CustomDirective):
    """`<[!ttg.memdesc<...>, ...]>`: what is handed on, and the buffers that it is made of."""

    handed: TypeDirective
    buffers: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the type, and the types in it."""
        bare = parser.lexer.input.content[parser.pos : parser.pos + 1] == "<"
        kind = parse_named(parser, ArefType.name, is_type=True) if bare else parser.parse_type()
        inner = Parser(parser.ctx, cast("ArefType", kind).text.data)
        self.handed.set(state, (kind,))
        self.buffers.set(state, inner.parse_comma_separated_list(inner.Delimiter.SQUARE, inner.parse_type))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the type without its name."""
        print_spaced(printer, state, str(self.handed.get(op)[0]).removeprefix(f"!{ArefType.name}"))


@irdl_custom_directive
class Started(CustomDirective):
    """`start` or `end`."""

    started: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word; `end` may be left out."""
        if parser.parse_optional_keyword("start") is not None:
            self.started.set(state, UnitAttr())
        else:
            parser.parse_optional_keyword("end")

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word."""
        print_spaced(printer, state, "end" if self.started.get(op) is None else "start")
        state.should_emit_space, state.last_was_punctuation = True, False
