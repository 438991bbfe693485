"""Machine code of planned products, by the current graphics compiler: what was planned, what was predicted, and no spill.

Everyday runs compile the default plan and a few tiles; `make exhaustive` every form that has a limit, and every loop that the
register model lets pass.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.listing import Listing, annotated, compile_kernel, counts, read_assembly
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.registers import registers
from layoutalg.gemm.sharing import takes_whole_lines
from layoutalg.gemm.tiling import Tile, Tiling
from tests.oracle.toolchains import require_new

BARS = json.loads((Path(__file__).parent / "data" / "listing_bars.json").read_text(encoding="utf-8"))
LIMITS = [
    pytest.param(bar, chip, id=f"{bar['what']}, {chip}".replace(" ", "_"))
    for bar in BARS
    for chip in bar["most"]
    if "tile" in bar
]


@pytest.fixture(autouse=True)
def _compilers() -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")


def planned(bar: dict[str, Any], chip: str) -> Gemm:
    fixed = {name: bar[name] for name in ("tile", "k_step", "registers", "subgroups")}
    return plan_gemm(4096, 4096, 4096, target=chip, prefetch="shared", **bar.get("problem", {}), **fixed)


def check(listing: Listing, most: float) -> None:
    made, loop = listing.compiled, listing.loop
    assert (made.spilled, made.private, made.unresolved) == (0, 0, 0)
    assert (made.registers, made.lanes) == (listing.tiling.registers, 16)
    assert loop.counts.per_dpas <= most
    assert loop.complete, loop.problems
    seen, said = loop.counts, listing.predicted
    assert (seen.dpas, seen.loads, seen.prefetches) == (said.dpas, said.loads, said.prefetches)
    assert abs(seen.total - said.total) <= 0.05 * seen.total


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
def test_the_default_plan_of_4096_is_better_than_the_hand_written_kernel(chip: str) -> None:
    (bar,) = [bar for bar in BARS if "tile" not in bar]
    listing = plan_gemm(4096, 4096, 4096, target=chip).listing()
    check(listing, bar["most"][chip])
    assert counts_of(listing.compiled.assembly) == (listing.loop.counts.total, listing.loop.counts.dpas)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("bar", "chip"), LIMITS)
def test_every_form_with_a_limit_keeps_it(bar: dict[str, Any], chip: str) -> None:
    check(planned(bar, chip).listing(), bar["most"][chip])


def counts_of(assembly: str) -> tuple[int, int]:
    """Instructions and dpas of the loop with the most of them, read in another way: by the text between label and jump."""
    best = (0, 0, 0)
    lines = [line.strip() for line in assembly.splitlines()]
    for start, line in enumerate(lines):
        if not line.endswith(":"):
            continue
        for end in range(len(lines) - 1, start, -1):
            if re.search(rf"\bjmpi\s+{line[:-1]}\b", lines[end]):
                body = [one for one in lines[start : end + 1] if one and not one.endswith(":") and one[:2] != "//"]
                dpas = sum("dpas.8x8" in one for one in body)
                to_null = sum("send" in one and " null " in one for one in body)
                best = max(best, (dpas, to_null, len(body)))
                break
    return best[2], best[0]


def test_a_listing_whose_registers_are_exchanged_is_not_complete() -> None:
    plan = plan_gemm(4096, 4096, 4096, target="bmg", tile=(16, 32), k_step=32, registers=128, subgroups=(2, 2))
    listing = plan.listing()
    assert listing.loop.complete
    text = listing.compiled.assembly
    products = [one.text for one in listing.compiled.program.inner_loop if one.kind == "dpas"]
    first, other = (re.findall(r"r\d+:hf", products[place])[0] for place in (0, 1))
    assert first != other
    wrong = text.replace(products[0], products[0].replace(first, other))
    found = annotated(read_assembly(wrong), plan.problem, plan.tile)
    assert "dpas 0,0 k 0 is missing" in found.problems


def test_a_message_that_reads_elsewhere_is_noticed() -> None:
    plan = plan_gemm(4096, 4096, 4096, target="bmg", tile=(16, 64), k_step=32, registers=256, subgroups=(2, 2))
    text = plan.listing().compiled.assembly
    assert "flat[A+(0x20,0x0)]" in text
    found = annotated(read_assembly(text.replace("flat[A+(0x20,0x0)]", "flat[A+(0x10,0x0)]")), plan.problem, plan.tile)
    assert not found.complete


SPILLING = [(64, 64, 64, 256), (56, 64, 64, 256), (64, 32, 64, 128), (48, 32, 64, 128)]


@pytest.mark.parametrize(("m", "n", "k", "held"), SPILLING)
def test_tiles_that_the_model_refuses_do_spill(m: int, n: int, k: int, held: int) -> None:
    """Else the model could refuse everything."""
    problem, tiling = Problem.of(4096, 4096, 4096, target="bmg"), Tiling(Tile(m, n, k), (8, 4), held, "shared")
    assert not registers(problem, tiling).fits
    assert compile_kernel(Gemm(problem, tiling).emit("lane"), "bmg", held).spilled > 0


SPILLING_KINDS: list[tuple[str, tuple[int, int, int], tuple[int, int], int, str, dict[str, Any]]] = [
    ("bmg", (40, 64, 64), (8, 4), 256, "shared", {"a": "tf32"}),
    ("bmg", (40, 32, 64), (8, 4), 128, "shared", {"a": "tf32"}),
    ("pvc", (48, 48, 64), (8, 4), 128, "shared", {"acc": "f16"}),
    ("pvc", (56, 48, 256), (8, 4), 256, "none", {"a": "s8", "b": "u8"}),
    ("bmg", (64, 32, 32), (8, 4), 256, "lines", {"a": "tf32"}),
    ("bmg", (64, 48, 128), (8, 4), 256, "lines", {}),
    ("pvc", (48, 48, 128), (1, 1), 256, "lines", {"a": "s8", "b": "u8"}),
    ("pvc", (16, 64, 64), (1, 1), 128, "lines", {"acc": "f16"}),
]


@pytest.mark.parametrize(("chip", "tile", "grid", "held", "prefetch", "kind"), SPILLING_KINDS, ids=str)
def test_loops_of_other_types_and_grids_that_the_model_refuses_do_spill(
    chip: str, tile: tuple[int, int, int], grid: tuple[int, int], held: int, prefetch: str, kind: dict[str, Any]
) -> None:
    problem, tiling = Problem.of(4096, 4096, 4096, target=chip, **kind), Tiling(Tile(*tile), grid, held, prefetch)
    assert not registers(problem, tiling).fits
    assert compile_kernel(Gemm(problem, tiling).emit("lane"), chip, held).spilled > 0


TIGHT: list[tuple[str, tuple[int, int, int], int, str, dict[str, Any]]] = [
    ("pvc", (48, 64, 64), 256, "shared", {}),
    ("bmg", (64, 48, 64), 256, "shared", {}),
    ("pvc", (32, 32, 128), 128, "shared", {}),
    ("bmg", (64, 64, 64), 256, "shared", {"acc": "f16"}),
    ("pvc", (40, 64, 32), 256, "none", {}),
]


@pytest.mark.parametrize(("chip", "tile", "held", "prefetch", "kind"), TIGHT, ids=str)
def test_the_tightest_loops_that_fit_do_not_spill(
    chip: str, tile: tuple[int, int, int], held: int, prefetch: str, kind: dict[str, Any]
) -> None:
    problem, tiling = Problem.of(4096, 4096, 4096, target=chip, **kind), Tiling(Tile(*tile), (8, 4), held, prefetch)
    assert registers(problem, tiling).fits
    assert compile_kernel(Gemm(problem, tiling).emit("lane"), chip, held).fits


PROBLEMS: list[dict[str, Any]] = [
    {"target": "bmg"},
    {"target": "pvc"},
    {"target": "bmg", "a": "bf16", "c": "bf16"},
    {"target": "pvc", "acc": "f16"},
    {"target": "bmg", "a": "s8"},
    {"target": "pvc", "a": "s8", "b": "u8"},
    {"target": "bmg", "a": "tf32"},
    {"target": "pvc", "a": "tf32"},
    {"target": "bmg", "trans_b": True},
    {"target": "pvc", "trans_a": True},
]


def candidates(problem: Problem) -> list[Tiling]:
    """The loops that the search tries and that fit: every tile, depth, register file and form of prefetch."""
    found: list[Tiling] = []
    for m in range(8, 65, 8):
        for n in range(16, 65, 16):
            for depth in (1, 2, 4, 8):
                for held in (128, 256):
                    for prefetch in ("none", "shared", "lines"):
                        k = problem.dpas.k * depth
                        if prefetch != "none" and not takes_whole_lines(problem, k, prefetch):
                            continue
                        tiling = Tiling(Tile(m, n, k), (8, 4), held, prefetch)
                        try:
                            if registers(problem, tiling).fits:
                                found.append(tiling)
                        except PlanError:  # no message brings such a tile
                            continue
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", PROBLEMS, ids=str)
def test_what_fits_never_spills(kind: dict[str, Any]) -> None:
    problem = Problem.of(4096, 4096, 4096, **kind)
    loops = candidates(problem)
    assert len(loops) > 50
    spilled = [
        tiling
        for tiling in loops
        if not compile_kernel(Gemm(problem, tiling).emit("lane"), problem.target, tiling.registers).fits
    ]
    assert not spilled


@pytest.mark.exhaustive
@pytest.mark.parametrize("chip", ["bmg", "pvc"])
def test_messages_of_every_f16_loop_are_as_predicted(chip: str) -> None:
    """dpas, loads and prefetches exactly; the whole loop within 5 % for loops of 64 of k or more."""
    problem = Problem.of(4096, 4096, 4096, target=chip)
    wrong: list[tuple[Tiling, int, int]] = []
    for tiling in candidates(problem):
        if tiling.prefetch == "lines":
            continue
        seen = counts(compile_kernel(Gemm(problem, tiling).emit("lane"), chip, tiling.registers).program.inner_loop)
        said = counted(problem, tiling)
        assert (seen.dpas, seen.loads, seen.prefetches) == (said.dpas, said.loads, said.prefetches), tiling
        if tiling.prefetch == "shared" and tiling.tile.k >= 64 and abs(seen.total - said.total) > 0.05 * seen.total:
            wrong.append((tiling, seen.total, said.total))
    assert not wrong


@pytest.mark.parametrize("ending", ["spv", "zebin"])
def test_a_product_has_the_binary_of_its_target(ending: str, tmp_path: Path) -> None:
    choices: dict[str, Any] = {"tile": (8, 16), "k_step": 16, "subgroups": (1, 1), "registers": 128, "prefetch": "none"}
    for product, target in (("b570", "bmg"), ("140v", "lnl")):
        files = [tmp_path / f"{name}.{ending}" for name in (product, target)]
        for file in files:
            plan_gemm(64, 64, 64, target=file.stem, **choices).build(file)
        assert files[0].read_bytes() == files[1].read_bytes()
