"""A folder with all that a launch needs: the kernel, its binary, a host program, a Makefile and a README.

    gemm.mlir     the kernel's text
    gemm.spv      its binary, where LLVM is installed
    host.c        the program (host.py, host.cpp)
    Makefile      `make run`
    README.md     ten lines

Every text says that layoutalg wrote it, and a file that does not is never overwritten.

>>> from layoutalg.gemm.hosts.folder import folder_files
>>> list(folder_files(la.plan_gemm(64, 64, 64), "pyopencl"))
['gemm.mlir', 'host.py', 'Makefile', 'README.md']
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.files import write_files
from layoutalg.core.messages import one_line, shown
from layoutalg.gemm.building import build_kernel
from layoutalg.gemm.hosts.routes import host_of
from layoutalg.hardware import xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm

__all__ = ["folder_files", "write_folder"]

_MARK = "Written by layoutalg"
_ENDINGS = {"opencl-c": "c", "pyopencl": "py", "sycl": "cpp", "level-zero": "c"}
_BUILD = {
    "opencl-c": "$(CC) -std=c11 -O2 -Wall -Wextra host.c -o host -lOpenCL -lm",
    "sycl": "$(CXX) -std=c++17 -O2 -Wall -Wextra host.cpp -o host -lsycl",
    "level-zero": "$(CC) -std=c11 -O2 -Wall -Wextra host.c -o host -lze_loader -lm",
}
_NEEDS = {
    "opencl-c": "a C compiler, OpenCL's headers and its loader (Debian: opencl-c-headers, ocl-icd-opencl-dev)",
    "pyopencl": "Python with pyopencl and numpy",
    "sycl": "a C++17 compiler and Intel's SYCL (pip install intel-sycl-rt; CPATH and LIBRARY_PATH name its folders)",
    "level-zero": "a C compiler, Level Zero's headers and its loader (Debian: libze-dev)",
}


def folder_files(plan: Gemm | Attention, route: str) -> dict[str, str]:
    """The texts by the names of their files.

    Raises `PlanError` for other routes.
    """
    host = host_of(plan, route)
    launch, program = plan.launch, f"host.{_ENDINGS[route]}"
    kernel = launch.kernel
    flag = dict(launch.flags)["level-zero"]
    run = f"python {program}" if route == "pyopencl" else "./host"
    built = "" if route == "pyopencl" else f"host: {program}\n\t{_BUILD[route]}\n"
    options = f' -options "{flag}"' if flag else ""
    makefile = (
        f"# {_MARK}: {plan.problem}\n"
        f"BUILTINS =\n\nrun: {kernel}.spv {'' if route == 'pyopencl' else 'host'}\n\t{run} {kernel}.spv $(BUILTINS)\n"
        f"{built}"
        f"{kernel}.zebin: {kernel}.spv\n\tocloc compile -spirv_input -file {kernel}.spv "
        f"-device {xe_chip(launch.chip).device}{options} -output_no_suffix -output {kernel}.zebin\n.PHONY: run\n"
    )
    readme = (
        f"# {plan.problem}\n\n"
        f"{_MARK}. `{kernel}.mlir` is the kernel for LLVM {launch.llvm}, `{kernel}.spv` its SPIR-V, `{program}` launches it.\n"
        f"You need {_NEEDS[route]}.\n\n"
        f"    make run\n\n"
        f"It prints the largest error against a reference in f64 and the milliseconds of a launch. The grid is "
        f"{'x'.join(map(str, launch.grid))} workgroups\nof {launch.workgroup[0]} work-items with sub-groups of "
        f"{launch.subgroup_size}; a thread has {launch.registers} registers"
        + "".join(f"; then {one}" for one in launch.then)
        + (" (for SPIR-V the host passes the flag that asks for them).\n" if flag else ".\n")
        + (
            "On a device without matrix instructions: make run BUILTINS=builtins.cl, with bodies for Intel's builtins.\n"
            f"A checkout of layoutalg writes them: python -m tests.oracle.xe_shim .../{kernel}.spv > .../builtins.cl\n"
            if route in ("opencl-c", "pyopencl")
            else ""
        )
    )
    return {f"{kernel}.mlir": f"// {_MARK}.\n{plan.emit()}", program: host, "Makefile": makefile, "README.md": readme}


def write_folder(plan: Gemm | Attention, route: str, folder: Path) -> tuple[tuple[str, ...], str]:
    """Write the files and, where LLVM is installed, the kernel's SPIR-V. Returns the names, and why SPIR-V is missing or "".

    Raises `PlanError`: for other routes, where the folder cannot be written, and where a file is another's.
    """
    files = folder_files(plan, route)
    if folder.exists() and not folder.is_dir():
        raise PlanError(f"{shown(str(folder))}: expected the name of a folder, and a file is there")
    for name in files:
        _refuse_others(folder / name)
    try:
        write_files(*((folder / name, text) for name, text in files.items()))
    except OSError as problem:
        raise PlanError(one_line(f"{problem.filename or folder}: {problem.strerror or problem}")) from None
    binary = f"{plan.launch.kernel}.spv"
    try:
        build_kernel(plan, folder / binary)
    except PlanError as problem:
        return tuple(files), f"{binary} is missing: {problem}"
    return (*files, binary), ""


def _refuse_others(path: Path) -> None:
    """Refuse a file that layoutalg did not write."""
    try:
        with path.open(encoding="utf-8", errors="replace") as opened:
            ours = _MARK in opened.read(4096)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise PlanError(one_line(f"{path}: {problem.strerror or problem}")) from None
    if not ours:
        raise PlanError(f"{shown(str(path))}: is there, and was not written by layoutalg; choose another folder")
