"""Where words find room in a crowded drawing: places around one, and what is taken already.

>>> taken = Taken(36)
>>> taken.add(words_at((50, 20), 10))
>>> next(place for place in ((50, 20), *around((50, 20), 10)) if taken.is_free(words_at(place, 10)))
(50, 34)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

__all__ = ["Rectangle", "Taken", "around", "words_at"]

Rectangle: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def around(at: tuple[float, float], half: float) -> Iterator[tuple[float, float]]:
    """Places further and further from one, for crowded drawings."""
    for far in range(1, 13):
        for x in (0, half, -half):
            yield from ((at[0] + x, at[1] + 14 * far), (at[0] + x, at[1] - 14 * far))


def words_at(at: tuple[float, float], half: float) -> Rectangle:
    """What words take, half as wide as that, whose line is here."""
    x, y = at
    return x - half, y - 10, x + half, y + 3


class Taken:
    """Rectangles where something stands, in bands of so many pixels: one is compared with those of its bands alone."""

    def __init__(self, band: int) -> None:
        self._band = band
        self._bands: defaultdict[int, list[Rectangle]] = defaultdict(list)

    def add(self, one: Rectangle) -> None:
        """Something stands here."""
        for band in self._of(one):
            self._bands[band].append(one)

    def is_free(self, one: Rectangle) -> bool:
        """Whether nothing stands here, and it is inside the drawing at the left."""
        left, top, right, bottom = one
        others = (other for band in self._of(one) for other in self._bands.get(band, ()))
        return left >= 2 and not any(a < right and left < c and b < bottom and top < d for a, b, c, d in others)

    def _of(self, one: Rectangle) -> range:
        return range(int(one[1] // self._band), int(one[3] // self._band) + 1)
