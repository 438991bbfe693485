"""`layoutalg gemm`: the plan of a matrix product, and its kernel: written, run, checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import OneOf, as_shape, json_option, output_option, print_json
from layoutalg.cli.progress import progress_bar

if TYPE_CHECKING:
    from layoutalg.gemm import Gemm

__all__ = ["gemm"]


def _targets() -> Sequence[str]:
    from layoutalg.hardware.chips import target_names

    return target_names(dpas=True)


def _levels() -> Sequence[str]:
    from layoutalg.gemm.plan import LEVELS

    return LEVELS


@click.command(short_help="Plan a matrix product; write, run and check its kernel.")
@click.argument("m", type=int)
@click.argument("n", type=int)
@click.argument("k", type=int)
@click.option("--a", "a_type", default="f16", show_default=True, help="Element type of A.")
@click.option("--b", "b_type", default=None, help="Element type of B (A's unless given).")
@click.option("--c", "c_type", default=None, help="Element type of C (that of the accumulators unless given).")
@click.option("--target", type=OneOf(_targets), default="pvc", show_default=True, help="The chip.")
@click.option("--tile", default=None, help="The tile of C that a subgroup computes, such as 32x32.")
@click.option("--lda", type=int, help="Elements from one row of A to the next (k unless given).")
@click.option("--ldb", type=int, help="Elements from one row of B to the next (n unless given).")
@click.option("--ldc", type=int, help="Elements from one row of C to the next (n unless given).")
@click.option(
    "--emit", "level", type=OneOf(_levels), default="lane", show_default=True, help="The level of the kernel."
)
@output_option("Write the kernel to a file.")
@click.option("--run", is_flag=True, help="Execute the kernel in the simulator on random matrices.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random matrices.")
@click.option(
    "--check", is_flag=True, help="Ask LLVM 22, if it is installed, whether it accepts and lowers the kernel."
)
@json_option
def gemm(
    m: int,
    n: int,
    k: int,
    a_type: str,
    b_type: str | None,
    c_type: str | None,
    target: str,
    tile: str | None,
    lda: int | None,
    ldb: int | None,
    ldc: int | None,
    level: str,
    output: Path | None,
    run: bool,
    seed: int,
    check: bool,
    as_json: bool,
) -> None:
    """Plan C[M, N] = A[M, K] * B[K, N], print the plan, and write, run and check its kernel."""
    from layoutalg.core.files import write_file
    from layoutalg.gemm import plan_gemm

    plan = plan_gemm(
        m,
        n,
        k,
        a_type,
        b_type,
        c_type,
        target,
        tile=None if tile is None else as_shape(tile),
        lda=lda,
        ldb=ldb,
        ldc=ldc,
    )
    text = plan.emit(level)
    facts = _plan_facts(plan)
    if run:
        facts["largest_difference"], facts["largest_value"] = _largest_difference(plan, text, seed)
    if check:
        facts["llvm"] = _llvm_sentence(text, level)
    if output is not None:  # last, so that a run that fails leaves no file
        write_file(output, text)
        facts["output"] = str(output)
    if as_json:
        print_json(facts | ({} if output is not None else {"kernel": text}))
        return
    _print_plan(facts)
    if output is None and not run and not check:
        print(text)


def _plan_facts(plan: Gemm) -> dict[str, Any]:
    registers = plan.registers
    return {
        "problem": {name: getattr(plan.problem, name) for name in ("m", "n", "k", "a", "b", "c")},
        "heading": str(plan.problem),
        "target": plan.target,
        "tile": [plan.tile.m, plan.tile.n, plan.tile.k],
        "grid": list(plan.grid),
        "workgroup": list(plan.workgroup),
        "k_steps": plan.k_steps,
        "dpas_per_step": plan.dpas_per_step,
        "dpas_total": plan.dpas_total,
        "bytes_per_step": plan.bytes_per_step,
        "registers": {"used": registers.used, "available": registers.available},
        "fragments": {
            f.name: {
                "block": list(f.block),
                "count": f.count,
                "vector": f.vector,
                "fragment_shape": list(f.layout.fragment_shape),
                "layout": str(f.layout),
            }
            for f in plan.fragments
        },
    }


def _print_plan(facts: dict[str, Any]) -> None:
    registers = facts["registers"]

    def by(sizes: Sequence[int]) -> str:
        return "x".join(map(str, sizes))

    rows = [
        ("problem", facts["heading"]),
        ("tile", f"{by(facts['tile'])} (m x n x k) per subgroup, one subgroup per workgroup"),
        (
            "grid",
            f"{by(facts['grid'])} workgroups of {by(facts['workgroup'])} work-items, {facts['k_steps']} steps over k",
        ),
        ("dpas", f"{facts['dpas_per_step']} per step, {facts['dpas_total']} in all"),
        ("loads", f"{facts['bytes_per_step']} bytes per step and subgroup"),
        ("registers", f"{registers['used']} of {registers['available']} per subgroup"),
    ]
    for name, fragment in facts["fragments"].items():
        lane = f"{by(fragment['fragment_shape'])} per lane ({fragment['vector']})"
        rows.append((f"{name}", f"{fragment['count']} x {by(fragment['block'])}, {lane}: {fragment['layout']}"))
    if "output" in facts:
        rows.append(("kernel", facts["output"]))
    if "largest_difference" in facts:
        difference, value = facts["largest_difference"], facts["largest_value"]
        rows.append(("simulated", f"largest difference from numpy {difference:.3g} (largest element {value:.3g})"))
    if "llvm" in facts:
        rows.append(("LLVM 22", facts["llvm"]))
    for name, value in rows:
        print(f"{name:10}{value}")


def _largest_difference(plan: Gemm, text: str, seed: int) -> tuple[float, float]:
    """The kernel's result on random matrices against numpy's product of the same numbers in f64."""
    import numpy as np

    from layoutalg.gemm.run import check_size
    from layoutalg.simulate import numpy_type

    check_size(plan)

    random = np.random.default_rng(seed)
    a = random.standard_normal((plan.m, plan.k)).astype(numpy_type(plan.element_of("A")))
    b = random.standard_normal((plan.k, plan.n)).astype(numpy_type(plan.element_of("B")))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    with progress_bar("workgroups") as progress:
        found = plan.simulate(a, b, text=text, progress=progress)
    return float(np.abs(found - exact).max()), float(np.abs(exact).max())


def _llvm_sentence(text: str, level: str) -> str:
    from layoutalg.ir.installed import MLIR_OPT, llvm_verdict

    verdict = llvm_verdict(text, level)
    if verdict is None:
        return f"not asked: {MLIR_OPT} is not installed (make toolchains)"
    return "accepts the kernel and lowers it to SPIR-V" if verdict.accepted else f"refuses: {verdict.diagnostic}"
