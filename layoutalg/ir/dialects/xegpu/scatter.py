"""XeGPU operations on scattered points: every lane names its own offsets.

At subgroup level an offset vector has one entry per lane (`vector<16xindex>`); at lane level each lane has its own
(`vector<1xindex>`), and the source is a plain pointer or memref:

    %x = xegpu.load %p[%offset], %mask <{chunk_size = 8 : i64}> : i64, vector<1xindex>, vector<1xi1> -> vector<8xf32>

reads 8 consecutive elements from `p + offset` in every lane whose mask is set.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%p = arith.constant 64 : i64 %o = arith.constant dense<3> : vector<1xindex>"
>>> module = read_module(text + "xegpu.prefetch %p[%o] <{offset_align_byte = 4}> : i64, vector<1xindex>")
>>> write_module(module).splitlines()[3].strip()
'xegpu.prefetch %p[%o] <{offset_align_byte = 4 : i64}> : i64, vector<1xindex>'
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.declared import declared_operation
from layoutalg.ir.dialects.directives import SameType
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr, TensorDescType
from layoutalg.ir.dialects.xegpu.memory_operations import CachedOp, DescriptorType

__all__ = [
    "ATOMIC_KINDS",
    "OPERATIONS",
    "AtomicRmwOp",
    "CreateDescOp",
    "LoadOp",
    "PrefetchOp",
    "StoreOp",
    "UpdateOffsetOp",
]

# The names of arith's atomic kinds, in the order of their numbers.
ATOMIC_KINDS = (
    "addf", "addi", "andi", "assign", "maximumf", "maxnumf", "maxs", "maxu",
    "minimumf", "minnumf", "mins", "minu", "mulf", "muli", "ori", "xori",
)  # fmt: skip


@irdl_custom_directive
class AtomicKind(CustomDirective):
    """`addf`: one of arith's atomic kinds, which the operation holds as its number."""

    kind: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the name."""
        start, word = parser.pos, parser.parse_optional_str_literal()  # LLVM reads a string, and writes the word alone
        if word is not None and word not in ATOMIC_KINDS:
            parser.raise_error(f"expected one of {', '.join(ATOMIC_KINDS)}", start, parser.pos)
        word = word or parser.parse_keyword_in(ATOMIC_KINDS)
        self.kind.set(state, IntegerAttr(ATOMIC_KINDS.index(word), 64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the name."""
        number = self.kind.get(op)
        state.print_whitespace(printer)
        kinds = dict(enumerate(ATOMIC_KINDS))
        printer.print_string(kinds.get(number.value.data, str(number)) if isa(number, IntegerAttr) else str(number))


@declared_operation
class CreateDescOp(IRDLOperation):
    """Describe scattered points of memory, one offset (in elements) per lane (LLVM 22)."""

    name = "xegpu.create_tdesc"

    source = operand_def()
    offsets = operand_def()
    descriptor = result_def(TensorDescType)

    traits = traits_def(Pure())
    custom_directives = (DescriptorType,)

    assembly_format = """
        $source `,` $offsets attr-dict `:` type($source) `,` type($offsets) `->` custom<DescriptorType>(type($descriptor))
    """


@declared_operation
class UpdateOffsetOp(IRDLOperation):
    """Move every point of a scattered descriptor by its own number of elements (LLVM 22)."""

    name = "xegpu.update_offset"

    descriptor = operand_def(TensorDescType)
    offsets = operand_def()
    result = result_def(TensorDescType)

    traits = traits_def(Pure())
    custom_directives = (SameType,)

    assembly_format = """
        $descriptor `,` $offsets attr-dict `:` custom<SameType>(type($descriptor), type($result)) `,` type($offsets)
    """


class _GatherOp(CachedOp, ABC):
    """A gather or scatter: each lane moves `chunk_size` neighbouring elements (LLVM 22 and 23).

    `contiguity` (LLVM 23 and 24) says how many neighbouring lanes have neighbouring offsets.
    """

    chunk_size = opt_prop_def(IntegerAttr)
    contiguity = opt_prop_def(IntegerAttr)


@declared_operation
class LoadOp(_GatherOp):
    """Gather: every lane whose mask is set reads its points."""

    name = "xegpu.load"

    source = operand_def()
    offsets = opt_operand_def()
    mask = operand_def()
    value = result_def()

    traits = traits_def(MemoryReadEffect())

    assembly_format = """
        $source (`[` $offsets^ `]`)? `,` $mask prop-dict attr-dict `:` type(operands) `->` type($value)
    """


@declared_operation
class StoreOp(_GatherOp):
    """Scatter: every lane whose mask is set writes its points."""

    name = "xegpu.store"

    value = operand_def()
    dest = operand_def()
    offsets = opt_operand_def()
    mask = operand_def()

    traits = traits_def(MemoryWriteEffect())

    assembly_format = "$value `,` $dest (`[` $offsets^ `]`)? `,` $mask prop-dict attr-dict `:` type(operands)"


@declared_operation
class PrefetchOp(CachedOp):
    """Bring scattered points into the caches."""

    name = "xegpu.prefetch"

    source = operand_def()
    offsets = opt_operand_def()
    offset_align_byte = opt_prop_def(IntegerAttr)

    assembly_format = "$source (`[` $offsets^ `]`)? prop-dict attr-dict `:` type(operands)"


@declared_operation
class AtomicRmwOp(IRDLOperation):
    """Read, modify and write scattered points, free from data races."""

    name = "xegpu.atomic_rmw"

    descriptor = operand_def(TensorDescType)
    mask = operand_def()
    value = operand_def()
    kind = prop_def(IntegerAttr)
    layout = opt_prop_def(LayoutAttr | SliceAttr)
    result = result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (AtomicKind,)

    assembly_format = """
        custom<AtomicKind>($kind) $descriptor `,` $mask `,` $value attr-dict
        `:` type($descriptor) `,` type($mask) `,` type($value) `->` type($result)
    """


OPERATIONS: tuple[type[Operation], ...] = (
    AtomicRmwOp,
    CreateDescOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
    UpdateOffsetOp,
)
