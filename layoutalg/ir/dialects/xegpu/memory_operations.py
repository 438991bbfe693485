"""What operations on memory have in common: hints for the caches, and a place that is partly known.

>>> from layoutalg.ir import read_module, write_module
>>> tile = '%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf16>'
>>> prefetch = "xegpu.prefetch_nd %t[0, 0] <{l1_hint = #xegpu.cache_hint<cached>}> : !xegpu.tensor_desc<8x16xf16>"
>>> print(write_module(read_module(f"{tile} {prefetch}")).splitlines()[2].strip())
xegpu.prefetch_nd %t[0, 0] <{l1_hint = #xegpu.cache_hint<cached>}> : !xegpu.tensor_desc<8x16xf16>
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, var_operand_def
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.dialects.declared import INDEX
from layoutalg.ir.dialects.old_spellings import note_old_spelling
from layoutalg.ir.dialects.xegpu.attributes import CacheHintAttr, LayoutAttr, SliceAttr, TensorDescType

__all__ = ["CachedOp", "DescriptorType", "PlacedOp"]


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


class CachedOp(IRDLOperation, ABC):
    """A load, store or prefetch: a hint for each level of cache, and the layout of the value.

    >>> from layoutalg.ir.dialects.xegpu.block import LoadNdOp
    >>> issubclass(LoadNdOp, CachedOp)
    True
    """

    l1_hint = opt_prop_def(CacheHintAttr)
    l2_hint = opt_prop_def(CacheHintAttr)
    l3_hint = opt_prop_def(CacheHintAttr)
    layout = opt_prop_def(LayoutAttr | SliceAttr)


class PlacedOp(IRDLOperation, ABC):
    """An operation at a place such as `[%m, 16]`: the values in it, and the numbers.

    Its offsets follow the operands that the operation itself declares.

    >>> from layoutalg.ir.dialects.xegpu.shared import LoadMatrixOp
    >>> [name for name, _ in LoadMatrixOp.get_irdl_definition().operands]
    ['mem_desc', 'offsets']
    """

    offsets = var_operand_def(INDEX)
    const_offsets = prop_def(DenseArrayBase)
