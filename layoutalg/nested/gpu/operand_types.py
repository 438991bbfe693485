"""The types of a `multi_mma`'s operands, as its checks and its execution see them.

>>> operand_type("vector<2x3x4xf16>").shape
(2, 3, 4)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutalg.core.errors import ParseError
from layoutalg.core.limits import MAX_EXTENT

__all__ = ["OperandType", "operand_type"]

_TYPE = re.compile(r"\s*(vector|tensor)\s*<((?:(?:[0-9]{1,10}|\?)x){0,64})([A-Za-z][A-Za-z0-9]{0,20})>\s*")


@dataclass(frozen=True, slots=True)
class OperandType:
    """A vector's or tensor's type: sizes (None where dynamic) and element type."""

    shape: tuple[int | None, ...]
    element: str
    container: str = "vector"

    def __str__(self) -> str:
        sizes = "".join(f"{'?' if n is None else n}x" for n in self.shape)
        return f"{self.container}<{sizes}{self.element}>"


def operand_type(text: str) -> OperandType:
    """Read `vector<2x3x4xf16>` or `tensor<?x?x4xf16>`.

    Raises `ParseError` for anything else.

    >>> operand_type("memref<4xf32>")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 1: expected a vector or tensor type, such as vector<2x3x4xf16>,
    found 'memref<4xf32>'
    """
    match = _TYPE.fullmatch(text)
    if match is None:
        raise ParseError(text, 0, "a vector or tensor type, such as vector<2x3x4xf16>")
    sizes = tuple(None if n == "?" else int(n) for n in match[2].split("x")[:-1])
    if any(n is not None and n > MAX_EXTENT for n in sizes):
        raise ParseError(text, match.start(2), f"sizes of at most {MAX_EXTENT}")
    return OperandType(sizes, match[3], match[1])
