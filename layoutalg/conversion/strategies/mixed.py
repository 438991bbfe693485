"""Mixed ways: some of the registers go through shared memory, while the others are exchanged by shuffles.

A register bit that stays a register bit splits a conversion into two halves that need nothing of each other, two such bits
into quarters. Here bits 0 and 1 of the lane's number change places, in four registers:

>>> from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
>>> from layoutalg.conversion.strategies.bit_exchange.ways import ways
>>> from layoutalg.conversion.strategies.through_memory import through_memory
>>> from layoutalg.memory.machine_bits import view
>>> both = [view(Layout.parse(f"d0 = 4@reg, d1 = {lanes}")) for lanes in ("4@lane", "2@lane 2@lane:2")]
>>> halves = parts_of(*both, 32, 2)
>>> halves.source.places, halves.before
((('reg', 0), ('lane', 0), ('lane', 1)), [[0, 1], [2, 3]])

The first half takes two shuffles, the second one a store and a load. The store comes first, then the shuffles, then the load:
the unit of shared memory works while the lanes do.

>>> exchange = ways(pattern_of(halves.source, halves.destination, 32))[0].make()
>>> way = mixed(exchange, through_memory(halves.source, halves.destination, 32), halves, 1, 64)
>>> [type(step).__name__ for step in way.steps]
['Store', 'Shuffle', 'Shuffle', 'Barrier', 'Load']

The law: it has the steps of its parts' programs, no more and no fewer.
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.blocks import one_after_another, repeated
from layoutalg.conversion.strategies.renaming import sums
from layoutalg.conversion.strategies.side_by_side import side_by_side
from layoutalg.memory.machine_bits import Place, View

__all__ = ["Parts", "mixed", "parts_of"]


class Parts(NamedTuple):
    """The conversion of one part, from `source` to `destination`, and the registers of each part on both sides.

    `before[p][r]` is the register that is number r in part p of the source, `after` likewise of the destination.
    """

    source: View
    destination: View
    before: list[list[int]]
    after: list[list[int]]


def parts_of(source: View, destination: View, element_bits: int, count: int) -> Parts | None:
    """So many equal parts, a power of two, told apart by the highest bits that are register bits on both sides.

    None where there are too few such bits, or where a part would not fill words on both sides with what stays in a lane.

    >>> from layoutalg.memory.machine_bits import view
    >>> both = [view(Layout.parse(text)) for text in ("d0 = 4@reg, d1 = 4@lane", "d0 = 2@lane 2@reg, d1 = 2@reg:2 2@lane:2")]
    >>> parts_of(*both, 32, 2).after, parts_of(*both, 16, 2)
    ([[0, 2], [1, 3]], None)
    """
    pairs = list(zip(source.places, destination.places, strict=True))
    common = [number for number, (a, b) in enumerate(pairs) if a[0] == b[0] == "reg"]
    common.sort(key=lambda number: (max(pairs[number][0][1], pairs[number][1][1]), pairs[number]))
    bits, inside = count.bit_length() - 1, max(WORD // element_bits, 1).bit_length() - 1
    if len(common) - bits < inside:
        return None
    told = common[len(common) - bits :]
    sides = [_without(layout, told) for layout in (source, destination)]
    return Parts(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def _without(layout: View, left_out: list[int]) -> tuple[View, list[list[int]]]:
    """The layout without some bits of its registers, which are numbered anew; and the registers of each of their values."""
    gone = [layout.places[number][1] for number in left_out]

    def anew(place: Place) -> Place:
        return (place[0], place[1] - sum([bit < place[1] for bit in gone])) if place[0] == "reg" else place

    places = tuple([anew(place) for number, place in enumerate(layout.places) if number not in left_out])
    staying = sums([1 << bit for bit in range(layout.widths["reg"]) if bit not in gone])
    starts = sums([1 << bit for bit in gone])
    widths = layout.widths | {"reg": layout.widths["reg"] - len(gone)}
    return View(places, widths), [[start + register for register in staying] for start in starts]


def mixed(exchange: Program, memory: Program, parts: Parts, shuffled: int, limit: int) -> Program:
    """The program that does the first `shuffled` parts by `exchange`, and the others by `memory`, in at most `limit` bytes.

    Raises `SizeError` where one part needs more.
    """
    count = len(parts.before)
    own = one_after_another(count, exchange.source_registers), one_after_another(count, exchange.registers)
    inside = repeated(exchange, own[0][:shuffled], own[1][:shuffled], limit)
    outside = repeated(memory, own[0][: count - shuffled], own[1][: count - shuffled], limit)
    before, after = (
        [[register for part in some for register in part] for some in (side[:shuffled], side[shuffled:])]
        for side in (parts.before, parts.after)
    )
    return side_by_side([inside, outside], before, after, limit)
