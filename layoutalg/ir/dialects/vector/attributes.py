"""The vector dialect's enumerations: how values combine, what a loop of a contraction does, what is printed after a value.

>>> from layoutalg.ir import read_module
>>> text = '%v = "test.op"() : () -> vector<8xf32> %s = vector.reduction <add>, %v : vector<8xf32> into f32'
>>> list(read_module(text).ops)[1].kind.data.value
'add'
"""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

__all__ = [
    "CombiningKindAttr",
    "CombiningKindFlag",
    "IteratorType",
    "IteratorTypeAttr",
    "PrintPunctuation",
    "PrintPunctuationAttr",
]


class IteratorType(StrEnum):
    """What a loop of a contraction does with the result: each step has its own, or all steps add up."""

    Parallel = "parallel"
    Reduction = "reduction"


class PrintPunctuation(StrEnum):
    """What `vector.print` writes after the value."""

    NoPunctuation = "no_punctuation"
    NewLine = "newline"
    Comma = "comma"
    Open = "open"
    Close = "close"


@irdl_attr_definition
class CombiningKindAttr(EnumAttribute[CombiningKindFlag]):
    """`#vector.kind<add>`; LLVM reads the word in quotes too."""

    name = "vector.kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> CombiningKindFlag:
        """Read `<add>`."""
        with parser.in_angle_brackets():
            return parser.parse_str_enum(CombiningKindFlag)

    def print_parameter(self, printer: Printer) -> None:
        """Write `<add>`."""
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


@irdl_attr_definition
class IteratorTypeAttr(EnumAttribute[IteratorType]):
    """`#vector.iterator_type<parallel>`."""

    name = "vector.iterator_type"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> IteratorType:
        """Read `<parallel>`."""
        with parser.in_angle_brackets():
            return parser.parse_str_enum(IteratorType)

    def print_parameter(self, printer: Printer) -> None:
        """Write `<parallel>`."""
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


@irdl_attr_definition
class PrintPunctuationAttr(EnumAttribute[PrintPunctuation]):
    """`#vector.punctuation<comma>`."""

    name = "vector.punctuation"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PrintPunctuation:
        """Read `<comma>`."""
        with parser.in_angle_brackets():
            return parser.parse_str_enum(PrintPunctuation)

    def print_parameter(self, printer: Printer) -> None:
        """Write `<comma>`."""
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)
