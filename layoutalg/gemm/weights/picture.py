"""The picture of a plan with quantised weights: who computes C, the flow of a step from words to sums, and the words' bits.

It is of one family with the picture of any product (`gemm.picture`): the same table, the same panels of the grid and of a
workgroup. The flow has the words, what they become, and the scales; its frames show a word bit by bit (`word_picture`).

>>> from layoutalg.gemm.weights import plan_weights
>>> picture = plan_weights(8, 4096, 4096, target="bmg").picture()
>>> for fact in (*picture.facts()[:3], *picture.facts()[4:]):
...     print(*fact, sep=": ")
who computes C: 1x32 workgroups, each a tile of 8x128; in it 1x4 subgroups with 8x32 each, in registers
along k: 32 steps of 128, in each subgroup
weights: u4, 8 MiB of words; an f32 scale for 128 neighbours along k
predicted time: 20 us for all of C, 100 % of the bandwidth
what limits it: memory: it moves bytes all the time
tiling: 8x32x128 per subgroup, 1x4 subgroups, 256 registers, no prefetch
>>> [frame.title for frame in picture.frames()]  # doctest: +NORMALIZE_WHITESPACE
['1. words: where each weight is', '2. operands: what is made of a word', '3. products: 16 dpas of 8x16x16',
 '4. scales: one for each group and column', '5. after the last step: 2 stores']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layoutalg.core.notation import PictureOptions
from layoutalg.core.plurals import counted
from layoutalg.core.units import bytes_text, percent_text, seconds_text
from layoutalg.gemm.picture import grid_panel, parts_and_title, workgroup_panel
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.step_picture import LAYOUTS, at_the_end, products_frame, stores_frame
from layoutalg.gemm.weights.emission import written
from layoutalg.gemm.weights.word_picture import operands_frame, packed_layout, scales_frame, unpacked, words_frame
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import Panel
from layoutalg.viz.stages import Arrow, Stage, flow_panel

if TYPE_CHECKING:
    from layoutalg.gemm.weights.plan import WeightsGemm

__all__ = ["WeightsPicture", "weights_picture"]

_BIT = "@bit: the first bit of a weight in its word of 32 bits"


@dataclass(frozen=True, slots=True, repr=False)
class WeightsPicture(PanelPicture):
    """The picture of a plan; its `parts` are A, the unpacked weights and C of one subgroup in a step."""

    plan: WeightsGemm = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The grid, a workgroup, and the flow of a step."""
        product = written(self.plan)
        return grid_panel(product, "W"), workgroup_panel(product, "W"), _flow(self.plan, product)

    def frames(self) -> Sequence[Panel]:
        """The words, the operands that they become, the products, the scales, and the end."""
        product = written(self.plan)
        return (
            words_frame(self.plan, 1),
            operands_frame(self.plan, 2),
            products_frame(product, 3, "W"),
            scales_frame(self.plan, 4),
            stores_frame(product, 5),
        )

    def facts(self) -> Sequence[tuple[str, str]]:
        """Who computes how much, what weights are, what a step costs, and the predicted time."""
        plan = self.plan
        problem, tiling, whole = plan.problem, plan.tiling, plan.tiling.workgroup_tile
        (x, y, _), (rows, columns) = plan.grid, tiling.subgroups
        inside = f"{rows}x{columns} subgroups with {tiling.tile.m}x{tiling.tile.n} each"
        points = " and a zero point" * problem.zeros
        held = problem.words.rows * problem.words.columns * 4
        return [
            ("who computes C", f"{y}x{x} workgroups, each a tile of {whole.m}x{whole.n}; in it {inside}, in registers"),
            ("along k", f"{counted(plan.k_steps, 'step')} of {problem.step}, in each subgroup"),
            (
                "weights",
                f"{problem.b}, {bytes_text(held)} of words; an f32 scale{points} for {problem.group} neighbours along k",
            ),
            ("a step costs", f"each subgroup {bytes_text(plan.bytes_per_step)} into registers, {_cost(plan)}"),
            (
                "predicted time",
                f"{seconds_text(plan.predicted)} for all of C, {percent_text(plan.part_of_bandwidth)} of the bandwidth",
            ),
            ("what limits it", plan.limited),
            ("tiling", str(tiling)),
        ]


def weights_picture(plan: WeightsGemm, options: PictureOptions) -> WeightsPicture:
    """The picture of a plan."""
    return WeightsPicture(*parts_and_title(written(plan), None, options, str(plan.problem)), plan=plan)


def _cost(plan: WeightsGemm) -> str:
    """The instructions of a step, by what they are for."""
    dpas, more, asked = plan.dpas_per_step, plan.more_dpas_per_step, plan.prefetches_per_step
    rest = round(plan.instructions) - dpas - more - plan.loads_per_step - asked - plan.unpacking
    told = [_dpas(plan), counted(plan.loads_per_step, "load")]
    told += [f"{asked} prefetch{'es' * (asked > 1)}"] * bool(asked)
    return ", ".join([*told, f"{plan.unpacking} that unpack words, {rest} other instructions (predicted)"])


def _flow(plan: WeightsGemm, product: Gemm) -> Panel:
    """The step as a flow: words, operands, products, scaled sums."""
    problem, tile, unit = plan.problem, plan.tiling.tile, plan.dpas
    a, b, c = product.fragments
    of_a, of_b, of_c = (part.layout for part in product.operands())
    words, count = problem.step * problem.bits // 32, tile.n // unit.n
    of_groups = (2 if problem.zeros else 1) * count
    of_a_loads = plan.loads_per_step - of_groups - -(-words // 16) * count
    matrix = product.matrices[0]
    rows = [
        [Stage("words of W in memory", (f"{words}x{tile.n} of {problem.words.rows}x{problem.words.columns} u32",))],
        [
            Stage(
                "words in registers",
                (f"{plan.words_per_step} u32 in each lane, {32 // problem.bits} {problem.b} each",),
            )
        ],
        [
            Stage("A in memory", (f"{tile.m}x{tile.k} {a.element} of {matrix.rows}x{matrix.columns}",)),
            Stage("weights in registers", (f"{b.count} {b.vector} in each lane",)),
        ],
        [Stage(f"{_dpas(plan)} of {unit.m}x{unit.n}x{unit.k}", _products(plan))],
        [
            Stage("t in registers", ("the sums of this step",)),
            Stage(
                "zero points z and scales s in memory" if problem.zeros else "scales s in memory",
                (f"1x{tile.n} f32 of {problem.scales.rows}x{problem.scales.columns}",),
            ),
        ],
        [
            Stage(
                "C += s z (A times -1) + s t, in registers" if problem.zeros else "C += s t, in registers",
                (f"{c.count} {c.vector} in each lane, kept for {counted(plan.k_steps, 'step')}",),
            )
        ],
        [Stage("C in memory", (f"{tile.m}x{tile.n} {product.element_of('C')}",))],
    ]
    if plan.tiling.split_k > 1:
        rows[-1] = [Stage("the workspace, then C in memory", ("parts of k are added there",))]
    ahead = plan.tiling.prefetch != "none"
    if ahead:
        told = f"{counted(plan.tiling.distance, 'step')} ahead, with A and scales"
        rows.insert(1, [Stage("words in caches", (told,))])
    lead = int(ahead)
    shape = f"{tile.k}x{tile.n}"
    loads = counted(-(-words // 16) * count, "load")
    arrows = [
        *[Arrow((0, 0), (f"prefetch: {plan.prefetches_per_step} in each subgroup, for the workgroup",))] * ahead,
        Arrow((lead, 0), (f"{loads} of {min(words, 16)}x{unit.n} words", f"{shape}: {packed_layout(plan)}"), 1),
        Arrow((lead + 1, 0), (unpacked(plan), f"{shape}: {of_b}"), 2),
        Arrow((lead + 2, 0), (f"{counted(of_a_loads, 'load')}", f"{tile.m}x{tile.k}: {of_a}"), 3),
        Arrow((lead + 2, 1), (f"a block, {unit.k}x{unit.n}: {b.layout}",), 3),
        Arrow((lead + 3, 0), (f"t, {tile.m}x{tile.n}: {of_c}",)),
        Arrow((lead + 4, 0), (f"{_fused(plan)} fused steps, one for each register",)),
        Arrow((lead + 4, 1), (f"{counted(of_groups, 'load')} of 1x{unit.n}",), 4),
        Arrow((lead + 5, 0), at_the_end(product), 5),
    ]
    return flow_panel("one step of subgroup 0: what moves where", rows, arrows, (lead + 5, 0), (*LAYOUTS, _BIT))


def _fused(plan: WeightsGemm) -> int:
    """Fused steps that scale the sums, and those for zero points."""
    tile, unit = plan.tiling.tile, plan.dpas
    return tile.m * tile.n // unit.n * (2 if plan.problem.zeros else 1)


def _products(plan: WeightsGemm) -> tuple[str, ...]:
    """What the products of a step are, and how many dpas each takes."""
    problem, dpas, more = plan.problem, plan.dpas_per_step, plan.more_dpas_per_step
    if problem.floats:
        return (f"{dpas}: t = A times the weights",)
    upper = dpas if problem.halves else 0
    begun, middle = more - upper, "" if problem.zeros else " and the middle"
    told: list[str] = []
    if problem.zeros and not problem.uniform:
        begun //= 2
        told = [f"{begun}: A times -1, for zero points"]
    told = [f"{begun}: t begins at minus A times what was added{middle}", *told, f"{dpas}: t += A times the weights"]
    return (*told, *[f"{upper}: t += A times the upper halves of bytes"] * bool(upper))


def _dpas(plan: WeightsGemm) -> str:
    more = plan.more_dpas_per_step
    return f"{plan.dpas_per_step} + {more} dpas" if more else f"{plan.dpas_per_step} dpas"
