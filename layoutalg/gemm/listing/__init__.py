"""The machine code of a planned kernel: compiled with what is installed, read, every instruction of the loop named.

>>> from layoutalg.gemm.listing import read_assembly
>>> len(read_assembly("(W) mov (1|M0) r1.0<1>:d 0:w").instructions)
1
"""

from layoutalg.gemm.listing.annotating import Block, Line, Loop, annotated
from layoutalg.gemm.listing.compiling import Compiled, compile_kernel, compiler_version
from layoutalg.gemm.listing.reading import Counts, Instruction, Operand, Program, counts, read_assembly
from layoutalg.gemm.listing.report import Listing, listing_of

__all__ = [
    "Block",
    "Compiled",
    "Counts",
    "Instruction",
    "Line",
    "Listing",
    "Loop",
    "Operand",
    "Program",
    "annotated",
    "compile_kernel",
    "compiler_version",
    "counts",
    "listing_of",
    "read_assembly",
]
