"""A planned product of 16-bit floats, run by its SPIR-V on Intel's OpenCL runtime for CPUs (`kernel_cpu`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm import Gemm
from tests.oracle.kernel_cpu import CpuLaunch, run_kernel_on_cpu

Array = NDArray[Any]


def launch_of(gemm: Gemm, a: Array, b: Array, llvm: int = 22) -> CpuLaunch:
    """The launch that computes C; rows are padded as planned, with NaN."""
    padded: list[Array] = []
    for matrix, values in zip(gemm.matrices, (a, b), strict=False):
        array = np.full((matrix.rows, matrix.pitch), 0x7FFF, np.uint16)
        array[:, : matrix.columns] = np.ascontiguousarray(values).view(np.uint16)
        padded.append(array)
    result = np.full((gemm.m, gemm.matrices[-1].pitch), np.nan, np.float32)
    sizes = [np.int32(size) for size in gemm.arguments]
    x, y, z = gemm.grid
    return CpuLaunch(gemm.emit("lane"), (*padded, result, *sizes), (x, y, z), gemm.workgroup, llvm)


def run_on_cpu(gemm: Gemm, a: Array, b: Array, directory: Path) -> Array:
    """C of a planned product, computed by its SPIR-V."""
    return run_kernel_on_cpu(launch_of(gemm, a, b), directory)[2][:, : gemm.n]
