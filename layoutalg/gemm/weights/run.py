"""Run the kernel of a product with quantised weights on arrays: laid out as the launch says, C read back.

Padding of A's rows is NaN, so that reading it shows; so is C, unless the epilogue reads it. What is read may not be written.

>>> from layoutalg.gemm.weights import plan_weights, quantise
>>> plan = plan_weights(8, 64, 128, lda=136)
>>> bool((execute(plan, np.ones((8, 128)), quantise(np.zeros((128, 64))))[0] == 0).all())
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_DPAS, MOST_GEMM_BYTES, MOST_WORK
from layoutalg.gemm.operand_arrays import check_given, held, held_scales, poisoned
from layoutalg.gemm.run import check_bytes
from layoutalg.gemm.split_k import counters
from layoutalg.gemm.weights.float8 import Float8Weights
from layoutalg.gemm.weights.numerics import check_batch
from layoutalg.gemm.weights.quantised import QuantisedWeights

if TYPE_CHECKING:
    from layoutalg.gemm.weights.plan import WeightsGemm
    from layoutalg.simulate import Executed
    from layoutalg.simulate.counting import Counted

__all__ = ["arrays_of", "check_size", "execute"]


def arrays_of(
    plan: WeightsGemm,
    a: ArrayLike,
    weights: QuantisedWeights | Float8Weights | Sequence[QuantisedWeights | Float8Weights],
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
) -> dict[str, NDArray[Any]]:
    """What lies behind each pointer of the launch, by name; rows of A and C have their pitch.

    Matrices of a batch are one below the other.
    """
    product = plan.problem.product
    given, many = check_batch(plan.problem, weights), (product.batch,) if product.batch > 1 else ()
    rows = product.batch * product.m
    check_given(product, c, bias=bias)
    scales = held_scales(product, row_scale, column_scale)
    found: dict[str, NDArray[Any]] = {f"{side}_scale": scale.ravel() for side, scale in scales.items()}
    left = held("A", a, (*many, product.m, product.k), product.a)
    found["a"] = np.full((rows, product.lda), np.nan, left.dtype)
    found["a"][:, : product.k] = left.reshape(rows, product.k)
    shape = (*many, product.m, product.n)
    before = held("C", np.zeros(shape) if c is None else c, shape, product.c)
    found["c"] = np.full((rows, product.ldc), np.nan, before.dtype)
    if c is not None:
        found["c"][:, : product.n] = before.reshape(rows, product.n)
    if bias is not None:
        found["bias"] = held("bias", bias, (product.count(product.bias or "row"),), product.c)
    found["b"] = np.concatenate([one.words for one in given]).view(np.int32)
    found["group_scales"] = np.concatenate([one.scales for one in given])
    if plan.problem.zeros:
        zeros = [one.zeros for one in given if isinstance(one, QuantisedWeights) and one.zeros is not None]
        found["group_zeros"] = np.concatenate(zeros)
    return found


def check_size(plan: WeightsGemm) -> None:
    """Refuse a plan whose matrices or work are too large to be simulated.

    Raises `SizeError`: names the matrix or the number of DPAS instructions, and the limit.
    """
    problem = plan.problem
    if plan.dpas_total > MOST_DPAS:
        raise SizeError(f"{plan.dpas_total} dpas instructions; at most {MOST_DPAS} are simulated")
    if problem.bytes > MOST_GEMM_BYTES:
        raise SizeError(f"{problem}: {problem.bytes} bytes; at most {MOST_GEMM_BYTES} are simulated")
    matrices = problem.product.matrices
    check_bytes((matrices[0], problem.words, matrices[2]), problem.product.batch)


def execute(
    plan: WeightsGemm,
    a: ArrayLike,
    weights: QuantisedWeights | Float8Weights | Sequence[QuantisedWeights | Float8Weights],
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    text: str | None = None,
    progress: Callable[[float], None] | None = None,
    counted: Counted | None = None,
) -> tuple[NDArray[Any], Executed | None]:
    """C after the launch, and what its first kernel executed, if that is to be `counted` ("messages" or "lines").

    Raises:
        PlanError: what is given does not suit the plan.
        SizeError: the matrices are too large to be laid out.
    """
    from layoutalg.gemm.emission.kernel import KERNEL, REDUCE
    from layoutalg.simulate import Memory, run_kernel

    check_size(plan)
    product, dpas = plan.problem.product, plan.dpas_total
    arrays, memory = arrays_of(plan, a, weights, c, bias, row_scale, column_scale), Memory()
    counted_parts = np.zeros(counters(product, plan.tiling), np.int32)
    addresses: list[int] = []
    for argument in plan.launch.arguments:
        if argument.memory is None:
            continue
        if argument.name == "workspace":
            sums = poisoned((argument.memory.bytes // 4,), np.dtype(np.float32))
            addresses.append(memory.bind("workspace", sums, initialised=False))
            continue
        if argument.name == "counters":
            addresses.append(memory.bind("counters", counted_parts))
            continue
        array, extent = arrays[argument.name], None
        if argument.name in ("a", "b", "c"):
            extent = argument.memory.count * argument.memory.rows, argument.memory.columns
        result = argument.name == "c"
        if not result:
            array = np.ascontiguousarray(array)
            array = array if array is not arrays[argument.name] else array.copy()
            array.flags.writeable = False
        addresses.append(memory.bind(argument.name, array, extent=extent, initialised=not result or c is not None))
    unit = plan.dpas
    kernel, given = plan.emit() if text is None else text, [*addresses, *plan.arguments]
    more: dict[str, Any] = {"target": plan.target, "work": max(MOST_WORK, 8 * dpas * unit.m * unit.n * unit.k)}
    executed = run_kernel(kernel, given, plan.grid, memory, kernel=KERNEL, progress=progress, counted=counted, **more)
    if any(plan.reduction_grid):
        run_kernel(kernel, given, plan.reduction_grid, memory, kernel=REDUCE, **more)
    if counted_parts.any():
        raise PlanError("the kernel leaves its counters other than 0, and the next launch would not find who is last")
    result = arrays["c"][:, : product.n].copy()
    return result if product.batch == 1 else result.reshape(product.batch, product.m, product.n), executed
