"""All-gathers of elements below 32 bits: neighbours put their elements into one word first, then words are sent.

Sixteen lanes hold a byte each, and all want all. Lanes 0 and 1 exchange their bytes, so that both hold a word of two; then
lanes 0 and 2, 1 and 3 do, and each lane has the four bytes of its group of four in one word. Four broadcasts bring all of it,
where bytes alone would take 16:

>>> from layoutalg.conversion.program.steps import Permute, Shuffle
>>> from layoutalg.memory.machine_bits import view
>>> first, second = gathered_first(*map(view, map(Layout.parse, ("d0 = 16@lane", "d0 = 16@reg | replicas 16@lane"))), 8)[1]
>>> [program.count(kind) for program in (first, second) for kind in (Shuffle, Permute)]
[2, 2, 4, 0]

Lanes that differ in a gathered bit hold the same then: the second program starts from a layout in which that bit of the lane
is one of the register, and the lanes are replicas.
"""

from __future__ import annotations

import numpy as np

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.broadcasts import broadcasts
from layoutalg.conversion.strategies.choosing import Slots
from layoutalg.conversion.strategies.exchange import exchange
from layoutalg.conversion.strategies.renaming import renamed
from layoutalg.memory.machine_bits import View

__all__ = ["gathered_first"]


def gathered_first(source: View, destination: View, element_bits: int) -> list[tuple[Program, Program]]:
    """The programs that gather, then send words: with the fewest shuffles, and by broadcasts.

    None where words are full, or no bit of the lane becomes one of the register.

    For conversions that stay in their subgroups (`exchange.stays_in_subgroup`).
    """
    width = source.widths["reg"]
    room = (WORD // element_bits).bit_length() - 1 - width if element_bits < WORD else 0
    lanes = [
        (place[1], bit) for bit, place in enumerate(renamed(source, destination)["lane"]) if place and place[0] == "reg"
    ]
    chosen = [bit for _, bit in sorted(lanes)[: max(room, 0)]]
    if not chosen:
        return []
    moved = {("lane", bit): ("reg", width + i) for i, bit in enumerate(chosen)}
    between = View(
        tuple([moved.get(place, place) for place in source.places]),
        source.widths | {"reg": width + len(chosen)},
    )
    first = _gather(source, chosen, element_bits)
    found = [(first, exchange(between, destination, element_bits))]
    sent = broadcasts(_slots(between), _slots(destination), element_bits)
    return found if sent is None else [*found, (first, sent)]


def _gather(source: View, bits: list[int], element_bits: int) -> Program:
    """The program after which lanes that differ in these bits have what all of them had, in one word."""
    lanes, parts, count = 1 << source.widths["lane"], WORD // element_bits, 1 << source.widths["reg"]
    builder = Builder(1 << source.widths["sg"], lanes, element_bits, [*range(count), *[-1] * (parts - count)])
    size, word, held = element_bits // 8, 0, count
    for bit in bits:
        other = builder.shuffle(word, tuple([lane ^ 1 << bit for lane in range(lanes)]))
        both = [*range(held * size)], [*range(4, 4 + held * size)]  # the bytes that the lane has, and the other's
        rest = [*range(2 * held * size, 4)]
        selectors = [
            sum(byte << 4 * i for i, byte in enumerate([*both[upper], *both[1 - upper], *rest])) for upper in (0, 1)
        ]
        word = builder.permute(word, other, tuple([selectors[lane >> bit & 1] for lane in range(lanes)]))
        held *= 2
    return builder.program(count, held, [word * parts + part for part in range(held)])


def _slots(layout: View) -> Slots:
    """The number of the element in each slot, `[sg, lane, reg]`, bit by bit."""
    found = np.zeros([1 << layout.widths[axis] for axis in ("sg", "lane", "reg")], np.int64)
    for number, (axis, bit) in enumerate(layout.places):
        values = (np.arange(1 << layout.widths[axis], dtype=np.int64) >> bit & 1) << number
        shape = [-1 if axis == one else 1 for one in ("sg", "lane", "reg")]
        found += values.reshape(shape)
    return found
