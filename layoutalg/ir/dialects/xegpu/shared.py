"""XeGPU operations of a workgroup: matrices in shared local memory, fences and named barriers.

    %d = xegpu.create_mem_desc %slm : memref<256xi8, 3> -> !xegpu.mem_desc<16x8xf16>
    xegpu.store_matrix %x, %d[0, 0] : vector<8x8xf16>, !xegpu.mem_desc<16x8xf16>
    xegpu.fence memory_kind = slm, fence_scope = workgroup
    %y = xegpu.load_matrix %d[8, 0] : !xegpu.mem_desc<16x8xf16> -> vector<8x8xf16>

A `mem_desc` gives 256 bytes of shared local memory the shape of 16 rows of 8 f16.

>>> from layoutalg.ir import read_module, write_module
>>> write_module(read_module("xegpu.fence memory_kind=slm, fence_scope=workgroup")).splitlines()[1].strip()
'xegpu.fence memory_kind = slm, fence_scope = workgroup'
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from layoutalg.ir.dialects.declared import declared_operation
from layoutalg.ir.dialects.directives import EnumWord, IndexList, PlainInteger
from layoutalg.ir.dialects.xegpu.attributes import (
    FenceScopeAttr,
    LayoutAttr,
    MemDescType,
    MemorySpaceAttr,
    NbarrierType,
    SliceAttr,
)
from layoutalg.ir.dialects.xegpu.memory_operations import PlacedOp

__all__ = [
    "OPERATIONS",
    "AllocNbarrierOp",
    "CompileHintOp",
    "CreateMemDescOp",
    "FenceOp",
    "InitNbarrierOp",
    "LoadMatrixOp",
    "MemDescSubviewOp",
    "NbarrierArriveOp",
    "NbarrierWaitOp",
    "StoreMatrixOp",
]


@declared_operation
class CreateMemDescOp(IRDLOperation):
    """Give a buffer of shared local memory the shape of a matrix."""

    name = "xegpu.create_mem_desc"

    source = operand_def()
    mem_desc = result_def(MemDescType)

    traits = traits_def(Pure())

    assembly_format = "$source prop-dict attr-dict `:` type($source) `->` type($mem_desc)"


@declared_operation
class MemDescSubviewOp(PlacedOp):
    """A smaller matrix inside a matrix of shared local memory (on the dialect's page; in no LLVM from 22 on)."""

    name = "xegpu.mem_desc_subview"

    OLD_OPERATION: ClassVar[str] = "offsets of `xegpu.load_matrix` and `xegpu.store_matrix`"

    source = operand_def(MemDescType)
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    custom_directives = (IndexList,)

    assembly_format = """
        $source `` custom<IndexList>($offsets, $const_offsets) prop-dict attr-dict `:` type($source) `->` type($result)
    """


@declared_operation
class LoadMatrixOp(PlacedOp):
    """Load a block of a matrix in shared local memory."""

    name = "xegpu.load_matrix"

    mem_desc = operand_def(MemDescType)
    layout = opt_prop_def(LayoutAttr | SliceAttr)
    subgroup_block_io = opt_prop_def(UnitAttr)
    value = result_def()

    traits = traits_def(MemoryReadEffect())
    custom_directives = (IndexList,)

    assembly_format = """
        $mem_desc `` custom<IndexList>($offsets, $const_offsets) prop-dict attr-dict `:` type(operands) `->` type($value)
    """


@declared_operation
class StoreMatrixOp(PlacedOp):
    """Store a block of a matrix in shared local memory."""

    name = "xegpu.store_matrix"

    value = operand_def()
    mem_desc = operand_def(MemDescType)
    layout = opt_prop_def(LayoutAttr | SliceAttr)
    subgroup_block_io = opt_prop_def(UnitAttr)

    traits = traits_def(MemoryWriteEffect())
    custom_directives = (IndexList,)

    assembly_format = """
        $value `,` $mem_desc `` custom<IndexList>($offsets, $const_offsets) prop-dict attr-dict `:` type(operands)
    """


@declared_operation
class FenceOp(IRDLOperation):
    """Order the memory accesses before it and after it."""

    name = "xegpu.fence"

    memory_kind = prop_def(MemorySpaceAttr)
    fence_scope = prop_def(FenceScopeAttr)

    custom_directives = (EnumWord,)

    assembly_format = """
        `memory_kind` `=` custom<EnumWord>($memory_kind) `,` `fence_scope` `=` custom<EnumWord>($fence_scope) attr-dict
    """


@declared_operation
class CompileHintOp(IRDLOperation):
    """A place that the compiler moves no operation across, in Intel's extensions; no LLVM has it."""

    name = "xegpu.compile_hint"

    OLD_OPERATION: ClassVar[str] = "nothing, LLVM never had it"

    assembly_format = "attr-dict"


@declared_operation
class AllocNbarrierOp(IRDLOperation):
    """Reserve named barriers for the workgroup."""

    name = "xegpu.alloc_nbarrier"

    nbarrier_num = prop_def(IntegerAttr)

    custom_directives = (PlainInteger,)

    assembly_format = "custom<PlainInteger>($nbarrier_num) attr-dict"


@declared_operation
class InitNbarrierOp(IRDLOperation):
    """Bind the subgroup to a named barrier."""

    name = "xegpu.init_nbarrier"

    nbarrier_id = operand_def()
    participants = operand_def()
    result = result_def(NbarrierType)

    assembly_format = (
        "$nbarrier_id `,` $participants attr-dict `:` type($nbarrier_id) `,` type($participants) `->` type($result)"
    )


@declared_operation
class NbarrierArriveOp(IRDLOperation):
    """Tell a named barrier that this subgroup has produced its data."""

    name = "xegpu.nbarrier_arrive"

    nbarrier = operand_def(NbarrierType)

    assembly_format = "$nbarrier attr-dict `:` type($nbarrier)"


@declared_operation
class NbarrierWaitOp(IRDLOperation):
    """Wait until every producer has arrived."""

    name = "xegpu.nbarrier_wait"

    nbarrier = operand_def(NbarrierType)

    assembly_format = "$nbarrier attr-dict `:` type($nbarrier)"


OPERATIONS: tuple[type[Operation], ...] = (
    AllocNbarrierOp,
    CompileHintOp,
    CreateMemDescOp,
    FenceOp,
    InitNbarrierOp,
    LoadMatrixOp,
    MemDescSubviewOp,
    NbarrierArriveOp,
    NbarrierWaitOp,
    StoreMatrixOp,
)
