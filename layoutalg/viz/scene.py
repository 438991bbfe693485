"""A picture laid out in the plane: rectangles, texts and lines at pixel positions, for any renderer to draw.

>>> from layoutalg.core import Layout
>>> scene = Layout.parse("d0 = 2@reg, d1 = 2@lane").picture(title="C").scene()
>>> [(cell.x, cell.y, cell.label) for cell in scene.cells]
[(26, 73, '0:0'), (56, 73, '1:0'), (26, 93, '0:1'), (56, 93, '1:1')]

Rows and columns stand at the same places for all grids of a scene, so that the operands of a product line up.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import SizeError
from layoutalg.viz.colouring import paint
from layoutalg.viz.colours import hexes, ink
from layoutalg.viz.grid import Grid, Side

__all__ = ["CELL_HEIGHT", "MOST_CELLS", "Cell", "Frame", "Line", "Scene", "Swatch", "Words", "lay_out"]

CELL_HEIGHT = 20
CHARACTER = 6.7
"""The width of a character of the cells' font, 11 pixels high; other sizes in proportion."""
_GAP = 16
_MARGIN = 12
_SPACE = 28
_LEAST_WIDTH = 420
_TITLE, _NAME, _SMALL = 13, 12, 10
MOST_CELLS = 2**16
_MOST_LABELS = 2**14
_MOST_DOTS = 256


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its place in pixels, its colours, its label and a sentence about it.

    >>> Cell(0, 0, 36, 20, "#ffffff", "#000000", "0:0", "element (0, 0): lane 0, register 0").label
    '0:0'
    """

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
    """A line of text; `anchor` is "start", "middle" or "end", `y` its base line.

    >>> Words(0, 10, "C", 12).anchor
    'start'
    """

    x: float
    y: float
    text: str
    size: float
    anchor: str = "start"
    bold: bool = False
    fill: str = "#333333"


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two points.

    >>> Line(0, 0, 0, 40, 2.0).width
    2.0
    """

    x: float
    y: float
    to_x: float
    to_y: float
    width: float


@dataclass(frozen=True, slots=True)
class Swatch:
    """A square of the legend.

    >>> Swatch(0, 0, 12, "#4c9cc9").size
    12
    """

    x: float
    y: float
    size: float
    fill: str


@dataclass(frozen=True, slots=True)
class Legend:
    """The legend for one colouring.

    >>> Legend("lane", (), ()).by
    'lane'
    """

    by: str
    swatches: tuple[Swatch, ...]
    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where the cells of one grid stand: the left edges of its drawn columns, the upper edges of its drawn rows.

    >>> Frame(None, (0.0, 36.0), (0.0,), 36, 20).columns
    (0.0, 36.0)
    """

    grid: Any
    columns: tuple[float, ...]
    rows: tuple[float, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything to draw, in pixels. `cells` go grid by grid, row by row.

    >>> from layoutalg.core import Layout
    >>> Layout.parse("d0 = 2@reg, d1 = 2@lane").picture(title="C").scene().width
    444
    """

    width: float
    height: float
    title: str
    frames: tuple[Frame, ...]
    cells: tuple[Cell, ...]
    words: tuple[Words, ...]
    lines: tuple[Line, ...]
    legends: tuple[Legend, ...]
    by: str


def lay_out(
    title: str,
    placed: Sequence[tuple[Grid, int, int]],
    by: str,
    others: Sequence[str],
    notes: Sequence[str] = (),
) -> Scene:
    """Lay out grids, each at its (row, column) of an arrangement, coloured `by`; legends for `others` too.

    Raises `SizeError` for more than 2^16 cells.

    >>> from layoutalg.core import Layout
    >>> from layoutalg.core.drawing import Part
    >>> from layoutalg.viz.grid import tensor_grid
    >>> grid = tensor_grid(Part("C", Layout.parse("d0 = 2@reg, d1 = 2@lane")))
    >>> [words.text for words in lay_out("a tile", [(grid, 0, 0)], "lane", ["lane"]).words][:2]
    ['a tile', 'C']
    """
    count = sum(grid.shape[0] * grid.shape[1] for grid, _, _ in placed)
    if count > MOST_CELLS:
        raise SizeError(
            f"{count} cells: at most 2^16 are drawn one by one; save a full picture as PNG, leave it folded, or draw a part"
        )
    texts = [grid.labels() for grid, _, _ in placed] if count <= _MOST_LABELS else [None for _ in placed]
    headers = [(grid.rows.headers(), grid.columns.headers()) for grid, _, _ in placed]
    longest = max((t.dtype.itemsize // 4 for t in texts if t is not None and t.size), default=0)
    over = max((len(h) for _, across in headers for h in across), default=1)
    cell = max(round(max(longest * CHARACTER, over * CHARACTER * _SMALL / 11) + 10), CELL_HEIGHT if longest else 4)
    if count > _MOST_LABELS:
        cell = 6
    side = round(max((len(h) for down, _ in headers for h in down), default=1) * CHARACTER * _SMALL / 11 + 8)

    words: list[Words] = []
    rows = sorted({row for _, row, _ in placed})
    columns = sorted({column for _, _, column in placed})
    wide = {c: max(side + _length(g.columns, cell) for g, _, at in placed if at == c) for c in columns}
    head = 36 if any(grid.title != title for grid, _, _ in placed) else 18
    high = {r: max(_length(g.rows, CELL_HEIGHT) for g, at, _ in placed if at == r) + head for r in rows}
    width = max(_MARGIN * 2 + sum(wide.values()) + _SPACE * (len(columns) - 1), _LEAST_WIDTH + _MARGIN * 2)
    y: float = _MARGIN
    for line in _wrapped(title, width - 2 * _MARGIN, _TITLE):
        y += _TITLE + 4
        words.append(Words(_MARGIN, y, line, _TITLE, bold=True, fill="#000000"))
    top = y + 8
    left = {c: _MARGIN + sum(wide[b] + _SPACE for b in columns if b < c) for c in columns}
    upper = {r: top + sum(high[b] + _SPACE // 2 for b in rows if b < r) for r in rows}

    frames: list[Frame] = []
    cells: list[Cell] = []
    lines: list[Line] = []
    for (grid, row, column), text, (down, across) in zip(placed, texts, headers, strict=True):
        x0, y0 = left[column] + side, upper[row] + head
        if grid.title != title:
            words.append(Words(x0, upper[row] + 14, grid.title, _NAME, bold=True))
        xs, ys = _edges(grid.columns, x0, cell), _edges(grid.rows, y0, CELL_HEIGHT)
        size = 11 * _SMALL / 11
        words += [
            Words(x + w / 2, y0 - 6, name, size, "middle", fill="#666666")
            for name, (x, w) in zip(across, xs, strict=True)
        ]
        words += [
            Words(
                x0 - 4, y + h / 2 + 3.5, name if not band.gap else "\N{VERTICAL ELLIPSIS}", size, "end", fill="#666666"
            )
            for name, band, (y, h) in zip(down, grid.rows.bands, ys, strict=True)
        ]
        dots = list(_dots(grid, xs, ys))
        words += dots if len(dots) <= _MOST_DOTS else []
        drawn_x = tuple(x for b, (x, _) in zip(grid.columns.bands, xs, strict=True) if not b.gap)
        drawn_y = tuple(y for b, (y, _) in zip(grid.rows.bands, ys, strict=True) if not b.gap)
        frame = Frame(grid, drawn_x, drawn_y, cell, CELL_HEIGHT)
        frames.append(frame)
        cells += _cells(frame, by, text)
        lines += _borders(frame)
    bottom = top + sum(high.values()) + (_SPACE // 2) * (len(rows) - 1) + 6
    legends = [_legend(placed, one, bottom, width) for one in others]
    y = max((w.y for legend in legends for w in legend.words), default=bottom)
    forms = {f"label: {grid.label_form}" for grid, _, _ in placed}
    for note in [*sorted(forms), *notes]:
        for line in _wrapped(note, width - 2 * _MARGIN, _SMALL):
            y += _SMALL + 5
            words.append(Words(_MARGIN, y, line, _SMALL, fill="#555555"))
    return Scene(width, y + _MARGIN, title, tuple(frames), tuple(cells), tuple(words), tuple(lines), tuple(legends), by)


def _wrapped(text: str, width: float, size: float) -> list[str]:
    return textwrap.wrap(text, max(int(width / (CHARACTER * size / 11)), 20)) or [""]


def _length(side: Side, step: float) -> float:
    return sum(_GAP if band.gap else step for band in side.bands)


def _edges(side: Side, start: float, step: float) -> list[tuple[float, float]]:
    """Where each band starts, and how wide it is."""
    found: list[tuple[float, float]] = []
    for band in side.bands:
        width = _GAP if band.gap else step
        found.append((start, width))
        start += width
    return found


def _dots(grid: Grid, xs: Sequence[tuple[float, float]], ys: Sequence[tuple[float, float]]) -> Iterator[Words]:
    """The dots in the cells of a gap."""
    for across, (x, w) in zip(grid.columns.bands, xs, strict=True):
        for down, (y, h) in zip(grid.rows.bands, ys, strict=True):
            if across.gap and not down.gap:
                yield Words(
                    x + w / 2, y + h / 2 + 3.5, "\N{MIDLINE HORIZONTAL ELLIPSIS}", _SMALL, "middle", fill="#999999"
                )
            elif down.gap and not across.gap:
                yield Words(x + w / 2, y + h / 2 + 3.5, "\N{VERTICAL ELLIPSIS}", _SMALL, "middle", fill="#999999")


def _cells(frame: Frame, by: str, labels: NDArray[Any] | None) -> Iterator[Cell]:
    grid: Grid = frame.grid
    colours = paint(grid, by).colours
    fills, inks = hexes(colours), hexes(ink(colours))
    texts = [""] * len(fills) if labels is None else labels.reshape(-1).tolist()
    where = sentences(grid)
    at = [(x, y) for y in frame.rows for x in frame.columns]
    for (x, y), fill, colour, text, sentence in zip(at, fills, inks, texts, where, strict=True):
        yield Cell(x, y, frame.width, frame.height, fill, colour, text, sentence)


def sentences(grid: Grid) -> list[str]:
    """A sentence about every drawn cell, row by row: the element, and who has it.

    >>> from layoutalg.core import Layout
    >>> from layoutalg.core.drawing import Part
    >>> from layoutalg.viz.grid import tensor_grid
    >>> sentences(tensor_grid(Part("B", Layout.parse("d0 = 2@reg, d1 = 2@lane | replicas 2@lane:2"))))[3]
    'element (1, 1): subgroup 0, lane 1, register 1; also lane 3'
    """
    named = {"sg": "subgroup", "reg": "register"}
    words = [named.get(axis, axis) for axis in grid.axes]
    elements = [grid.facts[name].reshape(-1).tolist() for name in grid.elements]
    owners = [grid.facts[axis].reshape(-1).tolist() for axis in grid.axes]
    moving = [d for d in range(len(grid.axes)) if any(copy[d] for copy in grid.copies)]
    found: list[str] = []
    for i in range(grid.shape[0] * grid.shape[1]):
        owner = ", ".join(f"{word} {values[i]}" for word, values in zip(words, owners, strict=True))
        sentence = f"element ({', '.join(str(values[i]) for values in elements)}): {owner}"
        if grid.copies:
            also = [" ".join(f"{words[d]} {owners[d][i] + copy[d]}" for d in moving) for copy in grid.copies[:4]]
            more = grid.copies_of - 1 - len(also)
            sentence += f"; also {', '.join(also)}" + (f" and {more} more" if more > 0 else "")
        found.append(sentence)
    return found


def _borders(frame: Frame) -> Iterator[Line]:
    """Lines between subgroups (wide) and between instruction tiles (thin), where neighbouring cells touch."""
    grid: Grid = frame.grid
    groups = grid.facts.get("sg")
    tiles = [grid.facts[name] // size for name, size in zip(grid.elements, grid.tile, strict=True)]
    grouped = grid.tensor and grid.tile_known
    for width, facts in ((0.9, tiles if grouped else []), (2.2, [] if groups is None else [groups])):
        if not facts:
            continue
        for upright, starts, size, along in (
            (True, frame.columns, frame.width, frame.rows),
            (False, frame.rows, frame.height, frame.columns),
        ):
            for i in range(1, len(starts)):
                if starts[i] - starts[i - 1] > size + 0.5:
                    continue
                differ: NDArray[np.bool_] = np.zeros(len(along), bool)
                for values in facts:
                    a, b = (values[:, i - 1], values[:, i]) if upright else (values[i - 1], values[i])
                    differ = differ | (a != b)
                yield from _segments(differ, starts[i], along, frame.height if upright else frame.width, width, upright)


def _segments(
    differ: NDArray[np.bool_], at: float, along: Sequence[float], size: float, width: float, upright: bool
) -> Iterator[Line]:
    """The runs of a border, one line each."""
    start: float | None = None
    end = 0.0
    for there, position in zip(differ.tolist(), along, strict=True):
        if start is not None and (not there or position - end > 0.5):
            yield Line(at, start, at, end, width) if upright else Line(start, at, end, at, width)
            start = None
        if there and start is None:
            start = position
        end = position + size
    if start is not None:
        yield Line(at, start, at, end, width) if upright else Line(start, at, end, at, width)


def _legend(placed: Sequence[tuple[Grid, int, int]], by: str, top: float, width: float) -> Legend:
    """The legend of a colouring, for all grids: swatches side by side, wrapped."""
    entries: dict[str, str | None] = {}
    for grid, _, _ in placed:
        for text, colour in paint(grid, by).legend:
            entries.setdefault(text, colour)
    swatches: list[Swatch] = []
    words: list[Words] = []
    x, y = float(_MARGIN), top + 12
    for text, colour in entries.items():
        needs = (16 if colour else 0) + len(text) * CHARACTER * _SMALL / 11 + 12
        if x > _MARGIN and x + needs > width - _MARGIN:
            x, y = float(_MARGIN), y + 16
        if colour:
            swatches.append(Swatch(x, y - 10, 12, colour))
        words.append(Words(x + (16 if colour else 0), y, text, _SMALL))
        x += needs
    return Legend(by, tuple(swatches), tuple(words))
