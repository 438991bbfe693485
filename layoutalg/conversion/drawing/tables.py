"""Tables in the picture of a conversion: cells of one size under numbered columns, folded where numbers go on evenly.

Columns that do not fit beside each other go on below, in strips; a row or column of dots stands for those that continue their
neighbours evenly, in everything that a cell says:

>>> folded([[(0, lane)] for lane in range(16)])
[0, 1, 2, 3, None, 15]
>>> folded([[(0, lane ^ 1)] for lane in range(4)])
[0, 1, 2, 3]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.viz.borders import rims
from layoutalg.viz.panels import INNER, LETTER, Look, Panel, placed, stacked
from layoutalg.viz.scene import CHARACTER
from layoutalg.viz.shapes import INK, Cell, Line, Words

__all__ = ["FRAME", "RED", "ROOM", "Band", "Shown", "cell_table", "folded", "width_for"]

ROOM = INNER
"""How wide a table may be, in pixels."""
FRAME = INK
"""The frame of what is followed from one side to the other."""
RED = "#e5484d"
"""The frame of what waits: 3 to 1 at least on white and on a dark page."""
Band = int | None
"""The number of a row or a column; None for dots."""
Shown = Look | Sequence[tuple[float, Look]] | None
"""A cell, or several side by side, each with its share of the width; None where nothing is drawn."""
_FIRST, _GAP, _HEAD = 4, 18.0, 16.0


def folded(values: ArrayLike, most: int = 8) -> list[Band]:
    """The columns to draw of so many as `values` has rows: all of a few; of many, None for those that continue evenly."""
    told: NDArray[np.int64] = np.asarray(values, np.int64).reshape(len(np.asarray(values)), -1)
    count = len(told)
    if count <= most:
        return [*range(count)]
    even = (np.diff(told, 2, axis=0) == 0).all(1).tolist()  # whether i, i + 1 and i + 2 are evenly apart
    found: list[Band] = []
    first = 0
    while first < count:
        last = first + 1
        while last + 1 < count and even[last - 1]:
            last += 1
        last = min(last, count - 1)
        shown = _FIRST if not found and last == count - 1 else 1
        if last - first > shown + 1:
            found += [*range(first, first + shown), None, last]
            first = last + 1
        else:
            found.append(first)
            first += 1
    return found


def width_for(longest: int) -> float:
    """How wide a cell is for so many letters; 32 of two fit beside each other."""
    return max(longest, 2) * CHARACTER + 3


def cell_table(
    title: str,
    head: str,
    columns: Sequence[Band],
    rows: Sequence[tuple[str, Band]],
    look: Callable[[int, int], Shown],
    size: tuple[float, float],
    ruled: Sequence[int] = (),
) -> Panel:
    """A table of cells: `head` stands left of the columns' numbers, each row has its name; `look` is asked by row and column.

    `size` is that of a cell in pixels; a line stands before each of the columns `ruled`.

    >>> from layoutalg.viz.panels import PALE
    >>> panel = cell_table("t", "lane", [0, None, 9], [("r0", 0)], lambda r, c: Look(PALE, str(c), ""), (18, 18))
    >>> [cell.label for cell in panel.cells], [words.text for words in panel.words]
    (['0', '9'], ['t', 'lane', '0', '⋯', '9', 'r0'])
    """
    wide = size[0]
    left = max(len(name) for name in (head, *(name for name, _ in rows))) * CHARACTER + 8
    parts = _side_by_side(columns, ROOM - left, wide)
    return stacked(
        [_strip(title * (i == 0), head, part, rows, look, size, left, ruled) for i, part in enumerate(parts)]
    )


def _side_by_side(columns: Sequence[Band], room: float, wide: float) -> list[Sequence[Band]]:
    """The columns of each strip: a power of two where all are drawn; no strip begins with dots."""
    if sum(_GAP if one is None else wide for one in columns) <= room:
        return [columns]
    if None not in columns:
        across = 1 << max(int(room / wide), 1).bit_length() - 1
        return [columns[first : first + across] for first in range(0, len(columns), across)]
    parts: list[list[Band]] = [[]]
    used = 0.0
    for column in columns:
        used += _GAP if column is None else wide
        if parts[-1] and column is not None and used > room:
            parts.append([])
            used = wide
        parts[-1].append(column)
    return [*parts]


def _strip(
    title: str,
    head: str,
    columns: Sequence[Band],
    rows: Sequence[tuple[str, Band]],
    look: Callable[[int, int], Shown],
    size: tuple[float, float],
    left: float,
    ruled: Sequence[int],
) -> Panel:
    wide, high = size
    top = 18.0 * bool(title) + _HEAD
    words = [Words(0, 11, title, 12, bold=True)] if title else []
    words.append(Words(0, top - 4, head, 11))
    cells: list[Cell] = []
    lines: list[Line] = []
    edges: list[float] = []
    x = left
    for column in columns:
        edges.append(x)
        step = _GAP if column is None else wide
        text = "\N{MIDLINE HORIZONTAL ELLIPSIS}" if column is None else str(column)
        words.append(Words(x + step / 2, top - 4, text, 11, "middle"))
        x += step
    y = top
    marked: dict[float, list[tuple[float, float]]] = {}  # by the width of the cell
    for name, row in rows:
        step = _HEAD if row is None else high
        text = "\N{VERTICAL ELLIPSIS}" if row is None else name
        words.append(Words(left - 6, y + step / 2 + 4, text, 11, "end"))
        for column, start in zip(columns, edges, strict=True):
            found = None if row is None or column is None else look(row, column)
            for share, one in [(1.0, found)] if isinstance(found, Look) else found or ():
                if one.edge == FRAME:
                    one = replace(one, edge="")
                    marked.setdefault(share, []).append((start, y))
                cell, inside, frame = placed(start, y, share * wide, high, one)
                start += share * wide
                cells.append(cell)
                words += inside
                lines += frame
        y += step
    for share, corners in marked.items():
        lines += rims(corners, share * wide, high, 1.6)
    lines += [
        Line(edges[columns.index(one)], top, edges[columns.index(one)], y, 1.6) for one in ruled if one in columns[1:]
    ]
    return Panel(tuple(cells), tuple(words), tuple(lines), max(x, len(title) * 12 * LETTER), y)
