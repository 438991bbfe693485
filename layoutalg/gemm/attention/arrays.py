"""Q, K, V and O as arrays: which shapes they have, and how they lie in memory.

One head is [queries, d] or [keys, d]; several heads have [heads] in front, several batches [batch, heads]. In the order "bshd"
several heads are [queries, heads, d], several batches [batch, queries, heads, d].

>>> from layoutalg.gemm.attention import plan_attention
>>> shapes(plan_attention(10, 20, 64, heads=4, kv_heads=2, target="bmg"))
{'Q': (4, 10, 64), 'K': (2, 20, 64), 'V': (2, 20, 64), 'O': (4, 10, 64)}
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_DPAS, MOST_GEMM_BYTES
from layoutalg.gemm.operand_arrays import held

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention
    from layoutalg.gemm.attention.problem import AttentionProblem

__all__ = [
    "Arrays",
    "check_size",
    "heads_of",
    "in_memory",
    "in_sequences",
    "laid_out",
    "out_of_memory",
    "shapes",
    "starts_in_memory",
]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Arrays:
    """Q, K and V in the type of the problem: [heads of all batches, rows, d], whatever the order in memory."""

    q: Array
    k: Array
    v: Array


def shapes(plan: Attention) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that the plan is run on, and of its result."""
    problem = plan.problem

    def shape(heads: int, rows: int) -> tuple[int, ...]:
        if problem.order == "bshd":
            batch, several = (problem.batch,) * (problem.batch > 1), (heads,) * (problem.batch > 1 or problem.heads > 1)
            return (*batch, rows, *several, problem.d)
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
        matrix = plan.problem.matrices["QKVO".index(name)]
        size = plan.problem.count_of(name) * matrix.rows * matrix.pitch * (4 if name == "O" else 2)
        if size > MOST_GEMM_BYTES:
            by = "x".join(map(str, shape))
            raise SizeError(f"{name} of {by}: {size} bytes; at most {MOST_GEMM_BYTES} are simulated")


def laid_out(plan: Attention, q: ArrayLike, k: ArrayLike, v: ArrayLike) -> Arrays:
    """The arrays as they lie in memory.

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold.
        SizeError: they are too large to be simulated.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> laid_out(plan_attention(2, 2, 64, target="bmg"), [[1] * 64] * 2, np.ones((2, 64)), np.ones((2, 60)))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: V is planned as 2x64, and the array is 2x60
    """
    check_size(plan)
    problem, wanted = plan.problem, shapes(plan)
    made = [
        np.ascontiguousarray(held(name, given, wanted[name], problem.type))
        for name, given in (("Q", q), ("K", k), ("V", v))
    ]
    q, k, v = (_by_heads(problem, array, name) for array, name in zip(made, "QKV", strict=True))
    return Arrays(q, k, v)


def in_sequences(problem: AttentionProblem) -> list[tuple[AttentionProblem, slice, slice]]:
    """The sequences of a problem, with their rows of Q and O and of K and V."""
    of_q, of_k = problem.starts or ((0, problem.queries), (0, problem.keys))
    slices = ([slice(*pair) for pair in pairwise(one)] for one in (of_q, of_k))
    return list(zip(problem.sequences, *slices, strict=True))


def starts_in_memory(problem: AttentionProblem) -> list[Array]:
    """The arrays of where packed sequences begin, in queries and in keys; none where nothing is packed."""
    return [np.array(one, np.int32) for one in problem.starts or ()]


def in_memory(plan: Attention, name: str, by_heads: Array | None) -> Array:
    """A matrix of the plan as it lies in memory, [matrices, rows, pitch]; what pads it is NaN, and all of it without values.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> in_memory(plan_attention(2, 2, 64, heads=3, order="bshd", ldq=256, target="bmg"), "Q", None).shape
    (1, 2, 256)
    """
    problem = plan.problem
    matrix = problem.matrices["QKVO".index(name)]
    dtype = numpy_type(problem.out if name == "O" else problem.type)
    memory = np.full((problem.count_of(name), matrix.rows, matrix.pitch), np.nan, dtype)
    if by_heads is not None:
        memory[..., : matrix.columns] = _side_by_side(problem, by_heads)
    return memory


def out_of_memory(plan: Attention, memory: Array) -> Array:
    """O of all heads, [heads of all batches, queries, d], from where the kernel wrote it."""
    problem = plan.problem
    return _by_heads(problem, memory[..., : problem.matrices[3].columns], "O")


def _by_heads(problem: AttentionProblem, array: Array, name: str) -> Array:
    """[heads of all batches, rows, d]."""
    if problem.order == "bhsd":
        return array.reshape(-1, *array.shape[-2:])
    heads = problem.kv_heads if name in "KV" else problem.heads
    parts = array.reshape(problem.batch, -1, heads, problem.d)
    return np.ascontiguousarray(parts.swapaxes(1, 2)).reshape(problem.batch * heads, -1, problem.d)


def _side_by_side(problem: AttentionProblem, by_heads: Array) -> Array:
    """The matrices in memory without gaps: of each head, or of each batch with its heads side by side."""
    if problem.order == "bhsd":
        return by_heads
    parts = by_heads.reshape(problem.batch, -1, *by_heads.shape[1:]).swapaxes(1, 2)
    return np.ascontiguousarray(parts).reshape(problem.batch, by_heads.shape[1], -1)


def heads_of(plan: Attention, o: Array) -> Array:
    """O of all heads, [heads of all batches, queries, d], in the shape that the plan's arrays have."""
    return _side_by_side(plan.problem, o).reshape(shapes(plan)["O"])
