"""Dimension lines beside a table of cells: how far apart two of its cells are, and what the step between them counts.

>>> from layoutalg.viz.panels import PALE, Look, table_panel
>>> cells = table_panel("", ["0", "1"], ["0"], [[Look(PALE, "0", ""), Look(PALE, "8", "")]], (20, 20))
>>> panel = dimensioned(cells, Steps(((1, "+8"),), ()))
>>> [words.text for words in panel.words], len(panel.lines)
(['0', '1', '0', '+8'], 3)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from layoutalg.viz.panels import Panel, in_a_row, stacked
from layoutalg.viz.scene import CHARACTER
from layoutalg.viz.shapes import Line, Words

__all__ = ["Steps", "dimensioned"]

_HIGH, _TICK, _WIDE = 14.0, 3.0, 1.2
"""From one line to the next, half of what ends a line, and how wide it is."""


class Steps(NamedTuple):
    """Steps across and down, innermost first: how many cells apart, and what is written beside the line."""

    across: tuple[tuple[int, str], ...]
    down: tuple[tuple[int, str], ...]

    @property
    def left(self) -> float:
        """The room that the lines need left of a table.

        >>> Steps((), ((1, "+1"),)).left > Steps((), ()).left
        True
        """
        return sum(self._wide(text) for _, text in self.down)

    @staticmethod
    def _wide(text: str) -> float:
        return len(text) * CHARACTER + 10

    def lines(self, x: float, y: float, size: tuple[float, float], above: float) -> Iterator[Line | Words]:
        """The lines and words of a table whose first cell's middle is at (x, y): above its numbers, and left of `self.left`."""
        width, height = size
        for level, (apart, text) in enumerate(self.across):
            at, end = above - _TICK - 1 - level * _HIGH, x + apart * width
            yield Line(x, at, end, at, _WIDE)
            yield from (Line(tick, at - _TICK, tick, at + _TICK, _WIDE) for tick in (x, end))
            yield Words(end + 5, at + 4, text, 11)
        at = self.left
        for apart, text in self.down:
            end = y + apart * height
            at -= 5
            yield Line(at, y, at, end, _WIDE)
            yield from (Line(at - _TICK, tick, at + _TICK, tick, _WIDE) for tick in (y, end))
            yield Words(at - 5, (y + end) / 2 + 4, text, 11, "end")
            at -= self._wide(text) - 5


def dimensioned(table: Panel, steps: Steps, left: float | None = None) -> Panel:
    """A table of cells with lines above and beside it that say what steps count, `left` pixels further right.

    A step that is longer than the table is left out.
    """
    first = table.cells[0]
    right, low = (max(ends) for ends in ([one.x for one in table.cells], [one.y for one in table.cells]))
    steps = Steps(
        tuple([one for one in steps.across if first.x + one[0] * first.width < right + 1]),
        tuple([one for one in steps.down if first.y + one[0] * first.height < low + 1]),
    )
    aside = steps.left if left is None else left
    above = _HIGH * len(steps.across)
    placed = stacked([Panel((), (), (), 0, above), table], 0)
    placed = in_a_row([Panel((), (), (), aside, 0), placed], float("inf"), 0)
    cell = placed.cells[0]
    drawn = [*steps.lines(cell.x + cell.width / 2, cell.y + cell.height / 2, (cell.width, cell.height), above)]
    words = tuple([one for one in drawn if isinstance(one, Words)])
    lines = tuple([one for one in drawn if isinstance(one, Line)])
    widest = max([placed.width, *(one.x + len(one.text) * CHARACTER for one in words if one.anchor == "start")])
    return replace(placed, words=(*placed.words, *words), lines=(*placed.lines, *lines), width=widest)
