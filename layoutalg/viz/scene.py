"""A picture laid out in the plane: rectangles, texts and lines at pixel positions, for any renderer to draw.

>>> scene = Layout.parse("d0 = 2@reg, d1 = 2@lane").picture(title="C").scene()
>>> [(cell.x, cell.y, cell.label) for cell in scene.cells]
[(26, 74, '0:0'), (56, 74, '1:0'), (26, 94, '0:1'), (56, 94, '1:1')]

Rows and columns stand at the same places for all grids of a scene, so that the operands of a product line up.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_DOTS as _MOST_DOTS
from layoutalg.core.limits import MOST_DRAWN
from layoutalg.core.limits import MOST_LABELS as _MOST_LABELS
from layoutalg.viz.colouring import legend, paint
from layoutalg.viz.colours import ink
from layoutalg.viz.grid import Grid
from layoutalg.viz.sides import Side
from layoutalg.viz.tooltips import sentences

__all__ = ["CELL_HEIGHT", "Cell", "Frame", "Line", "Scene", "Swatch", "Words", "lay_out"]

CELL_HEIGHT = 20
CHARACTER = 6.7
"""The width of a character of the cells' font, 11 pixels high; other sizes in proportion."""
_GAP = 16
_MARGIN = 12
_SPACE = 28
_LEAST_WIDTH = 420
_TITLE, _NAME, _SMALL = 13, 12, 10
_SMALL_CHARACTER = CHARACTER * _SMALL / 11
_SMALL_CELL = 8
"""Width and height of a cell without a label."""


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
    """A line of text; `anchor` is "start", "middle" or "end", `y` its base line."""

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
class Frame:
    """Where the cells of one grid stand: the left edges of its drawn columns, the upper edges of its drawn rows."""

    grid: Grid
    columns: tuple[float, ...]
    rows: tuple[float, ...]
    width: float
    height: float


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


def lay_out(
    title: str,
    placed: Sequence[tuple[Grid, int, int]],
    by: str,
    others: Sequence[str],
    notes: Sequence[str] = (),
) -> Scene:
    """Lay out grids, each at its (row, column) of an arrangement, coloured `by`; legends for `others` too.

    Raises `SizeError` for more than 2^16 cells.
    """
    count = sum(grid.shape[0] * grid.shape[1] for grid, _, _ in placed)
    if count > MOST_DRAWN:
        raise SizeError(
            f"{count} cells: at most 2^16 are drawn one by one; save a full picture as PNG, leave it folded, or draw a part"
        )
    small = count > _MOST_LABELS
    texts = [None if small else grid.labels() for grid, _, _ in placed]
    headers = [(grid.rows.headers(), grid.columns.headers()) for grid, _, _ in placed]
    longest = 0 if small else max((grid.longest for grid, _, _ in placed if all(grid.shape)), default=0)
    over = max((len(h) for _, across in headers for h in across), default=1)
    cell = max(round(max(longest * CHARACTER, over * _SMALL_CHARACTER) + 10), CELL_HEIGHT)
    steps = (_SMALL_CELL, _SMALL_CELL) if small else (cell, CELL_HEIGHT)
    side = round(max((len(h) for down, _ in headers for h in down), default=1) * _SMALL_CHARACTER + 8)

    rows = sorted({row for _, row, _ in placed})
    columns = sorted({column for _, _, column in placed})
    wide = {c: max(side + _length(g.columns, steps[0]) for g, _, at in placed if at == c) for c in columns}
    head = 36 if any(grid.title != title for grid, _, _ in placed) else 18
    high = {r: max(_length(g.rows, steps[1]) for g, at, _ in placed if at == r) + head for r in rows}
    width = max(_MARGIN * 2 + sum(wide.values()) + _SPACE * (len(columns) - 1), _LEAST_WIDTH + _MARGIN * 2)
    words, y = _lines([title], _MARGIN, width, _TITLE, bold=True, fill="#000000")
    top = y + 8
    left = {c: _MARGIN + sum(wide[b] + _SPACE for b in columns if b < c) for c in columns}
    upper = {r: top + sum(high[b] + _SPACE // 2 for b in rows if b < r) for r in rows}

    frames: list[Frame] = []
    cells: list[Cell] = []
    lines: list[Line] = []
    for (grid, row, column), text, names in zip(placed, texts, headers, strict=True):
        x, y = left[column] + side, upper[row] + head
        if grid.title != title:
            words.append(Words(x, upper[row] + 14, grid.title, _NAME, bold=True))
        frame = _frame(grid, x, y, steps)
        words += _beside(frame, x, y, names)
        frames.append(frame)
        cells += _cells(frame, by, text)
        lines += _borders(frame)
    bottom = top + sum(high.values()) + (_SPACE // 2) * (len(rows) - 1) + 4
    below, bottom = _lines(notes, bottom, width, _SMALL, fill="#555555")
    legends = [_legend([grid for grid, _, _ in placed], one, bottom + 4, width) for one in others]
    end = max((w.y for one in legends for w in one.words), default=bottom)
    return Scene(
        width, end + _MARGIN, title, tuple(frames), tuple(cells), (*words, *below), tuple(lines), tuple(legends), by
    )


def _frame(grid: Grid, x: float, y: float, steps: tuple[float, float]) -> Frame:
    xs, ys = _edges(grid.columns, x, steps[0]), _edges(grid.rows, y, steps[1])
    drawn_x = tuple(x for band, (x, _) in zip(grid.columns.bands, xs, strict=True) if not band.gap)
    drawn_y = tuple(y for band, (y, _) in zip(grid.rows.bands, ys, strict=True) if not band.gap)
    return Frame(grid, drawn_x, drawn_y, *steps)


def _beside(frame: Frame, x0: float, y0: float, names: tuple[list[str], list[str]]) -> Iterator[Words]:
    """The numbers over the columns and beside the rows, as many as there is room for, and the dots in the gaps."""
    down, across = names
    xs, ys = _edges(frame.grid.columns, x0, frame.width), _edges(frame.grid.rows, y0, frame.height)
    free = x0 - _GAP
    for name, (x, w) in zip(across, xs, strict=True):
        half = len(name) * _SMALL_CHARACTER / 2
        if x + w / 2 - half >= free:
            yield Words(x + w / 2, y0 - 6, name, _SMALL, "middle", fill="#666666")
            free = x + w / 2 + half
    free = y0 - _SMALL
    for name, band, (y, h) in zip(down, frame.grid.rows.bands, ys, strict=True):
        if y + h / 2 - _SMALL / 2 >= free:
            text = "\N{VERTICAL ELLIPSIS}" if band.gap else name
            yield Words(x0 - 4, y + h / 2 + 3.5, text, _SMALL, "end", fill="#666666")
            free = y + h / 2 + _SMALL / 2
    dots = list(_dots(frame.grid, xs, ys))
    yield from dots if len(dots) <= _MOST_DOTS else []


def _lines(
    texts: Sequence[str], y: float, width: float, size: float, *, bold: bool = False, fill: str
) -> tuple[list[Words], float]:
    """Paragraphs as lines one below the other, and where the last one stands."""
    found: list[Words] = []
    for text in texts:
        for line in _wrapped(text, width - 2 * _MARGIN, size):
            y += size + 5
            found.append(Words(_MARGIN, y, line, size, bold=bold, fill=fill))
    return found, y


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


def _cells(frame: Frame, by: str, labels: list[list[str]] | None) -> Iterator[Cell]:
    grid = frame.grid
    fills = [*chain.from_iterable(paint(grid, by))]
    texts = [""] * len(fills) if labels is None else chain.from_iterable(labels)
    at = [(x, y) for y in frame.rows for x in frame.columns]
    for (x, y), fill, text, sentence in zip(at, fills, texts, sentences(grid), strict=True):
        yield Cell(x, y, frame.width, frame.height, fill, ink(fill), text, sentence)


def _borders(frame: Frame) -> Iterator[Line]:
    """Lines between subgroups (wide) and between instruction tiles (thin), where neighbouring cells touch."""
    grid = frame.grid
    groups = grid.owner.get("sg")
    tiles = [(grid.element[name].rows, size) for name, size in zip(grid.element, grid.tile, strict=True)]
    grouped = grid.tensor and grid.tile_known
    for width, facts in ((0.9, tiles if grouped else []), (2.2, [] if groups is None else [(groups.rows, 1)])):
        if not facts:
            continue
        down = [
            [*zip(*([x // size for x in rows[i]] for rows, size in facts), strict=True)] for i in range(grid.shape[0])
        ]
        for upright, cells, starts, size, along in (
            (True, [*zip(*down, strict=True)], frame.columns, frame.width, frame.rows),
            (False, down, frame.rows, frame.height, frame.columns),
        ):
            for i in range(1, len(starts)):
                if starts[i] - starts[i - 1] > size + 0.5:
                    continue
                differ = [a != b for a, b in zip(cells[i - 1], cells[i], strict=True)]
                yield from _segments(differ, starts[i], along, frame.height if upright else frame.width, width, upright)


def _segments(
    differ: Sequence[bool], at: float, along: Sequence[float], size: float, width: float, upright: bool
) -> Iterator[Line]:
    """The runs of a border, one line each."""
    start: float | None = None
    end = 0.0
    for there, position in zip(differ, along, strict=True):
        if start is not None and not there:
            yield Line(at, start, at, end, width) if upright else Line(start, at, end, at, width)
            start = None
        if there and start is None:
            start = position
        end = position + size
    if start is not None:
        yield Line(at, start, at, end, width) if upright else Line(start, at, end, at, width)


def _legend(grids: Sequence[Grid], by: str, top: float, width: float) -> Legend:
    """The legend of a colouring, for all grids: swatches side by side, wrapped."""
    swatches: list[Swatch] = []
    words: list[Words] = []
    x, y = float(_MARGIN), top + 12
    for text, colour in legend(grids, by):
        needs = (16 if colour else 0) + len(text) * _SMALL_CHARACTER + 12
        if x > _MARGIN and x + needs > width - _MARGIN:
            x, y = float(_MARGIN), y + 16
        if colour:
            swatches.append(Swatch(x, y - 10, 12, colour))
        words.append(Words(x + (16 if colour else 0), y, text, _SMALL))
        x += needs
    return Legend(by, tuple(swatches), tuple(words))
