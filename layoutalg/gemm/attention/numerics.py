"""What an attention kernel computes, bit for bit: the order of every sum, and where numbers are rounded.

All numbers are f32 unless said otherwise, every operation rounds once, and c is scale * log2(e) rounded to f32. A subgroup
takes its keys in steps: those that need a mask first, 32 at a time, then the others from key 0 on, 64 (or 32) at a time. Every
row has a number m. At first it is the largest score, not scaled, among the first 16 keys: those that exist and that the query
may see. While some row of the subgroup has only -inf, the next 16 keys are looked at too. A row that has no other score has
m = 0. In a step:

1. Z = Q K^T - m by DPAS on accumulators of -m: 16 columns of d after the other, in each the pairs of neighbours in order (see
   `simulate.products`). Z = -inf for keys that do not exist or that the query may not see.
2. In rows with a Z above 8 / c (rounded to f32), m rises: m' = m + (the largest Z - |m| * 2^-20), f = exp2(c * (m - m')),
   l = l * f, O = O * f, and 1 is done again for them, at most 8 times and the last time without the 2^-20. Other rows keep
   their m.
3. P = exp2(c * Z), rounded to the type of Q. It is at most 2^8 where scaled scores are below about 2^20.
4. l = l + P 1 and O = O + P V by DPAS, 16 keys after the other; 1 is a matrix of ones.

At the end the result is O * (1 / l), or 0 where l is 0 (a query that sees no key), rounded to the type of O. What a row gives
depends on no other row, but for one thing: where the first 16 keys are all -inf, its subgroup looks further.

exp2 is exact to half a unit of the last place in the simulator. A GPU's own exp2 (native_exp2 in OpenCL, `math.exp` in Xe's
machine code) is not defined to the bit, nor is its division: OpenCL leaves the first to the device and allows the second 2.5
units. `model` takes another exp2, so that a device's results can be compared with what they must be by its own.

By hand: two keys with equal scores have weights of 1 each, and O is the mean of the rows of V.

>>> from layoutalg.gemm.attention import plan_attention
>>> q, k = np.zeros((1, 64), np.float16), np.zeros((2, 64), np.float16)
>>> model(plan_attention(1, 2, 64), q, k, np.stack([k[0] + 1, k[0] + 4]))[0, :2]
array([2.5, 2.5], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.gemm.attention.arrays import heads_of, laid_out
from layoutalg.gemm.attention.emission import MARGIN, TRIES
from layoutalg.gemm.attention.steps import visible

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["exact", "exp2_of_simulator", "model"]

Array = NDArray[Any]
_LANES = 16


def exp2_of_simulator(value: Array) -> Array:
    """2 to the power of f32 numbers, rounded once."""
    with np.errstate(under="ignore", over="ignore"):
        return np.exp2(value.astype(np.float64)).astype(np.float32)


def model(
    plan: Attention, q: ArrayLike, k: ArrayLike, v: ArrayLike, exp2: Callable[[Array], Array] = exp2_of_simulator
) -> Array:
    """O as the kernel of the plan computes it, from arrays as `Attention.simulate` takes them.

    Raises `PlanError` for arrays of other shapes, `SizeError` where they are too large.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> plan, ones = plan_attention(8, 100, 64, out="f16"), np.ones((100, 64))
    >>> model(plan, ones[:8], ones, ones)[7, 63]
    np.float16(1.0)
    """
    problem = plan.problem
    arrays = laid_out(plan, q, k, v)
    group = problem.heads // problem.kv_heads
    of_q, of_k, of_v = arrays.q, arrays.k.repeat(group, axis=0), arrays.v.repeat(group, axis=0)
    out = np.empty((len(of_q), problem.queries, problem.d), numpy_type(problem.out))
    starts = range(0, problem.queries, plan.rows)
    together: dict[tuple[int, int], list[int]] = {}
    for row in starts:  # without a causal mask all subgroups take the same steps, and are one computation
        together.setdefault(visible(problem, plan.rows, row), []).append(row)
    for (full, end), rows in together.items():
        places = np.concatenate([np.arange(row, min(row + plan.rows, problem.queries)) for row in rows])
        steps = [(key, plan.keys_per_masked_step) for key in range(full, end, plan.keys_per_masked_step)]
        steps += [(key, plan.keys_per_step) for key in range(0, full, plan.keys_per_step)]
        seen = np.minimum(
            places + problem.shift + 1 if problem.causal else np.full_like(places, problem.keys), problem.keys
        )
        with np.errstate(all="ignore"):
            out[:, places] = _rows(plan, of_q[:, places], of_k, of_v, steps, seen, exp2).astype(out.dtype)
    return heads_of(plan, out)


def exact(plan: Attention, q: ArrayLike, k: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """O in f64, straight from the definition: what the kernel's rounding is measured against.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> plan, ones = plan_attention(4, 8, 32, causal=True), np.ones((8, 32))
    >>> exact(plan, ones[:4], ones, ones).max()
    np.float64(1.0)
    """
    problem, arrays = plan.problem, laid_out(plan, q, k, v)
    group = problem.heads // problem.kv_heads
    of_q, of_k, of_v = (array.astype(np.float64) for array in (arrays.q, arrays.k, arrays.v))
    of_k, of_v = of_k.repeat(group, axis=0), of_v.repeat(group, axis=0)
    query, key = np.arange(problem.queries)[:, None], np.arange(problem.keys)
    hidden = key > query + problem.shift if problem.causal else np.zeros((problem.queries, problem.keys), bool)
    out = np.empty((len(of_q), problem.queries, problem.d))
    for head, rows in enumerate(of_q):  # the scores of one head at a time
        scores = np.where(hidden, -np.inf, rows @ of_k[head].T * problem.scale)
        largest = np.maximum(scores.max(-1, keepdims=True), np.finfo(np.float64).min)
        weights = np.exp(scores - largest)
        out[head] = weights @ of_v[head] / np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    return heads_of(plan, out)


def _rows(
    plan: Attention,
    q: Array,
    k: Array,
    v: Array,
    steps: list[tuple[int, int]],
    seen: Array,
    exp2: Callable[[Array], Array],
) -> Array:
    """O of some queries, all heads at once; `seen` says how many keys each query sees."""
    from layoutalg.simulate.products import dpas_chain

    scale, limit = np.float32(plan.problem.exponent_scale), np.float32(plan.limit)
    shape = q.shape[:2]

    def scores_of(key: int, count: int, less: Array) -> Array:
        begin = np.broadcast_to(less, (*shape, count)).copy()
        found = dpas_chain(q, np.swapaxes(_keys(k, key, count), 1, 2), begin)
        return np.where(np.arange(key, key + count) >= seen[:, None], np.float32(-np.inf), found)

    zeros = np.zeros((*shape, 1), np.float32)
    o, sums = np.zeros((*shape, plan.problem.d), np.float32), zeros
    less: Array = -_first(scores_of, zeros, seen, plan.rows)
    for key, count in steps:
        scores = scores_of(key, count, less)
        for number in range(TRIES):
            most: Array = scores.max(-1, keepdims=True)
            above = most > limit
            if not above.any():
                break
            margin = np.float32(MARGIN if number < TRIES - 1 else 0)
            after: Array = np.where(above, less - (most - abs(less) * margin), less)
            factor = exp2((after - less) * scale)
            less, sums, o = after, sums * factor, o * factor
            scores = scores_of(key, count, less)
        weights = exp2(scores * scale).astype(q.dtype)
        sums = dpas_chain(weights, np.ones((len(q), count, 1), q.dtype), sums)
        o = dpas_chain(weights, _keys(v, key, count), o)
    return o * np.where(sums > 0, np.float32(1) / sums, np.float32(0))


def _first(scores_of: Callable[[int, int, Array], Array], zeros: Array, seen: Array, rows: int) -> Array:
    """The first m of every row; its subgroup asks for 16 keys more while it has a row without a score above -inf."""
    starts = np.arange(0, len(seen), rows)
    end = np.maximum.reduceat(seen, starts).repeat(rows)[: len(seen), None]
    found: Array = scores_of(0, _LANES, zeros).max(-1, keepdims=True)
    for key in range(_LANES, int(seen.max()), _LANES):
        none: Array = np.maximum.reduceat(np.equal(found, -np.inf), starts, axis=1).repeat(rows, axis=1)[:, : len(seen)]
        more = none & (end > key)
        if not more.any():
            break
        new: Array = scores_of(key, _LANES, zeros).max(-1, keepdims=True)
        found = np.where(more, np.where(found > new, found, new), found)
    return np.where(found > -np.inf, found, np.float32(0))


def _keys(matrix: Array, key: int, count: int) -> Array:
    """Some rows of K or V; beyond the matrix they are 0, as messages have it."""
    held = matrix[:, key : key + count]
    missing = count - held.shape[1]
    return np.pad(held, ((0, 0), (0, missing), (0, 0))) if missing else held
