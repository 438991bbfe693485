"""The type of a descriptor, in today's spelling and in that of older pages.

>>> from layoutalg.ir import read_module, write_module
>>> tile = "%p = arith.constant 64 : i64 %t = xegpu.create_nd_tdesc %p, shape : [8, 32], strides : [32, 1] : i64"
>>> print(write_module(read_module(f"{tile} -> TensorDesc<8x16xf16>")).splitlines()[2].rpartition(" -> ")[2])
!xegpu.tensor_desc<8x16xf16>
"""

from __future__ import annotations

from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.ir.operations.old_spellings import note_old_spelling

__all__ = ["DescriptorType"]


@irdl_custom_directive
class DescriptorType(CustomDirective):
    """`!xegpu.tensor_desc<8x16xf32>`, or `TensorDesc<8x16xf32>` as the examples of LLVM's page write it."""

    descriptor: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the type."""
        start = parser.pos
        if parser.parse_optional_keyword("TensorDesc") is None and parser.parse_optional_keyword("tensor_desc") is None:
            self.descriptor.parse(parser, state)
            return
        found = TensorDescType.new(TensorDescType.parse_parameters(parser))
        note_old_spelling(parser, f"`{parser.lexer.input.content[start : parser.pos]}`", f"`{found}`")
        self.descriptor.inner.set_types(state, [found])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the type."""
        self.descriptor.print(printer, state, op)
