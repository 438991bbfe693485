"""The grid of owners in a terminal: who holds each element, with what repeats folded away.

The minor factors of a side fold into one cell: registers, which have the same owner, or one run of lanes that counts up by
one. A 32x64 tile over 2 x 4 subgroups of 16 lanes is a picture of 2 x 4 cells, each a subgroup with its lanes:

>>> grid = owner_grid(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
>>> [cell.label for cell in grid.cells[1]]
['4:0-15', '5:0-15', '6:0-15', '7:0-15']

Where lanes count up from row to row instead, the rows fold, and the label says so:

>>> [cell.label for cell in owner_grid(Layout.parse("d0 = 16@lane, d1 = 4@lane:16 4@reg")).cells[0]]
['0-15↓', '16-31↓', '32-47↓', '48-63↓']

What is still too large for the screen is left to dots, first what only repeats (`×4`: 4 times what stands before):

>>> large = owner_grid(Layout.parse("d0 = 8@sg:4 32@reg, d1 = 4@sg 4@reg:32 16@lane"), width=80)
>>> large.columns
('0-15', '×4', '64-79', '×4', '128-143', '×4', '192-207', '×4')

Where the owners jump, nothing folds (`viz.folding`), and the grid is cut off after what fits; the caption says so.

Owners are subgroup:lane (the lowest, where an element has several); layouts onto other axes show their own coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_TERMINAL_COLUMNS as _MOST_COLUMNS
from layoutalg.core.limits import MOST_TERMINAL_ROWS as _MOST_ROWS
from layoutalg.core.messages import number_text
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.viz.colours import hue_of, ink, shade
from layoutalg.viz.folding import DOTS, TIMES, Band, ExtentRun, fold
from layoutalg.viz.grid import numbered, owner_planes
from layoutalg.viz.sides import Side, side_runs, span

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Cell", "OwnerGrid", "owner_grid", "render"]

_STRENGTH = 0.45
_DOWN = "\N{DOWNWARDS ARROW}"
_SIGNS = (DOTS, TIMES, "+")
"""What the name of a gap begins with."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the folded grid: its label, and the number that its colour stands for (None: dots)."""

    label: str
    colour: int | None


@dataclass(frozen=True, slots=True)
class OwnerGrid:
    """A folded grid: the ranges of row and column coordinates, the cells, and which part of the tensor it shows.

    `of` counts the rows and columns of cells before folding; `cut` says whether rows, columns stop short of the tensor's end.

    >>> owner_grid(Layout.parse("d0 = 4@lane")).caption
    'lane'
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    of: tuple[int, int]
    shown: tuple[int, int]
    legend: str
    plane: str
    cut: tuple[bool, bool] = (False, False)

    @property
    def caption(self) -> str:
        """What the labels are, and what is left out.

        >>> owner_grid(Layout.parse("d0 = 2@reg, d1 = 64@lane:2"), most_columns=3).caption
        'lane of d0 x d1; 2 of 64 columns of cells'
        """
        parts = [f"{self.legend} of {self.plane}" if self.plane else self.legend]
        for shown, there, what, cut in zip(self.shown, self.of, ("rows", "columns"), self.cut, strict=True):
            if cut:
                parts.append(
                    f"the first {shown} of {number_text(there)} {what} of cells (the owners jump, so that they do not fold)"
                )
            elif shown < there:
                parts.append(f"{shown} of {number_text(there)} {what} of cells")
        return "; ".join(parts)

    @property
    def signs(self) -> str:
        """What the signs in the grid mean, where there are some.

        >>> owner_grid(Layout.parse("d0 = 2@reg, d1 = 64@lane:2"), most_columns=3).signs
        '⋯ and so on'
        """
        names = self.rows + self.columns
        labels = [cell.label for row in self.cells for cell in row]
        meanings = (
            (any(name.startswith(TIMES) for name in names), f"{TIMES}n what stands before, n times in all"),
            (DOTS in names, f"{DOTS} and so on"),
            (
                any(name.startswith("+") for name in names),
                f"+n{TIMES}k n more blocks of k, each moved by the same step",
            ),
            (
                any(label.endswith(_DOWN) for label in labels),
                f"{_DOWN} {'lanes' if self.legend.endswith('lane') else self.legend} count down the rows",
            ),
        )
        return "; ".join(meaning for there, meaning in meanings if there)

    @property
    def width(self) -> int:
        """The characters that the grid needs in a terminal.

        >>> owner_grid(Layout.parse("d0 = 64@lane:2"), most_columns=4).width
        21
        """
        wide = [
            max(
                [
                    len(name),
                    *(len(row[i].label) + (row[i].colour is not None) * 2 for row in self.cells if i < len(row)),
                ]
            )
            for i, name in enumerate(self.columns)
        ]
        return max(map(len, self.rows), default=0) + 1 + sum(wide) + len(wide)  # a space between columns


def owner_grid(
    layout: Layout,
    most_rows: int = _MOST_ROWS,
    most_columns: int = _MOST_COLUMNS,
    *,
    width: int | None = None,
) -> OwnerGrid:
    """Fold the owners of a layout into a grid of at most `most_rows` x `most_columns` cells, at most `width` characters.

    The last dimension goes along the columns, the others down the rows. Raises `LayoutError` for a layout with symbols,
    `SizeError` where over 2^14 rows or columns cannot be folded.

    >>> owner_grid(Layout.parse("d0 = 2@lane:8 2@reg:4, d1 = 2@reg:2 8@lane 2@reg")).columns[:3]
    ('0-1', '2-3', '4-5')
    """
    instance_of(layout, Layout, "layout")
    most_rows = whole_number(most_rows, "most_rows =", 1)
    most_columns = whole_number(most_columns, "most_columns =", 1)
    if width is not None:
        width = whole_number(width, "width =", 0)
    plain = numbered(layout)
    axes = _owner_axes(plain)
    split = max(plain.rank - 1, 0)
    down, across = slice(split), slice(split, None)
    rows, columns = (
        _folded(plain, down, axes, count=False),
        _folded(plain, across, axes, count=True),
    )
    tall, narrow = _folded(plain, down, axes, count=True), _folded(plain, across, axes, count=False)
    upright = tall.count * narrow.count < rows.count * columns.count
    if upright:
        rows, columns = tall, narrow
    # Cells beyond these are cut off in the end: a column takes two characters at least.
    kept = (most_rows, most_columns if width is None else width // 2 + 1)
    found = _grid(layout, rows, columns, (most_rows, most_columns), kept, axes, upright)
    while width is not None and found.width > width and most_columns > 1:
        most_columns = min(found.shown[1] - 1, found.shown[1] * width // found.width) or 1
        shown = found.shown[1]
        found = _grid(layout, rows, columns, (most_rows, most_columns), kept, axes, upright)
        if found.shown[1] == shown:
            break
    return _cut_off(found, most_rows, most_columns, width)


def _cut_off(grid: OwnerGrid, most_rows: int, most_columns: int, width: int | None) -> OwnerGrid:
    """The first rows and columns of a grid that does not fold into its limits."""
    rows = _first(grid.rows, most_rows)
    columns = len(grid.columns)
    found = grid
    if (width is not None and grid.width > width) or (width is None and grid.shown[1] > most_columns):
        columns = _first(grid.columns, most_columns if width is None else columns)
    columns = min(columns, max(map(len, grid.cells), default=columns))
    while True:
        names = grid.rows[:rows], grid.columns[:columns]
        cells = tuple(cut[:columns] for cut in grid.cells[:rows])
        numbers = tuple(sum(name[:1] not in _SIGNS for name in side) for side in names)
        stops = (rows < len(grid.rows), columns < len(grid.columns))
        found = replace(grid, rows=names[0], columns=names[1], cells=cells, shown=(numbers[0], numbers[1]), cut=stops)
        if width is None or found.width <= width or columns <= 1:
            return found
        columns -= 1


def _first(names: Sequence[str], most: int) -> int:
    """How many headers hold the first `most` bands, the gaps between them included."""
    drawn = 0
    for i, name in enumerate(names):
        if drawn == most:
            return i
        drawn += name[:1] not in _SIGNS
    return len(names)


def render(grid: OwnerGrid) -> RenderableType:
    """The grid as a rich table, coloured by its major axis.

    >>> type(render(owner_grid(Layout.parse("d0 = 8@reg, d1 = 16@lane")))).__name__
    'Table'
    """
    instance_of(grid, OwnerGrid, "grid")
    from rich import box
    from rich.table import Table
    from rich.text import Text

    numbers = {cell.colour for row in grid.cells for cell in row if cell.colour is not None}
    fills = {n: shade(hue_of(n), _STRENGTH) for n in numbers}
    style: dict[int | None, str] = {n: f"{ink(fill)} on {fill}" for n, fill in fills.items()}
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0), show_edge=False, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    for column in grid.columns:
        table.add_column(Text(column), justify="center", no_wrap=True)
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        texts = [Text(c.label if c.colour is None else f" {c.label} ", style=style.get(c.colour, "dim")) for c in cells]
        table.add_row(Text(f"{name} "), *texts)
    return table


@dataclass(frozen=True, slots=True)
class _Folded:
    """A side: its dimensions, the indices that fold into one cell, and the runs above them."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    origins: tuple[int, ...]
    cell: int
    runs: tuple[ExtentRun, ...]

    @property
    def count(self) -> int:
        return prod(run.extent for run in self.runs)

    def side(self, most: int) -> Side:
        return Side(self.names, self.shape, self.origins, fold(self.runs, most, self.cell), self.runs)


def _folded(layout: Layout, dims: slice, axes: tuple[str | None, str], *, count: bool) -> _Folded:
    """Fold the minor factors: those that leave the owner alone, or (`count`) one run of neighbours on the minor axis."""
    form = layout.canonical()
    others = [axis for axis in (None, *form.codomain) if axis not in axes or axis is None]
    runs = side_runs(form, dims, repeats=others)
    last = [factor for side in form.dims[dims] for factor in side][-1:]
    cell = 1
    if count and last and last[0][1:] == (1, axes[1]) and not runs[-1].solid:
        cell = runs.pop().extent
    else:
        while runs and runs[-1].repeats:
            cell *= runs.pop().extent
    return _Folded(form.names[dims], tuple(map(int, form.shape[dims])), form.origins[dims], cell, tuple(runs))


def _grid(
    layout: Layout,
    rows: _Folded,
    columns: _Folded,
    most: tuple[int, int],
    kept: tuple[int, int],
    axes: tuple[str | None, str],
    down: bool,
) -> OwnerGrid:
    """The grid, with the names of all bands and the cells of the first `kept` rows and columns that are drawn."""
    tops, lefts = rows.side(most[0]), columns.side(most[1])
    plain = numbered(layout)
    major, minor = axes
    names = [tuple(side.headers()) for side in (tops, lefts)]
    bands = [side.bands[: _first(own, n)] for side, own, n in zip((tops, lefts), names, kept, strict=True)]
    drawn = [[band for band in some if not band.gap] for some in bands]
    lowest = _owners(plain, (tops, lefts), drawn, ends=False)
    highest = _owners(plain, (tops, lefts), drawn, ends=True)
    several = major is not None and plain.spans().get(major, 1) != 1
    across: list[int | None] = _numbers(bands[1])
    cells = tuple(
        tuple(
            Cell("" if {str(band)[0] for band in (down_band, band) if band.gap} == {"+"} else DOTS, None)
            if i is None or j is None
            else _cell(lowest[major][i][j] if major else 0, lowest[minor][i][j], highest[minor][i][j], several, down)
            for j, band in zip(across, bands[1], strict=True)
        )
        for i, down_band in zip(_numbers(bands[0]), bands[0], strict=True)
    )
    plane = " x ".join([",".join(plain.names[:-1]), plain.names[-1]]) if plain.rank > 1 else ""
    return OwnerGrid(
        names[0],
        names[1],
        cells,
        (rows.count, columns.count),
        (len(tops.starts), len(lefts.starts)),
        f"{major}:{minor}" if several else minor,
        plane,
    )


def _numbers(bands: Sequence[Band]) -> list[int | None]:
    """Which drawn band each band is; None for gaps."""
    found: list[int | None] = []
    count = 0
    for band in bands:
        found.append(None if band.gap else count)
        count += not band.gap
    return found


def _owners(
    layout: Layout, sides: Sequence[Side], drawn: Sequence[Sequence[Band]], *, ends: bool
) -> dict[str, Sequence[Sequence[int]]]:
    """The owner of each drawn cell's first element, or of its last (`ends`)."""
    rows, columns = (
        side.at([b.start + (b.size - 1 if ends else 0) for b in bands])
        for side, bands in zip(sides, drawn, strict=True)
    )
    found = owner_planes(layout, rows, columns)
    return {axis: plane.rows for axis, plane in found.items()}


def _owner_axes(layout: Layout) -> tuple[str | None, str]:
    """The axes that name an owner: subgroup and lane, or the last one or two that a layout onto other axes moves along."""
    names = [*layout.codomain]
    if "lane" in names:
        return "sg" if "sg" in names else None, "lane"
    spans = layout.spans()
    used = [axis for axis in names if spans.get(axis, 1) != 1] or names
    return (used[-2], used[-1]) if len(used) > 1 else (None, used[0])


def _cell(first: int, low: int, high: int, several: bool, down: bool) -> Cell:
    lanes = span(low, high) + (_DOWN if down and low != high else "")
    return Cell(f"{first}:{lanes}" if several else lanes, first if several else low)
