"""What `ldmatrix` and `stmatrix` do with a tile of shared memory: which registers hold what of it, and which banks meet.

The instruction takes 1, 2 or 4 matrices of 8 rows of 16 bytes. A tile of 16 x 16 halves has four of them, taken down the
columns first, as the A of an `mma.m16n8k16` wants them:

>>> plain = matrix_load("ldmatrix.x4", "d0 = 16@addr:16, d1 = 16@addr")
>>> print(plain.layout)
d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg
>>> plain.layout == la.instruction("mma.m16n8k16.f32.f16.f16.f32")["A"].layout
True

Eight rows 32 bytes apart meet in banks two by two; in a tile of 64 columns all eight do, unless it is swizzled:

>>> print(matrix_load("ldmatrix.x4.trans", "d0 = 16@addr:64, d1 = 64@addr"))
4 x SM75_U16x8_LDSM_T: 16 matrices, 128 cycles, 16 without conflicts: 8-way conflicts
>>> print(matrix_load("ldmatrix.x4.trans", "Sw<3,3,3> o 0 o (16,64):(64,1)"))
4 x SM75_U16x8_LDSM_T: 16 matrices, 16 cycles: conflict-free

The rule is: the result holds, at `coords(lane=l)`, the elements that lie where the instruction reads for lane l; nothing is
assumed of the memory but that each row of a matrix is 16 bytes in a row, aligned to 16 bytes. Banks are counted by
`conflicts`: the eight rows of a matrix are served together. `stmatrix` is the other way round (`matrix_store`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, Operand, as_sizes, one_operand, own_sizes
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of, whole_numbers
from layoutalg.core.work_items import cover, machine_for
from layoutalg.instructions.instruction import Instruction
from layoutalg.instructions.registry import instruction
from layoutalg.memory.accesses import MOST_ACCESSES
from layoutalg.memory.addresses import Addresses, Memory, Numbers, addresses_of, memory_text
from layoutalg.memory.conflicts import Banks, Conflicts, count_conflicts
from layoutalg.notations import has_value, value_of

__all__ = ["MatrixAccess", "matrix_load", "matrix_store"]

_ROWS, _ROW_BYTES, _LANES = 8, 16, 32


@dataclass(frozen=True, slots=True)
class MatrixAccess(Distributed):
    """A tile of shared memory that `ldmatrix` loads, or `stmatrix` stores, by several instructions.

    `layout` says which lane and register holds each element of the tile; registers count elements, instruction by instruction.
    `matrices` are the rows and columns of matrices that one instruction takes. `conflicts` counts cycles of the banks: of
    each matrix as many as rows meet in a bank.

    >>> matrix_load("ldmatrix.x1", "d0 = 8@addr:8, d1 = 8@addr").conflicts.ways
    1
    """

    instruction: Instruction
    layout: Layout
    instructions: int
    matrices: tuple[int, int]
    conflicts: Conflicts

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The tile in registers, as what a comparison or a picture takes.

        >>> matrix_load("ldmatrix.x1", "d0 = 8@addr:8, d1 = 8@addr").operands()[0].layout
        Layout.parse('d0 = 8@lane:4, d1 = 4@lane 2@reg')
        """
        own_sizes(self, self.layout.shape, shape)
        layout = self.layout if machine is None else cover(self.layout, machine_for(machine, _LANES, self), self)
        return one_operand(self, layout)

    def __str__(self) -> str:
        moved = self.instructions * self.matrices[0] * self.matrices[1]
        found = self.conflicts
        number = "1 matrix" if moved == 1 else f"{moved} matrices"
        cost = f"{self.instructions} x {self.instruction}: {number}, {counted(found.cycles, 'cycle')}"
        if found.ways <= 1:
            return f"{cost}: conflict-free"
        return f"{cost}, {found.ideal} without conflicts: {found.ways}-way conflicts"


def matrix_load(
    name: str | Instruction,
    memory: Memory,
    shape: Sequence[int] | None = None,
    *,
    element_bits: int = 16,
    matrices: Sequence[int] | None = None,
    banks: int = BANKS,
    width: int = BANK_BYTES,
) -> MatrixAccess:
    """What `ldmatrix` loads of a tile in shared memory: the registers that it fills, and the bank conflicts.

    `memory` says at which address, counted in elements of `element_bits` (8, 16 or 32; 16 with `.trans`), each element of the
    tile lies: a `Layout`, a value of any notation, or its text; `shape` is the tile's, where the memory leaves it open. One
    instruction takes `matrices` (rows, columns) of 8 rows of 16 bytes, counted down the columns; where it takes four, 2 x 2
    unless given, or what the tile has. Instructions take the tile block by block, row by row of blocks.

    Raises `ConversionError` for an instruction that loads no matrices, a tile that is not whole blocks, and rows that are not
    16 bytes in a row; what `parse` raises for texts.

    >>> found = matrix_load("ldmatrix.x2", "d0 = 16@addr:8, d1 = 8@addr")
    >>> print(found.layout); found.conflicts.ways
    d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg
    1
    """
    return _access("ldmatrix", name, memory, shape, element_bits, matrices, (banks, width))


def matrix_store(
    name: str | Instruction,
    memory: Memory,
    shape: Sequence[int] | None = None,
    *,
    element_bits: int = 16,
    matrices: Sequence[int] | None = None,
    banks: int = BANKS,
    width: int = BANK_BYTES,
) -> MatrixAccess:
    """What `stmatrix` stores into a tile of shared memory: the registers that it takes, and the bank conflicts.

    The arguments are those of `matrix_load`, and it raises what that raises.

    >>> print(matrix_store("stmatrix.x4", "d0 = 16@addr:32, d1 = 16@addr"))
    1 x SM90_U32x4_STSM_N: 4 matrices, 16 cycles, 4 without conflicts: 4-way conflicts
    """
    return _access("stmatrix", name, memory, shape, element_bits, matrices, (banks, width))


def _access(
    family: str,
    name: str | Instruction,
    memory: Memory,
    shape: Sequence[int] | None,
    bits: int,
    matrices: Sequence[int] | None,
    hardware: tuple[int, int],
) -> MatrixAccess:
    instance_of(name, (str, Instruction), "instruction", ConversionError)
    found = instruction(name) if isinstance(name, str) else name
    if found.family != family or found.parts[0].element != "b16":
        raise ConversionError(f"{found} is not an {family} of 8 x 8 matrices, such as {family}.x4")
    trans = any(".trans." in alias for alias in found.aliases)
    widths = (16,) if trans else (8, 16, 32)
    if type(bits) is not int or bits not in widths:
        expected = "16, which .trans takes" if trans else "8, 16 or 32"
        raise ConversionError(f"element_bits {shown(bits)}: expected {expected}")
    sizes = _sizes(memory, shape)
    columns = _ROW_BYTES * 8 // bits
    count = int(str(found.parts[0].layout.shape[0])) // _ROWS
    block = _block(count, sizes, columns, matrices)
    rows, across = block[0] * _ROWS, block[1] * columns
    if sizes[0] % rows or sizes[1] % across:
        raise ConversionError(
            f"a tile of {sizes[0]}x{sizes[1]}: {found} takes blocks of {rows}x{across} elements of {bits} bits"
        )
    if sizes[0] * sizes[1] > MOST_ACCESSES:
        raise SizeError(f"a tile of {sizes[0]}x{sizes[1]} elements: over the limit of 2^24")
    layout = _held(trans, sizes, block, columns)
    tile = Layout([(Factor(sizes[0], 1, "reg"),), (Factor(sizes[1], sizes[0], "reg"),)])
    table = addresses_of(memory, tile, max(1, bits // 8)).reshape(sizes)
    _check_rows(table, columns, bits, memory)
    checked = Banks.checked(*hardware, bits)
    if checked.banks * checked.width < _ROW_BYTES:
        raise ConversionError(
            f"{checked.banks} banks of {checked.width} bytes cannot serve a row of {_ROW_BYTES} bytes in a cycle"
        )
    conflicts = _count(table, block, columns, checked)
    return MatrixAccess(found, layout, sizes[0] // rows * (sizes[1] // across), block, conflicts)


def _sizes(memory: Memory, shape: Sequence[int] | None) -> tuple[int, int]:
    if isinstance(memory, Addresses):
        shape = memory.table().shape if shape is None else shape
    elif not has_value(memory):
        raise ConversionError(f"memory {shown(memory)}: expected a layout onto addresses, or its text")
    elif shape is None:
        shape = tuple(int(str(size)) for size in value_of(memory).tensor_shape())
    given = whole_numbers(list(as_sizes(shape)), "shape", 1, 2**24, 2)
    return given[0], given[1]


def _block(count: int, sizes: tuple[int, int], columns: int, matrices: Sequence[int] | None) -> tuple[int, int]:
    """The rows and columns of matrices that one instruction takes."""
    if matrices is not None:
        given = whole_numbers(matrices, "matrices", 1, 4, 2)
        if given[0] * given[1] != count:
            raise ConversionError(f"matrices {shown(tuple(given))}: the instruction takes {count}")
        return given[0], given[1]
    down = {1: 1, 2: 2, 4: 2}[count]
    while down > 1 and sizes[0] % (_ROWS * down):
        down //= 2
    while down < count and sizes[1] % (columns * (count // down)):
        down *= 2
    return down, count // down


def _held(trans: bool, sizes: tuple[int, int], block: tuple[int, int], columns: int) -> Layout:
    """Who holds each element of the tile."""
    pair = columns // 4
    lane, quad, inner = Factor(8, 4, "lane"), Factor(4, 1, "lane"), Factor(pair, 1, "reg")
    row, column = ((quad, inner), (lane,)) if trans else ((lane,), (quad, inner))
    down, across = (
        Factor(block[0], pair, "reg"),
        Factor(block[1], pair * block[0], "reg"),
    )
    each = pair * block[0] * block[1]
    over = sizes[1] // (block[1] * columns)
    rounds = (Factor(sizes[0] // (block[0] * _ROWS), each * over, "reg"), Factor(over, each, "reg"))
    return Layout([(rounds[0], down, *row), (rounds[1], across, *column)]).canonical()


def _check_rows(table: Numbers, columns: int, bits: int, memory: Memory) -> None:
    """Refuse rows of a matrix that are not 16 bytes in a row from a multiple of 16 bytes on."""
    rows = table.reshape(len(table), -1, columns)
    wrong = (rows - rows[..., :1] != np.arange(columns)).any(-1) | (rows[..., 0] % columns != 0)
    if wrong.any():
        row, piece = (int(one) for one in np.argwhere(wrong)[0])
        first = piece * columns
        raise ConversionError(
            f"row {row}, columns {first} to {first + columns - 1} are at {shown(rows[row, piece].tolist())}: a matrix "
            f"instruction takes {columns} elements of {bits} bits in a row, from a multiple of {columns} on "
            f"(in {memory_text(memory)})"
        )


def _count(table: Numbers, block: tuple[int, int], columns: int, hardware: Banks) -> Conflicts:
    """The cycles of all matrices: a lane reads one row of one matrix."""
    rows = table.reshape(-1, _ROWS, table.shape[1] // columns, columns)
    matrices = rows.transpose(0, 2, 1, 3).reshape(-1, _ROWS, columns)
    # One subgroup of eight lanes, whose accesses are the matrices one after the other.
    held = np.arange(table.size).reshape(matrices.shape).transpose(1, 0, 2).reshape(1, _ROWS, -1)
    return count_conflicts(held, matrices.reshape(-1), hardware, columns)
