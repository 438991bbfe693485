"""Runs kernels at lane level as real work-items on Intel's OpenCL runtime for CPUs, many in one process.

    batch = module_of(["gpu.func @double(%x: i64) kernel attributes {...} { ... }", ...])
    after = run_kernels(batch, [Launch("double", (array,))], directory)["double"][0]

    launch = CpuLaunch(text, (a, b, c, np.int32(m), ...), grid=(4, 2, 1), block=(128, 1, 1), llvm=24)
    a, b, c = run_kernel_on_cpu(launch, directory)

LLVM lowers to SPIR-V. An array argument is copied to an aligned buffer and its address is passed; a numpy scalar is passed as
it is. What comes back are the buffers after the launch, array for array. The runtime obeys the sub-group size and has
sub-group shuffles and reductions. It has no DPAS and no 2-D block messages: whatever of them the SPIR-V imports, `builtins_of`
writes as plain OpenCL C, and it is linked. So everything else is LLVM's doing: offsets, surfaces, the loop, which register
goes where. Starting the runtime costs a second or two, so one process runs all launches.

    python -m tests.oracle.kernel_cpu DIRECTORY      reads launches.json, the SPIR-V that it names, plain.cl if there is one,
                                                     *.in.npy; writes *.out.npy
"""

from __future__ import annotations

import json
import re
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm.hosts.builtins import builtins_of, plain_source
from layoutalg.gemm.hosts.spirv import imports_of
from tests.oracle.spirv import without_bf16
from tests.oracle.toolchains import require, require_module
from tests.oracle.xe_toolchain import run_tool, spirv_of, spirv_of_all

Array = NDArray[Any]
Size = tuple[int, int, int]

LIBRARIES = Path(sysconfig.get_path("data")) / "lib"
ALIGNMENT = 64

LEADING = """
gpu.func @leading() kernel attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
  gpu.return
}
"""
"""A kernel to begin every module with: the runtime gives the first one 16 lanes, whatever it asks for."""


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: arrays are buffers, numpy scalars are passed by value; `local` bytes of shared memory each.

    LLVM makes an argument of every `workgroup(%s : memref<..>)` of a gpu.func, after the others.
    """

    kernel: str
    arguments: tuple[Array | np.generic, ...]
    grid: Size = (1, 1, 1)
    block: Size = (16, 1, 1)
    local: tuple[int, ...] = ()
    then: tuple[str, Size, Size] | None = None
    """Another kernel of the module, launched behind it with the same arguments: its name, grid and block."""
    pointers: bool = False
    """Whether the kernel takes its arrays as pointers; else as addresses, numbers of 64 bits."""


@dataclass(frozen=True)
class CpuLaunch:
    """One launch of the only kernel of a module, lowered by a version of LLVM from the level that the text has."""

    text: str
    arguments: tuple[Array | np.generic, ...]
    grid: Size = (1, 1, 1)
    block: Size = (16, 1, 1)
    llvm: int = 24
    local: tuple[int, ...] = ()
    level: str = "lane"
    then: tuple[str, Size, Size] | None = None

    @property
    def kernel(self) -> str:
        found = re.search(r"gpu\.func @(\w+)", self.text)
        assert found is not None, "no gpu.func in the text"
        return found[1]

    @property
    def pointers(self) -> bool:
        return "%pointer_" in self.text


def module_of(functions: Sequence[str]) -> str:
    """One module of several kernels, each the text of a gpu.func."""
    inside = "\n".join([LEADING, *functions])
    return f"builtin.module attributes {{gpu.container_module}} {{\ngpu.module @kernels {{\n{inside}\n}}\n}}\n"


def run_kernel_on_cpu(launch: CpuLaunch, directory: Path) -> list[Array]:
    """The array arguments after the launch."""
    return run_kernels_on_cpu([launch], directory)[0]


def run_kernels_on_cpu(launches: Sequence[CpuLaunch], directory: Path) -> list[list[Array]]:
    """The array arguments after each launch; a text that several launches share is lowered once."""
    binaries: dict[tuple[int, str, str], Path] = {}
    for version, level in sorted({(launch.llvm, launch.level) for launch in launches}):
        chosen = [launch for launch in launches if (launch.llvm, launch.level) == (version, level)]
        texts = list(dict.fromkeys(launch.text for launch in chosen))
        # LLVM 23 and 24 write SPIR-V of bf16, which the runtime does not read.
        expanded = [] if version == 22 else ["--arith-expand=include-bf16=true"]
        blocked = ["--xegpu-blocking"] if level == "subgroup" else []  # the pipeline expects tiles that are cut
        paths = spirv_of_all(texts, directory, version, f"llvm{version}_{level}", [*blocked, *expanded], level)
        for text, path in zip(texts, paths, strict=True):
            path.write_bytes(without_bf16(path.read_bytes()))
            binaries[version, level, text] = path
    return launch_all(
        [
            (
                binaries[launch.llvm, launch.level, launch.text],
                Launch(
                    launch.kernel,
                    launch.arguments,
                    launch.grid,
                    launch.block,
                    launch.local,
                    launch.then,
                    launch.pointers,
                ),
            )
            for launch in launches
        ],
        directory,
    )


def run_kernels(module: str, launches: Sequence[Launch], directory: Path, llvm: int = 22) -> dict[str, list[Array]]:
    """The array arguments after each launch, by the kernel's name; a kernel is launched once."""
    if not launches:
        return {}
    return launch_binaries({launches[0].kernel: spirv_of(module, directory, llvm)}, launches, directory)


def launch_binaries(
    binaries: Mapping[str, Path], launches: Sequence[Launch], directory: Path
) -> dict[str, list[Array]]:
    """The same for SPIR-V that is there: `binaries` says which file has a kernel (the first one's, where it has no own)."""
    first = next(iter(binaries.values()))
    jobs = [(binaries.get(launch.kernel, first), launch) for launch in launches]
    return {launch.kernel: arrays for launch, arrays in zip(launches, launch_all(jobs, directory), strict=True)}


def launch_all(jobs: Sequence[tuple[Path, Launch]], directory: Path) -> list[list[Array]]:
    """The array arguments after each launch of a kernel in a SPIR-V file, all in one process."""
    require_module("pyopencl")
    library = LIBRARIES / "libintelocl.so"
    if not library.exists():
        require(str(library))
    names = {name for binary in {binary for binary, _ in jobs} for name in imports_of(binary.read_bytes())}
    builtins = builtins_of(sorted(names))
    plain = plain_source(builtins) if builtins else ""
    if any(name.startswith("__builtin_IB_simd_block") for name in names):
        from tests.oracle.conversion_cpu import block_messages  # which imports this module

        plain += block_messages()
    (directory / "plain.cl").write_text(plain)
    (directory / "icd").mkdir(exist_ok=True)
    (directory / "icd" / "intel.icd").write_text(f"{library}\n")
    written: list[dict[str, Any]] = []
    for number, (binary, launch) in enumerate(jobs):
        given: list[Any] = []
        for position, argument in enumerate(launch.arguments):
            if isinstance(argument, np.ndarray):
                raw = np.ascontiguousarray(argument).reshape(-1).view(np.uint8)
                np.save(directory / f"{number}.{position}.in.npy", raw)
                given.append(None)
            else:
                given.append([argument.dtype.name, argument.item()])
        names = ("grid", "block", "local", "then", "pointers")
        sizes = {name: getattr(launch, name) for name in names}
        written.append({"name": launch.kernel, "binary": str(binary.absolute()), "arguments": given, **sizes})
    (directory / "launches.json").write_text(json.dumps(written))
    environment = {"OCL_ICD_VENDORS": str(directory / "icd"), "LD_LIBRARY_PATH": str(LIBRARIES)}
    root = Path(__file__).parents[2]
    run_tool([sys.executable, "-m", "tests.oracle.kernel_cpu", str(directory)], root, **environment)
    return [
        [
            np.load(directory / f"{number}.{position}.out.npy").view(argument.dtype).reshape(argument.shape)
            for position, argument in enumerate(launch.arguments)
            if isinstance(argument, np.ndarray)
        ]
        for number, (_, launch) in enumerate(jobs)
    ]


def aligned(data: Array) -> Array:
    """A copy of bytes that begins at a multiple of ALIGNMENT."""
    raw = np.zeros(data.size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    raw[start : start + data.size] = data
    return raw[start : start + data.size]


def main(directory: Path) -> None:
    """Compile once, launch every kernel, and write what became of its buffers."""
    import pyopencl

    context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
    queue = pyopencl.CommandQueue(context)
    plain, programs = (directory / "plain.cl").read_text(), dict[str, Any]()
    builtins = pyopencl.Program(context, plain) if plain else None
    if builtins is not None:
        builtins.compile("-cl-std=CL1.2")

    def program_of(binary: str) -> Any:
        if binary not in programs:
            program = pyopencl.Program(context, Path(binary).read_bytes())
            if builtins is None:
                program.build()
            else:
                program.compile("-cl-fp32-correctly-rounded-divide-sqrt")
                program = pyopencl.link_program(context, [program, builtins])
            programs[binary] = program
        return programs[binary]

    for number, job in enumerate(json.loads((directory / "launches.json").read_text())):
        buffers: dict[int, Array] = {}
        values: list[Any] = []
        for position, argument in enumerate(job["arguments"]):
            if argument is None:
                buffers[position] = aligned(np.load(directory / f"{number}.{position}.in.npy"))
                values.append(np.int64(buffers[position].ctypes.data))
            else:
                values.append(np.dtype(argument[0]).type(argument[1]))
        values.extend(pyopencl.LocalMemory(count) for count in job["local"])
        size = [count * items for count, items in zip(job["grid"], job["block"], strict=True)]
        kernel = pyopencl.Kernel(program_of(job["binary"]), job["name"])
        if job["pointers"]:
            values = [pyopencl.SVM(buffers[at]) if at in buffers else value for at, value in enumerate(values)]
        kernel(queue, tuple(size), tuple(job["block"]), *values)
        if job["then"] is not None:
            name, grid, block = job["then"]
            behind = pyopencl.Kernel(program_of(job["binary"]), name)
            size = [count * items for count, items in zip(grid, block, strict=True)]
            behind(queue, tuple(size), tuple(block), *values)
        queue.finish()
        for position, buffer in buffers.items():
            np.save(directory / f"{number}.{position}.out.npy", buffer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
