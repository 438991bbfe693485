"""What `layoutalg gemm` says of a plan: the rows of its report and of its JSON object.

>>> from rich.console import Console
>>> plan = la.plan_gemm(64, 64, 64, tile=(16, 32), subgroups=(1, 1), k_step=32, registers=256, prefetch="none")
>>> report = gemm_report(plan, runners_up=0)
>>> report.print(Console(width=120))  # doctest: +ELLIPSIS
C[64, 64] f32 = A[64, 64] f16 * B[64, 64] f16 on pvc
<BLANKLINE>
  tiles         workgroup 16x32, subgroup 16x32, instruction 8x16x16; a step is 32 of k
  subgroups     1x1 in a workgroup (16 work-items), grid 2x4x1, 2 steps
  prefetch      none
  registers     A 16, B 32, C 32; 82 of 256
  written for   LLVM 24, products as xegpu.dpas
...
>>> report.as_json()["registers"]
{'used': 82, 'available': 256}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from layoutalg.show.plan_report import PlanReport, PlanRow, columns, explained_table, launch_rows, row, runners_up_table

if TYPE_CHECKING:
    from layoutalg.gemm import Gemm
    from layoutalg.gemm.roofline import Roofline

__all__ = ["gemm_report"]

_STEPS = "{prefetch[distance]:#step} ahead"
_PREFETCH = {
    "none": "none",
    "shared": f"shared by the workgroup: 2-D messages, {_STEPS}",
    "lines": f"lines: every lane asks for one of 64 bytes, {_STEPS}",
}


def gemm_report(
    plan: Gemm, results: Sequence[PlanRow] = (), *, runners_up: int = 5, explain: bool = False
) -> PlanReport:
    """The plan, and so many of those that lost; `explain` adds what the time is made of and how C is computed.

    `results` say what was done with it.
    """
    from layoutalg.gemm.counting import counted
    from layoutalg.gemm.numerics import stated
    from layoutalg.gemm.roofline import roofline

    found = counted(plan.problem, plan.tiling, plan.llvm)
    line = roofline(plan.problem, plan.tiling, found.total, plan.board)
    tables = [
        _choices(plan),
        _edges(plan),
        _operands(plan),
        _layouts(plan),
        launch_rows(plan.launch),
        _step(plan),
        _time(line, (found.dpas, found.total)),
    ]
    if explain:
        around = (
            row(
                "workgroups", "{_line.workgroups}, {_line.resident} at once on a core, {_line.waves:#wave}", _line=line
            ),
            row(
                "bytes",
                "{roofline[bytes][L1]:bytes} into registers, {roofline[bytes][L3]:bytes} into L1, "
                "{roofline[bytes][memory]:bytes} from and to memory",
            ),
        )
        tables.append(explained_table(line, stated(plan.problem), *around))
    return PlanReport(str(plan.problem), [*tables, runners_up_table(plan, runners_up), results])


def _choices(plan: Gemm) -> Sequence[PlanRow]:
    problem, tiling, registers = plan.problem, plan.tiling, plan.registers
    names = ("m", "n", "k", "a", "b", "c", "acc", "trans_a", "trans_b", "batch", "lda", "ldb", "ldc")
    epilogue = ("alpha", "beta", "bias", "scale", "activation", "epilogue", "gated", "groups")
    return [
        row(
            problem={name: getattr(problem, name) for name in (*names, *epilogue)},
            target=plan.target,
            board=plan.board and plan.board.product,
        ),
        row(
            "tiles",
            "workgroup {workgroup_tile:x}, subgroup {tile[0]}x{tile[1]}, instruction {_unit.m}x{_unit.n}x{_unit.k}; "
            "a step is {tile[2]} of k",
            workgroup_tile=[tiling.workgroup_tile.m, tiling.workgroup_tile.n],
            tile=[plan.tile.m, plan.tile.n, plan.tile.k],
            _unit=plan.dpas,
        ),
        row(
            "subgroups",
            "{subgroups:x} in a workgroup ({workgroup[0]} work-items), grid {grid:x}, {k_steps:#step}",
            subgroups=tiling.subgroups,
            workgroup=plan.workgroup,
            grid=plan.grid,
            k_steps=plan.k_steps,
        ),
        *_pair_and_groups(plan),
        *_parts(plan),
        *_transposition(plan),
        row("prefetch", _PREFETCH[tiling.prefetch], prefetch={"form": tiling.prefetch, "distance": tiling.distance}),
        row(
            "registers",
            "A {_of[0]}, B {_of[1]}, C {_needed.c}; {used} of {available}",
            at="registers",
            used=registers.used,
            available=registers.available,
            _needed=registers,
            _of=(registers.a, registers.b) if plan.loop is plan else (registers.b, registers.a),
        ),
        row("written for", "LLVM {llvm}, products as {instruction}", llvm=plan.llvm, instruction=plan.instruction),
    ]


def _pair_and_groups(plan: Gemm) -> Sequence[PlanRow]:
    """What a gated pair and a grouped product have besides."""
    found: list[PlanRow] = []
    if plan.problem.gated:
        text = (
            "B has two matrices of {problem[n]} columns side by side: acc is A times the first, acc2 A times the second"
        )
        found.append(row("gated", text))
    if plan.problem.groups:
        text = (
            "{problem[groups]}, whose rows of A and C are starts[g] to starts[g + 1]; workgroups find theirs; y of the grid is "
            "m / {workgroup_tile[0]} + {problem[groups]}"
        )
        found.append(row("groups", text))
    return found


def _parts(plan: Gemm) -> Sequence[PlanRow]:
    """Where k is in parts or in runs: how many, and who adds them; JSON says 1 part and 0 runs otherwise."""
    from layoutalg.gemm.split_k import counters
    from layoutalg.gemm.stream_k import tiles_of

    if plan.tiling.stream_k:
        held = {
            "workgroups": plan.tiling.stream_k,
            "tiles": tiles_of(plan.problem, plan.tiling),
            "steps": plan.k_steps,
            "workspace_bytes": plan.workspace_bytes,
            "counters": counters(plan.problem, plan.tiling),
        }
        text = (
            "{stream_k[workgroups]:#workgroup} for {stream_k[tiles]:#tile}, {stream_k[steps]:#step} each, a workspace of "
            "{stream_k[workspace_bytes]:bytes}; of {stream_k[counters]} tiles the subgroup that is done last adds the parts in "
            "order"
        )
        return [row("stream-K", text, split_k={"parts": 1}, stream_k=held)]
    if plan.tiling.split_k == 1:
        return [row(split_k={"parts": 1}, stream_k={"workgroups": 0})]
    text = "{split_k[parts]} parts, a workspace of {split_k[workspace_bytes]:bytes}; "
    of_parts = {
        "parts": plan.tiling.split_k,
        "workspace_bytes": plan.workspace_bytes,
        "reduction": plan.tiling.reduction,
    }
    if not plan.launch.then:
        count = counters(plan.problem, plan.tiling)
        text += "of {split_k[counters]} tiles the subgroup that is done last adds them in order"
        return [row("split over k", text, split_k={**of_parts, "counters": count})]
    text += "then {split_k[kernel]} on {split_k[grid]:x} adds them in order"
    return [row("split over k", text, split_k={**of_parts, **asdict(plan.launch.then[0])})]


_TRANSPOSE = {
    "registers": "A in registers, from messages that transpose",
    "slm": "A once a workgroup, in {shared_bytes:bytes} of shared local memory",
    "scratch": "A once a workgroup, in a scratch in global memory: the argument workspace, {workspace_bytes:bytes} in all",
    "roles": "none needed: the loop computes C^T = B^T A^T, and lanes store rows of C",
}


def _transposition(plan: Gemm) -> Sequence[PlanRow]:
    """How a transposed A comes to its operands."""
    from layoutalg.gemm.turning import turned_by, turns

    in_shared = turns(plan.tiling) and not plan.workspace_bytes
    shared = turned_by(plan.problem, plan.tiling).shared_bytes if in_shared else 0
    found = row(transpose=plan.tiling.transpose, shared_bytes=shared, workspace_bytes=plan.workspace_bytes)
    return [row("transposes", _TRANSPOSE[plan.tiling.transpose]), found] if plan.problem.trans_a else [found]


def _edges(plan: Gemm) -> Sequence[PlanRow]:
    """Which matrices lanes move element by element and what would fit, and how far apart the matrices of a batch are."""
    from layoutalg.gemm.edges import padded
    from layoutalg.gemm.search import search

    problem, rows = plan.problem, list[PlanRow]()
    names = [matrix.name for matrix in plan.matrices]
    if problem.edges:
        rows.append(row("edge kernel", "lanes move {_names} element by element", _names=" and ".join(problem.edges)))
    rows += [columns(f"  {name}", why) for name, why in problem.edges.items()]
    if problem.edges and not (whole := padded(problem)).edges:
        best = search(whole, llvm=plan.llvm, chip=plan.board)
        seconds = best.roofline(best[0].tiling, best[0].instructions).seconds
        text = "with rows of whole 64 bytes ({_sizes:x}) {padded_seconds:seconds} would be predicted"
        rows.append(row("  padded", text, padded_seconds=seconds, _sizes=(whole.m, whole.n, whole.k)))
    if problem.batch > 1:
        strides = dict(zip(names, problem.strides, strict=True))
        text = "one matrix follows the other without a gap; elements apart: {_apart:number}"
        rows.append(row("batch", text, strides=strides, _apart=strides))
    alignments = dict(zip(names, problem.alignments, strict=True))
    return [*rows, row(alignments=alignments, edges=dict(problem.edges))]  # the launch's rows say alignments in words


def _operands(plan: Gemm) -> Sequence[PlanRow]:
    from layoutalg.gemm.turning import turns

    rows = [
        columns("operand", "in memory", "messages of a step", "a lane's operands", "layout of one"),
        row(messages=[]),
    ]
    for message in plan.messages:
        pieces, offset = len(message.pieces), message.offset
        rows.append(row(at="messages[]", operand=message.operand, name=message.load.name, offset=offset, pieces=pieces))
    by_other_means = "(by the workgroup)" if turns(plan.tiling) else "(by lanes)"
    loads = Counter((message.operand, message.load.name) for message in plan.messages)
    for matrix, fragment in zip(plan.matrices, plan.fragments, strict=True):
        names = ", ".join(f"{count} {name}" for (operand, name), count in loads.items() if operand == matrix.name)
        rows.append(
            row(
                matrix.name,
                "{_memory.rows}x{_memory.columns} {_memory.element}, row {_memory.pitch}",
                names or ("(stored at the end)" if matrix.name == "C" else by_other_means),
                "{count} {vector}",
                "{layout}",
                at=f"fragments.{fragment.name}",
                block=fragment.block,
                count=fragment.count,
                vector=fragment.vector,
                fragment_shape=fragment.layout.fragment_shape,
                layout=str(fragment.layout),
                _memory=matrix,
            )
        )
    return rows


def _layouts(plan: Gemm) -> Sequence[PlanRow]:
    """The layouts of the workgroup's tensors, as XeGPU writes them; those of the other levels are for JSON alone."""
    rows = [columns("layouts", "at workgroup level")]
    for name, layout in plan.layouts.workgroup.items():
        text = str(layout)
        rows.append(row(name, "{_shown}", at="layouts.workgroup", _shown=text.removeprefix("#xegpu."), **{name: text}))
    others = {"layouts.subgroup": plan.layouts.subgroup, "layouts.lane": plan.layouts.lane}
    return [*rows, *(row(at=at, **{name: str(one) for name, one in held.items()}) for at, held in others.items())]


def _step(plan: Gemm) -> Sequence[PlanRow]:
    from layoutalg.gemm.counting import counted

    step = counted(plan.problem, plan.tiling, plan.llvm)
    ahead = f"{{prefetches}} prefetch{'es' * (step.prefetches > 1)}, " if step.prefetches else ""
    return [
        row(
            "a step",
            f"{{dpas}} dpas, {{loads:#load}} of {{bytes_per_step}} bytes, {ahead}{{_others}} others (predicted)",
            at="step",
            dpas=step.dpas,
            loads=step.loads,
            prefetches=step.prefetches,
            instructions=step.total,
            instructions_per_dpas=step.per_dpas,
            _others=step.total - step.dpas - step.loads - step.prefetches,
        ),
        row("", "{step[instructions]} instructions, {step[instructions_per_dpas]:.2f} per dpas"),
        row("in all", "{dpas_total} dpas", dpas_total=plan.dpas_total),
        row(dpas_per_step=plan.dpas_per_step, bytes_per_step=plan.bytes_per_step),
    ]


def _time(line: Roofline, step: tuple[int, int]) -> Sequence[PlanRow]:
    from layoutalg.gemm.roofline import CAVEAT

    return [
        row(
            "intensity",
            "{intensity:.0f} operations per byte of memory, {_side} the {ridge:.0f} of {chip}",
            at="roofline",
            chip=line.chip.product,
            **line.as_json(),
            bytes={"L1": line.l1_bytes, "L3": line.l3_bytes, "memory": line.memory_bytes},
            _side="above" if line.intensity > line.ridge else "below",
        ),
        row("each alone", "{roofline[limit_seconds]:seconds}"),
        row(
            "predicted",
            "{roofline[seconds]:seconds}, {_rate:.1f} TFLOP/s, {roofline[part_of_peak]:percent} of the peak",
            _rate=line.flops / line.seconds / 1e12,
        ),
        row("limit", "{_limited}", _limited=line.limited(step)),
        columns("", f"({CAVEAT})"),
    ]
