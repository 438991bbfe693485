"""Packed products: what block reads of packed memory deliver is what DPAS takes, and the graphics compiler agrees."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm.listing.compiling import _binary  # pyright: ignore[reportPrivateUsage]
from layoutalg.gemm.packed import PackedGemm, plan_packed
from tests.oracle.toolchains import require_new, run

NUMBERS = {"f16": np.float16, "bf16": np.uint16, "s8": np.int8, "u8": np.uint8}


def multiplied(plan: PackedGemm, a: Any, b: Any) -> Any:
    """What the kernel computes from packed memory: block reads word by word, and sums over the depth of each DPAS.

    Source of the operands on 8 lanes: cl_intel_subgroup_matrix_multiply_accumulate. A: word r of lane l has row r, columns
    l * each and on; B: word r of lane l has column l, rows r * each and on.
    """
    tile, (rows, columns) = plan.tiling.tile, plan.blocks
    m, n, _ = plan.padded
    each = 4 // a.itemsize
    words_a = plan.pack("A", a).reshape(
        m // tile.m, plan.steps, rows, 8, 8, each
    )  # tile, step, fragment, r, lane, in a word
    words_b = plan.pack("B", b).reshape(n // tile.n, plan.steps, columns, 8, 8, each)
    of_a = words_a.transpose(0, 2, 3, 1, 4, 5).reshape(m, -1)
    of_b = words_b.transpose(1, 3, 5, 0, 2, 4).reshape(-1, n)
    return of_a.astype(np.int64) @ of_b.astype(np.int64)


@pytest.mark.parametrize("types", [("f16",), ("s8",), ("u8", "s8")], ids="-".join)
@pytest.mark.parametrize(
    ("shape", "tile", "subgroups"),
    [((8, 8, 32), (8, 8), (1, 1)), ((37, 50, 70), (16, 24), (2, 1)), ((100, 90, 33), (40, 32), (1, 2))],
)
def test_packed_memory_read_as_dpas_takes_it_gives_the_product(
    types: tuple[str, ...], shape: tuple[int, int, int], tile: tuple[int, int], subgroups: tuple[int, int]
) -> None:
    m, n, k = shape
    plan = plan_packed(m, n, k, types[0], types[-1], tile=tile, subgroups=subgroups, registers=256)
    rng = np.random.default_rng(3)
    a = rng.integers(0, 7, (m, k)).astype(NUMBERS[types[0]])
    b = rng.integers(-3 if types[-1] != "u8" else 0, 7, (k, n)).astype(NUMBERS[types[-1]])
    found = multiplied(plan, a, b)
    assert (found[:m, :n] == a.astype(np.int64) @ b.astype(np.int64)).all()
    assert not found[m:].any()
    assert not found[:, n:].any()


@pytest.mark.parametrize("operand", ["A", "B"])
def test_every_element_has_a_place_of_its_own(operand: str) -> None:
    plan = plan_packed(64, 96, 64, "bf16", tile=(16, 24), subgroups=(2, 2))
    places = plan.layouts[operand].owner_map("addr")
    assert sorted(places.ravel().tolist()) == list(range(places.size))


@pytest.mark.parametrize(
    ("types", "tile", "registers"),
    [(("f16", "f16"), None, None), (("bf16", "bf16"), (32, 16), 128), (("s8", "u8"), (16, 16), 128)],
)
def test_the_graphics_compiler_makes_the_planned_code_of_it(
    types: tuple[str, str], tile: tuple[int, int] | None, registers: int | None, tmp_path: Path
) -> None:
    lowering, ocloc = require_new("mlir-opt-24"), require_new("ocloc")
    plan = plan_packed(4096, 4096, 4096, *types, tile=tile, registers=registers)
    source, lowered, binary = tmp_path / "kernel.mlir", tmp_path / "lowered.mlir", tmp_path / "kernel.bin"
    source.write_text(plan.emit())
    large = " igc-cmd-options=-ze-opt-large-register-file" if plan.tiling.registers == 256 else ""
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=dg2{large}"
    path = f"PATH={Path(ocloc).parent}{os.pathsep}{os.environ['PATH']}"
    done = run(["env", path, lowering, str(source), pipeline, "-o", str(lowered)])
    assert done.returncode == 0, done.stderr
    binary.write_bytes(_binary(lowered.read_text()))
    done = run([ocloc, "disasm", "-file", str(binary), "-dump", str(tmp_path / "dump"), "-device", "dg2"])
    listing = (tmp_path / "dump" / ".text.gemm.asm").read_text()
    told = (tmp_path / "dump" / ".ze_info").read_text()
    assert "simd_size:       8" in told
    assert f"grf_count:       {plan.tiling.registers}" in told
    assert "spill_size" not in told
    assert "calla" not in listing
    products = re.findall(r"^\s+dpas\.8x8 \(8\|M0\).*$", listing, re.MULTILINE)
    # Before some chains of products the compiler issues one on registers of its own that adds to nothing: their source is null.
    assert len([line for line in products if "null:" not in line]) == plan.dpas_per_step


def test_what_is_not_planned_is_said() -> None:
    with pytest.raises(la.PlanError, match="dg2 has no 2D block messages: its A and B must be packed"):
        la.plan_gemm(64, 64, 64, target="dg2")
    with pytest.raises(la.PlanError, match="'pvc' has 2D block messages: plan_gemm plans products for it"):
        plan_packed(64, 64, 64, target="pvc")
    with pytest.raises(la.PlanError, match="dpas tf32 x tf32 -> f32 on dg2: no such instruction"):
        plan_packed(64, 64, 64, "tf32")
    with pytest.raises(la.PlanError, match="tile 64x64 with 1x1 subgroups: A, B and C need 640 registers"):
        plan_packed(64, 64, 64, tile=(64, 64))
    with pytest.raises(la.PlanError, match="12 rows are not a multiple of the 8"):
        plan_packed(64, 64, 64, tile=(12, 16))
    with pytest.raises(la.PlanError, match="registers"):
        plan_packed(64, 64, 64, registers=64)
    with pytest.raises(la.PlanError, match="level 'workgroup' on dg2"):
        plan_packed(64, 64, 64).emit("workgroup")
    with pytest.raises(la.PlanError, match=r"A of shape \(3, 3\): expected \(64, 64\)"):
        plan_packed(64, 64, 64).pack("A", np.zeros((3, 3)))
    assert plan_packed(64, 64, 50).padded[2] == 64  # any pitch: packed memory is ours
