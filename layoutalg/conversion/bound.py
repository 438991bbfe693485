"""The fewest shuffles that any plan needs, and why: what lanes must receive, and what must take several hops.

>>> transposed = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> bound_of(*transposed, 32).shuffles, bound_of(*transposed, 16).shuffles
(15, 10)
>>> print(bound_of(*transposed, 16).reason)
each lane needs 15 elements of 16 bits from 15 other lanes; with 9 shuffles at most 9 come directly, the others take two: 21
places, but 9 words of 2 have 18

It counts schedules of any kind that move elements whole: several hops, words that elements of several lanes share, and
words that several lanes read. Conversions that cross subgroups are counted as if all lanes were in one.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

from layoutalg.conversion.layouts import check_tensor, machine_counts
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.bit_exchange.hops import fewest
from layoutalg.conversion.strategies.bit_exchange.pattern import Pattern, pattern_of
from layoutalg.conversion.strategies.blocks import split
from layoutalg.conversion.strategies.renaming import renamed
from layoutalg.conversion.strategies.table_bounds import fewest_by_table
from layoutalg.conversion.strategies.tables import slot_tables
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_SLOTS_TRIED
from layoutalg.core.plurals import counted
from layoutalg.memory.asked import element_size
from layoutalg.memory.machine_bits import Place, View, view

__all__ = ["Bound", "bound_of"]


class Bound(NamedTuple):
    """A number of shuffles that no plan is below, and the reason in words ("" where it is 0).

    >>> Bound(0, "").shuffles
    0
    """

    shuffles: int
    reason: str


def bound_of(source: Layout, destination: Layout, element_bits: int) -> Bound:
    """The bound of a conversion between layouts for one machine.

    Raises `SizeError` for more than 2^20 slots that have to be counted one by one, `ConversionError` for what is no
    conversion: layouts of two tensors, or elements that are not 8, 16, 32 or 64 bits.

    >>> print(bound_of(Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg"), 32).reason)
    each lane needs 1 word from each of 3 other lanes, and gets one word in a shuffle
    """
    check_tensor(source, destination)
    for layout in (source, destination):
        machine_counts(layout)
    return _bound_of(source, destination, element_size(element_bits))


@lru_cache(maxsize=256)
def _bound_of(source: Layout, destination: Layout, element_bits: int) -> Bound:
    a, b = view(source), view(destination)
    if a is not None and b is not None:
        pattern = pattern_of(a, b, element_bits)
        if pattern is not None:
            return _exchanged(pattern, element_bits)
        found = _received(a, b, element_bits)
        if element_bits < WORD and max(prod(one.axes.values()) for one in (source, destination)) <= MOST_SLOTS_TRIED:
            return max(_by_table(source, destination, element_bits), found, key=lambda one: one.shuffles)
        return found
    # Words are words: every block has as many. (Not with copies: which of them is shown may differ from block to block.)
    copies = source.canonical().replicas or destination.canonical().replicas
    copies = copies or source.flips is not None or destination.flips is not None
    blocks = split(source, destination, odd=False) if element_bits >= WORD and not copies else None
    if blocks is not None:
        one = _bound_of(blocks.source, blocks.destination, element_bits)
        shuffles = blocks.count * one.shuffles
        return Bound(shuffles, f"{one.reason}, in each of {blocks.count} blocks" if shuffles else "")
    return _by_table(source, destination, element_bits)


def _by_table(source: Layout, destination: Layout, element_bits: int) -> Bound:
    """Slot by slot (see `strategies.table_bounds`)."""
    shuffles = fewest_by_table(*slot_tables(source, destination), element_bits)
    return Bound(shuffles, f"some lane must receive {counted(shuffles, 'word')}" if shuffles else "")


def _exchanged(pattern: Pattern, element_bits: int) -> Bound:
    """Where nothing is held twice (see `bit_exchange.hops.fewest`)."""
    bits, shared, moving = len(pattern.exchanged), pattern.shared, pattern.moving_bits
    shuffles = fewest(bits, shared, moving, chained=pattern.chained) * pattern.words
    if not shuffles:
        return Bound(0, "")
    lanes = pattern.classes if moving else pattern.classes - 1
    cells = lanes << len(pattern.staying) - pattern.wide
    which = "some lane needs" if moving else "each lane needs"
    if shared == 1:
        whom = f"each of {lanes} other lanes" if lanes > 1 else "another lane"
        reason = f"{which} {counted(pattern.words, 'word')} from {whom}, and gets one word in a shuffle"
        return Bound(shuffles, reason)
    reason = f"{which} {counted(cells, 'element')} of {element_bits} bits from {counted(lanes, 'other lane')}"
    less = shuffles - 1
    if not less:
        return Bound(shuffles, reason)
    if (1 << less) <= lanes:
        verb = "reaches" if less == 1 else "reach"
        return Bound(shuffles, f"{reason}; {counted(less, 'shuffle')} {verb} {(1 << less) - 1}")
    groups = "" if not pattern.staying else f" (groups of {1 << len(pattern.staying)} travel together)"
    if moving:
        reason += f"{groups}; some of them take two hops, and {counted(less, 'word')} of {shared} have no room for that"
        return Bound(shuffles, reason)
    places = 2 * lanes - less
    reason += f"{groups}; with {counted(less, 'shuffle')} at most {less} come directly, the others take two: {places} places, "
    return Bound(shuffles, f"{reason}but {counted(less, 'word')} of {shared} have {less * shared}")


def _received(source: View, destination: View, element_bits: int) -> Bound:
    """The words that some lane must receive, or show if that is more, as many elements in each as it has room for.

    A lane receives from the lanes of each value of the exchanged bits but its own; where other lane bits change places too,
    some lane has nothing that it needs. Lanes of other subgroups count like others.
    """
    names = renamed(source, destination)
    senders = [
        (axis, bit, place) for axis in ("sg", "lane") for bit, place in enumerate(names[axis]) if place is not None
    ]
    exchanged = sum(place[0] == "reg" for _, _, place in senders)
    together = sum(place is not None and place[0] == "reg" for place in names["reg"])
    foreign = any(place[0] != "reg" and place != (axis, bit) for axis, bit, place in senders)
    lanes = (1 << exchanged) - (0 if foreign else 1)
    words = -(-(lanes * element_bits << together) // WORD)
    shown = _shown(names, element_bits)
    if shown > words:
        return Bound(shown, f"some lane must show {counted(shown, 'word')}, one in a shuffle")
    return Bound(words, f"some lane must receive {counted(words, 'word')}" if words else "")


def _shown(names: dict[str, tuple[Place | None, ...]], element_bits: int) -> int:
    """The words that some lane must show: an element that somebody wants and does not hold is shown by one of its holders.

    Lanes that differ in free bits hold the same 2^r elements, and share the work; none else has any of these. An element
    stays where it is if each other lane bit of the destination is the same bit of the source, or a register bit that has the
    right value, as 2^(r - n) of the elements have where n bits are such. Where a lane bit comes from another one, or from
    nowhere (so that lanes without it want the element, too), some lane's elements are all wanted elsewhere.
    """
    if any(place is not None and place != ("sg", bit) for bit, place in enumerate(names["sg"])):
        return 0  # lanes of other subgroups have some
    comes = {
        place: (axis, bit) for axis, places in names.items() for bit, place in enumerate(places) if place is not None
    }
    elements = sum(place is not None and place[0] != "sg" for place in names["reg"])
    copies = sum(place is None for place in names["lane"])
    from_registers, foreign = 0, False
    for bit, place in enumerate(names["lane"]):
        if place is not None:
            origin = comes.get(("lane", bit))
            from_registers += origin is not None and origin[0] == "reg"
            foreign |= origin is None or (origin[0] != "reg" and origin != ("lane", bit))
    wanted = (1 << elements) - (0 if foreign else 1 << elements - from_registers)
    most = -(-wanted // (1 << copies))
    return -(-most * element_bits // WORD)
