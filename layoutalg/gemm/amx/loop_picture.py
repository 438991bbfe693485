"""The loops of a plan for AMX, one inside the other: what each goes through, in which order, and what it does.

>>> plan = la.plan_amx(512, 512, 1024, blocking=(2, 2), blocks=(256, 256, 512), order="columns", pack_a=False)
>>> for inside, what, told in loops(plan):
...     print("  " * inside + what, told, sep=": ")
pack B: 1024x512 bf16 into panels of 16 columns, once
for each of 4 cache blocks, down a column first: 256x256 of C; threads share them out
  for each of 2 parts of k, 512 each: between them the sums are in C
    for each of 64 register blocks, down a column first: 32x32 of C in tmm0 to tmm3
      for each of 16 steps, 32 of k each: 4 tile loads, 4 products
      then: 4 tile stores
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from layoutalg.core.plurals import counted
from layoutalg.gemm.amx.tiling import TILE
from layoutalg.viz.panels import INNER, PALE, Look, Panel, cell_of, headed
from layoutalg.viz.shapes import Cell, Line, Words

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["loop_panel", "loops"]

_IN, _HIGH, _APART = 22.0, 36.0, 3.0


def loops(plan: AmxGemm) -> Iterator[tuple[int, str, str]]:
    """Each loop: how many it is inside of, what it goes through, and what it does."""
    problem, tiling = plan.problem, plan.tiling
    first = f"{'down a column' if tiling.order == 'columns' else 'along a row'} first"
    size = f"{problem.k}x{problem.n} {problem.b} into panels of {TILE} columns, once"
    depth = 0
    if problem.batch > 1:
        yield depth, f"for each of {problem.batch} matrices", "A, B and C"
        depth += 1
    if tiling.pack_a:
        yield depth, "pack A", f"{problem.m}x{problem.k} {problem.a} into whole tiles, once"
    yield depth, "pack B", size
    blocks = plan.cache_blocks[0] * plan.cache_blocks[1]
    block = f"{min(tiling.m_block, problem.m)}x{min(tiling.n_block, problem.n)} of C"
    if blocks > 1:
        yield depth, f"for each of {blocks} cache blocks, {first}", f"{block}; threads share them out"
        depth += 1
    parts = -(-problem.k_padded // tiling.k_block)
    where = "C" if problem.direct else "the scratch"
    if parts > 1:
        told = f"between them the sums are in {where}"
        yield depth, f"for each of {parts} parts of k, {tiling.k_block} each", told
        depth += 1
    high, wide = (strips[0] for strips in plan.strips)
    rows, columns = (
        sum(min(strip.count, -(-max(most - strip.first, 0) // strip.size)) for strip in strips)
        for strips, most in zip(plan.strips, (tiling.m_block, tiling.n_block), strict=True)
    )
    tiles = len(high.heights) * len(wide.heights)
    held = "tmm0" if tiles == 1 else f"tmm0 to tmm{tiles - 1}"
    yield (
        depth,
        f"for each of {counted(rows * columns, 'register block')}, {first}",
        f"{high.size}x{wide.size} of C in {held}",
    )
    steps = -(-min(tiling.k_block, problem.k_padded) // plan.product.k)
    does = f"{counted(plan.loads_per_step, 'tile load')}, {counted(plan.products_per_step, 'product')}"
    yield depth + 1, f"for each of {counted(steps, 'step')}, {plan.product.k} of k each", does
    yield depth + 1, "then", counted(tiles, "tile store")
    if not problem.direct:
        yield depth - (parts > 1), "then", "from the scratch to C, by the epilogue"


def loop_panel(plan: AmxGemm) -> Panel:
    """The loops as boxes, each further right than the one that it is inside of."""
    cells: list[Cell] = []
    words: list[Words] = []
    lines: list[Line] = []
    y = 0.0
    for inside, what, told in loops(plan):
        x = inside * _IN
        cell = cell_of(x, y, INNER - x, _HIGH, Look(PALE, "", f"{what}: {told}"))
        cells.append(cell)
        words += [
            Words(x + 10, y + 15 + 14 * line, text, 11, "start", line == 0, cell.ink, over=True)
            for line, text in enumerate((what, told))
        ]
        lines += [Line(step * _IN + 8, y - _APART, step * _IN + 8, y + _HIGH, 1.2) for step in range(inside)]
        y += _HIGH + _APART
    drawn = Panel(tuple(cells), tuple(words), tuple(lines), INNER, y)
    return headed("the loops, one inside the other", ["a box further right is inside of the one above it"], (), drawn)
