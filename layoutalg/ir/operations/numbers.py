"""Lists of numbers, `[0, 16, -1]`, read at once: unrolled kernels have the same few thousands of times.

>>> from xdsl.context import Context
>>> from xdsl.parser import Parser
>>> parser = Parser(Context(), "[0, 16, -1] : rest")
>>> print(optional_numbers(parser), parser.parse_optional_punctuation(":"))
array<i64: 0, 16, -1> :
"""

from __future__ import annotations

import re
from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64
from xdsl.ir import Attribute
from xdsl.irdl.declarative_assembly_format import DenseArrayAttributeVariable
from xdsl.parser import Parser

__all__ = ["Numbers", "optional_numbers"]

_LIST = re.compile(r"\[ *(?:-?\d{1,18} *(?:, *-?\d{1,18} *){0,255})?\]")
"""Short lists of decimal numbers that fit 64 bits; others are read number by number."""


def optional_numbers(parser: Parser) -> DenseArrayBase[IntegerType] | None:
    """Read a short list of numbers, if one stands here.

    >>> from xdsl.context import Context
    >>> print(optional_numbers(Parser(Context(), "[%a, 1]")))
    None
    """
    content: str = parser.lexer.input.content
    found = _LIST.match(content, parser.pos, getattr(parser.lexer, "end", len(content)))
    if found is None:
        return None
    parser._resume_from(found.end())  # pyright: ignore[reportPrivateUsage]
    return _array(found[0])


@lru_cache(maxsize=4096)
def _array(text: str) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, [int(number) for number in text[1:-1].split(",") if number.strip()])


class Numbers(DenseArrayAttributeVariable):
    """An attribute that is a list of 64-bit numbers.

    >>> print(Numbers("mask", True, False, None, i64).elt_type)
    i64
    """

    def parse_attr(self, parser: Parser) -> Attribute | None:
        """Read the list."""
        found = optional_numbers(parser) if self.elt_type == i64 else None
        return super().parse_attr(parser) if found is None else found
