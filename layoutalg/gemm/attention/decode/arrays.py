"""Q, K, V, O and the lengths of decode as arrays: which shapes they have, and how they lie in memory.

>>> shapes(la.plan_decode(100, 64, heads=4, kv_heads=2, batch=3, order="nhd"))
{'Q': (3, 4, 1, 64), 'K': (3, 100, 2, 64), 'V': (3, 100, 2, 64), 'O': (3, 4, 1, 64)}
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
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["DecodeArrays", "check_size", "keys_of_heads", "laid_out", "shapes"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DecodeArrays:
    """Q, K and V in the type of the problem and in the shapes of the plan; the lengths as numbers of 32 bits."""

    q: Array
    k: Array
    v: Array
    lengths: Array


def shapes(plan: Decode) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that the plan is run on, and of its result."""
    problem = plan.problem
    of_q = problem.batch, problem.heads, problem.queries, problem.d
    if problem.order == "hnd":
        of_k = problem.batch, problem.kv_heads, problem.keys, problem.d
    else:
        of_k = problem.batch, problem.keys, problem.kv_heads, problem.d
    return {"Q": of_q, "K": of_k, "V": of_k, "O": of_q}


def check_size(plan: Decode) -> None:
    """Refuse a plan whose arrays or work are too large to be simulated.

    Raises `SizeError`: names the array or the number of DPAS instructions, and the limit.
    """
    if plan.dpas_total > MOST_DPAS:
        raise SizeError(f"{plan.dpas_total} dpas instructions; at most {MOST_DPAS} are simulated")
    sizes = {name: prod(shape) * (4 if name == "O" else 2) for name, shape in shapes(plan).items()}
    for name, size in {**sizes, "the workspace": plan.workspace_bytes}.items():
        if size > MOST_GEMM_BYTES:
            raise SizeError(f"{name}: {size} bytes; at most {MOST_GEMM_BYTES} are simulated")


def laid_out(plan: Decode, q: ArrayLike, k: ArrayLike, v: ArrayLike, lengths: ArrayLike | None) -> DecodeArrays:
    """The arrays as they lie in memory; without lengths all sequences are full.

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold; a length that is none.
        SizeError: they are too large to be simulated.

    >>> ones = np.ones((1, 1, 64, 64))
    >>> laid_out(la.plan_decode(64, 64), ones[:, :, :1], ones, ones, [65])
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: lengths: sequence 0 has 65 keys, and the plan has room for 0 to 64
    """
    check_size(plan)
    wanted, problem = shapes(plan), plan.problem
    dtype = numpy_type(problem.type)
    made = [_converted(name, numbers(name, one, wanted[name]), dtype) for name, one in (("Q", q), ("K", k), ("V", v))]
    if lengths is None:
        lengths = np.full(problem.batch, problem.keys)
    given = numbers("lengths", lengths, (problem.batch,))
    wrong = ~((given >= 0) & (given <= problem.keys) & (given == np.trunc(given)))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise PlanError(f"lengths: sequence {at} has {given[at]} keys, and the plan has room for 0 to {problem.keys}")
    return DecodeArrays(*made, given.astype(np.int32))


def keys_of_heads(plan: Decode, matrix: Array) -> Array:
    """K or V as [batch, kv_heads, keys, d], whatever the order in memory is.

    >>> keys_of_heads(la.plan_decode(5, 64, order="nhd"), np.ones((1, 5, 1, 64))).shape
    (1, 1, 5, 64)
    """
    return matrix if plan.problem.order == "hnd" else np.swapaxes(matrix, 1, 2)


def _converted(name: str, given: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        held = np.ascontiguousarray(given.astype(dtype))
        lost = np.isinf(held.astype(np.float32)) & np.isfinite(given.astype(np.float64))
    if lost.any():
        raise PlanError(f"{name} has the value {given[lost][0]}, which {dtype} cannot hold")
    return held
