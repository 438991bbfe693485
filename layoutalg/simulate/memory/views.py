"""What a memref is while a kernel runs: an address, an offset, sizes and strides, and the addresses of its elements.

>>> at = np.full((1, 1, 1), 1 << 40, np.int64)
>>> view = View.row_major(at, (2, 4))
>>> row, column = np.full((1, 1, 1), 1), np.full((1, 1, 1), 3)
>>> places, inside = view.elements([row, column], np.arange(2))
>>> (places - (1 << 40)).reshape(-1), inside.reshape(-1)
(array([28, 32]), array([ True, False]))

The sizes are a window: an index outside is out of bounds, even where the buffer goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from layoutalg.core.errors import LayoutError
from layoutalg.simulate.values.elements import element

__all__ = ["View", "dtype_of", "is_shared", "kept_as", "memory_space", "static_view"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class View:
    """A memref: `base` in bytes, `offset` and `strides` in elements of `size` bytes; arrays are [workgroup, subgroup, lane].

    >>> View.row_major(np.full((1, 1, 1), 64), (2, 4)).strides
    (4, 1)
    """

    base: Array
    offset: Any
    sizes: tuple[Any, ...]
    strides: tuple[Any, ...]
    size: int = 4

    @classmethod
    def row_major(cls, base: Array, sizes: Sequence[Any], size: int = 4) -> View:
        """Elements next to each other.

        >>> View.row_major(np.full((1, 1, 1), 64), (3,)).offset
        0
        """
        strides: list[Any] = [1]
        for extent in reversed(sizes[1:]):
            strides.insert(0, strides[0] * extent)
        return cls(base, 0, tuple(sizes), tuple(strides) if sizes else (), size)

    @property
    def count(self) -> Any:
        """The elements of the window."""
        return prod(self.sizes)

    def linear(self, indices: Sequence[Array]) -> Array:
        """The number of an element, from the base on."""
        total: Any = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            total = total + index * stride
        return np.asarray(total)

    def inside(self, indices: Sequence[Array]) -> Array:
        """Whether indices are in the window."""
        found: Any = np.ones((1, 1, 1), np.bool_)
        for index, extent in zip(indices, self.sizes, strict=True):
            found = found & (index >= 0) & (index < extent)
        return np.asarray(found)

    def elements(self, indices: Sequence[Array], along: Array | None = None) -> tuple[Array, Array]:
        """The addresses of one element for each work-item, and whether they are in the window.

        `along` are steps in the last dimension: each makes an element of its own, in axes after those of the work-items.
        """
        if along is None:
            return self.base + self.linear(indices) * self.size, self.inside(indices)
        end = (1,) * along.ndim
        wide = [np.asarray(index).reshape(*np.shape(index), *end) for index in indices]
        wide[-1] = wide[-1] + along
        return self.spread(along.ndim).elements(wide)

    def spread(self, axes: int) -> View:
        """The same with axes of extent 1 after those of the work-items."""

        def wider(value: Any) -> Any:
            return value if isinstance(value, int) else np.reshape(value, (*np.shape(value), *(1,) * axes))

        sizes, strides = tuple(map(wider, self.sizes)), tuple(map(wider, self.strides))
        return replace(self, base=wider(self.base), offset=wider(self.offset), sizes=sizes, strides=strides)


def memory_space(kind: MemRefType[Attribute]) -> str:
    """Where a memref lies: global, shared or private.

    >>> from xdsl.dialects.builtin import IntegerAttr, f32, i64
    >>> memory_space(MemRefType(f32, [4])), memory_space(MemRefType(f32, [4], memory_space=IntegerAttr(3, i64)))
    ('global', 'shared')
    """
    text = _space_text(kind)
    for name, spellings in _SPACES.items():
        if text in spellings:
            return name
    raise LayoutError(f"memory space {text} is not simulated; 1 (global), 3 (shared local memory) and 5 (private) are")


_SPACES = {
    "global": ("0", "1", "#gpu.address_space<global>", "#xegpu<memory_space global>", "#xegpu.memory_space<global>"),
    "shared": ("3", "#gpu.address_space<workgroup>", "#xegpu<memory_space slm>", "#xegpu.memory_space<slm>"),
    "private": ("5", "#gpu.address_space<private>"),
}


def _space_text(kind: MemRefType[Attribute]) -> str:
    space: Attribute = kind.memory_space
    return "0" if isinstance(space, NoneAttr) else str(space).replace(" : i64", "").replace(" : i32", "")


def is_shared(kind: Attribute) -> bool:
    """Whether a type is of a buffer in shared local memory; memory spaces that are not known are not.

    >>> from xdsl.dialects.builtin import IntegerAttr, f32, i64
    >>> [is_shared(MemRefType(f32, [4], memory_space=IntegerAttr(space, i64))) for space in (1, 3, 5, 7)]
    [False, True, False, False]
    """
    return isa(kind, MemRefType[Attribute]) and _space_text(kind) in _SPACES["shared"]


def kept_as(values: Array, dtype: np.dtype[Any]) -> Array:
    """A register's values as they are kept in memory: integers lose the bits that their type has not."""
    return values.astype(dtype, copy=False)


def dtype_of(kind: Attribute) -> np.dtype[Any]:
    """How elements of a type, or of a vector of it, are kept in memory.

    >>> from xdsl.dialects.builtin import bf16
    >>> dtype_of(bf16).itemsize
    2
    """
    found = element(str(getattr(kind, "element_type", kind)))
    if found.bits % 8 and found.bits != 1:
        raise LayoutError(f"elements of {found.bits} bits in memory are not simulated; whole bytes are")
    return found.dtype


def static_view(kind: MemRefType[Attribute]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes, strides and offset that a type says; `DYNAMIC_INDEX` where it does not.

    >>> from xdsl.dialects.builtin import f32
    >>> static_view(MemRefType(f32, [4, 8]))
    ((4, 8), (8, 1), 0)
    """
    strides, offset = kind.get_strides(), kind.get_offset()
    if strides is None:
        raise LayoutError(f"{kind}: this layout is not simulated; strides are")
    known = tuple(DYNAMIC_INDEX if step is None else step for step in strides)
    return tuple(kind.get_shape()), known, DYNAMIC_INDEX if offset is None else offset
