"""From a kernel's MLIR to SPIR-V and to Xe machine code, with LLVM's and Intel's own tools.

    mlir-opt  ->  SPIR-V in a gpu.binary  ->  spirv-val  ->  ocloc link with the shim  ->  ocloc compile  ->  disasm

LLVM 22 leaves SPIR-V in its binary; 23 and 24 would start Intel's compiler, and leave SPIR-V where they are asked for `isa`.
What they write has capabilities that Debian's spirv-val doesn't know, so that one sees what 22 writes.

A green build proves little: a builtin that nobody defines stays in the machine code as a call (`calla`). So what comes
back is a `Listing`, which counts.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from layoutalg.gemm.hosts.builtins import builtins_of
from tests.oracle.toolchains import require, require_new
from tests.oracle.xe_shim import assembly_source

PIPELINE = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format=bin"
PIPELINES = {22: PIPELINE, 23: PIPELINE.replace("=bin", "=isa"), 24: PIPELINE.replace("=bin", "=isa")}
"""What makes SPIR-V, by LLVM's version."""
DISASSEMBLER = Path("/usr/lib/x86_64-linux-gnu/libiga64.so.1")


@dataclass(frozen=True)
class Listing:
    """Machine code in text, and what the compiler said about it."""

    text: str
    log: str

    @cached_property
    def instructions(self) -> list[str]:
        return [line for line in self.text.splitlines() if re.match(r"^(\(|\s{4,}[a-z])", line)]

    @cached_property
    def loop(self) -> list[str]:
        """The instructions from a label to the jump back to it, of the loop with most products; of two, the longer one."""
        labels, lines, loops = dict[str, int](), list[str](), list[list[str]]()
        for line in self.text.splitlines():
            label = re.match(r"(\w+):\s*$", line)
            if label is not None:
                labels[label[1]] = len(lines)
            elif re.match(r"^(\(|\s{4,}[a-z])", line):
                lines.append(line)
                target = re.search(r"\b(?:jmpi|while|goto|brc?)\b.*\b(L\d+)\b", line)
                if target is not None and target[1] in labels:
                    loops.append(lines[labels[target[1]] :])
        return max(loops, key=lambda loop: (sum("dpas" in line for line in loop), len(loop)), default=list[str]())

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


def spirv_of(text: str, directory: Path, llvm: int = 22) -> Path:
    """Lower a kernel to a SPIR-V binary; spirv-val accepts what LLVM 22 writes."""
    return spirv_of_all([text], directory, llvm)[0]


def spirv_of_all(
    texts: Sequence[str],
    directory: Path,
    llvm: int = 22,
    name: str = "kernel",
    passes: Sequence[str] = (),
    level: str = "lane",
) -> list[Path]:
    """Lower several modules in one run of mlir-opt; files `kernel.spv`, `kernel_1.spv`, ... in the order of the texts.

    `passes` are options of mlir-opt that come before the pipeline; `level` is that of the text.
    """
    compiler = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    (directory / f"{name}.mlir").write_text("\n// -----\n".join(texts))
    pipeline = PIPELINES[llvm].replace("xegpu-op-level=lane", f"xegpu-op-level={level}")
    options = ["--split-input-file", *passes, pipeline, f"{name}.mlir", "-o", f"{name}.lowered.mlir"]
    run_tool([compiler, *options], directory)
    found = list(payloads((directory / f"{name}.lowered.mlir").read_text()))
    assert len(found) == len(texts), f"{len(texts)} modules, {len(found)} binaries"
    paths = [directory / (f"{name}_{number}.spv" if number else f"{name}.spv") for number in range(len(found))]
    for path, content in zip(paths, found, strict=True):
        path.write_bytes(content)
        if llvm == 22:
            run_tool([require("spirv-val"), path.name], directory)
    return paths


def payload(lowered: str) -> bytes:
    """The binary of the first gpu.binary."""
    found = next(payloads(lowered), None)
    assert found is not None, "no gpu.binary in the lowered module"
    return found


def payloads(lowered: str) -> Iterator[bytes]:
    """The string attribute of each gpu.binary: bytes that are not printable characters are written \\XX."""
    escapes = {"\\\\": b"\\", '\\"': b'"', "\\n": b"\n", "\\t": b"\t"}
    for found in re.finditer(r'\b(?:bin|assembly|offload) = "((?:[^"\\]|\\.)*)"', lowered, re.DOTALL):
        parts = re.findall(r"\\[0-9A-Fa-f]{2}|\\.|[^\\]+", found.group(1), re.DOTALL)
        yield b"".join(
            escapes.get(part) or bytes.fromhex(part[1:]) if part[0] == "\\" else part.encode() for part in parts
        )


def shim_of(directory: Path, names: Iterable[str], device: str = "pvc") -> Path:
    """Bodies for the builtins among these names, compiled to SPIR-V."""
    (directory / "shim.cl").write_text(assembly_source(builtins_of(names)))
    options = ["-device", device, "-options", "-cl-std=CL1.2", "-out_dir", "shim"]
    run_tool([require("ocloc"), "compile", "-file", "shim.cl", *options], directory)
    return next((directory / "shim").glob("*.spv"))


def machine_code(binary: Path, shim: Path, directory: Path, device: str = "pvc", options: str = "") -> str:
    """Compile a SPIR-V module linked with the shim; listings of its kernels go to `dis`, and the compiler's words come back."""
    ocloc = require("ocloc")
    link = ["link", "-file", str(binary), "-file", str(shim), "-out_format", "LLVM_BC", "-out", "linked.bc"]
    run_tool([ocloc, *link], directory)
    compile_options = ["-file", "linked.bc", "-llvm_input", "-device", device, "-out_dir", "bin"]
    if options:
        compile_options += ["-options", options]
    log = run_tool([ocloc, "compile", *compile_options], directory)
    (directory / "so").mkdir(exist_ok=True)
    if not (directory / "so" / "libiga64.so").exists():
        (directory / "so" / "libiga64.so").symlink_to(DISASSEMBLER)
    compiled = str(next((directory / "bin").glob("*.bin")))
    (directory / "dis").mkdir(exist_ok=True)
    disassemble = [ocloc, "disasm", "-file", compiled, "-dump", "dis", "-device", device]
    run_tool(disassemble, directory, LD_LIBRARY_PATH=str(directory / "so"))
    return log


def listing_of(binary: Path, shim: Path, directory: Path, device: str = "pvc", options: str = "") -> Listing:
    """The machine code of the only kernel of a SPIR-V module linked with the shim."""
    log = machine_code(binary, shim, directory, device, options)
    return Listing(next((directory / "dis").glob("*_KernelHeap.asm")).read_text(), log)
