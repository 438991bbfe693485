"""From an emitted conversion with inline vISA to Xe machine code: the way around `--gpu-lower-to-xevm-pipeline`.

    mlir-opt, binary-format=llvm  ->  LLVM bitcode in a gpu.binary  ->  llc -spirv-ext=+SPV_INTEL_inline_assembly  ->  ocloc

The pipeline's own step from LLVM to SPIR-V has a fixed list of extensions without that one ("Inline assembly instructions
require the following SPIR-V extension: SPV_INTEL_inline_assembly", LLVM 23 and 24). llc of LLVM 22 takes an assembly with one
result alone ("unable to translate instruction: call"), so bitcode of any version goes through llc-23 or llc-24.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.oracle.conversion_cpu import listings_of, merged
from tests.oracle.toolchains import require, require_new
from tests.oracle.xe_toolchain import Listing, payload, run_tool

OLD, NEW_PVC, NEW_BMG = "Debian's ocloc, pvc", "today's ocloc, pvc", "today's ocloc, bmg"


def spirv_with_assembly(texts: Sequence[str], directory: Path, llvm: int = 22, llc: int = 23) -> Path:
    """The SPIR-V of several kernels with inline assembly."""
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    (directory / "kernel.mlir").write_text(merged(texts))
    pipeline = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format=llvm"
    run_tool([program, "kernel.mlir", pipeline, "-o", "lowered.mlir"], directory)
    (directory / "kernel.bc").write_bytes(payload((directory / "lowered.mlir").read_text()))
    options = ["-O2", "-mtriple=spirv64-unknown-unknown", "-spirv-ext=+SPV_INTEL_inline_assembly", "-filetype=obj"]
    run_tool([require_new(f"llc-{llc}"), *options, "kernel.bc", "-o", "kernel.spv"], directory)
    return directory / "kernel.spv"


def listings(texts: Sequence[str], directory: Path) -> dict[str, dict[str, Listing]]:
    """The machine code of kernels with inline assembly, by compiler and kernel."""
    binary = spirv_with_assembly(texts, directory)
    return {
        OLD: listings_of(binary, directory, "pvc"),
        NEW_PVC: _new_listings(binary, directory, "pvc"),
        NEW_BMG: _new_listings(binary, directory, "bmg"),
    }


def _new_listings(binary: Path, directory: Path, device: str) -> dict[str, Listing]:
    ocloc, out = require_new("ocloc"), f"new_{device}"
    compiling = ["compile", "-file", str(binary), "-spirv_input", "-device", device, "-out_dir", out]
    log = run_tool([ocloc, *compiling], directory)
    compiled = str(next((directory / out).glob("*.bin")))
    run_tool([ocloc, "disasm", "-file", compiled, "-dump", f"{out}_dis", "-device", device], directory)
    found = (directory / f"{out}_dis").glob(".text.*.asm")
    return {path.name.removeprefix(".text.").removesuffix(".asm"): Listing(path.read_text(), log) for path in found}


_MOVE = re.compile(r"mov \((\d+)\|M0\)\s+r(\d+)\.(\d+)<(\d+)>:(\w+)\s+r(\d+)\.(\d+)<(\d+);(\d+),(\d+)>:(\w+)", re.ASCII)
_LOAD = re.compile(r"send\.ugm \(16\|M0\)\s+r(\d+)\s+r\d+\s.*// wr:\d+\+0, rd:(\d+)", re.ASCII)
_STORE = re.compile(r"send\.ugm \(16\|M0\)\s+null\s+r\d+\s+r(\d+):(\d+)", re.ASCII)
_BYTES = {"b": 1, "ub": 1, "w": 2, "uw": 2, "d": 4, "ud": 4, "f": 4, "hf": 2, "bf": 2}
_REGISTER = 64


def executed(listing: Listing, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The words `[word, lane]` that a kernel of 16 lanes stores, where it loads these: its moves, one after another.

    A register has 64 bytes; `r8.4<8;2,1>:uw` begins at its element 4 of 16 bits, and rows of 2 begin 8 apart (Intel's PRM,
    "Register Region Parameters"). Loads and stores have a register for each word of a lane. Compilers give loads registers
    in the order of their addresses, and put stores in that order.
    """
    file = np.zeros(256 * _REGISTER, np.uint8)
    loaded, stored = 0, list[NDArray[np.uint8]]()
    loads = sorted((int(found[1]), int(found[2])) for line in listing.instructions if (found := _LOAD.search(line)))
    for first, count in loads:
        given = np.ascontiguousarray(words[loaded : loaded + count]).view(np.uint8).reshape(-1)
        file[first * _REGISTER : first * _REGISTER + given.size] = given
        loaded += count
    for line in listing.instructions:
        if (found := _STORE.search(line)) is not None:
            first, count = int(found[1]), int(found[2])
            stored.append(file[first * _REGISTER : (first + count) * _REGISTER].copy())
        elif (found := _MOVE.search(line)) is not None and found[5] in _BYTES and found[11] in _BYTES:
            size, wide = _BYTES[found[5]], _BYTES[found[11]]
            length, to, column, stride = (int(found[i]) for i in (1, 2, 3, 4))
            source, start, apart, width, inside = (int(found[i]) for i in (6, 7, 8, 9, 10))
            numbers = np.arange(length)
            written = to * _REGISTER + (column + numbers * stride)[:, None] * size + np.arange(size)
            read = source * _REGISTER + (start + numbers // width * apart + numbers % width * inside)[:, None] * wide
            value = np.zeros(
                (length, max(size, wide)), np.uint8
            )  # a wider element begins with the bytes of a narrow one
            value[:, :wide] = file[read + np.arange(wide)]
            file[written] = value[:, :size]
    assert loaded == len(words)
    return np.concatenate(stored).view("<u4").reshape(-1, 16)
