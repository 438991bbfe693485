"""Runs kernels at lane level as real work-items on Intel's OpenCL runtime for CPUs, many of one module in one process.

    batch = module_of(["gpu.func @double(%x: i64) kernel attributes {...} { ... }", ...])
    after = run_kernels(batch, [Launch("double", (array,))], directory)["double"][0]

LLVM 22 lowers the module to SPIR-V at once. An array argument is copied to an aligned buffer and its address is passed;
a numpy scalar is passed as it is. What comes back are the buffers after the launch, array for array. The runtime has no DPAS
and no 2-D block messages; `plain` gives OpenCL C with bodies for those that the kernels use (`xe_shim.plain_source`).

    python -m tests.oracle.kernel_cpu DIRECTORY      reads launches.json, the SPIR-V that it names, plain.cl if there is one,
                                                     *.in.npy; writes *.out.npy
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracle.toolchains import require, require_module
from tests.oracle.xe_cpu import LIBRARIES
from tests.oracle.xe_toolchain import run_tool, spirv_of

Array = NDArray[Any]

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
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (16, 1, 1)
    local: tuple[int, ...] = ()


def module_of(functions: Sequence[str]) -> str:
    """One module of several kernels, each the text of a gpu.func."""
    inside = "\n".join([LEADING, *functions])
    return f"builtin.module attributes {{gpu.container_module}} {{\ngpu.module @kernels {{\n{inside}\n}}\n}}\n"


def run_kernels(
    module: str, launches: Sequence[Launch], directory: Path, plain: str | None = None
) -> dict[str, list[Array]]:
    """The array arguments after each launch, by the kernel's name; a kernel is launched once."""
    return launch_binaries(
        {launch.kernel: spirv_of(module, directory) for launch in launches[:1]}, launches, directory, plain
    )


def launch_binaries(
    binaries: Mapping[str, Path], launches: Sequence[Launch], directory: Path, plain: str | None = None
) -> dict[str, list[Array]]:
    """The same for SPIR-V that is there: `binaries` says which file has a kernel (the first one's, where it has no own)."""
    require_module("pyopencl")
    library = LIBRARIES / "libintelocl.so"
    if not library.exists():
        require(str(library))
    if plain is not None:
        (directory / "plain.cl").write_text(plain)
    (directory / "icd").mkdir(exist_ok=True)
    (directory / "icd" / "intel.icd").write_text(f"{library}\n")
    jobs: list[dict[str, Any]] = []
    for launch in launches:
        given: list[Any] = []
        for number, argument in enumerate(launch.arguments):
            if isinstance(argument, np.ndarray):
                raw = np.ascontiguousarray(argument).reshape(-1).view(np.uint8)
                np.save(directory / f"{launch.kernel}.{number}.in.npy", raw)
                given.append(None)
            else:
                given.append([argument.dtype.name, argument.item()])
        binary = str(binaries.get(launch.kernel, next(iter(binaries.values()))))
        jobs.append(
            {
                "name": launch.kernel,
                "binary": binary,
                "grid": launch.grid,
                "block": launch.block,
                "arguments": given,
                "local": launch.local,
            }
        )
    (directory / "launches.json").write_text(json.dumps(jobs))
    environment = {"OCL_ICD_VENDORS": str(directory / "icd"), "LD_LIBRARY_PATH": str(LIBRARIES)}
    root = Path(__file__).parents[2]
    run_tool([sys.executable, "-m", "tests.oracle.kernel_cpu", str(directory)], root, **environment)
    results: dict[str, list[Array]] = {}
    for launch in launches:
        arrays: list[Array] = []
        for number, argument in enumerate(launch.arguments):
            if isinstance(argument, np.ndarray):
                after = np.load(directory / f"{launch.kernel}.{number}.out.npy")
                arrays.append(after.view(argument.dtype).reshape(argument.shape))
        results[launch.kernel] = arrays
    return results


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
    plain, programs = directory / "plain.cl", dict[str, Any]()
    builtins = pyopencl.Program(context, plain.read_text()) if plain.exists() else None
    if builtins is not None:
        builtins.compile("-cl-std=CL1.2")

    def program_of(binary: str) -> Any:
        if binary not in programs:
            program = pyopencl.Program(context, Path(binary).read_bytes())
            if builtins is None:
                program.build()
            else:
                program.compile("")
                program = pyopencl.link_program(context, [program, builtins])
            programs[binary] = program
        return programs[binary]

    for job in json.loads((directory / "launches.json").read_text()):
        buffers: dict[int, Array] = {}
        values: list[Any] = []
        for number, argument in enumerate(job["arguments"]):
            if argument is None:
                buffers[number] = aligned(np.load(directory / f"{job['name']}.{number}.in.npy"))
                values.append(np.int64(buffers[number].ctypes.data))
            else:
                values.append(np.dtype(argument[0]).type(argument[1]))
        values.extend(pyopencl.LocalMemory(count) for count in job["local"])
        size = [count * items for count, items in zip(job["grid"], job["block"], strict=True)]
        kernel = pyopencl.Kernel(program_of(job["binary"]), job["name"])
        kernel(queue, tuple(size), tuple(job["block"]), *values)
        queue.finish()
        for number, buffer in buffers.items():
            np.save(directory / f"{job['name']}.{number}.out.npy", buffer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
