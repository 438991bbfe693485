"""Layouts of wider and narrower elements: the same bytes, counted in other units.

Upcasting by 2 makes pairs of neighbours one element: strides halve, and the contiguous factor `8:1` becomes `4:1`.

>>> print(upcast("(8,4):(1,8)", 2), downcast("(4,4):(1,4)", 2), recast("(8,4):(1,8)", 16, 32))
(4,4):(1,4) (8,4):(1,8) (4,4):(1,4)

Law: `upcast(L, n)` reaches exactly the wide elements that L touches, and `downcast(L, n)` exactly the narrow ones inside
those of L. Where strides do not say that, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import cast

from layoutalg.core.errors import CompositionError, ConversionError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.whole_numbers import whole_number
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.modes import CuteLike, Mode, as_cute, gathered
from layoutalg.cute.nested_tuples import IntTuple, StrideTuple, leaves_of
from layoutalg.cute.swizzles import Swizzle

__all__ = ["downcast", "recast", "upcast"]


def _by_leaf(layout: CuteLayout, change: Callable[[int, int, int], tuple[int, int]], what: str) -> Mode:
    """Every leaf changed: `change` gets its number, its extent and its stride."""
    count = -1

    def walk(n: IntTuple, s: StrideTuple) -> Mode:
        nonlocal count
        if isinstance(n, tuple) and isinstance(s, tuple):
            return gathered(list(map(walk, n, s)))
        if type(s) is not int:
            raise ConversionError(f"{what} of {layout}: its values are coordinates, not places of elements")
        count += 1
        return change(count, cast("int", n), s)

    return walk(layout.shape, layout.stride)


def upcast(layout: CuteLike, n: int) -> CuteLayout:
    """The layout of elements that are `n` times as wide: those that the layout touches.

    A factor of a stride that `n` divides keeps its extent; one whose stride divides `n` has `n / stride` in one wide element.

    Raises `CompositionError` for a stride that neither divides `n` nor is divided by it: its elements have no even distance
    then (C++ refuses those too; the DSL and tensor-layouts round up); for factors that overlap inside a wide element, and for
    negative strides that `n` does not divide.

    >>> print(upcast("(4,8):(1,4)", 2), upcast("Sw<3,4,3> o 0 o (8,64):(64,1)", 2))
    (2,8):(1,2) Sw<3,3,3> o 0 o (8,32):(32,1)
    >>> upcast("6:4", 3)
    Traceback (most recent call last):
    layoutalg.core.errors.CompositionError: upcast of 6:4 by 3: 3 does not divide stride 4, and stride 4 does not divide 3
    """
    given = as_cute(layout, "upcast")
    wide = whole_number(n, "upcast by", 1, MAX_EXTENT, ConversionError)
    touched = reach = 0

    def change(_: int, extent: int, stride: int) -> tuple[int, int]:
        nonlocal touched, reach
        if stride % wide == 0:
            return extent, stride // wide
        if extent == 1:
            return 1, -(-stride // wide)
        if stride < 0 or wide % stride:
            why = "and it is negative" if stride < 0 else f"and stride {stride} does not divide {wide}"
            raise CompositionError(f"upcast of {given} by {wide}: {wide} does not divide stride {stride}, {why}")
        count = -(-extent * stride // wide)
        touched += count - 1
        reach += (extent - 1) * stride
        return count, 1

    inner = CuteLayout(*_by_leaf(given, change, "upcast"))
    # Factors inside one wide element add up, and what they carry out of it must be what their own results say.
    if touched != reach // wide:
        raise CompositionError(
            f"upcast of {given} by {wide}: factors of strides below {wide} overlap, and reach {reach // wide + 1} wide elements"
        )
    return _recast(given, inner, wide, -1)


def downcast(layout: CuteLike, n: int) -> CuteLayout:
    """The layout of elements that are `n` times as narrow: all those inside the elements of the layout.

    One factor of stride 1 has `n` times as many elements, all others `n` times the stride. (C++ multiplies the extent of every
    factor of stride 1: (1,2):(1,1) in halves becomes (2,4):(1,1), which reaches five places for four.)

    Raises `CompositionError` for a layout without a factor of stride 1, as C++ does (the DSL gives the first of every `n`).

    >>> print(downcast("(2,8):(1,2)", 2), downcast("(1,2):(1,1)", 2))
    (4,8):(1,4) (1,4):(2,1)
    """
    given = as_cute(layout, "downcast")
    narrow = whole_number(n, "downcast by", 1, MAX_EXTENT, ConversionError)
    leaves = leaves_of(given.shape, given.stride)
    adjacent = [k for k, (_, s) in enumerate(leaves) if s == 1]
    if narrow > 1 and not adjacent:
        raise CompositionError(
            f"downcast of {given} by {narrow}: no factor has stride 1, and downcasting needs adjacent elements"
        )
    chosen = next((k for k in adjacent if leaves[k][0] > 1), *adjacent[:1] or [-1])

    def change(k: int, extent: int, stride: int) -> tuple[int, int]:
        return (extent * narrow, stride) if k == chosen else (extent, stride * narrow)

    return _recast(given, CuteLayout(*_by_leaf(given, change, "downcast")), narrow, 1)


def _recast(given: CuteLayout, inner: CuteLayout, n: int, direction: int) -> CuteLayout:
    """The layout inside the swizzle of other elements: its base moves by the bits of `n`."""
    if given.swizzle is None:
        return inner
    swizzle, moved = Swizzle(*given.swizzle), n.bit_length() - 1
    if n & (n - 1) or (direction < 0 and (given.offset % n or swizzle.base < moved)):
        raise CompositionError(f"{given} in elements of {n} to one: the swizzle is not a swizzle of those")
    offset = given.offset // n if direction < 0 else given.offset * n
    return CuteLayout(
        inner.shape, inner.stride, (swizzle.bits, swizzle.base + direction * moved, swizzle.shift), offset
    )


def recast(layout: CuteLike, old_bits: int, new_bits: int) -> CuteLayout:
    """The layout of elements of `new_bits` instead of `old_bits`: CuTe's recast_layout.

    It is `upcast` or `downcast`. Where neither width divides the other, it is the first and then the second, as in CuTe: five
    elements of 6 bits touch two of 24, which are six of 8 bits, though four hold them all.

    Raises as `upcast` and `downcast`.

    >>> print(recast("(8,4):(1,8)", 16, 8), recast("(8,4):(1,8)", 8, 16), recast("4:1", 6, 8), recast("5:1", 6, 8))
    (16,4):(1,16) (4,4):(1,4) 3:1 6:1
    """
    given = as_cute(layout, "recast")
    old, new = (whole_number(bits, "recast of bits", 1, MAX_EXTENT, ConversionError) for bits in (old_bits, new_bits))
    common = gcd(old, new)
    wide, narrow = new // common, old // common
    found = upcast(given, wide) if wide > 1 else given
    return downcast(found, narrow) if narrow > 1 else found
