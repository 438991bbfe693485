"""The picture of an operation of CuTe's algebra: its layouts and its result side by side, related by their colours.

A grid has mode 0 down and the other modes across, with the coordinates of nested modes beside it and lines where an inner mode
begins again. A cell is a value. Each column of the result has a hue, and a value has one colour wherever it stands. Here the
tile takes every other element, so that the columns of the result are the even and the odd ones:

>>> from layoutalg.show.cute_algebra import describe_expression
>>> picture = describe_expression("logical_divide(8:1, 4:2)").picture()
>>> print(picture.subtitle())
each mode of R is (place in a tile, which tile)
outlined: one tile: column 1 of R, and where A has its values
lines with +n: what one step of a mode adds
>>> [cell.sentence for cell in picture.scene().cells][:2]
['A = 8:1 at 0: 0, in column 0 of the result', 'A = 8:1 at 1: 1, in column 1 of the result']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any, cast

from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.nested_tuples import leaves_of, tuple_text
from layoutalg.cute.swizzles import Swizzle
from layoutalg.cute.tiling import logical_product
from layoutalg.show.cute_example import (
    COPIED,
    COPIES,
    COVERED,
    RESULT,
    AlgebraExample,
    Values,
    coordinate_text,
    example_of,
)
from layoutalg.show.swizzle_bits import bits_panel
from layoutalg.viz.borders import rims
from layoutalg.viz.colours import HUES, hue_of, shade
from layoutalg.viz.dimensions import Steps, dimensioned
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import NARROW, PALE, Look, Panel, stacked, table_panel, told_panel
from layoutalg.viz.scene import CELL_HEIGHT, CHARACTER

__all__ = ["AlgebraPicture"]

_ROWS, _LINES = 16, 32
"""Rows of a grid, and rows of cells below one another where its columns do not fit side by side."""
_INDICES, _ACROSS, _MOST_ADDED = 96, 16, 1024
"""Indices that the picture of a complement draws, how many side by side, and of how large an A."""
_COPY = "R has a copy of A for each value of B, in the colour that B has there"
_TILE = "the rows of R are places in a tile of A, its columns the tiles"
_PLAIN = {
    **dict.fromkeys((*COPIES, *COPIED), _COPY),
    "complement": "A moved by each value of R: together these copies have every index once",
    "logical_divide": "each mode of R is (place in a tile, which tile)",
    "zipped_divide": _TILE,
    "tiled_divide": _TILE,
}
"""What an operation is for, where its definition is long."""
_TILES = ("composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
"""Operations whose second layout has coordinates of the first."""


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
            named.append((f"{'R = ' if named else ''}{self.result}", self.result, RESULT))
        panels = [self._panel(name, Values.of(one), number, colours) for name, one, number in named]
        layout = self.result if self.result is not None else self.inputs[0]
        if layout.swizzle is not None and self._example.offset is not None:
            panels.insert(0, bits_panel(Swizzle(*layout.swizzle), self._example.offset))
        return [*panels, *self._covered()] if self.operation == "complement" else panels

    def _covered(self) -> Sequence[Panel]:
        """Of a complement every index in order: which place of the result moves a copy of A there, and what no copy covers."""
        if self.result is None or not self.inputs:
            return []
        first, result = Values.of(self.inputs[0]), Values.of(self.result)
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
        size = (3 * CHARACTER + 6, CELL_HEIGHT)
        table = table_panel("", [""], [""], looks, size)
        marked = self._example.cells.get(COVERED, frozenset())
        corners = [
            (cell.x, cell.y)
            for index, cell in enumerate(table.cells)
            if index in reached and reached[index][0] in marked
        ]
        return [stacked([told, replace(table, lines=(*table.lines, *rims(corners, *size)))])]

    def subtitle(self) -> str:
        """What the operation does, what is outlined, and what the lines say beside cells and between them."""
        what = _PLAIN.get(self.operation, self.definition)
        drawn = [Values.of(one) for one in self._layouts]
        steps = "lines with +n: what one step of a mode adds" * any(any(_steps(one)) for one in drawn)
        sides = [(one.shapes[0], range(one.rows)) for one in drawn] + [
            (one.shapes[1], range(one.columns)) for one in drawn
        ]
        again = "wide lines: an inner mode begins again" * any(_again(*side) for side in sides)
        return "\n".join(filter(None, (what, self._example.told, steps, again)))

    @property
    def _by_copies(self) -> bool:
        return self.operation in (*COPIES, *COPIED, "complement")

    @property
    def _layouts(self) -> tuple[CuteLayout, ...]:
        return self.inputs if self.result is None else (*self.inputs, self.result)

    @property
    def _example(self) -> AlgebraExample:
        return example_of(self.operation, self.inputs, self.result)

    @property
    def _by(self) -> CuteLayout | None:
        """The layout whose columns have hues."""
        return logical_product(*self.inputs) if self.operation in COPIED and self.result is not None else self.result

    def key(self) -> Sequence[tuple[str, str | None]]:
        """The hue of each column of the result, and what its shades are."""
        by = self._by
        if by is None:
            return []
        found = Values.of(by)
        if self.operation == "complement":
            first = min(found.rows * found.columns, len(HUES))
            return [(f"{'A moved by ' * (n == 0)}{found.value(n)}", _colour(n, 0.4)) for n in range(first)]
        what, count = "copy" if self._by_copies else "column" if found.rows > 1 else "value at", found.columns
        hues = range(min(count, len(HUES)))
        of = " of R" * (bool(self.inputs) and not self._by_copies)
        some: list[tuple[str, str | None]] = [
            (str(column) if column else f"{what} 0{of}", _colour(column, 0.5)) for column in hues
        ]
        if count > len(HUES):
            some[-1] = (f"{some[-1][0]} (hues repeat)", some[-1][1])
        first = Values.of(self.inputs[0]) if self.inputs else found
        places = _places_of(by)
        whole = all(first.value(index) in places for index in range(first.rows * first.columns))
        shades = "A's values, first to last" if self._by_copies else f"rows 0 to {found.rows - 1}{of}"
        some += [("of A, not in the result", PALE)] * (not whole)
        return [*some, *[(f"pale to strong: {shades}", None)] * (found.rows > 1)]

    def _place(self, number: int, found: Values, index: int, places: dict[Any, int]) -> int | None:
        """Where in the result a cell of an input belongs: None where nowhere."""
        by = self._by
        if number == -1 and by is self.result:
            return index
        if number <= 0:
            return places.get(found.value(index))
        if by is None or number > 1:
            return None
        result = Values.of(by)
        if self.operation in (*COPIES, *COPIED):
            return index * result.rows if found.rows * found.columns == result.columns else None
        if self.operation not in _TILES:
            return None
        first, at = Values.of(self.inputs[0]), found.value(index)
        if type(at) is not int or not 0 <= at < first.rows * first.columns:
            return None
        return places.get(first.value(at))

    def _panel(self, name: str, found: Values, number: int, places: dict[Any, int]) -> Panel:
        by = self._by
        result = None if by is None else Values.of(by)
        down, across = found.shapes
        rows = min(found.rows, _ROWS)
        beside = [coordinate_text(row, down) if found.rows > 1 else "" for row in range(rows)]
        above = [coordinate_text(column, across) for column in range(min(found.columns, 64))]
        labels = [
            [_label(found.value(row + found.rows * column)) for column in range(len(above))] for row in range(rows)
        ]
        longest = max(len(text) for text in (*above, *(label for line in labels for label in line)))
        width = longest * CHARACTER + 8
        steps = _steps(found)
        fit = max(int((NARROW - 24 - max(map(len, beside)) * CHARACTER - 8 - steps.left) / width), 1)
        fit = min(fit, len(above)) if len(above) <= fit else 1 << fit.bit_length() - 1
        drawn = min(len(above), fit * max(_LINES // rows, 1))

        def look(row: int, column: int) -> Look:
            index = row + found.rows * column
            place = self._place(number, found, index, places)
            told = f"{name} at {coordinate_text(index, found.layout.shape)}: {labels[row][column]}"
            if self.operation == "complement" and result is not None:
                told += ", in the copy that is not moved" if number == 0 else f", which moves copy {index}"
                return Look(_colour(0 if number == 0 else index, 0.4), labels[row][column], told)
            if place is None or result is None:
                return Look(
                    PALE, labels[row][column], told + ", not in the result" * (number == 0 and result is not None)
                )
            group, inside = divmod(place, result.rows) if result.rows > 1 else (place, 0)
            strength = 0.15 + 0.6 * inside / max(result.rows - 1, 1) if result.rows > 1 else 0.4
            if self._by_copies:
                told += f", of copy {group}"
            else:
                told += f", in column {group} of the result" if result.rows > 1 else f", at {group} of the result"
            return Look(_colour(group, strength), labels[row][column], told)

        panels: list[Panel] = []
        for left in range(0, drawn, fit):
            columns = range(left, min(left + fit, drawn))
            ruled = _again(down, range(rows)), [column - left for column in _again(across, columns)]
            looks = [[look(row, column) for column in columns] for row in range(rows)]
            table = table_panel("", [above[column] for column in columns], beside, looks, (width, CELL_HEIGHT), ruled)
            marked = self._example.cells.get(number, frozenset())
            here = [(row, column) for row in range(rows) for column in columns]
            corners = [
                (cell.x, cell.y)
                for cell, (row, column) in zip(table.cells, here, strict=True)
                if row + found.rows * column in marked
            ]
            table = replace(table, lines=(*table.lines, *rims(corners, width, CELL_HEIGHT)))
            panels.append(dimensioned(table, steps if left == 0 else Steps((), ()), steps.left))
        whole = (rows, drawn) == (found.rows, found.columns)
        note = [] if whole else [f"{rows} of {found.rows} rows, {drawn} of {found.columns} columns drawn"]
        return stacked([told_panel(name, note), *panels])


@lru_cache(4)
def _places_of(result: CuteLayout | None) -> dict[Any, int]:
    """The place of each value in the result, the first of several."""
    if result is None:
        return {}
    found = Values.of(result)
    places: dict[Any, int] = {}
    for index in range(found.rows * found.columns):
        places.setdefault(found.value(index), index)
    return places


def _steps(found: Values) -> Steps:
    """What one step of each mode adds to a value: none where a swizzle changes it, or values are coordinates."""
    if found.layout.swizzle is not None:
        return Steps((), ())
    sides: list[tuple[tuple[int, str], ...]] = []
    for shape, stride in zip(found.shapes, found.strides, strict=True):
        apart, steps = 1, list[tuple[int, str]]()
        for n, s in leaves_of(shape, stride):
            if n > 1 and isinstance(s, int):
                steps.append((apart, f"{s:+d}"))
            apart *= n
        sides.append(tuple(steps))
    return Steps(sides[1], sides[0])


def _colour(group: int, strength: float) -> str:
    return shade(hue_of(group), strength)


def _label(value: Any) -> str:
    return tuple_text(cast("Any", value)) if isinstance(value, tuple) else str(value)


def _again(shape: Any, numbers: range) -> list[int]:
    """The numbers, but the first, at which the innermost of nested modes begins again."""
    leaves = [n for n, _ in leaves_of(shape, shape)]
    inner = leaves[0]
    if inner == 1 or prod(leaves) == inner:
        return []
    return [number for number in numbers if number % inner == 0 and number != numbers.start]
