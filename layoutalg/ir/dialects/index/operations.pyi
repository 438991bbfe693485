# Made from index.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import OpResult
from xdsl.irdl import IRDLOperation, Operand

from layoutalg.ir.dialects.index.attributes import IndexCmpPredicateAttr

class BoolConstantOp(IRDLOperation):
    result: OpResult
    value: IntegerAttr

class CmpOp(IRDLOperation):
    lhs: Operand
    rhs: Operand
    result: OpResult
    pred: IndexCmpPredicateAttr

class ConstantOp(IRDLOperation):
    result: OpResult
    value: IntegerAttr

class SizeOfOp(IRDLOperation):
    result: OpResult

OPERATIONS: tuple[type[IRDLOperation], ...]
