"""Every instruction of a kernel's loop by name, and what its registers hold.

The names are found, not assumed: `payloads` says where every message reads, `contents` follows the bytes that it brings through
moves to the operands of each dpas, and an operand is block i of A at depth q only if all of its bytes are those elements. By
hand, for a tile of 8x16, 16 deep: one message brings A (4 registers), one brings B (8), and the only product adds to C's 8.

>>> from layoutalg.gemm.listing.reading import read_assembly
>>> program = read_assembly('''
... (W)     mov (1|M0)               r3.7<1>:ud    0x70F:uw
... (W)     mov (1|M0)               r4.7<1>:ud    0xF0F:uw
... L1:
... (W)     mov (1|M0)               r3.5<1>:d     r2.1<0;1,0>:d
... (W)     mov (1|M0)               r4.6<1>:d     r2.1<0;1,0>:d
...         send.ugm (1|M0)          r8    r3  null:0  0x0  0x0 // wr:1+0, rd:4; load_block2d.ugm.d16.a64.ca.ca
...         send.ugm (1|M0)          r16   r4  null:0  0x0  0x0 // wr:1+0, rd:8; load_block2d.ugm.d16v.a64.ca.ca
... (W)     add (1|M0)               r2.1<1>:d     r2.1<0;1,0>:d     16:w
...         dpas.8x8 (16|M0)         r24:f    r24:f    r16:hf    r8.0:hf
... (W)     cmp (16|M0)   (lt)f1.0   null<1>:d     r2.1<0;1,0>:ud    r2.14<0;1,0>:ud
... (W&f1.0) jmpi                    L1
... ''')
>>> loop = annotated(program, Problem.of(64, 64, 64), Tile(8, 16, 16))
>>> [line.name for line in loop.lines]
['address of A', 'address of B', 'load A[0:8, 0:16]', 'load B[0:16, 0:16]', 'loop', 'dpas 0,0 k 0', 'loop', 'loop']
>>> loop.complete, loop.blocks[0].registers, loop.blocks[0].elements(8)[3]
(True, range(8, 12), ((0, 3), (1, 3)))

Rows and columns count from the tile's corner and from the step's first k. `complete` says that the loop has every product of a
step exactly once, each with the right blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from layoutalg.core.elements import element_bits
from layoutalg.core.layout import Layout
from layoutalg.gemm.listing.contents import GRF, Bytes, RegisterContents, bytes_of, message_load, span
from layoutalg.gemm.listing.payloads import MessagePlace, followed
from layoutalg.gemm.listing.reading import Counts, Instruction, Operand, Program, counts
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.tiling import Tile
from layoutalg.hardware import BlockLoad, Dpas

__all__ = ["Block", "Line", "Loop", "annotated"]
_PAYLOAD = 32
"""Bytes of a 2D block message's payload."""


@dataclass(frozen=True)
class Line:
    """An instruction with its name.

    >>> Line("loop", "jmpi L0").name
    'loop'
    """

    name: str
    text: str


@dataclass(frozen=True)
class Block:
    """A block of a matrix in neighbouring registers: its first row and column, and which lane holds what.

    >>> from layoutalg.hardware import dpas
    >>> block = Block("C", 8, 16, range(32, 40), dpas("f16", "f16").c, 32, together=False)
    >>> str(block), block.elements(33)[2]
    ('C[8:16, 16:32]', ((9, 18),))
    """

    matrix: str
    row: int
    column: int
    registers: range
    layout: Layout
    bits: int
    together: bool

    def elements(self, register: int) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For every lane the elements (row, column) that it holds in a register, the lowest bytes first.

        >>> from layoutalg.hardware import dpas
        >>> Block("B", 0, 0, range(8, 16), dpas("f16", "f16").b, 16, together=True).elements(9)[5]
        ((2, 5), (3, 5))
        """
        starts = bytes_of(self.layout, self.bits, together=self.together)
        lanes = self.layout.owner_map("lane")
        offset = (register - self.registers.start) * GRF
        rows, columns = np.nonzero((starts >= offset) & (starts < offset + GRF))
        order = np.argsort(starts[rows, columns], kind="stable")
        held: list[list[tuple[int, int]]] = [[] for _ in range(int(self.layout.axes["lane"]))]
        for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            held[int(lanes[row, column])].append((self.row + row, self.column + column))
        return tuple(tuple(one) for one in held)

    def __str__(self) -> str:
        rows, columns = self.layout.shape
        return f"{self.matrix}[{self.row}:{self.row + int(rows)}, {self.column}:{self.column + int(columns)}]"


@dataclass(frozen=True)
class Loop:
    """The inner loop of a kernel: its instructions by name, and the blocks that its registers hold at some time.

    `problems` says in words what could not be named or is not as planned.

    >>> Loop((), (), (), Counts(0, 0, 0, 0, 0, 0, 0, 0)).complete
    True
    """

    lines: tuple[Line, ...]
    blocks: tuple[Block, ...]
    problems: tuple[str, ...]
    counts: Counts

    @property
    def complete(self) -> bool:
        """Whether the loop has every product of a step exactly once, each with the right blocks.

        >>> Loop((), (), ("dpas 0,0 k 0 is there twice",), Counts(0, 0, 0, 0, 0, 0, 0, 0)).complete
        False
        """
        return not self.problems


def annotated(program: Program, problem: Problem, tile: Tile) -> Loop:
    """The inner loop of a program, every instruction named.

    >>> from layoutalg.gemm.listing.reading import read_assembly
    >>> annotated(read_assembly("(W) mov (1|M0) r1.0<1>:d 0:w"), Problem.of(64, 64, 64), Tile(8, 16, 16)).problems
    ('no loop of the kernel has a dpas',)
    """
    if program.inner is None:
        return Loop((), (), ("no loop of the kernel has a dpas",), counts(()))
    return _Reader(program, problem, tile).loop()


@dataclass(frozen=True)
class _Loaded:
    """A load of the loop: where it stands, what it is, and where it begins, in elements of the matrix in memory."""

    register: int
    load: BlockLoad
    place: MessagePlace
    row: int
    column: int


class _Reader:
    def __init__(self, program: Program, problem: Problem, tile: Tile) -> None:
        assert program.inner is not None
        self.problem, self.tile = problem, tile
        self.unit: Dpas = problem.dpas
        self.bits = element_bits(mlir_type(problem.a))
        self.body = program.inner_loop
        start = program.inner.start
        places = followed(program.instructions[: program.inner.stop])
        self.places = {position - start: place for position, place in places.items() if position >= start}
        self.problems: list[str] = []
        self.loads = dict(self._loads())

    def _loads(self) -> Iterator[tuple[int, _Loaded]]:
        for position, place in self.places.items():
            one = self.body[position]
            register = one.operands[0].register
            if one.kind != "load" or register is None:
                continue
            found = None if place.shape is None else message_load(one.message, place.shape, self.bits)
            if found is None:
                self.problems.append(f"the shape of the message to r{register} is not known")
                continue
            load, unit = found
            yield position, _Loaded(register, load, place, place.y.constant, place.x.constant * unit // self.bits)

    def loop(self) -> Loop:
        operands = self._operands()
        corners = {matrix: self._corner(matrix, operands) for matrix in "AB"}
        contents = RegisterContents(256)
        names: list[str] = [""] * len(self.body)
        blocks: dict[tuple[str, int, int, int], Block] = {}
        accumulators: dict[int, tuple[int, int]] = {}
        seen: dict[tuple[int, int, int], int] = {}
        for position, one in enumerate(self.body):
            if one.kind == "load" and position in self.loads:
                matrix, loaded = operands.get(position, ""), self.loads[position]
                row, column = corners.get(matrix, (0, 0))
                places = (loaded.row - row, loaded.column - column)
                contents.load(loaded.register, loaded.load, "AB".find(matrix), *places)
                names[position] = f"load {self._range(matrix, loaded.load, places)}" if matrix else "load"
            elif one.kind == "dpas":
                names[position] = self._product(one, contents, blocks, accumulators, seen)
                if one.operands[0].register is not None:
                    contents.forget(one.operands[0].register, self._registers_of_c)
            elif one.destination is not None and not one.mnemonic.startswith("send"):
                contents.move(one)
                matrix = contents.matrix_at(one.destination)
                names[position] = f"move {'AB'[matrix]}" if matrix >= 0 else ""
        self._missing(seen)
        self._others(names, operands)
        lines = tuple(Line(name, one.text.strip()) for name, one in zip(names, self.body, strict=True))
        order = sorted(
            blocks.values(), key=lambda block: (block.matrix, block.row, block.column, block.registers.start)
        )
        return Loop(lines, tuple(order), tuple(dict.fromkeys(self.problems)), counts(self.body))

    def _operands(self) -> dict[int, str]:
        """Which loads are of A and which of B: by the operands of dpas that their bytes end in."""
        contents = RegisterContents(256)
        found: dict[int, str] = {}
        for position, one in enumerate(self.body):
            if position in self.loads:
                contents.load(self.loads[position].register, self.loads[position].load, position, 0, 0)
            elif one.kind == "dpas":
                for matrix, operand, count in self._sides(one):
                    for load in np.unique(contents.of(operand, count)[:, 0]).tolist():
                        if load >= 0:
                            found[load] = matrix
                contents.forget(one.operands[0].register or 0, self._registers_of_c)
            elif one.destination is not None and not one.mnemonic.startswith("send"):
                contents.move(one)
        return found

    @cached_property
    def _registers_of_c(self) -> int:
        return int(self._c.max() + self.unit.c_bits // 8) // GRF

    @cached_property
    def _a(self) -> Bytes:
        return bytes_of(self.unit.a, self.bits, together=False)

    @cached_property
    def _b(self) -> Bytes:
        return bytes_of(self.unit.b, self.bits, together=True)

    @cached_property
    def _c(self) -> Bytes:
        return bytes_of(self.unit.c, self.unit.c_bits, together=False)

    def _sides(self, one: Instruction) -> Iterator[tuple[str, Operand, int]]:
        if len(one.operands) < 4:
            return
        for matrix, operand, starts in (("A", one.operands[3], self._a), ("B", one.operands[2], self._b)):
            yield matrix, operand, -(-int(starts.max() + self.bits // 8) // GRF)

    def _corner(self, matrix: str, operands: dict[int, str]) -> tuple[int, int]:
        """Where the first message of a matrix begins; all of its messages must count from one place."""
        loads = [self.loads[position] for position, of in operands.items() if of == matrix and position in self.loads]
        if len({(one.place.x.base, one.place.y.base) for one in loads}) > 1:
            self.problems.append(f"the messages of {matrix} begin at places that cannot be compared")
        rows, columns = [one.row for one in loads], [one.column for one in loads]
        return min(rows, default=0), min(columns, default=0)

    def _transposed(self, matrix: str) -> bool:
        return self.problem.trans_a if matrix == "A" else self.problem.trans_b

    def _range(self, matrix: str, load: BlockLoad, place: tuple[int, int]) -> str:
        """The elements of a message, in rows and columns of the product's operand."""
        sizes = (load.rows, load.width * load.count)
        parts = [f"{start}:{start + size}" for start, size in zip(place, sizes, strict=True)]
        return f"{matrix}[{', '.join(parts[::-1] if self._transposed(matrix) else parts)}]"

    def _block(self, matrix: str, operand: Operand, contents: RegisterContents) -> tuple[int, int] | None:
        """The row and column of the block that an operand of dpas holds; None unless all of its bytes are that block."""
        starts, layout = (self._a, self.unit.a) if matrix == "A" else (self._b, self.unit.b)
        count = -(-int(starts.max() + self.bits // 8) // GRF)
        held = contents.of(operand, count)
        if operand.register is None or len(held) < count * GRF:
            return None
        rows, columns = np.indices(layout.shape)
        first = None
        for byte in range(self.bits // 8):
            of, down, across = np.moveaxis(held[starts + byte], -1, 0)
            if self._transposed(matrix):
                down, across = across, down
            first = (int(down[0, 0]), int(across[0, 0]))
            right = (of == "AB".index(matrix)) & (down == first[0] + rows) & (across == first[1] + columns)
            if not right.all():
                return None
        return first

    def _product(
        self,
        one: Instruction,
        contents: RegisterContents,
        blocks: dict[tuple[str, int, int, int], Block],
        accumulators: dict[int, tuple[int, int]],
        seen: dict[tuple[int, int, int], int],
    ) -> str:
        unit = self.unit
        found = {matrix: self._block(matrix, operand, contents) for matrix, operand, _ in self._sides(one)}
        of_a, of_b = found.get("A"), found.get("B")
        i, depth_a = (of_a[0] // unit.m, of_a[1] // unit.k) if of_a else (None, None)
        depth_b, j = (of_b[0] // unit.k, of_b[1] // unit.n) if of_b else (None, None)
        depth = depth_a if depth_a is not None else depth_b
        name = f"dpas {'?' if i is None else i},{'?' if j is None else j} k {'?' if depth is None else depth}"
        for matrix, operand, count in self._sides(one):
            place = found[matrix]
            if place is not None and operand.register is not None:
                layout, together = (unit.a, False) if matrix == "A" else (unit.b, True)
                held = range(operand.register, operand.register + count)
                blocks[matrix, *place, held.start] = Block(matrix, *place, held, layout, self.bits, together)
        if i is None or j is None or depth is None:
            self.problems.append(f"{name}: not all bytes of its operands are known to be one block")
            return name
        if depth_a != depth_b:
            self.problems.append(f"{name}: A has depth {depth_a}, B has depth {depth_b}")
        seen[i, j, depth] = seen.get((i, j, depth), 0) + 1
        for operand in one.operands[:2]:
            register = operand.register
            if register is None:
                continue
            if accumulators.setdefault(register, (i, j)) != (i, j):
                self.problems.append(f"{name}: r{register} holds block {accumulators[register]} of C")
            held = range(register, register + self._registers_of_c)
            place = (i * unit.m, j * unit.n)
            blocks["C", *place, register] = Block("C", *place, held, unit.c, unit.c_bits, together=False)
        return name

    def _missing(self, seen: dict[tuple[int, int, int], int]) -> None:
        unit, tile = self.unit, self.tile
        planned = {
            (i, j, depth)
            for i in range(tile.m // unit.m)
            for j in range(tile.n // unit.n)
            for depth in range(tile.k // unit.k)
        }
        for i, j, depth in sorted(planned - set(seen)):
            self.problems.append(f"dpas {i},{j} k {depth} is missing")
        for (i, j, depth), times in sorted(seen.items()):
            if times > 1 or (i, j, depth) not in planned:
                self.problems.append(f"dpas {i},{j} k {depth} is there {times} times")

    def _others(self, names: list[str], operands: dict[int, str]) -> None:
        """Names for what is neither a product nor a load: prefetches, waits, the loop's own, and addresses."""
        for position, one in enumerate(self.body):
            if one.kind in ("prefetch", "store"):
                names[position] = one.kind
            elif one.kind == "sync":
                names[position] = "wait"
            elif one.is_jump or one.mnemonic == "cmp":
                names[position] = "loop"
        for _ in range(4):  # an address may be computed in a few instructions
            for position, name in enumerate(names):
                if not name:
                    names[position] = self._purpose(position, names, operands)
        for position, name in enumerate(names):
            names[position] = name or "other"

    def _purpose(self, position: int, names: list[str], operands: dict[int, str]) -> str:
        """What the instructions that read a result are for."""
        one = self.body[position]
        if one.destination is None:
            return ""
        written = span(one.destination, one.lanes)
        purposes: list[str] = []
        length = len(self.body)
        for later in range(position + 1, position + length):
            other = self.body[later % length]
            if other.mnemonic.startswith("send"):
                payload = other.sources[0].register if other.sources else None
                if payload is not None and _meet(written, range(payload * GRF, payload * GRF + _PAYLOAD)):
                    of = operands.get(later % length, "")
                    purposes.append(f"address of {of or names[later % length] or 'a message'}")
                    break
                continue
            sources = (span(source, other.lanes) for source in other.sources)
            if other.kind != "dpas" and any(_meet(written, source) for source in sources):
                purposes.append(names[later % length])
        return "loop" if "loop" in purposes else next(filter(None, purposes), "")


def _meet(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop
