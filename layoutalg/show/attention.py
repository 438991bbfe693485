"""What `layoutalg attention` says of a plan: the rows of its report and of its JSON object.

>>> from layoutalg.gemm.attention import plan_attention
>>> report = attention_report(plan_attention(64, 64, target="bmg"))
>>> report.print(label=10, margin="")  # doctest: +ELLIPSIS
problem   O[64, 64] f32 = softmax(0.125 Q[64, 64] K[64, 64]^T) V[64, 64] f16 on bmg
subgroup  16 queries, all of their row of O; 4 subgroups per workgroup
grid      1x1x1 workgroups of 64x1x1 work-items
step      64 keys: 72 dpas, loads 2 of Q, 16 of K, 4 of V, 18432 bytes
...
>>> report.as_json()["step"]
{'keys': 64, 'dpas': 72, 'loads': {'Q': 2, 'K': 16, 'V': 4}, 'bytes': 18432}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from layoutalg.show.plan_report import PlanReport, PlanRow, launch_rows, row

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.attention.decode import Decode
    from layoutalg.gemm.attention.plan import Step

__all__ = ["attention_report", "layout_rows", "registers_row", "step_row"]

_MAXIMA = {
    "online": "{maximum}: follows the scores of a row",
    "first": "{maximum}: that of a row's first keys; where a weight overflows, a subgroup takes its keys once more",
}
_RERUNS = "; {_more:seconds} if all subgroups take their keys once more, slower than online if {break_even:percent} of them do"


def attention_report(plan: Attention, results: Sequence[PlanRow] = ()) -> PlanReport:
    """The plan, and below it what was done with it, in one table."""
    problem, steps, times = plan.problem, plan.steps_total, plan.times
    rounds = 0 if plan.share is None else plan.share.rounds
    ahead = "{prefetch[in_step]} of 32 keys by 32 columns in a step, shared by the subgroups" if rounds else "none"
    kind = plan.exchange.kind
    rows = [
        row("problem", "{problem}", problem=str(problem), target=problem.target),
        row(
            "subgroup",
            "{rows} queries, all of their row of O; {subgroups} subgroups per workgroup",
            rows=plan.rows,
            subgroups=plan.subgroups,
        ),
        row("grid", "{grid:x} workgroups of {workgroup:x} work-items", grid=plan.grid, workgroup=plan.workgroup),
        step_row("step", plan.step, "step"),
        step_row("masked", plan.masked_step, "masked_step"),
        row(
            "steps",
            "{steps[seen]} without a mask, {steps[masked]} with one, {dpas_total} dpas in all",
            steps={"masked": steps.masked, "seen": steps.seen},
            dpas_total=plan.dpas_total,
            bytes_total=plan.bytes_total,
        ),
        row("maximum", _MAXIMA[plan.maximum], maximum=plan.maximum),
        row("prefetch", ahead, prefetch={"form": plan.prefetch, "in_step": rounds}),
        registers_row(plan),
        row(
            "predicted",
            "{instructions_per_dpas:.2f} instructions per dpas of S and O: {instructions:number}",
            instructions=plan.instructions,
            instructions_per_dpas=round(plan.instructions_per_dpas, 3),
        ),
        row(
            "time",
            "{seconds:seconds}" + (_RERUNS if plan.maximum == "first" else ""),
            at="time",
            seconds=times.seconds,
            limit=times.limit,
            limits=dict(times.limits),
            rerun=times.rerun,
            break_even=times.break_even,
            _more=times.seconds + times.rerun,
        ),
        row("limit", "{_limited}", _limited=times.limited((plan.step.dpas, sum(plan.instructions.values())))),
        row(caveat="computed from published and assumed numbers; nothing ran on the chip"),
        row(
            "S to P",
            "nothing moves: both have one layout" if kind == "identity" else "{movement_of_p}",
            movement_of_p=kind,
        ),
        *layout_rows(plan),
        row(kernel_for=f"LLVM {plan.llvm}"),
        *launch_rows(plan.launch),
    ]
    return PlanReport("", [[*rows, *results]])


def step_row(label: str, step: Step, at: str) -> PlanRow:
    """What a step multiplies and loads.

    >>> step_row("step", la.plan_decode(64, 64, target="bmg").step, "step").facts["dpas"]
    18
    """
    loads = ", ".join(f"{{loads[{name}]}} of {name}" for name in step.loads)
    return row(label, f"{{keys}} keys: {{dpas}} dpas, loads {loads}, {{bytes}} bytes", at=at, **asdict(step))


def registers_row(plan: Attention | Decode) -> PlanRow:
    """What the registers of a thread hold.

    >>> registers_row(la.plan_attention(64, 64, target="bmg")).facts["available"]
    256
    """
    needed = plan.registers_needed
    used = sum(needed.values())
    return row(
        "registers",
        "{_used} of {available}: {needed:number}",
        at="registers",
        needed=needed,
        available=plan.registers,
        _used=used,
    )


def layout_rows(plan: Attention | Decode) -> Sequence[PlanRow]:
    """A row for each operand of a step.

    >>> len(layout_rows(la.plan_decode(64, 64, target="bmg")))
    6
    """
    return [
        row(name, "{_layout}", at="layouts", _layout=layout, **{name: str(layout)})
        for name, layout in plan.layouts.items()
    ]
