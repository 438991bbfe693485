"""A flow as a panel: what exists one after the other as boxes, and between them arrows with what is done and in which layout.

Rows go from top to bottom, with one box or two side by side. An arrow leads from a box to the row below; its number is that of
the frame that shows the step in full.

>>> boxes = [[Stage("A", ("memory",)), Stage("B", ("memory",))], [Stage("C", ("registers",))]]
>>> panel = flow_panel("a step", boxes, [Arrow((0, 0), ("2 loads",), 1), Arrow((0, 1), ("4 loads",), 1)])
>>> [words.text for words in panel.words]
['a step', 'A', 'memory', 'B', 'memory', 'C', 'registers', '2 loads', '4 loads']
>>> [cell.sentence for cell in panel.cells]
['A: memory', 'B: memory', 'C: registers', 'step 1: 2 loads', 'step 1: 4 loads']
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.viz.panels import INNER, LETTER, PALE, Look, Panel, arrow, cell_of
from layoutalg.viz.shapes import Cell, Line, Words

__all__ = ["NUMBERED", "Arrow", "Stage", "flow_panel"]

NUMBERED = "#33424f"
"""The colour of the numbers of steps."""
_BESIDE, _LINE, _PADDING, _BADGE, _RETURN = 16.0, 14.0, 6.0, 16.0, 22.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A box: its title, lines below it, and its colour."""

    title: str
    lines: tuple[str, ...] = ()
    fill: str = PALE


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a box (its row and its place in the row) to the row below: what stands beside it, and the step that it is."""

    start: tuple[int, int]
    notes: tuple[str, ...]
    step: int | None = None


def flow_panel(
    title: str,
    rows: Sequence[Sequence[Stage]],
    arrows: Sequence[Arrow],
    again: tuple[int, int] | None = None,
    notes: Sequence[str] = (),
) -> Panel:
    """The panel of a flow; `again` leads from the end of one row back to another, as a loop does. `notes` stand above."""
    words, cells, lines = [Words(0, 10, title, 12, bold=True)], list[Cell](), list[Line]()
    badges: list[Cell] = []
    told: list[Words] = []
    room = INNER - (_RETURN if again else 0)
    middles: list[float] = []
    above = [part for note in notes for part in textwrap.wrap(note, int(INNER / (11 * LETTER)))]
    words += [Words(0, 25 + _LINE * line, part, 11) for line, part in enumerate(above)]
    y = 20.0 + _LINE * len(above)
    for number, row in enumerate(rows):
        width = (room - _BESIDE * (len(row) - 1)) / len(row)
        texts = [[part for line in stage.lines for part in _wrapped(line, width - 12)] for stage in row]
        height = _PADDING * 2 + _LINE * (1 + max(map(len, texts)))
        for place, (stage, text) in enumerate(zip(row, texts, strict=True)):
            x = place * (width + _BESIDE)
            sentence = ": ".join([stage.title, *([", ".join(stage.lines)] if stage.lines else [])])
            cell = cell_of(x, y, width, height, Look(stage.fill, "", sentence))
            cells.append(cell)
            for line, one in enumerate((stage.title, *text)):
                at = y + _PADDING + 11 + _LINE * line
                words.append(Words(x + width / 2, at, one, 11, "middle", line == 0, cell.ink, over=True))
        middles.append(y + height / 2)
        y += height
        mine = [one for one in arrows if one.start[0] == number]
        each = [[part for note in one.notes for part in _wrapped(note, width - 44)] for one in mine]
        if mine:
            gap = max(_BADGE + 12, _LINE * max(map(len, each)) + 13)
            for one, text in zip(mine, each, strict=True):
                x = one.start[1] * (width + _BESIDE) + 10
                lines += arrow(x, y + 1, x, y + gap - 1, heavy=True)
                if one.step is not None:
                    look = Look(NUMBERED, str(one.step), f"step {one.step}: {'; '.join(one.notes)}")
                    badges.append(cell_of(x + 10, y + 5, _BADGE, _BADGE, look))
                told += [
                    Words(x + 32 - 20 * (one.step is None), y + 17 + _LINE * line, part, 11)
                    for line, part in enumerate(text)
                ]
            y += gap
    if again:
        low, high = middles[again[0]], middles[again[1]]
        side = INNER - 8
        lines += [
            Line(room, low, side, low, 1.6),
            Line(side, low, side, high, 1.6),
            *arrow(side, high, room + 1, high, heavy=True),
        ]
    return Panel((*cells, *badges), (*words, *told), tuple(lines), INNER, y)


def _wrapped(text: str, width: float) -> list[str]:
    """The lines of a text; a layout is broken between its dimensions, if that is enough."""
    letters = max(int(width / (11 * LETTER)), 8)
    whole = [part.strip() for part in text.split(", ")] if "@" in text else []
    lines = textwrap.wrap(", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in whole) or text, letters)
    if any("\N{NO-BREAK SPACE}" in line and len(line) == letters for line in lines):
        lines = textwrap.wrap(text, letters)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
