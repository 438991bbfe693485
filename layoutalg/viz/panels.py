"""Panels side by side: the pictures of plans, which draw blocks and loops instead of single elements.

A panel is cells, words and lines with its own origin; `beside` puts panels in a row, under a title. Long rows of cells are cut:

>>> [number for number, _ in Axis.of(16, 20).places()]
[0, 1, 2, 3, 4, None, 14, 15]

`product_panel` is the panel of a product: A left, B above, C in the corner.

>>> look = {(0, 0): Look("#eeeeee", "0", "the only block")}
>>> one = Axis.of(1, 20)
>>> panel = product_panel("blocks", ["1 of them"], one, one, one, {"A": look, "B": look, "C": look})
>>> [cell.label for cell in panel.cells], [words.text for words in panel.words]
(['0', '0', '0'], ['blocks', 'A', 'B', 'C', '1 of them'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from layoutalg.viz.colours import ink
from layoutalg.viz.picture import Picture
from layoutalg.viz.scene import CELL_HEIGHT
from layoutalg.viz.shapes import Cell, Legend, Line, Scene, Words

__all__ = [
    "DARK",
    "MARKED",
    "PALE",
    "Axis",
    "Look",
    "Panel",
    "PanelPicture",
    "beside",
    "cell_of",
    "first_marked",
    "product_panel",
]

_FIRST, _LAST = 5, 2
"""Cells that are drawn of a long row: at its beginning and at its end."""
_MARGIN, _SPACE, _ROWS_APART, _HEAD = 12, 40, 28, 62
_CHARACTER = 0.62
"""The width of a character of the font, for each pixel of its size."""
PALE, MARKED, DARK = "#eeeeee", "#f7d9a8", "#b8d8e9"
"""The colours of cells: all of them, the ones that the next panel is about, the ones that belong to those."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A row of cells: their numbers where each is drawn (None: the gap), and the width of each."""

    numbers: tuple[int | None, ...]
    step: float

    @classmethod
    def of(cls, count: int, step: float, first: int = _FIRST, last: int = _LAST) -> Axis:
        """The first numbers below `count`, a gap, and the last ones; all of them where the gap would hide one alone."""
        if count <= first + last + 1:
            return cls(tuple(range(count)), step)
        return cls((*range(first), None, *range(count - last, count)), step)

    @property
    def length(self) -> float:
        """The width of the row."""
        return self.step * len(self.numbers)

    @property
    def drawn(self) -> tuple[int, ...]:
        """The numbers that are drawn."""
        return tuple(number for number in self.numbers if number is not None)

    def places(self) -> Iterator[tuple[int | None, float]]:
        """Each number, and where its cell begins."""
        for place, number in enumerate(self.numbers):
            yield number, place * self.step


@dataclass(frozen=True, slots=True)
class Look:
    """What a cell looks like: its colour, its label, and the sentence about it."""

    fill: str
    label: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Cells, words and lines in pixels from the panel's own corner, and its size."""

    cells: tuple[Cell, ...]
    words: tuple[Words, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


def cell_of(x: float, y: float, width: float, height: float, look: Look) -> Cell:
    """A cell at a place; its text is black or white, whichever is easier to read on its colour."""
    return Cell(x, y, width, height, look.fill, ink(look.fill), look.label, look.sentence)


def _arrow(x: float, y: float, length: float) -> tuple[Line, ...]:
    """An arrow to the right."""
    end = x + length
    return Line(x, y, end, y, 1.2), Line(end - 5, y - 3, end, y, 1.2), Line(end - 5, y + 3, end, y, 1.2)


def first_marked(
    axes: tuple[Axis, Axis, Axis],
    of_a: Callable[[int, int], str],
    of_b: Callable[[int, int], str],
    of_c: Callable[[int, int], tuple[str, str]],
) -> dict[str, dict[tuple[int, int], Look]]:
    """Looks for `product_panel`: the first cell of C, and what it needs of A and B, stand out.

    `axes` are rows, depth and columns; sentences are said by the place of a cell, of C with its label in front.
    """
    down, deep, across = (axis.drawn for axis in axes)

    def fill(first: bool, needed: bool) -> str:
        return MARKED if first else DARK if needed else PALE

    return {
        "A": {(i, s): Look(fill(i == s == 0, i == 0), "", of_a(i, s)) for i in down for s in deep},
        "B": {(s, j): Look(fill(s == j == 0, j == 0), "", of_b(s, j)) for s in deep for j in across},
        "C": {(i, j): Look(DARK if i == j == 0 else PALE, *of_c(i, j)) for i in down for j in across},
    }


def product_panel(
    title: str,
    notes: Sequence[str],
    down: Axis,
    deep: Axis,
    across: Axis,
    looks: Mapping[str, Mapping[tuple[int, int], Look]],
) -> Panel:
    """A left of C, B above it: axes of rows, of depth and of columns. `looks` are those of A, B and C by cell."""
    cells: list[Cell] = []
    words = [Words(0, 10, title, 12, bold=True)]
    left, top = deep.length + 14, len(deep.numbers) * CELL_HEIGHT + 34
    tall = Axis(deep.numbers, CELL_HEIGHT)
    for name, rows, columns, x, y in (
        ("A", down, deep, 0.0, top),
        ("B", tall, across, left, 20.0),
        ("C", down, across, left, top),
    ):
        for row, to_y in rows.places():
            for column, to_x in columns.places():
                place = (x + to_x, y + to_y)
                if row is not None and column is not None:
                    cells.append(cell_of(*place, columns.step, rows.step, looks[name][row, column]))
                elif not (row is None and column is None) and name != "C":
                    words.append(Words(place[0] + columns.step / 2, place[1] + rows.step / 2 + 4, "...", 10, "middle"))
    words += [
        Words(0, top - 4, "A", 11, bold=False),
        Words(left - 10, 32, "B", 11, "end"),
        Words(left - 10, top - 4, "C", 11, "end"),
    ]
    bottom = top + down.length
    words += [Words(0, bottom + 14 + 13 * number, note, 10) for number, note in enumerate(notes)]
    width = max(left + across.length, 7 * max(len(note) for note in (title, *notes)))
    walk = _arrow(0, top - 16, deep.length) if len(deep.numbers) > 1 else ()
    return Panel(tuple(cells), tuple(words), walk, width, bottom + 14 + 13 * len(notes))


def beside(panels: Sequence[Panel], title: str, subtitle: str, widest: float = float("inf")) -> Scene:
    """Panels from left to right under a title and subtitle, in several rows where one would be wider than `widest`."""
    cells: list[Cell] = []
    lines: list[Line] = []
    words = [Words(_MARGIN, 20, title, 13, bold=True, fill="#000000")]
    words.append(Words(_MARGIN, 36, subtitle, 10, fill="#555555"))
    x, y, right, bottom = float(_MARGIN), float(_HEAD), 0.0, 0.0
    for panel in panels:
        if x > _MARGIN and x + panel.width + _MARGIN > widest:
            x, y = float(_MARGIN), bottom + _ROWS_APART
        cells += [replace(cell, x=cell.x + x, y=cell.y + y) for cell in panel.cells]
        words += [replace(one, x=one.x + x, y=one.y + y) for one in panel.words]
        lines += [Line(one.x + x, one.y + y, one.to_x + x, one.to_y + y, one.width) for one in panel.lines]
        right, bottom = max(right, x + panel.width), max(bottom, y + panel.height)
        x += panel.width + _SPACE
    height = bottom + _MARGIN
    titled = max(13 * _CHARACTER * len(title), 10 * _CHARACTER * len(subtitle))
    width = max(right + _MARGIN, titled + 2 * _MARGIN)
    return Scene(width, height, title, (), tuple(cells), tuple(words), tuple(lines), (Legend("", (), ()),), "")


@dataclass(frozen=True, slots=True, repr=False)
class PanelPicture(Picture):
    """A picture of panels, with one direction and one colouring; a subclass says which panels."""

    def panels(self) -> Sequence[Panel]:
        """The panels, from left to right."""
        return (Panel((), (), (), 0, 0),)

    def widest(self) -> float:
        """How wide a row of panels may be, in pixels."""
        return float("inf")

    def subtitle(self) -> str:
        """The line under the title."""
        return ""

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The panels side by side, in pixels; there is one direction and one colouring."""
        return beside(self.panels(), self.title, self.subtitle(), self.widest())

    def html(self) -> str:
        """The picture as a page."""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
            f"<title>{escape(self.title)}</title></head>\n<body>{self.svg()}</body>\n</html>\n"
        )

    def _repr_html_(self) -> str:
        from layoutalg.viz.page import image

        return f'<div class="layoutalg" data-of="plan">{image(self.svg(), self.title)}</div>'
