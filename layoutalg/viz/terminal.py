"""The grid of owners in a terminal: who holds each element, with what repeats folded away.

Rows that have the same owners as the row above fold into it, and so do columns along which the lane stays or counts up by
one: a 32x64 tile over 2 x 4 subgroups of 16 lanes is a picture of 2 x 4 cells, each a subgroup with its lanes.

>>> from layoutalg.core import Layout
>>> grid = owner_grid(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
>>> [cell.label for cell in grid.cells[1]]
['4:0-15', '5:0-15', '6:0-15', '7:0-15']

Where lanes count up from row to row instead, the rows fold, and the label says so:

>>> [cell.label for cell in owner_grid(Layout.parse("d0 = 16@lane, d1 = 4@lane:16 4@reg")).cells[0]]
['0-15↓', '16-31↓', '32-47↓', '48-63↓']

Owners are subgroup:lane (the lowest, where an element has several); layouts onto other axes show their own coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import SizeError
from layoutalg.core.layout import Layout

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Cell", "OwnerGrid", "owner_grid", "render"]

_MOST_ELEMENTS = 2**24
_MOST_ROWS = 48

# Twelve light backgrounds that dark text reads well on; neighbours in the list differ in hue.
_COLOURS = (
    "#a6cee3",
    "#fdbf6f",
    "#b2df8a",
    "#fb9a99",
    "#cab2d6",
    "#ffff99",
    "#8dd3c7",
    "#fccde5",
    "#d9d9d9",
    "#bebada",
    "#ffed6f",
    "#80b1d3",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the folded grid: its label, and the number that its colour stands for.

    >>> Cell("3:0-15", 3).label
    '3:0-15'
    """

    label: str
    colour: int


@dataclass(frozen=True, slots=True)
class OwnerGrid:
    """A folded grid: the ranges of row and column coordinates, the cells, and which part of the tensor it shows.

    `of` counts the folded rows and columns that there are; the grid may have fewer.

    >>> owner_grid(Layout.parse("d0 = 4@lane")).caption
    'lane'
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    of: tuple[int, int]
    legend: str
    plane: str

    @property
    def caption(self) -> str:
        """What the labels are, and what is left out.

        >>> owner_grid(Layout.parse("d0 = 2@reg, d1 = 64@lane:2"), most_columns=3).caption
        'lane of d0 x d1; 3 of 64 columns'
        """
        parts = [f"{self.legend} of {self.plane}" if self.plane else self.legend]
        for shown, there, what in ((self.rows, self.of[0], "rows"), (self.columns, self.of[1], "columns")):
            if len(shown) < there:
                parts.append(f"{len(shown)} of {there} {what}")
        return "; ".join(parts)

    def fit(self, width: int) -> OwnerGrid:
        """The grid with as many columns as `width` characters have room for, at least one.

        >>> len(owner_grid(Layout.parse("d0 = 64@lane:2")).fit(30).columns)
        6
        """
        left = width - 2 - max(map(len, self.rows), default=0)
        count = 0
        for i, name in enumerate(self.columns):
            left -= 3 + max(len(name), *(len(row[i].label) for row in self.cells))
            if left < 0:
                break
            count += 1
        count = max(count, 1)
        return replace(self, columns=self.columns[:count], cells=tuple(row[:count] for row in self.cells))


def owner_grid(layout: Layout, most_rows: int = _MOST_ROWS, most_columns: int = 256) -> OwnerGrid:
    """Fold the owners of a layout's last two dimensions into a grid of at most `most_rows` x `most_columns` cells.

    Of further dimensions the first index is shown. Raises `SizeError` over 2^24 elements of the plane.

    >>> owner_grid(Layout.parse("d0 = 2@lane:8 2@reg:4, d1 = 2@reg:2 8@lane 2@reg")).columns[:3]
    ('0-1', '2-3', '4-5')
    """
    plane = layout
    while plane.rank > 2:
        plane = plane.restrict(0, 0, 1)
        plane = Layout(
            plane.dims[1:], plane.replicas, plane.offsets, origins=plane.origins[1:], codomain=plane.codomain
        )
    if plane.rank < 2:
        missing = 2 - plane.rank
        origins = (*[0] * missing, *plane.origins)
        plane = Layout(
            [*[()] * missing, *plane.dims], plane.replicas, plane.offsets, origins=origins, codomain=plane.codomain
        )
    if prod(plane.shape) > _MOST_ELEMENTS:
        raise SizeError(
            f"a picture of {' x '.join(map(str, plane.shape))} elements: at most 2^24; show a part (layout {layout})"
        )
    major, minor = _owner_axes(plane)
    second = np.asarray(plane.owner_map(minor), np.int64)
    first = np.zeros_like(second) if major is None else np.asarray(plane.owner_map(major), np.int64)
    rows, columns = _folded_plane(first, second, down=False)
    down_the_rows = False
    if len(rows) > 1:
        tall, narrow = _folded_plane(first, second, down=True)
        if len(tall) * len(narrow) < len(rows) * len(columns):
            rows, columns, down_the_rows = tall, narrow, True
    several = int(first.max(initial=0)) > int(first.min(initial=0))
    cells = tuple(
        tuple(
            _cell(
                first[r, c],
                second[r, c],
                second[below, c] if down_the_rows else second[r, last],
                several,
                down_the_rows,
            )
            for c, last in columns[:most_columns]
        )
        for r, below in rows[:most_rows]
    )
    down, right = plane.origins
    zeros = "".join(f" at {name} = 0" for name in layout.names[:-2])
    return OwnerGrid(
        tuple(_range(low + down, high + down) for low, high in rows[:most_rows]),
        tuple(_range(low + right, high + right) for low, high in columns[:most_columns]),
        cells,
        (len(rows), len(columns)),
        f"{major}:{minor}" if several else minor,
        " x ".join(layout.names[-2:]) + zeros if layout.rank > 1 else "",
    )


def render(grid: OwnerGrid) -> RenderableType:
    """The grid as a rich table, coloured by its major axis.

    >>> type(render(owner_grid(Layout.parse("d0 = 8@reg, d1 = 16@lane")))).__name__
    'Table'
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0), show_edge=False, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    for column in grid.columns:
        table.add_column(Text(column), justify="center", no_wrap=True)
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        painted = [Text(f" {c.label} ", style=f"black on {_COLOURS[c.colour % len(_COLOURS)]}") for c in cells]
        table.add_row(Text(f"{name} "), *painted)
    return table


def _owner_axes(layout: Layout) -> tuple[str | None, str]:
    """The axes that name an owner: subgroup and lane, or the last one or two that a layout onto other axes moves along."""
    names = [*layout.codomain]
    if "lane" in names:
        return "sg", "lane"
    spans = layout.spans()
    used = [axis for axis in names if spans.get(axis, 1) != 1] or names
    return (used[-2], used[-1]) if len(used) > 1 else (None, used[0])


def _folded(first: NDArray[Any], second: NDArray[Any], count: bool) -> list[tuple[int, int]]:
    """Ranges of rows that look alike: equal, or (`count`) all counting up by one on the second axis."""
    moves = second[1:] - second[:-1]
    by = moves[:, 0] if moves.shape[1] else np.zeros(len(moves), np.int64)
    alike = (
        (first[1:] == first[:-1]).all(axis=1) & (moves == by[:, None]).all(axis=1) & ((by == 0) | (count & (by == 1)))
    )
    ranges: list[tuple[int, int]] = []
    start, step = 0, -1
    for i, (joins, move) in enumerate(zip(alike.tolist(), by.tolist(), strict=True)):
        if joins and (step < 0 or move == step):
            step = move
            continue
        ranges.append((start, i))
        start, step = i + 1, -1
    ranges.append((start, len(first) - 1))
    return ranges


def _folded_plane(
    first: NDArray[Any], second: NDArray[Any], down: bool
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Ranges of rows and of columns that look alike, where lanes may count up along the columns, or `down` the rows."""
    rows = _folded(first, second, count=down)
    tops = [start for start, _ in rows]
    return rows, _folded(first[tops].T, second[tops].T, count=not down)


def _cell(first: Any, low: Any, high: Any, several: bool, down: bool) -> Cell:
    lanes = _range(int(low), int(high)) + ("\N{DOWNWARDS ARROW}" if down and low != high else "")
    return Cell(f"{int(first)}:{lanes}" if several else lanes, int(first) if several else int(low))


def _range(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low}-{high}" if low >= 0 else f"{low}..{high}"
