"""The operations of `xegpu.txt` as classes, and what older pages write of them.

The lane-level matrix product of one 8x16 tile, complete, as LLVM 22 reads and prints it:

    %a = xegpu.create_nd_tdesc %p, shape : [%m, %k], strides : [%k, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
    %x = xegpu.load_nd %a[%row, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
    %y = xegpu.load_nd %b[0, %col] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>
    %z = xegpu.dpas %x, %y, %acc : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
    xegpu.store_nd %z, %c[%row, %col] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>

At lane level a vector is the fragment of one lane: of the 8x16 tile of A a lane holds 8 elements. A gather such as

    %x = xegpu.load %p[%offset], %mask <{chunk_size = 8 : i64}> : i64, vector<1xindex>, vector<1xi1> -> vector<8xf32>

reads 8 consecutive elements from `p + offset` in every lane whose mask is set. A `mem_desc` gives shared local memory the shape
of a matrix.

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

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, VectorType, i32
from xdsl.irdl import IRDLOperation

from layoutalg.ir.dialects.directives import (
    EnumWord,
    FunctionTypes,
    IndexList,
    KeywordIndexLists,
    KeywordOperand,
    OptionalIndexList,
    PlainInteger,
    SameType,
)
from layoutalg.ir.dialects.memref.directives import AtomicKind
from layoutalg.ir.dialects.xegpu.attributes import (
    CacheHintAttr,
    FenceScopeAttr,
    LaneShuffleModeAttr,
    LayoutAttr,
    MemDescType,
    MemorySpaceAttr,
    NbarrierType,
    SliceAttr,
    TensorDescType,
)
from layoutalg.ir.dialects.xegpu.directives import DescriptorType
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]
from layoutalg.ir.operations.old_spellings import refuse_spelling


def _complete(operation: IRDLOperation) -> None:
    """Complete LLVM 23's generic form of `create_nd_tdesc`, in which there are no offsets to count."""
    sizes = operation.properties.get("operandSegmentSizes")
    if isinstance(sizes, DenseArrayBase):
        counts = sizes.get_values()
        if len(counts) == 3:
            source, *others = (int(count) for count in counts)
            operation.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [source, 0, *others])
            refuse_spelling(operation, (22,), "size mismatch in attribute conversion: 3 vs 4")
    IRDLOperation.__post_init__(operation)


_OLD_LOAD = {
    "vnni_axis = 0": ("packed", UnitAttr()),
    "vnni_axis": None,  # along the columns: the same elements, with a dimension more
    "transpose_bit_width": None,
    "mode": None,
}

OPERATIONS = define(
    __name__,
    "xegpu",
    attributes={
        "atomic_kind": IntegerAttr,
        "fence_scope": FenceScopeAttr,
        "hint": CacheHintAttr,
        "i64": IntegerAttr,
        "i64s": DenseArrayBase,
        "layout": LayoutAttr | SliceAttr,
        "memory_space": MemorySpaceAttr,
        "shuffle_mode": LaneShuffleModeAttr,
    },
    types={
        "BLOCK": VectorType,
        "FACTOR": VectorType,
        "LINE": VectorType,
        "MEM_DESC": MemDescType,
        "NBARRIER": NbarrierType,
        "PRODUCT": VectorType,
        "SCALED": VectorType,
        "TENSOR_DESC": TensorDescType,
    },
    directives=(
        AtomicKind,
        DescriptorType,
        EnumWord,
        FunctionTypes,
        IndexList,
        KeywordIndexLists,
        KeywordOperand,
        OptionalIndexList,
        PlainInteger,
        SameType,
    ),
    fields={
        "xegpu.compile_hint": {"OLD_OPERATION": "nothing, LLVM never had it"},
        "xegpu.create_nd_tdesc": {"__post_init__": _complete},
        "xegpu.load_nd": {"OLD_ATTRIBUTES": _OLD_LOAD},
        "xegpu.mem_desc_subview": {"OLD_OPERATION": "offsets of `xegpu.load_matrix` and `xegpu.store_matrix`"},
        "xegpu.prefetch_nd": {"OLD_ATTRIBUTES": {"mode": None}},
        "xegpu.store_nd": {"OLD_ATTRIBUTES": {"mode": None}},
    },
    assumed=True,
)
"""The classes, in the order of the table."""
