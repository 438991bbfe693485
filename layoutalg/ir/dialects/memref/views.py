"""Other looks at a buffer: parts, casts, shapes, and what a buffer is made of.

    %part = memref.subview %m[%i, 0] [8, 16] [1, 1] : memref<64x64xf16> to memref<8x16xf16, strided<[64, 1], offset: ?>>

>>> from layoutalg.ir import read_module
>>> text = '%m = "test.op"() : () -> memref<8x8xf32> '
>>> text += "%p = memref.subview %m[0, 4] [8, 4] [1, 1] : memref<8x8xf32> to memref<8x4xf32, strided<[8, 1], offset: 4>>"
>>> module = read_module(text)
>>> list(module.ops)[1].static_offsets.get_values()
(0, 4)
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    i32,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    SameVariadicResultSize,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    NoMemoryEffect,
    Pure,
)

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.memref.directives import PermutationMap

__all__ = [
    "AssumeAlignmentOp",
    "CastOp",
    "CollapseShapeOp",
    "DimOp",
    "DistinctObjectsOp",
    "ExpandShapeOp",
    "ExtractAlignedPointerAsIndexOp",
    "ExtractStridedMetaDataOp",
    "MemorySpaceCastOp",
    "RankOp",
    "ReinterpretCastOp",
    "ReshapeOp",
    "SubviewOp",
    "TransposeOp",
    "ViewOp",
]


@irdl_op_definition
class AssumeAlignmentOp(IRDLOperation):
    """The same buffer, whose address is a multiple of so many bytes."""

    name = "memref.assume_alignment"

    T: ClassVar = VarConstraint("T", AnyAttr())

    memref = operand_def(T)
    alignment = prop_def(IntegerAttr.constr(i32))
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$memref `,` $alignment attr-dict `:` type($memref)"


@irdl_op_definition
class DistinctObjectsOp(IRDLOperation):
    """The same buffers, which do not overlap."""

    name = "memref.distinct_objects"

    operands_ = var_operand_def()
    results_ = var_result_def()

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> DistinctObjectsOp:
        """Read LLVM's syntax."""
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        resolved = parser.resolve_operands(operands, types, start)
        return cls.build(operands=[resolved], result_types=[types], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list([operand.type for operand in self.operands], printer.print_attribute)


@irdl_op_definition
class DimOp(IRDLOperation):
    """The extent of a dimension."""

    name = "memref.dim"

    source = operand_def()
    index = operand_def(IndexType)
    result = result_def(IndexType())

    traits = traits_def(NoMemoryEffect())

    assembly_format = "attr-dict $source `,` $index `:` type($source)"


@irdl_op_definition
class RankOp(IRDLOperation):
    """The number of dimensions."""

    name = "memref.rank"

    memref = operand_def()
    rank = result_def(IndexType())

    traits = traits_def(Pure())

    assembly_format = "$memref attr-dict `:` type($memref)"


@irdl_op_definition
class CastOp(IRDLOperation):
    """The same buffer with sizes, strides or offset known or unknown."""

    name = "memref.cast"

    source = operand_def()
    dest = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"


@irdl_op_definition
class MemorySpaceCastOp(IRDLOperation):
    """The same buffer in another memory space."""

    name = "memref.memory_space_cast"

    source = operand_def()
    dest = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"


@irdl_op_definition
class SubviewOp(IRDLOperation):
    """A rectangular part of a buffer: offsets, sizes and strides per dimension."""

    name = "memref.subview"

    source = operand_def()
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    custom_directives = (DynamicIndexList,)

    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets) custom<DynamicIndexList>($sizes, $static_sizes) "
        "custom<DynamicIndexList>($strides, $static_strides) attr-dict `:` type($source) `to` type($result)"
    )


@irdl_op_definition
class ReinterpretCastOp(IRDLOperation):
    """The buffer at the same base address with another offset, sizes and strides."""

    name = "memref.reinterpret_cast"

    source = operand_def()
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    custom_directives = (DynamicIndexList,)

    assembly_format = (
        "$source `to` `offset` `` `:` custom<DynamicIndexList>($offsets, $static_offsets) `` `,` "
        "`sizes` `` `:` custom<DynamicIndexList>($sizes, $static_sizes) `` `,` "
        "`strides` `` `:` custom<DynamicIndexList>($strides, $static_strides) "
        "attr-dict `:` type($source) `to` type($result)"
    )


@irdl_op_definition
class ViewOp(IRDLOperation):
    """A part of a buffer of bytes as a buffer of another type."""

    name = "memref.view"

    source = operand_def()
    byte_shift = operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The same elements with the sizes that another buffer holds."""

    name = "memref.reshape"

    source = operand_def()
    shape = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class CollapseShapeOp(IRDLOperation):
    """Neighbouring dimensions joined."""

    name = "memref.collapse_shape"

    src = operand_def()
    reassociation = prop_def(ArrayAttr)
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$src $reassociation attr-dict `:` type($src) `into` type($result)"


@irdl_op_definition
class ExpandShapeOp(IRDLOperation):
    """Dimensions split."""

    name = "memref.expand_shape"

    src = operand_def()
    output_shape = var_operand_def(IndexType)
    reassociation = prop_def(ArrayAttr)
    static_output_shape = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (DynamicIndexList,)

    assembly_format = (
        "$src $reassociation `output_shape` custom<DynamicIndexList>($output_shape, $static_output_shape) attr-dict `:` "
        "type($src) `into` type($result)"
    )


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """The same buffer with its dimensions in another order."""

    name = "memref.transpose"

    in_ = operand_def()
    permutation = prop_def(AffineMapAttr)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (PermutationMap,)

    assembly_format = "$in_ custom<PermutationMap>($permutation) attr-dict `:` type($in_) `to` type($result)"


@irdl_op_definition
class ExtractStridedMetaDataOp(IRDLOperation):
    """What a buffer is made of: base buffer, offset, sizes and strides."""

    name = "memref.extract_strided_metadata"

    source = operand_def()
    base_buffer = result_def()
    offset = result_def(IndexType())
    sizes = var_result_def(IndexType())
    strides = var_result_def(IndexType())

    irdl_options = (SameVariadicResultSize(),)
    traits = traits_def(Pure())

    assembly_format = "$source `:` type($source) `->` type(results) attr-dict"


@irdl_op_definition
class ExtractAlignedPointerAsIndexOp(IRDLOperation):
    """The address of a buffer's base as a number."""

    name = "memref.extract_aligned_pointer_as_index"

    source = operand_def()
    aligned_pointer = result_def(IndexType())

    traits = traits_def(Pure())

    assembly_format = "$source `:` type($source) `->` type(results) attr-dict"
