"""The picture of a plan for AMX: the blocks of C in caches and registers, and the walk of a step.

`AmxPicture` has five panels: the loops (`loop_picture`), C in cache blocks, the first of these in register blocks (numbered as
they are computed), the first register block in tiles with their registers, and the walk of a step of k. A row of the walk is a
tile load or a product: the legend has the colours of what it writes, what it reads, and what a register keeps.

>>> picture = la.plan_amx(512, 512, 512, blocking=(2, 2), blocks=(256, 256, 512)).picture()
>>> [panel.title for panel in picture.panels()]  # doctest: +NORMALIZE_WHITESPACE
['the loops, one inside the other', 'who computes C: 2x2 cache blocks', 'inside a cache block: 8x8 register blocks',
 'inside a register block: 2x2 tiles', 'one step of a register block: 4 loads, 4 products']
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from layoutalg.amx import REGISTERS
from layoutalg.core.plurals import counted
from layoutalg.core.units import seconds_text
from layoutalg.gemm.amx.costs import amx_roofline
from layoutalg.gemm.amx.loop_picture import loop_panel
from layoutalg.gemm.amx.tiling import TILE
from layoutalg.gemm.amx.walking import Walk, block_tiles, walk
from layoutalg.gemm.picture import parts_of
from layoutalg.viz.marked_blocks import first_key, first_marked
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import (
    INNER,
    PALE,
    Axis,
    Headings,
    Look,
    Panel,
    cell_of,
    headed,
    product_panel,
)
from layoutalg.viz.shapes import Cell, Words

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm
    from layoutalg.gemm.amx.strips import Strip

__all__ = ["AmxPicture"]

_WRITTEN, _READ, _KEPT = "#0072b2", "#e09030", "#9cac9c"
_STEP = (("written", _WRITTEN), ("read", _READ), ("kept", _KEPT), ("free", PALE))
_STARTS = "from row", "k", "from column"
_WIDE, _HIGH = 70, 26
"""The cells of blocks."""
_STEP_WIDE, _TALL = 52, 22
"""Those of the walk."""


@dataclass(frozen=True, slots=True, repr=False)
class AmxPicture(PanelPicture):
    """The picture of a plan; its `parts` are the tiles of a register block in a step."""

    plan: AmxGemm = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The loops, C, a cache block, a register block, a step."""
        return loop_panel(self.plan), _caches(self.plan), _registers(self.plan), _tiles(self.plan), _step(self.plan)

    def facts(self) -> Sequence[tuple[str, str]]:
        """How C is cut, what a step costs, and the predicted time on one core."""
        plan = self.plan
        tiling, (rows, columns), size = plan.tiling, plan.cache_blocks, TILE * TILE * 4
        line = amx_roofline(plan.problem, tiling)
        high, wide = (strips[0].size for strips in plan.strips)
        block = f"{min(tiling.m_block, plan.problem.m)}x{min(tiling.n_block, plan.problem.n)}"
        loads = f"{counted(plan.loads_per_step, 'tile load')} of at most {size} bytes"
        return [
            (
                "C in caches",
                f"{counted(rows * columns, 'block')} of {block}" + ", shared out to threads" * (rows * columns > 1),
            ),
            ("C in registers", f"blocks of {high}x{wide}, which stay while k goes by in steps of {plan.product.k}"),
            ("a step costs", f"{loads}, {counted(plan.products_per_step, 'product')} ({plan.product.instruction})"),
            ("predicted time", f"{seconds_text(line.seconds)} on one core"),
            ("what limits it", line.limited()),
            ("tiling", str(tiling)),
        ]


def _caches(plan: AmxGemm) -> Panel:
    """C in cache blocks; A and B in the parts that one of them reads at a time."""
    problem, tiling = plan.problem, plan.tiling
    rows, columns = plan.cache_blocks
    deep = -(-problem.k_padded // tiling.k_block)
    down, along, across = Axis.of(rows, _HIGH), Axis.of(deep, 24, 2, 1), Axis.within(columns, _WIDE, INNER - 200)
    rows_of, columns_of = parts_of("rows", tiling.m_block, problem.m), parts_of("columns", tiling.n_block, problem.n)
    depth = parts_of("k", tiling.k_block, problem.k)
    looks = first_marked(
        (down, along, across),
        lambda i, s: f"A: {rows_of(i)}, {depth(s)}",
        lambda s, j: f"B: {depth(s)}, {columns_of(j)}",
        lambda i, j: (f"block {i},{j}", f"cache block ({i}, {j}): {rows_of(i)}, {columns_of(j)} of C"),
    )
    high, wide = min(tiling.m_block, problem.m), min(tiling.n_block, problem.n)
    size = _size(high, wide, rows * columns, bool(problem.m % high or problem.n % wide))
    notes = (
        f"cache block i,j: what a thread computes at a time, in row i, column j; {size}",
        f"all {problem.k_padded} of k at once" if deep == 1 else f"{tiling.k_block} of k at a time, {deep} times",
    )
    title = f"who computes C: {_grid_of(rows, columns, 'cache block')}"
    starts = Headings(_from(tiling.m_block), depth, _from(tiling.n_block), _STARTS)
    key = first_key("cache block 0,0", f"the first {tiling.k_block} of k" * (deep > 1), "blocks")
    return product_panel(title, notes, down, along, across, looks, headings=starts, key=key)


def _from(size: int) -> Callable[[int], str]:
    """Where a block of this size begins, by its number."""
    return lambda number: str(number * size)


def _size(height: int, width: int, count: int, ragged: bool) -> str:
    """How large blocks are: all of them, or those that aren't at the edges."""
    return f"{height}x{width} of C" + " each" * (count > 1) + ", less at the edges" * ragged


def _grid_of(rows: int, columns: int, what: str) -> str:
    return f"one {what}" if rows * columns == 1 else f"{rows}x{columns} {what}s"


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The register blocks of a cache block on one side: their strips, and the number of blocks up to the end of each."""

    strips: tuple[Strip, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, strips: Sequence[Strip], limit: int) -> _Blocks:
        """Those that begin below a limit."""
        counts = [min(strip.count, -(-max(limit - strip.first, 0) // strip.size)) for strip in strips]
        return cls(tuple(strips), tuple(accumulate(counts)))

    @property
    def count(self) -> int:
        return self.ends[-1]

    def strip(self, number: int) -> tuple[int, int, Strip]:
        """The first block of the strip that has this one, the end of that strip, and the strip."""
        place = bisect_right(self.ends, number)
        return self.ends[place - 1] if place else 0, self.ends[place], self.strips[place]

    def start(self, number: int) -> str:
        """The first row (or column) of a block."""
        first, _, strip = self.strip(number)
        return str(strip.first + (number - first) * strip.size)

    def span(self, number: int) -> str:
        """The rows (or columns) of a block."""
        start = self.start(number)
        return f"{start}..{int(start) + self.strip(number)[2].size - 1}"


def _registers(plan: AmxGemm) -> Panel:
    """The first cache block in register blocks, numbered in the order in which they are computed."""
    tiling = plan.tiling
    rows, columns = _Blocks.of(plan.strips[0], tiling.m_block), _Blocks.of(plan.strips[1], tiling.n_block)
    longest = max(len(str(rows.count * columns.count - 1)), 2)
    down, across = Axis.of(rows.count, _HIGH), Axis.of(columns.count, 26 + 7 * longest)
    deep = Axis.of(1, _WIDE)
    down_first = rows.count > 1 if tiling.order == "columns" else columns.count == 1
    inner = "B" if down_first else "A"
    kept = f"stays for the {'column' if down_first else 'row'} of blocks"

    def of_c(i: int, j: int) -> tuple[str, str]:
        number = _number(plan, rows, columns, i, j)
        return str(number), f"register block {number}: rows {rows.span(i)}, columns {columns.span(j)} of C"

    looks = first_marked(
        (down, deep, across),
        lambda i, _: f"A: rows {rows.span(i)}" + f"; {kept}" * (inner == "A"),
        lambda _, j: f"B: columns {columns.span(j)}" + f"; {kept}" * (inner == "B"),
        of_c,
    )
    size = min(tiling.k_block, plan.problem.k_padded)
    sizes = [
        {rows.strip(i)[2].size for i in (0, rows.count - 1)},
        {columns.strip(j)[2].size for j in (0, columns.count - 1)},
    ]
    first = rows.strips[0].size, columns.strips[0].size
    count = rows.count * columns.count
    sized = _size(*first, count, any(len(found) > 1 for found in sizes))
    notes = [f"register block: stays in tile registers while k goes by; {sized}, over {size} of k"]
    if count > 1:
        notes.insert(0, f"cells: the order of the blocks; most keep the {inner} of the one before")
    title = f"inside a cache block: {_grid_of(rows.count, columns.count, 'register block')}"
    starts = Headings(
        lambda i: rows.span(i).split(".")[0],
        lambda _: f"k 0..{size - 1}",
        lambda j: columns.span(j).split(".")[0],
        _STARTS,
    )
    return product_panel(
        title, notes, down, deep, across, looks, headings=starts, key=first_key("block 0", "", "blocks")
    )


def _number(plan: AmxGemm, rows: _Blocks, columns: _Blocks, i: int, j: int) -> int:
    """When the register block (i, j) of a cache block is computed.

    Blocks of one shape are computed together; pairs of strips follow one another, the columns' strip inside.
    """
    (top, bottom, _), (left, right, _) = rows.strip(i), columns.strip(j)
    height, width = bottom - top, right - left
    before = top * columns.count + height * left
    inside = (j - left) * height + i - top if plan.tiling.order == "columns" else (i - top) * width + j - left
    return before + inside


def _tiles(plan: AmxGemm) -> Panel:
    """The first register block in tiles, each with its register."""
    heights, widths = (strips[0].heights for strips in plan.strips)
    registers = walk(block_tiles(plan))
    tile = plan.tile_product(TILE, TILE, min(plan.problem.depth, plan.problem.k_padded))

    def look(name: str, fill: str, what: str) -> Look:
        return Look(fill, f"{name}: tmm{registers.registers[name]}", f"{name}, {what}: tmm{registers.registers[name]}")

    looks = {
        "A": {
            (i, 0): look(f"A{i}", PALE, f"{counted(height, 'row')} of {tile.k * plan.problem.element_bytes} bytes")
            for i, height in enumerate(heights)
        },
        "B": {
            (0, j): look(f"B{j}", PALE, f"{counted(tile.k // plan.problem.vnni, 'row')} of {4 * width} bytes, packed")
            for j, width in enumerate(widths)
        },
        "C": {
            (i, j): look(f"C{i}{j}", PALE, f"{counted(height, 'row')} of {width} {plan.accumulator}")
            for i, height in enumerate(heights)
            for j, width in enumerate(widths)
        },
    }
    used = len(set(registers.registers.values()))
    notes = (
        "C01: tmm1: the tile of C in row 0, column 1 is in tile register 1",
        f"{_size(heights[0], widths[0], len(heights) * len(widths), len({*heights}) > 1 or len({*widths}) > 1)}, {tile.k} of k",
        f"{used} of {REGISTERS} tile registers: {registers.held} stays for a step, {registers.passing} passes through",
    )
    down, across, deep = Axis.of(len(heights), _HIGH, 7, 0), Axis.of(len(widths), _WIDE, 7, 0), Axis.of(1, _WIDE)
    title = f"inside a register block: {_grid_of(len(heights), len(widths), 'tile')}"
    starts = Headings(_sum_to(heights), lambda _: f"k 0..{tile.k - 1}", _sum_to(widths), _STARTS)
    return product_panel(title, notes, down, deep, across, looks, headings=starts)


def _sum_to(sizes: Sequence[int]) -> Callable[[int], str]:
    """Where a tile begins, by its number."""
    return lambda number: str(sum(sizes[:number]))


def _step(plan: AmxGemm) -> Panel:
    """The walk of a step: a row for every load and product, a column for every register."""
    steps: Walk = walk(block_tiles(plan))
    loads = sum(step.is_load for step in steps.steps)
    title = f"one step of a register block: {counted(loads, 'load')}, {counted(len(steps.steps) - loads, 'product')}"
    texts = [str(step) if step.factors else str(step).replace(" into ", " -> ") for step in steps.steps]
    left = 7.0 * max(map(len, texts)) + 10
    used = len(set(steps.registers.values()))
    words = [Words(left + (tmm + 0.5) * _STEP_WIDE, 10, f"tmm{tmm}", 11, "middle") for tmm in range(used)]
    cells: list[Cell] = []
    content = {number: name for name, number in steps.registers.items() if name.startswith("C")}
    for row, (step, text) in enumerate(zip(steps.steps, texts, strict=True)):
        y = 16 + row * _TALL
        words.append(Words(0, y + 14, text, 11))
        read = {steps.registers[name] for name in step.factors or ()}
        content[step.register] = step.tile
        for tmm in range(used):
            name = content.get(tmm, "")
            fill = _WRITTEN if tmm == step.register else _READ if tmm in read else _KEPT if name else PALE
            does = (
                "is written" if tmm == step.register else "is read" if tmm in read else "stays" if name else "is free"
            )
            cells.append(
                cell_of(left + tmm * _STEP_WIDE, y, _STEP_WIDE, _TALL, Look(fill, name, f"{text}: tmm{tmm} {does}"))
            )
    bottom = 16 + len(texts) * _TALL
    drawn = Panel(tuple(cells), tuple(words), (), left + used * _STEP_WIDE, bottom)
    return headed(
        title,
        ["a row: an instruction; a cell: what a tile register holds; C01 is the tile of C in row 0, column 1"],
        _STEP,
        drawn,
    )
