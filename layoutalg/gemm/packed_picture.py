"""The picture of a plan for packed operands: who computes C, and how A and B lie in memory.

>>> from layoutalg.gemm.packed import plan_packed
>>> for fact in packed_picture(plan_packed(4096, 4096, 4096), {}).facts()[5:7]:
...     print(*fact, sep=": ")
A packed: d0 = 104@addr:163840 40@addr:16, d1 = 256@addr:640 16@addr
B packed: d0 = 256@addr:512 8@addr:16 2@addr, d1 = 128@addr:131072 4@addr:128 8@addr:2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layoutalg.core.notation import PictureOptions
from layoutalg.core.plurals import counted
from layoutalg.core.units import bytes_text, seconds_text
from layoutalg.gemm.picture import grid_panel, parts_and_title, workgroup_panel
from layoutalg.gemm.plan import Gemm
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import Panel

if TYPE_CHECKING:
    from layoutalg.gemm.packed import PackedGemm

__all__ = ["PackedPicture", "packed_picture"]


@dataclass(frozen=True, slots=True, repr=False)
class PackedPicture(PanelPicture):
    """The picture of a plan; its `parts` are A, B and C of one subgroup in a step."""

    plan: PackedGemm = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The grid and a workgroup."""
        product = _product(self.plan)
        return grid_panel(product), workgroup_panel(product)

    def facts(self) -> Sequence[tuple[str, str]]:
        """Who computes how much, how A and B lie in memory, what a step costs, and the predicted time."""
        plan = self.plan
        tiling, whole, (x, y, _) = plan.tiling, plan.tiling.workgroup_tile, plan.grid
        inside = f"{tiling.subgroups[0]}x{tiling.subgroups[1]} subgroups with {tiling.tile.m}x{tiling.tile.n} each"
        rest = plan.instructions - plan.dpas_per_step - plan.loads_per_step
        count = (
            f"{plan.dpas_per_step} dpas, {counted(plan.loads_per_step, 'load')}, {rest} other instructions (predicted)"
        )
        line = plan.roofline
        return [
            ("who computes C", f"{y}x{x} workgroups, each a tile of {whole.m}x{whole.n}; in it {inside}, in registers"),
            ("along k", f"{counted(plan.steps, 'step')} of {whole.k}, in each subgroup"),
            ("a step costs", f"each subgroup {bytes_text(plan.bytes_per_step)} into registers, {count}"),
            ("predicted time", f"{seconds_text(line.seconds)} for all of C"),
            ("what limits it", line.limited((plan.dpas_per_step, plan.instructions))),
            *((f"{name} packed", str(layout)) for name, layout in plan.layouts.items()),
            ("tiling", str(tiling)),
        ]


def packed_picture(plan: PackedGemm, options: PictureOptions) -> PackedPicture:
    """The picture of a plan."""
    return PackedPicture(*parts_and_title(_product(plan), None, options, f"{plan.problem}, packed"), plan=plan)


def _product(plan: PackedGemm) -> Gemm:
    return Gemm(plan.problem, plan.tiling, plan.llvm)
