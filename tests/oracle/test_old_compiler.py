"""Kernels for users of a stable distribution: LLVM 22 and Debian 12's graphics compiler (IGC 1.0.12504), for pvc.

That compiler lacks the builtins of block messages; `xe_shim` writes them as vISA, and makes the header of a message in parts,
of which all but the place are the same in every step. So the loop has an addition for each message, and little else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.hosts.spirv import imports_of
from tests.oracle.xe_toolchain import Listing, listing_of, shim_of, spirv_of

LARGE = "-cl-intel-256-GRF-per-thread"


def compiled(gemm: Gemm, directory: Path) -> Listing:
    binary = spirv_of(gemm.emit("lane"), directory)
    shim = shim_of(directory, imports_of(binary.read_bytes()))
    return listing_of(binary, shim, directory, options=LARGE if gemm.tiling.registers == 256 else "")


def check(gemm: Gemm, most: float, directory: Path) -> None:
    """The planned products and messages, no spill, no call, and at most so many instructions for each product."""
    listing = compiled(gemm, directory)
    loop = listing.loop
    products = sum("dpas" in line for line in loop)
    asks = [line for line in loop if "load_block2d" in line]
    ahead = [line for line in asks if " null " in line.split("null:0")[0]]
    assert products == gemm.dpas_per_step
    assert len(asks) - len(ahead) == len(gemm.messages)
    assert (len(ahead) > 0) == (gemm.tiling.prefetch == "shared")
    assert not listing.spills
    assert listing.count("calla") == 0
    assert len(loop) / products <= most, f"{gemm.tiling}: {len(loop)} instructions for {products} products"


def planned(element: str, k_step: int, prefetch: str) -> Gemm:
    more = {"tile": (32, 64), "subgroups": (8, 4), "registers": 256, "llvm": 22}
    return plan_gemm(4096, 4096, 4096, element, k_step=k_step, prefetch=prefetch, **more)  # type: ignore[arg-type]


def test_a_tile_of_32_by_64_with_prefetch_has_3_3_instructions_for_each_product(tmp_path: Path) -> None:
    check(planned("f16", 32, "shared"), 3.3, tmp_path)


def test_the_plan_for_llvm_22_is_within_the_same_bound(tmp_path: Path) -> None:
    gemm = plan_gemm(4096, 4096, 4096, "bf16", llvm=22)
    assert gemm.tiling.prefetch == "shared"
    check(gemm, 3.3, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(("k_step", "prefetch", "most"), [(32, "none", 2.8), (64, "none", 2.8), (64, "shared", 3.0)])
def test_other_forms_of_that_tile(element: str, k_step: int, prefetch: str, most: float, tmp_path: Path) -> None:
    check(planned(element, k_step, prefetch), most, tmp_path)
