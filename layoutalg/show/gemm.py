"""What `layoutalg gemm` prints: the plan of a product as tables, and the same as facts for a program.

>>> from rich.console import Console
>>> plan = la.plan_gemm(64, 64, 64, tile=(16, 32), subgroups=(1, 1), k_step=32, registers=256, prefetch="none")
>>> print_plan(plan, Console(width=120), runners_up=0)  # doctest: +ELLIPSIS
C[64, 64] f32 = A[64, 64] f16 * B[64, 64] f16 on pvc
<BLANKLINE>
  tiles         workgroup 16x32, subgroup 16x32, instruction 8x16x16; a step is 32 of k
  subgroups     1x1 in a workgroup (16 work-items), grid 2x4x1, 2 steps
  prefetch      none
  registers     A 16, B 32, C 32; 82 of 256
  written for   LLVM 24, products as xegpu.dpas
...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from layoutalg.core.plurals import counted as number_of
from layoutalg.show.tables import Row, bytes_text, percent_text, print_line, print_table, runners_up_rows, seconds_text

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.gemm import Gemm
    from layoutalg.gemm.counting import Counted
    from layoutalg.gemm.roofline import Roofline
    from layoutalg.gemm.search import Candidate

__all__ = ["gemm_facts", "print_plan"]


def print_plan(plan: Gemm, console: Console, *, runners_up: int = 5, explain: bool = False) -> None:
    """Print the plan, and so many of those that lost; `explain` adds what the time is made of and how C is computed."""
    step, line = _predicted(plan)
    print_line(console, str(plan.problem))
    for rows in (_choices(plan), _operands(plan), _layouts(plan), _step(plan, step), _time(line)):
        print_line(console)
        print_table(console, rows)
    if explain:
        print_line(console)
        print_table(console, _explained(plan, line))
    if runners_up:
        print_line(console)
        print_table(console, runners_up_rows(_others(plan, runners_up)))


def gemm_facts(plan: Gemm, *, runners_up: int = 5) -> dict[str, Any]:
    """The plan as numbers and texts, for `--json`."""
    problem, tiling, registers = plan.problem, plan.tiling, plan.registers
    step, line = _predicted(plan)
    names = ("m", "n", "k", "a", "b", "c", "acc", "trans_a", "trans_b", "batch", "lda", "ldb", "ldc")
    epilogue = ("alpha", "beta", "bias", "activation")
    return {
        "problem": {name: getattr(problem, name) for name in (*names, *epilogue)},
        "target": plan.target,
        "llvm": plan.llvm,
        "instruction": plan.instruction,
        "tile": [plan.tile.m, plan.tile.n, plan.tile.k],
        "subgroups": list(tiling.subgroups),
        "workgroup_tile": [tiling.workgroup_tile.m, tiling.workgroup_tile.n],
        "workgroup": list(plan.workgroup),
        "grid": list(plan.grid),
        "k_steps": plan.k_steps,
        "prefetch": {"form": tiling.prefetch, "distance": tiling.distance},
        "registers": {"used": registers.used, "available": registers.available},
        "dpas_per_step": plan.dpas_per_step,
        "dpas_total": plan.dpas_total,
        "bytes_per_step": plan.bytes_per_step,
        "step": {
            "dpas": step.dpas,
            "loads": step.loads,
            "prefetches": step.prefetches,
            "instructions": step.total,
            "instructions_per_dpas": step.per_dpas,
        },
        "messages": [
            {
                "operand": message.operand,
                "name": message.load.name,
                "offset": list(message.offset),
                "pieces": len(message.pieces),
            }
            for message in plan.messages
        ],
        "fragments": {
            fragment.name: {
                "block": list(fragment.block),
                "count": fragment.count,
                "vector": fragment.vector,
                "fragment_shape": list(fragment.layout.fragment_shape),
                "layout": str(fragment.layout),
            }
            for fragment in plan.fragments
        },
        "layouts": {
            level: {name: str(layout) for name, layout in getattr(plan.layouts, level).items()}
            for level in ("workgroup", "subgroup", "lane")
        },
        "roofline": {
            "chip": line.chip.product,
            **line.as_json(),
            "bytes": {"L1": line.l1_bytes, "L3": line.l3_bytes, "memory": line.memory_bytes},
        },
        "runners_up": [
            {"tiling": str(other.tiling), "clocks": other.clocks, "reason": other.reason}
            for other in _others(plan, runners_up)
        ],
    }


def _predicted(plan: Gemm) -> tuple[Counted, Roofline]:
    from layoutalg.gemm.counting import counted
    from layoutalg.gemm.roofline import roofline

    step = counted(plan.problem, plan.tiling, plan.llvm)
    return step, roofline(plan.problem, plan.tiling, step.total)


def _choices(plan: Gemm) -> list[Row]:
    unit, tiling, registers = plan.dpas, plan.tiling, plan.registers
    whole, (rows, columns) = tiling.workgroup_tile, tiling.subgroups
    tiles = (
        f"workgroup {whole.m}x{whole.n}, subgroup {plan.tile.m}x{plan.tile.n}, instruction {unit.m}x{unit.n}x{unit.k}"
    )
    steps = f"{tiling.distance} step{'s' * (tiling.distance > 1)} ahead"
    forms = {
        "none": "none",
        "shared": f"shared by the workgroup: 2-D messages, {steps}",
        "lines": f"lines: every lane asks for one of 64 bytes, {steps}",
    }
    grid = "x".join(map(str, plan.grid))
    return [
        ("tiles", f"{tiles}; a step is {plan.tile.k} of k"),
        (
            "subgroups",
            f"{rows}x{columns} in a workgroup ({plan.workgroup[0]} work-items), grid {grid}, {number_of(plan.k_steps, 'step')}",
        ),
        ("prefetch", forms[tiling.prefetch]),
        (
            "registers",
            f"A {registers.a}, B {registers.b}, C {registers.c}; {registers.used} of {registers.available}",
        ),
        ("written for", f"LLVM {plan.llvm}, products as {plan.instruction}"),
    ]


def _operands(plan: Gemm) -> list[Row]:
    rows: list[Row] = [("operand", "in memory", "messages of a step", "a lane's operands", "layout of one")]
    loads = Counter((message.operand, message.load.name) for message in plan.messages)
    for matrix, fragment in zip(plan.matrices, plan.fragments, strict=True):
        names = ", ".join(f"{count} {name}" for (operand, name), count in loads.items() if operand == matrix.name)
        memory = f"{matrix.rows}x{matrix.columns} {matrix.element}, row {matrix.pitch}"
        held = f"{fragment.count} {fragment.vector}"
        rows.append((matrix.name, memory, names or "(stored at the end)", held, str(fragment.layout)))
    return rows


def _layouts(plan: Gemm) -> list[Row]:
    """The layouts of the workgroup's tensors, as XeGPU writes them."""
    written = ((name, str(layout).removeprefix("#xegpu.")) for name, layout in plan.layouts.workgroup.items())
    return [("layouts", "at workgroup level"), *written]


def _step(plan: Gemm, step: Counted) -> list[Row]:
    others = step.total - step.dpas - step.loads - step.prefetches
    what = [f"{step.dpas} dpas", f"{number_of(step.loads, 'load')} of {plan.bytes_per_step} bytes"]
    if step.prefetches:
        what.append(f"{step.prefetches} prefetch{'es' * (step.prefetches > 1)}")
    return [
        ("a step", ", ".join([*what, f"{others} others (predicted)"])),
        ("", f"{step.total} instructions, {step.per_dpas:.2f} per dpas"),
        ("in all", f"{plan.dpas_total} dpas"),
    ]


def _time(line: Roofline) -> list[Row]:
    from layoutalg.gemm.roofline import CAVEAT

    limits = ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in line.limit_seconds.items())
    side = "above" if line.intensity > line.ridge else "below"
    reached = f"{line.flops / line.seconds / 1e12:.1f} TFLOP/s, {percent_text(line.part_of_peak)} of the peak"
    ridge = f"{side} the {line.ridge:.0f} of {line.chip.product}"
    return [
        ("intensity", f"{line.intensity:.0f} operations per byte of memory, {ridge}"),
        ("each alone", limits),
        ("predicted", f"{seconds_text(line.seconds)}, {reached}; limit: {line.limit}"),
        ("", f"({CAVEAT})"),
    ]


def _explained(plan: Gemm, line: Roofline) -> list[Row]:
    from layoutalg.gemm.numerics import stated

    parts = [(name, seconds) for name, seconds in line.part_seconds.items() if seconds > line.seconds * 5e-4]
    moved = {"into registers": line.l1_bytes, "into L1": line.l3_bytes, "from and to memory": line.memory_bytes}
    waves = number_of(line.waves, "wave")
    return [
        ("the time", ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in parts)),
        ("workgroups", f"{line.workgroups}, {line.resident} at once on a core, {waves}"),
        ("bytes", ", ".join(f"{bytes_text(count)} {where}" for where, count in moved.items())),
        *zip(("C", ""), stated(plan.problem), strict=True),
    ]


def _others(plan: Gemm, count: int) -> Sequence[Candidate]:
    found = plan.candidates
    mine = [] if found.best.tiling == plan.tiling else [found.best]
    return [*mine, *found.runners_up(count - len(mine))] if count else []
