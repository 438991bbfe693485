"""What arithmetic may assume: flags as words, or as LLVM reads them too, in quotes.

>>> from layoutalg.ir import read_module, write_module
>>> text = '%x = "test.op"() : () -> f32 %y = arith.addf %x, %x fastmath<"nnan, ninf", nsz> : f32'
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%y = arith.addf %x, %x fastmath<nnan,ninf,nsz> : f32
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from xdsl.dialects.arith import IntegerOverflowFlag
from xdsl.dialects.utils import BitEnumAttribute, FastMathFlag
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.utils.str_enum import StrEnum

__all__ = ["FastMathFlagsAttr", "IntegerOverflowAttr"]

_Flag = TypeVar("_Flag", bound=StrEnum)


def _read_flags(parser: AttrParser, kind: type[_Flag], everything: str | None) -> frozenset[_Flag]:
    """Read `<nnan, "ninf, nsz">`: a quoted text has one flag or several; `none` stands alone in it."""
    words = {one.value: {one} for one in kind}
    if everything is not None:
        words[everything] = set(kind)

    def element() -> set[_Flag]:
        start = parser.pos
        text = parser.parse_optional_str_literal()
        given = [parser.parse_identifier()] if text is None else [word.strip(" ") for word in text.split(",")]
        if given != ["none"] and not all(word in words for word in given):
            parser.raise_error(f"expected one of none, {', '.join(words)}", start, parser.pos)
        return set[_Flag]().union(*(words[word] for word in given if word != "none"))

    with parser.in_angle_brackets():
        return frozenset[_Flag]().union(*parser.parse_comma_separated_list(parser.Delimiter.NONE, element))


@irdl_attr_definition
class FastMathFlagsAttr(BitEnumAttribute[FastMathFlag]):
    """`#arith.fastmath<nnan,ninf>`."""

    name = "arith.fastmath"
    none_value = "none"
    all_value = "fast"

    def __init__(self, flags: Iterable[FastMathFlag] | str | None) -> None:
        super().__init__(flags)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> frozenset[FastMathFlag]:
        """Read the flags."""
        return _read_flags(parser, FastMathFlag, "fast")


@irdl_attr_definition
class IntegerOverflowAttr(BitEnumAttribute[IntegerOverflowFlag]):
    """`#arith.overflow<nsw,nuw>`."""

    name = "arith.overflow"
    none_value = "none"

    def __init__(self, flags: Iterable[IntegerOverflowFlag] | str | None) -> None:
        super().__init__(flags)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> frozenset[IntegerOverflowFlag]:
        """Read the flags."""
        return _read_flags(parser, IntegerOverflowFlag, None)
