"""Coordinates: an index of a coordinate, a coordinate of an index, and the part of a layout that coordinates leave open.

Coordinates count the first mode fastest. None is CuTe's `_`: all of a mode.

>>> crd2idx((2, 3), "(4,8):(1,4)"), idx2crd(14, (4, 8)), crd2crd((2, 3), (4, 8), ((2, 2), 8))
(14, (2, 3), ((0, 1), 3))
>>> print(slice((2, None), "(4,8):(1,4)"), dice((2, None), "(4,8):(1,4)"))
(8):(4) (4):(1)

Law: `idx2crd` undoes `crd2idx` of a compact shape; `slice(c, L)(x) + offset` is L where the open modes are x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from layoutalg.core.errors import CompositionError, ConversionError
from layoutalg.core.limits import MAX_NESTING, MOST_CUTE_STRIDE
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.cute.bases import ScaledBasis
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.modes import CuteLike, Mode, as_cute, as_shape, make_layout
from layoutalg.cute.nested_tuples import IntTuple, StrideTuple, compact_strides, index_of, leaves_of, tuple_text
from layoutalg.cute.swizzles import Swizzle

__all__ = ["Coordinate", "crd2crd", "crd2idx", "dice", "idx2crd", "slice", "slice_and_offset"]

Coordinate: TypeAlias = "int | tuple[Coordinate, ...] | None"
"""A number, None for `_`, or one of these for each mode."""


def _as_coordinate(value: object, what: str, deep: int = 0) -> Any:
    given = value
    if value is None:
        return None
    if isinstance(value, (tuple, list)) and deep <= MAX_NESTING:
        return tuple([_as_coordinate(one, what, deep + 1) for one in cast("Sequence[object]", value)])
    return whole_number(given, f"{what}: coordinate", -MOST_CUTE_STRIDE, MOST_CUTE_STRIDE, ConversionError)


def crd2idx(coord: Coordinate, layout: CuteLike | IntTuple, stride: Any = None) -> Any:
    """The index of a coordinate of a layout, or of a shape (compact, unless `stride` is given).

    The last leaf of each number runs on past the end, as CuTe has it; a negative number has the index of its absolute value,
    negative. A mode that is None (`_`) counts as 0. With a swizzle, the index is the swizzled one.

    Raises `ConversionError` for a coordinate that is not of the layout's form.

    >>> crd2idx((2, 3), (4, 8)), crd2idx((2, 3), (4, 8), (8, 1)), crd2idx(8, "(4,2):(1,10)"), crd2idx(3, "(4,5):(1@0,1@1)")
    (14, 19, 20, (3, 0))
    """
    if isinstance(layout, (CuteLayout, str)):
        if stride is not None:
            raise ConversionError(f"crd2idx of {shown(str(layout))}: a layout has its stride, and another was given")
        given = as_cute(layout, "crd2idx")
    else:
        shape = as_shape(layout, "crd2idx")
        given = CuteLayout(shape, compact_strides(shape, 1)[0]) if stride is None else make_layout(shape, stride)
    at = _closed(_as_coordinate(coord, "crd2idx"))
    return _index(given, at)


def _index(layout: CuteLayout, at: IntTuple) -> Any:
    found = index_of(at, layout.shape, layout.stride, inside=False)
    return Swizzle(*layout.swizzle)(layout.offset + cast("int", found)) if layout.swizzle is not None else found


def _closed(coord: Any) -> IntTuple:
    if isinstance(coord, tuple):
        return tuple(map(_closed, cast("tuple[Any, ...]", coord)))
    return 0 if coord is None else coord


def idx2crd(index: IntTuple, shape: IntTuple | CuteLike, stride: Any = None) -> IntTuple:
    """The coordinate of an index in a shape (or a layout's shape), column-major; with strides, each `index / stride % extent`.

    The last extent runs on past the end. A tuple of indices goes mode by mode.

    Raises `ConversionError` for an index that is not of the shape's form.

    >>> idx2crd(7, (4, 8)), idx2crd(7, (4, (2, 4))), idx2crd(7, (4, 8), (8, 1)), idx2crd((2, 5), (4, (2, 4)))
    ((3, 1), (3, (1, 0)), (0, 7), (2, (1, 2)))
    """
    sizes = as_cute(shape, "idx2crd").shape if isinstance(shape, (CuteLayout, str)) else as_shape(shape, "idx2crd")
    at = _closed(_as_coordinate(index, "idx2crd"))
    if stride is None:
        return _coordinate(at, sizes)
    steps = make_layout(sizes, stride).stride
    if any(isinstance(s, ScaledBasis) for _, s in leaves_of(sizes, steps)):
        raise ConversionError(f"idx2crd by strides {tuple_text(steps)}: expected whole numbers")
    return _by_strides(at, sizes, cast("IntTuple", steps))


def _coordinate(index: IntTuple, shape: IntTuple) -> IntTuple:
    if isinstance(index, tuple):
        if not isinstance(shape, tuple) or len(index) != len(shape):
            raise ConversionError(
                f"idx2crd of {tuple_text(index)} in {tuple_text(shape)}: expected one index for each mode"
            )
        return tuple(map(_coordinate, index, shape))
    sign, rest = (1, index) if index >= 0 else (-1, -index)
    leaves = leaves_of(shape, shape)
    count = len(leaves)

    def walk(part: IntTuple) -> IntTuple:
        nonlocal rest, count
        if isinstance(part, tuple):
            return tuple([walk(one) for one in part])
        count -= 1
        rest, digit = divmod(rest, part) if count else (0, rest)
        return sign * digit

    return walk(shape)


def _by_strides(index: IntTuple, shape: IntTuple, stride: IntTuple) -> IntTuple:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        if isinstance(index, tuple) and len(index) != len(shape):
            raise ConversionError(
                f"idx2crd of {tuple_text(index)} in {tuple_text(shape)}: expected one index for each mode"
            )
        each = index if isinstance(index, tuple) else (index,) * len(shape)
        return tuple(map(_by_strides, each, shape, stride))
    if isinstance(index, tuple) or not isinstance(shape, int) or not isinstance(stride, int):
        raise ConversionError(
            f"idx2crd of {tuple_text(index)} in {tuple_text(shape)}: expected one number for an extent"
        )
    if shape == 1 or not stride:
        return 0
    return index // stride % shape


def crd2crd(coord: IntTuple, src_shape: IntTuple, dst_shape: IntTuple) -> IntTuple:
    """The coordinate in one shape that has the index of a coordinate in another; tuples of equal length go mode by mode.

    Raises `ConversionError` for a coordinate that is not of the shape's form.

    >>> crd2crd(14, 32, (4, 8)), crd2crd((2, 3), (4, 8), 32), crd2crd((2, 3), (4, 8), ((2, 2), 8))
    ((2, 3), 14, ((0, 1), 3))
    """
    at = _closed(_as_coordinate(coord, "crd2crd"))
    source, target = as_shape(src_shape, "crd2crd"), as_shape(dst_shape, "crd2crd")
    return _across(at, source, target)


def _across(at: IntTuple, source: IntTuple, target: IntTuple) -> IntTuple:
    if isinstance(at, tuple) and isinstance(source, tuple) and isinstance(target, tuple):
        if len(at) != len(source) or len(at) != len(target):
            raise ConversionError(
                f"crd2crd of {tuple_text(at)} from {tuple_text(source)} to {tuple_text(target)}: expected equal ranks"
            )
        return tuple(map(_across, at, source, target))
    return _coordinate(cast("int", index_of(at, source, compact_strides(source, 1)[0], inside=False)), target)


def _kept(coord: Any, value: Any, open_modes: bool) -> tuple[Any, ...]:
    """The parts of a tuple beside `_` (or beside numbers), those of nested coordinates at the same level."""
    if isinstance(coord, tuple):
        coords, values = cast("tuple[Any, ...]", coord), cast("tuple[Any, ...]", value)
        if not isinstance(value, tuple) or len(values) != len(coords):
            raise ConversionError(f"coordinate {tuple_text(coords)}: expected one of the form of {tuple_text(values)}")
        return tuple([one for c, v in zip(coords, values, strict=True) for one in _kept(c, v, open_modes)])
    return (value,) if (coord is None) == open_modes else ()


def _part(coord: Any, layout: CuteLayout, open_modes: bool) -> Mode:
    if isinstance(coord, tuple):
        shape: IntTuple = _kept(coord, layout.shape, open_modes)
        stride: StrideTuple = _kept(coord, layout.stride, open_modes)
        return shape, stride
    return (layout.shape, layout.stride) if (coord is None) == open_modes else ((), ())


def slice(coord: Coordinate, layout: CuteLike) -> CuteLayout:
    """The modes of a layout that a coordinate leaves open (None), without the offset of the others.

    With a swizzle, the offset goes inside it: the result is exactly the sliced layout.

    Raises `ConversionError` for a coordinate that is not of the layout's form.

    >>> print(slice((2, None), "(4,8):(1,4)"), slice(((None, 1), None), "((2,2),8):((1,2),4)"), slice(None, "8:1"))
    (8):(4) (2,8):(1,4) 8:1
    """
    return slice_and_offset(coord, layout)[0]


def slice_and_offset(coord: Coordinate, layout: CuteLike) -> tuple[CuteLayout, Any]:
    """The modes that a coordinate leaves open, and the index of the rest.

    With a swizzle the offset is inside it, and the index beside it 0.

    Raises `ConversionError` for a coordinate that is not of the layout's form.

    >>> part, offset = slice_and_offset((2, None), "(4,8):(1,4)")
    >>> print(part, offset)
    (8):(4) 2
    """
    given = as_cute(layout, "slice")
    at = _as_coordinate(coord, "slice")
    shape, stride = _part(at, given, True)
    offset = index_of(_closed(at), given.shape, given.stride, inside=False)
    if given.swizzle is None:
        return CuteLayout(shape, stride), offset
    start = given.offset + cast("int", offset)
    if start < 0:
        raise CompositionError(f"slice of {given}: the part begins at {start}, and a swizzle counts from 0")
    return CuteLayout(shape, stride, given.swizzle, start), 0


def dice(coord: Coordinate, layout: CuteLike) -> CuteLayout:
    """The modes of a layout that a coordinate does not leave open.

    Raises `ConversionError` for a coordinate that is not of the layout's form.

    >>> print(dice((2, None), "(4,8):(1,4)"), dice(2, "8:1"))
    (4):(1) 8:1
    """
    given = as_cute(layout, "dice")
    shape, stride = _part(_as_coordinate(coord, "dice"), given, False)
    return CuteLayout(shape, stride)
