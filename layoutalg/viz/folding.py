"""Folding: which rows and columns of a large tensor are drawn, and which are left to dots.

A side of a picture is made of runs, major to minor, as a layout's dimension is made of factors: from one value of a run to
the next, every number that is drawn changes by the same step. Of a long run the first values, dots and the last one are
drawn, the fewer the less room there is; the runs within each drawn value are drawn alike:

>>> [str(band) for band in fold([ExtentRun(16)], most=8)]
['0', '1', '2', '3', '4', '5', '6', '⋯', '15']
>>> [str(band) for band in fold([ExtentRun(2), ExtentRun(16)], most=8)]
['0', '1', '2', '⋯', '15', '16', '17', '18', '⋯', '31']

So dots leave out only what continues on both sides: whoever knows the values before and after the dots knows the ones
between. Where whole blocks are left out, with jumps inside them, the sign is not dots: `+2×4` are 2 more blocks of 4, each
the block before moved by the same step, up to the next one drawn:

>>> [str(band) for band in fold([ExtentRun(4), ExtentRun(2, solid=True), ExtentRun(2, solid=True)], most=8)]
['0', '1', '2', '3', '+2×4', '12', '13', '14', '15']

A `solid` run, where the numbers jump, is drawn whole, and so are groups of up to four neighbours. Where that leaves more than
`most` bands, more are drawn:

>>> [str(band) for band in fold([ExtentRun(8, solid=True), ExtentRun(8)], most=8)][:7]
['0', '⋯', '7', '8', '⋯', '15', '16']

The longest run folds first, then the major ones fold further; a run whose values differ in nothing that is drawn
(`repeats`) folds before all others; `×4` says that what stands before is there 4 times in all:

>>> [str(band) for band in fold([ExtentRun(4, repeats=True), ExtentRun(6)], most=8)]
['0', '1', '2', '3', '4', '5', '×4']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_BANDS

__all__ = ["DOTS", "TIMES", "Band", "ExtentRun", "common_runs", "fold"]

DOTS = "\N{MIDLINE HORIZONTAL ELLIPSIS}"
TIMES = "\N{MULTIPLICATION SIGN}"
_LEVELS = (7, 1), (3, 1), (1, 1)
"""How many first and last values of a run are drawn, when it is folded once, twice, and as far as can be."""
_WHOLE = 4
"""A group of so many neighbours is never folded apart: the elements that one register packs."""


@dataclass(frozen=True, slots=True)
class ExtentRun:
    """One run of a side: its extent, whether its values differ in nothing that is drawn, and whether they jump."""

    extent: int
    repeats: bool = False
    solid: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """Some neighbouring indices of a side, drawn as one row or column: `size` of them from `start`.

    In a `gap` they are not drawn: blocks of `period` indices, which continue from the block before the gap to the block
    behind it; `again` is how often the block before repeats instead (0: it does not). `even` says that a block is one band,
    so that single values go on evenly.

    >>> str(Band(16, 16)), str(Band(3, 12, gap=True, period=1, even=True)), str(Band(32, 64, gap=True, period=16))
    ('16-31', '⋯', '+4×16')
    """

    start: int
    size: int = 1
    gap: bool = False
    again: int = 0
    period: int = 0
    even: bool = False

    def __str__(self) -> str:
        if self.again:
            return f"{TIMES}{self.again + 1}"
        if self.gap:
            return DOTS if self.even else f"+{self.size // self.period}{TIMES}{self.period}"
        return str(self.start) if self.size == 1 else f"{self.start}-{self.start + self.size - 1}"


def fold(runs: Sequence[ExtentRun], most: int, cell: int = 1) -> tuple[Band, ...]:
    """The bands of a side of these runs, major to minor, above cells of `cell` indices each.

    At most `most` bands are drawn where that many can be folded; `SizeError` where over 2^14 are left.
    """
    levels = [0] * len(runs)
    while True:
        counts = [sum(_shown(runs, levels, d)[:2]) for d in range(len(runs))]
        if prod(counts) <= most:
            break
        open_ones = [d for d in range(len(runs)) if levels[d] < len(_LEVELS) and _folds(runs, d)]
        if not open_ones:
            break
        levels[max(open_ones, key=lambda d: _urgency(runs, levels[d], d))] += 1
    if prod(counts) > MOST_BANDS:
        raise SizeError(
            f"{prod(counts)} of {prod(run.extent for run in runs) * cell} rows or columns cannot be folded, because their "
            "numbers jump: draw a part of the tensor (restrict), or all of it as an image (full, .png)"
        )
    bands = [Band(0, cell)]
    block = cell
    for d in reversed(range(len(runs))):
        bands = _repeated(bands, block, runs[d].extent, _shown(runs, levels, d))
        block *= runs[d].extent
    return tuple(bands)


def common_runs(sides: Sequence[Sequence[ExtentRun]]) -> list[ExtentRun]:
    """The runs that fold several sides of one size alike: from one value to the next, each side changes by its own step.

    >>> common_runs([[ExtentRun(64)], [ExtentRun(16), ExtentRun(4)]])
    [ExtentRun(extent=16, repeats=False, solid=False), ExtentRun(extent=4, repeats=False, solid=False)]

    Sides that share no such runs are drawn whole:

    >>> common_runs([[ExtentRun(2), ExtentRun(3)], [ExtentRun(3), ExtentRun(2)]])
    [ExtentRun(extent=6, repeats=False, solid=True)]
    """
    marks: set[int] = set()
    solid: list[tuple[int, int]] = []
    for runs in sides:
        size = 1
        for run in reversed(runs):
            marks |= {size, size * run.extent}
            if run.solid:
                solid.append((size, size * run.extent))
            size *= run.extent
    ordered = sorted(marks)
    if any(high % low for low, high in pairwise(ordered)):
        return [ExtentRun(ordered[-1], solid=True)]
    found = [
        ExtentRun(high // low, solid=any(start <= low < end for start, end in solid)) for low, high in pairwise(ordered)
    ]
    return found[::-1]


def _folds(runs: Sequence[ExtentRun], d: int) -> bool:
    """Whether a run may be folded; groups of neighbours are drawn whole."""
    run = runs[d]
    innermost = prod(r.extent for r in runs[d + 1 :]) == 1
    return not run.solid and run.extent > 1 and (run.repeats or not innermost or run.extent > _WHOLE)


def _urgency(runs: Sequence[ExtentRun], level: int, place: int) -> tuple[bool, bool, int, int, int]:
    """Who folds next: what repeats; then the minor run, of which dots lose nothing; then the longest, then the major ones."""
    run, even = runs[place], all(one.extent == 1 for one in runs[place + 1 :])
    return run.repeats, even, -level, run.extent if level == 0 else 0, -place


def _shown(runs: Sequence[ExtentRun], levels: Sequence[int], d: int) -> tuple[int, int, bool]:
    """How many first values are drawn, how many last ones, and whether the rest repeats the first."""
    run, level = runs[d], levels[d]
    if run.repeats and level:
        within = any(one.repeats and levels[d + 1 + i] for i, one in enumerate(runs[d + 1 :]))
        first, last = (1, int(within))
    else:
        first, last = (run.extent, 0) if not level else _LEVELS[level - 1]
    return (run.extent, 0, False) if first + last >= run.extent else (first, last, not last)


def _repeated(bands: list[Band], block: int, extent: int, shown: tuple[int, int, bool]) -> list[Band]:
    """The bands of one block for every drawn value of a run, a gap for the values left out."""
    first, last, again = shown
    left = extent - first - last

    def moved(value: int) -> list[Band]:
        return [replace(b, start=value * block + b.start) for b in bands]

    found = [band for value in range(first) for band in moved(value)]
    if left:
        found.append(
            Band(first * block, left * block, gap=True, again=left if again else 0, period=block, even=len(bands) == 1)
        )
    return found + (moved(extent - 1) if last else [])
