"""Positions as editors count them, and offsets as Python does.

An editor counts the units of an encoding from the start of a line, mostly of UTF-16, where an emoji is two. Lines end at
`\\n`, `\\r\\n` or `\\r`, and nowhere else:

>>> places = Positions("x = 1\\r\\n// \\N{GRINNING FACE} %y\\n")
>>> places.at(12), places.offset(1, 6)
((1, 6), 12)
>>> Positions("// \\N{GRINNING FACE} %y", "utf-8").at(5)
(0, 8)

The law: `offset(*at(n)) == n` for every character that begins outside a line break.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal

__all__ = ["Encoding", "Positions"]

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_BREAK = re.compile("\r\n?|\n")


class Positions:
    """The lines of a text, for positions in the units of an encoding, both from 0."""

    __slots__ = ("codec", "ends", "starts", "text", "unit")

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self.text = text
        self.codec, self.unit = _CODECS[encoding]
        breaks = [found.span() for found in _BREAK.finditer(text)]
        self.starts = [0, *(end for _, end in breaks)]
        self.ends = [*(start for start, _ in breaks), len(text)]

    def at(self, offset: int) -> tuple[int, int]:
        """Line and character of an offset; one outside the text is its nearest end."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        return line, self._units(self.text[self.starts[line] : offset])

    def offset(self, line: int, character: int) -> int:
        """The offset of a position; behind the end of a line or of the text, that end, as the protocol wants."""
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        start, end = self.starts[line], self.ends[line]
        inside = self.text[start:end]
        if inside.isascii():
            return min(start + max(character, 0), end)
        units = inside.encode(self.codec, "surrogatepass")[: max(character, 0) * self.unit]
        return start + len(units.decode(self.codec, "ignore"))

    def _units(self, text: str) -> int:
        return len(text) if text.isascii() else len(text.encode(self.codec, "surrogatepass")) // self.unit
