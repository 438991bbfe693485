"""MLIR in and out, on xDSL: the xegpu and gpu dialects as kernels use them, a reader and a writer.

>>> from layoutalg.ir import read_module, write_module
>>> "arith.constant 16 : index" in write_module(read_module("%c = arith.constant 16 : index"))
True

Loading this package loads xDSL (0.2 s); the rest of layoutalg does so only when it reads or writes MLIR.
"""

from layoutalg.ir.text import XEGPU, line_of, read_module, write_module

__all__ = ["XEGPU", "line_of", "read_module", "write_module"]
