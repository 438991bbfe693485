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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from layoutalg.core.notation import Distributed, Operand, PictureOptions
from layoutalg.core.plurals import counted
from layoutalg.gemm.options import check_names
from layoutalg.gemm.turning import turns
from layoutalg.viz.colours import hue_of, shade
from layoutalg.viz.panels import DARK, FIRST_MARKED, PALE, Axis, Look, Panel, PanelPicture, first_marked, product_panel
from layoutalg.viz.picture import picture_of
from layoutalg.viz.scene import CELL_HEIGHT

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["PlanPicture", "parts_and_title", "parts_of"]

_WIDE = 38


@dataclass(frozen=True, slots=True, repr=False)
class PlanPicture(PanelPicture):
    """The picture of a plan; its `parts` are the fragments of one step, drawn by `viz.picture.picture_of`."""

    plan: Gemm = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The grid, a workgroup, and a subgroup."""
        return _grid(self.plan), _workgroup(self.plan), _subgroup(self.plan)

    def subtitle(self) -> str:
        """The tiling, and what labels are."""
        return (
            f"{self.plan.tiling}; labels: row,column of a workgroup or a block, the number of a subgroup or a message"
        )

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours of the grid; a subgroup and a message have hues of their own."""
        return FIRST_MARKED


def parts_and_title(
    plan: Distributed, shape: Sequence[int] | None, options: PictureOptions, named: str
) -> tuple[tuple[Operand, ...], str]:
    """The parts and the title of a plan's picture, `named` unless given; its other options are those of pictures in general."""
    check_names("picture", options, PictureOptions)
    title = options.get("title")
    title = named if title is None else title
    found = picture_of(plan, shape, machine=options.get("machine"), title=title)
    return tuple([part for part in found.parts if isinstance(part, Operand)]), found.title


def parts_of(what: str, size: int, most: int) -> Callable[[int], str]:
    """The words for each part of a row of `most`, cut into parts of one size: "rows 64..127" for part 1."""
    return lambda part: f"{what} {part * size}..{min((part + 1) * size, most) - 1}"


def _grid(plan: Gemm) -> Panel:
    """The whole problem: workgroups in C, steps of k along A and B."""
    runs, plan = plan.tiling.stream_k, replace(plan, tiling=replace(plan.tiling, stream_k=0))
    x, y, z = plan.grid
    whole = plan.tiling.workgroup_tile
    longest = len(f"{y - 1},{x - 1}")
    down, deep, across = Axis.of(y, CELL_HEIGHT), Axis.of(plan.k_steps, 16), Axis.of(x, 12 + 6.7 * longest)
    rows, columns = parts_of("rows", whole.m, plan.m), parts_of("columns", whole.n, plan.n)
    depth = parts_of("k", whole.k, plan.k)
    what = "tile" if runs else "workgroup"
    looks = first_marked(
        (down, deep, across),
        lambda i, s: f"A: {rows(i)} for step {s}, {depth(s)}",
        lambda s, j: f"B: {depth(s)} of step {s}, {columns(j)}",
        lambda i, j: (f"{i},{j}", f"{what} {i},{j} (x = {j}, y = {i}): {rows(i)}, {columns(j)} of C"),
    )
    many = f", {z} times" if z > 1 else ""
    notes = (f"C is {plan.m}x{plan.n}{many}", f"{counted(plan.k_steps, 'step')} of {whole.k} along k")
    title = f"{y}x{x} tiles, whose steps {runs} workgroups share" if runs else f"grid: {y}x{x} workgroups"
    return product_panel(title, notes, down, deep, across, looks)


def _workgroup(plan: Gemm) -> Panel:
    """One workgroup and one step of k: the subgroups, and which of them need the same of A and B."""
    rows, columns = plan.tiling.subgroups
    tile = plan.tile
    down, across, deep = Axis.of(rows, CELL_HEIGHT), Axis.of(columns, _WIDE), Axis.of(1, _WIDE)
    looks: dict[str, dict[tuple[int, int], Look]] = {"A": {}, "B": {}, "C": {}}
    for i in range(rows):
        first = i * columns
        who = f"subgroups {first} to {first + columns - 1}" if columns > 1 else f"subgroup {first}"
        looks["A"][i, 0] = Look(DARK if i == 0 else PALE, "", f"{tile.m}x{tile.k} of A, for {who}")
    for j in range(columns):
        who = ", ".join(str(i * columns + j) for i in range(min(rows, 8))) + ("..." if rows > 8 else "")
        looks["B"][0, j] = Look(DARK if j == 0 else PALE, "", f"{tile.k}x{tile.n} of B, for subgroups {who}")
    fills = [shade(hue_of(number), 0.15) for number in range(rows * columns)]
    for number in range(rows * columns):
        i, j = divmod(number, columns)
        sentence = f"subgroup {number}: rows {i * tile.m}..{(i + 1) * tile.m - 1}, columns {j * tile.n}..{(j + 1) * tile.n - 1}"
        looks["C"][i, j] = Look(fills[number], str(number), f"{sentence} of the workgroup's tile")
    whole = plan.tiling.workgroup_tile
    needs = f"a step needs {whole.m}x{whole.k} of A, {whole.k}x{whole.n} of B"
    notes = (f"{whole.m}x{whole.n} of C, {plan.workgroup[0]} work-items", needs, "a hue for each subgroup")
    return product_panel(f"workgroup: {rows}x{columns} subgroups", notes, down, deep, across, looks)


def _subgroup(plan: Gemm) -> Panel:
    """One subgroup's tile: a cell for every operand of a matrix instruction, coloured by the message that brings it."""
    unit, (rows, columns), deep = plan.dpas, plan.blocks, plan.tile.k // plan.dpas.k
    block_rows, block_columns = plan.fragments[2].block
    looks: dict[str, dict[tuple[int, int], Look]] = {"A": {}, "B": {}, "C": {}}
    for number, message in enumerate(plan.messages):
        fill = shade(hue_of(number), 0.3)
        for piece in message.pieces:
            place = (piece.block, piece.depth) if message.operand == "A" else (piece.depth, piece.block)
            last = piece.start + piece.count - 1
            sentence = f"message {number}, {message.load.name}: registers {piece.start} to {last} of each lane"
            looks[message.operand][place] = Look(fill, str(number), sentence)
    without = "transposed by the workgroup" if turns(plan.tiling) else "loaded by lanes, element by element"
    for place in product(range(rows), range(deep)):
        looks["A"].setdefault(place, Look(PALE, "", without))
    for place in product(range(deep), range(columns)):
        looks["B"].setdefault(place, Look(PALE, "", without))
    for i in range(rows):
        for j in range(columns):
            high, right = (i + 1) * block_rows - 1, (j + 1) * block_columns - 1
            sentence = (
                f"accumulators of rows {i * block_rows}..{high}, columns {j * block_columns}..{right}; {deep} dpas each"
            )
            looks["C"][i, j] = Look(PALE, f"{i},{j}", sentence)
    shape = f"{unit.m}x{unit.n}x{unit.k}"
    loads = f"and {len(plan.messages)} load messages a step, a hue and a number for each"
    notes = (f"{plan.tile}: {plan.dpas_per_step} dpas of {shape}", loads)
    down, across = Axis.of(rows, CELL_HEIGHT), Axis.of(columns, _WIDE)
    return product_panel(f"subgroup: {rows}x{columns} blocks", notes, down, Axis.of(deep, 22), across, looks)
