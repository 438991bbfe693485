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


def random_arrays(
    plan: Decode, lengths: Sequence[int], seed: int = 0, spread: float = 1.0
) -> tuple[Array, Array, Array]:
    """Q, K and V in the plan's type; what lies behind a sequence is NaN."""
    numbers, wanted = np.random.default_rng(seed), shapes(plan)
    dtype = numpy_type(plan.problem.type)
    q, k, v = ((numbers.standard_normal(wanted[name]) * spread).astype(dtype) for name in "QKV")
    for number, length in enumerate(lengths):
        for matrix in (k, v):
            by_keys = matrix[number] if plan.problem.order == "nhd" else np.swapaxes(matrix[number], 0, 1)
            by_keys[length:] = np.nan
    return q, k, v


def defined(problem: DecodeProblem, q: Array, k: Array, v: Array, lengths: Sequence[int]) -> NDArray[np.float64]:
    """Softmax attention in f64, one row after the other; 0 for a query that sees no key."""
    out = np.zeros(q.shape)
    if problem.order == "nhd":
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


def random_plan(draw: random.Random) -> tuple[Decode, list[int]]:
    """Any plan with few keys, and lengths for its sequences: empty ones, full ones, and any between."""
    d, group, keys = draw.choice([64, 96, 128, 72]), draw.choice([1, 4, 5, 8]), 4 * draw.randint(1, 60)
    kv_heads, batch = draw.randint(1, 2), draw.randint(1, 3)
    plan = la.plan_decode(
        keys, d, draw.choice(["f16", "bf16"]), draw.choice(["f32", "f16", "bf16"]), draw.choice(["bmg", "pvc"]),
        heads=group * kv_heads, kv_heads=kv_heads, batch=batch, queries=draw.choice([1, 1, 1, 2, 3]),
        order=draw.choice(["hnd", "nhd"]) if d % 32 == 0 else "hnd",
        parts=draw.choice([1, 2, 3, 7, 16, 40 // 8 * 4]), llvm=draw.choice([23, 24]),
    )  # fmt: skip
    return plan, [draw.choice([0, keys, draw.randint(1, keys), draw.randint(1, keys)]) for _ in range(batch)]
