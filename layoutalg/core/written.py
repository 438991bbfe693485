"""Shapes and coordinates as people write them on a command line and in a field of a page.

>>> as_shape("32x64"), as_shape("8,16"), as_numbers("21,50", "an element")
((32, 64), (8, 16), (21, 50))
"""

from __future__ import annotations

import re

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.core.limits import MAX_EXTENT

__all__ = ["as_numbers", "as_shape", "as_typed_shape"]


def as_shape(text: str) -> tuple[int, ...]:
    """A shape, such as 32x64.

    Raises `ParseError` for another text, `LayoutError` for a size that is too large.

    >>> as_shape("99999999999x16")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: shape 99999999999x16: 99999999999 is too large; sizes go up to 2147483648
    """
    parts = [part.strip() for part in text.lower().replace(",", "x").split("x")]
    if not all(part.isdecimal() and part.isascii() for part in parts) or len(parts) > 64:
        raise ParseError(text, 0, "a shape, such as 32x64")
    for part in parts:
        if len(part) > 60 or int(part) > MAX_EXTENT:
            raise LayoutError(f"shape {text:.60}: {part:.60} is too large; sizes go up to {MAX_EXTENT}")
    return tuple(map(int, parts))


_TYPED = re.compile(
    r"(?:(?:vector|tensor|memref)<)?((?:[0-9]{1,40}x){1,64})([a-z]{1,6}[0-9]\w{0,12}|index)>?", re.IGNORECASE
)


def as_typed_shape(text: str) -> tuple[tuple[int, ...], str]:
    """A shape, and the type of its elements where that is written too: a vector's, a tensor's or a memref's; else "".

    Raises what `as_shape` raises.

    >>> as_typed_shape("vector<8x16xf16>"), as_typed_shape("8x16xbf16"), as_typed_shape("32x64")
    (((8, 16), 'f16'), ((8, 16), 'bf16'), ((32, 64), ''))
    """
    typed = _TYPED.fullmatch(text.strip())
    return (as_shape(text), "") if typed is None else (as_shape(typed[1][:-1]), typed[2])


def as_numbers(text: str, what: str) -> tuple[int, ...]:
    """Whole numbers with commas between them, such as 21,50 or (21, 50).

    >>> as_numbers("(21, 50)", "an element")
    (21, 50)
    """
    inside = text.strip()
    if inside[:1] + inside[-1:] in ("()", "[]"):
        inside = inside[1:-1].removesuffix(",")
    parts = [part.strip() for part in inside.split(",")]
    if not all(part.removeprefix("-").isdecimal() and part.isascii() and len(part) < 20 for part in parts):
        raise ParseError(text, 0, f"{what}, such as 21,50")
    return tuple(map(int, parts))
