"""How the attributes that hold one word of an enumeration are read and written.

MLIR has two forms: `#gpu<dim x>`, a bare word behind the name, and `#gpu.dim<x>`, the word in angle brackets. A dialect's
attribute names its enumeration and its form:

>>> from xdsl.dialects.utils import EnumAttribute
>>> from xdsl.irdl import irdl_attr_definition
>>> class Side(StrEnum):
...     Left = "left"
...     Right = "right"
>>> @irdl_attr_definition
... class SideAttr(EitherForm, Bracketed, EnumAttribute[Side]):
...     name = "test.side"
>>> print(SideAttr(Side.Left))
#test.side<left>
>>> from xdsl.context import Context
>>> from xdsl.parser import Parser
>>> [SideAttr.parse_parameter(Parser(Context(), text)).value for text in ("<left>", "right")]
['left', 'right']

The law: what an attribute writes, it reads back as the same word.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from layoutalg.ir.operations.old_spellings import note_refused_spelling

__all__ = ["Bracketed", "EitherForm"]


class Bracketed:
    """The word is written, and read unless another class says how, in angle brackets."""

    enum_type: ClassVar[type[StrEnum]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        """Read `<word>`."""
        with parser.in_angle_brackets():
            return parser.parse_str_enum(cls.enum_type)

    def print_parameter(self: Data[StrEnum], printer: Printer) -> None:  # pyright: ignore[reportGeneralTypeIssues]
        """Write `<word>`."""
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


class EitherForm:
    """The word is read with or without angle brackets."""

    enum_type: ClassVar[type[StrEnum]]
    bare_before_llvm_24: ClassVar[bool] = False
    """Whether LLVM 22 and 23 read the bare word alone, and LLVM 24 the one in brackets alone."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        """Read `word` or `<word>`."""
        bracketed = parser.parse_optional_punctuation("<") is not None
        if cls.bare_before_llvm_24:
            versions, message = ((22, 23), "expected valid keyword or string") if bracketed else ((24,), "expected '<'")
            note_refused_spelling(parser, versions, message)
        found = parser.parse_str_enum(cls.enum_type)
        if bracketed:
            parser.parse_punctuation(">")
        return found
