"""Attributes that are held as text: what layoutalg's notations read, xDSL need not read a second time.

`#xegpu.layout<lane_layout = [1, 16]>` has one reader, `layoutalg.xegpu`; `#iree_vector_ext.nested_layout<...>` has another.
An xDSL attribute of that name cuts its balanced text out, asks the notation what it says, and keeps the canonical text that
comes back. So two spellings of one attribute are one xDSL attribute. An alias inside is written out:

>>> from layoutalg.ir import read_module
>>> text = "#l = #xegpu.layout<lane_data=[1],lane_layout=[16]> func.func @f() attributes {a = #xegpu.slice<#l, dims=[0]>} {}"
>>> print(next(iter(read_module(text).ops)).attributes["a"])
#xegpu.slice<#xegpu.layout<lane_layout = [16], lane_data = [1]>, dims = [0]>

The law: the canonical text is read back as the same attribute.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import PunctuationSpelling

from layoutalg.core.errors import LayoutError, ParseError

__all__ = ["AttributeText", "TextAttribute", "balanced_text", "skip_token"]

_BRACKETS: tuple[tuple[PunctuationSpelling, PunctuationSpelling], ...] = (
    ("<", ">"),
    ("[", "]"),
    ("(", ")"),
    ("{", "}"),
)
_MARKS: tuple[PunctuationSpelling, ...] = (",", "=", ":", "->", "-", "?", "*", "+", "/", "|")


def balanced_text(parser: AttrParser) -> str:
    """The text up to the `>` that closes the attribute, which is left to the caller; aliases are written out."""
    source = parser.lexer.input.content
    pieces: list[str] = []
    closing: list[PunctuationSpelling] = []
    copied = parser.pos
    while closing or source[parser.pos : parser.pos + 1] != ">":
        if source[parser.pos : parser.pos + 1] in ("#", "!"):
            pieces.append(source[copied : parser.pos])
            is_type = source[parser.pos] == "!"
            pieces.append(str(parser.parse_type() if is_type else parser.parse_attribute()))
            copied = parser.pos
            continue
        opened = _opened(parser)
        if opened is not None:
            closing.append(opened)
        elif closing and parser.parse_optional_punctuation(closing[-1]) is not None:
            closing.pop()
        else:
            skip_token(parser)
    return ("".join(pieces) + source[copied : parser.pos]).strip()


def _opened(parser: AttrParser) -> PunctuationSpelling | None:
    """Read an opening bracket if there is one; what closes it."""
    for mark, end in _BRACKETS:
        if parser.parse_optional_punctuation(mark) is not None:
            return end
    return None


def skip_token(parser: AttrParser) -> None:
    """Read one token of an attribute's text, whatever it is."""
    if any(parser.parse_optional_punctuation(mark) is not None for mark in _MARKS):
        return
    if parser.parse_optional_identifier() is not None or parser.parse_optional_number() is not None:
        return
    if parser.parse_optional_str_literal() is None and parser.parse_optional_symbol_name() is None:
        parser.raise_error("expected the text of an attribute")


@dataclass(frozen=True, slots=True)
class AttributeText:
    """The text between an attribute's brackets, and where it begins in the source."""

    text: str
    start: int


class TextAttribute(Data[str]):
    """An attribute that is held as the canonical text between its angle brackets."""

    BRACKETS: ClassVar[bool] = True
    """Whether it has any: `#iree_gpu.derived_thread_config` has none."""

    @classmethod
    @abstractmethod
    def read(cls, text: str) -> object:
        """The value that the whole text says; its `str` is the canonical text."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Read `<...>`, and keep what the notation makes of it."""
        return cls.canonical(parser, cls.body(parser))

    @classmethod
    def body(cls, parser: AttrParser) -> AttributeText:
        """Read `<...>`."""
        start = parser.pos
        if not cls.BRACKETS:
            return AttributeText("", start)
        with parser.in_angle_brackets():
            return AttributeText(balanced_text(parser), start)

    @classmethod
    def canonical(cls, parser: AttrParser, body: AttributeText) -> str:
        """The canonical text of a body; an error in it becomes one of the parser, at its place."""
        try:
            return _body_of(cls, f"#{cls.name}<{body.text}>" if cls.BRACKETS else f"#{cls.name}")
        except ParseError as problem:
            reason = str(problem).split(": ", 1)[-1]
            parser.raise_error(reason, body.start + max(0, problem.position - len(cls.name) - 1))
        except LayoutError as problem:
            parser.raise_error(str(problem), body.start)

    def print_parameter(self, printer: Printer) -> None:
        """Write `<...>`."""
        if self.BRACKETS:
            with printer.in_angle_brackets():
                printer.print_string(self.data)


@lru_cache(maxsize=4096)
def _body_of(kind: type[TextAttribute], text: str) -> str:
    _, opened, body = str(kind.read(text)).partition("<")
    return body[:-1] if opened else ""
