"""Q, K, V and O as arrays: which shapes they have, and how they lie in memory.

One head is [queries, d] or [keys, d]; several heads have [heads] in front, several batches [batch, heads].

>>> from layoutalg.gemm.attention import plan_attention
>>> shapes(plan_attention(10, 20, 64, heads=4, kv_heads=2))
{'Q': (4, 10, 64), 'K': (2, 20, 64), 'V': (2, 20, 64), 'O': (4, 10, 64)}
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_DPAS, MOST_GEMM_BYTES
from layoutalg.gemm.operand_arrays import numbers

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["Arrays", "check_size", "heads_of", "laid_out", "shapes"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Arrays:
    """Q, K and V in the type of the problem: [heads of all batches, rows, d], contiguous."""

    q: Array
    k: Array
    v: Array


def shapes(plan: Attention) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that the plan is run on, and of its result."""
    problem = plan.problem

    def shape(heads: int, rows: int) -> tuple[int, ...]:
        front = (problem.batch, heads) if problem.batch > 1 else (heads,) if problem.heads > 1 else ()
        return (*front, rows, problem.d)

    of_q, of_k = shape(problem.heads, problem.queries), shape(problem.kv_heads, problem.keys)
    return {"Q": of_q, "K": of_k, "V": of_k, "O": of_q}


def check_size(plan: Attention) -> None:
    """Refuse a plan whose matrices or work are too large to be simulated.

    Raises `SizeError`: names the matrix or the number of DPAS instructions, and the limit.
    """
    if plan.dpas_total > MOST_DPAS:
        raise SizeError(f"{plan.dpas_total} dpas instructions; at most {MOST_DPAS} are simulated")
    for name, shape in shapes(plan).items():
        size = prod(shape) * (4 if name == "O" else 2)
        if size > MOST_GEMM_BYTES:
            by = "x".join(map(str, shape))
            raise SizeError(f"{name} of {by}: {size} bytes; at most {MOST_GEMM_BYTES} are simulated")


def laid_out(plan: Attention, q: ArrayLike, k: ArrayLike, v: ArrayLike) -> Arrays:
    """The arrays as they lie in memory.

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold.
        SizeError: they are too large to be simulated.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> laid_out(plan_attention(2, 2, 64), [[1] * 64] * 2, np.ones((2, 64)), np.ones((2, 60)))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: V is planned as 2x64, and the array is 2x60
    """
    check_size(plan)
    wanted = shapes(plan)
    dtype = numpy_type(plan.problem.type)
    made = [
        _converted(name, numbers(name, given, wanted[name]), dtype) for name, given in (("Q", q), ("K", k), ("V", v))
    ]
    return Arrays(*(array.reshape(-1, *array.shape[-2:]) for array in made))


def heads_of(plan: Attention, o: Array) -> Array:
    """O of all heads, [heads of all batches, queries, d], in the shape that the plan's arrays have."""
    return o.reshape(shapes(plan)["O"])


def _converted(name: str, given: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        held = np.ascontiguousarray(given.astype(dtype))
        lost = np.isinf(held.astype(np.float32)) & np.isfinite(given.astype(np.float64))
    if lost.any():
        raise PlanError(f"{name} has the value {given[lost][0]}, which {dtype} cannot hold")
    return held
