"""Questions about memory: who accesses what together, which banks meet, which lines move, and where to put a tensor best.

>>> print(bank_conflicts("d0 = 16@lane, d1 = 16@reg 2@lane:16"))
16 instructions of 1 x 32 bits per lane, 256 cycles, 16 without conflicts: 16-way conflicts
>>> best_swizzle("d0 = 16@reg, d1 = 32@lane", "d0 = 16@lane, d1 = 16@reg 2@lane:16").read.ways
1

`accesses` says what a lane moves in one instruction, `addresses` where elements lie, `conflicts` and `coalescing` count,
`picture` draws, and `swizzles` finds the best addresses (`bank_matrix` says how, for powers of two, on the bits of
`machine_bits`; `linear_address` makes it a layout). `matrix_loads` says what `ldmatrix` and `stmatrix` do, `triton_access`
answers for Triton's loads and stores. `asked` reads the arguments of all, `report` is what `layoutalg banks` prints. Conflicts
of a planned conversion are counted by `layoutalg.conversion.program.access_conflicts`, with `conflicts`. All take a `Layout`, a
value of any notation, or its text.
"""

from layoutalg.memory.coalescing import Coalescing, coalescing
from layoutalg.memory.conflicts import Conflicts, bank_conflicts
from layoutalg.memory.linear_address import ElementBit
from layoutalg.memory.matrix_loads import MatrixAccess, matrix_load, matrix_store
from layoutalg.memory.picture import bank_picture
from layoutalg.memory.swizzles import BestSwizzle, best_swizzle

__all__ = [
    "BestSwizzle",
    "Coalescing",
    "Conflicts",
    "ElementBit",
    "MatrixAccess",
    "bank_conflicts",
    "bank_picture",
    "best_swizzle",
    "coalescing",
    "matrix_load",
    "matrix_store",
]
