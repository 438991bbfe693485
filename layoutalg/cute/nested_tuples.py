"""Nested tuples: CuTe's shapes, strides and coordinates, as values and as text.

>>> shape, stride = (4, (3, 2)), (3, (1, 12))
>>> leaves_of(shape, stride), tuple_text(shape)
([(4, 3), (3, 1), (2, 12)], '(4,(3,2))')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.limits import MAX_EXTENT, MAX_NESTING, MOST_CUTE_STRIDE, MOST_LEAVES
from layoutalg.core.messages import shown
from layoutalg.core.reader import Reader
from layoutalg.cute.thread_values import Leaf

__all__ = [
    "IntTuple", "check_form", "compact_strides", "index_of", "leaves_of", "mode_of", "read_number", "read_tuple", "tuple_text",
]  # fmt: skip

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
"""A whole number, or a tuple of such: CuTe's shapes, strides and coordinates."""


def check_form(shape: object, stride: object, depth: int, count: int) -> int:
    """Check that a shape and a stride are of one form; `count` factors came before, and how many with these is returned.

    >>> check_form((4, (3, 2)), (3, (1, 12)), 0, 0)
    3
    """
    given = [shape, stride]
    if depth > MAX_NESTING or count > MOST_LEAVES:
        raise VerificationError(f"CuTe layout: at most {MOST_LEAVES} factors, nested at most {MAX_NESTING} deep")
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        shapes, strides = cast("tuple[Any, ...]", shape), cast("tuple[Any, ...]", stride)
        if len(shapes) == len(strides):
            for n, s in zip(shapes, strides, strict=True):
                count = check_form(n, s, depth + 1, count)
            return count + (not shapes)
    elif isinstance(shape, int) and isinstance(stride, int):
        whole = type(shape) is int and type(stride) is int
        if not whole or not 1 <= shape <= MAX_EXTENT or not 0 <= stride <= MOST_CUTE_STRIDE:
            raise VerificationError(
                f"CuTe factor {shown(shape)}:{shown(stride)}: expected an extent of 1 to 2^31 and a stride from 0 on"
            )
        return count + 1
    raise VerificationError(f"CuTe layout {shown(given)}: expected shape and stride of one form")


def leaves_of(shape: IntTuple, stride: IntTuple) -> list[Leaf]:
    """The factors, fastest first.

    >>> leaves_of((4, (3, 2)), (3, (1, 12)))
    [(4, 3), (3, 1), (2, 12)]
    """
    if isinstance(shape, int) or isinstance(stride, int):
        return [(cast("int", shape), cast("int", stride))]
    return [leaf for n, s in zip(shape, stride, strict=True) for leaf in leaves_of(n, s)]


def mode_of(factors: Sequence[Leaf]) -> tuple[IntTuple, IntTuple]:
    """The shape and stride of one mode: plain numbers for one factor, `1:0` for none.

    >>> mode_of([(3, 1), (2, 12)]), mode_of([])
    (((3, 2), (1, 12)), (1, 0))
    """
    if len(factors) == 1:
        return factors[0]
    return (tuple([n for n, _ in factors]), tuple([s for _, s in factors])) if factors else (1, 0)


def index_of(coordinate: object, shape: IntTuple, stride: IntTuple) -> int:
    """The index of a coordinate; ConversionError for one that is not inside the shape.

    >>> index_of((1, 4), (4, (3, 2)), (3, (1, 12)))
    16
    """
    whole = coordinate
    if isinstance(coordinate, tuple):
        given = cast("tuple[object, ...]", coordinate)
        if isinstance(shape, tuple) and isinstance(stride, tuple) and len(given) == len(shape):
            return sum([index_of(x, n, s) for x, n, s in zip(given, shape, stride, strict=True)])
    elif type(coordinate) is int:
        rest, index = coordinate, 0
        for n, s in leaves_of(shape, stride):
            rest, value = divmod(rest, n)
            index += value * s
        if rest == 0:
            return index
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


def tuple_text(value: IntTuple) -> str:
    """A nested tuple as CuTe writes it.

    >>> tuple_text((4, (3, 2)))
    '(4,(3,2))'
    """
    return str(value) if isinstance(value, int) else f"({','.join(map(tuple_text, value))})"


def read_tuple(reader: Reader, low: int, high: int, count: list[int]) -> IntTuple:
    """Read a number or a nested tuple of them, from `low` to `high`; `count` holds how many there were.

    >>> read_tuple(Reader('(4,(_3,2))'), 1, 8, [0])
    (4, (3, 2))
    """
    if not reader.accept("("):
        count[0] += 1
        if count[0] > MOST_LEAVES:
            reader.fail(f"at most {MOST_LEAVES} factors", "found one more")
        return read_number(reader, low, high)
    items: list[IntTuple] = []
    while not reader.accept(")"):
        if items:
            reader.expect(",")
            if reader.accept(")"):
                break
        items.append(reader.nested(lambda: read_tuple(reader, low, high, count)))
    return tuple(items)


def read_number(reader: Reader, low: int, high: int) -> int:
    """Read a number, or CuTe's static one (`_8`).

    >>> read_number(Reader('_8'), 1, 8)
    8
    """
    static = reader.accept("_")
    if static and not reader.text[reader.position : reader.position + 1].isdigit():
        reader.fail("a number after '_'")
    return reader.integer(low, high)
