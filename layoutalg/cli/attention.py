"""`layoutalg attention`: the plan of flash attention, and its kernel: written, run, compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import (
    PLANNER_CHIP,
    OneOf,
    json_option,
    llvm_option,
    output_option,
    target_option,
)
from layoutalg.cli.edited import check_alone, check_options, checked_rows, edited_text, failed
from layoutalg.cli.hosts import check_host, host_option, launched_rows
from layoutalg.cli.targets import model_text, print_report, written_rows
from layoutalg.core.progress import progress_bar
from layoutalg.core.written import as_numbers

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.show.plan_report import PlanRow

__all__ = ["attention"]


_TYPES = OneOf.at("layoutalg.gemm.attention.problem:TYPES")
_OUTPUTS = OneOf.at("layoutalg.gemm.attention.problem:OUTPUTS")
_ORDERS = OneOf.at("layoutalg.gemm.attention.problem:ORDERS")
_LEVELS = OneOf.at("layoutalg.gemm.attention.plan:LEVELS")
_PREFETCHES = OneOf.at("layoutalg.gemm.attention.plan:PREFETCHES")
_MAXIMA = OneOf.at("layoutalg.gemm.attention.plan:MAXIMA")


def _numbers(_context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """Numbers with commas between them."""
    return None if text is None else as_numbers(text, f"--{str(parameter.name).replace('_', '-')}: whole numbers")


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
@click.option("--window", type=int, help="How many keys a query sees at most, the last ones of those that it may see.")
@click.option("--scale", type=float, help="What scores are multiplied by (1/sqrt(d) unless given).")
@click.option(
    "--order",
    type=_ORDERS,
    default="bhsd",
    show_default=True,
    help="How arrays lie in memory: b(atch), h(ead), s (row), d.",
)
@click.option("--ldq", type=int, help="Elements from row to row of Q (as many as a row has unless given).")
@click.option("--ldk", type=int, help="The same of K.")
@click.option("--ldv", type=int, help="The same of V.")
@click.option("--ldo", type=int, help="The same of O.")
@click.option(
    "--starts-q",
    callback=_numbers,
    metavar="0,..",
    help="Where packed sequences begin in Q, and where the last one ends.",
)
@click.option("--starts-k", callback=_numbers, metavar="0,..", help="The same in K and V.")
@target_option("The chip.", PLANNER_CHIP)
@click.option("--subgroups", type=int, help="Subgroups of a workgroup (chosen unless given).")
@click.option("--prefetch", type=_PREFETCHES, help="Whether subgroups prefetch for one another (chosen unless given).")
@click.option(
    "--maximum",
    type=_MAXIMA,
    default="online",
    show_default=True,
    help="The maximum of a row: follows the scores, or stays that of the first keys (a shorter loop, or a rerun).",
)
@llvm_option("The version of LLVM that the kernel is for.")
@click.option("--emit", "level", type=_LEVELS, help="Print the kernel (with -o: write it).")
@output_option("Write the kernel to a file; NAME.svg, .png, ...: the picture.")
@click.option("--build", type=click.Path(path_type=Path), help="Write the kernel's binary, NAME.spv or NAME.zebin.")
@host_option(click.Option)
@click.option("--run", is_flag=True, help="Execute the kernel in the simulator on random arrays.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random arrays.")
@check_options
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
    check: bool,
    edited: Path | None,
    listing: bool,
    as_json: bool,
    build: Path | None,
    host: str | None,
    **options: Any,
) -> int:
    """Plan O = softmax(scale * Q K^T) V, print the plan, and write, run and compile its kernel.

    For every head Q has QUERIES rows, K and V have KEYS rows, and all have d columns.
    """
    from layoutalg.gemm.attention import plan_attention
    from layoutalg.gemm.small_problems import small_attentions
    from layoutalg.show.attention import attention_report
    from layoutalg.show.plan_report import row

    if host is not None:
        check_host(output, level)
    check_alone(edited, run or check, emit=level, output=output, listing=listing, build=build, host=host)
    plan = plan_attention(queries, keys, **options)
    own = plan.emit(level or "lane")
    text = own if edited is None else edited_text(edited)[0]
    if level is not None and not (output or run or check or listing or as_json or build):
        print(text, end="")
        return 0
    results: list[PlanRow] = []
    loop: list[str] = []
    if run:
        results.append(_simulated(plan, text, seed))
    if check:
        results += checked_rows(
            text,
            "lane",
            plan.problem.target,
            plan.llvm,
            small_attentions(plan, own),
            ("", lambda one: _simulated(one, text, seed)),
            (", large scores", lambda one: _simulated(one, text, seed, 64.0)),  # a maximum has to follow them
        )
    if listing:
        compiled, loop = _listing(plan)
        results += [compiled, row(loop=loop)]
    results += launched_rows(plan, build, host, output)
    if host is None:
        results[:0] = written_rows("kernel", text, output, level, plan)
    print_report(attention_report(plan, results), as_json, "\n".join(loop), label=10, margin="")
    return int(check and failed(results))


def _simulated(plan: Attention, text: str, seed: int, spread: float = 1.0) -> PlanRow:
    """The kernel's result on random arrays, against the model and against the definition in f64.

    Q has numbers `spread` times as large as K and V.
    """
    import numpy as np

    from layoutalg.core.elements import numpy_type
    from layoutalg.gemm.attention.arrays import check_size, shapes
    from layoutalg.gemm.attention.numerics import exact, model
    from layoutalg.show.plan_report import row

    check_size(plan)
    random, wanted = np.random.default_rng(seed), shapes(plan)
    dtype = numpy_type(plan.problem.type)
    spreads = {"Q": spread, "K": 1.0, "V": 1.0}
    q, k, v = ((random.standard_normal(wanted[name]) * each).astype(dtype) for name, each in spreads.items())
    with progress_bar("workgroups") as progress:
        found = plan.simulate(q, k, v, text, progress=progress)
    difference = np.abs(found.astype(np.float64) - exact(plan, q, k, v)).max()
    modelled = found.tobytes() == model(plan, q, k, v).tobytes()
    return row(
        "simulated",
        model_text(modelled) + "; largest difference from exact arithmetic {largest_difference:.3g}",
        at="simulated",
        as_modelled=modelled,
        largest_difference=float(difference),
    )


def _listing(plan: Attention) -> tuple[PlanRow, list[str]]:
    """What the installed compilers make of the kernel, in numbers, and the lines of its loop."""
    from layoutalg.gemm.attention.listing import annotated, compiled, usual_path
    from layoutalg.gemm.listing import counts
    from layoutalg.show.plan_report import row

    found = compiled(plan)
    counted = counts(usual_path(found.program))
    spilled = "{spilled} bytes spilled" if found.spilled else "no spill"
    said = row(
        "listing",
        "{instructions_per_dpas:.2f} instructions per dpas of S and O ({instructions} and {dpas} dpas in all), {loads} loads, "
        + spilled
        + ", {unresolved} unresolved calls ({compiler})",
        at="listing",
        compiler=found.compiler,
        instructions=counted.total,
        instructions_per_dpas=round(counted.total / plan.useful_dpas, 3),
        dpas=counted.dpas,
        loads=counted.loads,
        spilled=found.spilled,
        unresolved=found.unresolved,
    )
    return said, annotated(found)
