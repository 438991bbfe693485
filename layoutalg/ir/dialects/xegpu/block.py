"""XeGPU operations on blocks: 2D descriptors, block loads and stores, DPAS, and the conversion between layouts.

The lane-level matrix product of one 8x16 tile, complete, as LLVM 22 reads and prints it:

    %a = xegpu.create_nd_tdesc %p, shape : [%m, %k], strides : [%k, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
    %x = xegpu.load_nd %a[%row, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
    %y = xegpu.load_nd %b[0, %col] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>
    %z = xegpu.dpas %x, %y, %acc : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
    xegpu.store_nd %z, %c[%row, %col] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>

At lane level a vector is the fragment of one lane: of the 8x16 tile of A a lane holds 8 elements. The syntax follows
LLVM's definitions (mlir/docs, 'xegpu' dialect); the tests send what is printed here through `mlir-opt` and read back
what it prints.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%p = arith.constant 64 : i64 %t = xegpu.create_nd_tdesc %p, shape: [8, 32], strides: [32, 1] : i64"
>>> module = read_module(text + "-> !xegpu.tensor_desc<8x16xf16> xegpu.prefetch_nd %t[0,16] : !xegpu.tensor_desc<8x16xf16>")
>>> print(write_module(module), end="")
builtin.module {
  %p = arith.constant 64 : i64
  %t = xegpu.create_nd_tdesc %p, shape : [8, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
  xegpu.prefetch_nd %t[0, 16] : !xegpu.tensor_desc<8x16xf16>
}
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from layoutalg.ir.dialects.declared import INDEX, declared_operation
from layoutalg.ir.dialects.directives import (
    EnumWord,
    FunctionTypes,
    IndexList,
    KeywordIndexLists,
    KeywordOperand,
    OptionalIndexList,
    SameType,
)
from layoutalg.ir.dialects.old_spellings import refuse_spelling
from layoutalg.ir.dialects.xegpu.attributes import LaneShuffleModeAttr, LayoutAttr, SliceAttr, TensorDescType
from layoutalg.ir.dialects.xegpu.memory_operations import CachedOp, DescriptorType, PlacedOp

__all__ = [
    "OPERATIONS",
    "ConvertLayoutOp",
    "CreateNdDescOp",
    "DpasMxOp",
    "DpasOp",
    "LaneShuffleOp",
    "LoadNdOp",
    "PrefetchNdOp",
    "StoreNdOp",
    "TruncfOp",
    "UpdateNdOffsetOp",
]


@declared_operation
class CreateNdDescOp(IRDLOperation):
    """Describe a block of a 1-D or 2-D region of memory; a bare pointer needs `shape` and `strides` (in elements).

    LLVM 23 and 24 have no offsets here; 24 takes no `shape` and `strides` for a memref.
    """

    name = "xegpu.create_nd_tdesc"

    source = operand_def()
    offsets = var_operand_def(INDEX)
    shape = var_operand_def(INDEX)
    strides = var_operand_def(INDEX)
    const_offsets = opt_prop_def(DenseArrayBase)
    const_shape = opt_prop_def(DenseArrayBase)
    const_strides = opt_prop_def(DenseArrayBase)
    descriptor = result_def(TensorDescType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    custom_directives = (DescriptorType, KeywordIndexLists, OptionalIndexList)

    assembly_format = """
        $source `` custom<OptionalIndexList>($offsets, $const_offsets)
        custom<KeywordIndexLists>($shape, $const_shape, $strides, $const_strides)
        attr-dict `:` type($source) `->` custom<DescriptorType>(type($descriptor))
    """

    def __post_init__(self) -> None:
        """Complete LLVM 23's generic form, in which there are no offsets to count."""
        sizes = self.properties.get("operandSegmentSizes")
        if isinstance(sizes, DenseArrayBase):
            counts = sizes.get_values()
            if len(counts) == 3:
                source, *others = (int(count) for count in counts)
                self.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [source, 0, *others])
                refuse_spelling(self, (22,), "size mismatch in attribute conversion: 3 vs 4")
        super().__post_init__()


class _BlockMemoryOp(CachedOp, ABC):
    """What loads, stores and prefetches of blocks share: where in the region, and what the caches do."""

    descriptor = operand_def(TensorDescType)
    offsets = var_operand_def(INDEX)
    const_offsets = opt_prop_def(DenseArrayBase)


@declared_operation
class LoadNdOp(_BlockMemoryOp):
    """Load a block into registers; `packed` puts 32/bits rows of a column into one register (VNNI)."""

    name = "xegpu.load_nd"

    OLD_ATTRIBUTES: ClassVar[dict[str, tuple[str, Attribute] | None]] = {
        "vnni_axis = 0": ("packed", UnitAttr()),
        "vnni_axis": None,  # along the columns: the same elements, with a dimension more
        "transpose_bit_width": None,
        "mode": None,
    }

    packed = opt_prop_def(UnitAttr)
    transpose = opt_prop_def(DenseArrayBase)
    value = result_def(VectorType)

    traits = traits_def(MemoryReadEffect())
    custom_directives = (OptionalIndexList,)

    assembly_format = """
        $descriptor `` custom<OptionalIndexList>($offsets, $const_offsets)
        prop-dict attr-dict `:` type($descriptor) `->` type($value)
    """


@declared_operation
class PrefetchNdOp(_BlockMemoryOp):
    """Bring a block into the caches."""

    name = "xegpu.prefetch_nd"

    OLD_ATTRIBUTES: ClassVar[dict[str, tuple[str, Attribute] | None]] = {"mode": None}

    custom_directives = (OptionalIndexList,)

    assembly_format = """
        $descriptor `` custom<OptionalIndexList>($offsets, $const_offsets)
        prop-dict attr-dict `:` type($descriptor)
    """


@declared_operation
class StoreNdOp(_BlockMemoryOp):
    """Store a block from registers."""

    name = "xegpu.store_nd"

    OLD_ATTRIBUTES: ClassVar[dict[str, tuple[str, Attribute] | None]] = {"mode": None}

    value = operand_def(VectorType)

    traits = traits_def(MemoryWriteEffect())
    custom_directives = (OptionalIndexList,)

    assembly_format = """
        $value `,` $descriptor `` custom<OptionalIndexList>($offsets, $const_offsets)
        prop-dict attr-dict `:` type($value) `,` type($descriptor)
    """


@declared_operation
class UpdateNdOffsetOp(PlacedOp):
    """Move a descriptor by a number of elements in each dimension (LLVM 22)."""

    name = "xegpu.update_nd_offset"

    descriptor = operand_def(TensorDescType)
    result = result_def(TensorDescType)

    traits = traits_def(Pure())
    custom_directives = (IndexList, SameType)

    assembly_format = """
        $descriptor `,` custom<IndexList>($offsets, $const_offsets)
        attr-dict `:` custom<SameType>(type($result), type($descriptor))
    """


@declared_operation
class DpasOp(IRDLOperation):
    """Multiply a tile of A by a tile of B and add the tile of C, all held in the registers of one subgroup."""

    name = "xegpu.dpas"

    lhs = operand_def(VectorType)
    rhs = operand_def(VectorType)
    acc = opt_operand_def(VectorType)
    layout_a = opt_prop_def(LayoutAttr | SliceAttr)
    layout_b = opt_prop_def(LayoutAttr | SliceAttr)
    layout_cd = opt_prop_def(LayoutAttr | SliceAttr)
    result = result_def(VectorType)

    traits = traits_def(Pure())

    assembly_format = """
        $lhs `,` $rhs (`,` $acc^)? attr-dict
        `:` type($lhs) `,` type($rhs) (`,` type($acc)^)? `->` type($result)
    """

    @classmethod
    def of(cls, operands: Sequence[SSAValue | Operation], result_type: Attribute) -> DpasOp:
        """The product of operands `[a, b]` or `[a, b, acc]`."""
        a, b, *acc = operands
        return cls.build(operands=[a, b, acc], result_types=[result_type])


@declared_operation
class DpasMxOp(IRDLOperation):
    """Multiply tiles of microscaled numbers: every 32 (or 16) elements along K share a scale (LLVM 23 and 24)."""

    name = "xegpu.dpas_mx"

    a = operand_def(VectorType)
    b = operand_def(VectorType)
    acc = opt_operand_def(VectorType)
    scale_a = opt_operand_def()
    scale_b = opt_operand_def()
    layout_a = opt_prop_def(LayoutAttr | SliceAttr)
    layout_b = opt_prop_def(LayoutAttr | SliceAttr)
    layout_cd = opt_prop_def(LayoutAttr | SliceAttr)
    layout_a_scale = opt_prop_def(LayoutAttr | SliceAttr)
    layout_b_scale = opt_prop_def(LayoutAttr | SliceAttr)
    result = result_def(VectorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    custom_directives = (FunctionTypes, KeywordOperand)

    assembly_format = """
        $a `,` $b (`,` $acc^)? custom<KeywordOperand>($scale_a) custom<KeywordOperand>($scale_b) attr-dict
        `:` custom<FunctionTypes>(type($a), type($b), type($acc), type($scale_a), type($scale_b), type($result))
    """


@declared_operation
class TruncfOp(IRDLOperation):
    """Round to a narrower floating-point type (LLVM 23 and 24)."""

    name = "xegpu.truncf"

    source = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


@declared_operation
class ConvertLayoutOp(IRDLOperation):
    """Move a value from one distribution over subgroups and lanes to another."""

    name = "xegpu.convert_layout"

    source = operand_def()
    input_layout = prop_def(LayoutAttr | SliceAttr)
    target_layout = prop_def(LayoutAttr | SliceAttr)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (SameType,)

    assembly_format = "$source prop-dict attr-dict `:` custom<SameType>(type($source), type($result))"


@declared_operation
class LaneShuffleOp(IRDLOperation):
    """Move the elements of a subgroup's fragments between its lanes (LLVM 24).

    With S lanes that hold N elements each, `pack` moves element j of lane i from position `j*S + i` to `i*N + j`, so that
    a lane's elements are neighbours; `unpack` goes back.
    """

    name = "xegpu.lane_shuffle"

    source = operand_def(VectorType)
    mode = prop_def(LaneShuffleModeAttr)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    custom_directives = (EnumWord, SameType)

    assembly_format = "$source custom<EnumWord>($mode) attr-dict `:` custom<SameType>(type($source), type($result))"


OPERATIONS: tuple[type[Operation], ...] = (
    ConvertLayoutOp,
    CreateNdDescOp,
    DpasMxOp,
    DpasOp,
    LaneShuffleOp,
    LoadNdOp,
    PrefetchNdOp,
    StoreNdOp,
    TruncfOp,
    UpdateNdOffsetOp,
)
