"""Which lane each lane reads by AMD's data parallel primitives (DPP).

>>> import numpy as np
>>> sources(0x1B, np.arange(8)).tolist(), sources(0x121, np.arange(16)).tolist()[:3]
([3, 2, 1, 0, 7, 6, 5, 4], [15, 0, 1])

Source: AMD's CDNA 3 instruction set guide, "DPP_CTRL".
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["sources"]


def sources(control: int, lanes: NDArray[Any]) -> NDArray[Any] | None:
    """The lane that each lane reads; None for a control that reads beyond rows of 16 lanes.

    >>> sources(0x140, np.arange(16)).tolist()[:2], sources(0x153, np.arange(16)).tolist()[:2], sources(0x130, np.arange(16))
    ([15, 14], [3, 3], None)
    """
    row = lanes & ~15
    if 0 <= control < 0x100:
        return lanes & ~3 | control >> 2 * (lanes & 3) & 3
    if 0x121 <= control <= 0x12F:
        return row | (lanes - (control - 0x120)) & 15
    if control in (0x140, 0x141):
        return lanes ^ (15 if control == 0x140 else 7)
    return row | control - 0x150 if 0x150 <= control <= 0x15F else None
