"""The form of kernels at lane level, asked of every LLVM (is it read?) and of the old graphics compiler (how long is it?)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from layoutalg.gemm import plan_gemm
from layoutalg.gemm.hosts.spirv import imports_of
from tests.oracle.toolchains import require, require_new
from tests.oracle.xe_toolchain import listing_of, run_tool, shim_of, spirv_of

TILE: dict[str, Any] = {"tile": (32, 64), "k_step": 64, "subgroups": (8, 4), "registers": 256}


def loop_of(text: str) -> list[str]:
    """The instructions of the loop with the most DPAS among those that prefetch, from its label to its jump back."""
    labels: dict[str, int] = {}
    lines: list[str] = []
    best: list[str] = []
    for line in text.splitlines():
        if label := re.fullmatch(r"(\w+):\s*", line):
            labels[label[1]] = len(lines)
        elif re.match(r"\s*(\([^)]*\))?\s*[a-z]+[\w.]*\s", line) and not line.startswith("//"):
            lines.append(line)
            jump = re.search(r"\bjmpi\b.*?\b(\w+)\s*$", line.split("{")[0].rstrip())
            body = lines[labels[jump[1]] :] if jump and jump[1] in labels else []
            if any(re.search(r"send\S* \(\d+\|M0\)\s+null", one) for one in body):
                best = max(best, body, key=lambda one: sum("dpas" in instruction for instruction in one))
    return best


@pytest.mark.parametrize("form", ["none", "shared", "lines"])
@pytest.mark.parametrize("version", [22, 23, 24])
def test_llvm_reads_every_form(version: int, form: str, tmp_path: Path) -> None:
    program = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    for chip, static in (("bmg", True), ("pvc", False)):
        gemm = plan_gemm(4096, 4096, 4096, target=chip, prefetch=form, distance=2, llvm=version, **TILE)
        (tmp_path / "kernel.mlir").write_text(gemm.emit(static=static), encoding="utf-8")
        run_tool([program, "kernel.mlir"], tmp_path)


def test_the_old_compiler_makes_a_short_loop_of_what_llvm_22_lowers(tmp_path: Path) -> None:
    """Debian 12's graphics compiler, pvc, nothing but the dialect: at most 3.3 instructions per DPAS, with prefetch."""
    gemm = plan_gemm(4096, 4096, 4096, target="pvc", prefetch="shared", distance=1, llvm=22, **TILE)
    kernel = spirv_of(gemm.emit(), tmp_path)
    shim = shim_of(tmp_path, imports_of(kernel.read_bytes()))
    listing = listing_of(kernel, shim, tmp_path, options="-cl-intel-256-GRF-per-thread")
    loop = loop_of(listing.text)
    dpas = sum("dpas" in line for line in loop)
    assert (dpas, listing.count("calla"), listing.spills) == (gemm.dpas_per_step, 0, False)
    assert len(loop) <= 3.3 * dpas, len(loop) / dpas
