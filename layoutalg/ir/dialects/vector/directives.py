"""The dimensions of `vector.multi_reduction`, and the attributes behind them where XeGPU's page writes them.

    vector.multi_reduction <add>, %v, %z [1] {layout} : ...

No LLVM from 22 on reads attributes there; they are read all the same, with a note.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.operations.old_spellings import note_old_spelling, note_refused_spelling

__all__ = ["ReducedDimensions"]


@irdl_custom_directive
class ReducedDimensions(CustomDirective):
    """`[0]`, and the attributes behind it where XeGPU's page writes them."""

    dimensions: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the numbers, and attributes if they stand there."""
        numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        self.dimensions.set(state, DenseArrayBase.from_list(i64, numbers))
        late = parser.parse_optional_attr_dict()
        if late:
            state.attributes |= late
            note_old_spelling(parser, "`[...] {attributes}`", "`{attributes} [...]`")
            note_refused_spelling(parser, (22, 23, 24), "expected ':'")

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the numbers."""
        state.print_whitespace(printer)
        printer.print_string(str(static_numbers(self.dimensions.get(op))))
