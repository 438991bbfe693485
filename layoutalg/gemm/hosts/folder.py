"""A folder with all that a launch needs: the kernel, its binary, a host program, a Makefile and a README.

    gemm.mlir      the kernel's text
    gemm.spv       its binary, where LLVM is installed
    builtins.cl    with the binary: bodies for Intel's builtins, for a device without them (not for Level Zero)
    host.c         the program (host.py, host.cpp)
    Makefile       `make run` on a GPU, `make cpu` with Intel's OpenCL runtime for CPUs
    README.md      ten lines

Every text says that layoutalg wrote it, and a file that does not is never overwritten.

>>> from layoutalg.gemm.hosts.folder import folder_files
>>> files = folder_files(la.plan_gemm(64, 64, 64), "pyopencl")
>>> list(files)
['gemm.mlir', 'host.py', 'Makefile', 'README.md']
>>> print(next(line for line in files["Makefile"].splitlines() if line.startswith("cpu: ")))
cpu: gemm.spv builtins.cl $(CPU)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.files import write_files
from layoutalg.core.llvm_versions import llvm_versions
from layoutalg.core.messages import one_line, shown
from layoutalg.gemm.building import build_kernel
from layoutalg.gemm.hosts.builtins import builtins_source
from layoutalg.gemm.hosts.routes import host_of
from layoutalg.gemm.problem import Problem
from layoutalg.hardware import xe_chip
from layoutalg.ir.installed import program_path

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.launch import Launch
    from layoutalg.gemm.plan import Gemm

__all__ = ["folder_files", "write_folder"]

_MARK = "Written by layoutalg"
_ENDINGS = {"opencl-c": "c", "pyopencl": "py", "sycl": "cpp", "level-zero": "c"}
_BUILD = {
    "opencl-c": "$(CC) -std=c11 -O2 -Wall -Wextra $(FROM_PIP) host.c -o {made} -lOpenCL -lm",
    "sycl": "$(CXX) -std=c++17 -O2 -Wall -Wextra {more}$(FROM_PIP) host.cpp -o {made} -lsycl",
    "level-zero": "$(CC) -std=c11 -O2 -Wall -Wextra host.c -o {made} -lze_loader -lm",
}
_NEEDS = {
    "opencl-c": "a C compiler, OpenCL's headers and its loader (Debian: opencl-c-headers, ocl-icd-opencl-dev)",
    "pyopencl": "Python with pyopencl and numpy",
    "sycl": "a C++17 compiler and Intel's SYCL (pip install intel-sycl-rt)",
    "level-zero": "a C compiler, Level Zero's headers and its loader (Debian: libze-dev)",
}
_FROM_PIP = """\
# where pip puts Intel's runtimes and headers: the environment of this Python
PYTHON = python3
PREFIX := $(shell $(PYTHON) -c "import sysconfig; print(sysconfig.get_path('data'))")
export LD_LIBRARY_PATH := $(PREFIX)/lib:$(LD_LIBRARY_PATH)
"""
_FLAGS = """\
OF_PIP = -isystem $(PREFIX)/include -L$(PREFIX)/lib -Wl,-rpath-link,$(PREFIX)/lib
FROM_PIP := $(if $(wildcard $(PREFIX)/lib/libOpenCL.so $(PREFIX)/lib/libsycl.so),$(OF_PIP))
"""
_RUNTIME = ("intel-opencl-rt", "intel-cmplr-lib-rt")
"""Intel's OpenCL for CPUs as pip has it; the first needs the second, and does not say so."""
_PACKAGES = {"opencl-c": (), "pyopencl": ("pyopencl",), "sycl": ("intel-sycl-rt",)}
_ON_CPU = "OCL_ICD_FILENAMES=$(CPU) OCL_ICD_VENDORS=$(CPU)"
"""The loader is told the driver: pip's list of drivers names a folder that isn't there. The loader of Intel's wheel, Khronos',
reads the first name, that of pyopencl's and Debian's, ocl-icd, the second."""


def folder_files(plan: Gemm | Attention, route: str) -> dict[str, str]:
    """The texts by the names of their files; `builtins.cl` is made of the binary, so it isn't among them.

    Raises `PlanError` for other routes.
    """
    host = host_of(plan, route)
    launch, program = plan.launch, f"host.{_ENDINGS[route]}"
    return {
        f"{launch.kernel}.mlir": f"// {_MARK}.\n{plan.emit()}",
        program: host,
        "Makefile": f"# {_MARK}: {plan.problem}\n{_makefile(launch, route, program)}",
        "README.md": f"# {plan.problem}\n\n{_readme(launch, route, program)}",
    }


def _makefile(launch: Launch, route: str, program: str) -> str:
    spirv = f"{launch.kernel}.spv"
    made = {"pyopencl": ("", ""), "sycl": ("host", "host_cpu")}.get(route, ("host", "host"))
    of_gpu, of_cpu = (f"./{one}" if one else f"$(PYTHON) {program}" for one in made)
    flag = dict(launch.flags)["level-zero"]
    texts = ["" if route == "level-zero" else _FROM_PIP + _FLAGS * bool(made[0])]
    texts.append(f"\nrun: {' '.join(filter(None, (spirv, made[0])))}\n\t{of_gpu} {spirv}\n")
    if route != "level-zero":
        needs = " ".join(filter(None, (spirv, "builtins.cl", made[1])))
        texts.append(f"# Intel's OpenCL runtime for CPUs: pip install {' '.join(_RUNTIME)}\n")
        texts.append(
            f"CPU = $(PREFIX)/lib/libintelocl.so\ncpu: {needs} $(CPU)\n\t{_ON_CPU} {of_cpu} {spirv} builtins.cl\n"
        )
    for one in dict.fromkeys(filter(None, made)):
        more = "-DWITH_BUILTINS " if one == "host_cpu" else ""
        command = _BUILD[route].format(made=one, more=more) + (" -lOpenCL" if more else "")
        texts.append(f"{one}: {program}\n\t{command}\n")
    if route != "level-zero":
        texts.append(
            f"$(CPU):\n\t@echo '$@ is missing: pip install {' '.join(_RUNTIME)}, or name the Python that has them: "
            "make cpu PYTHON=...' >&2; exit 1\n"
        )
    options = f' -options "{flag}"' if flag else ""
    texts.append(
        f"# machine code for {launch.chip}, which hosts take as well\n"
        f"{launch.kernel}.zebin: {spirv}\n\tocloc compile -spirv_input -file {spirv} "
        f"-device {xe_chip(launch.chip).device}{options} -output_no_suffix -output {launch.kernel}.zebin\n"
        f"{spirv}{'' if route == 'level-zero' else ' builtins.cl'}:\n"
        f"\t@echo '$@ is missing: have this folder written where mlir-opt-{launch.llvm} is installed' >&2; exit 1\n"
        f".PHONY: run{'' if route == 'level-zero' else ' cpu'}\n"
    )
    return "".join(texts)


def _readme(launch: Launch, route: str, program: str) -> str:
    kernel, flag = launch.kernel, dict(launch.flags)["level-zero"]
    cpu = route != "level-zero"
    packages = " ".join((*_PACKAGES.get(route, ()), *_RUNTIME))
    return (
        f"{_MARK}. `{kernel}.mlir` is the kernel for LLVM {launch.llvm}, `{kernel}.spv` its SPIR-V, `{program}` launches it.\n"
        f"You need {_NEEDS[route]}.\n\n"
        "    make run\n" + f"    make cpu    # without a GPU; pip install {packages}\n" * cpu + "\n"
        f"It prints the largest error against a reference in f64 and the milliseconds of a launch. The grid is "
        f"{'x'.join(map(str, launch.grid))} workgroups\nof {launch.workgroup[0]} work-items with sub-groups of "
        f"{launch.subgroup_size}; a thread has {launch.registers} registers"
        + "".join(f"; then {one}" for one in launch.then)
        + (" (for SPIR-V the host passes the flag that asks for them).\n" if flag else ".\n")
        + _README_OF_CPU * cpu
    )


_README_OF_CPU = """\
A CPU lacks the kernel's instructions: `builtins.cl` has bodies for them. Times say nothing of a GPU there, and large tiles take
minutes to compile.
"""


def write_folder(plan: Gemm | Attention, route: str, folder: Path) -> tuple[tuple[str, ...], str]:
    """Write the files and, where LLVM is installed, the kernel's SPIR-V. Returns the names, and why SPIR-V is missing or "".

    Raises `PlanError`: for other routes, where the folder cannot be written, and where a file is another's.
    """
    files = folder_files(plan, route)
    if folder.exists() and not folder.is_dir():
        raise PlanError(f"{shown(str(folder))}: expected the name of a folder, and a file is there")
    for name in (*files, *(() if route == "level-zero" else ("builtins.cl",))):
        _refuse_others(folder / name)
    _written(folder, files)
    binary = f"{plan.launch.kernel}.spv"
    try:
        build_kernel(plan, folder / binary)
    except PlanError as problem:
        return tuple(files), f"{binary} is missing: {problem}{_another_way(plan)}"
    if route == "level-zero":
        return (*files, binary), ""
    builtins = builtins_source((folder / binary).read_bytes())
    _written(folder, {"builtins.cl": f"/* {_MARK}: bodies for Intel's builtins that {binary} calls. */\n{builtins}"})
    return (*files, binary, "builtins.cl"), ""


def _another_way(plan: Gemm | Attention) -> str:
    """The older LLVM that Debian has, where the plan's own is absent and the older one lowers such kernels."""
    oldest = min(llvm_versions())
    if (
        not isinstance(plan.problem, Problem)
        or plan.llvm == oldest
        or program_path(f"mlir-opt-{plan.llvm}") is not None
    ):
        return ""
    program = f"mlir-opt-{oldest}"
    where = "is installed" if program_path(program) else f"is in Debian's package mlir-{oldest}-tools"
    return f". {program} {where}: --llvm {oldest} plans for it"


def _written(folder: Path, files: dict[str, str]) -> None:
    try:
        write_files(*((folder / name, text) for name, text in files.items()))
    except OSError as problem:
        raise PlanError(one_line(f"{problem.filename or folder}: {problem.strerror or problem}")) from None


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
