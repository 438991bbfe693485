"""Nested tuples: CuTe's shapes, strides and coordinates, as values and as text.

>>> shape, stride = (4, (3, 2)), (3, (1, 12))
>>> leaves_of(shape, stride), tuple_text(shape)
([(4, 3), (3, 1), (2, 12)], '(4,(3,2))')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.limits import MAX_NESTING, MOST_CUTE_STRIDE, MOST_LEAVES
from layoutalg.core.messages import shown
from layoutalg.cute.bases import ScaledBasis, Stride, coordinate_sum
from layoutalg.cute.thread_values import Leaf

__all__ = [
    "IntTuple", "StrideTuple", "check_form", "compact_strides", "index_of", "is_plain", "leaves_of", "mode_of",
    "plain_leaves", "tuple_text",
]  # fmt: skip

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
"""A whole number, or a tuple of such: CuTe's shapes and coordinates."""
StrideTuple: TypeAlias = "int | ScaledBasis | tuple[StrideTuple, ...]"
"""A stride, or a tuple of such."""


def check_form(shape: object, stride: object, depth: int, count: int) -> int:
    """Check that a shape and a stride are of one form; `count` factors came before, and how many with these is returned.

    >>> check_form((4, (3, 2)), (3, (1, 12)), 0, 0)
    3
    """
    if (
        type(shape) is int
        and type(stride) is int
        and 1 <= shape <= MOST_CUTE_STRIDE
        and -MOST_CUTE_STRIDE <= stride <= MOST_CUTE_STRIDE
        and count < MOST_LEAVES
    ):
        return count + 1
    given = [shape, stride]
    if depth > MAX_NESTING or count > MOST_LEAVES:
        raise VerificationError(f"CuTe layout: at most {MOST_LEAVES} factors, nested at most {MAX_NESTING} deep")
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        shapes, strides = cast("tuple[Any, ...]", shape), cast("tuple[Any, ...]", stride)
        if len(shapes) == len(strides):
            for n, s in zip(shapes, strides, strict=True):
                count = check_form(n, s, depth + 1, count)
            return count + (not shapes)
    elif isinstance(shape, int) and isinstance(stride, (int, ScaledBasis)):
        whole = type(shape) is int and (type(stride) is int or isinstance(stride, ScaledBasis))
        step = stride.value if isinstance(stride, ScaledBasis) else stride
        if not whole or not 1 <= shape <= MOST_CUTE_STRIDE or not -MOST_CUTE_STRIDE <= step <= MOST_CUTE_STRIDE:
            raise VerificationError(
                f"CuTe factor {shown(shape)}:{shown(stride)}: expected an extent of 1 to 2^62 and a stride of -2^62 to 2^62"
            )
        return count + 1
    raise VerificationError(f"CuTe layout {shown(given)}: expected shape and stride of one form")


def leaves_of(shape: IntTuple, stride: StrideTuple) -> list[tuple[int, Stride]]:
    """The factors, fastest first.

    >>> leaves_of((4, (3, 2)), (3, (1, 12)))
    [(4, 3), (3, 1), (2, 12)]
    """
    if isinstance(shape, int) or not isinstance(stride, tuple):
        return [(cast("int", shape), cast("Stride", stride))]
    found: list[tuple[int, Stride]] = []
    for n, s in zip(shape, stride, strict=True):
        if isinstance(n, int):
            found.append((n, cast("Stride", s)))
        else:
            found += leaves_of(n, s)
    return found


def is_plain(leaves: Sequence[tuple[int, Stride]]) -> bool:
    """Whether no factor moves backwards or along a mode of a coordinate.

    >>> is_plain([(4, 1)]), is_plain([(4, -1)])
    (True, False)
    """
    return all(type(s) is int and s >= 0 for _, s in leaves)


def plain_leaves(shape: IntTuple, stride: StrideTuple, what: object) -> list[Leaf]:
    """The factors, all with whole strides from 0 on.

    Raises `ConversionError` that names the first other factor; `what` is the layout.

    >>> plain_leaves((4, 2), (1, -4), "(4,2):(1,-4)")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: (4,2):(1,-4): factor 2:-4 moves backwards, and addresses count from 0
    """
    found = leaves_of(shape, stride)
    if not is_plain(found):
        n, s = next((n, s) for n, s in found if not is_plain([(n, s)]))
        why = "moves backwards, and addresses count from 0" if isinstance(s, int) else "moves along a coordinate"
        raise ConversionError(f"{what}: factor {n}:{s} {why}")
    return cast("list[Leaf]", found)


def mode_of(factors: Sequence[tuple[int, Stride]]) -> tuple[IntTuple, StrideTuple]:
    """The shape and stride of one mode: plain numbers for one factor, `1:0` for none.

    >>> mode_of([(3, 1), (2, 12)]), mode_of([])
    (((3, 2), (1, 12)), (1, 0))
    """
    if len(factors) == 1:
        return factors[0]
    return (tuple([n for n, _ in factors]), tuple([s for _, s in factors])) if factors else (1, 0)


def index_of(coordinate: object, shape: IntTuple, stride: StrideTuple, inside: bool = True) -> IntTuple:
    """The value of a coordinate; ConversionError for one not inside the shape, unless the last leaf may run on.

    >>> index_of((1, 4), (4, (3, 2)), (3, (1, 12)))
    16
    >>> index_of(8, (4, 2), (1, 10), inside=False)
    20
    """
    steps: list[tuple[int, Stride]] = []
    _digits(coordinate, shape, stride, inside, steps)
    if all(type(s) is int for _, s in steps):
        return sum([digit * cast("int", s) for digit, s in steps])
    return coordinate_sum(steps, [s for _, s in leaves_of(shape, stride)])


def _digits(
    coordinate: object, shape: IntTuple, stride: StrideTuple, inside: bool, steps: list[tuple[int, Stride]]
) -> None:
    """The digit of each leaf beside its stride; a negative number has the digits of its absolute value, all negative."""
    whole = coordinate
    if isinstance(coordinate, tuple):
        given = cast("tuple[object, ...]", coordinate)
        if isinstance(shape, tuple) and isinstance(stride, tuple) and len(given) == len(shape):
            for x, n, s in zip(given, shape, stride, strict=True):
                _digits(x, n, s, inside, steps)
            return
    elif type(coordinate) is int:
        leaves = leaves_of(shape, stride)
        rest, sign = (coordinate, 1) if coordinate >= 0 or inside else (-coordinate, -1)
        for n, s in leaves[:-1]:
            rest, value = divmod(rest, n)
            steps.append((sign * value, s))
        n, s = leaves[-1] if leaves else (1, 0)
        steps.append((sign * rest, s))
        if not inside or 0 <= rest < n:
            return
    raise ConversionError(f"coordinate {shown(whole)}: expected one inside {tuple_text(shape)}")


def compact_strides(shape: IntTuple, step: int) -> tuple[IntTuple, int]:
    """The column-major strides of a shape, and how many elements it has; a stride over 2^62 is refused later.

    >>> compact_strides((4, (3, 2)), 1)
    ((1, (4, 12)), 24)
    """
    if isinstance(shape, int):
        return step, step * shape
    strides: list[IntTuple] = []
    for part in shape:
        stride, step = compact_strides(part, step)
        strides.append(stride)
    return tuple(strides), step


def tuple_text(value: StrideTuple | None) -> str:
    """A nested tuple as CuTe writes it; None is `_`.

    >>> tuple_text((4, (3, 2)))
    '(4,(3,2))'
    """
    if isinstance(value, tuple):
        return f"({','.join(map(tuple_text, value))})"
    return "_" if value is None else str(value)
