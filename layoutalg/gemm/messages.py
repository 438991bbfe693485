"""The block messages of one step of the loop, and which registers of what they deliver are which operand of DPAS.

A message is larger than an operand: 32 rows of two blocks of 16 columns of A hold eight operands of 8x16. Which registers of
the message they are is not written down here: the message's layout and the operand's say it. By hand, for f16: registers count
down the rows of the first block, then down those of the second, so rows 8 to 15 of the second block are registers 40 to 47.

>>> from layoutalg.gemm.problem import Problem
>>> first, second, third = messages(Problem.of(64, 64, 64), Tile(32, 64, 32))
>>> first.operand, first.load.name, len(first.pieces), first.pieces[5]
('A', 'read_16b_32r16x2c', 8, Piece(block=1, depth=1, start=40, count=8))
>>> second.operand, second.load.name, third.offset
('B', 'read_transform_16b_32r16x2c', (0, 32))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.layout import Layout
from layoutalg.gemm.problem import IN_MEMORY, Problem
from layoutalg.gemm.tiling import Tile
from layoutalg.hardware import BlockLoad, block_load

__all__ = ["Message", "Piece", "messages"]


@dataclass(frozen=True, slots=True)
class Piece:
    """An operand of DPAS inside of what a message delivers: registers `start` to `start + count - 1` of every lane.

    `block` counts the tile's blocks of rows (A) or of columns (B), `depth` the instructions along k.

    >>> Piece(block=0, depth=1, start=8, count=8).start
    8
    """

    block: int
    depth: int
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """One block message: where its block begins in the matrix in memory (rows and columns from the subgroup's corner at this
    step of k), and the operands in it.

    >>> from layoutalg.gemm.problem import Problem
    >>> messages(Problem.of(64, 64, 64), Tile(8, 16, 16))[1].length
    16
    """

    operand: str
    offset: tuple[int, int]
    load: BlockLoad
    pieces: tuple[Piece, ...]

    @property
    def length(self) -> int:
        """Elements that a lane receives."""
        return self.load.registers

    @property
    def bytes(self) -> int:
        """Bytes that the message moves where nothing of it is outside the matrix."""
        return self.load.rows * self.load.width * self.load.count * self.load.bits // 8


@lru_cache(maxsize=1024)
def messages(problem: Problem, tile: Tile, llvm: int = 24) -> tuple[Message, ...]:
    """The messages of a step, those of A first, in the order of k.

    LLVM 22 lowers no load of more than 16 elements per lane; for it the messages are as small as the operands.

    Raises:
        PlanError: for storage that no message brings.
    """
    if problem.trans_a or problem.trans_b:
        raise PlanError("trans_a, trans_b: products are planned for matrices that are not transposed so far")
    unit = problem.dpas
    bits = element_bits(IN_MEMORY.get(problem.a, problem.a))
    wide = llvm > 22
    found: list[Message] = []
    width = max(16, unit.k) if bits < 32 else unit.k
    blocks = 2 if wide and tile.k % (2 * width) == 0 else 1
    for k in range(0, tile.k, width * blocks):
        for row, rows in _parts(tile.m, 32 if wide else unit.m):
            load = block_load(rows, width, bits, blocks)
            found.append(_message("A", (row, k), load, (unit.m, unit.k), unit.a))
    deep = min(32, tile.k) if wide else unit.k
    most = 64 * 8 // (unit.n * bits) if wide and bits < 32 else 1
    for k in range(0, tile.k, deep):
        column = 0
        while column < tile.n:
            count = next(c for c in (4, 2, 1) if c <= most and column + c * unit.n <= tile.n)
            load = block_load(deep, unit.n, bits, count, transform=bits < 32)
            found.append(_message("B", (k, column), load, (unit.k, unit.n), unit.b))
            column += count * unit.n
    return tuple(found)


def _parts(total: int, most: int) -> Iterator[tuple[int, int]]:
    """Where parts of a power of two begin, and how large they are."""
    start = 0
    while start < total:
        size = most
        while size > total - start:
            size //= 2
        yield start, size
        start += size


def _message(operand: str, offset: tuple[int, int], load: BlockLoad, block: tuple[int, int], wanted: Layout) -> Message:
    first = tuple(start // size for start, size in zip(offset, block, strict=True))
    pieces: list[Piece] = []
    for (row, column), start, count in _found(load, block, wanted):
        place = (first[0] + row, first[1] + column)
        of, depth = place if operand == "A" else place[::-1]
        pieces.append(Piece(of, depth, start, count))
    return Message(operand, offset, load, tuple(sorted(pieces, key=lambda piece: (piece.depth, piece.block))))


@lru_cache(maxsize=256)
def _found(load: BlockLoad, block: tuple[int, int], wanted: Layout) -> tuple[tuple[tuple[int, int], int, int], ...]:
    """The operands in a message: each one's place in blocks, its first register, and how many it has.

    An operand is there if every element is in the lane that DPAS wants it in, and in the register, counted from the first.
    """
    layout = load.layout
    lane, reg = layout.owner_map("lane"), layout.owner_map("reg")
    of_lane, of_reg = wanted.owner_map("lane"), wanted.owner_map("reg")
    count = int(wanted.axes["reg"])
    found: list[tuple[tuple[int, int], int, int]] = []
    for row in range(0, lane.shape[0], block[0]):
        for column in range(0, lane.shape[1], block[1]):
            here = np.s_[row : row + block[0], column : column + block[1]]
            start = int(reg[here].min())
            if not np.array_equal(lane[here], of_lane) or not np.array_equal(reg[here] - start, of_reg):
                raise PlanError(f"{load.name} does not deliver blocks of {block[0]}x{block[1]} as DPAS takes them")
            found.append(((row // block[0], column // block[1]), start, count))
    return tuple(found)
