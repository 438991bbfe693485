"""From a kernel's MLIR to SPIR-V and to Xe machine code, with LLVM's and Intel's own tools.

    mlir-opt-22  ->  SPIR-V in a gpu.binary  ->  spirv-val  ->  ocloc link with the shim  ->  ocloc compile  ->  disasm

A green build proves little: a builtin that nobody defines stays in the machine code as a call (`calla`). So what comes
back is a `Listing`, which counts.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.oracle.toolchains import require
from tests.oracle.xe_shim import assembly_source

PIPELINE = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format=bin"
DISASSEMBLER = Path("/usr/lib/x86_64-linux-gnu/libiga64.so.1")


@dataclass(frozen=True)
class Listing:
    """Machine code in text, and what the compiler said about it."""

    text: str
    log: str

    @cached_property
    def instructions(self) -> list[str]:
        return [line for line in self.text.splitlines() if re.match(r"^(\(|\s{4,}[a-z])", line)]

    def count(self, mnemonic: str) -> int:
        return sum(mnemonic in line for line in self.instructions)

    @property
    def spills(self) -> bool:
        """Whether registers are kept in memory: the compiler says so, or scratch messages are there."""
        return "spill" in self.log.lower() or "scratch" in self.text.lower()


def run_tool(command: list[str], directory: Path, text: str | None = None, **environment: str) -> str:
    """The output of a tool; a failure raises with everything that it said."""
    done = subprocess.run(
        command,
        input=text,
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def mlir_opt(text: str, directory: Path, *options: str) -> str:
    """What mlir-opt makes of the text."""
    (directory / "in.mlir").write_text(text)
    run_tool([require("mlir-opt-22"), "in.mlir", "-o", "out.mlir", *options], directory)
    return (directory / "out.mlir").read_text()


def spirv_of(text: str, directory: Path) -> Path:
    """Lower a kernel to a SPIR-V binary that spirv-val accepts."""
    lowered = mlir_opt(text, directory, PIPELINE)
    binary = directory / "kernel.spv"
    binary.write_bytes(payload(lowered))
    run_tool([require("spirv-val"), binary.name], directory)
    return binary


def payload(lowered: str) -> bytes:
    """The binary in the string attribute of gpu.binary: bytes that are not printable characters are written \\XX."""
    found = re.search(r'\b(?:bin|assembly) = "((?:[^"\\]|\\.)*)"', lowered, re.DOTALL)
    assert found is not None, "no gpu.binary in the lowered module"
    escapes = {"\\\\": b"\\", '\\"': b'"', "\\n": b"\n", "\\t": b"\t"}
    parts = re.findall(r"\\[0-9A-Fa-f]{2}|\\.|[^\\]", found.group(1), re.DOTALL)
    return b"".join(
        escapes.get(part) or bytes.fromhex(part[1:]) if part[0] == "\\" else part.encode() for part in parts
    )


def shim_of(directory: Path, device: str = "pvc") -> Path:
    """The shim, compiled to SPIR-V once."""
    (directory / "shim.cl").write_text(assembly_source())
    options = ["-device", device, "-options", "-cl-std=CL1.2", "-out_dir", "shim"]
    run_tool([require("ocloc"), "compile", "-file", "shim.cl", *options], directory)
    return next((directory / "shim").glob("*.spv"))


def listing_of(binary: Path, shim: Path, directory: Path, device: str = "pvc") -> Listing:
    """The machine code of a SPIR-V kernel linked with the shim."""
    ocloc = require("ocloc")
    link = ["link", "-file", str(binary), "-file", str(shim), "-out_format", "LLVM_BC", "-out", "linked.bc"]
    run_tool([ocloc, *link], directory)
    compile_options = ["-file", "linked.bc", "-llvm_input", "-device", device, "-out_dir", "bin"]
    log = run_tool([ocloc, "compile", *compile_options], directory)
    (directory / "so").mkdir(exist_ok=True)
    if not (directory / "so" / "libiga64.so").exists():
        (directory / "so" / "libiga64.so").symlink_to(DISASSEMBLER)
    compiled = str(next((directory / "bin").glob("*.bin")))
    (directory / "dis").mkdir(exist_ok=True)
    disassemble = [ocloc, "disasm", "-file", compiled, "-dump", "dis", "-device", device]
    run_tool(disassemble, directory, LD_LIBRARY_PATH=str(directory / "so"))
    return Listing(next((directory / "dis").glob("*_KernelHeap.asm")).read_text(), log)
