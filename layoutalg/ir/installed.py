"""Compilers of this machine: where they are, and whether the installed LLVM lowers a kernel to SPIR-V.

>>> llvm_verdict("", program="no-such-program") is None
True
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MLIR_OPT", "LlvmVerdict", "llvm_verdict", "program_path"]

MLIR_OPT = "mlir-opt-22"
"""The name of LLVM 22's optimizer in Debian's package mlir-22-tools."""

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


@dataclass(frozen=True, slots=True)
class LlvmVerdict:
    """What LLVM said: whether it accepted and lowered the module, its first diagnostic otherwise.

    >>> LlvmVerdict(True, "").accepted
    True
    """

    accepted: bool
    diagnostic: str


def llvm_verdict(text: str, level: str = "lane", chip: str = "pvc", program: str = MLIR_OPT) -> LlvmVerdict | None:
    """Run LLVM's pipeline from XeGPU at `level` down to a SPIR-V binary; None where LLVM 22 is not installed.

    >>> llvm_verdict("module {}", program="no-such-program")
    """
    path = shutil.which(program)
    if path is None:
        return None
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level={level} zebin-chip={chip} binary-format=bin"
    try:
        done = subprocess.run(
            [path, pipeline, "-o", "/dev/null", "-"],
            input=text,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return LlvmVerdict(False, f"{program} did not finish within {_SECONDS} s")
    if done.returncode == 0:
        return LlvmVerdict(True, "")
    found = re.search(r"error: (.*)", done.stderr)
    return LlvmVerdict(False, found.group(1) if found else f"{program} ended with code {done.returncode}")
