"""Values that lanes of a subgroup give each other: shuffles and rotations.

    idx: from lane `offset` of the segment    xor: from lane number ^ offset    up: number - offset    down: number + offset

A segment is `width` lanes. A source outside the segment is not valid: the lane keeps its own value.

>>> value = np.arange(4).reshape(1, 1, 4)
>>> [part.ravel().tolist() for part in shuffle(value, np.full((1, 1, 1), 1), "down", 4, 4)[:2]]
[[1, 2, 3, 3], [True, True, True, False]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["rotate", "shuffle", "take_lanes"]

Array = NDArray[Any]


def take_lanes(value: Array, source: Array) -> Array:
    """The value of lane source[.., lane], for every lane.

    >>> take_lanes(np.array([[[10, 20]]]), np.array([[[1, 0]]])).tolist()
    [[[20, 10]]]
    """
    items = np.broadcast_shapes(value.shape[:2], source.shape[:2])
    source = np.broadcast_to(source, (*items, source.shape[2])).reshape(*items, -1, *(1,) * (value.ndim - 3))
    return np.take_along_axis(np.broadcast_to(value, (*items, *value.shape[2:])), source, axis=2)


def shuffle(value: Array, offset: Array, mode: str, width: int, lanes: int) -> tuple[Array, Array, Array]:
    """What every lane receives, whether its source is valid, and the source's number (its own where it isn't valid).

    >>> shuffle(np.arange(4).reshape(1, 1, 4), np.full((1, 1, 1), 2), "xor", 4, 4)[0].ravel().tolist()
    [2, 3, 0, 1]
    """
    own = np.arange(lanes, dtype=np.int64).reshape(1, 1, -1)
    inside, first = own % width, own - own % width
    offset = offset.astype(np.int64)
    match mode:
        case "idx":
            source = np.broadcast_to(offset, np.broadcast_shapes(offset.shape, own.shape))
        case "xor":
            source = inside ^ offset
        case "up":
            source = inside - offset
        case _:
            source = inside + offset
    valid = (source >= 0) & (source < width) & (first + source < lanes)
    source = np.where(valid, first + source, own)
    return take_lanes(value, source), np.asarray(valid), source


def rotate(value: Array, offset: int, width: int, lanes: int) -> tuple[Array, Array]:
    """What every lane receives from the lane `offset` further in its segment, round and round; and that lane's number.

    >>> rotate(np.arange(4).reshape(1, 1, 4), 1, 4, 4)[0].ravel().tolist()
    [1, 2, 3, 0]
    """
    own = np.arange(lanes, dtype=np.int64).reshape(1, 1, -1)
    source = own - own % width + (own + offset) % width
    return take_lanes(value, source), source
