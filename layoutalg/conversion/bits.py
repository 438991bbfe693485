"""Layouts whose digits are powers of two, a bit at a time: every bit of an element's coordinates is a bit of the machine.

    d0 = 4@reg, d1 = 16@lane     d0 bits 0, 1 are register bits 0, 1; d1 bits 0 to 3 are lane bits 0 to 3

A conversion between two such layouts is then a renaming of bits: seen from the destination, each bit of the source's
subgroup, lane and register is a bit of the destination's. That renaming is all that there is to know:

>>> from layoutalg.core.layout import Layout
>>> renaming = renamed(view(Layout.parse("d0 = 4@reg, d1 = 4@lane")), view(Layout.parse("d0 = 4@lane, d1 = 4@reg")))
>>> renaming["lane"], renaming["reg"]
((('reg', 0), ('reg', 1)), (('lane', 0), ('lane', 1)))

Bits of the source that no element needs (replicas: any value will do) are None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.core.layout import MACHINE, Layout

__all__ = ["Place", "View", "bit_mask", "packed", "renamed", "sums", "unpacked", "view", "with_cells"]

Place = tuple[str, int]
"""An axis of the machine, and a bit of its number (0 is the lowest)."""


class View(NamedTuple):
    """Where each bit of an element's coordinates is, in the order of dimensions, low bits first; and each axis's bits.

    >>> view(Layout.parse("d0 = 2@lane | replicas 2@lane:2"))
    View(places=(('lane', 0),), widths={'sg': 0, 'lane': 2, 'reg': 0})
    """

    places: tuple[Place, ...]
    widths: dict[str, int]


def view(layout: Layout) -> View | None:
    """A layout onto the machine by bits; None where some digit is no power of two, or an axis has gaps or overlaps.

    >>> view(Layout.parse("d0 = 3@lane")) is None
    True
    """
    form = layout.canonical()
    if form.offsets or any(form.origins):
        return None
    taken: dict[str, int] = {"sg": 0, "lane": 0, "reg": 0}
    places: list[Place] = []
    for factors in form.dims:
        for extent, stride, axis in reversed(factors):
            if axis not in taken or not _powers(extent, stride):
                return None
            low, count = stride.bit_length() - 1, extent.bit_length() - 1
            mask = (extent - 1) << low
            if taken[axis] & mask:
                return None
            taken[axis] |= mask
            places += [(axis, low + i) for i in range(count)]
    for extent, stride, axis in form.replicas:
        if axis not in taken or not _powers(extent, stride) or taken[axis] & (extent - 1) * stride:
            return None
        taken[axis] |= (extent - 1) * stride
    if any(mask & (mask + 1) for mask in taken.values()):
        return None
    return View(tuple(places), {axis: taken[axis].bit_length() for axis in MACHINE})


def _powers(extent: object, stride: object) -> bool:
    return (
        type(extent) is int
        and type(stride) is int
        and extent & (extent - 1) == 0
        and stride > 0
        and stride & (stride - 1) == 0
    )


def renamed(source: View, destination: View) -> dict[str, tuple[Place | None, ...]]:
    """For each axis of the source, which bit of the destination each of its bits is; None for bits that are free.

    >>> both = view(Layout.parse("d0 = 2@lane | replicas 2@lane:2"))
    >>> renamed(both, both)["lane"]
    (('lane', 0), None)
    """
    found: dict[str, list[Place | None]] = {axis: [None] * width for axis, width in source.widths.items()}
    for (axis, bit), place in zip(source.places, destination.places, strict=True):
        found[axis][bit] = place
    return {axis: tuple(bits) for axis, bits in found.items()}


def sums(terms: Sequence[int]) -> list[int]:
    """The sums of all subsets, the first term changing fastest: the numbers that some bits make.

    >>> sums([1, 8])
    [0, 1, 8, 9]
    """
    found = [0]
    for term in terms:
        found += [one + term for one in found]
    return found


def bit_mask(count: int, bit: int) -> int:
    """Which of the numbers below `count` have a bit: a number with those bits set.

    >>> bin(bit_mask(8, 1)), bin(bit_mask(6, 0))
    ('0b11001100', '0b101010')
    """
    run = ((1 << (1 << bit)) - 1) << (1 << bit)  # the numbers below 2^(bit + 1) that have the bit, over and over
    times = -(-count // (2 << bit))
    return run * (((1 << times * (2 << bit)) - 1) // ((1 << (2 << bit)) - 1)) & ((1 << count) - 1)


def with_cells(place: Place, wide: int) -> Place:
    """A place counted in cells: elements of 64 bits are two (`wide` is 1), told apart by the lowest register bit.

    >>> with_cells(("reg", 0), 1), with_cells(("lane", 0), 1)
    (('reg', 1), ('lane', 0))
    """
    return (place[0], place[1] + wide) if place[0] == "reg" else place


def packed(word_bits: Sequence[int], part_bits: Sequence[int], parts: int) -> list[int]:
    """The cell in each of the `parts` of each word (-1: none), where some bits of a cell's number tell words apart, some parts.

    >>> packed([1], [0], parts=2), packed([0], [], parts=2)
    ([0, 1, 2, 3], [0, -1, 1, -1])
    """
    insides = sums([1 << bit for bit in part_bits])
    insides += [-1] * (parts - len(insides))
    return [-1 if i < 0 else base + i for base in sums([1 << bit for bit in word_bits]) for i in insides]


def unpacked(
    words: Sequence[int], word_bits: Sequence[int], part_bits: Sequence[int], parts: int, width: int
) -> list[int]:
    """Where each of 2^width cells is (`word * parts + part`), the reverse of `packed`; bits in neither say nothing.

    >>> unpacked([7, 8], [1], [0], parts=2, width=2), unpacked([7, 8], [0], [], parts=1, width=2)
    ([14, 15, 16, 17], [7, 8, 7, 8])
    """
    of_word = sums([1 << word_bits.index(bit) if bit in word_bits else 0 for bit in range(width)])
    of_part = sums([1 << part_bits.index(bit) if bit in part_bits else 0 for bit in range(width)])
    return [words[word] * parts + part for word, part in zip(of_word, of_part, strict=True)]
