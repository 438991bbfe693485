"""Pictures of tiles: which element of the matrix is in which row and byte of which tile register, before and after packing.

`tile_pictures` draws a tile of A, B and C: its part of the matrix as it lies in memory, and the rows of 64 bytes of its
register. Cells are labelled with the element, row and column of the matrix. A colour is a word of k: what has the same colour
in A and in B is multiplied. The elements that share a word of 4 bytes are never drawn apart; those of one word are outlined, in
memory and in the register.

>>> [words.text for words in tile_pictures(la.plan_amx(64, 64, 64, blocking=(2, 2)))["B"].scene().words if words.bold]
['tile B0 of the first step, in memory and in its register: 32x16 bf16', 'B in memory: rows of k', 'tmm6: 16 rows of 64 bytes']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.core.errors import PlanError
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import one_of
from layoutalg.gemm.amx.walking import block_tiles, walk
from layoutalg.viz.borders import cased, rims
from layoutalg.viz.colours import hue_of, shade
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import PALE, Axis, Look, Panel, arrow_down, cell_of, stacked
from layoutalg.viz.scene import CELL_HEIGHT
from layoutalg.viz.shapes import Cell, Line, Words

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm
    from layoutalg.viz.picture import Picture

__all__ = ["TilePicture", "tile_pictures"]

_EMPTY = "#ffffff"
_GAP, _CELL = 22.0, 44.0
_HUES = 6
"""Words that have a hue each; of those behind them one is drawn at most, the last (`_Side.of`)."""
_Element = tuple[int, int]


def tile_pictures(plan: AmxGemm) -> dict[str, Picture]:
    """For A, B and C: the first tile of the first step, in memory and in its register.

    >>> sorted(tile_pictures(la.plan_amx(64, 64, 64)))
    ['A', 'B', 'C']
    """
    return {
        operand: TilePicture(plan.operands(), _tile(plan, operand).heading, plan=plan, operand=operand)
        for operand in ("A", "B", "C")
    }


@dataclass(frozen=True, slots=True, repr=False)
class TilePicture(PanelPicture):
    """A tile of one operand, in memory and in its register."""

    plan: AmxGemm = field(kw_only=True)
    operand: str = field(kw_only=True)

    def __post_init__(self) -> None:
        one_of(self.operand, ("A", "B", "C"), "operand", PlanError)
        PanelPicture.__post_init__(self)

    def panels(self) -> Sequence[Panel]:
        """The matrix in memory, and the register: what leads from one to the other stands between."""
        tile = _tile(self.plan, self.operand)
        ends = [_memory(tile), _register(tile)][:: -1 if self.operand == "C" else 1]
        return (stacked([ends[0], arrow_down(tile.way), ends[1]], 6),)

    def subtitle(self) -> str:
        """What the labels and the colours are."""
        return _tile(self.plan, self.operand).legend


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows or the columns of a grid: their numbers where drawn (None: a gap), in groups that stay together."""

    numbers: tuple[int | None, ...]
    group: int
    unit: int = 1

    @classmethod
    def of(cls, count: int, group: int = 1, unit: int = 1) -> _Side:
        """`count` numbers; where there are many, the first groups, a gap, and the last group."""
        groups = Axis.of(-(-count // group), 1, 2 if group == 4 else 4, 1)
        numbers: list[int | None] = []
        for one in groups.numbers:
            numbers += [None] if one is None else range(one * group, min((one + 1) * group, count))
        return cls(tuple(numbers), group, unit)

    def places(self, step: float) -> list[tuple[int | None, float, float]]:
        """Each number, where it begins, and how wide it is."""
        found: list[tuple[int | None, float, float]] = []
        start = 0.0
        for number in self.numbers:
            width = step if number is not None else _GAP
            found.append((number, start, width))
            start += width
        return found


@dataclass(frozen=True, slots=True)
class _Tile:
    """One tile of an operand: where its elements are in memory and in the register, and the words about it."""

    heading: str
    legend: str
    operand: str
    register: int
    word: int
    itemsize: int
    memory: tuple[str, _Side, _Side, str]
    placed: tuple[str, _Side, _Side, str]
    transposed: bool
    elements: Mapping[_Element, _Element]
    size: _Element
    padded_from: int
    ways: tuple[str, ...]

    @property
    def way(self) -> tuple[str, ...]:
        """What leads from memory to the register, or back; where the outlined elements come to be."""
        held = {element: place for place, element in self.elements.items() if element in self.example}
        named = " and ".join(f"({i}, {j})" for i, j in (min(held), max(held))) if len(held) > 1 else f"{min(held)}"
        (row, first), last = min(held.values()), max(held.values())[1] + self.itemsize - 1
        told = (
            f"{named}: bytes {first}..{last} of row {row}"
            if len(held) < 3
            else (f"{named.replace(' and ', ' to ')}: bytes {first}..{last} of row {row}")
        )
        return (*self.ways, f"outlined: {told}")

    def element_in_memory(self, row: int, column: int) -> _Element:
        return (column, row) if self.transposed else (row, column)

    def element_in_register(self, row: int, column: int) -> _Element:
        return self.elements[row, column * self.itemsize]

    @property
    def example(self) -> frozenset[_Element]:
        """The elements of the word that is outlined: the second along k and across, where there are that many."""
        across = {"A": self.size[0], "B": self.size[1]}.get(self.operand)
        if across is None:
            return frozenset([(min(1, self.size[0] - 1), min(1, self.size[1] - 1))])
        which, other = int(self.padded_from >= 2 * self.word), min(1, across - 1)
        along = range(which * self.word, min((which + 1) * self.word, self.padded_from))
        return frozenset((other, k) if self.operand == "A" else (k, other) for k in along)

    def look(self, element: _Element, where: str) -> Look:
        """The cell of an element: a hue for each word of k, a shade for each element of the word."""
        at = {"A": element[1], "B": element[0]}.get(self.operand)
        if at is None:
            return Look(PALE, f"{element[0]},{element[1]}", f"C({element[0]}, {element[1]}): {where}")
        if at >= self.padded_from:
            return Look(_EMPTY, "0", f"beyond k: 0, {where}")
        strength = (at % self.word) / max(self.word - 1, 1)
        fill = shade(hue_of(min(at // self.word, _HUES)), strength)
        return Look(fill, f"{element[0]},{element[1]}", f"{self.operand}({element[0]}, {element[1]}): {where}")


def _tile(plan: AmxGemm, operand: str) -> _Tile:
    """The first tile of A, B or C."""
    problem = plan.problem
    height, width = (strips[0].heights[0] for strips in plan.strips)
    depth = min(problem.depth, problem.k_padded)
    product = plan.tile_product(height, width, depth)
    name = operand + ("00" if operand == "C" else "0")
    register = walk(block_tiles(plan)).registers[name]
    layout = {"A": product.lhs, "B": product.rhs, "C": product.acc}[operand]
    places = zip(layout.owner_map("row").flat, layout.owner_map("col").flat, strict=True)
    elements = dict(zip(((int(row), int(byte)) for row, byte in places), np.ndindex(*layout.shape), strict=True))
    kind, v, size = getattr(problem, operand.lower()), problem.vnni, problem.element_bytes
    most = min(depth, problem.k)
    if operand == "C":
        rows, columns, word, size, kind = height, width, 1, 4, problem.acc
        register_rows, register_columns, transposed = _Side.of(height), _Side.of(width, 1, 4), False
        inside = (_Side.of(height), _Side.of(width))
        target = "C in memory" if problem.direct else "the scratch of a cache block"
        pitch = problem.ldc if problem.direct else plan.tiling.n_block
        ways: tuple[str, ...] = ("tile_store: row by row, from the register to memory",)
        titles = (f"{target}: rows of m", f"tmm{register}: {counted(height, 'row')} of {4 * width} bytes")
        notes = (f"rows are {pitch * 4} bytes apart", f"an element of {problem.acc} is 4 bytes")
        legend = "cells: row,column of the element there\noutlined: one element, in memory and in the register"
    else:
        is_a = operand == "A"
        rows, columns, word = (height, depth, v) if is_a else (depth, width, v)
        transposed = problem.trans_a if is_a else problem.trans_b
        pitch = (problem.lda if is_a else problem.ldb) * size
        along_k, others = _Side.of(most, v), _Side.of(height if is_a else width)
        k_is_inner = is_a != transposed
        inside = (others, along_k) if k_is_inner else (along_k, others)
        tile = product.lhs_type if is_a else product.rhs_type
        register_rows, register_columns = _Side.of(tile.rows), _Side.of(tile.cols, v, size)
        titles = (
            f"{operand} in memory: rows of {('m' if is_a else 'n') if k_is_inner else 'k'}",
            f"tmm{register}: {counted(tile.rows, 'row')} of {tile.row_bytes} bytes",
        )
        notes = (f"rows are {pitch} bytes apart", f"a word of 4 bytes: {v} elements, neighbours along k")
        ways = (
            _packing(plan, operand),
            f"tile_load: {counted(tile.rows, 'row')} of {tile.row_bytes} bytes into tmm{register}",
        )
        legend = (
            "cells: row,column of the element there\noutlined: what one word of the register holds\n"
            f"a hue: a word of 4 bytes, {counted(v, 'neighbour')} along k, pale to strong\n"
            f"the same hue in {'B' if is_a else 'A'}: multiplied with one another"
        )
    return _Tile(
        f"tile {name} of the first step, in memory and in its register: {rows}x{columns} {kind}",
        legend,
        operand,
        register,
        word,
        size,
        (titles[0], *inside, notes[0]),
        (titles[1], register_rows, register_columns, notes[1]),
        transposed,
        elements,
        (rows, columns),
        most,
        ways,
    )


def _packing(plan: AmxGemm, operand: str) -> str:
    v = plan.problem.vnni
    if operand == "B":
        return f"packed before: element (k, n) goes to row k // {v}, element {v} n + k % {v} of it"
    if plan.tiling.pack_a:
        return "packed before: whole tiles of 16 rows of 64 bytes"
    return "as it lies: a row of A is a row of the register"


def _memory(tile: _Tile) -> Panel:
    title, rows, columns, note = tile.memory

    def look(row: int, column: int) -> Look:
        return tile.look(tile.element_in_memory(row, column), f"row {row}, column {column} of the matrix in memory")

    def is_example(row: int, column: int) -> bool:
        return tile.element_in_memory(row, column) in tile.example

    return _grid(title, note, rows, columns, look, ("row", "column"), is_example)


def _register(tile: _Tile) -> Panel:
    title, rows, columns, note = tile.placed

    def look(row: int, column: int) -> Look:
        first = column * tile.itemsize
        span = f"byte {first}" if tile.itemsize == 1 else f"bytes {first} to {first + tile.itemsize - 1}"
        return tile.look(tile.element_in_register(row, column), f"tmm{tile.register}, row {row}, {span}")

    def is_example(row: int, column: int) -> bool:
        return tile.element_in_register(row, column) in tile.example

    return _grid(title, note, rows, columns, look, ("row", "byte"), is_example)


def _grid(
    title: str,
    note: str,
    rows: _Side,
    columns: _Side,
    look: Callable[[int, int], Look],
    names: tuple[str, str],
    is_example: Callable[[int, int], bool],
) -> Panel:
    """A grid with numbers beside and above it, lines between groups, and one around neighbours that are an example."""
    left, top = 34.0, 44.0
    down, across = rows.places(CELL_HEIGHT), columns.places(_CELL)
    words = [Words(0, 10, title, 12, bold=True), Words(0, top - 6, names[0], 11), Words(left, top - 20, names[1], 11)]
    cells: list[Cell] = []
    marked: list[Cell] = []
    lines: list[Line] = []
    right, bottom = (side[-1][1] + side[-1][2] for side in (across, down))
    for number, x, width in across:
        text = "⋯" if number is None else str(number * columns.unit)
        words.append(Words(left + x + width / 2, top - 6, text, 11, "middle"))
    for number, y, height in down:
        text = "⋮" if number is None else str(number * rows.unit)
        words.append(Words(left - 6, top + y + height / 2 + 4, text, 11, "end"))
    for row, y, height in down:
        for column, x, width in across:
            if row is not None and column is not None:
                cells.append(cell_of(left + x, top + y, width, height, look(row, column)))
                marked += [cells[-1]] * is_example(row, column)
    for side, at_right in ((across, True), (down, False)):
        group = (columns if at_right else rows).group
        for (before, _, _), (number, at, _) in pairwise(side):
            if group > 1 and number is not None and before is not None and number % group == 0:
                line = (
                    (left + at, top, left + at, top + bottom) if at_right else (left, top + at, left + right, top + at)
                )
                lines += cased(Line(*line, 1.2, over=True))
    lines += rims([(one.x, one.y) for one in marked], _CELL, CELL_HEIGHT)
    words.append(Words(0, top + bottom + 16, note, 11))
    width = max(left + right, 7.9 * len(title), 6.8 * len(note))
    return Panel(tuple(cells), tuple(words), tuple(lines), width, top + bottom + 22)
