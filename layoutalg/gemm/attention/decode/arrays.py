"""Q, K, V, O, the lengths and the table of decode as arrays: which shapes they have, and how they lie in memory.

>>> shapes(la.plan_decode(100, 64, heads=4, kv_heads=2, batch=3, order="nhd", target="bmg"))
{'Q': (3, 4, 1, 64), 'K': (3, 100, 2, 64), 'V': (3, 100, 2, 64), 'O': (3, 4, 1, 64)}
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_DPAS, MOST_GEMM_BYTES
from layoutalg.gemm.operand_arrays import held, numbers

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["DecodeArrays", "check_size", "keys_of", "laid_out", "shapes"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DecodeArrays:
    """Q, K and V in the type of the problem and in the shapes of the plan; lengths and table as numbers of 32 bits."""

    q: Array
    k: Array
    v: Array
    lengths: Array
    table: Array | None


def shapes(plan: Decode) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that the plan is run on, and of its result."""
    problem = plan.problem
    of_q = problem.batch, problem.heads, problem.queries, problem.d
    count, keys = (problem.pages, problem.page) if problem.page else (problem.batch, problem.keys)
    of_k = (count, problem.kv_heads, keys, problem.d)
    if problem.order == "nhd":
        of_k = (count, keys, problem.kv_heads, problem.d)
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


def laid_out(
    plan: Decode,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    lengths: ArrayLike | None = None,
    table: ArrayLike | None = None,
) -> DecodeArrays:
    """The arrays as they lie in memory; without lengths all sequences are full.

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold; a length or a page
            is out of range.
        SizeError: they are too large to be simulated.

    >>> ones = np.ones((1, 1, 64, 64))
    >>> laid_out(la.plan_decode(64, 64, target="bmg"), ones[:, :, :1], ones, ones, [65])
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: lengths: sequence 0 has 65 keys, and the plan has room for 0 to 64
    """
    check_size(plan)
    wanted, problem = shapes(plan), plan.problem
    of_q, of_k, of_v = (
        np.ascontiguousarray(held(name, one, wanted[name], problem.type))
        for name, one in (("Q", q), ("K", k), ("V", v))
    )
    if lengths is None:
        lengths = np.full(problem.batch, problem.keys)
    given = numbers("lengths", lengths, (problem.batch,))
    if (at := _first_outside(given, problem.keys)) is not None:
        raise PlanError(
            f"lengths: sequence {at[0]} has {given[at]} keys, and the plan has room for 0 to {problem.keys}"
        )
    if not problem.page:
        if table is not None:
            raise PlanError("table: the plan has no pages, so it takes none")
        return DecodeArrays(of_q, of_k, of_v, given.astype(np.int32), None)
    if table is None:
        raise PlanError(f"table: missing; it says which of {problem.pages} pages each sequence has")
    entries = numbers("table", table, (problem.batch, problem.pages_of_sequence))
    used = np.arange(problem.pages_of_sequence) * problem.page < given[:, None]
    if (at := _first_outside(np.where(used, entries, 0), problem.pages - 1)) is not None:
        raise PlanError(
            f"table: page {at[1]} of sequence {at[0]} is {entries[at]}, and the pool has the pages 0 to {problem.pages - 1}"
        )
    with np.errstate(invalid="ignore"):
        kept = np.clip(np.nan_to_num(entries), -(2**31), 2**31 - 1).astype(np.int32)
    return DecodeArrays(of_q, of_k, of_v, given.astype(np.int32), kept)


def _first_outside(numbers: Array, largest: int) -> tuple[int, ...] | None:
    """Where the first wrong number stands: one that is not whole, or outside of 0 to `largest`. None if all are right."""
    wrong = ~((numbers >= 0) & (numbers <= largest) & (numbers == np.trunc(numbers)))
    if not wrong.any():
        return None
    return tuple(int(place) for place in np.argwhere(wrong)[0])


def keys_of(plan: Decode, arrays: DecodeArrays, matrix: Array, sequence: int) -> Array:
    """K or V of one sequence as [kv_heads, length, d], wherever its keys are.

    >>> plan, ones = la.plan_decode(5, 64, order="nhd", target="bmg"), np.ones((1, 5, 1, 64))
    >>> arrays = laid_out(plan, ones[:, :1], ones, ones, [3])
    >>> keys_of(plan, arrays, arrays.k, 0).shape
    (1, 3, 64)
    """
    problem, length = plan.problem, int(arrays.lengths[sequence])
    if arrays.table is None:
        held = matrix[sequence]
        return (held if problem.order == "hnd" else np.swapaxes(held, 0, 1))[:, :length]
    pages = matrix[arrays.table[sequence, : -(-length // problem.page)]]
    heads = np.swapaxes(pages, 0, 1) if problem.order == "hnd" else np.moveaxis(pages, 2, 0)
    return heads.reshape(problem.kv_heads, -1, problem.d)[:, :length]
