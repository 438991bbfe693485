"""Elements that move inside a value: an array with the axes [workgroup, subgroup, lane], then those of its vector.

>>> words = np.array([[[[0x0201, 0x0403]]]], np.int16)
>>> bitcast(words, element("i16"), element("i8")).ravel().tolist()
[1, 2, 3, 4]

Bits are little endian, as LLVM has them on these machines: the first byte is the low one, and the first i1 the lowest bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.simulate.values.elements import Element, as_unsigned, element, settle

__all__ = ["ITEMS", "bitcast", "box", "mask_of", "spread"]

Array = NDArray[Any]

ITEMS = 3
"""The axes of the work-items: workgroup, subgroup, lane."""


def bitcast(value: Array, source: Element, target: Element) -> Array:
    """The same bits in elements of another type; the last axis grows or shrinks with the width.

    >>> bitcast(np.array([1.0], np.float32), element("f32"), element("i32"))
    array([1065353216], dtype=int32)
    >>> bitcast(np.array([True, False, True, True] * 2), element("i1"), element("i8")).tolist()
    [-35]
    """
    if "tf32" in (source.name, target.name):
        raise LayoutError("the bits of tf32 are not specified; bitcast f32")
    whole = all(kind.is_float or kind.exact for kind in (source, target))
    if whole:
        if value.ndim == 0:
            return np.ascontiguousarray(value.astype(source.dtype, copy=False)).reshape(1).view(target.dtype)[0]
        return np.ascontiguousarray(value.astype(source.dtype, copy=False)).view(target.dtype)
    if source.bits == target.bits:
        number = as_unsigned(bitcast(value, source, element(f"i{source.bits}")), source) if source.is_float else value
        return settle(np.asarray(number), target)
    bits = _bits(value, source)
    bits = bits.reshape(*value.shape[:-1], value.shape[-1] * source.bits // target.bits, target.bits)
    places = np.uint64(1) << np.arange(target.bits, dtype=np.uint64)
    number = (bits.astype(np.uint64) * places).sum(axis=-1, dtype=np.uint64)
    if target.is_float:
        return number.astype(target.unsigned_dtype).view(target.dtype)
    return settle(number, target)


def _bits(value: Array, kind: Element) -> Array:
    """[.., element, bit], the lowest bit first."""
    if kind.is_float:
        number = np.ascontiguousarray(value).view(kind.unsigned_dtype).astype(np.uint64)
    else:
        number = as_unsigned(value, kind)
    return (number[..., None] >> np.arange(kind.bits, dtype=np.uint64)) & np.uint64(1)


def spread(value: Array, axes: int) -> Array:
    """A value with axes of 1 between those of the work-items and its own, so that it has `axes` of its own.

    >>> spread(np.zeros((2, 1, 16, 8)), 2).shape
    (2, 1, 16, 1, 8)
    """
    missing = axes - (value.ndim - ITEMS)
    return value.reshape(*value.shape[:ITEMS], *(1,) * missing, *value.shape[ITEMS:])


def box(offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> tuple[slice, ...]:
    """The slices of a strided box; the dimensions after those that are named are whole.

    >>> np.arange(10)[box([2], [3], [2])].tolist()
    [2, 4, 6]
    """
    return tuple(
        slice(offset, offset + (size - 1) * stride + 1, stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
    )


def mask_of(bounds: Sequence[Array], shape: Sequence[int]) -> Array:
    """Where every coordinate is below its bound: what `vector.create_mask` makes.

    >>> mask_of([np.full((1, 1, 1), 2)], [4])
    array([[[[ True,  True, False, False]]]])
    """
    result = np.ones((1,) * (ITEMS + len(shape)), bool)
    for axis, (bound, extent) in enumerate(zip(bounds, shape, strict=True)):
        numbers = np.arange(extent).reshape(-1, *(1,) * (len(shape) - axis - 1))
        result = result & (numbers < bound.reshape(*bound.shape[:ITEMS], *(1,) * len(shape)))
    return np.broadcast_to(result, (*result.shape[:ITEMS], *shape))
