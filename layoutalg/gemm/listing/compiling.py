"""A kernel's text through LLVM and Intel's graphics compiler to machine code, with what the compiler says about registers.

    mlir-opt-24 --gpu-lower-to-xevm-pipeline  ->  (runs ocloc)  ->  ELF in a gpu.binary  ->  ocloc disasm  ->  .asm, .ze_info

mlir-opt runs the `ocloc` that it finds on its PATH; here that is the one of `make toolchains`, because a distribution's own
may be years older and not know the chip. A green build proves little: a builtin that nobody defines stays in the machine code
as a call (`calla`), and registers that don't fit are kept in memory without a word. `Compiled` says both.

>>> from layoutalg.ir.installed import program_path
>>> compile_kernel("module {}", "bmg", 96)
Traceback (most recent call last):
layoutalg.core.errors.PlanError: registers 96: a thread has 128 or 256
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shortened, shown
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.listing.reading import Program, read_assembly
from layoutalg.hardware.xe_products import product_target
from layoutalg.ir.installed import program_path

__all__ = ["Compiled", "compile_kernel", "compiler_version", "kernel_binary"]

CHIPS = {
    "pvc": ("pvc", "pvc"),
    "bmg": ("bmg", "bmg"),
    "lnl": ("bmg", "lnl-m"),
    "lnl-m": ("bmg", "lnl-m"),
    "ptl": ("bmg", "ptl-h"),
}
"""The chips whose kernels go through this route: the one that LLVM lowers for, and ocloc's name of the device.

LLVM 23 and 24 lower dpas for pvc and bmg alone ("failed to legalize operation 'xegpu.dpas'" for lnl and lnl-m). A kernel for
lnl, the same generation as bmg, is lowered for bmg; its SPIR-V is then compiled for lnl-m. So it is for ptl, whose messages
and matrix instructions are the same. A product is compiled as its target.
"""
VERSIONS = (23, 24)
LARGE = "-ze-opt-large-register-file"
"""Asks Intel's graphics compiler for 256 registers a thread."""
_SECONDS = 120.0
ELF, SPIRV = b"\x7fELF", b"\x03\x02\x23\x07"
"""How machine code and SPIR-V begin."""
_UNPACKED = "`make toolchains` in a checkout of layoutalg unpacks it"
_LEVELS = ("lane", "subgroup", "workgroup")


@dataclass(frozen=True)
class Compiled:
    """Machine code of one kernel: its text, and from ze_info how many registers it has and what did not fit into them.

    `spilled` and `private` are bytes per thread in memory: spilled registers, and arrays that were not put into registers.

    >>> text = "(W) mov (1|M0) r1.0<1>:d 0:w"
    >>> Compiled("gemm", "bmg", 24, "26.27", text, registers=256, spilled=0, private=0, lanes=16).fits
    True
    """

    kernel: str
    chip: str
    llvm: int
    compiler: str
    assembly: str
    registers: int
    spilled: int
    private: int
    lanes: int

    @cached_property
    def program(self) -> Program:
        """The instructions.

        >>> text = "(W) mov (1|M0) r1.0<1>:d 0:w"
        >>> len(Compiled("gemm", "bmg", 24, "26.27", text, 256, 0, 0, 16).program.instructions)
        1
        """
        return read_assembly(self.assembly)

    @property
    def unresolved(self) -> int:
        """Calls in the machine code: a builtin that nobody defines.

        >>> Compiled("gemm", "bmg", 24, "26.27", "(W) calla (16|M0) r1.0 0:d", 256, 0, 0, 16).unresolved
        1
        """
        return sum(one.mnemonic in ("call", "calla") for one in self.program.instructions)

    @property
    def fits(self) -> bool:
        """Everything is in registers, and nothing is called.

        >>> Compiled("gemm", "bmg", 24, "26.27", "", 256, 64, 0, 16).fits
        False
        """
        return not (self.spilled or self.private or self.unresolved)


def compile_kernel(
    text: str,
    chip: str = "bmg",
    registers: int = 256,
    *,
    llvm: int = DEFAULT_LLVM,
    level: str = "lane",
    seconds: float = _SECONDS,
) -> Compiled:
    """The machine code that LLVM `llvm` and the installed graphics compiler make of a kernel.

    `text` is a module with one `gpu.module`, written for `level` (a subgroup's tiles are cut into instructions by LLVM's pass
    xegpu-blocking before its pipeline, which expects them cut). `registers` is the register file of a thread, 128 or 256;
    each program may take `seconds`.

    Raises:
        PlanError: for other chips, register files, versions and levels; where a program is not installed (the message says
            what installs it), refuses the kernel (with its first diagnostic) or takes longer than `seconds`.

    >>> compile_kernel("module {}", "gfx942")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: chip 'gfx942': kernels are compiled for pvc, bmg, lnl, lnl-m or ptl
    >>> compile_kernel("module {}", llvm=22)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: LLVM 22: machine code is made with LLVM 23 or 24 (22 leaves SPIR-V)
    """
    instance_of(text, str, "kernel", PlanError)
    lowered_for, device = _chip(chip)
    if type(registers) is not int or registers not in (128, 256):
        raise PlanError(f"registers {shown(registers)}: a thread has 128 or 256")
    if type(llvm) is not int or llvm not in VERSIONS:
        raise PlanError(f"LLVM {shown(llvm)}: machine code is made with LLVM 23 or 24 (22 leaves SPIR-V)")
    if type(level) is not str or level not in _LEVELS:
        raise PlanError(f"level {shown(level)}: expected one of {', '.join(_LEVELS)}")
    lowering, ocloc = _installed(f"mlir-opt-{llvm}"), _current_ocloc()
    with tempfile.TemporaryDirectory(prefix="layoutalg-listing-") as name:
        folder = Path(name)
        (folder / "kernel.mlir").write_text(text, encoding="utf-8")
        options = f"xegpu-op-level={level} zebin-chip={lowered_for}" + (
            f" igc-cmd-options={LARGE}" * (registers == 256)
        )
        blocking = "gpu.module(xegpu-blocking,canonicalize,cse)," if level == "subgroup" else ""
        pipeline = f"--pass-pipeline=builtin.module({blocking}gpu-lower-to-xevm-pipeline{{{options}}})"
        _run([lowering, "kernel.mlir", pipeline, "-o", "lowered.mlir"], folder, ocloc, seconds)
        (folder / "kernel.bin").write_bytes(_binary((folder / "lowered.mlir").read_text(encoding="utf-8")))
        disassemble = [ocloc, "disasm", "-dump", "dump", "-file"]
        _run([*disassemble, "kernel.bin", "-device", lowered_for], folder, ocloc, seconds)
        if device != lowered_for:
            _compile_spirv("dump/.spv", device, registers, folder, ocloc, seconds)
            _run([*disassemble, "device.bin", "-device", device], folder, ocloc, seconds)
        listings = sorted((folder / "dump").glob(".text.*.asm"))
        if not listings:
            raise PlanError(f"{ocloc} disassembled no kernel for {chip}")
        described = (folder / "dump" / ".ze_info").read_text(encoding="utf-8", errors="replace")
        assembly = listings[0].read_text(encoding="utf-8", errors="replace")
        kernel = listings[0].name.removeprefix(".text.").removesuffix(".asm")
    facts: dict[str, int] = {}
    for field, value in re.findall(r"(\w+):\s+(\d+)\s*$", described, re.MULTILINE):
        facts[field] = max(int(value), facts.get(field, 0))  # of several kernels the most: none may spill
    return Compiled(
        kernel,
        chip,
        llvm,
        compiler_version(),
        assembly,
        registers=facts.get("grf_count", registers),
        spilled=facts.get("spill_size", 0),
        private=facts.get("private_size", 0),
        lanes=facts.get("simd_size", 0),
    )


def kernel_binary(text: str, chip: str, registers: int, form: str, *, llvm: int = DEFAULT_LLVM) -> bytes:
    """A kernel at lane level as a host loads it: `form` is "spv", or "zebin" with machine code for the chip.

    Raises `PlanError` as `compile_kernel` does.

    >>> kernel_binary("module {}", "gfx942", 128, "spv")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: chip 'gfx942': kernels are compiled for pvc, bmg, lnl, lnl-m or ptl
    """
    lowered_for, device = _chip(chip)
    if form == "zebin" and llvm not in VERSIONS:
        raise PlanError(f"LLVM {shown(llvm)}: machine code is made with LLVM 23 or 24 (22 leaves SPIR-V)")
    by_llvm = form == "zebin" and device == lowered_for
    with tempfile.TemporaryDirectory(prefix="layoutalg-build-") as name:
        folder = Path(name)
        (folder / "kernel.mlir").write_text(text, encoding="utf-8")
        ocloc = _current_ocloc() if form == "zebin" else ""
        options = f"xegpu-op-level=lane zebin-chip={lowered_for}"
        options += f" igc-cmd-options={LARGE}" if by_llvm and registers == 256 else ""
        options += "" if by_llvm else f" binary-format={'isa' if llvm in VERSIONS else 'bin'}"
        pipeline = f"--gpu-lower-to-xevm-pipeline={options}"
        _run([_installed(f"mlir-opt-{llvm}"), "kernel.mlir", pipeline, "-o", "lowered.mlir"], folder, ocloc, _SECONDS)
        made = _binary((folder / "lowered.mlir").read_text(encoding="utf-8"), ELF if by_llvm else SPIRV)
        if form == "zebin" and not by_llvm:
            (folder / "kernel.spv").write_bytes(made)
            _compile_spirv("kernel.spv", device, registers, folder, ocloc, _SECONDS)
            made = (folder / "device.bin").read_bytes()
    return made


def _compile_spirv(file: str, device: str, registers: int, folder: Path, ocloc: str, seconds: float) -> None:
    """Machine code for another device than LLVM's, as `device.bin`."""
    command = [ocloc, "compile", "-spirv_input", "-file", file, "-output_no_suffix", "-output", "device"]
    flags = ["-options", LARGE] if registers == 256 else []
    _run([*command, "-device", device, *flags], folder, ocloc, seconds)


def _chip(name: object) -> tuple[str, str]:
    """What LLVM lowers for and ocloc's device, of a chip or a product."""
    target = product_target(name)
    if not isinstance(target, str) or target not in CHIPS:
        *first, last = CHIPS
        raise PlanError(f"chip {shown(name)}: kernels are compiled for {', '.join(first)} or {last}")
    return CHIPS[target]


def compiler_version() -> str:
    """The version of the graphics compiler's driver, as `ocloc` says it; "" where it is not installed.

    >>> isinstance(compiler_version(), str)
    True
    """
    path = _newest("ocloc")
    return "" if path is None else _version_of(path)


@lru_cache
def _version_of(path: str) -> str:
    with tempfile.TemporaryDirectory(prefix="layoutalg-listing-") as folder:
        try:
            return _run([path, "--version"], Path(folder), path, 30).strip().split("\n")[0]
        except PlanError:
            return ""  # older ones don't say


def _newest(program: str) -> str | None:
    """The unpacked one; else that of the PATH."""
    made = os.environ.get("LAYOUTALG_NEWTOOLS")
    if made and (path := program_path(str(Path(made) / "bin" / program))):
        return path
    beside = program_path("mlir-opt-24") or program_path("mlir-opt-23")
    if beside is not None and (path := program_path(str(Path(beside).parent / program))):
        return path
    return program_path(program)


def _installed(program: str) -> str:
    path = program_path(program)
    if path is None:
        unpacked = "Debian's package mlir-22-tools has it" if program == "mlir-opt-22" else _UNPACKED
        raise PlanError(f"{program} is not installed: binaries and listings need it; {unpacked}")
    return path


def _current_ocloc() -> str:
    path = _newest("ocloc")
    if path is None:
        raise PlanError(f"ocloc, Intel's graphics compiler, is not installed: machine code needs it; {_UNPACKED}")
    return path


def _run(command: list[str], folder: Path, ocloc: str, seconds: float) -> str:
    """What a program prints; it finds `ocloc` first on its PATH, and everything temporary in `folder`."""
    program = Path(command[0]).name
    path = os.pathsep.join([str(Path(ocloc).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "TMPDIR": str(folder)}
    try:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # so that what it has started ends with it
        )
    except OSError as error:
        raise PlanError(f"{program} cannot be started: {error}") from None
    try:
        output, complaints = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise PlanError(f"{program} did not finish within {seconds:g} s") from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    said = complaints + output
    if child.returncode:
        found = re.search(r"(?:error|Error|ERROR): *(.*)", said)
        reason = found[1] if found else f"it ended with code {child.returncode}"
        raise PlanError(f"{program} refuses the kernel: {shortened(reason)}")
    return output


def _binary(lowered: str, begins: bytes = ELF) -> bytes:
    """The longest string attribute, which is the binary: bytes that are not printable are written \\XX."""
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', lowered, re.DOTALL)
    text = max(strings, key=len, default="")
    escapes = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}

    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return (escapes[code] if code in escapes else bytes.fromhex(code)).decode("latin1")

    binary = re.sub(r'\\([0-9A-Fa-f]{2}|[nt\\"])', plain, text).encode("latin1")
    if not binary.startswith(begins):
        raise PlanError(
            "the lowered kernel has no machine code in it: expected a module with a gpu.module that has a kernel"
        )
    return binary
