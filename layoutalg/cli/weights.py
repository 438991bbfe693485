"""`layoutalg weights`: the plan of a product with quantised weights, and its kernel: written, run, launched by a host.

>>> from layoutalg.cli import main
>>> main(["weights", "8", "64", "100"])
2
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
from layoutalg.cli.targets import compared_row, declared_options, print_report, written_rows
from layoutalg.core.progress import progress_bar
from layoutalg.core.written import as_shape
from layoutalg.gemm.options import WEIGHTS_PREFETCHES, GpuEpilogueOptions, TilingOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from layoutalg.gemm.weights import Float8Weights, QuantisedWeights, WeightsGemm
    from layoutalg.show.plan_report import PlanRow

__all__ = ["weights"]


@click.command(short_help="Plan a product with quantised weights; write its kernel.")
@click.argument("m", type=int)
@click.argument("n", type=int)
@click.argument("k", type=int)
@click.option("--a", default="f16", show_default=True, help="Element type of A: f16 or bf16.")
@click.option("--b", default="u4", show_default=True, help="The weights: u4, u8, f8E4M3FN or f8E5M2.")
@click.option("--c", help="Element type of C in memory (f32 unless given).")
@click.option("--group", type=int, default=128, show_default=True, help="Neighbours along k that share a scale.")
@click.option("--zeros", is_flag=True, help="Groups have zero points too.")
@click.option(
    "--batch", type=int, default=1, show_default=True, help="Products of this shape at once, each with its W."
)
@target_option("The chip.", PLANNER_CHIP)
@declared_options(GpuEpilogueOptions)
@declared_options(TilingOptions, "tile", "subgroups")
@click.option("--prefetch", type=OneOf(lambda: WEIGHTS_PREFETCHES), help="How data is prefetched.")
@declared_options(TilingOptions, "distance", "split_k", "reduction")
@llvm_option("The version that the kernel is for.")
@click.option("--emit", "level", type=OneOf(lambda: ("lane",)), help="Print the kernel (with -o: write it).")
@output_option("Write the kernel to a file; NAME.svg, .png, ...: the picture.")
@click.option("--build", type=click.Path(path_type=Path), help="Write the kernel's binary, NAME.spv or NAME.zebin.")
@host_option(click.Option)
@click.option("--run", is_flag=True, help="Execute the kernel in the simulator on random A and weights.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random arrays.")
@check_options
@json_option
def weights(
    m: int,
    n: int,
    k: int,
    level: str | None,
    output: Path | None,
    build: Path | None,
    host: str | None,
    run: bool,
    seed: int,
    check: bool,
    edited: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Plan C[M, N] = A[M, K] * W[K, N] with quantised weights W, print the plan; write, run and build its kernel."""
    from layoutalg.gemm.small_problems import small_weights
    from layoutalg.gemm.weights import plan_weights
    from layoutalg.show.weights import weights_report

    if host is not None:
        check_host(output, level)
    check_alone(edited, run or check, emit=level, output=output, build=build, host=host)
    for name in ("tile", "subgroups"):
        options[name] = None if options[name] is None else as_shape(options[name])
    plan = plan_weights(m, n, k, **options)
    own = plan.emit()
    text = own if edited is None else edited_text(edited)[0]
    if level is not None and not (output or run or check or as_json or build):
        print(text, end="")
        return 0
    results: list[PlanRow] = [_simulated(plan, text, seed)] if run else []
    if check:
        small = small_weights(plan, own)
        results += checked_rows(
            text, "lane", plan.target, plan.llvm, small, ("", lambda one: _simulated(one, text, seed))
        )
    results += launched_rows(cast("Any", plan), build, host, output)
    if host is None:
        results[:0] = written_rows("kernel", text, output, level, plan)
    print_report(weights_report(plan, results), as_json, label=13, margin="")
    return int(check and failed(results))


def _simulated(plan: WeightsGemm, text: str, seed: int) -> PlanRow:
    """The kernel's result on random A and weights, against the stated model and against the definition in f64."""
    import numpy as np

    from layoutalg.gemm.numerics import random_inputs
    from layoutalg.gemm.weights import quantise, quantise_float8
    from layoutalg.gemm.weights.numerics import computed, exact
    from layoutalg.gemm.weights.run import check_size

    check_size(plan)
    problem, rng = plan.problem, np.random.default_rng(seed)
    a, b, *others = random_inputs(problem.product, rng)

    def made(matrix: NDArray[Any]) -> QuantisedWeights | Float8Weights:
        if problem.floats:
            return quantise_float8(matrix, problem.b, group=problem.group)
        return quantise(matrix, problem.bits, group=problem.group, zeros=problem.zeros)

    packed = made(b) if problem.product.batch == 1 else [made(matrix) for matrix in b]
    with progress_bar("workgroups") as progress:
        found = plan.simulate(a, packed, *others, text=text, progress=progress)
    modelled = found.tobytes() == computed(problem, a, packed, *others, parts=plan.tiling.split_k).tobytes()
    return compared_row("simulated", found, exact(problem, a, packed, *others), modelled, at="simulated")
