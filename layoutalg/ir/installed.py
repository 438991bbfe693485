"""Compilers of this machine: where they are, and whether the installed LLVM lowers a kernel to SPIR-V.

>>> program_path("no-such-program") is None
True
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import DEFAULT_LLVM

__all__ = ["LlvmVerdict", "llvm_verdict", "program_path", "run_program"]

_SECONDS = 120


def program_path(name: str) -> str | None:
    """The path of a program: of a name on the PATH, or where `make toolchains` puts it; None where it is not installed.

    >>> program_path("no-such-program") is None
    True
    """
    if os.sep in name:
        return shutil.which(name)
    made = os.environ.get("LAYOUTALG_NEWTOOLS") or str(Path(sys.prefix) / "newtools")
    folders = (
        None,
        str(Path(made) / "bin"),
        str(Path(sys.prefix) / "newtools" / "bin"),
        str(Path(sys.executable).parent),
    )
    return next((path for folder in folders if (path := shutil.which(name, path=folder)) is not None), None)


def run_program(name: str, command: Sequence[str], text: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a text on its standard input.

    Raises `LayoutError` where it takes more than two minutes.

    >>> import sys
    >>> run_program("python", [sys.executable, "-c", "print(input())"], "a").stdout
    'a\\n'
    """
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise LayoutError(f"{name} did not finish within {_SECONDS} s") from None


@dataclass(frozen=True, slots=True)
class LlvmVerdict:
    """What LLVM said: whether it accepted and lowered the module, its first diagnostic otherwise.

    >>> LlvmVerdict(True, "").accepted
    True
    """

    accepted: bool
    diagnostic: str


def llvm_verdict(text: str, level: str = "lane", chip: str = "pvc", llvm: int = DEFAULT_LLVM) -> LlvmVerdict | None:
    """Run LLVM's pipeline from XeGPU at `level` down to SPIR-V; None where that version of LLVM is not installed.

    LLVM 22 makes a binary; 23 and 24 would run the graphics compiler for one, so they are asked for SPIR-V as text.

    >>> llvm_verdict("module {}", llvm=1) is None
    True
    """
    program = f"mlir-opt-{llvm}"
    path = program_path(program)
    if path is None:
        return None
    form = "bin" if llvm == 22 else "isa"
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level={level} zebin-chip={chip} binary-format={form}"
    try:
        done = run_program(program, [path, pipeline, "-o", os.devnull, "-"], text)
    except LayoutError as problem:
        return LlvmVerdict(False, str(problem))
    if done.returncode == 0:
        return LlvmVerdict(True, "")
    found = re.search(r"error: (.*)", done.stderr)
    return LlvmVerdict(False, found.group(1) if found else f"{program} ended with code {done.returncode}")
