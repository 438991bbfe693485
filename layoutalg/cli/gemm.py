"""`layoutalg gemm`: the plan of a matrix product, and its kernel: written, run, checked, compiled and listed.

Targets are Intel's GPUs, here, and CPUs with AMX (`cli.amx`).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import (
    OneOf,
    chip_meant,
    json_option,
    llvm_option,
    output_option,
    planner_chips,
)
from layoutalg.cli.edited import check_alone, check_options, checked_rows, edited_text, failed
from layoutalg.cli.hosts import check_host, host_option, launched_rows
from layoutalg.cli.targets import (
    AmxOption,
    Asked,
    GpuOption,
    Sectioned,
    amx_targets,
    checked_options,
    compared_row,
    emit_names,
    model_text,
    planner_options,
    print_report,
    target_names,
    written_rows,
)
from layoutalg.core.errors import PlanError
from layoutalg.core.progress import progress_bar
from layoutalg.core.written import as_shape

if TYPE_CHECKING:
    from layoutalg.gemm import Gemm
    from layoutalg.show.plan_report import PlanRow

__all__ = ["gemm"]


@click.command(cls=Sectioned, short_help="Plan a matrix product; write, run, check and list its kernel.")
@click.argument("m", type=int)
@click.argument("n", type=int)
@click.argument("k", type=int)
@click.option("--a", help="Element type of A: f16, bf16, tf32, s8 or u8 (f16 unless given; bf16 with AMX).")
@click.option("--b", default=None, help="Element type of B (A's unless given).")
@click.option("--c", default=None, help="Element type of C in memory (that of the accumulators unless given).")
@click.option(
    "--target",
    type=OneOf(target_names, lambda: planner_chips(able=False), chip_meant),
    metavar="CHIP",
    default="pvc",
    show_default=True,
    help="pvc, bmg, lnl or ptl, or a product such as b570 or max1100; spr, gnr, or amx for any CPU with AMX.",
)
@click.option(
    "--chip",
    type=click.Path(path_type=Path),
    cls=GpuOption,
    help="A file in TOML with the numbers of a board of your own; its kernels are those of the chip that it is like.",
)
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    cls=GpuOption,
    help="A file of measured times: the fastest tiling in it for this problem is planned. --measure adds to it.",
)
@click.option(
    "--measure",
    type=click.IntRange(1, 64),
    metavar="COUNT",
    cls=GpuOption,
    help="Build, check and time so many of the best candidates on this machine's GPU (pyopencl), into --measured.",
)
@planner_options
@llvm_option("The version that the kernel is for.")
@click.option("--static", is_flag=True, cls=GpuOption, help="Write the sizes into the kernel as constants.")
@click.option("--prepacked-b", is_flag=True, cls=AmxOption, help="Write a module that takes B packed.")
@click.option("--native", is_flag=True, cls=AmxOption, help="Compile it and execute it here on random matrices.")
@click.option(
    "--time", "timed", is_flag=True, cls=AmxOption, help="Measure operations per second, on a CPU that has AMX."
)
@click.option(
    "--build",
    type=click.Path(path_type=Path),
    help="Write the kernel's binary, NAME.spv or NAME.zebin (AMX: a shared library and its C header).",
)
@host_option(GpuOption)
@click.option(
    "--emit", "level", type=OneOf(emit_names), help="Print the kernel (with -o: write it); AMX has whole and parts."
)
@output_option(
    "Write the kernel to a file, at lane level (AMX: whole) unless --emit says otherwise; NAME.svg, .png, ...: the picture."
)
@click.option("--run", is_flag=True, help="Execute the kernel in the simulator on random matrices.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="COUNT",
    cls=GpuOption,
    help="Execute so many workgroups, drawn by --seed, and compare what they compute; others must not write.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random matrices.")
@check_options
@click.option("--listing", is_flag=True, help="Compile the kernel with what is installed, and name each instruction.")
@click.option("--explain", is_flag=True, help="Say what the time is made of, and how C is computed.")
@click.option("--runners-up", type=click.IntRange(0, 100), default=5, show_default=True, help="Tilings that lost.")
@json_option
@click.pass_context
def gemm(
    context: click.Context,
    m: int,
    n: int,
    k: int,
    target: str,
    level: str | None,
    output: Path | None,
    run: bool,
    seed: int,
    check: bool,
    listing: bool,
    explain: bool,
    runners_up: int,
    as_json: bool,
    **options: Any,
) -> int:
    """Plan C[M, N] = A[M, K] * B[K, N] and print the plan; write, run, check and list its kernel."""
    given = checked_options(context, target, level, options)
    if given.get("host") is not None:
        check_host(output, level)
    asked = Asked(level, output, run, seed, check, listing, explain, runners_up, as_json)
    if target in amx_targets():
        from layoutalg.cli.amx import amx_gemm

        return amx_gemm((m, n, k), target, asked, given)
    return _gpu_gemm((m, n, k), target, asked, given)


def _gpu_gemm(sizes: tuple[int, int, int], target: str, asked: Asked, options: dict[str, Any]) -> int:
    from layoutalg.gemm import plan_gemm
    from layoutalg.gemm.small_problems import small_products
    from layoutalg.hardware import read_chip
    from layoutalg.show.gemm import gemm_report
    from layoutalg.show.plan_report import row

    static, file, host, build, sample = (options.pop(name) for name in ("static", "chip", "host", "build", "sample"))
    measure, measured, edited = options.pop("measure"), options.pop("measured"), options.pop("edited")
    if sample is not None:
        asked = replace(asked, run=True)
    others = {"emit": asked.level, "output": asked.output, "listing": asked.listing, "build": build, "host": host}
    check_alone(edited, asked.run or asked.check, **others)
    options["a"] = "f16" if options["a"] is None else options["a"]
    for name in ("tile", "subgroups"):
        options[name] = None if options[name] is None else as_shape(options[name])
    chip = None if file is None else read_chip(file)
    if measure is not None:
        _measure(plan_gemm(*sizes, target=target, chip=chip, **options), options, measure, measured)
    plan = plan_gemm(*sizes, target=target, chip=chip, measured=measured, **options)
    given, level = (None, asked.level or "lane") if edited is None else edited_text(edited)
    own = plan.emit(level, static=static) if asked.wants_text else ""
    text = own if given is None else given
    if asked.wants_only_text and build is None:
        print(text, end="")
        return 0
    results: list[PlanRow] = [] if measured is None else [_measured_row(plan, measured)]
    if sample is not None:
        results.append(_sampled(plan, text, asked.seed, sample))
    elif asked.run:
        results.append(_simulated(plan, text, asked.seed))
    if asked.check:
        small = small_products(plan, own, level)
        results += checked_rows(
            text, level, plan.target, plan.llvm, small, ("", lambda one: _simulated(one, text, asked.seed))
        )
    made = plan.listing() if asked.listing else None
    if made is not None:
        results.append(row(listing=made.as_json()))
    results += launched_rows(plan, build, host, asked.output)
    if host is None:
        results[:0] = written_rows("kernel", text, asked.output, asked.level, plan)
    report = gemm_report(plan, results, runners_up=asked.runners_up, explain=asked.explain)
    print_report(report, asked.as_json, "" if made is None else f"\n{made.text()}")
    return int(asked.check and failed(results))


def _measure(plan: Gemm, options: dict[str, Any], count: int, file: Path | None) -> None:
    """Time the best candidates among those that have what was chosen, and keep the times."""
    from layoutalg.gemm.choices import Choices
    from layoutalg.gemm.measuring import measured_by, read_measured, this_machine, top_plans, write_measured
    from layoutalg.gemm.options import TilingOptions, part

    if file is None:
        raise PlanError("--measure: needs --measured FILE, where the times are kept")
    choices = Choices(**part(TilingOptions, options))  # pyright: ignore[reportArgumentType]  it makes pairs of any sequences
    plans = top_plans(plan.problem, count, choices, llvm=plan.llvm, chip=plan.board)
    if file.exists():
        read_measured(file)
    refused: PlanError | None = None
    with progress_bar("candidates") as progress:
        for number, one in enumerate(plans, 1):  # one that fails takes no other's time along
            try:
                write_measured(file, measured_by(this_machine, [one]))
            except PlanError as problem:
                refused = problem
                if number == 1:
                    raise
            progress(number / len(plans))
    if refused is not None:
        click.echo(f"layoutalg: not every candidate was measured; the last that was refused: {refused}", err=True)


def _measured_row(plan: Gemm, file: Path) -> PlanRow:
    """What the file says of the tiling that is planned."""
    from layoutalg.gemm.choices import Choices
    from layoutalg.gemm.measuring import fastest, measured_targets, read_measured
    from layoutalg.show.plan_report import row

    rows = read_measured(file)
    best = fastest(rows, plan.problem, Choices.of(plan.tiling), llvm=plan.llvm)
    if best is None:
        targets = measured_targets(rows)
        why = (
            "this problem with such a tiling"
            if plan.target in targets
            else f"{plan.target}, only for {', '.join(targets)}"
        )
        return row("measured", f"{{measured_file}} has no time for {why}; the model chose", measured_file=str(file))
    return row(
        "measured",
        "{measured_seconds:seconds} a launch on {measured_device}{_driver}, the fastest in {measured_file}",
        measured_seconds=best.seconds,
        measured_device=best.device,
        measured_driver=best.driver,
        measured_file=str(file),
        _driver=f" (driver {best.driver})" if best.driver else "",
    )


def _simulated(plan: Gemm, text: str, seed: int) -> PlanRow:
    """The kernel's result on random matrices, against the stated model and against the definition in f64."""
    import numpy as np

    from layoutalg.gemm.grouped import random_starts
    from layoutalg.gemm.numerics import exact, random_inputs
    from layoutalg.gemm.run import check_size
    from layoutalg.gemm.split_k import computed_by

    check_size(plan)
    random = np.random.default_rng(seed)
    inputs = random_inputs(plan.problem, random)
    starts = random_starts(plan.problem, random) if plan.problem.groups else None
    with progress_bar("workgroups") as progress:
        found = plan.simulate(*inputs, starts=starts, text=text, progress=progress)
    wanted = exact(plan.problem, *inputs, starts=starts)
    modelled = found.tobytes() == computed_by(plan, *inputs, starts=starts).tobytes()
    if starts is not None:  # what no group has stays as it was
        found, wanted = found[starts[0] : starts[-1]], wanted[starts[0] : starts[-1]]
    return compared_row("simulated", found, wanted, modelled)


def _sampled(plan: Gemm, text: str, seed: int, count: int) -> PlanRow:
    """The same of some workgroups alone, and whether anything was written outside of their tiles."""
    import numpy as np

    from layoutalg.gemm.numerics import random_inputs
    from layoutalg.gemm.run import check_size
    from layoutalg.gemm.sampling import drawn, run_sample
    from layoutalg.show.plan_report import row

    check_size(plan)
    workgroups = drawn(plan, count, seed)
    inputs = random_inputs(plan.problem, np.random.default_rng(seed))
    with progress_bar("workgroups") as progress:
        found = run_sample(plan, workgroups, *inputs, text=text, progress=progress)
    said = model_text(found.as_modelled) + ("" if found.untouched else "; elements OUTSIDE of these tiles are written")
    return row(
        "simulated",
        "{sampled} of {workgroups} workgroups, drawn by seed {seed}: " + said + "; largest difference from numpy "
        "{largest_difference:.3g} (largest element {largest_value:.3g})",
        sampled=len(workgroups),
        workgroups=prod(plan.grid),
        seed=seed,
        as_modelled=found.as_modelled,
        untouched=found.untouched,
        largest_difference=found.largest_difference,
        largest_value=found.largest_value,
    )
