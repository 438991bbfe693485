"""Maps of layouts with XOR at the speed of memory: a short vector for each dimension, and one broadcast XOR of them.

>>> Layout.parse("d0 = 2@(lane:2^lane), d1 = 2@(lane)").owner_map("lane").tolist()
[[0, 1], [3, 2]]

Where an axis counts in powers of two alone, all its digits are bits of one number, and XOR is all there is. Otherwise the
XORed places are numbered, XORed as bits of that number, looked up, and added to what the other digits count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.factors import Place
from layoutalg.core.xor.digits import Digit, digits_of
from layoutalg.core.xor.lowest import XoredAxis, lowest_owner, xored_axis

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["fill", "fill_lowest"]

_Vector = NDArray[np.signedinteger[Any]]


def _vectors(
    row: Sequence[Digit], axis: XoredAxis, pick: _Vector | None, dtype: np.dtype[Any]
) -> tuple[_Vector | None, _Vector | None]:
    """What the values of a dimension XOR onto an axis, and what they add to it; None for nothing."""
    found: list[_Vector] = [np.zeros(1, dtype), np.zeros(1, dtype)]
    used = [False, False]
    for digit in reversed(row):
        step = kind = 0
        for name, weight in digit.moves:
            if name == axis.name:
                if digit.flips:
                    step ^= axis.bits[weight]
                else:
                    step, kind = weight, 0 if axis.binary else 1
        values = np.arange(digit.extent, dtype=dtype) * dtype.type(step)
        used[kind] |= bool(step)
        if kind:
            found = [np.repeat(found[0], digit.extent), (found[1][:, None] + values).reshape(-1)]
        else:
            found = [(found[0][:, None] ^ values).reshape(-1), np.repeat(found[1], digit.extent)]
    chosen = found if pick is None else [one[pick] for one in found]
    return chosen[0] if used[0] else None, chosen[1] if used[1] else None


def _fill_axis(
    rows: Sequence[tuple[Sequence[Digit], _Vector | None]],
    axis: XoredAxis,
    flips: Iterable[Place],
    start: int,
    out: _Vector,
) -> None:
    """Write the coordinates on one axis over all values (or the picked ones) of each dimension into `out`."""
    dtype = out.dtype
    found = [_vectors(row, axis, pick, dtype) for row, pick in rows]

    def spread(at: int, vector: _Vector) -> _Vector:
        return vector.reshape((-1,) + (1,) * (len(rows) - 1 - at))

    flipped = 0
    for name, weight in flips:
        if name == axis.name:
            flipped ^= axis.bits[weight]
    xors = [spread(i, one) for i, (one, _) in enumerate(found) if one is not None]
    if flipped:
        xors[:1] = [xors[0] ^ dtype.type(flipped)] if xors else [np.array(flipped, dtype)]
    if len(xors) > 1:
        head = xors[0]
        for one in xors[1:-1]:
            head = head ^ one
        np.bitwise_xor(head, xors[-1], out=out)
    else:
        out[...] = xors[0] if xors else 0
    if xors and not axis.binary:
        table = np.zeros(1, dtype)
        for weight in axis.weights:
            table = np.concatenate([table, table + dtype.type(weight)])
        out[...] = table[out]
    for i, (_, one) in enumerate(found):
        if one is not None:
            out += spread(i, one)
    if start:
        out += dtype.type(start)


def fill_lowest(layout: Relation, axis: str, out: _Vector) -> None:
    """Write where the lowest owner of each element is on an axis."""
    digits, flips = lowest_owner(layout)
    _fill_axis([(row, None) for row in digits.dims], xored_axis(digits, axis), flips, layout.offsets.get(axis, 0), out)


def fill(layout: Relation, axes: Sequence[str], picks: Sequence[_Vector | None], out: _Vector) -> None:
    """Write where the elements are on each of `axes` (`out[axis]`), of each dimension all values or the picked ones."""
    digits = digits_of(layout)
    starts = layout.offsets
    for i, axis in enumerate(axes):
        rows = list(zip(digits.dims, picks, strict=True))
        _fill_axis(rows, xored_axis(digits, axis), layout.flips or (), starts.get(axis, 0), out[i])
