"""What a form of access to shared memory is asked of: a conversion by bits, and how one side of it accesses memory.

A cell is an element, or half of one of 64 bits. Each bit of its number has a place before and after; bits are known here by
their position in these lists. Of a tile of 4x4 words that is transposed, bits 0 and 1 are in registers before:

>>> from layoutalg.memory.machine_bits import view
>>> both = [view(Layout.parse(text)) for text in ("d0 = 4@lane, d1 = 4@reg", "d0 = 4@reg, d1 = 4@lane")]
>>> problem = Problem.of(*both, 32, "sm_80")
>>> problem.registers(False), problem.lanes(False), problem.registers(True)
([2, 3], (0, 1), [0, 1])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.renaming import with_cells
from layoutalg.conversion.strategies.through_memory import waiting_subgroups
from layoutalg.hardware.shared_memory import widest
from layoutalg.memory.machine_bits import Place, View

__all__ = ["FormSide", "Problem"]


@dataclass(frozen=True, slots=True)
class FormSide:
    """How one side accesses memory; bits of a cell's number are known by their place in the list of pairs.

    `parts` are the bits inside a word (of narrow accesses fewer, or none), `vector` those that tell the words of an access
    apart, low ones first. Of matrices, `vector` are the bits that tell them apart, and `rows` what the bits of the lane's
    number are in the address that it gives (-1: nothing).
    """

    parts: tuple[int, ...]
    vector: tuple[int, ...]
    rows: tuple[int, ...] = ()
    matrix: str = ""
    picked: tuple[int, int, int] | None = None
    """Of bytes that a permute picks from halves: the bits `half` and `coming`, and the bit of the lane's number."""


class _Holders(NamedTuple):
    """Which bit each bit of a register's, a lane's and a subgroup's number is on one side; -1: one that copies differ in."""

    registers: list[int]
    lanes: tuple[int, ...]
    subgroups: tuple[int, ...]

    @staticmethod
    def of(places: tuple[Place, ...], view: View) -> _Holders:
        bit_of = {place: bit for bit, place in enumerate(places)}
        registers = [bit for (axis, _), bit in sorted(bit_of.items()) if axis == "reg"]
        lanes, subgroups = (
            tuple([bit_of.get((axis, i), -1) for i in range(view.widths[axis])]) for axis in ("lane", "sg")
        )
        return _Holders(registers, lanes, subgroups)


@dataclass(frozen=True, slots=True)
class Problem:
    """A conversion by bits: the places of each bit of a cell's number before and after.

    `bits` are those of a cell; `within` bits tell the cells of a word apart, `most` those of an access, at most.
    """

    before: tuple[Place, ...]
    after: tuple[Place, ...]
    source: View
    destination: View
    element_bits: int
    wide: int
    target: str
    bits: int
    within: int
    most: int
    holders: tuple[_Holders, _Holders]
    waiting: int
    """How many subgroups wait for one another at its barriers."""

    @staticmethod
    def of(source: View, destination: View, element_bits: int, target: str) -> Problem:
        """The problem of two layouts, for a chip."""
        wide = 1 if element_bits > WORD else 0
        cell = (("reg", 0),) * wide
        before, after = ((*cell, *[with_cells(place, wide) for place in one.places]) for one in (source, destination))
        bits, lanes = min(element_bits, WORD), 1 << max(source.widths["lane"], destination.widths["lane"])
        within, most = ((size // bits).bit_length() - 1 for size in (WORD, widest(target, lanes) * 8))
        holders = _Holders.of(before, source), _Holders.of(after, destination)
        waiting = waiting_subgroups(source, destination)
        return Problem(
            before, after, source, destination, element_bits, wide, target, bits, within, most, holders, waiting
        )

    def registers(self, after: bool) -> list[int]:
        """The bits that are in registers on a side, low ones first."""
        return self.holders[after].registers

    def subgroups(self, after: bool) -> tuple[int, ...]:
        """Which bit each of the subgroup's number is on a side, as `lanes`."""
        return self.holders[after].subgroups

    def lanes(self, after: bool) -> tuple[int, ...]:
        """Which bit each of the lane's number is on a side; -1 where lanes that it tells apart hold copies."""
        return self.holders[after].lanes

    def unit(self, side: FormSide) -> int:
        """The bits of what a side moves as one place: a word, or as much of one as it has in registers.

        >>> from layoutalg.memory.machine_bits import view
        >>> both = [view(Layout.parse(text)) for text in ("d0 = 4@lane, d1 = 4@reg", "d0 = 4@reg, d1 = 4@lane")]
        >>> problem = Problem.of(*both, 8, "sm_80")
        >>> problem.unit(FormSide((), ())), problem.unit(FormSide((2,), ())), problem.unit(FormSide((2, 3), ()))
        (8, 16, 32)
        """
        return self.bits << len(side.parts)

    def moves_words(self, side: FormSide) -> bool:
        """Whether a side moves whole words."""
        return len(side.parts) == self.within
