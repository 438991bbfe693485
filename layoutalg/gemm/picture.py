"""The picture of a plan: the grid of workgroups, a workgroup's subgroups, a subgroup's blocks, and the walk along k.

A table says who computes how much, and what a step costs. The first two panels are products: A left, B above, C in the corner,
with rows and columns beside them. One has the whole problem, the other a workgroup with the subgroups that share its tile; the
first block, and what it is made of, is marked. The third is the flow of a step in one subgroup, with the layouts on its arrows,
and `steps` are its frames (`gemm.step_picture`). Long rows of cells are cut: 16 workgroups are drawn as the first ones, a gap,
and the last.

>>> from layoutalg.gemm import plan_gemm
>>> picture = plan_gemm(4096, 4096, 4096, tile=(32, 32), subgroups=(4, 4), k_step=16).picture()
>>> [words.text for words in picture.scene().words if words.bold][1:4]
['who computes C: 32x32 workgroups', 'inside workgroup 0,0: 4x4 subgroups', 'one step of subgroup 0: what moves where']
>>> for fact in (*picture.facts()[:4], picture.facts()[-1]):
...     print(*fact, sep=": ")
who computes C: 32x32 workgroups, each a tile of 128x128; in it 4x4 subgroups with 32x32 each, in registers
along k: 256 steps of 16, in each subgroup
a step costs: each subgroup 2 KiB into registers, 8 dpas, 2 loads, 8 other instructions (predicted)
predicted time: 902 us for all of C
tiling: 32x32x16 per subgroup, 4x4 subgroups, 128 registers, no prefetch

"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layoutalg.core.notation import Distributed, Operand, PictureOptions
from layoutalg.core.plurals import counted
from layoutalg.core.units import bytes_text, seconds_text
from layoutalg.gemm.counting import counted as instructions_of
from layoutalg.gemm.options import check_names
from layoutalg.gemm.roofline import roofline
from layoutalg.gemm.step_picture import flow, spans, step_cost, steps
from layoutalg.viz.marked_blocks import first_key, first_marked
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import (
    INNER,
    Axis,
    Headings,
    Panel,
    product_panel,
)
from layoutalg.viz.picture import picture_of
from layoutalg.viz.scene import CELL_HEIGHT, CHARACTER

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["PlanPicture", "grid_panel", "parts_and_title", "parts_of", "workgroup_panel"]


@dataclass(frozen=True, slots=True, repr=False)
class PlanPicture(PanelPicture):
    """The picture of a plan; its `parts` are the fragments of one step, drawn by `viz.picture.picture_of`."""

    plan: Gemm = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The grid, a workgroup, and the flow of a step."""
        return grid_panel(self.plan), workgroup_panel(self.plan), flow(self.plan)

    def frames(self) -> Sequence[Panel]:
        """The frames of a step."""
        return steps(self.plan)

    def facts(self) -> Sequence[tuple[str, str]]:
        """Who computes how much, what a step moves and costs, and the predicted time."""
        plan = self.plan
        tiling, whole, (x, y, _) = plan.tiling, plan.tiling.workgroup_tile, plan.grid
        rows, columns = tiling.subgroups
        step = instructions_of(plan.problem, tiling, plan.llvm)
        line = roofline(plan.problem, tiling, step.total, plan.board)
        many = (
            f"{tiling.stream_k} workgroups, which share tiles"
            if tiling.stream_k
            else f"{y}x{x} workgroups, each a tile"
        )
        inside = f"{rows}x{columns} subgroups with {plan.tile.m}x{plan.tile.n} each"
        return [
            ("who computes C", f"{many} of {whole.m}x{whole.n}; in it {inside}, in registers"),
            ("along k", f"{counted(plan.k_steps, 'step')} of {whole.k}, in each subgroup"),
            ("a step costs", f"each subgroup {bytes_text(plan.bytes_per_step)} into registers, {step_cost(plan)}"),
            ("predicted time", f"{seconds_text(line.seconds)} for all of C"),
            ("what limits it", line.limited((step.dpas, step.total))),
            ("tiling", str(tiling)),
        ]


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


def grid_panel(plan: Gemm, right: str = "B") -> Panel:
    """The whole problem: workgroups in C, steps of k along A and B, which is called `right`."""
    runs, plan = plan.tiling.stream_k, replace(plan, tiling=replace(plan.tiling, stream_k=0))
    x, y, _ = plan.grid
    whole = plan.tiling.workgroup_tile
    groups, batch, parts = plan.problem.groups, plan.problem.batch, plan.tiling.split_k
    rows, columns = parts_of("rows", whole.m, plan.m), parts_of("columns", whole.n, plan.n)
    depth, of_rows = parts_of("k", whole.k, plan.k), spans(whole.m, plan.m)
    if groups:
        rows = of_rows = _by_starts
    headings = Headings(of_rows, lambda s: f"k {spans(whole.k, plan.k)(s)}", spans(whole.n, plan.n))
    down, deep = Axis.of(y, CELL_HEIGHT, 3, 1), Axis.of(plan.k_steps, 16, 3, 1)
    beside = max(len(headings.rows(n)) for n in down.drawn) * CHARACTER + 20
    short = "tile" if runs else "wg"
    letters = max(len(headings.columns(x - 1)), len(f"{short} {y - 1},{x - 1}"))
    across = Axis.within(x, 10 + CHARACTER * letters, min(INNER - beside - deep.length, 440))
    what = "tile" if runs else "workgroup"
    looks = first_marked(
        (down, deep, across),
        lambda i, s: f"A: {rows(i)} for step {s}, {depth(s)}",
        lambda s, j: f"{right}: {depth(s)} of step {s}, {columns(j)}",
        lambda i, j: (f"{short} {i},{j}", f"{what} {i},{j} (x = {j}, y = {i}): {rows(i)}, {columns(j)} of C"),
    )
    many = f", {batch} times" if batch > 1 else ""
    of_k = f"k in {counted(plan.k_steps, 'step')} of {whole.k}" + f", the first of {parts} parts" * (parts > 1)
    notes = [f"{short} i,j: {what} in row i, column j of the grid; C is {plan.m}x{plan.n}{many}, {of_k}"]
    notes += [f"a workgroup finds its rows by the starts of {counted(groups, 'group')}"] * bool(groups)
    grid = f"{runs} workgroups share the steps of {y}x{x} tiles" if runs else f"{y}x{x} workgroups"
    key = first_key(f"{what} 0,0", "step 0" * (plan.k_steps > 1), f"{what}s", right)
    title, names = f"who computes C: {grid}", ("A", right, "C")
    return product_panel(title, notes, down, deep, across, looks, headings, names, key)


def _by_starts(_: int) -> str:
    return "by starts"


def workgroup_panel(plan: Gemm, right: str = "B") -> Panel:
    """One workgroup and one step of k: the subgroups, and which of them need the same of A and B, which is called `right`."""
    rows, columns = plan.tiling.subgroups
    tile, whole = plan.tile, plan.tiling.workgroup_tile
    headings = Headings(spans(tile.m), lambda s: f"k {spans(tile.k)(s)}", spans(tile.n))
    down, deep = Axis.of(rows, CELL_HEIGHT), Axis.of(1, 38)
    beside = max(len(headings.rows(n)) for n in down.drawn) * CHARACTER + 20
    letters = max(len(headings.columns(columns - 1)), len(f"sg {rows * columns - 1}"))
    across = Axis.within(columns, 10 + CHARACTER * letters, INNER - beside - deep.length)

    def number(i: int, j: int) -> int:
        return j * rows + i if plan.exchanged else i * columns + j

    def users(numbers: Sequence[int]) -> str:
        told = [str(one) for one in numbers]
        return f"subgroup{'s' * (len(told) > 1)} {', '.join(told[:4])}" + f", ... {told[-1]}" * (len(told) > 4)

    looks = first_marked(
        (down, deep, across),
        lambda i, _: f"{tile.m}x{tile.k} of A, for {users([number(i, j) for j in range(columns)])}",
        lambda _, j: f"{tile.k}x{tile.n} of {right}, for {users([number(i, j) for i in range(rows)])}",
        lambda i, j: (
            f"sg {number(i, j)}",
            f"subgroup {number(i, j)}: rows {spans(tile.m)(i)}, columns {spans(tile.n)(j)} of the workgroup's tile",
        ),
    )
    needs = f"a step needs {whole.m}x{whole.k} of A, {whole.k}x{whole.n} of {right}"
    notes = (
        "sg n: subgroup n; rows and columns: of the workgroup's C",
        f"{whole.m}x{whole.n} of C, {plan.workgroup[0]} work-items",
        needs,
    )
    title = f"inside workgroup 0,0: {rows}x{columns} subgroups"
    key = first_key("subgroup 0", "", "subgroups", right)
    return product_panel(title, notes, down, deep, across, looks, headings, ("A", right, "C"), key)
