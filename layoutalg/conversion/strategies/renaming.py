"""The renaming of bits: what each bit of the source's subgroup, lane and register is in the destination.

A conversion between two layouts of powers of two is such a renaming, and the renaming says all that has to move:

>>> from layoutalg.memory.machine_bits import view
>>> both = view(Layout.parse("d0 = 4@reg, d1 = 4@lane")), view(Layout.parse("d0 = 4@lane, d1 = 4@reg"))
>>> names = renamed(*both)
>>> names["lane"], names["reg"]
((('reg', 0), ('reg', 1)), (('lane', 0), ('lane', 1)))

Bits of the source that no element needs (replicas: any value will do) are None. `packed` and `unpacked` say which cells lie in
which words, where some bits of a cell's number tell words apart and some the parts of a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.memory.machine_bits import Place, View

__all__ = ["bit_mask", "packed", "renamed", "sums", "unpacked", "with_cells"]


def renamed(source: View, destination: View) -> dict[str, tuple[Place | None, ...]]:
    """For each axis of the source, which bit of the destination each of its bits is; None for bits that are free."""
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
