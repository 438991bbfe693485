"""A picture laid out in the plane: rectangles, texts and lines at pixel positions, for any renderer to draw.

>>> scene = Layout.parse("d0 = 2@reg, d1 = 2@lane").picture(title="C").scene()
>>> [(cell.x, cell.y, cell.label) for cell in scene.cells]
[(47, 137, '0:0'), (75, 137, '1:0'), (47, 157, '0:1'), (75, 157, '1:1')]

Rows and columns stand at the same places for all grids of a scene, so that the operands of a product line up.

A paged scene is at most `WIDEST` wide, so that a phone (400 pixels) shows its smallest text 7 pixels high. The columns of a
wider grid go on below, in strips; the operands of a product then stand one below the other:

>>> wide = Layout.parse("d0 = 2@reg, d1 = 24@lane").picture(full=True).scene()
>>> wide.width <= WIDEST, sorted({cell.y for cell in wide.cells})
(True, [119, 139, 184, 204])
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_DOTS as _MOST_DOTS
from layoutalg.core.limits import MOST_DRAWN
from layoutalg.core.limits import MOST_LABELS as _MOST_LABELS
from layoutalg.viz.borders import borders, outlines
from layoutalg.viz.colouring import legend, paint
from layoutalg.viz.colours import ink
from layoutalg.viz.folding import DOTS, TIMES, Band
from layoutalg.viz.grid import Grid
from layoutalg.viz.shapes import INK, Cell, Frame, Legend, Line, Scene, Strip, Swatch, Words
from layoutalg.viz.sides import Side
from layoutalg.viz.tooltips import sentences

__all__ = ["CELL_HEIGHT", "CHARACTER", "READABLE", "WIDEST", "breadth", "lay_out"]

CELL_HEIGHT = 20
CHARACTER = 6.7
"""The width of a character of the cells' font, 11 pixels high; other sizes in proportion."""
_GAP = 16
_MARGIN = 12
_SPACE, _STRIP = 20, 25
"""Between two grids; between two strips of one, where the numbers over the columns stand."""
_LEAST_WIDTH = 420
_TITLE, _NAME, _SMALL = 13, 12, 11
_NAME_LINE = 16
"""From one line of a grid's name to the next."""
_BLOCK, _BLOCK_MARGIN = (48, 26), 6
"""Width at least and height of a cell that is a block, and what its words leave free."""
_SMALL_CELL = 8
"""Width and height of a cell without a label."""
READABLE = 7 / _SMALL
"""How far a picture may shrink: its smallest text is then 7 pixels high."""
WIDEST = int(400 / READABLE)
"""How wide a paged scene is at most: it shrinks so far on a phone of 400 pixels."""
_NUMBERS, _NOTES = "#606060", "#555555"
_TOGETHER, _NO_BREAK = re.compile(r"(\w+ = )?\[[^\[\]]*\]|\w+ = |\([\d, -]*\)"), "\N{NO-BREAK SPACE}"
_OPENING = re.compile(r"<(?!\{)|[{(](?=\w+\s=\s)")
"""Where a word that is too long for a line may be broken."""
_OF_OPERANDS = re.compile(r"[A-Z]+(, [A-Z]+)*: ")
"""How a legend begins that is of some operands alone."""
_JOINED = "\N{WORD JOINER}"
"""Before a space that stands where a word too long for a line may be broken."""


def lay_out(
    title: str,
    placed: Sequence[tuple[Grid, int, int]],
    by: str,
    others: Sequence[str],
    reading: Sequence[str] = (),
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    outlined: Sequence[Sequence[int]] = (),
    widest: float | None = None,
) -> Scene:
    """Lay out grids, each at its (row, column) of an arrangement, coloured `by`; legends for `others` too.

    `reading` says above the grids how a cell is read, `notes` stand below them. `outlined` has the cells of each grid that a
    line is drawn around. Where that is wider than `widest`, grids stand one below the other, and their columns go on in strips.

    Raises `SizeError` for more than 2^16 cells.
    """
    count = sum(grid.shape[0] * grid.shape[1] for grid, _, _ in placed)
    if count > MOST_DRAWN:
        raise SizeError(
            f"{count} cells: at most 2^16 are drawn one by one; save a full picture as PNG, leave it folded, or draw a part"
        )
    sizes = _measured(placed)
    side = sizes.side
    columns = sorted({column for _, _, column in placed})
    if widest is None:
        room = float("inf")
    else:
        room = widest - 2 * _MARGIN - side
        if len(columns) > 1 and sizes.width > widest:
            placed, columns = [(grid, at, 0) for at, (grid, _, _) in enumerate(placed)], [0]
    rows = sorted({row for _, row, _ in placed})
    cuts = [_strips(grid.columns, wide, room) for (grid, _, _), (wide, _) in zip(placed, sizes.steps, strict=True)]
    wide = {
        c: side
        + max(
            _length(grid.columns.bands[strip.bands], step)
            for (grid, _, at), (step, _), cut in zip(placed, sizes.steps, cuts, strict=True)
            for strip in cut
            if at == c
        )
        for c in columns
    }
    width = max(_MARGIN * 2 + sum(wide.values()) + _SPACE * (len(columns) - 1), _LEAST_WIDTH + _MARGIN * 2)
    left = {c: _MARGIN + sum(wide[b] + _SPACE for b in columns if b < c) for c in columns}
    across = {c: wide[c] if c != columns[-1] else width - _MARGIN - left[c] for c in columns}
    named = [[] if grid.title == title else _wrapped(grid.title, across[at], _NAME) for grid, _, at in placed]
    head = 31 + max((_NAME_LINE * len(lines) + 2 for lines in named if lines), default=0)
    drops = [
        _length(grid.rows.bands, high, _GAP) + _STRIP
        for (grid, _, _), (_, high) in zip(placed, sizes.steps, strict=True)
    ]
    high = {
        r: max(len(cut) * drop for (_, at, _), cut, drop in zip(placed, cuts, drops, strict=True) if at == r)
        - _STRIP
        + head
        for r in rows
    }
    words, y = _lines([title], _MARGIN, width, _TITLE, bold=True, fill="#000000")
    told, y = _lines(reading, y + 2, width, _SMALL, fill=INK)
    top = y + 8
    upper = {r: top + sum(high[b] + _SPACE // 2 for b in rows if b < r) for r in rows}

    frames: list[Frame] = []
    cells: list[Cell] = []
    lines: list[Line] = []
    for (grid, row, column), called, text, names, steps, cut, drop in zip(
        placed, named, sizes.texts, sizes.headers, sizes.steps, cuts, drops, strict=True
    ):
        x, y = left[column] + side, upper[row] + head
        for number, line in enumerate(called):
            words.append(Words(left[column], upper[row] + 14 + _NAME_LINE * number, line, _NAME, bold=True))
        frame = _frame(grid, x, y, steps, cut, drop)
        words += _beside(frame, x, y, names)
        frames.append(frame)
        cells += _cells(frame, by, text)
        lines += borders(frame)
    lines += outlines(frames, outlined or [()] * len(frames))
    bottom = top + sum(high.values()) + (_SPACE // 2) * (len(rows) - 1) + 4
    warned, bottom = _lines(warnings, bottom, width, _SMALL, bold=True, fill=INK)
    below, bottom = _lines([*_signs(placed, cuts), *notes], bottom, width, _SMALL, fill=_NOTES)
    legends = [_legend([grid for grid, _, _ in placed], one, bottom + 4, width) for one in others]
    end = max((w.y for one in legends for w in one.words), default=bottom)
    return Scene(
        width,
        end + _MARGIN,
        title,
        tuple(frames),
        tuple(cells),
        (*words, *told, *warned, *below),
        tuple(lines),
        tuple(legends),
        by,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Sizes:
    """What cells and numbers need: the texts of each grid, its cells' width and height, the width of the rows' numbers."""

    texts: list[list[list[str]] | None]
    headers: list[tuple[list[str], list[str]]]
    steps: list[tuple[float, float]]
    side: float
    width: float


def _measured(placed: Sequence[tuple[Grid, int, int]]) -> _Sizes:
    small = sum(grid.shape[0] * grid.shape[1] for grid, _, _ in placed) > _MOST_LABELS
    texts = [None if small else grid.labels() for grid, _, _ in placed]
    headers = [(grid.rows.headers(), grid.columns.headers()) for grid, _, _ in placed]
    longest = [
        max((len(one) for row in (across, *(rows or ())) for one in row), default=1)
        for rows, (_, across) in zip(texts, headers, strict=True)
    ]
    # Grids line up, but for the one of blocks.
    blocks = [grid.shows == "blocks" for grid, _, _ in placed]
    most = max((length for length, apart in zip(longest, blocks, strict=True) if not apart), default=1)
    cell = (_SMALL_CELL, _SMALL_CELL) if small else (max(round(most * CHARACTER) + 8, CELL_HEIGHT), CELL_HEIGHT)
    steps: list[tuple[float, float]] = [
        (max(round(length * CHARACTER) + _BLOCK_MARGIN, _BLOCK[0]), _BLOCK[1]) if apart else cell
        for length, apart in zip(longest, blocks, strict=True)
    ]
    beside = [len(h) for down, _ in headers for h in down] + [len(grid.axis_names[0]) + 2 for grid, _, _ in placed]
    side = round(max(beside, default=1) * CHARACTER + 8)
    columns = {column for _, _, column in placed}
    lengths = [_length(grid.columns.bands, wide) for (grid, _, _), (wide, _) in zip(placed, steps, strict=True)]
    wide = sum(side + max(one for one, (_, _, at) in zip(lengths, placed, strict=True) if at == c) for c in columns)
    return _Sizes(texts, headers, steps, side, 2 * _MARGIN + wide + _SPACE * (len(columns) - 1))


def breadth(placed: Sequence[tuple[Grid, int, int]]) -> float:
    """How wide grids are in their arrangement, in pixels.

    >>> breadth(Layout.parse("d0 = 2@reg, d1 = 2@lane").picture().grids())
    115
    """
    return _measured(placed).width


def _signs(placed: Sequence[tuple[Grid, int, int]], cuts: Sequence[Sequence[Strip]]) -> Iterator[str]:
    """What the signs of the gaps mean, and that columns go on below."""
    gaps = {str(band) for grid, _, _ in placed for side in (grid.rows, grid.columns) for band in side.bands if band.gap}
    if DOTS in gaps:
        yield f"{DOTS} left out: the numbers go on evenly"
    blocks = sorted(sign for sign in gaps if sign[0] == "+")
    if blocks:
        n, k = blocks[0][1:].split(TIMES) if len(blocks) == 1 else ("n", "k")
        more = f"{n} more block{'s' * (n != '1')} of {k}"
        yield f"+{n}{TIMES}{k} left out: {more}, each moved by the same step"
    if any(len(cut) > 1 for cut in cuts):
        yield "columns that do not fit beside each other go on below"


def _strips(side: Side, step: float, room: float) -> list[Strip]:
    """The bands of each strip, as few strips as there is room for, of about the same length."""
    least = _starts(side.bands, step, room)
    even = _length(side.bands, step) / len(least) + 1
    starts = next(
        found
        for most in (even, even + step, room)
        if len(found := _starts(side.bands, step, min(most, room))) <= len(least)
    )
    drawn = [*accumulate((not band.gap for band in side.bands), initial=0)]
    ends = [*starts[1:], len(side.bands)]
    return [Strip(slice(a, b), slice(drawn[a], drawn[b])) for a, b in zip(starts, ends, strict=True)]


def _starts(bands: Sequence[Band], step: float, room: float) -> list[int]:
    """The first band of each strip: a gap stands behind what it continues."""
    starts, width = [0], 0.0
    for i, band in enumerate(bands):
        behind = [b for b in bands[i + 1 : i + 2] if b.gap]
        if width and not band.gap and width + step + _length(behind, step) > room:
            starts.append(i)
            width = 0.0
        width += _length([band], step)
    return starts


def _frame(grid: Grid, x: float, y: float, steps: tuple[float, float], strips: Sequence[Strip], drop: float) -> Frame:
    xs = [edge for strip in strips for edge in _edges(grid.columns.bands[strip.bands], x, steps[0])]
    ys = _edges(grid.rows.bands, y, steps[1], _GAP)
    drawn_x = tuple(x for band, (x, _) in zip(grid.columns.bands, xs, strict=True) if not band.gap)
    drawn_y = tuple(y for band, (y, _) in zip(grid.rows.bands, ys, strict=True) if not band.gap)
    return Frame(grid, drawn_x, drawn_y, *steps, tuple(strips), drop)


def _beside(frame: Frame, x0: float, y0: float, names: tuple[list[str], list[str]]) -> Iterator[Words]:
    """The axes' names, the numbers over the columns and beside the rows, as many as there is room for, and dots in the gaps."""
    (down, across), grid = names, frame.grid
    down_name, across_name = grid.axis_names
    if across_name:
        yield Words(x0, y0 - 19, f"{across_name} \N{RIGHTWARDS ARROW}", _SMALL, fill=_NUMBERS)
    if down_name:
        yield Words(x0 - 4, y0 - 6, f"{down_name} \N{DOWNWARDS ARROW}", _SMALL, "end", fill=_NUMBERS)
    ys = _edges(grid.rows.bands, y0, frame.height, _GAP)
    dots: list[Words] = []
    for number, strip in enumerate(frame.strips):
        bands, lower = grid.columns.bands[strip.bands], number * frame.drop
        xs = _edges(bands, x0, frame.width)
        free = x0 - _GAP
        for name, (x, w) in zip(across[strip.bands], xs, strict=True):
            half = len(name) * CHARACTER / 2
            if x + w / 2 - half >= free:
                yield Words(x + w / 2, y0 + lower - 6, name, _SMALL, "middle", fill=_NUMBERS)
                free = x + w / 2 + half
        free = y0 - _SMALL
        for name, (y, h) in zip(down, ys, strict=True):
            if y + h / 2 - _SMALL / 2 >= free:
                text = "\N{VERTICAL ELLIPSIS}" if name == DOTS else name
                yield Words(x0 - 4, y + lower + h / 2 + 3.5, text, _SMALL, "end", fill=_NUMBERS)
                free = y + h / 2 + _SMALL / 2
        dots += _dots(bands, grid.rows.bands, xs, [(y + lower, h) for y, h in ys])
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
    """A text in lines, broken behind a semicolon first; a list in brackets and `name = value` stay together where they fit.

    >>> _wrapped("D = A * B + C; D has the layout of C", 200, 11)
    ['D = A * B + C;', 'D has the layout of C']
    """
    letters = max(int(width / (CHARACTER * size / 11)), 20)
    whole = _TOGETHER.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
    if any(len(word) > letters for word in whole.split(" ")):
        whole = _OPENING.sub(rf"\g<0>{_JOINED} ", whole)
    sentences = [""]
    for part in whole.split("; "):
        longer = f"{sentences[-1]}; {part}"
        if sentences[-1] and len(longer) > letters:
            sentences[-1] += ";"
            sentences.append(part)
        else:
            sentences[-1] = longer if sentences[-1] else part
    lines = [line for one in sentences for line in textwrap.wrap(one, letters)] or [""]
    return [line.replace(f"{_JOINED} ", "").replace(_JOINED, "").replace(_NO_BREAK, " ") for line in lines]


def _length(bands: Sequence[Band], step: float, gap: float | None = None) -> float:
    return sum(width for _, width in _edges(bands, 0, step, gap))


def _edges(bands: Sequence[Band], start: float, step: float, gap: float | None = None) -> list[tuple[float, float]]:
    """Where each band starts, and how wide it is; a gap is `gap` wide, or as wide as its sign."""
    found: list[tuple[float, float]] = []
    for band in bands:
        width = step if not band.gap else gap or max(_GAP, len(str(band)) * CHARACTER + 4)
        found.append((start, width))
        start += width
    return found


def _dots(
    columns: Sequence[Band],
    rows: Sequence[Band],
    xs: Sequence[tuple[float, float]],
    ys: Sequence[tuple[float, float]],
) -> Iterator[Words]:
    """The dots in the cells of the gaps where numbers go on evenly."""
    for across, (x, w) in zip(columns, xs, strict=True):
        for down, (y, h) in zip(rows, ys, strict=True):
            if across.gap != down.gap and (across.even if across.gap else down.even):
                sign = DOTS if across.gap else "\N{VERTICAL ELLIPSIS}"
                yield Words(x + w / 2, y + h / 2 + 3.5, sign, _SMALL, "middle", fill=_NUMBERS)


def _cells(frame: Frame, by: str, labels: Sequence[Sequence[str]] | None) -> Iterator[Cell]:
    fills = [*chain.from_iterable(paint(frame.grid, by))]
    texts = [""] * len(fills) if labels is None else chain.from_iterable(labels)
    for (x, y), fill, text, sentence in zip(frame.places(), fills, texts, sentences(frame.grid), strict=True):
        yield Cell(x, y, frame.width, frame.height, fill, ink(fill), text, sentence)


def _legend(grids: Sequence[Grid], by: str, top: float, width: float) -> Legend:
    """The legend of a colouring, for all grids: swatches side by side, wrapped."""
    swatches: list[Swatch] = []
    words: list[Words] = []
    x, y = float(_MARGIN), top + 12
    for text, colour in legend(grids, by):
        first, *more = _wrapped(text, width - 2 * _MARGIN - (16 if colour else 0), _SMALL)
        needs = (16 if colour else 0) + len(first) * CHARACTER + 12
        if x > _MARGIN and (x + needs - 12 > width - _MARGIN or _OF_OPERANDS.match(text)):
            x, y = float(_MARGIN), y + 16
        if colour:
            swatches.append(Swatch(x, y - 10, 12, colour))
        words.append(Words(x + (16 if colour else 0), y, first, _SMALL))
        x += needs
        for line in more:
            x, y = _MARGIN + len(line) * CHARACTER + 12, y + 16
            words.append(Words(_MARGIN, y, line, _SMALL))
    return Legend(by, tuple(swatches), tuple(words))
