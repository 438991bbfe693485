"""The emitted GEMM, asked of LLVM (does it lower?) and of Intel's compiler (is the machine code what was planned?)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.hosts.spirv import imports_of
from tests.oracle.xe_cpu import run_on_cpu
from tests.oracle.xe_toolchain import listing_of, mlir_opt, shim_of, spirv_of

TILES = [(8, 16), (16, 16), (24, 16), (32, 16), (8, 32), (16, 32), (24, 32), (32, 32)]
SIZES = [(64, 64, 64), (512, 512, 512), (40, 80, 48), (72, 200, 136)]


def for_22(m: int, n: int, k: int, element: str = "f16", tile: tuple[int, int] = (32, 32), **more: int) -> Gemm:
    """A plan for LLVM 22: one subgroup per workgroup, the smallest step of k, 128 registers, no prefetch."""
    return plan_gemm(
        m, n, k, element, tile=tile, subgroups=(1, 1), k_step=16, registers=128, prefetch="none", llvm=22, **more
    )


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("shim")
    kernel = spirv_of(for_22(64, 64, 64).emit("lane"), directory)
    return shim_of(directory, imports_of(kernel.read_bytes()))


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("tile", TILES, ids=lambda tile: f"{tile[0]}x{tile[1]}")
def test_the_machine_code_is_what_was_planned(element: str, tile: tuple[int, int], shim: Path, tmp_path: Path) -> None:
    gemm = for_22(512, 512, 512, element, tile)
    listing = listing_of(spirv_of(gemm.emit("lane"), tmp_path), shim, tmp_path)
    dpas = [line for line in listing.instructions if "dpas" in line]
    assert len(dpas) == gemm.dpas_per_step == tile[0] * tile[1] // 128
    assert all("dpas.8x8" in line and "(16|M0)" in line for line in dpas)
    assert all(f":{'hf' if element == 'f16' else 'bf'}" in line for line in dpas)
    assert listing.count("load_block2d") == tile[0] // 8 + tile[1] // 16
    assert listing.count("store_block2d") == gemm.dpas_per_step
    assert listing.count("calla") == 0
    assert not listing.spills


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_every_size_lowers_with_its_default_tile(element: str, size: tuple[int, int, int], tmp_path: Path) -> None:
    spirv_of(plan_gemm(*size, element, llvm=22).emit("lane"), tmp_path)


def test_llvm_verifies_the_text_as_it_stands(tmp_path: Path) -> None:
    for tile in TILES:
        mlir_opt(for_22(64, 64, 64, "f16", tile).emit("lane"), tmp_path)


def test_a_kernel_that_spills_is_noticed(shim: Path, tmp_path: Path) -> None:
    """Without the promise that the loop runs, a 32x32 tile does not fit in 128 registers."""
    text = for_22(512, 512, 512).emit("lane")
    without = text.replace("to %depth step", "to %k step")
    assert without != text
    assert listing_of(spirv_of(without, tmp_path), shim, tmp_path).spills


CPU_CASES = [
    ((64, 64, 64), (32, 32), "f16"),
    ((64, 64, 64), (16, 32), "bf16"),
    ((40, 80, 48), (8, 16), "f16"),
    ((40, 80, 48), (24, 32), "bf16"),
    ((72, 200, 136), (32, 16), "f16"),
    ((72, 200, 136), (32, 32), "bf16"),
    ((61, 34, 50), (16, 16), "f16"),
]


@pytest.mark.parametrize(("size", "tile", "element"), CPU_CASES, ids=str)
def test_real_work_items_compute_what_the_simulator_does(
    size: tuple[int, int, int], tile: tuple[int, int], element: str, tmp_path: Path
) -> None:
    """Bit for bit: the SPIR-V on Intel's CPU runtime against the emitted text in the simulator."""
    m, n, k = size
    gemm = for_22(m, n, k, element, tile, lda=-(-k // 8) * 8 + 8, ldb=-(-n // 8) * 8, ldc=-(-n // 4) * 4)
    rng = np.random.default_rng(m)
    dtype = {"f16": np.float16, "bf16": bfloat16}[element]
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    assert np.array_equal(run_on_cpu(gemm, a, b, tmp_path), gemm.simulate(a, b))
