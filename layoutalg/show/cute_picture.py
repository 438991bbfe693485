"""The picture of an operation of CuTe's algebra: its layouts and its result side by side, related by their colours.

A grid has mode 0 down and the other modes across, with the coordinates of nested modes beside it and lines where an inner mode
begins again. A cell is a value. Each column of the result has a hue, and a value has one colour wherever it stands. Here the
tile takes every other element, so that the columns of the result are the even and the odd ones:

>>> from layoutalg.show.cute_algebra import describe_expression
>>> picture = describe_expression("logical_divide(8:1, 4:2)").picture()
>>> print(picture.subtitle())
A o (B, complement(B, size(A))), by a tuple in each mode: ((tile), (rest))
>>> [cell.sentence for cell in picture.scene().cells][:2]
['A = 8:1 at 0: 0, in column 0 of the result', 'A = 8:1 at 1: 1, in column 1 of the result']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, cast

from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_SHOWN_VALUES
from layoutalg.cute.coordinates import idx2crd
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.nested_tuples import leaves_of, tuple_text
from layoutalg.cute.tiling import logical_product
from layoutalg.viz.colours import HUES, hue_of, shade
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import NARROW, PALE, Look, Panel, stacked, table_panel, told_panel
from layoutalg.viz.scene import CELL_HEIGHT, CHARACTER

__all__ = ["AlgebraPicture"]

_ROWS, _LINES = 16, 32
"""Rows of a grid, and rows of cells below one another where its columns do not fit side by side."""
_INDICES, _ACROSS, _MOST_ADDED = 96, 16, 1024
"""Indices that the picture of a complement draws, how many side by side, and of how large an A."""
_COPIES = ("logical_product", "zipped_product", "tiled_product", "flat_product")
"""Operations whose second layout says where the copies are: its coordinates are the result's columns."""
_COPIED = ("blocked_product", "raked_product")
"""Operations whose result has parts of several copies in a column: hues are the columns of the logical product."""
_PLAIN = {"complement": "A moved by each value of R: together these copies have every index once"} | dict.fromkeys(
    (*_COPIES, *_COPIED), "R has a copy of A for each value of B, in the colour that B has there"
)
"""What an operation is for, where its definition is long."""
_TILES = ("composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
"""Operations whose second layout has coordinates of the first."""


@dataclass(frozen=True, slots=True)
class _Values:
    """A layout as a grid of values."""

    layout: CuteLayout
    rows: int
    columns: int

    @classmethod
    def of(cls, layout: CuteLayout) -> _Values:
        modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
        sizes = [prod([n for n, _ in leaves_of(one, one)]) for one in modes]
        if prod(sizes) > MOST_SHOWN_VALUES:
            raise SizeError(f"{layout}: over {MOST_SHOWN_VALUES} values, the limit of a picture")
        return cls(layout, *((sizes[0], prod(sizes[1:])) if len(sizes) > 1 else (1, prod(sizes))))

    def value(self, index: int) -> Any:
        return self.layout(index)

    @property
    def shapes(self) -> tuple[Any, Any]:
        """The shapes of the rows and of the columns."""
        shape = self.layout.shape
        if not isinstance(shape, tuple) or len(shape) == 1:
            return 1, shape
        return shape[0], shape[1] if len(shape) == 2 else shape[1:]


@dataclass(frozen=True, slots=True, repr=False)
class AlgebraPicture(PanelPicture):
    """Layouts and what an operation makes of them; `inputs` are the operation's layouts, A first, `result` its result."""

    operation: str = field(kw_only=True)
    definition: str = field(kw_only=True)
    inputs: tuple[CuteLayout, ...] = field(kw_only=True)
    result: CuteLayout | None = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """A panel for each layout."""
        colours = _places_of(self._by)
        named = [(f"{chr(ord('A') + number)} = {one}", one, number) for number, one in enumerate(self.inputs)]
        if self.result is not None:
            named.append((f"{'R = ' if named else ''}{self.result}", self.result, -1))
        panels = [self._panel(name, _Values.of(one), number, colours) for name, one, number in named]
        return [*panels, *self._covered()] if self.operation == "complement" else panels

    def _covered(self) -> Sequence[Panel]:
        """Of a complement every index in order: which place of the result moves a copy of A there, and what no copy covers."""
        if self.result is None or not self.inputs:
            return []
        first, result = _Values.of(self.inputs[0]), _Values.of(self.result)
        if first.rows * first.columns > _MOST_ADDED:
            return []
        # R increases: place n of it is n at least, so that no later one brings an index that is drawn.
        moved = {place: result.value(place) for place in range(min(result.rows * result.columns, _INDICES))}
        reached: dict[int, tuple[int, int]] = {}
        for place, by in moved.items():
            for index in range(first.rows * first.columns):
                reached.setdefault(first.value(index) + by, (place, first.value(index)))
        count = min(max(reached) + 1, _INDICES)
        across = min(count, _ACROSS)

        def look(index: int) -> Look:
            if index not in reached:
                return Look(PALE, str(index), f"index {index}: in no copy of A")
            place, one = reached[index]
            return Look(_colour(place, 0.4), str(index), f"index {index}: {one} of A + {moved[place]} of R")

        looks = [[look(index) for index in range(row, min(row + across, count))] for row in range(0, count, across)]
        more = f"; the first {count} indices" if count == _INDICES else ""
        told = told_panel("A + R: the copies of A", [f"every index, in the colour of the copy of A that has it{more}"])
        return [stacked([told, table_panel("", [""], [""], looks, (3 * CHARACTER + 6, CELL_HEIGHT))])]

    def subtitle(self) -> str:
        """The operation's definition."""
        return _PLAIN.get(self.operation, self.definition)

    @property
    def _by(self) -> CuteLayout | None:
        """The layout whose columns have hues."""
        return logical_product(*self.inputs) if self.operation in _COPIED and self.result is not None else self.result

    def key(self) -> Sequence[tuple[str, str]]:
        """The hue of each column of the result."""
        by = self._by
        if by is None:
            return []
        found = _Values.of(by)
        if self.operation == "complement":
            first = min(found.rows * found.columns, len(HUES))
            return [(f"{'A moved by ' * (n == 0)}{found.value(n)}", _colour(n, 0.4)) for n in range(first)]
        what, count = "copy" if self.operation in _PLAIN else "column" if found.rows > 1 else "value at", found.columns
        hues = range(min(count, len(HUES)))
        some = [(str(column) if column else f"{what} 0", _colour(column, 0.5)) for column in hues]
        if count > len(HUES):
            some[-1] = (f"{some[-1][0]} (hues repeat)", some[-1][1])
        first = _Values.of(self.inputs[0]) if self.inputs else found
        places = _places_of(by)
        whole = all(first.value(index) in places for index in range(first.rows * first.columns))
        return some if whole else [*some, ("of A, not in the result", PALE)]

    def _place(self, number: int, found: _Values, index: int, places: dict[Any, int]) -> int | None:
        """Where in the result a cell of an input belongs: None where nowhere."""
        by = self._by
        if number == -1 and by is self.result:
            return index
        if number <= 0:
            return places.get(found.value(index))
        if by is None or number > 1:
            return None
        result = _Values.of(by)
        if self.operation in (*_COPIES, *_COPIED):
            return index * result.rows if found.rows * found.columns == result.columns else None
        if self.operation not in _TILES:
            return None
        first, at = _Values.of(self.inputs[0]), found.value(index)
        if type(at) is not int or not 0 <= at < first.rows * first.columns:
            return None
        return places.get(first.value(at))

    def _panel(self, name: str, found: _Values, number: int, places: dict[Any, int]) -> Panel:
        by = self._by
        result = None if by is None else _Values.of(by)
        down, across = found.shapes
        rows = min(found.rows, _ROWS)
        beside = [_coordinate(row, down) if found.rows > 1 else "" for row in range(rows)]
        above = [_coordinate(column, across) for column in range(min(found.columns, 64))]
        labels = [
            [_label(found.value(row + found.rows * column)) for column in range(len(above))] for row in range(rows)
        ]
        longest = max(len(text) for text in (*above, *(label for line in labels for label in line)))
        width = longest * CHARACTER + 8
        fit = max(int((NARROW - 24 - max(map(len, beside)) * CHARACTER - 8) / width), 1)
        fit = min(fit, len(above)) if len(above) <= fit else 1 << fit.bit_length() - 1
        drawn = min(len(above), fit * max(_LINES // rows, 1))

        def look(row: int, column: int) -> Look:
            index = row + found.rows * column
            place = self._place(number, found, index, places)
            told = f"{name} at {_coordinate(index, found.layout.shape)}: {labels[row][column]}"
            if self.operation == "complement" and result is not None:
                told += ", in the copy that is not moved" if number == 0 else f", which moves copy {index}"
                return Look(_colour(0 if number == 0 else index, 0.4), labels[row][column], told)
            if place is None or result is None:
                return Look(
                    PALE, labels[row][column], told + ", not in the result" * (number == 0 and result is not None)
                )
            group, inside = divmod(place, result.rows) if result.rows > 1 else (place, 0)
            strength = 0.15 + 0.6 * inside / max(result.rows - 1, 1) if result.rows > 1 else 0.4
            if self.operation in _PLAIN:
                told += f", of copy {group}"
            else:
                told += f", in column {group} of the result" if result.rows > 1 else f", at {group} of the result"
            return Look(_colour(group, strength), labels[row][column], told)

        panels: list[Panel] = []
        for left in range(0, drawn, fit):
            columns = range(left, min(left + fit, drawn))
            ruled = _again(down, range(rows)), [column - left for column in _again(across, columns)]
            looks = [[look(row, column) for column in columns] for row in range(rows)]
            panels.append(
                table_panel("", [above[column] for column in columns], beside, looks, (width, CELL_HEIGHT), ruled)
            )
        whole = (rows, drawn) == (found.rows, found.columns)
        note = [] if whole else [f"{rows} of {found.rows} rows, {drawn} of {found.columns} columns drawn"]
        return stacked([told_panel(name, note), *panels])


@lru_cache(4)
def _places_of(result: CuteLayout | None) -> dict[Any, int]:
    """The place of each value in the result, the first of several."""
    if result is None:
        return {}
    found = _Values.of(result)
    places: dict[Any, int] = {}
    for index in range(found.rows * found.columns):
        places.setdefault(found.value(index), index)
    return places


def _colour(group: int, strength: float) -> str:
    return shade(hue_of(group), strength)


def _coordinate(index: int, shape: Any) -> str:
    return tuple_text(cast("Any", idx2crd(index, shape)))


def _label(value: Any) -> str:
    return tuple_text(cast("Any", value)) if isinstance(value, tuple) else str(value)


def _again(shape: Any, numbers: range) -> list[int]:
    """The numbers, but the first, at which the innermost of nested modes begins again."""
    leaves = [n for n, _ in leaves_of(shape, shape)]
    inner = leaves[0]
    if inner == 1 or prod(leaves) == inner:
        return []
    return [number for number in numbers if number % inner == 0 and number != numbers.start]
