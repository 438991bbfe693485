"""`layoutalg attention`: the plan of flash attention, and its kernel: written, run, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import DPAS_CHIP, OneOf, json_option, llvm_option, output_option, print_json
from layoutalg.cli.targets import model_text
from layoutalg.core.progress import progress_bar

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention

__all__ = ["attention"]


_TYPES = OneOf.at("layoutalg.gemm.attention.problem:TYPES")
_OUTPUTS = OneOf.at("layoutalg.gemm.attention.problem:OUTPUTS")
_LEVELS = OneOf.at("layoutalg.gemm.attention.plan:LEVELS")
_PREFETCHES = OneOf.at("layoutalg.gemm.attention.plan:PREFETCHES")


@click.command(short_help="Plan flash attention; write, run and compile its kernel.")
@click.argument("queries", type=int)
@click.argument("keys", type=int)
@click.option("--d", type=int, default=64, show_default=True, help="The size of a head.")
@click.option("--type", type=_TYPES, default="f16", show_default=True, help="Element type of Q, K and V.")
@click.option("--out", type=_OUTPUTS, default="f32", show_default=True, help="Element type of the result.")
@click.option("--heads", type=int, default=1, show_default=True, help="Heads of Q.")
@click.option("--kv-heads", type=int, help="Heads of K and V, each for several of Q (as many as Q has unless given).")
@click.option("--batch", type=int, default=1, show_default=True, help="Batches of heads.")
@click.option("--causal", is_flag=True, help="Query i sees the keys 0 to i + KEYS - QUERIES alone.")
@click.option("--scale", type=float, help="What scores are multiplied by (1/sqrt(d) unless given).")
@click.option("--target", type=DPAS_CHIP, default="bmg", show_default=True, help="The chip.")
@click.option("--subgroups", type=int, help="Subgroups of a workgroup (chosen unless given).")
@click.option(
    "--prefetch",
    type=_PREFETCHES,
    help="Whether subgroups prefetch for one another (chosen unless given).",
)
@llvm_option("The version of LLVM that the kernel is for.")
@click.option("--emit", "level", type=_LEVELS, help="Print the kernel (with -o: write it).")
@output_option("Write the kernel to a file.")
@click.option("--run", is_flag=True, help="Execute the kernel in the simulator on random arrays.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random arrays.")
@click.option(
    "--listing", is_flag=True, help="Compile the kernel with what is installed; print its loop, each line named."
)
@json_option
def attention(
    queries: int,
    keys: int,
    level: str | None,
    output: Path | None,
    run: bool,
    seed: int,
    listing: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Plan O = softmax(scale * Q K^T) V, print the plan, and write, run and compile its kernel.

    For every head Q has QUERIES rows, K and V have KEYS rows, and all have d columns.
    """
    from layoutalg.core.files import write_file
    from layoutalg.gemm.attention import plan_attention

    plan = plan_attention(queries, keys, **options)
    text = plan.emit(level or "lane")
    if level is not None and not (output or run or listing or as_json):
        print(text, end="")
        return
    facts = _plan_facts(plan)
    loop: list[str] = []
    if run:
        facts["simulated"] = _simulated(plan, text, seed)
    if listing:
        facts["listing"], loop = _listing(plan)
    if output is not None:  # last, so that a run that fails leaves no file
        write_file(output, text)
        facts["output"] = str(output)
    if as_json:
        print_json(
            facts
            | ({"loop": loop} if listing else {})
            | ({"kernel": text} if level is not None and output is None else {})
        )
        return
    _print_plan(facts)
    for line in loop:
        print(line)


def _plan_facts(plan: Attention) -> dict[str, Any]:
    problem, step, masked, steps = plan.problem, plan.step, plan.masked_step, plan.steps_total
    return {
        "problem": str(problem),
        "target": problem.target,
        "grid": list(plan.grid),
        "workgroup": list(plan.workgroup),
        "rows": plan.rows,
        "subgroups": plan.subgroups,
        "registers": {"needed": plan.registers_needed, "available": plan.registers},
        "steps": {"masked": steps.masked, "seen": steps.seen},
        "step": {"keys": step.keys, "dpas": step.dpas, "loads": step.loads, "bytes": step.bytes},
        "masked_step": {"keys": masked.keys, "dpas": masked.dpas, "loads": masked.loads, "bytes": masked.bytes},
        "prefetch": {"form": plan.prefetch, "in_step": 0 if plan.share is None else plan.share.rounds},
        "dpas_total": plan.dpas_total,
        "bytes_total": plan.bytes_total,
        "instructions": plan.instructions,
        "instructions_per_dpas": round(plan.instructions_per_dpas, 3),
        "movement_of_p": plan.exchange.kind,
        "layouts": {name: str(layout) for name, layout in plan.layouts.items()},
        "kernel_for": f"LLVM {plan.llvm}",
    }


def _print_plan(facts: dict[str, Any]) -> None:
    def by(sizes: Sequence[int]) -> str:
        return "x".join(map(str, sizes))

    def counted(step: dict[str, Any]) -> str:
        loads = ", ".join(f"{count} of {name}" for name, count in step["loads"].items())
        return f"{step['keys']} keys: {step['dpas']} dpas, loads {loads}, {step['bytes']} bytes"

    needed, instructions = facts["registers"]["needed"], facts["instructions"]
    rows = [
        ("problem", facts["problem"]),
        ("subgroup", f"{facts['rows']} queries, all of their row of O; {facts['subgroups']} subgroups per workgroup"),
        ("grid", f"{by(facts['grid'])} workgroups of {by(facts['workgroup'])} work-items"),
        ("step", counted(facts["step"])),
        ("masked", counted(facts["masked_step"])),
        (
            "steps",
            f"{facts['steps']['seen']} without a mask, {facts['steps']['masked']} with one, "
            f"{facts['dpas_total']} dpas in all",
        ),
        (
            "prefetch",
            f"{facts['prefetch']['in_step']} of 32 keys by 32 columns in a step, shared by the subgroups"
            if facts["prefetch"]["in_step"]
            else "none",
        ),
        (
            "registers",
            f"{sum(needed.values())} of {facts['registers']['available']}: "
            + ", ".join(f"{name} {count}" for name, count in needed.items()),
        ),
        (
            "predicted",
            f"{facts['instructions_per_dpas']:.2f} instructions per dpas: "
            + ", ".join(f"{name} {count}" for name, count in instructions.items()),
        ),
        (
            "S to P",
            "nothing moves: both have one layout" if facts["movement_of_p"] == "identity" else facts["movement_of_p"],
        ),
        *facts["layouts"].items(),
    ]
    if "output" in facts:
        rows.append(("kernel", facts["output"]))
    if "simulated" in facts:
        found = facts["simulated"]
        far = f"largest difference from exact arithmetic {found['largest_difference']:.3g}"
        rows.append(("simulated", f"{model_text(found)}; {far}"))
    if "listing" in facts:
        found = facts["listing"]
        spilled = f"{found['spilled']} bytes spilled" if found["spilled"] else "no spill"
        rows.append(
            (
                "listing",
                f"{found['instructions_per_dpas']:.2f} instructions per dpas ({found['instructions']} and {found['dpas']}), "
                f"{found['loads']} loads, {spilled}, {found['unresolved']} unresolved calls ({found['compiler']})",
            )
        )
    for name, value in rows:
        print(f"{name:10}{value}")


def _simulated(plan: Attention, text: str, seed: int) -> dict[str, Any]:
    """The kernel's result on random arrays, against the model and against the definition in f64."""
    import numpy as np

    from layoutalg.core.elements import numpy_type
    from layoutalg.gemm.attention.arrays import check_size, shapes
    from layoutalg.gemm.attention.numerics import exact, model

    check_size(plan)
    random, wanted = np.random.default_rng(seed), shapes(plan)
    dtype = numpy_type(plan.problem.type)
    q, k, v = (random.standard_normal(wanted[name]).astype(dtype) for name in "QKV")
    with progress_bar("workgroups") as progress:
        found = plan.simulate(q, k, v, text, progress=progress)
    difference = np.abs(found.astype(np.float64) - exact(plan, q, k, v)).max()
    return {"as_modelled": found.tobytes() == model(plan, q, k, v).tobytes(), "largest_difference": float(difference)}


def _listing(plan: Attention) -> tuple[dict[str, Any], list[str]]:
    """What the installed compilers make of the kernel, in numbers, and the lines of its loop."""
    from layoutalg.gemm.attention.listing import annotated, compiled
    from layoutalg.gemm.listing import counts

    found = compiled(plan)
    counted = counts(found.program.inner_loop)
    facts = {
        "compiler": found.compiler,
        "instructions": counted.total,
        "instructions_per_dpas": round(counted.per_dpas, 3),
        "dpas": counted.dpas,
        "loads": counted.loads,
        "spilled": found.spilled,
        "unresolved": found.unresolved,
    }
    return facts, annotated(found)
