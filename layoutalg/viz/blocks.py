"""A tile over many subgroups in two grids: which subgroup holds which block, and one block with its lanes.

Where subgroups are the outermost factors of rows and of columns, all blocks look alike inside, so one of them says it all:

>>> from layoutalg.core.notation import Operand
>>> tile = Operand("C", Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
>>> whole, inside = block_grids(tile, 32, 8)
>>> whole.labels()
[['sg 0', 'sg 1', 'sg 2', 'sg 3'], ['sg 4', 'sg 5', 'sg 6', 'sg 7']]
>>> whole.rows.headers(), inside.columns.headers()
(['0-15', '16-31'], ['0', '1', '2', '3', '4', '5', '6', '⋯', '15'])
>>> whole.title
'Subgroups (sg), each a block of 16x16'

A layout whose subgroups come again further on, or whose blocks differ inside, has no such grids:

>>> block_grids(Operand("C", Layout.parse("d0 = 2@reg 4@sg 4@lane"))) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from math import prod

from layoutalg.core.factors import Factor, XorFactor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_FOLDED as MOST
from layoutalg.core.notation import Operand
from layoutalg.viz.folding import ExtentRun, fold
from layoutalg.viz.grid import Addressed, Grid, tensor_grid
from layoutalg.viz.sides import Side

__all__ = ["block_grids"]

_BLOCKS, _INSIDE = 8, 16
"""So many rows and columns of blocks are drawn at least, and at most so many of the inside."""


def block_grids(part: Operand | Addressed, most_rows: int = MOST, most_columns: int = MOST) -> tuple[Grid, Grid] | None:
    """The grid of all blocks and that of the first block, with about so many rows and columns; None where blocks differ."""
    if isinstance(part, Addressed):
        return None
    grid = tensor_grid(part, 1, 1)
    outer = _outer(grid.layout)
    if outer is None or "lane" not in grid.label_names:
        return None
    whole: list[Side] = []
    inside: list[Side] = []
    sizes: list[int] = []
    for side, count, most in ((grid.rows, outer[0], most_rows), (grid.columns, outer[1], most_columns)):
        size = side.size // count
        over, runs = _cut(side.runs, size)
        whole.append(replace(side, folded=fold(over, max(most, _BLOCKS), size)))
        inside.append(replace(side, folded=fold(runs, min(most, _INSIDE))))
        sizes.append(size)
    shape = "x".join(map(str, sizes if grid.rows.shape else sizes[1:]))
    blocks, block = (tensor_grid(part, sides=(rows, columns)) for rows, columns in (whole, inside))
    first = grid.scale["sg"][0]
    return (
        replace(
            blocks, title=f"Subgroups (sg), each a block of {shape}", label_names=("sg",), shows="blocks", copied=()
        ),
        replace(block, title=f"Inside the block of sg {first}: all blocks are alike", shows="block"),
    )


def _outer(layout: Layout) -> tuple[int, int] | None:
    """How many blocks there are down and across."""
    form = layout.canonical()
    factors = [f for dim in (*form.dims, form.replicas) for f in dim]
    if form.flips is not None or any(isinstance(f, XorFactor) for f in factors) or not layout.rank:
        return None
    split = layout.rank - 1
    counts: list[int] = []
    for dims in (form.dims[:split], form.dims[split:]):
        some: list[Factor] = [f for dim in dims for f in dim if f.extent > 1]  # pyright: ignore[reportAssignmentType]
        leading = [*takewhile(lambda f: f.axis == "sg", some)]
        if any(f.axis == "sg" for f in some[len(leading) :]):
            return None
        counts.append(prod(int(f.extent) for f in leading))
    return (counts[0], counts[1]) if prod(counts) > 1 else None


def _cut(runs: Sequence[ExtentRun], size: int) -> tuple[Sequence[ExtentRun], Sequence[ExtentRun]]:
    """The runs over blocks of so many indices, and those within a block."""
    place = len(runs)
    while place and prod(one.extent for one in runs[place:]) < size:
        place -= 1
    return runs[:place], runs[place:]
