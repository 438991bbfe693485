"""Layouts acting on numpy arrays: moving factors, and reading tiles byte by byte.

`rearrange` is what a layout from a matrix to a matrix does to an array: reshape into factors, transpose them to where they
go, reshape. A 4x2 matrix whose pairs of rows are interleaved:

>>> interleaved = Layout.parse("d0 = 2@d0 2@d1, d1 = 2@d1:2")
>>> rearrange(np.array([[0, 1], [2, 3], [4, 5], [6, 7]]), interleaved).tolist()
[[0, 2, 1, 3], [4, 6, 5, 7]]

`gather` reads a tensor out of a tile's bytes where a layout onto `row` and `col` says that its elements are, `scatter` puts
one there: `scatter(layout, gather(layout, tile, ...), ...)` is the tile.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.amx.tiles import TileType
from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout

__all__ = ["element_dtype", "element_of", "gather", "matrix_shape", "rearrange", "scatter", "tile_bytes"]

Array = NDArray[Any]

_NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "int8": "i8", "uint8": "i8"}


def element_dtype(element: str, zext: bool = False) -> np.dtype[Any]:
    """The numpy type of a tile's elements; `zext` reads i8 as unsigned."""
    return numpy_type("ui8" if zext and element == "i8" else element)


def element_of(array: Array) -> str:
    """The tile element type of an array.

    Raises `LayoutError` for an array of anything else.
    """
    name = array.dtype.name if isinstance(array, np.ndarray) else type(array).__name__  # pyright: ignore[reportUnnecessaryIsInstance]
    if name not in _NAMES:
        raise LayoutError(f"an array of {name}: expected a numpy array of {', '.join(_NAMES)}")
    return _NAMES[name]


def matrix_shape(array: Array, what: str) -> tuple[int, int]:
    """The last two sizes of an array, each at least 1.

    Raises `LayoutError` for an array without them.
    """
    element_of(array)
    if array.ndim < 2 or 0 in array.shape[-2:]:
        raise LayoutError(f"{what} of shape {list(array.shape)}: expected a matrix, [rows, columns] or batches of such")
    return array.shape[-2], array.shape[-1]


def rearrange(array: Array, layout: Layout) -> Array:
    """Move every element to where `layout` says: the dimensions of the result are the axes of its codomain.

    Dimensions of the array in front of the layout's are batches. Raises `LayoutError` where the shapes differ, and for a
    layout that is not a rearrangement: with an offset, with replicas, or with factors that leave a gap or overlap.
    """
    rank = layout.rank
    if tuple(array.shape[array.ndim - rank :]) != layout.shape:
        raise LayoutError(f"an array of shape {list(array.shape)}: expected [.., {_sizes(layout)}] (for {layout})")
    back = layout.inverse()
    if layout.replicas or back.replicas or layout.offsets or any(layout.origins):
        raise LayoutError(f"{layout} is not a rearrangement of an array")
    # The factors as the array has them, major to minor, each known by its dimension and its stride there.
    split: dict[tuple[str | None, int], int] = {}
    for name, size, factors in zip(layout.names, layout.shape, layout.dims, strict=True):
        for extent, _, _ in factors:
            size //= extent
            if extent != 1:
                split[name, size] = extent
    batch = array.shape[: array.ndim - rank]
    order = [len(batch) + list(split).index((f.axis, f.stride)) for factors in back.dims for f in factors]
    parted = array.reshape((*batch, *split.values()))
    return parted.transpose((*range(len(batch)), *order)).reshape((*batch, *back.shape))


def _sizes(layout: Layout) -> str:
    return ", ".join(map(str, layout.shape))


def tile_bytes(tile: Array, kind: TileType, operand: str) -> NDArray[np.uint8]:
    """The register's bytes `[..., rows, row bytes]` of a tile given as elements `[..., rows, cols]`.

    i8 may be int8 or uint8: the bytes are the same. Raises `LayoutError` for another shape or type.
    """
    if not isinstance(tile, np.ndarray) or tile.shape[-2:] != kind.shape or _NAMES.get(tile.dtype.name) != kind.element:  # pyright: ignore[reportUnnecessaryIsInstance]
        found = f"{tile.dtype.name} {list(tile.shape)}" if isinstance(tile, np.ndarray) else type(tile).__name__  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(
            f"{operand}: expected an array of {element_dtype(kind.element).name} {list(kind.shape)} for {kind}, got {found}"
        )
    little = tile.astype(tile.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).view(np.uint8)


def gather(layout: Layout, contents: NDArray[np.uint8], dtype: np.dtype[Any]) -> Array:
    """The tensor that a layout onto `row` and `col` finds in a tile's bytes `[..., row, col]`.

    >>> byte_pairs = np.array([[1, 0, 2, 0]], np.uint8)
    >>> gather(Layout.parse("d0 = 2@col:2, d1 = 1@row"), byte_pairs, np.dtype("<i2")).tolist()
    [[1], [2]]
    """
    rows, cols = _places(layout, dtype)
    if _elements_in_line(cols, dtype) and contents.shape[-1] % dtype.itemsize == 0:
        return np.ascontiguousarray(contents).view(dtype)[..., rows[..., 0], cols[..., 0] // dtype.itemsize]
    return np.ascontiguousarray(contents[..., rows, cols]).view(dtype)[..., 0]


def scatter(layout: Layout, tensor: Array, contents: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A tile's bytes with `tensor` written where a layout onto `row` and `col` says.

    >>> scatter(Layout.parse("d0 = 1@row, d1 = 2@col:2"), np.array([[1, 2]], "<i2"), np.zeros((1, 4), np.uint8)).tolist()
    [[1, 0, 2, 0]]
    """
    rows, cols = _places(layout, tensor.dtype)
    result = contents.copy()
    if _elements_in_line(cols, tensor.dtype) and contents.shape[-1] % tensor.dtype.itemsize == 0:
        result.view(tensor.dtype)[..., rows[..., 0], cols[..., 0] // tensor.dtype.itemsize] = tensor
        return result
    result[..., rows, cols] = np.ascontiguousarray(tensor)[..., None].view(np.uint8)
    return result


def _elements_in_line(cols: Array, dtype: np.dtype[Any]) -> bool:
    """Whether every element begins at a multiple of its size, so that a row can be read as elements."""
    return not (cols[..., 0] % dtype.itemsize).any()


@lru_cache(maxsize=256)
def _places(layout: Layout, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Row and byte of each byte of each element: two index arrays `[*shape, itemsize]`."""
    placed = {axis: layout.owner_map(axis) if axis in layout.codomain else 0 for axis in ("row", "col")}
    cols = np.add(placed["col"], 0)[..., None] + np.arange(dtype.itemsize)
    return np.broadcast_to(np.add(placed["row"], 0)[..., None], cols.shape), cols
