"""What there is to tell about every cell of a picture: a sentence, and which cells its lane holds.

>>> from layoutalg.core import Layout
>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> tile = tensor_grid(Operand("B", Layout.parse("d0 = 2@reg, d1 = 2@lane")))
>>> sentences(tile)[3], sorted(holders(tile)[1][0, 1])
('element (1, 1): subgroup 0, lane 1, register 1', [1, 3])
"""

from __future__ import annotations

from operator import add

from layoutalg.viz.grid import Grid, spoken

__all__ = ["holders", "sentences"]

_MOST_NAMED = 8


def sentences(grid: Grid) -> list[str]:
    """A sentence about every drawn cell, row by row: the element, and who has it.

    >>> from layoutalg.core import Layout
    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> sentences(tensor_grid(Operand("B", Layout.parse("d0 = 2@reg, d1 = 2@lane | replicas 2@lane:2"))))[3]
    'element (1, 1): subgroup 0, lane 1, register 1; also in lane 3'
    """
    words = [spoken(axis) for axis in grid.axes]
    elements = [values.reshape(-1).tolist() for values in grid.element.values()]
    owners = [grid.owner[axis].reshape(-1).tolist() for axis in grid.axes]
    lowest = [grid.lowest[axis].reshape(-1).tolist() for axis in grid.axes]
    moving = [d for d in range(len(grid.axes)) if any(copy[d] for copy in grid.copies)]
    tiled = grid.tile_known and grid.tile != grid.sizes
    found: list[str] = []
    for i in range(grid.shape[0] * grid.shape[1]):
        element = [values[i] for values in elements]
        owner = ", ".join(f"{word} {values[i]}" for word, values in zip(words, owners, strict=True))
        sentence = f"element ({', '.join(map(str, element))}): {owner}"
        if tiled:
            at = ", ".join(str(x // n) for x, n in zip(element, grid.tile, strict=True))
            sentence += f"; tile ({at})"
        if grid.copies_of > 1:
            mine = [values[i] for values in owners]
            base = [values[i] for values in lowest]
            others = [[x + y for x, y in zip(base, copy, strict=True)] for copy in ((0,) * len(base), *grid.copies)]
            also = [" ".join(f"{words[d]} {other[d]}" for d in moving) for other in others if other != mine][
                :_MOST_NAMED
            ]
            more = grid.copies_of - 1 - len(also)
            sentence += f"; also in {', '.join(also)}" + (f" and {more} more" if more > 0 else "")
        found.append(sentence)
    return found


def holders(grid: Grid) -> tuple[list[tuple[int, ...]], dict[tuple[int, ...], set[int]]]:
    """The lane that each cell is read as, row by row, and the cells that hold what each lane has.

    A lane is its subgroup and number; of layouts onto other axes, a place.

    >>> from layoutalg.core import Layout
    >>> from layoutalg.core.notation import Operand
    >>> from layoutalg.viz.grid import tensor_grid
    >>> grid = tensor_grid(Operand("C", Layout.parse("d0 = 2@reg, d1 = 2@lane")))
    >>> holders(grid)[0], holders(grid)[1][0, 1]
    ([(0, 0), (0, 1), (0, 0), (0, 1)], {1, 3})
    """
    which = [d for d, axis in enumerate(grid.axes) if axis in ("sg", "lane")] or [*range(len(grid.axes))]
    mine = list(zip(*(grid.owner[grid.axes[d]].reshape(-1).tolist() for d in which), strict=True))
    held: dict[tuple[int, ...], set[int]] = {key: set() for key in mine}
    moves = {tuple(copy[d] for d in which) for copy in grid.copies} if grid.tensor else set[tuple[int, ...]]()
    for i, key in enumerate(mine):
        held[key].add(i)
        for move in moves:
            other = tuple(map(add, key, move))
            if other in held:
                held[other].add(i)
    return mine, held
