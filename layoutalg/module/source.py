"""The text of a module: its lines, and the names that values have in it.

xDSL forgets names that are numbers (`%7`), and a person looks for just those. The reader notes where each operation begins,
so the names are read from the text again, where they are asked for.

>>> source = Source("%a = arith.constant 1 : i32\\n  %7:2, %x = \\"test.op\\"() : () -> (i32, i32, i32)")
>>> source.names(Place("text", 2, 3))
('%7', '%x')
>>> source.line(1)
'%a = arith.constant 1 : i32'
"""

from __future__ import annotations

import re
from bisect import bisect_right

from xdsl.ir import Operation

from layoutalg.ir.places import Place, place_of

__all__ = ["Source"]

_NAME = re.compile(r"(%[\w$.\-]+)(?:[ \t]*:[ \t]*([0-9]{1,4}))?[ \t]*")
_COMMA = re.compile(r",\s*")


class Source:
    """A text with its lines found.

    >>> Source("a\\nb").line(2)
    'b'
    """

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def line(self, number: int) -> str:
        """A line, counted from 1; empty for one that the text does not have.

        >>> Source("a").line(7)
        ''
        """
        if not 1 <= number <= len(self.starts):
            return ""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.text[start:end]

    def offset(self, place: Place) -> int:
        """Where a place is in the text, from 0.

        >>> Source("a\\nbc").offset(Place("text", 2, 2))
        3
        """
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
        """The names on the left of the operation that begins at a place; none where it begins with its own name.

        >>> Source("gpu.barrier").names(Place("text", 1, 1))
        ()
        """
        return tuple(name for name, _ in self._counted_names(place))

    def _counted_names(self, place: Place) -> list[tuple[str, int]]:
        """The names with the number of results that each stands for."""
        found: list[tuple[str, int]] = []
        position = self.offset(place)
        while match := _NAME.match(self.text, position):
            found.append((match[1], int(match[2] or 1)))
            position = match.end()
            comma = _COMMA.match(self.text, position)
            if comma is None:
                break
            position = comma.end()
        return found if self.text[position : position + 1] == "=" else []

    def result_names(self, operation: Operation) -> tuple[str, ...]:
        """What the text calls each result of an operation: `%7`, or `%7#1` for the second of `%7:2`; empty where unnamed.

        >>> from layoutalg.ir import read_module
        >>> text = '%7:2, %x = "test.op"() : () -> (i32, i32, i32)'
        >>> Source(text).result_names(read_module(text).body.block.first_op)
        ('%7#0', '%7#1', '%x')
        """
        place = place_of(operation)
        written = () if place is None else self._counted_names(place)
        names = [name if count == 1 else f"{name}#{i}" for name, count in written for i in range(count)]
        if len(names) != len(operation.results):
            names = [f"%{result.name_hint}" if result.name_hint else "" for result in operation.results]
        return tuple(names)
