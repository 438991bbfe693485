"""Exchanges of lane bits 4 and 5 with register bits by swaps of whole rows of lanes, as gfx950 has them.

A swap takes two words whose numbers differ in one register bit, and that bit changes places with the lane's: half an
instruction a word and bit, no select, no memory. Four registers of 64 lanes change places with lane bits 4 and 5:

>>> from layoutalg.conversion.program.steps import LaneSwap
>>> from layoutalg.memory.machine_bits import view
>>> source, destination = Layout.parse("d0 = 4@reg, d1 = 64@lane"), Layout.parse("d0 = 4@lane:16, d1 = 4@reg 16@lane")
>>> program, left = by_lane_swaps(view(source), view(destination), 32)
>>> program.count(LaneSwap), left.places == view(destination).places
(4, True)

Every register bit that is wanted at lane bit 4 or 5 is swapped with it. What the swaps leave is another conversion, from the
layout that they reach. Words keep their parts: those are register bits that are not swapped.
"""

from __future__ import annotations

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.renaming import packed, renamed, sums, unpacked
from layoutalg.memory.machine_bits import Place, View

__all__ = ["SWAPPING", "by_lane_swaps"]

SWAPPING = ("gfx950",)
"""The chips that have it (AMD's CDNA 4 instruction set guide, "V_PERMLANE16_SWAP_B32")."""

_SWAPPED = (4, 5)
"""The lane bits that an instruction swaps."""


def by_lane_swaps(source: View, destination: View, element_bits: int) -> tuple[Program, View] | None:
    """The program of all swaps that bring a register bit to its lane bit, and where bits are then; None without any.

    Where only registers are left to be renamed, the program does it. Both views have no replicas and the same widths.
    """
    swaps = _swaps(renamed(source, destination), source.widths["reg"])
    if not swaps:
        return None
    left = list(source.places)
    for register, bit in swaps:
        one, other = left.index(("reg", register)), left.index(("lane", bit))
        left[one], left[other] = left[other], left[one]
    reached = View(tuple(left), source.widths)
    wide, parts = int(element_bits > WORD), max(WORD // element_bits, 1)
    width = source.widths["reg"] + wide
    taken = {register + wide for register, _ in swaps}
    inside = [bit for bit in range(width) if bit not in taken][: parts.bit_length() - 1]
    outside = [bit for bit in range(width) if bit not in inside]
    lanes, subgroups = 1 << source.widths["lane"], 1 << source.widths["sg"]
    builder = Builder(subgroups, lanes, element_bits, packed(outside, inside, parts))
    words = list(range(builder.given))
    for register, bit in swaps:
        step = 1 << outside.index(register + wide)
        for x in range(len(words)):
            if not x & step:
                words[x], words[x | step] = builder.lane_swap(words[x], words[x | step], bit)
    unpack = unpacked(words, outside, inside, parts, width)
    names = renamed(reached, destination)
    registers = [place[1] for place in names["reg"] if place is not None and place[0] == "reg"]
    stays: list[Place] = [("lane", bit) for bit in range(source.widths["lane"])]
    if len(registers) == source.widths["reg"] and list(names["lane"]) == stays:
        cells = sums(
            [1 << bit for bit in range(wide)] + [1 << registers.index(bit) + wide for bit in range(width - wide)]
        )
        return builder.program(1 << width - wide, 1 << width - wide, [unpack[cell] for cell in cells]), destination
    return builder.program(1 << width - wide, 1 << width - wide, unpack), reached


def _swaps(wanted: dict[str, tuple[Place | None, ...]], registers: int) -> list[tuple[int, int]]:
    """Register bits and the lane bits that they change places with, in order.

    >>> _swaps({"reg": (("lane", 5),), "lane": (*[("lane", i) for i in range(4)], ("reg", 0), ("lane", 4))}, 1)
    [(0, 5), (0, 4)]
    """
    in_register, in_lane = list(wanted["reg"]), list(wanted["lane"])
    found: list[tuple[int, int]] = []
    while True:
        able = [
            (register, bit)
            for bit in _SWAPPED
            for register in range(registers)
            if bit < len(in_lane) and in_register[register] == ("lane", bit)
        ]
        if not able:
            return found
        register, bit = able[0]
        in_register[register], in_lane[bit] = in_lane[bit], in_register[register]
        found.append((register, bit))
