"""Run a planned product's kernel on arrays: lay them out in memory as the plan says, launch, read C back.

What must not matter is made to hurt: the padding between rows holds NaN, and so does C before the launch, so a kernel
that reads beyond a row or leaves an element of C out gives a NaN where the test looks. A and B are inputs, the padding of
C's rows is nobody's: a kernel that writes there is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_DPAS as MAX_DPAS
from layoutalg.core.limits import MOST_GEMM_BYTES as MAX_BYTES
from layoutalg.core.limits import MOST_WORK

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm
    from layoutalg.gemm.surface import Matrix

__all__ = ["check_size", "run_gemm"]


def run_gemm(
    gemm: Gemm,
    a: ArrayLike,
    b: ArrayLike,
    text: str | None = None,
    *,
    progress: Callable[[float], None] | None = None,
) -> NDArray[Any]:
    """C = A B, as the kernel computes it; `text` is the kernel to run, by default the plan's own.

    `progress` is told the part of the workgroups that is done.

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold.
        SizeError: the matrices are too large to be laid out.

    >>> from layoutalg.gemm import plan_gemm
    >>> run_gemm(plan_gemm(8, 32, 32), np.ones((8, 32)), np.ones((32, 32)))[0, 0]
    np.float32(32.0)
    """
    from layoutalg.simulate import Memory, run_kernel

    in_a, in_b, in_c = gemm.matrices
    check_size(gemm)
    memory = Memory()
    result = _empty(in_c)
    inputs = [_lay_out(in_a, a), _lay_out(in_b, b)]
    for array in inputs:
        array.flags.writeable = False
    addresses = [
        *(memory.bind(name, array) for name, array in zip("AB", inputs, strict=True)),
        memory.bind("C", result, extent=(in_c.rows, in_c.columns), initialised=False),
    ]
    kernel = gemm.emit("lane") if text is None else text
    run_kernel(
        kernel,
        [*addresses, *gemm.arguments],
        gemm.grid,
        memory,
        target=gemm.target,
        progress=progress,
        work=_work(gemm),
    )
    return result[:, : gemm.n].copy()


def _work(gemm: Gemm) -> int:
    """What the launch may cost: a few times what the plan's own kernel does, and no less than any launch."""
    unit = gemm.dpas
    return max(MOST_WORK, 8 * gemm.dpas_total * unit.m * unit.n * unit.k)


def check_size(gemm: Gemm) -> None:
    """Refuse a plan whose matrices or work are too large to be simulated.

    Raises:
        SizeError: names the matrix or the number of DPAS instructions, and the limit.

    >>> from layoutalg.gemm import plan_gemm
    >>> check_size(plan_gemm(512, 512, 512))
    """
    if gemm.dpas_total > MAX_DPAS:
        raise SizeError(f"{gemm.dpas_total} dpas instructions; at most {MAX_DPAS} are simulated")
    for matrix in gemm.matrices:
        if matrix.rows * matrix.pitch_bytes > MAX_BYTES:
            raise SizeError(f"{matrix}: {matrix.rows * matrix.pitch_bytes} bytes; at most {MAX_BYTES} are simulated")


def _empty(matrix: Matrix) -> NDArray[Any]:
    from layoutalg.simulate import numpy_type

    return np.full((matrix.rows, matrix.pitch), np.nan, dtype=numpy_type(matrix.element))


def _length(values: Sized) -> int:
    try:
        return len(values)
    except OverflowError:  # a range of more than 2^63
        return -1


def _lay_out(matrix: Matrix, values: ArrayLike) -> NDArray[Any]:
    """The matrix in memory, with NaN between its rows where they are padded."""
    if isinstance(values, Sized) and not isinstance(values, np.ndarray) and _length(values) != matrix.rows:
        raise PlanError(f"{matrix.name} is planned as {matrix.rows}x{matrix.columns}: expected {matrix.rows} rows")
    try:
        given = np.asarray(values)
    except (ValueError, TypeError, RecursionError) as problem:
        raise PlanError(f"{matrix.name}: {problem}") from None
    if given.shape != (matrix.rows, matrix.columns):
        shape = "x".join(map(str, given.shape)) or "a scalar"
        raise PlanError(f"{matrix.name} is planned as {matrix.rows}x{matrix.columns}, and the array is {shape}")
    if given.dtype.kind not in "biuf" and given.dtype.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        raise PlanError(f"{matrix.name} is an array of {given.dtype}; numbers are needed")
    array = _empty(matrix)
    with np.errstate(over="ignore", invalid="ignore"):
        held = given.astype(array.dtype)
        lost = np.isinf(held.astype(np.float32)) & np.isfinite(given.astype(np.float64))
    if lost.any():
        raise PlanError(f"{matrix.name} has the value {given[lost][0]}, which {matrix.element} cannot hold")
    array[:, : matrix.columns] = held
    return array
