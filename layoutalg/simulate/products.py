"""What one DPAS computes, for many at once.

DPAS adds to an element of C a chain of products, in the order of depth. A link of the chain is as many products as fit into
32 bits: one for tf32, two for f16 and bf16, four and eight for integers of 8 and 4 bits.

    acc = f32(acc + f32(a[2d] * b[2d] + a[2d+1] * b[2d+1]))      for d = 0 .. 7, 16-bit floats

The accumulator comes first; every product is exact in f32, every sum is rounded to f32. An accumulator of f16 or bf16 is
rounded once, after the last link. tf32 drops the 13 low bits of an f32. Integers are exact modulo 2^32. (The extension texts
leave the order to the implementation; the chain is that of the graphics compiler's DPAS.md, which says nothing of rounding.)

By hand: a row (1, 1, 0, ...) times a column (1, 1, 0, ...) onto 2^24 gives 2^24 + 2, because the pair is summed before it
meets the accumulator. One at a time, each 1 would be lost: 2^24 + 1 rounds to 2^24.

>>> a, b = np.zeros((1, 16), np.float16), np.zeros((16, 1), np.float16)
>>> a[0, :2] = b[:2, 0] = 1
>>> int(dpas_chain(a, b, np.full((1, 1), 2**24, np.float32))[0, 0]) - 2**24
2

The arrays are long in their last axis, so that numpy's loops are: lanes and registers come first, subgroups last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["added_chain", "as_factor", "dpas_chain"]

Array = NDArray[Any]

_PIECE = 1 << 16
"""Elements of the accumulators that are worked on at a time: they and two temporaries stay in a core's cache."""

Scratch = dict[Any, Any]


def as_factor(value: Array, kind: str) -> Array:
    """The numbers of an operand as f32 (or as int32), contiguous in the order of the view that is given.

    `kind` is a DPAS type: f16, bf16, tf32, s8, u8, s4 or u4.

    >>> as_factor(np.array([-1, 255]), "u8"), as_factor(np.array([0.5], np.float16), "f16")
    (array([255, 255], dtype=int32), array([0.5], dtype=float32))
    """
    if kind[0] in "su":
        bits = int(kind[1:])
        low = np.array(value, np.int32, order="C") & ((1 << bits) - 1)
        return low if kind[0] == "u" else (low ^ (1 << bits - 1)) - (1 << bits - 1)
    if kind == "bf16":
        words = np.array(value.view(np.uint16), np.uint32, order="C")
        words <<= np.uint32(16)
        return words.view(np.float32)
    made = np.array(value, np.float32, order="C")
    if kind == "tf32":
        words = made.view(np.uint32)
        words &= np.uint32(0xFFFFE000)
    return made


def added_chain(left: Array, right: Array, start: Array | None, packed: int, scratch: Scratch | None = None) -> Array:
    """start + the sum over k of left[k] * right[k], in links of `packed` products.

    `left[k]` and `right[k]` broadcast to the shape of the result. The last link is shorter where the depth is not a multiple.

    >>> added_chain(np.ones((4, 1, 3), np.float32), np.ones((4, 2, 1), np.float32), None, 2).tolist()
    [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]
    >>> added_chain(np.ones((5, 1), np.int32), np.ones((5, 1), np.int32), None, 4).tolist()
    [5]
    """
    shape = np.broadcast_shapes(left.shape[1:], right.shape[1:], () if start is None else start.shape)
    total = np.empty(shape, left.dtype)
    if start is not None:
        start = np.broadcast_to(start, shape)
    each = max(1, _PIECE // max(1, total[:1].size))
    pieces = _temporaries((min(each, shape[0]), *shape[1:]), left.dtype, scratch)
    with np.errstate(all="ignore"):
        for low in range(0, shape[0], each):
            here = slice(low, min(low + each, shape[0]))
            part = total[here]
            one, other = (piece[: len(part)] for piece in pieces)
            before = 0 if start is None else start[here]
            for k in range(0, len(left), packed):
                np.multiply(_rows(left[k], here), _rows(right[k], here), out=one)
                for j in range(k + 1, min(k + packed, len(left))):
                    np.multiply(_rows(left[j], here), _rows(right[j], here), out=other)
                    np.add(one, other, out=one)
                np.add(before, one, out=part)
                before = part
    return total


def _rows(values: Array, here: slice) -> Array:
    return values if values.shape[0] == 1 else values[here]


def _temporaries(shape: tuple[int, ...], dtype: np.dtype[Any], scratch: Scratch | None) -> tuple[Array, Array]:
    key = ("temporaries", shape, dtype)
    found = None if scratch is None else scratch.get(key)
    if found is None:
        found = np.empty(shape, dtype), np.empty(shape, dtype)
        if scratch is not None:
            scratch[key] = found
    return found


def dpas_chain(a: Array, b: Array, acc: Array) -> Array:
    """acc [.., m, n] plus a [.., m, k] times b [.., k, n], for 16-bit floats, in the order that DPAS has.

    >>> dpas_chain(np.ones((2, 16), np.float16), np.ones((16, 3), np.float16), np.zeros((2, 3), np.float32))[1]
    array([16., 16., 16.], dtype=float32)
    """
    kinds = ["bf16" if operand.dtype.name == "bfloat16" else "f16" for operand in (a, b)]
    left = as_factor(np.moveaxis(a, -1, 0), kinds[0])[..., None]
    right = as_factor(np.moveaxis(b, -2, 0), kinds[1])[..., None, :]
    return added_chain(left, right, np.asarray(acc, np.float32), 2)
