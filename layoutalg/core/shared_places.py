"""Two elements in one place: whether a layout gives every element a place of its own, and if not, which two share one.

Rows of registers and columns of registers, both counted from 0, meet:

>>> print(shared_place(Layout.parse("d0 = 4@reg, d1 = 8@lane, d2 = 16@reg")))
elements (0, 0, 1) and (1, 0, 0) are both in subgroup 0, lane 0, register 1
>>> shared_place(Layout.parse("d0 = 4@reg:16, d1 = 8@lane, d2 = 16@reg"))

The place of an element is a sum of digits times strides, axis by axis. Sorted by stride, an axis keeps its digits apart where
each stride is larger than all that the smaller ones reach together. Where one is not, the sums are counted through, first of
small digits, at most 2^16 of an axis; a factor without an axis moves nothing at all.

Law: a layout without a shared place has as many places as elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.limits import MOST_COMPARED_COPIES as _MOST_COPIES
from layoutalg.core.limits import MOST_PLACE_SUMS as _MOST_SUMS
from layoutalg.core.plurals import spoken
from layoutalg.core.whole_numbers import instance_of

__all__ = ["SharedPlace", "shared_place"]

_SMALL = (4, 64, MAX_EXTENT)
"""The digits that are tried: small ones of all factors first, which mostly meet if any do."""


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Two elements, and a place that holds both: one coordinate for each of `axes` (None where copies are too many to list).

    >>> found = shared_place(Layout.parse("d0 = 2@lane, d1 = 2@lane"))
    >>> found.elements, found.axes, found.place
    (((0, 1), (1, 0)), ('sg', 'lane', 'reg'), (0, 1, 0))
    """

    elements: tuple[tuple[int, ...], tuple[int, ...]]
    axes: tuple[str, ...]
    place: tuple[int, ...] | None

    def __str__(self) -> str:
        first, second = self.elements
        where = "in one place"
        if self.place is not None:
            where = "in " + ", ".join(f"{spoken(axis)} {at}" for axis, at in zip(self.axes, self.place, strict=True))
        return f"elements {first} and {second} are both {where}"


class _Digit(NamedTuple):
    """A factor as a digit: how many values, how far each moves along its axis, and the step in its dimension (-1: a copy)."""

    extent: int
    stride: int
    dimension: int
    step: int


def shared_place(layout: Layout) -> SharedPlace | None:
    """The first two elements found in one place, or None where every element has its own.

    None also where it cannot be told: for symbolic layouts, for layouts with XOR, and where small digits do not meet and an
    axis has more than 2^16 sums.

    >>> print(shared_place(Layout.parse("d0 = 4@_, d1 = 2@addr")))
    elements (0, 0) and (1, 0) are both in addr 0
    """
    instance_of(layout, Layout, "layout")
    if layout.flips is not None:
        return None
    axes: dict[str, list[_Digit]] = {}
    for d, factors in enumerate((*layout.dims, layout.replicas)):
        step = 1
        for factor in reversed(factors):
            extent, stride, axis = factor
            if type(extent) is not int or type(stride) is not int:
                return None
            dimension = d if d < layout.rank else -1
            if extent > 1 and (axis is None or not stride) and dimension >= 0:
                return _pair(layout, {}, {dimension: step})
            if extent > 1 and axis is not None and stride:
                axes.setdefault(axis, []).append(_Digit(extent, stride, dimension, step))
            step *= extent
    for digits in axes.values():
        found = _meeting(digits)
        if found is not None:
            return _pair(layout, *found)
    return None


def _meeting(digits: list[_Digit]) -> tuple[dict[int, int], dict[int, int]] | None:
    """Two elements (the coordinates that are not 0) whose sums along one axis are equal, if there are."""
    digits = sorted(digits, key=lambda one: abs(one.stride))
    reach, apart = 0, True
    for one in digits:
        apart = apart and abs(one.stride) > reach
        reach += (one.extent - 1) * abs(one.stride)
    if apart:
        return None
    for most in _SMALL:
        found = _equal_sums([one._replace(extent=min(one.extent, most)) for one in digits])
        if found is not None:
            return found
    return None


def _equal_sums(digits: list[_Digit]) -> tuple[dict[int, int], dict[int, int]] | None:
    """The first two elements whose sums are equal, of at most 2^16."""
    if prod([one.extent for one in digits]) > _MOST_SUMS:
        return None
    held: dict[int, tuple[int, ...]] = {0: (0,) * len(digits)}
    for i, one in enumerate(digits):
        before = list(held.items())
        for value in range(1, one.extent):
            for total, chosen in before:
                here = (*chosen[:i], value, *chosen[i + 1 :])
                there = held.setdefault(total + value * one.stride, here)
                if there is not here:
                    pair = _element(digits, there), _element(digits, here)
                    if pair[0] != pair[1]:
                        return pair
    return None


def _element(digits: list[_Digit], chosen: tuple[int, ...]) -> dict[int, int]:
    """The coordinates of the element that has these digits; digits of copies do not count."""
    found: dict[int, int] = {}
    for one, value in zip(digits, chosen, strict=True):
        if value and one.dimension >= 0:
            found[one.dimension] = found.get(one.dimension, 0) + value * one.step
    return found


def _pair(layout: Layout, one: dict[int, int], other: dict[int, int]) -> SharedPlace:
    """Both elements, and a place of both."""
    first, second = sorted(
        tuple([origin + found.get(d, 0) for d, origin in enumerate(layout.origins)]) for found in (one, other)
    )
    place: tuple[int, ...] | None = None
    try:
        here = layout.owners(first) if _copies(layout) <= _MOST_COPIES else []
        both = set(layout.owners(second) if here else ()).intersection(here)
        place = min(both) if both else None
    except (SizeError, LayoutError):
        place = None
    return SharedPlace((first, second), tuple(layout.codomain), place)


def _copies(layout: Layout) -> int:
    count = 1
    for factor in layout.replicas:
        count *= factor.extent if type(factor.extent) is int else _MOST_COPIES + 1
    return count
