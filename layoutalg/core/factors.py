"""Digits: the factors that a layout is made of, and when two lists of them are the same.

A digit `4@reg:2` takes the values 0..3 and moves 2 apiece along `reg`. Two neighbours of one dimension that count as one,
`4@reg:2 2@reg`, are the digit `8@reg`. For replicas only the set of places counts, so they are sorted first:

>>> [str(f) for f in merge_replicas([Factor(2, 1, "lane"), Factor(2, 8, "lane"), Factor(4, 2, "lane")])]
['16@lane']
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

from layoutalg.core.errors import LayoutError
from layoutalg.core.extents import Extent, as_extent, conditions, multiply

__all__ = [
    "Factor",
    "FactorLike",
    "as_factor",
    "as_name",
    "as_whole",
    "default_names",
    "merge_factors",
    "merge_replicas",
    "natural_order",
    "same_replicas",
    "size_of",
]


class Factor(NamedTuple):
    """One digit: `extent` values that move `stride` apiece along codomain axis `axis` (None: along none).

    >>> str(Factor(2, 4, "sg")), str(Factor(16, 1, "lane")), str(Factor(8))
    ('2@sg:4', '16@lane', '8@_')
    """

    extent: Extent
    stride: Extent = 0
    axis: str | None = None

    def __str__(self) -> str:
        from layoutalg.core.text import factor_text

        return factor_text(self)


FactorLike: TypeAlias = Factor | tuple[Any, Any, str | None]


def size_of(factors: Sequence[Factor]) -> Extent:
    """The number of values that a list of digits takes: the product of the extents.

    >>> size_of([Factor(2, 4, "sg"), Factor(16, 1, "reg")])
    32
    """
    size = prod([f.extent for f in factors])
    return size if type(size) is int else multiply(size, 1)


def as_name(value: object, what: str) -> str:
    """Check a name of a dimension or an axis.

    >>> as_name("lane", "axis")
    'lane'
    """
    if not isinstance(value, str) or not value.isidentifier() or not value.isascii() or value == "_":
        raise LayoutError(f"{what} name {value!r}: expected an identifier such as 'lane'")
    return value


def as_whole(value: object, what: str) -> int:
    """Check a whole number that may be negative (an offset or an origin).

    >>> as_whole(-64, "offset")
    -64
    """
    number = as_extent(value, what, low=-(2**62), high=2**62)
    if type(number) is not int:
        raise LayoutError(f"{what} {number}: expected a whole number, not a symbol")
    return number


def as_factor(given: FactorLike) -> Factor:
    """Check a factor that a caller gave as a tuple.

    >>> as_factor((16, 1, "lane"))
    Factor(extent=16, stride=1, axis='lane')
    """
    if not isinstance(given, tuple) or len(given) != 3:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"factor {given!r}: expected (extent, stride, axis)")
    extent, stride, axis = given
    if type(extent) is not int or not 1 <= extent <= 2**31:
        extent = as_extent(extent)
    if axis is None or (type(stride) is int and stride == 0):
        return Factor(extent)
    if type(stride) is not int or not 0 < stride <= 2**62:
        stride = as_extent(stride, f"stride on axis {axis!r}", low=0, high=2**62)
    return Factor(extent, stride, as_name(axis, "axis"))


def merge_factors(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Merge neighbouring digits of one dimension that together count as one; drop extents of 1.

    >>> [str(f) for f in merge_factors([Factor(4, 2, "reg"), Factor(2, 1, "reg"), Factor(1, 1, "sg")])]
    ['8@reg']
    """
    merged: list[Factor] = []
    for factor in factors:
        extent, stride, axis = factor
        if extent == 1:
            continue
        if merged:
            above, step, along = merged[-1]
            if along == axis and step == multiply(extent, stride):
                whole = multiply(above, extent)
                # M/8 * 8 is M, but only where 8 divides M: a digit that says so stays.
                if type(whole) is int or not set(conditions([above, extent])) - set(conditions([whole])):
                    merged[-1] = Factor(whole, stride, axis)
                    continue
        merged.append(factor)
    return tuple(merged)


def merge_replicas(replicas: Sequence[Factor]) -> tuple[Factor, ...]:
    """Sort replicas by axis and stride (largest first) and merge those that together reach the same places.

    >>> [str(f) for f in merge_replicas([Factor(2, 1, "lane"), Factor(4, 2, "lane")])]
    ['8@lane']
    """
    kept = [f for f in replicas if f.extent != 1 and f.axis is not None]
    if any(type(f.stride) is not int or type(f.extent) is not int for f in kept):
        return _merge_symbolic_replicas(kept)
    merged: list[Factor] = []
    for factor in sorted(kept, key=_axis_and_stride):
        extent, stride, axis = factor
        if merged:
            n, s, along = merged[-1]
            # n values s apart, repeated every stride: without a hole between the repeats they are one longer run.
            if along == axis and stride % s == 0 and stride // s <= n:
                merged[-1] = Factor(n + (extent - 1) * (stride // s), s, axis)
                continue
        merged.append(factor)
    return tuple(sorted(merged, key=_axis_and_falling_stride))


def _merge_symbolic_replicas(replicas: list[Factor]) -> tuple[Factor, ...]:
    rest = sorted(replicas, key=lambda f: (str(f.axis), str(f.stride), str(f.extent)))
    joined = True
    while joined:
        joined = False
        for low in rest:
            high = next(
                (f for f in rest if f is not low and f[1:] == (multiply(low.extent, low.stride), low.axis)), None
            )
            if high is not None and not conditions([low.extent, high.extent]):
                rest = [f for f in rest if f is not low and f is not high]
                rest.append(Factor(multiply(low.extent, high.extent), low.stride, low.axis))
                rest.sort(key=lambda f: (str(f.axis), str(f.stride), str(f.extent)))
                joined = True
                break
    return tuple(rest)


def _axis_and_stride(factor: Factor) -> tuple[str, int, int]:
    return str(factor.axis), factor.stride, factor.extent


def _axis_and_falling_stride(factor: Factor) -> tuple[str, int, int]:
    return str(factor.axis), -factor.stride, -factor.extent


def same_replicas(a: tuple[Factor, ...], b: tuple[Factor, ...]) -> bool:
    """Whether two merged lists of replicas reach the same places; only overlapping digits need to be counted out.

    >>> same_replicas((Factor(2, 3, "reg"), Factor(2, 2, "reg")), (Factor(6, 1, "reg"),))
    False
    """
    if not (_overlapping(a) or _overlapping(b)):
        return False
    from layoutalg.core.table import same_reach

    return same_reach(a, b)


def _overlapping(replicas: tuple[Factor, ...]) -> bool:
    """Whether two different digit values can meet: then the list of digits need not be the only way to write the set."""
    axis: str | None = None
    reach = 0
    for factor in reversed(replicas):
        if type(factor.stride) is not int or type(factor.extent) is not int:
            return False
        if factor.axis != axis:
            axis, reach = factor.axis, 0
        if factor.stride <= reach:
            return True
        reach += (factor.extent - 1) * factor.stride
    return False


_NAMES = tuple(f"d{i}" for i in range(16))


def default_names(rank: int) -> tuple[str, ...]:
    """The names of the dimensions of a tensor that has none of its own.

    >>> default_names(2)
    ('d0', 'd1')
    """
    return _NAMES[:rank] if rank <= len(_NAMES) else tuple(f"d{i}" for i in range(rank))


def natural_order(name: str) -> tuple[str, int, str]:
    """A sort key that puts d2 before d10.

    >>> sorted(["d10", "d2", "addr"], key=natural_order)
    ['addr', 'd2', 'd10']
    """
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :][:18] or -1), name
