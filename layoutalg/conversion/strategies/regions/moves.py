"""Conversions by register regions, written as programs.

16x16 words, transposed in 16 lanes: 64 moves, and no shuffle or select.

>>> from layoutalg.memory.machine_bits import view
>>> rows, columns = view(Layout.parse("d0 = 16@reg, d1 = 16@lane")), view(Layout.parse("d0 = 16@lane, d1 = 16@reg"))
>>> program = by_regions(rows, columns, 32, 64)
>>> len(program.steps[0].moves)
64
>>> tile = np.arange(256, dtype=np.int32).reshape(1, 16, 16)
>>> bool((program.run(tile) == tile.transpose(0, 2, 1)).all())
True

A word of 16 lanes fills a register of 64 bytes, and one of 32 lanes two: then one bit of the lane tells registers apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.regions import Move, Place, Regions
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.regions.search import ANY, NEITHER, SAME, Stage, Task, cheapest
from layoutalg.conversion.strategies.renaming import sums, with_cells
from layoutalg.memory.machine_bits import Place as Bit
from layoutalg.memory.machine_bits import View

__all__ = ["by_regions"]

_TOGETHER = 4
"""The words that one operand of an inline assembly can hold: 128 bits of a lane."""


def by_regions(source: View, destination: View, element_bits: int, register: int) -> Program | None:
    """The program of region moves in registers of so many bytes; None where there is none.

    That is where an element is taken from another register or lane by the subgroup's number, where the lanes do not fill a
    register, and where too many sequences would have to be looked at.
    """
    network = _Network(source, destination, element_bits, register)
    return network.program() if network.possible else None


class _Network:
    """The bits of one conversion, as addresses of the register file before and after."""

    def __init__(self, source: View, destination: View, element_bits: int, register: int) -> None:
        self.subgroups, self.lanes = 1 << destination.widths["sg"], 1 << destination.widths["lane"]
        self.element_bits, self.register = element_bits, register
        self.width = register.bit_length() - 1
        self.wide = 1 if element_bits > WORD else 0
        self.parts = max(WORD // element_bits, 1)
        places = [(with_cells(a, self.wide), with_cells(b, self.wide)) for a, b in _pairs(source, destination)]
        if self.wide:
            places.append((("reg", 0), ("reg", 0)))
        moving = [(a, b) for a, b in places if a[0] != "sg" and b[0] != "sg"]
        self.possible = len(moving) + sum(a == b for a, b in places if a[0] == "sg") == len(places)
        self.possible = self.possible and 4 * self.lanes >= register
        self.bits = len(moving)
        self.cells = [1 << one.widths["reg"] + self.wide for one in (source, destination)]
        # The addresses of the words' bytes: inside a word, the lane, the number of the word.
        self.before = self._addressed([a for a, _ in moving], self.cells[0], SAME)
        self.after = self._addressed([b for _, b in moving], self.cells[1], SAME)

    def _addressed(self, places: Sequence[Bit], cells: int, other: int) -> list[int]:
        """Which bit of the tensor each address bit is: bits inside an element, of its part, of the lane, of the word."""
        inside = (min(self.element_bits, WORD) // 8).bit_length() - 1
        parts, lanes = self.parts.bit_length() - 1, self.lanes.bit_length() - 1
        registers = cells.bit_length() - 1
        found = [ANY] * inside + [other] * (max(parts, registers) + lanes)
        for part in range(min(registers, parts), parts):
            found[inside + part] = ANY
        for number, (axis, bit) in enumerate(places):
            if axis == "lane":
                found[inside + parts + bit] = number
            else:
                found[inside + bit + (lanes if bit >= parts else 0)] = number
        return found

    def program(self) -> Program | None:
        width, lane_rows = self.width, self.lanes * 4 // self.register
        rows = [self._needed(before, lane_rows) for before in (self.before, self.after)]
        below = [self._below(bits, lane_rows) for bits in rows]
        least = (min(self.element_bits, WORD) // 8).bit_length() - 1
        now, wanted = tuple(self.before[:width]), tuple(self.after[:width])
        stages = cheapest(Task(width, least, now, wanted, self.bits, *below))
        if not stages:
            return None
        arrays, moves = self._moves(stages, rows[0], rows[1])
        step = self._step(arrays, moves, rows)
        halves = 1 + self.wide
        pack, unpack = self._pack(rows[0]), self._unpack(rows[1], len(step.words))
        registers = [cells // halves for cells in self.cells]
        return Program(
            self.subgroups, self.lanes, self.element_bits, registers[0], registers[1], pack, (step,), tuple(unpack)
        )

    def _needed(self, address: Sequence[int], lane_rows: int) -> list[int]:
        """The bits of the register's number, lowest first: those of the lane all, those of the word that it has."""
        above = address[self.width :]
        lane = lane_rows.bit_length() - 1
        return [*above[:lane], *[bit for bit in above[lane:] if bit >= 0]]

    def _below(self, rows: Sequence[int], lane_rows: int) -> int:
        """The bit that tells neighbouring registers apart: of one word, or of the words of one operand."""
        if not rows or rows[0] < 0 or (lane_rows == 1 and 1 << len(rows) < _TOGETHER):
            return NEITHER
        return rows[0]

    def _moves(self, stages: Sequence[Stage], first: list[int], last: list[int]) -> tuple[list[int], list[Move]]:
        """The arrays of registers between the stages, in bytes, and the moves of all stages."""
        held, sizes, moves = first, list[int](), list[Move]()
        for number, stage in enumerate(stages):
            if number + 1 == len(stages):
                made = last
            else:
                made = self._order(stage, stages[number + 1])
                sizes.append(self.register << len(made))
            moves += self._stage(stage, number, held, made)
            held = made
        return sizes, moves

    def _order(self, stage: Stage, following: Stage) -> list[int]:
        """The bits of a temporary register's number: first the one that tells two apart that are written or read at once."""
        outside = [bit for bit in range(self.bits) if bit not in stage.after]
        lowest = stage.above if stage.above >= 0 else following.pair
        return sorted(outside, key=lambda bit: bit != lowest)

    def _stage(self, stage: Stage, number: int, held: Sequence[int], made: Sequence[int]) -> list[Move]:
        """The moves of one stage, from registers whose numbers have the bits `held` to those with the bits `made`."""
        shape = stage.template.shape
        source = {bit: 1 << i for i, bit in enumerate((*stage.before, *held)) if bit >= 0}
        start = shape.element + shape.stride
        run = range(start, start + shape.length)
        open_bits = [
            (1 << i, source.get(bit, 0))
            for i, bit in enumerate((*stage.after, *made))
            if i >= shape.element and i not in run
        ]
        places = zip(sums([to for to, _ in open_bits]), sums([at for _, at in open_bits]), strict=True)
        return [
            Move(
                1 << shape.element,
                1 << shape.length,
                Place(number + 1, to),
                1 << shape.stride,
                Place(number, at),
                shape.region,
            )
            for to, at in places
        ]

    def _step(self, arrays: list[int], moves: list[Move], rows: list[list[int]]) -> Regions:
        words = [self.register << len(row) for row in rows]
        count = [size // (4 * self.lanes) for size in words]
        made = range(count[0], count[0] + count[1])
        return Regions(tuple(made), tuple(range(count[0])), self.register, tuple(arrays), tuple(moves))

    def _word_bits(self, address: Sequence[int], rows: list[int], cells: int) -> list[int]:
        """For each bit of a cell's number above its part: what it adds to the number of the word."""
        lane = (self.lanes * 4 // self.register).bit_length() - 1
        numbers = {bit: 1 << i for i, bit in enumerate(rows[lane:])}
        return [numbers.get(bit, 0) for bit in address[self.width + lane :]]

    def _pack(self, rows: list[int]) -> tuple[int, ...]:
        parts = self.parts.bit_length() - 1
        words = self._word_bits(self.before, rows, self.cells[0])
        firsts = sums([self.parts << i for i, adds in enumerate(words) if adds])
        insides = [i if i < self.cells[0] else -1 for i in range(1 << parts)]
        return tuple([-1 if i < 0 else first + i for first in firsts for i in insides])

    def _unpack(self, rows: list[int], given: int) -> list[int]:
        words = sums(self._word_bits(self.after, rows, self.cells[1]))
        return [(given + word) * self.parts + part for word in words for part in range(min(self.parts, self.cells[1]))]


def _pairs(source: View, destination: View) -> list[tuple[Bit, Bit]]:
    return list(zip(source.places, destination.places, strict=True))
