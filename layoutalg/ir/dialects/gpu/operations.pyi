# Made from gpu.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import OpResult
from xdsl.irdl import IRDLOperation, Operand, VarOperand

from layoutalg.ir.dialects.gpu.attributes import BarrierScopeAttr, DimensionAttr, ShuffleModeAttr

class BarrierOp(IRDLOperation):
    address_spaces: ArrayAttr | None
    scope: BarrierScopeAttr

class BlockDimOp(IRDLOperation):
    result: OpResult
    dimension: DimensionAttr
    upper_bound: IntegerAttr | None

class BlockIdOp(IRDLOperation):
    result: OpResult
    dimension: DimensionAttr
    upper_bound: IntegerAttr | None

class GlobalIdOp(IRDLOperation):
    result: OpResult
    dimension: DimensionAttr
    upper_bound: IntegerAttr | None

class GridDimOp(IRDLOperation):
    result: OpResult
    dimension: DimensionAttr
    upper_bound: IntegerAttr | None

class LaneIdOp(IRDLOperation):
    result: OpResult
    upper_bound: IntegerAttr | None

class NumSubgroupsOp(IRDLOperation):
    result: OpResult
    upper_bound: IntegerAttr | None

class ShuffleOp(IRDLOperation):
    value: Operand
    offset: Operand
    width: Operand
    shuffle_result: OpResult
    valid: OpResult
    mode: ShuffleModeAttr

class SubgroupIdOp(IRDLOperation):
    result: OpResult
    upper_bound: IntegerAttr | None

class SubgroupSizeOp(IRDLOperation):
    result: OpResult
    upper_bound: IntegerAttr | None

class ThreadIdOp(IRDLOperation):
    result: OpResult
    dimension: DimensionAttr
    upper_bound: IntegerAttr | None

class YieldOp(IRDLOperation):
    values: VarOperand

OPERATIONS: tuple[type[IRDLOperation], ...]
