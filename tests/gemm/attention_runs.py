"""Attention on random arrays, for the tests of its kernels: the arrays, and what exact arithmetic makes of them."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.gemm.attention import Attention, AttentionProblem, plan_attention
from layoutalg.gemm.attention.arrays import shapes

Array = NDArray[Any]


def random_arrays(plan: Attention, seed: int = 0, spread: float = 1.0) -> tuple[Array, Array, Array]:
    """Q, K and V in the plan's type."""
    random, wanted = np.random.default_rng(seed), shapes(plan)
    dtype = numpy_type(plan.problem.type)
    q, k, v = ((random.standard_normal(wanted[name]) * spread).astype(dtype) for name in "QKV")
    return q, k, v


def defined(problem: AttentionProblem, q: Array, k: Array, v: Array) -> NDArray[np.float64]:
    """Softmax attention in f64, straight from its definition; 0 for a query that sees no key."""
    if problem.starts is not None:
        starts_q, starts_k = problem.starts
        parts: list[NDArray[np.float64]] = []
        for one, (low, high), (first, last) in zip(
            problem.sequences, pairwise(starts_q), pairwise(starts_k), strict=True
        ):
            if one.keys == 0:
                parts.append(np.zeros(q[low:high].shape))
            elif one.queries:
                parts.append(defined(one, q[low:high], k[first:last], v[first:last]))
        return np.concatenate(parts)
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    if problem.order == "bshd" and q.ndim > 2:
        q, k, v = (np.swapaxes(array, -3, -2) for array in (q, k, v))
    if problem.heads > 1:
        group = problem.heads // problem.kv_heads
        k, v = (np.repeat(array, group, axis=-3) for array in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * problem.scale
    if problem.causal:
        query, key = np.arange(problem.queries)[:, None], np.arange(problem.keys)
        scores = np.where(key - query <= problem.keys - problem.queries, scores, -np.inf)
        if problem.window is not None:
            scores = np.where(key - query > problem.keys - problem.queries - problem.window, scores, -np.inf)
    seen = np.isfinite(scores).any(-1, keepdims=True)
    largest = np.where(seen, scores.max(-1, keepdims=True), 0)
    weights = np.exp(scores - largest)
    found = weights / np.where(seen, weights.sum(-1, keepdims=True), 1) @ v
    return np.swapaxes(found, -3, -2) if problem.order == "bshd" and q.ndim > 2 else found


def random_plans(draw: random.Random, count: int) -> list[Attention]:
    """Plans of one form: heads apart or side by side, grouped, causal, windows, packed sequences, pitches; of any sizes.

    The form has the kernel's text, which serves all of them. What is refused is drawn again.
    """
    packed = draw.random() < 0.25
    order = "bshd" if packed or draw.random() < 0.4 else "bhsd"
    d = draw.choice([32, 64, 96] if order == "bshd" else [32, 40, 64, 72, 128])
    kv_heads = draw.choice([1, 1, 2])
    form: dict[str, Any] = {"heads": kv_heads * draw.choice([1, 1, 2, 3]), "kv_heads": kv_heads, "order": order, "d": d}
    if draw.random() < 0.6:
        form |= {"causal": True, "window": draw.choice([None, draw.randint(1, 80)])}
    for name, heads in zip(("ldq", "ldk", "ldv", "ldo"), ("heads", "kv_heads", "kv_heads", "heads"), strict=True):
        if draw.random() < 0.3:
            form[name] = d * (form[heads] if order == "bshd" else 1) + 32 * draw.randint(0, 3)
    if draw.random() < 0.3:
        form["scale"] = draw.choice([0.5, 1.0, 2**-7])
    form |= {"type": draw.choice(["f16", "bf16"]), "out": draw.choice(["f32", "f16", "bf16"])}
    form |= {"target": draw.choice(["bmg", "pvc"]), "llvm": draw.choice([23, 24]), "subgroups": draw.choice([1, 2, 4])}
    found: list[Attention] = []
    while len(found) < count:
        queries, keys = (draw.choice([1, 17, 64, draw.randint(1, 150), draw.randint(1, 250)]) for _ in range(2))
        more: dict[str, Any] = {} if packed else {"batch": draw.choice([1, 1, 2])}
        sequences = draw.randint(1, 4)
        for name, rows in (("starts_q", queries), ("starts_k", keys)) if packed else ():
            more[name] = (0, *sorted(draw.randint(0, rows) for _ in range(sequences - 1)), rows)
        with suppress(PlanError):
            found.append(plan_attention(queries, keys, **form, **more))
    return found


def same_bits(found: Array, expected: Array) -> bool:
    """Whether two arrays of one type are equal in every bit."""
    return found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
