"""A CuTe layout in words: how nested modes count, what a coordinate adds up to, and which bits a swizzle XORs.

>>> print(sum_in_words((1, (0, 2)), (8, (1, 16))))
(1,(0,2)) -> 1*8 + 0*1 + 2*16 = 40
>>> print(swizzle_in_words((3, 2, 3)))
Sw<3,2,3>: offset bits 5-7 (yyy) XOR into bits 2-4 (zzz)
>>> layout_in_words(((4, 8), 2), ((16, 1), 8), None)
('d0 counts modes (4,8), the first fastest: 5 is (1,1)', 'element (5, 1): ((1,1),1) -> 1*16 + 1*1 + 1*8 = 25')
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from layoutalg.cute.nested_tuples import IntTuple, StrideTuple, compact_strides, index_of, leaves_of, tuple_text

__all__ = ["coordinate_of", "innermost", "layout_in_words", "sum_in_words", "swizzle_in_words"]


def layout_in_words(shape: IntTuple, stride: StrideTuple, swizzle: tuple[int, int, int] | None) -> tuple[str, ...]:
    """How the rows and columns of nested modes count, with one element worked out, and the swizzle."""
    modes: tuple[Any, ...] = shape if isinstance(shape, tuple) else (shape,)
    found: list[str] = []
    for d, mode in enumerate(modes):
        leaves: tuple[Any, ...] = cast("Any", mode) if isinstance(mode, tuple) else ()
        if len(leaves) > 1 and all(isinstance(n, int) for n in leaves) and min(leaves[:2]) > 1:
            at = tuple_text((1, 1, *(0,) * (len(leaves) - 2)))
            told = f"d{d} counts modes {tuple_text(leaves)}, the first fastest"
            found.append(f"{told}: {leaves[0] + 1} is {at}")
    if found and swizzle is None:
        ones = [min(1, n - 1) for n, _ in leaves_of(shape, stride)]
        coordinate = coordinate_of(iter(ones), shape)
        parts = zip(coordinate if isinstance(coordinate, tuple) else (coordinate,), modes, strict=True)
        element = [index_of(x, mode, compact_strides(mode, 1)[0]) for x, mode in parts]
        told = sum_in_words(coordinate, stride)
        found += [f"element ({', '.join(map(str, element))}): {told}"] * bool(told)
    return (*found, *([swizzle_in_words(swizzle)] if swizzle and swizzle[0] else []))


def innermost(shape: IntTuple) -> tuple[int, ...] | None:
    """The block that the innermost of nested modes make, to draw; None where none are nested.

    >>> innermost(((4, 8), 2)), innermost((8, 4))
    ((4, 2), None)
    """
    modes: tuple[Any, ...] = shape if isinstance(shape, tuple) else (shape,)
    inner = [next((n for n in sizes if n > 1), 1) for sizes in map(_sizes, modes)]
    whole = [prod(_sizes(mode)) for mode in modes]
    return tuple(inner) if inner != whole else None


def coordinate_of(digits: Iterator[int], shape: IntTuple) -> IntTuple:
    """The coordinate that has these digits, the first mode's first, in the form of a shape.

    >>> coordinate_of(iter([1, 0, 2]), (2, (2, 3)))
    (1, (0, 2))
    """
    return tuple([coordinate_of(digits, one) for one in shape]) if isinstance(shape, tuple) else next(digits)


def sum_in_words(coordinate: IntTuple, stride: StrideTuple) -> str:
    """What the digits of a coordinate count, each times its stride, and their sum; empty for steps along coordinates."""
    steps = leaves_of(coordinate, stride)
    if not all(isinstance(s, int) for _, s in steps):
        return ""
    whole = cast("list[tuple[int, int]]", steps)
    told = " + ".join(f"{digit}*{s}" if s >= 0 else f"{digit}*({s})" for digit, s in whole)
    return f"{tuple_text(coordinate)} -> {told} = {sum(digit * s for digit, s in whole)}"


def swizzle_in_words(swizzle: tuple[int, int, int]) -> str:
    """Which bits of an offset a swizzle reads, and onto which it XORs them."""
    bits, base, shift = swizzle
    read, changed = (
        f"bit {low}" if bits == 1 else f"bits {low}-{low + bits - 1}"
        for low in (base + max(0, shift), base - min(0, shift))
    )
    return f"Sw<{bits},{base},{shift}>: offset {read} (yyy) XOR into {changed} (zzz)"
