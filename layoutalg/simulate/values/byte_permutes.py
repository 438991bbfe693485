"""Byte permutes of NVIDIA's and AMD's chips: a word of bytes chosen from two words, by a selector.

>>> [hex(int(word)) for word in nvidia(*np.array([[0x33221100], [0x77665544], [0x5410]]))]
['0x55441100']
>>> [hex(int(word)) for word in amd(*np.array([[0x77665544], [0x33221100], [0x05040100]]))]
['0x55441100']

Sources: PTX ISA, "Data Movement and Conversion Instructions: prmt" (generic mode); AMD's instruction set guides for CDNA and
RDNA, "V_PERM_B32".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["amd", "nvidia"]

Array = NDArray[Any]


def _bytes_of(low: Array, high: Array) -> Array:
    """The eight bytes of two words, on a last axis, those of `low` first."""
    high, low = (word.astype(np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF) for word in (high, low))
    both = high << np.uint64(32) | low
    return (both[..., None] >> np.arange(0, 64, 8, dtype=np.uint64) & np.uint64(0xFF)).astype(np.int64)


def _word_of(parts: Array) -> Array:
    """The signed number of four bytes."""
    return np.ascontiguousarray(parts.astype(np.uint8)).view("<i4")[..., 0]


def nvidia(a: Array, b: Array, selector: Array) -> Array:
    """`prmt.b32`: four bits for each byte, the lowest first; 0 to 3 are bytes of `a`, 4 to 7 of `b`, 8 more the byte's sign.

    >>> hex(int(nvidia(np.array(0x80), np.array(0), np.array(0x8888))) & 0xFFFFFFFF)
    '0xffffffff'
    """
    a, b, selector = np.broadcast_arrays(a, b, selector)
    nibbles = selector.astype(np.int64)[..., None] >> np.arange(0, 16, 4)
    chosen = np.take_along_axis(_bytes_of(a, b), nibbles & 7, -1)
    return _word_of(np.where(nibbles & 8, (chosen >> 7) * 0xFF, chosen))


def amd(s0: Array, s1: Array, selector: Array) -> Array:
    """`v_perm_b32`: a byte for each byte; 0 to 3 are bytes of `s1`, 4 to 7 of `s0`.

    8 to 11 are the signs of bytes 1, 3, 5 and 7, 12 is 0 and all that is more 0xFF.

    >>> hex(int(amd(np.array(0), np.array(0x8000), np.array(0x0D080C01))) & 0xFFFFFFFF)
    '0xffff0080'
    """
    s0, s1, selector = np.broadcast_arrays(s0, s1, selector)
    wanted = selector.astype(np.int64)[..., None] >> np.arange(0, 32, 8) & 0xFF
    parts = _bytes_of(s1, s0)
    signs = parts[..., 1::2] >> 7
    every = np.concatenate([parts, signs * 0xFF, np.zeros_like(parts[..., :1]), np.full_like(parts[..., :1], 0xFF)], -1)
    return _word_of(np.take_along_axis(every, np.minimum(wanted, 13), -1))
