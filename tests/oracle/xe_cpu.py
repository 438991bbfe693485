"""Runs the emitted SPIR-V as real work-items, on Intel's OpenCL runtime for CPUs.

The runtime obeys the sub-group size and has sub-group shuffles, but neither DPAS nor 2D block messages: `xe_shim`
writes those as plain loops, and they are linked to the kernel. So everything else is LLVM's doing: offsets, surfaces,
the loop, which register goes where. Addresses are passed as integers; the device's memory is this process's own.

It runs in a process of its own, because the OpenCL loader reads its environment when it starts:

    python -m tests.oracle.xe_cpu DIRECTORY       reads kernel.spv, a.npy, b.npy, launch.npy; writes c.npy
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm import Gemm
from tests.oracle.toolchains import require, require_module
from tests.oracle.xe_shim import plain_source
from tests.oracle.xe_toolchain import run_tool, spirv_of

Array = NDArray[Any]

LIBRARIES = Path(sysconfig.get_path("data")) / "lib"


def run_on_cpu(gemm: Gemm, a: Array, b: Array, directory: Path) -> Array:
    """C of a planned product of 16-bit floats, computed by its SPIR-V; rows of A and B are padded as planned."""
    require_module("pyopencl")
    library = LIBRARIES / "libintelocl.so"
    if not library.exists():
        require(str(library))
    spirv_of(gemm.emit("lane"), directory)
    (directory / "icd").mkdir(exist_ok=True)
    (directory / "icd" / "intel.icd").write_text(f"{library}\n")
    for matrix, values in zip(gemm.matrices, (a, b), strict=False):
        padded = np.full((matrix.rows, matrix.pitch), 0x7FFF, np.uint16)
        padded[:, : matrix.columns] = np.ascontiguousarray(values).view(np.uint16)
        np.save(directory / f"{matrix.name.lower()}.npy", padded)
    np.save(directory / "launch.npy", np.array([*gemm.grid, *gemm.workgroup, *gemm.arguments]))
    environment = {"OCL_ICD_VENDORS": str(directory / "icd"), "LD_LIBRARY_PATH": str(LIBRARIES)}
    root = Path(__file__).parents[2]
    run_tool([sys.executable, "-m", "tests.oracle.xe_cpu", str(directory)], root, **environment)
    return np.load(directory / "c.npy")[:, : gemm.n]


def aligned(shape: tuple[int, ...], dtype: Any, fill: Any) -> Array:
    """An array at a multiple of 64 bytes, as the messages want it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    array = raw[start : start + size].view(dtype).reshape(shape)
    array[...] = fill
    return array


def main(directory: Path) -> None:
    """Compile, link, launch, and write C."""
    import pyopencl

    grid_x, grid_y, _, size, _, _, m, n, k, lda, ldb, ldc = (int(x) for x in np.load(directory / "launch.npy"))
    loaded = [np.load(directory / name) for name in ("a.npy", "b.npy")]
    a, b = (aligned(array.shape, array.dtype, array) for array in loaded)
    c = aligned((m, ldc), np.float32, np.nan)
    context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
    kernel = pyopencl.Program(context, (directory / "kernel.spv").read_bytes())
    builtins = pyopencl.Program(context, plain_source())
    kernel.compile("")
    builtins.compile("-cl-std=CL1.2")
    program = pyopencl.link_program(context, [kernel, builtins])
    addresses = [np.int64(array.ctypes.data) for array in (a, b, c)]
    sizes = [np.int32(size) for size in (m, n, k, lda, ldb, ldc)]
    queue = pyopencl.CommandQueue(context)
    program.gemm(queue, (grid_x * size, grid_y), (size, 1), *addresses, *sizes)
    queue.finish()
    np.save(directory / "c.npy", c)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
