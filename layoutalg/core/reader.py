"""Reading text, one token at a time, with an error that points at the column.

Every notation that layoutalg reads (its own text form, attributes, types) goes through one `Reader`. It never evaluates
text and never backtracks, so a hostile text costs no more than its length.

>>> reader = Reader("lane_layout = [1, 0x10]  // a comment")
>>> reader.word(), reader.accept("="), reader.integers(), reader.at_end()
('lane_layout', True, (1, 16), True)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

from layoutalg.core.errors import ParseError
from layoutalg.core.limits import LONGEST_INTEGER, LONGEST_SHOWN, MAX_NESTING, MAX_TEXT, MOST_GIVEN
from layoutalg.core.messages import shortened

__all__ = ["Reader", "did_you_mean"]

# Possessive quantifiers (++): without them every character of a comment or a string costs a hundred bytes while it is read.
_SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_ALIAS = re.compile(r"[#!][A-Za-z_][A-Za-z0-9_$]*(?![A-Za-z0-9_$.<])")
_INTEGER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+)")
_STRING = re.compile(r'"(?:[^"\\\n]++|\\["\\nt]|\\[0-9A-Fa-f]{2})*+"')
_ESCAPE = re.compile(r'\\(?:(["\\nt])|([0-9A-Fa-f]{2}))')
_LONGEST_PROBLEM = 600
_T = TypeVar("_T")


class Reader:
    """A position in a text. Every method skips white space and `//` comments first.

    Raises `ParseError` with line and column, saying what would have been accepted.

    >>> Reader("[1, two]").integers()
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 5: expected an integer, found 'two]'
    """

    __slots__ = ("aliases", "depth", "position", "text")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParseError("", 0, "a text", f"found a value of type {type(text).__name__}")
        if len(text) > MAX_TEXT:
            raise ParseError("", 0, f"a text of at most {MAX_TEXT} characters", f"found one of {len(text)}")
        self.text = text
        self.position = 0
        self.depth = 0
        self.aliases: dict[str, Any] = {}
        """The values of `#name` and `!name`, sigils included, that the text may use."""

    def skip(self) -> int:
        """Skip white space and comments; returns the position."""
        match = _SPACE.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return self.position

    def fail(self, expected: str, problem: str | None = None, at: int | None = None) -> NoReturn:
        """Raise the `ParseError` for the present position (or for `at`)."""
        shorter = None if problem is None else shortened(problem, _LONGEST_PROBLEM)
        raise ParseError(self.text, self.skip() if at is None else at, shortened(expected, _LONGEST_PROBLEM), shorter)

    def at_end(self) -> bool:
        """Whether nothing but white space is left."""
        return self.skip() == len(self.text)

    def finish(self) -> None:
        """Raise unless the whole text has been read."""
        if not self.at_end():
            self.fail("the end of the text")

    def looking_at(self, literal: str) -> bool:
        """Whether the text goes on with `literal`; reads nothing but white space."""
        return self.text.startswith(literal, self.skip())

    def accept(self, literal: str) -> bool:
        """Read `literal` if it comes next."""
        if self.text.startswith(literal, self.skip()):
            self.position += len(literal)
            return True
        return False

    def expect(self, literal: str) -> None:
        """Read `literal`, or raise."""
        if not self.accept(literal):
            self.fail(f"'{literal}'")

    def accept_word(self) -> str | None:
        """Read an identifier if one comes next."""
        match = _WORD.match(self.text, self.skip())
        if match is None:
            return None
        self.position = match.end()
        return match.group()

    def accept_alias(self) -> Any | None:
        """Read `#name` or `!name` if it is an alias that the text has defined: its value."""
        match = _ALIAS.match(self.text, self.skip()) if self.aliases else None
        if match is None or match.group() not in self.aliases:
            return None
        self.position = match.end()
        return self.aliases[match.group()]

    def word(self, expected: str = "a name") -> str:
        """Read an identifier, or raise saying that `expected` was wanted."""
        word = self.accept_word()
        if word is None:
            self.fail(expected)
        return word

    def one_of(self, words: tuple[str, ...]) -> str:
        """Read one of `words`, or raise with the list."""
        start = self.skip()
        word = self.accept_word()
        if word not in words:
            problem = None if word is None else f"found {word[:40]!r}{did_you_mean(word, words)}"
            self.fail(" or ".join(f"'{choice}'" for choice in words), problem, at=start)
        return word

    def accept_integer(self, low: int = -(2**63), high: int = 2**63 - 1) -> int | None:
        """Read a decimal or hexadecimal integer if one comes next; out of `low..high` is an error."""
        start = self.skip()
        match = _INTEGER.match(self.text, start)
        if match is None:
            return None
        digits = match.group()
        value = None if len(digits) > LONGEST_INTEGER else int(digits, 16 if "x" in digits else 10)
        if value is None or not low <= value <= high:
            shown = digits if len(digits) <= LONGEST_SHOWN else f"a number of {len(digits)} digits"
            self.fail(f"an integer from {low} to {high}", f"found {shown}", at=start)
        self.position = match.end()
        return value

    def integer(self, low: int = -(2**63), high: int = 2**63 - 1) -> int:
        """Read an integer in `low..high`, or raise."""
        value = self.accept_integer(low, high)
        if value is None:
            self.fail("an integer")
        return value

    def integers(self, low: int = -(2**31), high: int = 2**31 - 1, most: int = MOST_GIVEN) -> tuple[int, ...]:
        """Read `[1, 2, 3]` (or `[]`), at most `most` numbers."""
        self.expect("[")
        if self.accept("]"):
            return ()
        values = [self.integer(low, high)]
        while self.accept(","):
            if len(values) == most:
                self.fail(f"at most {most} integers", "found more")
            values.append(self.integer(low, high))
        if not self.accept("]"):
            self.fail("',' or ']'")
        return tuple(values)

    def accept_string(self) -> str | None:
        """Read a string as MLIR quotes it, if one comes next: `"a\\22b"` is a"b."""
        match = _STRING.match(self.text, self.skip())
        if match is None:
            if self.looking_at('"'):
                self.fail("a string that ends on its line", "found one without an end, or with an unknown escape")
            return None
        self.position = match.end()
        inner = match.group()[1:-1]
        if "\\" not in inner:
            return inner
        # Escapes are bytes: several of them may be one character of UTF-8.
        joined, start = bytearray(), 0
        for escape in _ESCAPE.finditer(inner):
            joined += inner[start : escape.start()].encode("utf-8", "surrogatepass") + _unescaped(*escape.groups())
            start = escape.end()
        joined += inner[start:].encode("utf-8", "surrogatepass")
        return joined.decode("utf-8", "surrogateescape")

    def string(self) -> str:
        """Read a string, or raise."""
        value = self.accept_string()
        if value is None:
            self.fail("a string")
        return value

    def nested(self, read: Callable[[], _T]) -> _T:
        """Call `read` one level deeper; deeper than `MAX_NESTING` levels is an error."""
        if self.depth >= MAX_NESTING:
            self.fail(f"at most {MAX_NESTING} levels of nesting", "found one more")
        self.depth += 1
        try:
            return read()
        finally:
            self.depth -= 1


def did_you_mean(word: str, words: Sequence[str]) -> str:
    """A hint for an error where a word is nearly one of those that would do; else nothing."""
    near = get_close_matches(word, words, 1, 0.7) if len(word) <= LONGEST_SHOWN else []
    return f"; did you mean {near[0]}?" if near else ""


def _unescaped(letter: str | None, code: str | None) -> bytes:
    if code:
        return bytes([int(code, 16)])
    return {"n": b"\n", "t": b"\t"}.get(letter or "", (letter or "").encode())
