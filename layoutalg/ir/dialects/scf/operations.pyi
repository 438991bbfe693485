# Made from scf.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.irdl import IRDLOperation, Operand, VarOperand

class ConditionOp(IRDLOperation):
    condition: Operand
    args: VarOperand

class ReduceReturnOp(IRDLOperation):
    result: Operand

class YieldOp(IRDLOperation):
    arguments: VarOperand

OPERATIONS: tuple[type[IRDLOperation], ...]
