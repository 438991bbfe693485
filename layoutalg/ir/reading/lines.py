"""Lines and columns of positions in a text, asked for mostly from front to back.

>>> Lines("module {\\n  gpu.barrier\\n}").at(11)
(2, 3)

The law: positions that go forward cost the distance between them, however long the lines are.
"""

from __future__ import annotations

__all__ = ["Lines"]


class Lines:
    """Counts the lines of a text; it remembers where it was asked last.

    >>> lines = Lines("ab\\ncd")
    >>> lines.at(4), lines.at(0)
    ((2, 2), (1, 1))
    """

    __slots__ = ("_begin", "_line", "_position", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = self._begin = 0
        self._line = 1

    def at(self, position: int) -> tuple[int, int]:
        """Line and column of a position, both from 1.

        >>> Lines("\\n\\n x").at(3)
        (3, 2)
        """
        text = self._text
        if position >= self._position:
            newline = text.rfind("\n", self._position, position)
            if newline >= 0:
                self._line += text.count("\n", self._position, position)
                self._begin = newline + 1
        elif position < self._begin:
            self._line -= text.count("\n", position, self._position)
            self._begin = text.rfind("\n", 0, position) + 1
        self._position = position
        return self._line, position - self._begin + 1
