# Made from memref.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.irdl import IRDLOperation, VarOperand

class AllocaScopeReturnOp(IRDLOperation):
    ops: VarOperand

OPERATIONS: tuple[type[IRDLOperation], ...]
