"""Folding: which rows and columns of a large tensor are drawn, and which are left to dots.

The digits of a layout say what repeats. Of a long run the first values, dots and the last one are drawn, as one would by
hand; the runs within each drawn value are drawn alike:

>>> [str(band) for band in fold([Digit(16)], most=8)]
['0', '1', '2', '⋯', '15']
>>> [str(band) for band in fold([Digit(2), Digit(16)], most=8)]
['0', '1', '2', '⋯', '15', '16', '17', '18', '⋯', '31']

The longest run folds first, then the major ones fold further, until at most `most` bands are left; a digit on which
nothing but the same again follows (`repeats`) folds before all others:

>>> [str(band) for band in fold([Digit(4, repeats=True), Digit(6)], most=8)]
['0', '1', '2', '3', '4', '5', '⋯']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

__all__ = ["Band", "Digit", "fold"]

_Shown = list[int]
"""The values of a digit that are drawn; after -1 come the ones that are not, up to the next."""


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit of a side: its extent, and whether its values differ in nothing that is drawn.

    >>> Digit(4).repeats
    False
    """

    extent: int
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """Some neighbouring indices of a side, drawn as one row or column: `size` of them from `start`.

    In a `gap` they are not drawn; `again` is how often what was drawn before repeats in it (0: it does not).

    >>> str(Band(16, 16)), str(Band(3, 12, gap=True))
    ('16-31', '⋯')
    """

    start: int
    size: int = 1
    gap: bool = False
    again: int = 0

    def __str__(self) -> str:
        if self.gap:
            return "\N{MIDLINE HORIZONTAL ELLIPSIS}"
        return str(self.start) if self.size == 1 else f"{self.start}-{self.start + self.size - 1}"


def fold(digits: Sequence[Digit], most: int, cell: int = 1) -> tuple[Band, ...]:
    """The bands of a side whose digits are these, major to minor, above cells of `cell` indices each.

    At most `most` bands (at least 1) are no gaps.

    >>> [str(band) for band in fold([Digit(4096)], most=3, cell=16)]
    ['0-15', '⋯', '65520-65535']
    >>> [str(band) for band in fold([Digit(2), Digit(2)], most=100)]
    ['0', '1', '2', '3']
    """
    levels = [0] * len(digits)
    counts = [d.extent for d in digits]
    while prod(counts) > most:
        best = max(
            (d for d in range(len(digits)) if counts[d] > 1), key=lambda d: _turn(digits[d], levels[d], counts[d], d)
        )
        levels[best] += 1
        counts[best] = _count(digits[best], levels[best])
    bands = [Band(0, cell)]
    block = cell
    for digit, level in zip(reversed(digits), reversed(levels), strict=True):
        bands = _repeated(bands, block, digit, level)
        block *= digit.extent
    return tuple(bands)


def _turn(digit: Digit, level: int, count: int, place: int) -> tuple[bool, int, int, int]:
    """Who folds next: what repeats; then the longest run, if it is whole; then the major digits, so that the minor stay."""
    return digit.repeats, -level, count if level == 0 else 0, -place if level else place


def _shown(digit: Digit, level: int) -> tuple[int, bool]:
    """How many first values are drawn, and whether the last one is."""
    if digit.repeats and level:
        return 1, False
    first, last = [(digit.extent, False), (3, True), (1, True), (1, False)][level]
    return (digit.extent, False) if first + last >= digit.extent else (first, last)


def _count(digit: Digit, level: int) -> int:
    first, last = _shown(digit, level)
    return first + last


def _repeated(bands: list[Band], block: int, digit: Digit, level: int) -> list[Band]:
    """The bands of one block for every drawn value of a digit, a gap for those left out."""
    first, last = _shown(digit, level)
    found: list[Band] = []

    def add(band: Band) -> None:
        if found and found[-1].gap and band.gap:
            band = Band(found[-1].start, found[-1].size + band.size, gap=True)
            found.pop()
        found.append(band)

    for value in [*range(first), *([-1, digit.extent - 1] if last else [-1] if first < digit.extent else [])]:
        if value < 0:
            left = digit.extent - first - last
            add(Band(first * block, left * block, gap=True, again=left if digit.repeats else 0))
            continue
        for band in bands:
            add(Band(value * block + band.start, band.size, band.gap, band.again))
    return found
