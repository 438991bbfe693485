"""Planned products and attention, run by their SPIR-V on Intel's OpenCL runtime for CPUs (`kernel_cpu`).

The runtime's exp and exp2 are its own, as OpenCL allows. The planner's models compute both in f64 and round once, so the text
that goes to the CPU says exactly that; division is asked for correctly rounded. Nothing else is changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm import Gemm
from layoutalg.gemm.attention import Attention
from layoutalg.gemm.split_k import counters
from tests.oracle.kernel_cpu import CpuLaunch, run_kernel_on_cpu

Array = NDArray[Any]

POISON = 99
"""What fills the padding of matrices of integers; of floats it is NaN."""
_EXP = re.compile(r"^( *)%(\w+) = math\.(exp2?|tanh) (%\w+)(?: fastmath<\w+>)? : (vector<\w+x)?f32(>?)$", re.MULTILINE)


def rounded_once(text: str) -> str:
    """The kernel with exp and exp2 of f32 computed in f64."""
    narrow, wide = r"\5f32\6", r"\5f64\6"
    return _EXP.sub(
        rf"\1%wide_\2 = arith.extf \4 : {narrow} to {wide}\n"
        rf"\1%power_\2 = math.\3 %wide_\2 : {wide}\n"
        rf"\1%\2 = arith.truncf %power_\2 : {wide} to {narrow}",
        text,
    )


def launch_of(
    gemm: Gemm,
    a: Array,
    b: Array,
    c: Array | None = None,
    bias: Array | None = None,
    row_scale: Array | None = None,
    column_scale: Array | None = None,
    *,
    starts: Array | None = None,
    text: str | None = None,
    llvm: int | None = None,
    level: str = "lane",
) -> CpuLaunch:
    """The launch that computes C from matrices as they lie in memory, of a batch with another dimension in front."""
    given = {"a": a, "b": b, "c": c, "bias": bias, "row_scale": row_scale, "column_scale": column_scale}
    given["starts"] = starts
    if gemm.workspace_bytes:
        poison = np.int32(POISON) if gemm.accumulator == "i32" else np.float32(np.nan)
        given["workspace"] = np.full(gemm.workspace_bytes // 4, poison)
    given["counters"] = np.zeros(counters(gemm.problem, gemm.tiling), np.int32)
    arrays: list[Array] = []
    for name, kind in gemm.parameters:
        if kind == "i64" and name in given:
            arrays.append(
                np.ascontiguousarray(given[name])
                if name not in ("a", "b", "c")
                else _in_memory(gemm, name, given[name])
            )
    kinds = [kind for name, kind in gemm.parameters if name not in given]
    sizes = [
        np.int64(size) if kind == "i64" else np.int32(size) for size, kind in zip(gemm.arguments, kinds, strict=True)
    ]
    version = gemm.llvm if llvm is None else llvm
    kernel = gemm.emit(level, llvm=version) if text is None else text
    given = rounded_once(kernel), (*arrays, *sizes), gemm.grid, gemm.workgroup, version
    block = (gemm.dpas.subgroup_size, 1, 1)
    then = ("gemm_reduce", gemm.reduction_grid, block) if any(gemm.reduction_grid) else None
    return CpuLaunch(*given, level=level, then=then)


def result_of(gemm: Gemm, after: Sequence[Array]) -> Array:
    """C among the arrays after the launch."""
    result = after[2][:, :, : gemm.n]
    return result if gemm.problem.batch > 1 else result[0]


def run_on_cpu(gemm: Gemm, a: Array, b: Array, directory: Path) -> Array:
    """C of a planned product, computed by its SPIR-V."""
    return result_of(gemm, run_kernel_on_cpu(launch_of(gemm, a, b), directory))


def attention_launch(plan: Attention, q: Array, k: Array, v: Array) -> CpuLaunch:
    """The launch that computes O, the last array; all lie in memory as they are given."""
    from layoutalg.core.elements import numpy_type

    result = np.full(q.shape, np.nan, numpy_type(plan.problem.out))
    arrays = [np.ascontiguousarray(array) for array in (q, k, v)]
    sizes = [np.int32(size) for size in plan.arguments]
    return CpuLaunch(rounded_once(plan.emit()), (*arrays, result, *sizes), plan.grid, plan.workgroup, plan.llvm)


def _in_memory(gemm: Gemm, name: str, values: Array | None) -> Array:
    """The matrices of a batch [batch, row, pitch], with poison behind their rows, and everywhere if there are no values."""
    from layoutalg.core.elements import numpy_type

    matrix = gemm.matrices["abc".index(name)]
    kind = np.dtype(numpy_type(matrix.element)) if values is None else values.dtype
    count = gemm.problem.groups if gemm.problem.groups and name == "b" else gemm.problem.batch
    made = np.full((count, matrix.rows, matrix.pitch), POISON if kind.kind in "iu" else np.nan, kind)
    if values is not None:
        made[:, :, : matrix.columns] = values.reshape(count, matrix.rows, matrix.columns)
    return made
