"""The text of a module: its lines, and the names that values have in it.

xDSL forgets names that are numbers (`%7`), and those are the ones that people look for. The reader notes where each
operation's name stands, so the names of its results are read from the text before it, on demand.

>>> source = Source("%a = arith.constant 1 : i32\\n  %7:2, %x = \\"test.op\\"() : () -> (i32, i32, i32)")
>>> source.names(Place("text", 2, 14)), source.names(Place("text", 2, 3))
(('%7', '%x'), ('%7', '%x'))
>>> source.line(1)
'%a = arith.constant 1 : i32'
"""

from __future__ import annotations

import re
from bisect import bisect_right

from xdsl.ir import Operation

from layoutalg.ir.places import Place, place_of

__all__ = ["Source"]

_NAME = re.compile(r"(%[\w$.\-]+)(?:[ \t]*:[ \t]*([0-9]{1,4}))?")
_RESULTS = re.compile(
    r"%[\w$.\-]++(?:[ \t]*+:[ \t]*+[0-9]++)?+(?:\s*+,\s*+%[\w$.\-]++(?:[ \t]*+:[ \t]*+[0-9]++)?+)*+\s*+="
)
_RESULTS_BEFORE = re.compile(_RESULTS.pattern + r"\s*+\Z")
_LONGEST_RESULTS = 2000
"""Characters before an operation's name that its results are looked for in."""


class Source:
    """A text with its lines found."""

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def line(self, number: int) -> str:
        """A line, counted from 1; empty for one that the text does not have."""
        if not 1 <= number <= len(self.starts):
            return ""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.text[start:end]

    def offset(self, place: Place) -> int:
        """Where a place is in the text, from 0."""
        line = min(max(place.line, 1), len(self.starts))
        return min(self.starts[line - 1] + max(place.column, 1) - 1, len(self.text))

    def place(self, offset: int, file: str) -> Place:
        """The place of an offset.

        >>> str(Source("a\\nbc").place(3, "k.mlir"))
        'k.mlir:2:2'
        """
        line = bisect_right(self.starts, offset)
        return Place(file, line, offset - self.starts[line - 1] + 1)

    def names(self, place: Place) -> tuple[str, ...]:
        """The names of the results of the operation that is at a place; none where it has none."""
        return tuple(name for name, _ in self._counted_names(place))

    def _counted_names(self, place: Place) -> list[tuple[str, int]]:
        """The names with the number of results that each stands for: before the operation's name, or at the place."""
        offset = self.offset(place)
        before = self.text[max(0, offset - _LONGEST_RESULTS) : offset]
        written = _RESULTS_BEFORE.search(before) if before.rstrip().endswith("=") else None
        if written is None:
            written = _RESULTS.match(self.text, offset)
        return [] if written is None else [(name, int(count or 1)) for name, count in _NAME.findall(written[0])]

    def result_names(self, operation: Operation) -> tuple[str, ...]:
        """What the text calls each result of an operation: `%7`, or `%7#1` for the second of `%7:2`; empty where unnamed."""
        place = place_of(operation)
        written = () if place is None else self._counted_names(place)
        names = [name if count == 1 else f"{name}#{i}" for name, count in written for i in range(count)]
        if len(names) != len(operation.results):
            names = [f"%{result.name_hint}" if result.name_hint else "" for result in operation.results]
        return tuple(names)
