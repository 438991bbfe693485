"""`layoutalg gemm`: the plan of a matrix product, and its kernel: written, run, checked, compiled and listed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import LLVM_VERSION, OneOf, as_shape, json_option, output_option, print_json
from layoutalg.core.progress import progress_bar

if TYPE_CHECKING:
    from layoutalg.gemm import Gemm

__all__ = ["gemm"]


def _targets() -> Sequence[str]:
    from layoutalg.hardware.chips import target_names

    return target_names(dpas=True)


def _levels() -> Sequence[str]:
    from layoutalg.gemm.plan import LEVELS

    return LEVELS


def _prefetches() -> Sequence[str]:
    from layoutalg.gemm.tiling import PREFETCHES

    return PREFETCHES


def _activations() -> Sequence[str]:
    from layoutalg.gemm.problem import ACTIVATIONS

    return ACTIVATIONS


def _biases() -> Sequence[str]:
    from layoutalg.gemm.problem import BIASES

    return BIASES


@click.command(short_help="Plan a matrix product; write, run, check and list its kernel.")
@click.argument("m", type=int)
@click.argument("n", type=int)
@click.argument("k", type=int)
@click.option("--a", default="f16", show_default=True, help="Element type of A: f16, bf16, tf32, s8 or u8.")
@click.option("--b", default=None, help="Element type of B (A's unless given).")
@click.option("--c", default=None, help="Element type of C in memory (that of the accumulators unless given).")
@click.option("--acc", default=None, help="Type of the accumulators (f32, or s32 for integers).")
@click.option("--target", type=OneOf(_targets), default="pvc", show_default=True, help="The chip.")
@click.option("--trans-a", is_flag=True, help="A lies in memory as K x M.")
@click.option("--trans-b", is_flag=True, help="B lies in memory as N x K.")
@click.option("--batch", type=int, default=1, show_default=True, help="Products of this shape in one launch.")
@click.option("--alpha", type=float, default=1.0, show_default=True, help="What A B is multiplied by.")
@click.option("--beta", type=float, default=0.0, show_default=True, help="What the old C is multiplied by and added.")
@click.option("--bias", type=OneOf(_biases), help="Add a number for every row, or for every column.")
@click.option("--activation", type=OneOf(_activations), help="What is applied at the end.")
@click.option("--tile", help="The tile of C that a subgroup computes, such as 32x64.")
@click.option("--subgroups", help="Subgroups of a workgroup, rows x columns, such as 8x4.")
@click.option("--k-step", type=int, help="How deep a step of the loop is.")
@click.option("--registers", type=int, help="Registers of a thread, 128 or 256.")
@click.option("--prefetch", type=OneOf(_prefetches), help="How data is prefetched.")
@click.option("--distance", type=int, help="How many steps ahead a prefetch asks.")
@click.option("--lda", type=int, help="Elements from one row of A in memory to the next (no padding unless given).")
@click.option("--ldb", type=int, help="Elements from one row of B in memory to the next (no padding unless given).")
@click.option("--ldc", type=int, help="Elements from one row of C to the next (n unless given).")
@click.option("--llvm", type=LLVM_VERSION, default="24", show_default=True, help="The version that the kernel is for.")
@click.option("--emit", "level", type=OneOf(_levels), help="Print the kernel at this level (with -o: write it).")
@click.option("--static", is_flag=True, help="Write the sizes into the kernel as constants.")
@output_option("Write the kernel to a file, at lane level unless --emit says otherwise.")
@click.option("--run", is_flag=True, help="Execute the kernel in the simulator on random matrices.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random matrices.")
@click.option("--check", is_flag=True, help="Ask LLVM, if it is installed, whether it accepts and lowers the kernel.")
@click.option("--listing", is_flag=True, help="Compile the kernel with what is installed, and name each instruction.")
@click.option("--explain", is_flag=True, help="Say what the time is made of, and how C is computed.")
@click.option("--runners-up", type=click.IntRange(0, 100), default=5, show_default=True, help="Tilings that lost.")
@json_option
def gemm(
    m: int,
    n: int,
    k: int,
    tile: str | None,
    subgroups: str | None,
    level: str | None,
    static: bool,
    output: Path | None,
    run: bool,
    seed: int,
    check: bool,
    listing: bool,
    explain: bool,
    runners_up: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Plan C[M, N] = A[M, K] * B[K, N] and print the plan; write, run, check and list its kernel."""
    from layoutalg.core.files import write_file
    from layoutalg.gemm import plan_gemm

    plan = plan_gemm(
        m,
        n,
        k,
        tile=None if tile is None else as_shape(tile),
        subgroups=None if subgroups is None else as_shape(subgroups),
        **options,
    )
    needs_text = level is not None or output is not None or run or check
    text = plan.emit(level or "lane", static=static) if needs_text else ""
    if level is not None and not (output or run or check or listing or explain or as_json):
        print(text, end="")
        return
    facts: dict[str, Any] = {}
    if run:
        facts |= _simulated(plan, text, seed)
    if check:
        facts["llvm_says"] = _llvm_sentence(plan, text, level or "lane")
    if output is not None:  # last, so that a run that fails leaves no file
        write_file(output, text)
        facts["output"] = str(output)
    made = plan.listing() if listing else None
    if as_json:
        from layoutalg.show.gemm import gemm_facts

        if made is not None:
            facts["listing"] = made.as_json()
        kernel = {"kernel": text} if level is not None and output is None else {}
        print_json(gemm_facts(plan, runners_up=runners_up) | facts | kernel)
        return
    _print(plan, facts, runners_up, explain)
    if made is not None:
        print(f"\n{made.text()}")


def _print(plan: Gemm, facts: dict[str, Any], runners_up: int, explain: bool) -> None:
    from rich.console import Console

    from layoutalg.show.gemm import print_plan

    console = Console(markup=False, highlight=False, emoji=False)
    print_plan(plan, console, runners_up=runners_up, explain=explain)
    rows: list[tuple[str, str]] = []
    if "output" in facts:
        rows.append(("kernel", facts["output"]))
    if "largest_difference" in facts:
        difference, value = facts["largest_difference"], facts["largest_value"]
        modelled = "bit for bit what the model says" if facts["as_modelled"] else "NOT what the model says"
        far = f"largest difference from numpy {difference:.3g} (largest element {value:.3g})"
        rows.append(("simulated", f"{modelled}; {far}"))
    if "llvm_says" in facts:
        rows.append((f"LLVM {plan.llvm}", facts["llvm_says"]))
    if rows:
        print()
    for name, value in rows:
        print(f"  {name:12}  {value}")


def _simulated(plan: Gemm, text: str, seed: int) -> dict[str, Any]:
    """The kernel's result on random matrices, against the stated model and against the definition in f64."""
    import numpy as np

    from layoutalg.gemm.numerics import computed, exact, random_inputs
    from layoutalg.gemm.run import check_size

    check_size(plan)
    inputs = random_inputs(plan.problem, np.random.default_rng(seed))
    with progress_bar("workgroups") as progress:
        found = plan.simulate(*inputs, text=text, progress=progress)
    wanted = exact(plan.problem, *inputs)
    return {
        "as_modelled": found.tobytes() == computed(plan.problem, *inputs).tobytes(),
        "largest_difference": float(np.abs(found.astype(np.float64) - wanted).max()),
        "largest_value": float(np.abs(wanted).max()),
    }


def _llvm_sentence(plan: Gemm, text: str, level: str) -> str:
    from layoutalg.ir.installed import llvm_verdict

    verdict = llvm_verdict(text, level, plan.target, llvm=plan.llvm)
    if verdict is None:
        return f"not asked: mlir-opt-{plan.llvm} is not installed (make toolchains)"
    return "accepts the kernel and lowers it to SPIR-V" if verdict.accepted else f"refuses: {verdict.diagnostic}"
