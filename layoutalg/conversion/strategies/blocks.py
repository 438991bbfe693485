"""Factors that stay in registers: the conversion of one of their values, as many times as they have values.

A tile of three blocks, each of which is transposed between registers and lanes:

>>> source = Layout.parse("d0 = 3@reg:4, d1 = 4@reg, d2 = 4@lane")
>>> destination = Layout.parse("d0 = 3@reg:4, d1 = 4@lane, d2 = 4@reg")
>>> found = split(source, destination)
>>> print(found.source, "to", found.destination, "times", found.count)
d0 = 1, d1 = 4@reg, d2 = 4@lane to d0 = 1, d1 = 4@lane, d2 = 4@reg times 3

What is left is smaller, and consists of powers of two more often. Blocks that use shared memory do so side by side,
or in rounds where a limit says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Barrier, Load, Step, Store
from layoutalg.conversion.strategies.common_factors import common_factors, weighed
from layoutalg.core.errors import SizeError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout

__all__ = ["Blocks", "Piece", "one_after_another", "repeated", "split", "without"]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The conversion of one block, from `source` to `destination`, and the registers of each block on both sides.

    `before[v][r]` is the register that is number r in block v of the source, `after` likewise of the destination.

    >>> split(Layout.parse("d0 = 3@reg, d1 = 4@lane"), Layout.parse("d0 = 3@reg, d1 = 4@lane")).before
    [[0], [1], [2]]
    """

    source: Layout
    destination: Layout
    before: list[list[int]]
    after: list[list[int]]

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.before)

    def programs(self, programs: Sequence[Program], limit: int) -> tuple[Program, ...]:
        """The programs of one block, for all blocks: `limit` is the shared memory that may be used, in bytes.

        Raises `SizeError` where one block needs more.
        """
        found: list[Program] = []
        for i, program in enumerate(programs):
            before = self.before if i == 0 else one_after_another(self.count, program.source_registers)
            after = self.after if i == len(programs) - 1 else one_after_another(self.count, program.registers)
            found.append(repeated(program, before, after, limit))
        return tuple(found)


def one_after_another(count: int, registers: int) -> list[list[int]]:
    """The registers of blocks whose registers follow one another.

    >>> one_after_another(2, 3)
    [[0, 1, 2], [3, 4, 5]]
    """
    return [[v * registers + r for r in range(registers)] for v in range(count)]


class Piece(NamedTuple):
    """A factor of a dimension: its weight there, its extent.

    >>> Piece(0, 4, 3).extent
    3
    """

    dim: int
    weight: int
    extent: int


def split(source: Layout, destination: Layout, *, odd: bool = True) -> Blocks | None:
    """What is left of two layouts without the factors that registers have on both sides; None without such factors.

    With `odd` only what is odd of their extents is left out, so that bits may remain bits.
    """
    both = source.canonical(), destination.canonical()
    left_out: list[Piece] = []
    for d, (before, after) in enumerate(zip(both[0].dims, both[1].dims, strict=True)):
        for weight, extent, *sides in common_factors(before, after):
            rest = extent & -extent if odd else 1  # the powers of two that stay
            if extent > rest and all(one.axis == "reg" for one in sides):
                left_out.append(Piece(d, weight * rest, extent // rest))
    if not left_out:
        return None
    sides = [without(layout, left_out) for layout in both]
    if sides[0] is None or sides[1] is None:
        return None
    return Blocks(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def without(layout: Layout, left_out: Sequence[Piece]) -> tuple[Layout, list[list[int]]] | None:
    """The layout without some factors of its registers, which are numbered anew; and the registers of each of their values.

    None where the registers are not numbered without gaps.

    >>> without(Layout.parse("d0 = 6@reg, d1 = 4@lane"), [Piece(0, 2, 3)])
    (Layout.parse('d0 = 2@reg, d1 = 4@lane'), [[0, 1], [2, 3], [4, 5]])
    """
    dims = [list(_pieces(factors, d, left_out)) for d, factors in enumerate(layout.dims)]
    pieces = [piece for dim in dims for piece in dim] + [(factor, -1) for factor in layout.replicas]
    registers = sorted(((factor.stride, factor.extent, number) for factor, number in pieces if factor.axis == "reg"))
    anew: dict[int, int] = {}  # the new stride of each old one
    above = size = 1
    staying = [0]
    starts: list[list[int]] = [[]] * len(left_out)
    for stride, extent, number in registers:
        if stride != above:
            return None
        above *= extent
        steps = [i * stride for i in range(extent)]
        if number < 0:
            anew[stride] = size
            size *= extent
            staying = [one + step for step in steps for one in staying]
        else:
            starts[number] = steps

    def renumbered(factor: Factor) -> Factor:
        return factor._replace(stride=anew[factor.stride]) if factor.axis == "reg" else factor

    rest = Layout(
        [[renumbered(factor) for factor, number in reversed(dim) if number < 0] for dim in dims],
        [renumbered(factor) for factor in layout.replicas],
        layout.offsets,
        names=layout.names,
        codomain=layout.codomain,
    )
    return rest, [[sum(start) + one for one in staying] for start in product(*starts)]


def _pieces(factors: Sequence[Factor], dim: int, left_out: Sequence[Piece]) -> Iterator[tuple[Factor, int]]:
    """The factors of a dimension, lowest first, cut at those that are left out: each with its number there, or -1."""
    numbers = {piece.weight: number for number, piece in enumerate(left_out) if piece.dim == dim}
    for weight, factor in weighed(factors):
        low, end = weight, weight * factor.extent
        while low < end:
            after = min((one for one in numbers if low < one < end), default=end)
            number = numbers.get(low, -1) if factor.axis == "reg" else -1
            extent = left_out[number].extent if number >= 0 else after // low
            yield factor._replace(extent=extent, stride=factor.stride * (low // weight)), number
            low *= extent


def _moved_bytes(step: Step) -> int:
    """The bytes that a lane moves in an access to memory; otherwise 1."""
    match step:
        case Store(words, bits=bits, matrix=matrix) | Load(words, bits=bits, matrix=matrix):
            return 16 if matrix else len(words) * bits // 8
        case _:
            return 1


def repeated(program: Program, before: list[list[int]], after: list[list[int]], limit: int) -> Program:
    """A program of one block for all of them, in rounds of as many as the limit has room for."""
    cells, parts = max(program.element_bits // WORD, 1), program.parts
    # Blocks side by side begin where accesses are aligned, and where addresses are XORs, at a multiple of what those reach.
    widest = max((_moved_bytes(step) for step in program.steps), default=1)
    room, free = -(-program.slm_bytes // widest) * widest, limit - program.slm_bytes
    if room and free < 0:
        raise SizeError(f"{program.slm_bytes} bytes of shared memory at a time, over the limit of {limit}")
    together = min(1 + free // room, len(before)) if room else len(before)
    words = len(program.pack) // parts
    pack = [
        -1 if cell < 0 else registers[cell // cells] * cells + cell % cells
        for registers in before
        for cell in program.pack
    ]
    names = [list(range(v * words, (v + 1) * words)) for v in range(len(before))]
    builder = Builder(program.subgroups, program.lanes, program.element_bits, pack)
    segments: list[list[Step]] = [[]]
    scope = "workgroup"
    for step in program.steps:
        if isinstance(step, Barrier):
            segments.append([])
            scope = step.scope
        else:
            segments[-1].append(step)
    for first in range(0, len(before), together):
        if first and room:
            builder.barrier(scope)
        for number, segment in enumerate(segments):
            if number:
                builder.barrier(scope)
            for block in range(first, min(first + together, len(before))):
                builder.repeat(segment, names[block], (block - first) * room)
    registers = len(after) * len(after[0])
    unpack = [-1] * (registers * cells)
    for block, own in enumerate(after):
        for cell, place in enumerate(program.unpack):
            moved = names[block][place // parts] * parts + place % parts if place >= 0 else -1
            unpack[own[cell // cells] * cells + cell % cells] = moved
    slm_bytes = (together - 1) * room + program.slm_bytes
    return builder.program(len(before) * program.source_registers, registers, unpack, slm_bytes)
