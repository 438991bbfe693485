"""What `layoutalg decode` says of a plan: the rows of its report and of its JSON object.

>>> report = decode_report(la.plan_decode(4096, 64, heads=8, kv_heads=2, parts=4, target="bmg"))
>>> report.print(label=10, margin="")  # doctest: +ELLIPSIS
problem ...
rows      4 share keys: 8 for a subgroup, 1 subgroup in a workgroup
parts     4, 32 steps each at most; a second kernel combines them
...
>>> report.as_json()["parts"], report.as_json()["step"]["dpas"]
({'parts': 4, 'steps': 32}, 18)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutalg.show.attention import layout_rows, registers_row, step_row
from layoutalg.show.plan_report import PlanReport, PlanRow, launch_rows, row

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode import Decode

__all__ = ["decode_report"]


def decode_report(plan: Decode, results: Sequence[PlanRow] = ()) -> PlanReport:
    """The plan, and below it what was done with it, in one table."""
    problem, times = plan.problem, plan.times
    rows = [
        row("problem", "{problem}", problem=str(problem), target=problem.target),
        row(
            "rows",
            "{rows} share keys: {rows_of_subgroup} for a subgroup, {subgroups:#subgroup} in a workgroup",
            rows=problem.rows,
            rows_of_subgroup=plan.rows,
            subgroups=plan.subgroups,
        ),
        row(
            "parts",
            "{parts}, {steps:#step} each at most" + ("; a second kernel combines them" if plan.parts > 1 else ""),
            at="parts",
            parts=plan.parts,
            steps=max(plan.steps_of(problem.keys)),
        ),
        row("grid", "{grid:x} workgroups of {workgroup:x} work-items", grid=plan.grid, workgroup=plan.workgroup),
        step_row("step", plan.step, "step"),
        registers_row(plan),
        row(
            "predicted",
            "{_issued} instructions in a step: {instructions:number}",
            instructions=plan.instructions,
            _issued=sum(plan.instructions.values()),
        ),
        row(
            "time",
            "{seconds:seconds}, {share:percent} of what memory allows ({bound:seconds})",
            at="time",
            seconds=times.seconds,
            bound=times.bound,
            share=times.share,
            limit=times.limit,
        ),
        row(
            "alone",
            "{_alone}, second kernel {combining:seconds}",
            at="time",
            limits=dict(times.limits),
            combining=times.combining,
            _alone=", ".join(f"{name} {taken * 1e6:.1f} us" for name, taken in times.limits.items()),
        ),
        row("limit", "{_limited}", _limited=times.limited((plan.step.dpas, sum(plan.instructions.values())))),
        row("caveat", "{caveat}", caveat="computed from published and assumed numbers; nothing ran on the chip"),
        *layout_rows(plan),
        row(kernel_for=f"LLVM {plan.llvm}"),
        *launch_rows(plan.launch),
    ]
    return PlanReport("", [[*rows, *results]])
