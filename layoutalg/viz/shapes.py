"""What a picture is made of, for any renderer: cells, words, lines and legends at pixel positions.

>>> Line(0, 0, 0, 40, 2.0).fill, Words(12, 20, "a title", 13).anchor
('#111111', 'start')

A `Frame` says where the cells of one grid stand, in strips where its columns go on below; a `Scene` is everything to draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from layoutalg.viz.grid import Grid

__all__ = ["INK", "PAPER", "Cell", "Frame", "Legend", "Line", "Scene", "Strip", "Swatch", "Words", "drawn_by"]

INK, PAPER = "#111111", "#ffffff"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its place in pixels, its colours, its label and a sentence about it."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    ink: str
    label: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; `anchor` is "start", "middle" or "end", `y` its base line. One on a cell is the same on a dark page."""

    x: float
    y: float
    text: str
    size: float
    anchor: str = "start"
    bold: bool = False
    fill: str = "#333333"
    over: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two points; one that stands `over` cells has a group of its own.

    >>> Line(0, 0, 0, 40, 2.0).width
    2.0
    """

    x: float
    y: float
    to_x: float
    to_y: float
    width: float
    fill: str = INK
    over: bool = False


def drawn_by(line: Line) -> tuple[bool, float, str]:
    """What lines that are drawn together share; what is drawn first comes first."""
    return line.fill == INK, line.width, line.fill


@dataclass(frozen=True, slots=True)
class Swatch:
    """A square of the legend."""

    x: float
    y: float
    size: float
    fill: str


@dataclass(frozen=True, slots=True)
class Legend:
    """The legend for one colouring."""

    by: str
    swatches: tuple[Swatch, ...]
    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """Neighbouring columns of a grid, drawn beside each other: its bands and its drawn columns."""

    bands: slice
    columns: slice


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where the cells of one grid stand: the left edges of its drawn columns, the upper edges of its drawn rows.

    A cell of a further strip stands `drop` lower for each strip before its own.
    """

    grid: Grid
    columns: tuple[float, ...]
    rows: tuple[float, ...]
    width: float
    height: float
    strips: tuple[Strip, ...]
    drop: float

    def places(self) -> Iterator[tuple[float, float]]:
        """The upper left corner of every drawn cell, row by row."""
        lower = [n * self.drop for n, strip in enumerate(self.strips) for _ in self.columns[strip.columns]]
        for y in self.rows:
            for x, down in zip(self.columns, lower, strict=True):
                yield x, y + down


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything to draw, in pixels. `cells` go grid by grid, row by row."""

    width: float
    height: float
    title: str
    frames: tuple[Frame, ...]
    cells: tuple[Cell, ...]
    words: tuple[Words, ...]
    lines: tuple[Line, ...]
    legends: tuple[Legend, ...]
    by: str
