"""The block messages of one step of the loop, and which registers of what they deliver are which operand of DPAS.

A message is larger than an operand: 32 rows of two blocks of 16 columns of A hold eight operands of 8x16. Which registers of
the message they are is not written down here: the message's layout and the operand's say it. By hand, for f16: registers count
down the rows of the first block, then down those of the second, so rows 8 to 15 of the second block are registers 40 to 47.

>>> from layoutalg.gemm.problem import Problem
>>> first, second, third = messages(Problem.of(64, 64, 64), Tiling(Tile(32, 64, 32), registers=256))
>>> first.operand, first.load.name, len(first.pieces), first.pieces[5].registers
('A', 'read_16b_32r16x2c', 8, (40, 41, 42, 43, 44, 45, 46, 47))
>>> second.operand, second.load.name, third.offset
('B', 'read_transform_16b_32r16x2c', (0, 32))

A transposed matrix comes through messages that transpose 32 bits at a time. The rows of the block become lanes: for A the
rows are along k, which is where DPAS wants them. Of A with 8 bits a lane needs two neighbours in k, so the even rows come with
one message and the odd rows with another one, and every operand is made of both:

>>> even, odd, _ = messages(Problem.of(64, 64, 64, "s8", trans_a=True), Tiling(Tile(8, 16, 32)))
>>> even.load.name, even.every, odd.offset
('read_transpose_32b_16r2x1c', 2, (1, 0))
>>> odd.pieces[0].registers, odd.pieces[0].places
((0, 1, 2, 3, 4, 5, 6, 7), (1, 3, 5, 7, 9, 11, 13, 15))

The law: every register of every operand of the tile comes from one register of one message, in the lane that DPAS wants it in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.roles import in_loop
from layoutalg.gemm.tiling import Tile, Tiling
from layoutalg.gemm.turning import turns
from layoutalg.hardware import BlockLoad, Dpas, block_load, dpas
from layoutalg.hardware.messages import Part, parts_of

__all__ = ["Message", "Piece", "messages", "messages_of_scratch"]

_SPARE_FOR_WIDE = 128
"""Registers of 64 bytes that the accumulators must leave for A to come in messages of 2 KiB. Measured with IGC 2.40.14: the
loops of 32x64 and of 32x32 in 256 registers are shorter with them, those of 48x64, 64x48 and of 128 registers without."""
_FOR_THE_REST = 8
"""Registers of 64 bytes for addresses and sizes. Where A, and B 32 deep, leave less, B comes as deep as one DPAS."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An operand of DPAS, or a part of one, in what a message delivers: the message's `registers` are the operand's `places`.

    `block` counts the tile's blocks of rows (A) or of columns (B), `depth` the instructions along k; registers count elements.

    >>> Piece(block=0, depth=1, registers=(8, 9, 10, 11), places=(0, 1, 2, 3)).count
    4
    """

    block: int
    depth: int
    registers: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def start(self) -> int:
        """The first of the message's registers.

        >>> Piece(block=0, depth=1, registers=(8, 9, 10, 11), places=(0, 1, 2, 3)).start
        8
        """
        return self.registers[0]

    @property
    def count(self) -> int:
        """How many registers of the operand there are.

        >>> Piece(block=0, depth=1, registers=(8, 9), places=(1, 3)).count
        2
        """
        return len(self.registers)


@dataclass(frozen=True, slots=True)
class Message:
    """One block message, and the operands in what it brings.

    `offset` is where its block begins in the matrix in memory, as rows and columns from the subgroup's corner at this step of
    k. It takes `every` n-th row from there.

    >>> from layoutalg.gemm.problem import Problem
    >>> messages(Problem.of(64, 64, 64), Tiling(Tile(8, 16, 16)))[1].length
    16
    """

    operand: str
    offset: tuple[int, int]
    load: BlockLoad
    pieces: tuple[Piece, ...]
    every: int = 1
    down: bool = False
    """Whether the rows of the matrix in memory are along k."""

    @property
    def length(self) -> int:
        """Elements that a lane receives.

        >>> Message("B", (0, 0), block_load(32, 16, 16, 2, transform=True), ()).length
        64
        """
        return self.load.registers

    @property
    def bytes(self) -> int:
        """Bytes that the message moves where nothing of it is outside the matrix.

        >>> Message("B", (0, 0), block_load(32, 16, 16, 2, transform=True), ()).bytes
        2048
        """
        return self.load.rows * self.load.width * self.load.count * self.load.bits // 8

    @property
    def unit(self) -> int:
        """Neighbours in a row that the message moves as one: two of 16 bits where it transposes 32.

        >>> from layoutalg.gemm.problem import Problem
        >>> [m.unit for m in messages(Problem.of(64, 64, 64, trans_b=True), Tiling(Tile(8, 16, 16)))]
        [1, 2]
        """
        return self.load.transpose_bits // self.load.bits if self.load.transpose else 1

    @property
    def depth_unit(self) -> int:
        """Elements of k that the message counts as one: rows that it takes at a distance, or units of a row.

        >>> from layoutalg.gemm.problem import Problem
        >>> [m.depth_unit for m in messages(Problem.of(64, 64, 64, "s8", trans_b=True), Tiling(Tile(8, 16, 32)))]
        [1, 4]
        """
        return self.every if self.down else self.unit


def messages(problem: Problem, tiling: Tiling, llvm: int = DEFAULT_LLVM) -> tuple[Message, ...]:
    """The messages of a step: those of A, then those of B, each in the order of k.

    LLVM 22 lowers no load of more than 16 elements per lane; for it the messages are as small as the operands. Where A and B
    change roles (`layoutalg.gemm.roles`) they are the messages of the loop's operands: of B, then of A. Where a workgroup
    transposes A (`layoutalg.gemm.turning`), they are those of B alone.

    Raises `PlanError`: for storage that no message brings.
    """
    instance_of(problem, Problem, "problem", PlanError)
    instance_of(tiling, Tiling, "tiling", PlanError)
    llvm = whole_number(llvm, "llvm =", 22, 99, PlanError)
    problem, tiling = in_loop(problem, tiling)
    kind = _Kind(problem.a, problem.b, problem.acc, problem.target, problem.trans_a, problem.trans_b, problem.halves)
    return _messages(kind, tiling.tile, tiling.registers, llvm, turns(tiling))


def messages_of_scratch(problem: Problem, tiling: Tiling, llvm: int = DEFAULT_LLVM) -> tuple[Message, ...]:
    """The messages that read A from a scratch where it lies as it should: those of a product whose A is not transposed.

    >>> from layoutalg.gemm.problem import Problem
    >>> tiling = Tiling(Tile(32, 64, 64), (8, 4), 256, transpose="scratch")
    >>> [one.load.name for one in messages_of_scratch(Problem.of(64, 64, 64, trans_a=True), tiling)]
    ['read_16b_32r16x2c', 'read_16b_32r16x2c']
    """
    plain, loads = replace(problem, trans_a=False, lda=problem.k), replace(tiling, transpose="registers")
    return tuple(message for message in messages(plain, loads, llvm) if message.operand == "A")


class _Kind(NamedTuple):
    """What the messages depend on, besides the tile and the registers."""

    a: str
    b: str
    acc: str
    target: str
    trans_a: bool
    trans_b: bool
    halves: bool = False

    @property
    def dpas(self) -> Dpas:
        return _dpas(self.a, self.b, self.acc, self.target)

    def bits(self, operand: str) -> int:
        name = self.a if operand == "A" else self.b
        return element_bits(mlir_type(name))


@lru_cache(maxsize=64)
def _dpas(a: str, b: str, acc: str, target: str) -> Dpas:
    return dpas(a, b, acc, target=target)


@lru_cache(maxsize=4096)
def _messages(kind: _Kind, tile: Tile, registers: int, llvm: int, turned: bool) -> tuple[Message, ...]:
    if turned:
        found = tuple(_of_b(kind, tile, registers, llvm))
        _check_whole(kind, tile, found, "B")
        return found
    of_a = _of_transposed_a(kind, tile) if kind.trans_a else _of_a(kind, tile, registers, llvm)
    of_b = _of_transposed_b(kind, tile) if kind.trans_b else _of_b(kind, tile, registers, llvm)
    found = (*of_a, *of_b)
    _check_whole(kind, tile, found)
    return found


def _spare(kind: _Kind, tile: Tile, registers: int) -> int:
    """Registers of 64 bytes that the accumulators leave."""
    return registers - tile.m * tile.n * kind.dpas.c_bits // 512


def _of_a(kind: _Kind, tile: Tile, registers: int, llvm: int) -> Iterator[Message]:
    """Rows of A: up to 32 of them, of two blocks where the registers allow it."""
    width = kind.dpas.k
    grown = rules(llvm).large_blocks
    blocks = 2 if grown and _spare(kind, tile, registers) >= _SPARE_FOR_WIDE and tile.k % (2 * width) == 0 else 1
    for k in range(0, tile.k, width * blocks):
        for row, rows in _parts(tile.m, 32 if grown else kind.dpas.m):
            yield _message(kind, "A", row, k, rows, width, blocks)


def _of_b(kind: _Kind, tile: Tile, registers: int, llvm: int) -> Iterator[Message]:
    """Rows of B, 32 of them where the registers allow it, and up to 2 KiB in all, packed as DPAS wants them."""
    unit, bits = kind.dpas, kind.bits("B")
    grown = rules(llvm).large_blocks
    most = 512 // (unit.n * bits) if grown and bits < 32 else 1
    deepest = min(32, 512 // bits) if grown else unit.k
    spare = _spare(kind, tile, registers)
    together = (tile.m * unit.k + tile.n * deepest) * bits // 512
    if spare < _SPARE_FOR_WIDE and together + _FOR_THE_REST > spare:
        deepest = unit.k
    for k, deep in _parts(tile.k, deepest):
        column = 0
        while column < tile.n:
            end = tile.n // 2 if kind.halves and column < tile.n // 2 else tile.n
            count = next(c for c in (4, 2, 1) if c <= most and column + c * unit.n <= end)
            yield _message(kind, "B", k, column, deep, unit.n, count)
            column += count * unit.n


def _of_transposed_b(kind: _Kind, tile: Tile) -> Iterator[Message]:
    """B in memory as n x k: its rows become lanes, which are the columns of B; 32 bits of a row are one packed register."""
    unit = kind.dpas
    for k in range(0, tile.k, unit.k):
        for column in range(0, tile.n, unit.n):
            yield _message(kind, "B", column, k, unit.n, unit.k)


def _of_transposed_a(kind: _Kind, tile: Tile) -> Iterator[Message]:
    """A in memory as k x m: its rows become lanes, which are the columns of A. Messages that bring several operands cost moves
    (of f16 4.7 instructions per DPAS, not 3.8).

    A lane has 32 or 16 bits of a row of A. Of 8 bits these are two elements, one from each of two messages.
    """
    unit = kind.dpas
    every = max(1, 16 // kind.bits("A"))
    for k in range(0, tile.k, unit.k):
        for row in range(0, tile.m, unit.m):
            for parity in range(every):
                yield _message(kind, "A", k + parity, row, unit.k // every, unit.m, every=every)


def _parts(total: int, most: int) -> Iterator[tuple[int, int]]:
    """Where parts of a power of two begin, and how large they are."""
    start = 0
    while start < total:
        size = most
        while size > total - start:
            size //= 2
        yield start, size
        start += size


@lru_cache(maxsize=4096)
def _message(
    kind: _Kind, operand: str, down: int, across: int, rows: int, width: int, count: int = 1, every: int = 1
) -> Message:
    """The message at an offset in memory, whose block has so many rows and `count` times so many columns."""
    unit, bits = kind.dpas, kind.bits(operand)
    transposed = kind.trans_a if operand == "A" else kind.trans_b
    if unit.target.blocks is None:
        raise PlanError(f"{kind.target}: has no 2D block messages, which bring A and B")
    if transposed:
        load = block_load(rows, width, bits, count, transpose=True, transpose_bits=32, target=kind.target)
    else:
        load = block_load(rows, width, bits, count, transform=operand == "B" and bits < 32, target=kind.target)
    block, wanted = ((unit.m, unit.k), unit.a) if operand == "A" else ((unit.k, unit.n), unit.b)
    row, column = (across, down) if transposed else (down, across)
    # rows at a distance begin inside of an operand
    inside = (row % block[0], column % block[1])
    pieces: list[Piece] = []
    for below, beside, registers, places in _operands(load, wanted, transposed, every, inside):
        at = (row // block[0] + below, column // block[1] + beside)
        number, depth = at if operand == "A" else at[::-1]
        pieces.append(Piece(number, depth, registers, places))
    pieces.sort(key=lambda piece: (piece.depth, piece.block))
    return Message(operand, (down, across), load, tuple(pieces), every, (operand == "B") != transposed)


@lru_cache(maxsize=256)
def _operands(
    load: BlockLoad, wanted: Layout, transposed: bool, every: int, inside: tuple[int, int]
) -> tuple[Part, ...]:
    """The operands in a message. Every element that a lane receives must be one that DPAS wants in that lane."""
    found = parts_of(load.layout, wanted, transposed=transposed, every=every, inside=inside)
    if found is None:
        rows, columns = wanted.shape
        raise PlanError(f"{load.name} does not deliver blocks of {rows}x{columns} to the lanes where DPAS takes them")
    return found


def _check_whole(kind: _Kind, tile: Tile, found: Iterable[Message], operands: str = "AB") -> None:
    """Refuse messages that do not bring every register of every operand once."""
    unit = kind.dpas
    have: dict[tuple[str, int, int], list[int]] = {}
    for message in found:
        for piece in message.pieces:
            have.setdefault((message.operand, piece.block, piece.depth), []).extend(piece.places)
    for operand, layout, blocks in (("A", unit.a, tile.m // unit.m), ("B", unit.b, tile.n // unit.n)):
        if operand not in operands:
            continue
        every = list(range(int(layout.axes["reg"])))
        for block in range(blocks):
            for depth in range(tile.k // unit.k):
                if sorted(have.get((operand, block, depth), ())) != every:
                    raise PlanError(
                        f"tile {tile}: no messages bring block {block} of {operand} at depth {depth} as DPAS takes it"
                    )
