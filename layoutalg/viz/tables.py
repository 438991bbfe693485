"""Tables: the drawn cells of a picture as CSV, one in a line, and as Markdown, as they stand.

>>> picture = Layout.parse("d0 = 2@reg, d1 = 2@lane").picture()
>>> grids = [grid for grid, _, _ in picture.grids()]
>>> print(csv_of_grids(grids), end="")
of,d0,d1,sg,lane,reg,owners
"d0 = 2@reg, d1 = 2@lane",0,0,0,0,0,1
"d0 = 2@reg, d1 = 2@lane",0,1,0,1,0,1
"d0 = 2@reg, d1 = 2@lane",1,0,0,0,1,1
"d0 = 2@reg, d1 = 2@lane",1,1,0,1,1,1
>>> print(markdown_of_grids(picture.title, grids), end="")
**d0 = 2@reg, d1 = 2@lane**
<BLANKLINE>
cells: lane:register
<BLANKLINE>
| d0 ↓, d1 → | 0 | 1 |
|---|---|---|
| **0** | 0:0 | 1:0 |
| **1** | 0:1 | 1:1 |

A folded picture has its drawn cells alone, with dots for the others; `full=True` draws all.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_DRAWN
from layoutalg.viz.grid import Grid
from layoutalg.viz.shapes import Cell, Words
from layoutalg.viz.sides import Side

__all__ = ["csv_of_cells", "csv_of_grids", "markdown_of_cells", "markdown_of_grids"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$])")


def csv_of_grids(grids: Sequence[Grid]) -> str:
    """A line for each drawn cell: the operand, the element, its place, and how many places have it."""
    _bounded(grids)
    elements = list(dict.fromkeys(name for grid in grids for name in grid.element))
    axes = list(dict.fromkeys(name for grid in grids for name in grid.axes))
    lines: list[Sequence[Any]] = [("of", *elements, *axes, "owners")]
    for grid in grids:
        count = grid.shape[0] * grid.shape[1]
        known = [
            [*facts[name].cells] if name in facts else [""] * count
            for facts, names in ((grid.element, elements), (grid.owner, axes))
            for name in names
        ]
        lines += [(grid.title, *numbers, grid.copies_of) for numbers in zip(*known, strict=True)] if known else []
    return _csv(lines)


def csv_of_cells(panels: Sequence[tuple[Sequence[Cell], Sequence[Words]]]) -> str:
    """A line for each cell of some panels: the panel's title, the label, and the sentence about the cell."""
    lines: list[Sequence[Any]] = [("panel", "label", "cell")]
    for cells, words in panels:
        title = next((one.text for one in words if one.bold), "")
        lines += [(title, " ".join(_inside(cell, words)), cell.sentence) for cell in cells]
    return _csv(lines)


def markdown_of_grids(title: str, grids: Sequence[Grid]) -> str:
    """A table for each grid, with the numbers beside it."""
    _bounded(grids)
    parts = [f"**{_escaped(title)}**"]
    for grid in grids:
        if grid.title != title:
            parts.append(f"{_escaped(grid.title)}")
        parts.append(_escaped(grid.forms, keep="()"))
        labels = iter(grid.labels())
        named = zip(grid.axis_names, ("\N{DOWNWARDS ARROW}", "\N{RIGHTWARDS ARROW}"), strict=True)
        corner = ", ".join(f"{_escaped(name)} {arrow}" for name, arrow in named if name)
        rows: list[list[str]] = [[corner, *grid.columns.headers()]]
        for header, band in zip(grid.rows.headers(), grid.rows.bands, strict=True):
            cells = [""] * len(grid.columns.bands) if band.gap else list(_spaced(next(labels), grid.columns))
            rows.append([f"**{_escaped(header)}**" if header and not band.gap else header, *map(_escaped, cells)])
        parts.append(_table(rows))
    return "\n\n".join(parts) + "\n"


def markdown_of_cells(title: str, panels: Sequence[tuple[Sequence[Cell], Sequence[Words]]]) -> str:
    """A table for each panel: its cells where they stand, without what stands between them."""
    parts = [f"**{_escaped(title)}**"]
    for drawn, words in panels:
        parts += [_escaped(one.text) for one in words if one.bold and one.anchor == "start"]
        xs, ys = sorted({cell.x for cell in drawn}), sorted({cell.y for cell in drawn})
        rows: list[list[str]] = [[""] * len(xs) for _ in range(len(ys) + 1)]
        for cell in drawn:
            rows[ys.index(cell.y) + 1][xs.index(cell.x)] = _escaped(" ".join(_inside(cell, words)))
        if xs:
            parts.append(_table(rows))
    return "\n\n".join(parts) + "\n"


def _spaced(labels: list[str], side: Side) -> Iterator[str]:
    """The labels of a row, and dots in the gaps."""
    given = iter(labels)
    for band in side.bands:
        yield "\N{MIDLINE HORIZONTAL ELLIPSIS}" if band.gap else next(given)


def _inside(cell: Cell, words: Sequence[Words]) -> list[str]:
    """The label of a cell; where it has two lines, the words in it."""
    if cell.label:
        return [cell.label]
    right, bottom = cell.x + cell.width, cell.y + cell.height
    return [one.text for one in words if cell.x < one.x < right and cell.y < one.y < bottom and one.anchor == "middle"]


def _bounded(grids: Sequence[Grid]) -> None:
    count = sum(int(np.prod(grid.shape)) for grid in grids)
    if count > MOST_DRAWN:
        raise SizeError(f"{count} cells: a table has at most 2^16; leave the picture folded, or take a part")


def _csv(lines: Sequence[Sequence[Any]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(lines)
    return written.getvalue()


def _escaped(text: str, keep: str = "") -> str:
    """Text for Markdown, on one line."""
    return _SPECIAL.sub(lambda found: found[1] if found[1] in keep else "\\" + found[1], " ".join(text.split()))


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)
