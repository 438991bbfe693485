"""The picture of a plan: the grid of workgroups, a workgroup's subgroups, a subgroup's blocks, and the walk along k.

Each panel is a product: A left, B above, C in the corner. The first has the whole problem, with the part of one workgroup and
one step of k marked; the second that part, with the subgroups that share it; the third one subgroup's tile, a cell for every
operand of a matrix instruction and an outline for every message. Long rows of cells are cut: 16 workgroups are drawn as the
first five, a gap, and the last two.

>>> from layoutalg.gemm import plan_gemm
>>> picture = plan_gemm(4096, 4096, 4096, tile=(32, 32), subgroups=(4, 4), k_step=16).picture()
>>> [words.text for words in picture.scene().words if words.bold][1:]
['grid: 32x32 workgroups', 'workgroup: 4x4 subgroups', 'subgroup: 4x2 blocks']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from layoutalg.viz.colours import hexes, hue_of, ink, shades
from layoutalg.viz.picture import Picture
from layoutalg.viz.scene import CELL_HEIGHT, Cell, Legend, Line, Scene, Words

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["PlanPicture"]

_FIRST, _LAST = 5, 2
"""Cells that are drawn of a long row: at its beginning and at its end."""
_MARGIN, _SPACE, _HEAD = 12, 40, 62
_WIDE = 38
_PALE, _MARKED, _DARK = "#eeeeee", "#f7d9a8", "#b8d8e9"


@dataclass(frozen=True, slots=True)
class _Axis:
    """A row of cells: their numbers where each is drawn (None: the gap), and their width."""

    numbers: tuple[int | None, ...]
    step: float

    @classmethod
    def of(cls, count: int, step: float) -> _Axis:
        if count <= _FIRST + _LAST + 1:
            return cls(tuple(range(count)), step)
        return cls((*range(_FIRST), None, *range(count - _LAST, count)), step)

    @property
    def length(self) -> float:
        return self.step * len(self.numbers)

    def places(self) -> Iterator[tuple[int | None, float]]:
        for place, number in enumerate(self.numbers):
            yield number, place * self.step


@dataclass(frozen=True, slots=True, repr=False)
class PlanPicture(Picture):
    """The picture of a plan; its `parts` are the fragments of one step, which `layoutalg.viz.picture.picture_of` draws.

    >>> from layoutalg.gemm import plan_gemm
    >>> plan_gemm(64, 64, 64).picture().svg()[:4]
    '<svg'
    """

    plan: Gemm = field(kw_only=True)

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The three panels, in pixels; there is one direction and one colouring."""
        panels = [_grid(self.plan), _workgroup(self.plan), _subgroup(self.plan)]
        cells: list[Cell] = []
        lines: list[Line] = []
        words = [Words(_MARGIN, 20, self.title, 13, bold=True, fill="#000000")]
        words.append(Words(_MARGIN, 36, str(self.plan.tiling), 10, fill="#555555"))
        x = float(_MARGIN)
        for panel in panels:
            cells += [_moved(cell, x, _HEAD) for cell in panel.cells]
            words += [Words(one.x + x, one.y + _HEAD, one.text, one.size, one.anchor, one.bold) for one in panel.words]
            lines += [Line(one.x + x, one.y + _HEAD, one.to_x + x, one.to_y + _HEAD, one.width) for one in panel.lines]
            x += panel.width + _SPACE
        height = _HEAD + max(panel.height for panel in panels) + _MARGIN
        width = max(x - _SPACE + _MARGIN, 7.2 * max(len(self.title), len(str(self.plan.tiling))) + 2 * _MARGIN)
        return Scene(width, height, self.title, (), tuple(cells), tuple(words), tuple(lines), (Legend("", (), ()),), "")

    def html(self) -> str:
        """The picture as a page."""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
            f"<title>{escape(self.title)}</title></head>\n<body>{self.svg()}</body>\n</html>\n"
        )

    def _repr_html_(self) -> str:
        from layoutalg.viz.page import image

        return f'<div class="layoutalg" data-of="plan">{image(self.svg(), self.title)}</div>'


@dataclass(frozen=True, slots=True)
class _Panel:
    cells: tuple[Cell, ...]
    words: tuple[Words, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Look:
    """What a cell looks like: its colour, its label, and the sentence about it."""

    fill: str
    label: str
    sentence: str


def _product(
    title: str,
    notes: Sequence[str],
    down: _Axis,
    deep: _Axis,
    across: _Axis,
    looks: dict[str, dict[tuple[int, int], _Look]],
) -> _Panel:
    """A left of C, B above it: axes of rows, of depth and of columns. `looks` are those of A, B and C by cell."""
    cells: list[Cell] = []
    words = [Words(0, 10, title, 12, bold=True)]
    left, top = deep.length + 14, len(deep.numbers) * CELL_HEIGHT + 34
    tall = _Axis(deep.numbers, CELL_HEIGHT)
    for name, rows, columns, x, y in (
        ("A", down, deep, 0.0, top),
        ("B", tall, across, left, 20.0),
        ("C", down, across, left, top),
    ):
        for row, to_y in rows.places():
            for column, to_x in columns.places():
                place = (x + to_x, y + to_y)
                if row is None or column is None:
                    if (row is None and column is None) or name == "C":
                        continue
                    words.append(Words(place[0] + columns.step / 2, place[1] + rows.step / 2 + 4, "...", 10, "middle"))
                    continue
                look = looks[name][row, column]
                text = hexes(ink(_rgb(look.fill)))[0]
                cells.append(Cell(*place, columns.step, rows.step, look.fill, text, look.label, look.sentence))
    words += [
        Words(0, top - 4, "A", 11, bold=False),
        Words(left - 10, 32, "B", 11, "end"),
        Words(left - 10, top - 4, "C", 11, "end"),
    ]
    bottom = top + down.length
    words += [Words(0, bottom + 14 + 13 * number, note, 10) for number, note in enumerate(notes)]
    width = max(left + across.length, 7 * max(len(note) for note in (title, *notes)))
    arrow = _arrow(0, top - 16, deep.length) if len(deep.numbers) > 1 else ()
    return _Panel(tuple(cells), tuple(words), arrow, width, bottom + 14 + 13 * len(notes))


def _rgb(colour: str) -> NDArray[np.int64]:
    return np.array([[int(colour[place : place + 2], 16) for place in (1, 3, 5)]])


def _arrow(x: float, y: float, length: float) -> tuple[Line, ...]:
    """The walk along k."""
    end = x + length
    return Line(x, y, end, y, 1.2), Line(end - 5, y - 3, end, y, 1.2), Line(end - 5, y + 3, end, y, 1.2)


def _moved(cell: Cell, x: float, y: float) -> Cell:
    return Cell(cell.x + x, cell.y + y, cell.width, cell.height, cell.fill, cell.ink, cell.label, cell.sentence)


def _grid(plan: Gemm) -> _Panel:
    """The whole problem: workgroups in C, steps of k along A and B."""
    x, y, z = plan.grid
    whole = plan.tiling.workgroup_tile
    longest = len(f"{x - 1},{y - 1}")
    down, deep, across = _Axis.of(y, CELL_HEIGHT), _Axis.of(plan.k_steps, 16), _Axis.of(x, 12 + 6.7 * longest)
    rows, columns, steps = ([n for n in axis.numbers if n is not None] for axis in (down, across, deep))

    def part(first: int, size: int, most: int) -> str:
        return f"{first * size}..{min((first + 1) * size, most) - 1}"

    looks = {
        "A": {
            (i, s): _Look(
                _MARKED if (i, s) == (0, 0) else _DARK if i == 0 else _PALE,
                "",
                f"A: rows {part(i, whole.m, plan.m)} for step {s}, k {part(s, whole.k, plan.k)}",
            )
            for i in rows
            for s in steps
        },
        "B": {
            (s, j): _Look(
                _MARKED if (s, j) == (0, 0) else _DARK if j == 0 else _PALE,
                "",
                f"B: k {part(s, whole.k, plan.k)} of step {s}, columns {part(j, whole.n, plan.n)}",
            )
            for s in steps
            for j in columns
        },
        "C": {
            (i, j): _Look(
                _DARK if (i, j) == (0, 0) else _PALE,
                f"{j},{i}",
                f"workgroup x = {j}, y = {i}: rows {part(i, whole.m, plan.m)}, columns {part(j, whole.n, plan.n)} of C",
            )
            for i in rows
            for j in columns
        },
    }
    many = f", {z} times" if z > 1 else ""
    notes = (f"C is {plan.m}x{plan.n}{many}", f"{plan.k_steps} steps of {whole.k} along k")
    return _product(f"grid: {y}x{x} workgroups", notes, down, deep, across, looks)


def _workgroup(plan: Gemm) -> _Panel:
    """One workgroup and one step of k: the subgroups, and which of them need the same of A and B."""
    rows, columns = plan.tiling.subgroups
    tile = plan.tile
    down, across, deep = _Axis.of(rows, CELL_HEIGHT), _Axis.of(columns, _WIDE), _Axis.of(1, _WIDE)
    looks: dict[str, dict[tuple[int, int], _Look]] = {"A": {}, "B": {}, "C": {}}
    for i in range(rows):
        first = i * columns
        who = f"subgroups {first} to {first + columns - 1}" if columns > 1 else f"subgroup {first}"
        looks["A"][i, 0] = _Look(_DARK if i == 0 else _PALE, "", f"{tile.m}x{tile.k} of A, for {who}")
    for j in range(columns):
        who = ", ".join(str(i * columns + j) for i in range(min(rows, 8))) + ("..." if rows > 8 else "")
        looks["B"][0, j] = _Look(_DARK if j == 0 else _PALE, "", f"{tile.k}x{tile.n} of B, for subgroups {who}")
    fills = hexes(shades(hue_of(range(rows * columns)), [0.15] * (rows * columns)))
    for number in range(rows * columns):
        i, j = divmod(number, columns)
        sentence = f"subgroup {number}: rows {i * tile.m}..{(i + 1) * tile.m - 1}, columns {j * tile.n}..{(j + 1) * tile.n - 1}"
        looks["C"][i, j] = _Look(fills[number], str(number), f"{sentence} of the workgroup's tile")
    whole = plan.tiling.workgroup_tile
    needs = f"a step needs {whole.m}x{whole.k} of A, {whole.k}x{whole.n} of B"
    notes = (f"{whole.m}x{whole.n} of C, {plan.workgroup[0]} work-items", needs)
    return _product(f"workgroup: {rows}x{columns} subgroups", notes, down, deep, across, looks)


def _subgroup(plan: Gemm) -> _Panel:
    """One subgroup's tile: a cell for every operand of a matrix instruction, coloured by the message that brings it."""
    unit, (rows, columns), deep = plan.dpas, plan.blocks, plan.tile.k // plan.dpas.k
    looks: dict[str, dict[tuple[int, int], _Look]] = {"A": {}, "B": {}, "C": {}}
    for number, message in enumerate(plan.messages):
        fill = hexes(shades([hue_of(number)], [0.3]))[0]
        for piece in message.pieces:
            place = (piece.block, piece.depth) if message.operand == "A" else (piece.depth, piece.block)
            last = piece.start + piece.count - 1
            sentence = f"message {number}, {message.load.name}: registers {piece.start} to {last} of each lane"
            looks[message.operand][place] = _Look(fill, str(number), sentence)
    for i in range(rows):
        for j in range(columns):
            high, right = (i + 1) * unit.m - 1, (j + 1) * unit.n - 1
            sentence = f"accumulators of rows {i * unit.m}..{high}, columns {j * unit.n}..{right}; {deep} dpas a step"
            looks["C"][i, j] = _Look(_PALE, f"{i},{j}", sentence)
    shape = f"{unit.m}x{unit.n}x{unit.k}"
    loads = f"and {len(plan.messages)} load messages a step, numbered"
    notes = (f"{plan.tile}: {plan.dpas_per_step} dpas of {shape}", loads)
    down, across = _Axis.of(rows, CELL_HEIGHT), _Axis.of(columns, _WIDE)
    return _product(f"subgroup: {rows}x{columns} blocks", notes, down, _Axis.of(deep, 22), across, looks)
