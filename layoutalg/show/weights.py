"""What `layoutalg weights` says of a plan: the rows of its report and of its JSON object.

>>> from layoutalg.gemm.weights import plan_weights
>>> report = weights_report(plan_weights(1, 4096, 4096, target="bmg"))
>>> report.print(label=13, margin="")  # doctest: +ELLIPSIS
problem      C[1, 4096] f32 = A[1, 4096] f16 * W[4096, 4096] u4 in groups of 128 on bmg
tiles        8x32x128 per subgroup, 1x4 subgroups, 256 registers, no prefetch
grid         32x1x1 workgroups of 64x1x1 work-items, 32 steps
a step       16 + 8 dpas, 8 loads, 237 instructions
alone        instructions 2.66 us, waiting 11.6 us, matrix 4.31 us, memory 19.6 us
predicted    19.6 us, 100 % of the bandwidth
limit        memory: it moves bytes all the time
...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutalg.show.plan_report import PlanReport, PlanRow, launch_rows, row

if TYPE_CHECKING:
    from layoutalg.gemm.weights.plan import WeightsGemm

__all__ = ["weights_report"]


def weights_report(plan: WeightsGemm, results: Sequence[PlanRow] = ()) -> PlanReport:
    """The plan, and below it what was done with it, in one table."""
    problem, tiling, asked = plan.problem, plan.tiling, plan.prefetches_per_step
    rows = [
        row("problem", "{problem}", problem=str(problem), target=problem.target),
        row(
            "tiles",
            "{_tiling}",
            tile=[tiling.tile.m, tiling.tile.n, tiling.tile.k],
            subgroups=list(tiling.subgroups),
            registers=tiling.registers,
            prefetch=tiling.prefetch,
            distance=tiling.distance,
            split_k=tiling.split_k,
            reduction=tiling.reduction,
            _tiling=str(tiling),
        ),
        row(
            "grid",
            "{grid:x} workgroups of {workgroup:x} work-items, {k_steps:#step}",
            grid=list(plan.grid),
            workgroup=list(plan.workgroup),
            k_steps=plan.k_steps,
        ),
        row(
            "a step",
            "{dpas} + {more_dpas} dpas, {loads} loads, {_asked}{instructions:.0f} instructions",
            at="step",
            prefetches=asked,
            _asked=f"{asked} prefetch{'es' * (asked > 1)}, " if asked else "",
            dpas=plan.dpas_per_step,
            more_dpas=plan.more_dpas_per_step,
            loads=plan.loads_per_step,
            instructions=plan.instructions,
        ),
        row("alone", "{limit_seconds:seconds}", limit_seconds=dict(plan.seconds)),
        row(
            "predicted",
            "{seconds:seconds}, {part_of_bandwidth:percent} of the bandwidth",
            seconds=plan.predicted,
            part_of_bandwidth=plan.part_of_bandwidth,
            limit=plan.limit,
        ),
        row("limit", "{_limited}", _limited=plan.limited),
        row("", "(computed from published and assumed numbers; nothing ran on the chip)"),
        row(kernel_for=f"LLVM {plan.llvm}"),
        *launch_rows(plan.launch),
    ]
    return PlanReport("", [[*rows, *results]])
