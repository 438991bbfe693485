"""Which classes travel together in which shuffle: the fewest shuffles where several classes share a word.

A class is a displacement d, a number of k bits: lane l has one element of it, for lane l ^ d. A shuffle by the mask m carries a
word, so up to `shared` classes: class m arrives, any other is then m nearer. Four lanes that exchange elements of 16 bits: by
mask 2 go classes 2 and 3, and 3 goes on by mask 1, with class 1. Two shuffles do what takes three where each goes directly:

>>> for hop in schedule(2, 2):
...     print(hop)
Hop(mask=2, carried=(2, 3), turning=False)
Hop(mask=1, carried=(1, 3), turning=False)

Why no schedule has fewer than `fewest`: with s shuffles a lane hears s others directly, so of its N - 1 classes that leave it
at most s need one hop, all others two or more. That is room for 2(N - 1) - s classes in s words: s >= 2(N - 1) / (P + 1), where
P share a word. And s shuffles bring a lane the words of fewer than 2^s others. The schedules meet the bound:

>>> [[fewest(k, shared) for k in range(1, 7)] for shared in (1, 2, 4)]
[[1, 3, 7, 15, 31, 63], [1, 2, 5, 10, 21, 42], [1, 2, 3, 6, 13, 26]]
>>> all(len(schedule(k, shared)) == fewest(k, shared) for k in range(1, 7) for shared in (1, 2, 4))
True

They come from three places. `two_steps`: words go whole to the lane that shares their part, then the classes of each part to
their own. Lines, for two in a word: of the numbers a, b and a ^ b two shuffles carry all three, and the numbers of k bits
fall into lines (a spread; where k is odd, lines and one plane of seven). And one list of sums that was searched, for four in
a word and 6 bits. Where lanes move otherwise too (T), every class has to leave its lane, and one of its hops is by T.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Hop", "direct", "fewest", "schedule", "two_steps"]


class Hop(NamedTuple):
    """A shuffle: lane l sends the word with the classes `carried` to lane l ^ mask (`turning`: T(l) ^ mask)."""

    mask: int
    carried: tuple[int, ...]
    turning: bool = False


_SUMS: tuple[tuple[int, ...], ...] = (
    (33, 9, 57, 63), (19, 45, 47), (21, 23, 22, 20), (34, 58, 51, 61), (24, 58, 57, 50), (27, 56, 5, 59), (2, 39, 23),
    (35, 56, 18, 11), (37, 39, 38, 36), (8, 6, 4, 25), (30, 5, 15, 63), (40, 55, 9, 11), (26, 7, 16, 43), (29, 7, 28),
    (3, 38, 22, 41), (62, 52, 45, 48), (42, 53, 50, 41), (60, 54, 47, 13), (49, 18, 13, 43), (17, 51, 15, 25),
    (10, 54, 52, 16), (32, 44, 46, 59), (14, 46, 6, 48), (1, 28, 36, 20), (12, 44, 4), (31, 55, 53, 61),
)  # fmt: skip
"""Masks of 6 bits, each with the classes that it carries besides its own: sums of two masks, that go by either.

Every number that is no mask is such a sum, once. Found by search; of those that were tried, it takes the fewest permutes."""


def direct(bits: int, *, moving: bool = False) -> tuple[Hop, ...]:
    """A shuffle for each class."""
    return tuple([Hop(d, (d,), moving) for d in range(0 if moving else 1, 1 << bits)])


def two_steps(bits: int, shared: int, *, moving: bool = False, halving: bool = False) -> tuple[Hop, ...]:
    """First the words as they are, of classes that differ in their low bits; then the classes of each low number.

    With `halving` the second step takes a bit at a time.

    >>> [hop.mask for hop in two_steps(4, 4)], len(two_steps(4, 4, halving=True))
    ([4, 8, 12, 1, 2, 3], 7)
    """
    inside = min(shared.bit_length() - 1, bits)
    firsts = range(0, 1 << bits, 1 << inside)
    found = [Hop(c, tuple(range(c, c + (1 << inside))), moving) for c in firsts if c or moving]
    lows = range(1 << inside)
    for low in [1 << i for i in range(inside)] if halving else lows[1:]:
        classes = [c + v for c in firsts for v in lows if (v & low if halving else v == low)]
        found += [Hop(low, tuple(classes[i : i + shared])) for i in range(0, len(classes), shared)]
    return tuple(found)


@lru_cache(maxsize=64)
def schedule(bits: int, shared: int, *, moving: bool = False) -> tuple[Hop, ...]:
    """The fewest known hops for 2^bits classes, `shared` to a word; `moving`: every class leaves its lane, by T."""
    found = [direct(bits, moving=moving)]
    if shared > 1:
        found += [two_steps(bits, shared, moving=moving, halving=halving) for halving in (False, True)]
        if shared == 2 and bits >= 2 and not moving:
            found.append(_of_lines(bits))
        if shared == 4 and bits == 6 and not moving:
            found.append(_of_sums())
    return min(found, key=len)


def _of_lines(bits: int) -> tuple[Hop, ...]:
    """Two hops for each line of a spread; its third number goes with both."""
    lines = list(_lines(bits))
    first = [Hop(a, (a, a ^ b)) for a, b in lines]
    second = [Hop(b, (b, a ^ b)) for a, b in lines]
    return (*first, *second, *(two_steps(3, 2) if bits % 2 else ()))


def _lines(bits: int) -> Iterator[tuple[int, int]]:
    """Lines that have every number once, but for those below 8 where there is an odd number of bits: two numbers of each.

    Numbers (x, y) with y of two bits: for each x of the field of 2^(bits - 2) the line of all (x * y, y); then those with
    y = 0.
    """
    if bits < 4:
        if bits == 2:
            yield 1, 2
        return
    low = bits - 2
    for x in range(1 << low):
        yield _product(x, 1, low) | 1 << low, _product(x, 2, low) | 2 << low
    yield from _lines(low)


def _product(one: int, other: int, bits: int) -> int:
    """The product in the field of 2^bits."""
    reduced = {2: 0b111, 3: 0b1011, 4: 0b10011}[bits]
    found = 0
    for i in range(bits):
        found ^= one << i if other >> i & 1 else 0
    for i in range(2 * bits - 2, bits - 1, -1):
        found ^= reduced << i - bits if found >> i & 1 else 0
    return found


def _of_sums() -> tuple[Hop, ...]:
    return tuple([Hop(carried[0], carried) for carried in _SUMS])


def fewest(bits: int, shared: int, moving_bits: int = 0, *, chained: bool = False) -> int:
    """The number of shuffles that no schedule of 2^bits classes beats, `shared` to a word.

    With `moving_bits` r, T leaves one lane in 2^r where it is: every class of the others leaves its lane. Where T and the
    exchange have lane bits in common (`chained`), both hops of a class may be by T: over a lane that stays. With r = 1, of s
    shuffles, and P in a word: the N - 1 classes of a lane that stays and the N of one that moves need 4N - 2 - 2s hops, for
    which there is room for 2sP. Those lanes that stay pass on what needs two, 3N - 2 - 3s classes, in (P - 1)s places, and
    s less for their own. Where t classes take a third hop instead, t is added to the first and taken from the second; in the
    sum, 7N - 4 <= s(3P + 4), it is gone. (A linear program over all kinds of hops gives the same numbers.)

    >>> fewest(4, 2, 1), fewest(4, 4, 1), fewest(3, 1, 1), fewest(4, 2, 1, chained=True)
    (12, 7, 8, 11)
    """
    classes = 1 << bits
    if not moving_bits:
        return max(-(-2 * (classes - 1) // (shared + 1)), bits)
    if shared == 1:
        return classes
    shuffles = max(classes.bit_length(), -(-classes // shared)) if classes > 1 else 1
    if chained and (moving_bits == 1 or bits > 4):
        return max(shuffles, -(-(7 * classes - 4) // (3 * shared + 4)))
    while not _has_room(shuffles, classes, shared, moving_bits):
        shuffles += 1
    return shuffles


def _has_room(shuffles: int, classes: int, shared: int, moving_bits: int) -> bool:
    """Whether the hops of all classes have room in so many words, on average over the lanes that T moves and those it does not.

    Of the words that a lane hears, t come by T: at most t classes take one hop. The others take two where one of these
    is in a word that is not by T, for which there is room for (s - t) P classes; else three.
    """
    # The least number of hops is linear between these numbers of words by T.
    mixed = (shuffles * shared - classes) / (shared - 1)
    hops = min(
        3 * classes - 2 * min(t, classes) - min(classes - min(t, classes), (shuffles - t) * shared)
        for t in (0, shuffles, max(min(mixed, shuffles), 0))
    )
    still = 2 * (classes - 1) - min(shuffles, classes - 1)
    share = 1 / (1 << moving_bits)
    return (1 - share) * hops + share * still <= shuffles * shared + 1e-9
