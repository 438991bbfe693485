"""The picture of a difference: a map of the whole tensor, and a window of it with the places of every element.

A cell that moves has its place in the first above its place in the second; the legend has the number of elements of each kind.

>>> picture = la.same("d0 = 4@lane", "d0 = 2@lane 2@reg").picture()
>>> [cell.sentence for cell in picture.scene().cells][1]
'element (1,): lane 1, register 0 in the first; lane 0, register 1 in the second'
>>> [words.text for words in picture.scene().legends[0].words]
['same: 1', 'moved: 3']

A large tensor's window begins at the first element that is not the same; `start` asks for another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from layoutalg.compare.difference import KINDS, Difference
from layoutalg.compare.owners import Owner, owners_text
from layoutalg.core.limits import MOST_OWNERS_LISTED
from layoutalg.viz.borders import rims
from layoutalg.viz.colours import LEGEND, shade
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import NARROW, PALE, Look, Panel, table_panel
from layoutalg.viz.scene import CHARACTER

__all__ = ["DifferencePicture"]

_FILLS = dict(zip(KINDS, (PALE, *(shade(hue, LEGEND) for hue in (7, 4, 1, 2, 0, 6))), strict=True))
_ROWS, _LINES = 16, 32
"""Rows of the window, and rows of cells below one another where its columns do not fit side by side."""
_MAP, _DOT = 64, 9
"""Rows and columns of the map, and the pixels of one of its cells."""
_HEIGHT = 32


@dataclass(frozen=True, slots=True, repr=False)
class DifferencePicture(PanelPicture):
    """The picture of a difference; `start` numbers an element of its window, `sides` names both unless the title does."""

    difference: Difference = field(kw_only=True)
    start: int | None = field(default=None, kw_only=True)
    sides: str = field(default="", kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The map where the window has not everything, and the window."""
        found = _Window.of(self.difference, self.start)
        whole = [] if found.is_whole else [found.map()]
        return (*whole, *found.tables())

    def subtitle(self) -> str:
        """Which layouts are compared, what stands in a cell, and one that is not the same.

        >>> print(la.same("d0 = 4@lane", "d0 = 4@reg").picture(title="one lane").subtitle())
        first: d0 = 4@lane; second: d0 = 4@reg
        cells: lane:register in the first, below it that in the second
        outlined: element (1,), first lane 1, register 0, then lane 0, register 1
        """
        cells = f"cells: {_form(self.difference)} in the first, below it that in the second"
        number = _Window.of(self.difference, self.start).unlike
        outlined: list[str] = []
        if number is not None:
            told = [_told(owners, self.difference) for owners in self.difference.places(number)]
            outlined = [f"outlined: element {self.difference.element(number)}, first {told[0]}, then {told[1]}"]
        return "\n".join([*[self.sides] * bool(self.sides), cells, *outlined])

    def key(self) -> Sequence[tuple[str, str]]:
        """How many elements there are of each kind."""
        return [(f"{kind}: {count}", _FILLS[kind]) for kind, count in self.difference.counts.items()]


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows and columns that are drawn cell by cell."""

    of_all: Difference
    size: tuple[int, int]
    rows: range
    columns: range
    across: int
    """Columns that fit side by side."""
    width: float

    @classmethod
    def of(cls, found: Difference, start: int | None) -> _Window:
        """The window at an element; unless given, at the first that is not the same."""
        size = prod(found.shape[:-1]), found.shape[-1] if found.shape else 1
        number = next((i for i, kind in enumerate(found.kinds) if kind), 0) if start is None else start
        row, column = divmod(number, size[1])
        most = max(len(_short(owner, found)) for owner in _corners(found)) + 2
        width = max(most, 4) * CHARACTER + 6
        beside = max(map(len, (_axes(found)[0], *(_header(found, row) for row in (0, size[0] - 1))))) * CHARACTER + 8
        across = max(int((NARROW - 24 - beside) / width), 1)
        across = min(across, size[1]) if size[1] <= across else 1 << across.bit_length() - 1
        rows = min(size[0], _ROWS)
        chunks = max(min(-(-size[1] // across), _LINES // rows), 1)
        first, left = row - row % rows, column - column % (across * chunks)
        return cls(
            found,
            size,
            range(first, min(first + rows, size[0])),
            range(left, min(left + across * chunks, size[1])),
            across,
            width,
        )

    @property
    def is_whole(self) -> bool:
        return (len(self.rows), len(self.columns)) == self.size

    def tables(self) -> list[Panel]:
        """The cells, as many columns as fit in each table."""
        found: list[Panel] = []
        names = [_header(self.of_all, row) for row in self.rows]
        (down, named), unlike = _axes(self.of_all), self.unlike
        begin = self.of_all.origins[-1] if self.of_all.origins else 0
        for left in range(self.columns.start, self.columns.stop, self.across):
            columns = range(left, min(left + self.across, self.columns.stop))
            looks = [[self._look(row * self.size[1] + column) for column in columns] for row in self.rows]
            across = [str(c + begin) for c in columns]
            title = "" if self.is_whole or left > self.columns.start else "a part of it, cell by cell"
            table = table_panel(title, across, names, looks, (self.width, _HEIGHT), corner=down, named=named)
            numbers = [row * self.size[1] + column for row in self.rows for column in columns]
            met = [(cell.x, cell.y) for cell, number in zip(table.cells, numbers, strict=True) if number == unlike]
            found.append(replace(table, lines=(*table.lines, *rims(met, self.width, _HEIGHT))))
        return found

    @property
    def unlike(self) -> int | None:
        """The first element that is not the same; None where all are."""
        numbers = (row * self.size[1] + column for row in self.rows for column in self.columns)
        return next((number for number in numbers if self.of_all.kinds[number]), None)

    def _look(self, number: int) -> Look:
        found = self.of_all
        kind = KINDS[found.kinds[number]]
        first, second = found.places(number)
        told = [_told(owners, found) for owners in (first, second)]
        return Look(
            _FILLS[kind],
            _cell(first, found) if first else "-",
            f"element {found.element(number)}: {told[0]} in the first; {told[1]} in the second",
            "" if kind in ("same", "in neither") else _cell(second, found) if second else "-",
        )

    def map(self) -> Panel:
        """The whole tensor, a cell for each element or for a block of them: the kind that most of what differs is of."""
        found = self.of_all
        step = [-(-n // _MAP) for n in self.size]
        looks: list[list[Look]] = []
        for top in range(0, self.size[0], step[0]):
            line: list[Look] = []
            for left in range(0, self.size[1], step[1]):
                low, right = (min(at + n, end) for at, n, end in zip((top, left), step, self.size, strict=True))
                starts = [row * self.size[1] + left for row in range(top, low)]
                block = b"".join(found.kinds[at : at + right - left] for at in starts)
                counts = [block.count(number) for number in range(len(KINDS))]
                worst = max(range(1, len(KINDS)), key=counts.__getitem__) if any(counts[1:]) else 0
                ends = [found.element(at) for at in (starts[0], starts[-1] + right - left - 1)]
                told = ", ".join(f"{count} {kind}" for kind, count in zip(KINDS, counts, strict=True) if count)
                line.append(Look(_FILLS[KINDS[worst]], "", f"elements {ends[0]} to {ends[1]}: {told}"))
            looks.append(line)
        each = "an element" if step == [1, 1] else f"{step[0]}x{step[1]} elements"
        return table_panel(f"all of it, {each} in a cell", [], [], looks, (_DOT, _DOT))


def _corners(found: Difference) -> list[Owner]:
    low = found.starts
    high = tuple(start + size - 1 for start, size in zip(low, found.sizes, strict=True))
    return [low, high]


def _axes(found: Difference) -> tuple[str, str]:
    """What rows and columns count."""
    rows = ",".join(name for name, n in zip(found.names[:-1], found.shape[:-1], strict=True) if n > 1)
    columns = "".join(found.names[-1:])
    return f"{rows} \N{DOWNWARDS ARROW}" * bool(rows), f"{columns} \N{RIGHTWARDS ARROW}" * bool(columns)


def _header(found: Difference, row: int) -> str:
    """The coordinates of a row: those of dimensions that have only one left out."""
    at = found.element(row * found.shape[-1])[:-1] if found.shape else ()
    return ",".join(str(x) for x, n in zip(at, found.shape[:-1], strict=True) if n > 1)


def _shown_axes(found: Difference) -> list[int]:
    """The axes that a label names: those along which places differ."""
    return [d for d, n in enumerate(found.sizes) if n > 1] or [len(found.sizes) - 1]


_WORDS = {"sg": "subgroup", "reg": "register"}


def _form(found: Difference) -> str:
    return ":".join(_WORDS.get(axis, axis) for axis in (found.axes[d] for d in _shown_axes(found)))


def _short(owner: Owner, found: Difference) -> str:
    return ":".join(str(owner[d]) for d in _shown_axes(found))


def _cell(owners: list[Owner], found: Difference) -> str:
    """The lowest place, and how many more there are."""
    more = len(owners) - 1
    return _short(owners[0], found) + (f"+{more}" if more else "")


def _told(owners: list[Owner], found: Difference) -> str:
    return (
        owners_text(owners[:MOST_OWNERS_LISTED], found.axes, len(owners))
        .removeprefix("is in ")
        .replace("belongs to nobody", "nowhere")
    )
