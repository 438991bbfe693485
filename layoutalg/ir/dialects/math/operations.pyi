# Made from math.txt by `python -m layoutalg.ir.operations.stubs`.

from xdsl.irdl import IRDLOperation

OPERATIONS: tuple[type[IRDLOperation], ...]
