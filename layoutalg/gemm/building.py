"""A planned kernel as a file that a host loads: SPIR-V, or a zebin with the machine code of one chip.

    gemm.spv      LLVM alone makes it; the device's compiler does the rest, and has to be told the registers (`launch.flags`)
    gemm.zebin    LLVM and Intel's graphics compiler; nothing is left to do

An existing file is overwritten only where it is a kernel too: SPIR-V or ELF.

>>> build_kernel(la.plan_gemm(64, 64, 64), "gemm.so")
Traceback (most recent call last):
layoutalg.core.errors.PlanError: path = 'gemm.so': expected a name that ends with .spv or .zebin
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.files import as_path, write_file
from layoutalg.core.messages import one_line, shown
from layoutalg.gemm.launch import checked_launch
from layoutalg.gemm.listing.compiling import ELF, SPIRV, kernel_binary

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm

__all__ = ["KernelFile", "build_kernel"]

_FORMS = {".spv": "spv", ".zebin": "zebin"}


@dataclass(frozen=True)
class KernelFile:
    """What was built: the file, the kernel's name in it, its form (`spv` or `zebin`), the chip and the bytes.

    >>> print(KernelFile(Path("gemm.spv"), "gemm", "spv", "bmg", 4096))
    gemm.spv: kernel gemm for bmg as spv, 4096 bytes
    """

    path: Path
    kernel: str
    form: str
    chip: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.path}: kernel {self.kernel} for {self.chip} as {self.form}, {self.bytes} bytes"


def build_kernel(plan: Gemm | Attention, path: str | os.PathLike[str]) -> KernelFile:
    """Write the plan's kernel to `path`, whose ending says the form: `.spv` or `.zebin`.

    Raises `PlanError`: for other endings, where a compiler is missing or refuses the kernel, where the file cannot be written
    or exists and isn't a kernel, and where `plan` isn't a plan.

    >>> build_kernel(la.plan_gemm(64, 64, 64), "no-such-folder/gemm.spv")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: path = 'no-such-folder/gemm.spv': there is no folder 'no-such-folder'
    """
    file = as_path(path, "path =", PlanError)
    form = _FORMS.get(file.suffix)
    if form is None:
        raise PlanError(f"path = {shown(str(file))}: expected a name that ends with .spv or .zebin")
    if not file.parent.is_dir():
        raise PlanError(f"path = {shown(str(file))}: there is no folder {shown(str(file.parent))}")
    if not _is_ours(file):
        raise PlanError(f"{shown(str(file))}: is there, and is not a kernel; choose another path")
    launch = checked_launch(plan)
    binary = kernel_binary(plan.emit(), launch.chip, launch.registers, form, llvm=launch.llvm)
    try:
        write_file(file, binary)
    except OSError as problem:
        raise PlanError(one_line(f"{file}: {problem.strerror or problem}")) from None
    return KernelFile(file, launch.kernel, form, launch.chip, len(binary))


def _is_ours(path: Path) -> bool:
    """Whether the file may be overwritten: it does not exist, is empty, or is SPIR-V or ELF."""
    if path.exists() and not path.is_file():
        return False
    try:
        with path.open("rb") as opened:
            begin = opened.read(4)
    except FileNotFoundError:
        return True
    except OSError as problem:
        raise PlanError(one_line(f"{path}: {problem.strerror or problem}")) from None
    return begin in (b"", ELF, SPIRV)
