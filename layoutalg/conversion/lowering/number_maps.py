"""Which form a number has that depends on a lane's or a subgroup's: masks and shifts, a product, a comparison.

Lane 5 of 16 (0b0101) with the bits of its number swapped end for end is lane 10. No table is needed for that: a map that
XORs one term for every bit of the number that is set, here 8, 4, 2, 1 for the bits 0 to 3, is made of masks and shifts.

    (l & 1) << 3  ^  (l & 2) << 1  ^  (l & 4) >> 1  ^  (l & 8) >> 3

>>> linear_terms((0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15))
(8, 4, 2, 1)
>>> shifts((8, 4, 2, 1))
{3: 1, 1: 2, -1: 4, -3: 8}

The code that is written and the prices that foresee it both ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

from layoutalg.core.limits import MOST_LOOKED_UP

__all__ = [
    "are_powers",
    "fixed_bits",
    "in_a_table",
    "linear_terms",
    "maps_of_items",
    "of_items",
    "reverses",
    "rounded_down",
    "shifts",
    "unmirrored",
    "unmirrored_factors",
]

_TABLE = 16
"""The entries of four bits, at most, of a map that is looked up in a constant."""


_Some = TypeVar("_Some")


def linear_terms(numbers: Sequence[int]) -> tuple[int, ...] | None:
    """The term for each bit of i, if `numbers[i] ^ numbers[0]` is the XOR of the terms of the bits of i; else None."""
    count = len(numbers)
    if count & (count - 1):
        return None
    terms = tuple(numbers[1 << bit] ^ numbers[0] for bit in range(count.bit_length() - 1))
    expected = [numbers[0]]
    for term in terms:
        expected += [number ^ term for number in expected]
    return terms if expected == list(numbers) else None


def shifts(terms: Sequence[int]) -> dict[int, int]:
    """The masks of a linear map: `{shift: mask}` stands for `(number & mask) << shift`, all of them XORed."""
    masks: dict[int, int] = {}
    for bit, term in enumerate(terms):
        for place in range(term.bit_length() - 1, -1, -1):
            if term >> place & 1:
                masks[place - bit] = masks.get(place - bit, 0) | 1 << bit
    return masks


def in_a_table(terms: Sequence[int], count: int) -> bool:
    """Whether a linear map of numbers below `count` is shorter looked up in a constant, on Intel's chips.

    A table of 16 entries takes seven instructions whatever the map, two parts take seven, three or four take 8 to 20: graphics
    compilers make some of them a reversal of all bits, and shift its result. Eight entries are one word.

    >>> in_a_table((4, 2, 8, 1), 16), in_a_table((4, 8, 1, 2), 16), in_a_table((4, 2, 8, 16, 1), 32)
    (True, False, False)
    """
    parts = len(shifts(terms))
    return parts > 1 and (parts > 2 or 2 * count <= _TABLE) and count <= _TABLE


def reverses(moved: Sequence[tuple[int, int]]) -> bool:
    """Whether some bits, that are moved each by itself from a place to another, are moved in the reverse order.

    >>> reverses([(0, 2), (2, 0)]), reverses([(0, 1), (1, 2)])
    (True, False)
    """
    sums = [source + target for source, target in moved]
    return len(set(sums)) < len(sums)


def unmirrored(masks: Mapping[int, int]) -> list[tuple[int, int]]:
    """The shifts and masks of a linear map, the second of them no mirror image of the first, where another one is there.

    LLVM takes bits that change places end for end for a number whose bits are in reverse order, as soon as it has joined two.

    >>> unmirrored({2: 1, 0: 2, -2: 4, 1: 8, -1: 16})
    [(2, 1), (1, 8), (0, 2), (-2, 4), (-1, 16)]
    """
    parts = list(masks.items())
    return _second_apart(parts, [2 * mask.bit_length() + shift if are_powers(mask) else None for shift, mask in parts])


def unmirrored_factors(factors: tuple[tuple[str, int, int, int], ...]) -> tuple[tuple[str, int, int, int], ...]:
    """The same of factors: axis, divisor, extent and stride.

    >>> unmirrored_factors((("lane", 1, 2, 4), ("lane", 2, 2, 2), ("lane", 8, 4, 8)))
    (('lane', 1, 2, 4), ('lane', 8, 4, 8), ('lane', 2, 2, 2))
    """
    turns = [divisor * stride if extent == 2 else None for _, divisor, extent, stride in factors]
    return tuple(_second_apart(factors, turns))


def _second_apart(parts: Sequence[_Some], turns: Sequence[int | None]) -> list[_Some]:
    """The parts, the second one another whose turn differs from the first one's; None differs from all."""
    first = turns[0] if turns else None
    other = next((i for i, turn in enumerate(turns) if turn != first), 0) if first is not None else 0
    return [*parts[:1], parts[other], *parts[1:other], *parts[other + 1 :]] if other else list(parts)


def are_powers(*numbers: int) -> bool:
    """Whether all are powers of two.

    >>> are_powers(2, 16), are_powers(4, 6)
    (True, False)
    """
    return not any(number & (number - 1) for number in numbers)


def rounded_down(factors: Sequence[tuple[int, int, int]], count: int) -> tuple[int, int] | None:
    """Two factors (divisor, extent, stride) as one product without its low bits: what a number is multiplied by, and the bits.

    By hand: two lanes share a line of 128 bytes, and 16 bytes of padding follow each line. Lane l begins at
    64 * l + 16 * (l // 2), which is 72 * l rounded down to a multiple of 16. None where there is no such product for all
    numbers below `count`.

    >>> rounded_down([(1, 16, 64), (2, 8, 16)], 16), rounded_down([(1, 16, 64), (2, 8, 32)], 16)
    ((72, 16), (80, 32))
    >>> rounded_down([(1, 16, 64), (4, 4, 6)], 16)
    """
    if len(factors) != 2 or count > MOST_LOOKED_UP or factors[0][0] != 1 or factors[0][1] < count:
        return None
    (_, _, one), (divisor, extent, other) = factors
    if divisor < 2 or other % divisor or other & -other != other or divisor * extent < count:
        return None
    times = one + other // divisor
    wanted = all(number * times & -other == number * one + number // divisor * other for number in range(count))
    return (times, other) if wanted else None


def of_items(factors: tuple[tuple[str, int, int, int], ...], lanes: int) -> tuple[tuple[str, int, int, int], ...]:
    """Factors of a lane's number that go on with the subgroup's are those of the work-item's number in its workgroup.

    >>> of_items((("lane", 4, 16, 2), ("sg", 1, 4, 32)), 64), of_items((("lane", 1, 64, 1), ("sg", 1, 4, 32)), 64)
    ((('thread', 4, 64, 2),), (('lane', 1, 64, 1), ('sg', 1, 4, 32)))
    """
    last = [one for one in factors if one[0] == "lane" and one[1] * one[2] == lanes]
    groups = [one for one in factors if one[0] == "sg" and one[1] == 1]
    for group in groups[:1]:
        for some in (last, *[[one] for one in last]):
            if some and sum(lanes // divisor * stride for _, divisor, _, stride in some) == group[3]:
                taken = {id(one) for one in (*some, group)}
                rest = [one for one in factors if id(one) not in taken]
                return (*[("thread", one[1], one[2] * group[2], one[3]) for one in some], *rest)
    return factors


_Maps: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


def maps_of_items(maps: _Maps, lanes: int) -> _Maps:
    """Linear maps of the lane's and the subgroup's number as one of the work-item's, where that takes fewer shifts and masks.

    >>> maps_of_items((("lane", (1, 2, 4, 8)), ("sg", (16, 32))), 16)
    (('thread', (1, 2, 4, 8, 16, 32)),)
    >>> maps_of_items((("lane", (1, 2, 4, 8)), ("sg", (32, 16))), 16)
    (('lane', (1, 2, 4, 8)), ('sg', (32, 16)))
    """
    by_axis = dict(maps)
    of_lanes, of_subgroups = (by_axis.get(axis, ()) for axis in ("lane", "sg"))
    if not any(of_lanes) or not any(of_subgroups) or len(by_axis) < len(maps) or lanes & (lanes - 1):
        return maps
    width = (lanes - 1).bit_length()
    whole = (*of_lanes[:width], *[0] * (width - len(of_lanes)), *of_subgroups)
    return (("thread", whole),) if len(shifts(whole)) < len(shifts(of_lanes)) + len(shifts(of_subgroups)) else maps


def fixed_bits(mask: int, count: int) -> tuple[int, int] | None:
    """The bits that all numbers of a set have alike, and their values, where no other number below `count` has them so.

    >>> fixed_bits(0b00010001, 8), fixed_bits(0b00110001, 8)
    ((3, 0), None)
    """
    ones, zeros, members = -1, 0, 0
    for number in range(count):
        if mask >> number & 1:
            ones, zeros, members = ones & number, zeros | number, members + 1
    care = ((1 << (count - 1).bit_length()) - 1) & ~(ones ^ zeros)
    wanted = ones & care
    return (care, wanted) if members == sum(number & care == wanted for number in range(count)) else None
