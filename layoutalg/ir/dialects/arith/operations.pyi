# Made from arith.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, OpResult
from xdsl.irdl import IRDLOperation, Operand

from layoutalg.ir.dialects.flags import FastMathFlagsAttr

class CmpfOp(IRDLOperation):
    lhs: Operand
    rhs: Operand
    result: OpResult
    predicate: IntegerAttr
    fastmath: FastMathFlagsAttr

class CmpiOp(IRDLOperation):
    lhs: Operand
    rhs: Operand
    result: OpResult
    predicate: IntegerAttr

class ConstantOp(IRDLOperation):
    result: OpResult
    value: Attribute

class SelectOp(IRDLOperation):
    cond: Operand
    lhs: Operand
    rhs: Operand
    result: OpResult

OPERATIONS: tuple[type[IRDLOperation], ...]
