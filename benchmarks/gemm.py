"""The loops of matrix products in machine code: layoutalg's plans beside LLVM's own pipeline and a kernel written by hand.

    python benchmarks/gemm.py                  print both tables
    python benchmarks/gemm.py --imex FILE      compile the hand-written kernel too, from a copy of its file
    python benchmarks/gemm.py --measured       measure the table of layoutalg/gemm/measured.py anew and print it (3 minutes)

The first table is 4096^3 in f16 on two chips, side by side in one run: the default plan at lane level; the same plan at
workgroup level, which LLVM's pipeline distributes and unrolls; and the kernel of intel/mlir-extensions, at lane level
(test/Integration/Dialect/XeGPU/SIMT/gemm_4kx4kx4k_f16_f16_f16.mlir). Its file is not part of this repository: without a copy
the figures are those of one measured run (LLVM 23.1.4, ocloc 26.27.039122, 2026-11-22) and say so.

The second table has every form that a limit is set for, with what this machine's compilers make of it. Nothing runs on a GPU:
the numbers are instructions of the inner loop per DPAS, waits and jumps included, as ocloc disassembles it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from layoutalg.core.errors import LayoutError
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.listing import Compiled, compile_kernel, compiler_version, counts
from layoutalg.gemm.measured import DEPTHS
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.registers import registers
from layoutalg.gemm.tiling import Tile, Tiling

BARS = Path(__file__).parents[1] / "tests" / "oracle" / "data" / "listing_bars.json"
CHIPS = ("bmg", "pvc")
HAND_WRITTEN = {"bmg": "1.75 (not run here)", "pvc": "2.24 (not run here)"}
HEAD = "| {} | chip | instructions per dpas | dpas | loads | prefetches | waits | others | spilled bytes | calls |"


def row(what: str, chip: str, made: Callable[[], Compiled]) -> str:
    """A line of the first table; what is refused says why."""
    try:
        found = made()
    except LayoutError as problem:
        return f"| {what} | {chip} | {str(problem)[:90]} | | | | | | | |"
    loop = counts(found.program.inner_loop)
    others = loop.stores + loop.movs + loop.adds + loop.others
    cells = [what, chip, f"{loop.per_dpas:.2f}", loop.dpas, loop.loads, loop.prefetches, loop.syncs, others]
    return "| " + " | ".join(map(str, [*cells, found.spilled + found.private, found.unresolved])) + " |"


def side_by_side(imex: Path | None) -> str:
    """The default plan of 4096^3 f16 beside the others."""
    lines = [HEAD.format("4096^3 f16"), "|---|---|" + "---:|" * 8]
    for chip in CHIPS:
        plan = plan_gemm(4096, 4096, 4096, target=chip)
        lines.append(row(f"layoutalg, {plan.tile}", chip, partial(emitted, plan, "lane")))
        lines.append(row("LLVM 24's pipeline from the workgroup level", chip, partial(emitted, plan, "workgroup")))
        if imex is None:
            lines.append(f"| by hand (mlir-extensions) | {chip} | {HAND_WRITTEN[chip]} | | | | | | | |")
        else:
            made = partial(compile_kernel, imex.read_text(encoding="utf-8"), chip, 256, llvm=23)
            lines.append(row("by hand (mlir-extensions)", chip, made))
    return "\n".join(lines)


def emitted(plan: Any, level: str) -> Compiled:
    """A plan's kernel, compiled from one of its levels."""
    return compile_kernel(plan.emit(level), plan.target, plan.tiling.registers, level=level)


def bars() -> str:
    """Every form with a limit: the most instructions per dpas, what was seen and what was predicted."""
    lines = ["| form | chip | at most | seen | predicted | spilled bytes | calls |", "|---|---|" + "---:|" * 5]
    for bar in json.loads(BARS.read_text(encoding="utf-8")):
        for chip, most in bar["most"].items():
            try:
                listing = planned(bar, chip).listing()
            except LayoutError as problem:
                lines.append(f"| {bar['what']} | {chip} | {most} | {str(problem)[:90]} | | | |")
                continue
            seen, said, made = listing.loop.counts, listing.predicted, listing.compiled
            sign = "" if seen.per_dpas <= most and made.fits else " !"
            cells = [bar["what"], chip, most, f"{seen.per_dpas:.2f}{sign}", f"{said.per_dpas:.2f}", made.spilled]
            lines.append("| " + " | ".join(map(str, [*cells, made.unresolved])) + " |")
    return "\n".join(lines)


def planned(bar: dict[str, Any], chip: str) -> Any:
    """The plan that a limit is about."""
    if "tile" not in bar:
        return plan_gemm(4096, 4096, 4096, target=chip)
    fixed = {name: bar[name] for name in ("tile", "k_step", "registers", "subgroups")}
    return plan_gemm(4096, 4096, 4096, target=chip, prefetch="shared", **bar.get("problem", {}), **fixed)


def measured() -> str:
    """The table of `layoutalg.gemm.measured`, from this machine's compilers: tiles of f16 that fit, 8x4 subgroups."""
    lines: list[str] = []
    for chip in CHIPS:
        for held in (128, 256):
            lines.append(f"{chip} {held}:")
            for m in range(8, 65, 8):
                for n in range(16, 65, 16):
                    found = [_loop(chip, held, Tile(m, n, k)) for k in DEPTHS]
                    if set(found) == {"x"}:
                        continue
                    cell = f" {m}x{n} {','.join(found)};"
                    if len(lines[-1]) + len(cell) > 118:
                        lines.append("  ")
                    lines[-1] += cell
    return "\n".join(lines)


def _loop(chip: str, held: int, tile: Tile) -> str:
    """The waits of a loop, and how many more instructions address its messages than the rule says; x where it does not fit."""
    problem, tiling = Problem.of(4096, 4096, 4096, target=chip), Tiling(tile, (8, 4), held, "shared")
    if not registers(problem, tiling).fits:
        return "x"
    made = compile_kernel(Gemm(problem, tiling).emit("lane"), chip, held)
    if not made.fits:
        return "x"
    seen, said = counts(made.program.inner_loop), counted(problem, tiling, by_rule=True)
    extra = seen.movs + seen.adds + seen.others + seen.stores - said.addresses - said.control
    return f"{seen.syncs}{extra:+d}" if extra else str(seen.syncs)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imex", type=Path, help="a copy of the hand-written kernel's file")
    parser.add_argument("--measured", action="store_true", help="measure the table of loops anew")
    given = parser.parse_args()
    if given.measured:
        print(measured())
        return
    print(f"LLVM 24, ocloc {compiler_version() or 'not installed'}; nothing runs on a GPU.\n")
    print(side_by_side(given.imex))
    print()
    print(bars())


if __name__ == "__main__":
    main()
