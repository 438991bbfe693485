"""What a message shows of a value that a caller gave: its beginning, on one line, whatever the value is.

A message about `10**5000` cannot print the number (Python refuses to), and one about a long array should not:

>>> shown(10**5000), shown([16, 8]), shown("a" * 100)
('(a number of 5001 digits)', '[16, 8]', "'aaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaa'")
"""

from __future__ import annotations

from reprlib import Repr

from layoutalg.core.limits import LONGEST_MESSAGE, LONGEST_SHOWN, LONGEST_SOURCE_LINE

__all__ = ["excerpt", "number_text", "one_line", "printable", "shortened", "shown"]


def number_text(number: int) -> str:
    """A whole number for a message; of one over 2^128 only how long it is.

    >>> number_text(2**31), number_text(-(10**50))
    ('2147483648', '(a number of 51 digits)')
    """
    if number.bit_length() <= 128:
        return str(number)
    # log10(2) as a fraction: floats end at 2^1024. The last digit may be off by one, and nobody counts.
    return f"(a number of {number.bit_length() * 30103 // 100000 + 1} digits)"


class _Short(Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = LONGEST_SHOWN

    def repr_int(self, x: int, level: int) -> str:
        return number_text(x)

    def repr_instance(self, x: object, level: int) -> str:
        try:
            return super().repr_instance(x, level)
        except Exception:  # somebody else's __repr__ may raise anything
            return f"<{type(x).__name__}>"


_SHORT = _Short()


def shown(value: object, most: int = LONGEST_SHOWN) -> str:
    """A value for a message, in at most `most` characters on one line.

    >>> shown(range(10**9)), shown({"a": None}), shown([10**5000, 1])
    ('range(0, 1000000000)', "{'a': None}", '[(a number of 5001 digits), 1]')
    """
    return shortened(" ".join(_SHORT.repr(value).split()), most)


def one_line(text: str) -> str:
    """A text without line breaks: a message is one line, whatever it repeats."""
    return text if text.isprintable() else " ".join(text.splitlines())


def printable(text: str) -> str:
    """A text with a space for every character that a terminal would obey instead of printing it; one for one.

    >>> printable("a\\tb\\x1b[31m")
    'a b [31m'
    """
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def excerpt(line: str, column: int, width: int) -> tuple[str, str]:
    """The part of a line around a column that fits, and the line with the caret below it; `column` counts from 1.

    >>> print("\\n".join(excerpt("d0 = 4@lane, d1 = ?", 19, 80)))
    d0 = 4@lane, d1 = ?
                      ^
    """
    if "\t" in line and len(line) < width:
        column = len(line[: column - 1].expandtabs()) + 1
        line = line.expandtabs()
    shown = printable(line[: column + LONGEST_SOURCE_LINE])
    start = 0
    if len(line) > width:
        start = max(0, min(column - 1 - width // 3, len(line) - width + 3))
        shown = ("..." if start else "") + shown[start + 3 * bool(start) :]
        end = width - 3 if start + width < len(line) else width
        shown = shown[:end] + ("..." if len(line) > start + width else "")
    return shown.rstrip(), " " * max(0, column - 1 - start) + "^"


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """A text, or its beginning and its end around `...` where it is longer than `most`.

    >>> shortened("d0 = 4@reg, d1 = 4@lane", 15)
    'd0 = 4...4@lane'
    """
    if len(text) <= most:
        return text
    half = (most - 3) // 2
    return f"{text[:half]}...{text[len(text) - (most - 3 - half) :]}"
