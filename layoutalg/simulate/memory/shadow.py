"""Who wrote and who read each byte of a buffer last, in the pieces that accesses have so far.

A shadow has one stamp (see `stamps`) for each `grain` bytes, the size of the smallest element that was accessed. The first
access by smaller elements splits it.

>>> shadow = Shadow()
>>> shadow.places(np.array([3]), 4, 32)
array([3])
>>> shadow.writes[3] = 77
>>> shadow.places(np.array([6, 7]), 2, 32), shadow.grain
(array([6, 7]), 2)
>>> shadow.writes[[5, 6, 7, 8]]
array([ 0, 77, 77,  0])
>>> shadow.places(np.array([3]), 4, 32)
array([[6, 7]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_SHADOW_STAMPS

__all__ = ["Shadow"]

Array = NDArray[Any]


class Shadow:
    """The stamps of one buffer; `writes` and `reads` are made when they are first needed.

    >>> Shadow().writes.size
    0
    """

    __slots__ = ("grain", "reads", "writes")

    def __init__(self) -> None:
        self.grain = 0
        self.writes: NDArray[np.int64] = np.zeros(0, np.int64)
        self.reads: NDArray[np.int64] | None = None

    def places(self, places: Array, size: int, total: int) -> Array:
        """The stamps' numbers of elements of `size` bytes in a buffer of `total` bytes.

        Where a stamp is smaller than an element, a last axis counts the element's stamps.

        >>> Shadow().places(np.array([2]), 8, 64)
        array([2])
        """
        if (not self.grain or size < self.grain) and total // size > MOST_SHADOW_STAMPS:
            raise LayoutError(
                f"a buffer of {total} bytes that the kernel writes, in elements of {size}: at most {MOST_SHADOW_STAMPS} "
                "elements are simulated"
            )
        if not self.grain:
            self.grain = size
            self.writes = np.zeros(-(-total // size), np.int64)
        if size < self.grain:
            times, count = self.grain // size, -(-total // size)
            self.writes = np.repeat(self.writes, times)[:count]
            self.reads = None if self.reads is None else np.repeat(self.reads, times)[:count]
            self.grain = size
        if size == self.grain:
            return places
        inside = np.arange(size // self.grain)
        return np.asarray(places[..., None] * inside.size + inside)

    def reading(self) -> NDArray[np.int64]:
        """The stamps of readers.

        >>> shadow = Shadow()
        >>> _ = shadow.places(np.array([0]), 4, 16)
        >>> shadow.reading().size
        4
        """
        if self.reads is None:
            self.reads = np.zeros_like(self.writes)
        return self.reads
