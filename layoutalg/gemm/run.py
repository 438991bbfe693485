"""Run a planned product's kernel on arrays: lay them out in memory as the plan says, launch, read C back.

Padding is filled so that reading it shows: with NaN, or with 85 between integers. So is C before the launch, unless the
epilogue reads it; an element that the kernel leaves out, and one that it computes from what lies behind a row, shows in the
result. A, B, the bias and scales are inputs, the padding of C's rows belongs to nobody: a kernel that writes there is refused,
and so is one that reads or writes outside of its matrices.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(8, 32, 40, lda=48, bias="column", activation="relu")
>>> c, executed = execute(gemm, np.ones((8, 40)), np.ones((40, 32)), bias=np.arange(-50, -18), counted="messages")
>>> c[0, :12].tolist(), executed.dpas == gemm.dpas_total
([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import element_bits, numpy_type
from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_DPAS as MAX_DPAS
from layoutalg.core.limits import MOST_GEMM_BYTES as MAX_BYTES
from layoutalg.core.limits import MOST_WORK
from layoutalg.gemm.grouped import checked_starts
from layoutalg.gemm.operand_arrays import check_given, held, held_scales, numbers, poisoned
from layoutalg.gemm.split_k import counters

if TYPE_CHECKING:
    from layoutalg.gemm.matrix_in_memory import Matrix
    from layoutalg.gemm.plan import Gemm
    from layoutalg.gemm.problem import Problem
    from layoutalg.simulate import Executed
    from layoutalg.simulate.counting import Counted

__all__ = ["check_bytes", "check_size", "execute", "laid_out_c"]


def execute(
    gemm: Gemm,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    starts: ArrayLike | None = None,
    text: str | None = None,
    level: str = "lane",
    progress: Callable[[float], None] | None = None,
    counted: Counted | None = None,
    workgroups: Sequence[int] | None = None,
) -> tuple[NDArray[Any], Executed | None]:
    """C after the launch, and what the launch executed, if that is to be `counted` ("messages" or "lines").

    Where k is in parts, the reduction is launched behind it; what is counted is the product's kernel.

    A is m x k (k x m with `trans_a`), B is k x n (n x k with `trans_b`), C is m x n; of a batch each has another dimension in
    front. `c` is C before the launch, for a beta that is not 0; `bias` and scales have m or n numbers. `text` is the kernel to
    run, by default what the plan emits at this level. `progress` is told the part of the workgroups that is done. With
    `workgroups` only those of these numbers run (`gemm.sampling` knows what they compute), where k is not in parts.

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold; `c`, `bias` or a scale is
            missing.
        SizeError: the matrices are too large to be laid out.
    """
    from layoutalg.gemm.emission.kernel import KERNEL, REDUCE
    from layoutalg.simulate import Memory, run_kernel

    problem, (in_a, in_b, in_c) = gemm.problem, gemm.matrices
    check_given(problem, c, bias=bias)
    check_size(gemm)
    memory, batch, strides = Memory(), problem.batch, problem.strides
    result = laid_out_c(gemm, c)
    inputs = {
        "A": _lay_out(in_a, a, batch, strides[0], problem.a),
        "B": _lay_out(in_b, b, batch, strides[1], problem.b)
        if not problem.groups
        else _of_groups(problem, b, strides[1]),
    }
    if problem.groups or starts is not None:
        inputs["starts"] = checked_starts(problem, starts)
    scales = held_scales(problem, row_scale, column_scale)
    inputs |= {f"{side}_scale": scale.ravel() for side, scale in scales.items()}
    if bias is not None:
        inputs["bias"] = held("bias", bias, (problem.count(problem.bias or "row"),), problem.c)
    for array in inputs.values():
        array.flags.writeable = False
    pointers = [argument.name for argument in gemm.launch.arguments if argument.kind == "pointer"]
    names = [name.upper() if name.upper() in ("A", "B", "C", "WORKSPACE") else name for name in pointers]
    addresses = {name: memory.bind(name, array) for name, array in inputs.items()}
    rows = result.reshape(-1, in_c.pitch)
    extent = rows.shape[0] - result.shape[1] + in_c.rows, in_c.columns
    addresses["C"] = memory.bind("C", rows, extent=extent, initialised=c is not None)
    if gemm.workspace_bytes:
        in_parts = gemm.tiling.split_k > 1 or gemm.tiling.stream_k > 0
        element = gemm.accumulator if in_parts else gemm.element_of("A")
        workspace = poisoned((gemm.workspace_bytes * 8 // element_bits(element),), numpy_type(element))
        addresses["WORKSPACE"] = memory.bind("workspace", workspace, initialised=False)
    counted_parts = np.zeros(counters(problem, gemm.tiling), np.int32)
    if counted_parts.size:
        names = [name.upper() if name == "counters" else name for name in names]
        addresses["COUNTERS"] = memory.bind("counters", counted_parts)
    kernel = gemm.emit(level) if text is None else text
    given = [*(addresses[name] for name in names if name in addresses), *gemm.arguments]
    more: dict[str, Any] = {"target": gemm.target, "work": _work(gemm)}
    if not any(gemm.reduction_grid):
        executed = run_kernel(
            kernel, given, gemm.grid, memory, progress=progress, counted=counted, workgroups=workgroups, **more
        )
    else:
        executed = run_kernel(
            kernel, given, gemm.grid, memory, kernel=KERNEL, progress=progress, counted=counted, **more
        )
        run_kernel(kernel, given, gemm.reduction_grid, memory, kernel=REDUCE, **more)
    if counted_parts.any():
        raise PlanError("the kernel leaves its counters other than 0, and the next launch would not find who is last")
    found = result[:, : in_c.rows, : in_c.columns].copy()
    return found if batch > 1 else found[0], executed


def _of_groups(problem: Problem, b: ArrayLike, stride: int) -> NDArray[Any]:
    """The matrices of all groups in memory."""
    matrix = problem.matrices[1]
    given = numbers("B", b, (problem.groups, matrix.rows, matrix.columns))
    return _lay_out(matrix, given if problem.groups > 1 else given[0], problem.groups, stride, problem.b)


def _work(gemm: Gemm) -> int:
    """What the launch may cost: a few times what the plan's own kernel does, and no less than any launch."""
    unit = gemm.dpas
    return max(MOST_WORK, 8 * gemm.dpas_total * unit.m * unit.n * unit.k)


def check_size(gemm: Gemm) -> None:
    """Refuse a plan whose matrices or work are too large to be simulated.

    Raises `SizeError`: names the matrix or the number of DPAS instructions, and the limit.
    """
    if gemm.dpas_total > MAX_DPAS:
        raise SizeError(f"{gemm.dpas_total} dpas instructions; at most {MAX_DPAS} are simulated")
    check_bytes(gemm.matrices, gemm.problem.batch)
    if gemm.problem.groups:
        check_bytes(gemm.matrices[1:2], gemm.problem.groups)


def check_bytes(matrices: Sequence[Matrix], batch: int = 1) -> None:
    """Refuse matrices that are too large to be laid out, with what pads their rows.

    Raises `SizeError`: names the matrix and the limit.
    """
    for matrix in matrices:
        size = matrix.rows * matrix.pitch_bytes * batch
        if size > MAX_BYTES:
            many = f"{batch} x " if batch > 1 else ""
            raise SizeError(f"{many}{matrix}: {size} bytes; at most {MAX_BYTES} are simulated")


def laid_out_c(gemm: Gemm, c: ArrayLike | None) -> NDArray[Any]:
    """C in memory before the launch [batch, row, pitch]: what is given, or what shows where nobody writes to it."""
    matrix, stride = gemm.matrices[2], gemm.problem.strides[2]
    if c is None:
        return _poisoned(matrix, gemm.problem.batch, stride)
    return _lay_out(matrix, c, gemm.problem.batch, stride, gemm.problem.c)


def _poisoned(matrix: Matrix, batch: int, stride: int) -> NDArray[Any]:
    """The matrices of a batch [batch, row, pitch], filled with what shows; there may be rows between them."""
    rows = matrix.rows if batch == 1 else stride // matrix.pitch
    return poisoned((batch, rows, matrix.pitch), numpy_type(matrix.element))


def _lay_out(matrix: Matrix, values: ArrayLike, batch: int, stride: int, kind: str) -> NDArray[Any]:
    """The matrices in memory, with poison between their rows where they are padded."""
    shape = (matrix.rows, matrix.columns) if batch == 1 else (batch, matrix.rows, matrix.columns)
    given = held(matrix.name, values, shape, kind)
    made = _poisoned(matrix, batch, stride)
    made[:, : matrix.rows, : matrix.columns] = given.reshape(batch, matrix.rows, -1)
    return made
