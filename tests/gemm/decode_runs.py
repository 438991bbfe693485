"""Decode on random arrays, for the tests of its kernels: the arrays, and what exact arithmetic makes of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.core.elements import numpy_type
from layoutalg.gemm.attention.decode import Decode, DecodeProblem
from layoutalg.gemm.attention.decode.arrays import shapes

Array = NDArray[Any]


def random_arrays(plan: Decode, lengths: Sequence[int], seed: int = 0, spread: float = 1.0) -> tuple[Array, ...]:
    """Q, K and V in the plan's type; what no sequence has is NaN. With pages a table follows, nonsense behind a length."""
    numbers, wanted = np.random.default_rng(seed), shapes(plan)
    problem = plan.problem
    dtype = numpy_type(plan.problem.type)
    q, k, v = ((numbers.standard_normal(wanted[name]) * spread).astype(dtype) for name in "QKV")
    if problem.page:
        return q, *_paged(plan, lengths, numbers, k, v)
    for number, length in enumerate(lengths):
        for matrix in (k, v):
            by_keys = matrix[number] if plan.problem.order == "nhd" else np.swapaxes(matrix[number], 0, 1)
            by_keys[length:] = np.nan
    return q, k, v


def _paged(
    plan: Decode, lengths: Sequence[int], numbers: np.random.Generator, *matrices: Array
) -> tuple[Array, Array, Array]:
    problem = plan.problem
    places = iter(numbers.permutation(problem.pages).tolist())
    table = np.full((problem.batch, problem.pages_of_sequence), 2**31 - 1, np.int32)
    kept = np.zeros((problem.pages, problem.page), bool)
    for number, length in enumerate(lengths):
        for key in range(length):
            page, slot = divmod(key, problem.page)
            if slot == 0:
                table[number, page] = next(places)
            kept[table[number, page], slot] = True
    for matrix in matrices:
        by_keys = matrix if problem.order == "nhd" else np.swapaxes(matrix, 1, 2)
        by_keys[~kept] = np.nan
    k, v = matrices
    return k, v, table


def defined(
    problem: DecodeProblem, q: Array, k: Array, v: Array, lengths: Sequence[int], table: Array | None = None
) -> NDArray[np.float64]:
    """Softmax attention in f64, one row after the other; 0 for a query that sees no key."""
    out = np.zeros(q.shape)
    if table is not None:
        k, v = (_contiguous(problem, one, lengths, table) for one in (k, v))
    elif problem.order == "nhd":
        k, v = np.swapaxes(k, 1, 2), np.swapaxes(v, 1, 2)
    for sequence, head, query in np.ndindex(*q.shape[:3]):
        seen: int = lengths[sequence] - problem.queries + query + 1
        if seen > 0:
            of_head = head * problem.kv_heads // problem.heads
            keys, values = (one[sequence, of_head, :seen].astype(np.float64) for one in (k, v))
            scores = keys @ q[sequence, head, query].astype(np.float64) * problem.scale
            weights = np.exp(scores - scores.max())
            out[sequence, head, query] = weights @ values / weights.sum()
    return out


def _contiguous(problem: DecodeProblem, matrix: Array, lengths: Sequence[int], table: Array) -> Array:
    """Paged keys as [batch, kv_heads, keys, d], copied key by key."""
    made = np.zeros((problem.batch, problem.kv_heads, problem.keys, problem.d), matrix.dtype)
    for number, length in enumerate(lengths):
        for key in range(length):
            page, slot = table[number, key // problem.page], key % problem.page
            made[number, :, key] = matrix[page, slot] if problem.order == "nhd" else matrix[page, :, slot]
    return made


def random_plan(draw: random.Random) -> tuple[Decode, list[int]]:
    """Any plan with few keys, and lengths for its sequences: empty ones, full ones, and any between."""
    d, group, keys = draw.choice([64, 96, 128, 72]), draw.choice([1, 4, 5, 8]), 4 * draw.randint(1, 60)
    kv_heads, batch = draw.randint(1, 2), draw.randint(1, 3)
    plan = la.plan_decode(
        keys, d, draw.choice(["f16", "bf16"]), draw.choice(["f32", "f16", "bf16"]), draw.choice(["bmg", "pvc"]),
        heads=group * kv_heads, kv_heads=kv_heads, batch=batch, queries=draw.choice([1, 1, 1, 2, 3]),
        order=draw.choice(["hnd", "nhd"]) if d % 32 == 0 else "hnd",
        parts=draw.choice([1, 2, 3, 7, 16, 20]), llvm=draw.choice([23, 24]),
        page=draw.choice([None, 16, 32, 64, 128]),
    )  # fmt: skip
    return plan, [draw.choice([0, keys, draw.randint(1, keys), draw.randint(1, keys)]) for _ in range(batch)]
