"""Tooltips: a sentence about every cell of a picture, and which cells its lane holds.

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> tile = tensor_grid(Operand("B", Layout.parse("d0 = 2@reg, d1 = 2@lane")))
>>> sentences(tile)[3], sorted(holders(tile)[1][0, 1])
('element (1, 1): subgroup 0, lane 1, register 1', [1, 3])
>>> sentences(tensor_grid(Layout.parse("d0 = 2@addr:36").operands()[0]))[1]
'element (1): addr 36, bank 4'
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, sub

from layoutalg.core.limits import MOST_NAMED as _MOST_NAMED
from layoutalg.core.moves import lowest_moves
from layoutalg.core.plurals import spoken
from layoutalg.viz.colouring import colourings, number_by
from layoutalg.viz.copies import moved, several
from layoutalg.viz.grid import Grid

__all__ = ["elements_of", "holders", "sentences"]


def elements_of(grid: Grid) -> list[list[int]]:
    """The coordinates of every drawn cell's element, row by row.

    >>> from layoutalg.viz.grid import tensor_grid
    >>> elements_of(tensor_grid(Layout.parse("d0 = 2@reg, d1 = 2@lane").operands()[0]))
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    planes = [[*plane.cells] for plane in grid.element.values()]
    return [[numbers[i] for numbers in planes] for i in range(grid.shape[0] * grid.shape[1])]


def sentences(grid: Grid) -> list[str]:
    """A sentence about every drawn cell, row by row: the element, and who has it."""
    if grid.shows == "blocks":
        return _of_blocks(grid)
    words = [spoken(axis) for axis in grid.axes]
    owners = [[*grid.owner[axis].cells] for axis in grid.axes]
    moves = [lowest_moves(grid.layout)[axis] for axis in grid.axes] if grid.copies_of > 1 else []
    moving = [d for d in range(len(grid.axes)) if grid.xored or any(copy[d] for copy in grid.copies)]
    tiled = grid.tile_known and grid.tile != grid.sizes
    of_memory = grid.tensor and "bank" in colourings(grid)
    found: list[str] = []
    for i, element in enumerate(elements_of(grid)):
        owner = ", ".join(f"{word} {values[i]}" for word, values in zip(words, owners, strict=True))
        sentence = f"element ({', '.join(map(str, element))}): {owner}"
        if of_memory:
            sentence += f", bank {number_by(grid, 'bank', owners[0][i])}"
        if tiled:
            at = ", ".join(str(x // n) for x, n in zip(element, grid.tile, strict=True))
            sentence += f"; {grid.tile_name.split()[-1]} ({at})"
        if grid.copies_of > 1:
            mine = [values[i] for values in owners]
            counted = [x - origin for x, origin in zip(element, grid.layout.origins, strict=True)]
            base = [one.at(counted) for one in moves]
            copies = grid.copies[: _MOST_NAMED + 1]
            others = [tuple(map(add, base, copy)) for copy in ((0,) * len(base), *copies)]
            if grid.xored:
                others = _owners(grid, element)
            also = [" ".join(f"{words[d]} {other[d]}" for d in moving) for other in others if other != tuple(mine)]
            also = also[:_MOST_NAMED]
            more = grid.copies_of - 1 - len(also)
            sentence += f"; also in {', '.join(also)}" + (f" and {more} more" if more > 0 else "")
        found.append(sentence)
    return found


def _of_blocks(grid: Grid) -> list[str]:
    """A sentence about every block: its first and last element, and who has it."""
    lasts = [side.at([band.start + band.size - 1 for band in side.drawn]) for side in (grid.rows, grid.columns)]
    down, across = ([*zip(*last, strict=True)] or [()] for last in lasts)
    ends = [(*row, *column) for row in down for column in across]
    groups = [several(moved(grid.spread.get("sg", range(1)), number)) for number in grid.owner["sg"].cells]
    return [
        f"elements ({', '.join(map(str, first))}) to ({', '.join(map(str, end))}): subgroup {group}"
        for first, end, group in zip(elements_of(grid), ends, groups, strict=True)
    ]


def holders(grid: Grid) -> tuple[list[tuple[int, ...]], dict[tuple[int, ...], set[int]]]:
    """The lane that each cell is read as, row by row, and the cells that hold what each lane has.

    A lane is its subgroup and number; of layouts onto other axes, a place.
    """
    places = ("sg",) if grid.shows == "blocks" else ("sg", "lane")
    which = [d for d, axis in enumerate(grid.axes) if axis in places] or [*range(len(grid.axes))]
    mine = list(zip(*(grid.owner[grid.axes[d]].cells for d in which), strict=True))
    held: dict[tuple[int, ...], set[int]] = {key: set() for key in mine}
    if grid.xored and grid.tensor:
        for i, element in enumerate(zip(*(plane.cells for plane in grid.element.values()), strict=True)):
            for owner in _owners(grid, element):
                held.get(tuple(owner[d] for d in which), set[int]()).add(i)
    moves = {tuple(copy[d] for d in which) for copy in grid.copies} if grid.tensor else set[tuple[int, ...]]()
    for i, key in enumerate(mine):
        held[key].add(i)
    alone = {key: tuple(cells) for key, cells in held.items()}
    for key, cells in alone.items():
        if len(moves) < len(alone):
            others = [tuple(map(add, key, move)) for move in moves]
        else:
            others = [other for other in alone if tuple(map(sub, other, key)) in moves]
        for other in others:
            if other in held:
                held[other].update(cells)
    return mine, held


def _owners(grid: Grid, element: Sequence[int]) -> list[tuple[int, ...]]:
    """Every place of an element, one coordinate per axis of the grid."""
    at = [grid.layout.codomain.index(axis) for axis in grid.axes]
    return [tuple(owner[d] for d in at) for owner in grid.layout.owners(element)]
