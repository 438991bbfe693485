"""`layoutalg decode`: the plan of attention for the newest queries of sequences, and its kernels: written, run, compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from layoutalg.cli.arguments import PLANNER_CHIP, OneOf, json_option, llvm_option, output_option, target_option
from layoutalg.cli.edited import check_alone, check_options, checked_rows, edited_text, failed
from layoutalg.cli.hosts import check_host, host_option, launched_rows
from layoutalg.cli.targets import model_text, print_report, written_rows
from layoutalg.core.progress import progress_bar

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.attention.decode import Decode
    from layoutalg.show.plan_report import PlanRow

__all__ = ["decode"]

_TYPES = OneOf.at("layoutalg.gemm.attention.problem:TYPES")
_OUTPUTS = OneOf.at("layoutalg.gemm.attention.problem:OUTPUTS")
_LEVELS = OneOf.at("layoutalg.gemm.attention.plan:LEVELS")
_ORDERS = OneOf.at("layoutalg.gemm.attention.decode.problem:ORDERS")


@click.command(short_help="Plan attention of a few new queries; write its kernels.")
@click.argument("keys", type=int)
@click.option("--d", type=int, default=128, show_default=True, help="The size of a head.")
@click.option("--type", type=_TYPES, default="f16", show_default=True, help="Element type of Q, K and V.")
@click.option("--out", type=_OUTPUTS, default="f32", show_default=True, help="Element type of the result.")
@click.option("--heads", type=int, default=1, show_default=True, help="Heads of Q.")
@click.option("--kv-heads", type=int, help="Heads of K and V, each for several of Q (as many as Q has unless given).")
@click.option("--batch", type=int, default=1, show_default=True, help="Sequences.")
@click.option("--queries", type=int, default=1, show_default=True, help="Queries of each sequence, its newest tokens.")
@click.option(
    "--order", type=_ORDERS, default="hnd", show_default=True, help="Heads before keys in K and V, or keys first."
)
@click.option("--page", type=int, help="Keys of a page: K and V are a pool of pages, and a table says where they are.")
@click.option("--pages", type=int, help="Pages of the pool (room for all sequences unless given).")
@click.option("--parts", type=int, help="Workgroups that share the keys of a head (chosen unless given).")
@click.option("--scale", type=float, help="What scores are multiplied by (1/sqrt(d) unless given).")
@target_option("The chip.", PLANNER_CHIP)
@llvm_option("The version of LLVM that the kernels are for.")
@click.option("--emit", "level", type=_LEVELS, help="Print the kernels (with -o: write them).")
@output_option("Write the kernels to a file; NAME.svg, .png, ...: the picture.")
@click.option("--build", type=click.Path(path_type=Path), help="Write the kernels' binary, NAME.spv or NAME.zebin.")
@host_option(click.Option)
@click.option("--run", is_flag=True, help="Execute the kernels in the simulator on random arrays and lengths.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random arrays.")
@check_options
@click.option("--listing", is_flag=True, help="Compile the kernels with what is installed, and count the loop.")
@json_option
def decode(
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
    """Plan attention for the newest queries of sequences with up to KEYS keys; print, write, run and compile it.

    The heads of a group share rows of the matrix instruction, and the keys are spread over workgroups.
    """
    from layoutalg.gemm.attention.decode import plan_decode
    from layoutalg.gemm.small_problems import small_decodes
    from layoutalg.show.decode import decode_report

    if host is not None:
        check_host(output, level)
    check_alone(edited, run or check, emit=level, output=output, listing=listing, build=build, host=host)
    plan = plan_decode(keys, **options)
    own = plan.emit(level or "lane")
    text = own if edited is None else edited_text(edited)[0]
    if level is not None and not (output or run or check or listing or as_json or build):
        print(text, end="")
        return 0
    results: list[PlanRow] = []
    if run:
        results.append(_simulated(plan, text, seed))
    if check:
        small = small_decodes(plan, own)
        results += checked_rows(
            text, "lane", plan.target, plan.llvm, small, ("", lambda one: _simulated(one, text, seed))
        )
    if listing:
        results.append(_listing(plan))
    results += launched_rows(cast("Attention", plan), build, host, output)
    if host is None:
        results[:0] = written_rows("kernel", text, output, level, plan)
    print_report(decode_report(plan, results), as_json, "", label=10, margin="")
    return int(check and failed(results))


def _simulated(plan: Decode, text: str, seed: int) -> PlanRow:
    """The kernels' result on random arrays, against the model and against the definition in f64."""
    import numpy as np

    from layoutalg.core.elements import numpy_type
    from layoutalg.gemm.attention.decode.arrays import check_size, shapes
    from layoutalg.gemm.attention.decode.numerics import exact, model
    from layoutalg.show.plan_report import row

    check_size(plan)
    random, wanted, problem = np.random.default_rng(seed), shapes(plan), plan.problem
    dtype = numpy_type(problem.type)
    q, k, v = (random.standard_normal(wanted[name]).astype(dtype) for name in "QKV")
    lengths = random.integers(0, problem.keys + 1, problem.batch)
    lengths[0] = problem.keys
    shape = problem.batch, problem.pages_of_sequence
    table = random.integers(0, problem.pages, shape) if problem.page else None
    with progress_bar("workgroups") as progress:
        found = plan.simulate(q, k, v, lengths, table, text, progress=progress)
    difference = np.abs(found.astype(np.float64) - exact(plan, q, k, v, lengths, table)).max()
    modelled = found.tobytes() == model(plan, q, k, v, lengths, table).tobytes()
    return row(
        "simulated",
        model_text(modelled) + "; largest difference from exact arithmetic {largest_difference:.3g}",
        at="simulated",
        as_modelled=modelled,
        largest_difference=float(difference),
        lengths=lengths.tolist(),
    )


def _listing(plan: Decode) -> PlanRow:
    """What the installed compilers make of the loop without a mask."""
    from layoutalg.gemm.attention.decode.listing import compiled, loop_of
    from layoutalg.gemm.listing import counts
    from layoutalg.show.plan_report import row

    found = compiled(plan)
    counted = counts(loop_of(found.program))
    return row(
        "listing",
        "{instructions} instructions in a step, {dpas} dpas, {loads} loads, "
        + (f"{found.spilled} bytes spilled" if found.spilled else "no spill")
        + ", {unresolved} unresolved calls ({compiler})",
        at="listing",
        compiler=found.compiler,
        instructions=counted.total,
        dpas=counted.dpas,
        loads=counted.loads,
        spilled=found.spilled,
        unresolved=found.unresolved,
    )
