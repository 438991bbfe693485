"""The factors that a layout is made of.

The factor `4@reg:2` takes the values 0..3 and moves 2 apiece along `reg`. Two neighbours of one dimension that count as
one, `4@reg:2 2@reg`, are the factor `8@reg`:

>>> [str(f) for f in merge_factors([Factor(4, 2, "reg"), Factor(2, 1, "reg")])]
['8@reg']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from layoutalg.core.errors import LayoutError
from layoutalg.core.extents import Extent, as_extent, conditions, extent_text, multiply
from layoutalg.core.limits import MAX_EXTENT, MAX_START
from layoutalg.core.messages import shown

__all__ = [
    "Factor",
    "FactorLike",
    "as_factor",
    "as_name",
    "default_names",
    "merge_factors",
    "natural_order",
    "size_of",
]


class Factor(NamedTuple):
    """A factor of a coordinate: `extent` values that move `stride` apiece along codomain axis `axis` (None: along none).

    >>> str(Factor(2, 4, "sg")), str(Factor(16, 1, "lane")), str(Factor(8))
    ('2@sg:4', '16@lane', '8@_')
    """

    extent: Extent
    stride: Extent = 0
    axis: str | None = None

    def __str__(self) -> str:
        extent, stride, axis = self
        if axis is None:
            return f"{extent_text(extent)}@_"
        return f"{extent_text(extent)}@{axis}" + ("" if stride == 1 else f":{extent_text(stride)}")


FactorLike: TypeAlias = Factor | tuple[Any, Any, str | None]


def size_of(factors: Sequence[Factor]) -> Extent:
    """The number of values that a list of factors takes: the product of the extents."""
    size: Extent = 1
    for extent, _, _ in factors:
        size = size * extent if type(size) is int and type(extent) is int else multiply(size, extent)
    return size


def as_name(value: object, what: str) -> str:
    """Check a name of a dimension or an axis."""
    if not isinstance(value, str) or not value.isidentifier() or not value.isascii() or value == "_":
        raise LayoutError(f"{what} name {shown(value)}: expected an identifier such as 'lane'")
    return value


def as_factor(given: FactorLike) -> Factor:
    """Check a factor that a caller gave as a tuple.

    >>> as_factor((16, 1, "lane"))
    Factor(extent=16, stride=1, axis='lane')
    """
    if not isinstance(given, tuple) or len(given) != 3:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"factor {shown(given)}: expected (extent, stride, axis)")
    extent, stride, axis = given
    if type(extent) is not int or not 1 <= extent <= MAX_EXTENT:
        extent = as_extent(extent)
    if axis is None or (type(stride) is int and stride == 0):
        return Factor(extent)
    if type(stride) is not int or not 0 < stride <= MAX_START:
        stride = as_extent(stride, f"stride on axis {axis!r}", low=0, high=MAX_START)
    return Factor(extent, stride, as_name(axis, "axis"))


def merge_factors(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Merge neighbouring factors of one dimension that together count as one; drop extents of 1."""
    merged: list[Factor] = []
    for factor in factors:
        extent, stride, axis = factor
        if extent == 1:
            continue
        if merged:
            above, step, along = merged[-1]
            if along == axis and step == multiply(extent, stride):
                whole = multiply(above, extent)
                # M/8 * 8 is M, but only where 8 divides M: a factor that says so stays.
                if type(whole) is int or not set(conditions([above, extent])) - set(conditions([whole])):
                    merged[-1] = Factor(whole, stride, axis)
                    continue
        merged.append(factor)
    return tuple(merged)


_NAMES = tuple(f"d{i}" for i in range(16))


def default_names(rank: int) -> tuple[str, ...]:
    """The names of the dimensions of a tensor that has none of its own."""
    return _NAMES[:rank] if rank <= len(_NAMES) else tuple(f"d{i}" for i in range(rank))


def natural_order(name: str) -> tuple[str, int, str]:
    """A sort key that puts d2 before d10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :][:18] or -1), name
