# Made from vector.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.irdl import IRDLOperation, VarOperand

class YieldOp(IRDLOperation):
    operands_: VarOperand

OPERATIONS: tuple[type[IRDLOperation], ...]
