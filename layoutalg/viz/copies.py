"""Copies in labels and in words: who holds what others hold too.

A factor of the replicas says how many copies there are, and how far apart. A tile over 8 lanes of 16:

>>> tile = Layout.parse("d0 = 4@reg, d1 = 8@lane | replicas 2@lane:8")
>>> copies_in_words(tile)
({'lane': range(0, 16, 8)}, ('lanes 8 to 15 hold what lanes 0 to 7 hold',))
>>> several([3, 11])
'3,11'

Where the copies of different owners lie between each other, the words say how far apart they are:

>>> copies_in_words(Layout.parse("d0 = 4@lane:2 | replicas 2@lane"))[1]
('what a lane holds, lane + 1 holds too',)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

from layoutalg.core.factors import Factor, XorFactor
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_CELL_COPIES
from layoutalg.core.plurals import spoken
from layoutalg.viz.folding import DOTS
from layoutalg.viz.sides import span

__all__ = ["copies_in_words", "several"]

_WRITTEN = 4
"""So many numbers are written out."""
_MORE = "\N{HORIZONTAL ELLIPSIS}"


def several(numbers: Sequence[int]) -> str:
    """Ascending numbers as a label: a range, all of up to four, or the ends of what goes on evenly.

    Where more do not go on evenly, the first stands for all:

    >>> several([5]), several([0, 1, 2, 3]), several([0, 4, 8, 12, 16]), several([0, 1, 4, 5, 16])
    ('5', '0-3', '0,4⋯16', '0…')
    """
    steps = {numbers.step} if isinstance(numbers, range) else {b - a for a, b in pairwise(numbers)}
    if not numbers:
        return _MORE
    if steps <= {1} and len(numbers) != 2:
        return span(numbers[0], numbers[-1])
    if len(numbers) <= _WRITTEN:
        return ",".join(map(str, numbers))
    return f"{numbers[0]},{numbers[1]}{DOTS}{numbers[-1]}" if len(steps) == 1 else f"{numbers[0]}{_MORE}"


def moved(offsets: Sequence[int], start: int) -> Sequence[int]:
    """Numbers so far from another one.

    >>> moved(range(0, 16, 8), 3), moved([0, 1, 4], 3)
    (range(3, 19, 8), [3, 4, 7])
    """
    if isinstance(offsets, range):
        return range(offsets.start + start, offsets.stop + start, offsets.step)
    return [offset + start for offset in offsets]


def copies_in_words(layout: Layout) -> tuple[dict[str, Sequence[int]], tuple[str, ...]]:
    """How far copies are from the lowest owner along each axis that has some, and a sentence about each axis.

    An axis with more than 4,096 copies that do not go on evenly has none of them, and a label the sign for more.
    """
    replicas = layout.canonical().replicas
    if any(isinstance(f, XorFactor) for f in replicas):
        return {}, (f"each element is in {prod(f.extent for f in replicas)} places; the lowest is drawn",)
    spread: dict[str, Sequence[int]] = {}
    words: list[str] = []
    for axis in layout.codomain:
        factors = [f for f in replicas if f.axis == axis and f.extent > 1]
        if factors:
            spread[axis] = _offsets(factors)
            words.append(_sentence(layout, axis, factors))
    return spread, tuple(words)


def _offsets(factors: Sequence[Factor]) -> Sequence[int]:
    """How far copies along one axis are from the lowest, ascending."""
    moves: list[tuple[int, int]] = [(int(f.extent), abs(int(f.stride))) for f in factors]
    if len(moves) == 1:
        extent, stride = moves[0]
        return range(0, extent * stride, stride)
    if prod(extent for extent, _ in moves) > MOST_CELL_COPIES:
        return ()
    return sorted({sum(digits) for digits in product(*(range(0, n * s, s) for n, s in moves))})


def _sentence(layout: Layout, axis: str, factors: Sequence[Factor]) -> str:
    """Who holds what others hold, along one axis."""
    own: list[Any] = [f for dim in layout.dims for f in dim if not isinstance(f, XorFactor) and f.axis == axis]
    reach = 1 + sum((f.extent - 1) * f.stride for f in own)
    low: Any = layout.offsets.get(axis, 0)
    (extent, stride, _), *more = factors
    word, names = spoken(axis), f"{spoken(axis)}s" if axis in MACHINE else spoken(axis)
    plain = not more and layout.flips is None and min((f.stride for f in (*own, *factors)), default=0) >= 0

    def some(first: int, count: int) -> str:
        return f"{word} {first}" if count == 1 else f"{names} {first} to {first + count - 1}"

    if plain and (stride == reach or (stride > reach and extent == 2)):
        copies = (extent - 1) * stride if stride == reach else reach
        times = f", {extent - 1} times" if extent > 2 and reach > 1 else ""
        return f"{some(low + stride, copies)} hold{'s' * (copies == 1)} what {some(low, reach)} hold{'s' * (reach == 1)}{times}"
    offsets = _offsets(factors)
    further = [f"{word} + {offset}" for offset in offsets[1:3]] or ["others"]
    further += [f"{len(offsets) - 3} more"] * (len(offsets) > 3)
    one = f"an {word}" if word[0] in "aeiou" else f"a {word}"
    return f"what {one} holds, {' and '.join(further)} hold{'s' * (len(offsets) == 2)} too"
