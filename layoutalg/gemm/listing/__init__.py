"""The machine code of a planned kernel: compiled with what is installed, read, every instruction of the loop named.

>>> from layoutalg.gemm.listing import read_assembly
>>> len(read_assembly("(W) mov (1|M0) r1.0<1>:d 0:w").instructions)
1
"""

from layoutalg.gemm.listing.compiling import Compiled, compile_kernel, compiler_version
from layoutalg.gemm.listing.reading import Counts, Instruction, Operand, Program, counts, read_assembly

__all__ = [
    "Compiled",
    "Counts",
    "Instruction",
    "Operand",
    "Program",
    "compile_kernel",
    "compiler_version",
    "counts",
    "read_assembly",
]
