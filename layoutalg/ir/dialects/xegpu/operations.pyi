# Made from xegpu.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr
from xdsl.ir import OpResult
from xdsl.irdl import IRDLOperation, Operand, OptOperand, VarOperand

from layoutalg.ir.dialects.xegpu.attributes import (
    CacheHintAttr,
    FenceScopeAttr,
    LaneShuffleModeAttr,
    LayoutAttr,
    MemorySpaceAttr,
    SliceAttr,
)

class AllocNbarrierOp(IRDLOperation):
    nbarrier_num: IntegerAttr

class AtomicRmwOp(IRDLOperation):
    descriptor: Operand
    mask: Operand
    value: Operand
    result: OpResult
    kind: IntegerAttr
    layout: LayoutAttr | SliceAttr | None

class CompileHintOp(IRDLOperation): ...

class ConvertLayoutOp(IRDLOperation):
    source: Operand
    result: OpResult
    input_layout: LayoutAttr | SliceAttr
    target_layout: LayoutAttr | SliceAttr

class CreateDescOp(IRDLOperation):
    source: Operand
    offsets: Operand
    descriptor: OpResult

class CreateMemDescOp(IRDLOperation):
    source: Operand
    mem_desc: OpResult

class CreateNdDescOp(IRDLOperation):
    source: Operand
    offsets: VarOperand
    shape: VarOperand
    strides: VarOperand
    descriptor: OpResult
    const_offsets: DenseArrayBase | None
    const_shape: DenseArrayBase | None
    const_strides: DenseArrayBase | None

class DpasMxOp(IRDLOperation):
    a: Operand
    b: Operand
    acc: OptOperand
    scale_a: OptOperand
    scale_b: OptOperand
    result: OpResult
    layout_a: LayoutAttr | SliceAttr | None
    layout_b: LayoutAttr | SliceAttr | None
    layout_cd: LayoutAttr | SliceAttr | None
    layout_a_scale: LayoutAttr | SliceAttr | None
    layout_b_scale: LayoutAttr | SliceAttr | None

class DpasOp(IRDLOperation):
    lhs: Operand
    rhs: Operand
    acc: OptOperand
    result: OpResult
    layout_a: LayoutAttr | SliceAttr | None
    layout_b: LayoutAttr | SliceAttr | None
    layout_cd: LayoutAttr | SliceAttr | None

class FenceOp(IRDLOperation):
    memory_kind: MemorySpaceAttr
    fence_scope: FenceScopeAttr

class InitNbarrierOp(IRDLOperation):
    nbarrier_id: Operand
    participants: Operand
    result: OpResult

class LaneShuffleOp(IRDLOperation):
    source: Operand
    result: OpResult
    mode: LaneShuffleModeAttr

class LoadMatrixOp(IRDLOperation):
    mem_desc: Operand
    offsets: VarOperand
    value: OpResult
    const_offsets: DenseArrayBase
    layout: LayoutAttr | SliceAttr | None
    subgroup_block_io: UnitAttr | None

class LoadNdOp(IRDLOperation):
    descriptor: Operand
    offsets: VarOperand
    value: OpResult
    const_offsets: DenseArrayBase | None
    l1_hint: CacheHintAttr | None
    l2_hint: CacheHintAttr | None
    l3_hint: CacheHintAttr | None
    layout: LayoutAttr | SliceAttr | None
    packed: UnitAttr | None
    transpose: DenseArrayBase | None

class LoadOp(IRDLOperation):
    source: Operand
    offsets: OptOperand
    mask: Operand
    value: OpResult
    l1_hint: CacheHintAttr | None
    l2_hint: CacheHintAttr | None
    l3_hint: CacheHintAttr | None
    layout: LayoutAttr | SliceAttr | None
    chunk_size: IntegerAttr | None
    contiguity: IntegerAttr | None

class MemDescSubviewOp(IRDLOperation):
    source: Operand
    offsets: VarOperand
    result: OpResult
    const_offsets: DenseArrayBase

class NbarrierArriveOp(IRDLOperation):
    nbarrier: Operand

class NbarrierWaitOp(IRDLOperation):
    nbarrier: Operand

class PrefetchNdOp(IRDLOperation):
    descriptor: Operand
    offsets: VarOperand
    const_offsets: DenseArrayBase | None
    l1_hint: CacheHintAttr | None
    l2_hint: CacheHintAttr | None
    l3_hint: CacheHintAttr | None
    layout: LayoutAttr | SliceAttr | None

class PrefetchOp(IRDLOperation):
    source: Operand
    offsets: OptOperand
    l1_hint: CacheHintAttr | None
    l2_hint: CacheHintAttr | None
    l3_hint: CacheHintAttr | None
    layout: LayoutAttr | SliceAttr | None
    offset_align_byte: IntegerAttr | None

class StoreMatrixOp(IRDLOperation):
    value: Operand
    mem_desc: Operand
    offsets: VarOperand
    const_offsets: DenseArrayBase
    layout: LayoutAttr | SliceAttr | None
    subgroup_block_io: UnitAttr | None

class StoreNdOp(IRDLOperation):
    value: Operand
    descriptor: Operand
    offsets: VarOperand
    const_offsets: DenseArrayBase | None
    l1_hint: CacheHintAttr | None
    l2_hint: CacheHintAttr | None
    l3_hint: CacheHintAttr | None
    layout: LayoutAttr | SliceAttr | None

class StoreOp(IRDLOperation):
    value: Operand
    dest: Operand
    offsets: OptOperand
    mask: Operand
    l1_hint: CacheHintAttr | None
    l2_hint: CacheHintAttr | None
    l3_hint: CacheHintAttr | None
    layout: LayoutAttr | SliceAttr | None
    chunk_size: IntegerAttr | None
    contiguity: IntegerAttr | None

class TruncfOp(IRDLOperation):
    source: Operand
    result: OpResult

class UpdateNdOffsetOp(IRDLOperation):
    descriptor: Operand
    offsets: VarOperand
    result: OpResult
    const_offsets: DenseArrayBase

class UpdateOffsetOp(IRDLOperation):
    descriptor: Operand
    offsets: Operand
    result: OpResult

OPERATIONS: tuple[type[IRDLOperation], ...]
