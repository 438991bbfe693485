"""What an attention kernel computes, bit for bit: the order of every sum, and where numbers are rounded.

All numbers are f32 unless said otherwise, every operation rounds once, and c is scale * log2(e) rounded to f32. A subgroup
takes its keys in steps: those that need a mask first, 32 at a time, then the others from key 0 on, 64 (or 32) at a time. Every
row has a number m. At first it is the largest score, not scaled, among the first 16 keys (of its subgroup's window, where
there is one): those that exist and that the query may see. While some row of the subgroup has only -inf, the next 16 keys are
looked at too. A row that has no other score has m = 0. In a step:

1. Z = Q K^T - m by DPAS on accumulators of -m: 16 columns of d after the other, in each the pairs of neighbours in order (see
   `simulate.products`). Z = -inf for keys that do not exist or that the query may not see.
2. In rows with a Z above 8 / c (rounded to f32), m rises: m' = m + (the largest Z - |m| * 2^-20), f = exp2(c * (m - m')),
   l = l * f, O = O * f, and 1 is done again for them, at most 8 times and the last time without the 2^-20. Other rows keep
   their m.
3. P = exp2(c * Z), rounded to the type of Q.
4. l = l + P 1 and O = O + P V by DPAS, 16 keys after the other; 1 is a matrix of ones.

With `maximum="first"` 2 is left out: all steps have the m that rows begin with.

l begins at 0, at 1 in a row that sees no key (with a window also in rows behind the last query), and is infinite from where
|m| is 2^12 / c (rounded to f32) or more. Where a row of the subgroup has an l below 1/4, infinite or NaN at the end (with
`maximum="first"` also where its O has a number that isn't finite), all rows of the subgroup are computed once more, 32 keys at
a time from key 0 on (see `large_scores`): S is summed from 0 on, m is the exact maximum, and Z = S - m is one more rounding.

At the end the result is O * (1 / l), or 0 where l is 0, rounded to the type of O. A NaN among the numbers that a row takes
makes it NaN, and so does a score of infinity. What a row gives depends on other rows in two ways only: where the first 16 keys
are all -inf, its subgroup looks further, and it takes the slower way together.

exp2 is exact to half a unit of the last place in the simulator. A GPU's own exp2 (native_exp2 in OpenCL, `math.exp` in Xe's
machine code) is not defined to the bit, nor is its division: OpenCL leaves the first to the device and allows the second 2.5
units. `model` takes another exp2, so that a device's results can be compared with what they must be by its own.

By hand: two keys with equal scores have weights of 1 each, and O is the mean of the rows of V.

>>> from layoutalg.gemm.attention import plan_attention
>>> q, k = np.zeros((1, 64), np.float16), np.zeros((2, 64), np.float16)
>>> model(plan_attention(1, 2, 64, target="bmg"), q, k, np.stack([k[0] + 1, k[0] + 4]))[0, :2]
array([2.5, 2.5], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.gemm.attention.arrays import heads_of, in_sequences, laid_out
from layoutalg.gemm.attention.emission import MARGIN, TRIES
from layoutalg.gemm.attention.large_scores import LEAST_SUM
from layoutalg.gemm.attention.steps import Stretches, stretches

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["exact", "exp2_of_simulator", "model"]

Array = NDArray[Any]
_LANES = 16


@dataclass(frozen=True, eq=False)
class _Seen:
    """Which keys rows see: from `first` to before `last` each, and at `lowest` those of their subgroup begin."""

    lowest: int
    first: Array
    last: Array
    places: Array


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
    >>> plan, ones = plan_attention(8, 100, 64, out="f16", target="bmg"), np.ones((100, 64))
    >>> model(plan, ones[:8], ones, ones)[7, 63]
    np.float16(1.0)
    """
    arrays = laid_out(plan, q, k, v)
    out = np.empty((len(arrays.q), plan.problem.queries, plan.problem.d), numpy_type(plan.problem.out))
    for one, of_q, of_k in in_sequences(plan.problem):
        if one.queries:
            parts = arrays.q[:, of_q], arrays.k[:, of_k], arrays.v[:, of_k]
            out[:, of_q] = _of_sequence(replace(plan, problem=one), *parts, exp2)
    return heads_of(plan, out)


def _of_sequence(plan: Attention, q: Array, k: Array, v: Array, exp2: Callable[[Array], Array]) -> Array:
    """O of all heads of one sequence."""
    problem = plan.problem
    group = problem.heads // problem.kv_heads
    of_q, of_k, of_v = q, k.repeat(group, axis=0), v.repeat(group, axis=0)
    starts = range(0, problem.queries, plan.rows)
    whole = len(starts) * plan.rows  # rows behind the last query are zeros, and a subgroup's like the others
    of_q = np.pad(of_q, ((0, 0), (0, whole - problem.queries), (0, 0)))
    out = np.empty((len(of_q), whole, problem.d), numpy_type(problem.out))
    together: dict[tuple[int, Stretches], list[int]] = {}
    for row in starts:  # without a causal mask all subgroups take the same steps, and are one computation
        together.setdefault((problem.first_key(row), stretches(problem, plan.rows, row)), []).append(row)
    for (lowest, keys), rows in together.items():
        places = np.concatenate([np.arange(row, row + plan.rows) for row in rows])
        few = plan.keys_per_masked_step
        steps = [(key, few) for key in (*range(keys.begin, keys.inner, few), *range(keys.full, keys.end, few))]
        steps += [(key, plan.keys_per_step) for key in range(keys.inner, keys.full, plan.keys_per_step)]
        last = places + problem.shift + 1 if problem.causal else np.full_like(places, problem.keys)
        seen = _Seen(lowest, last - (problem.window or 0) if problem.window else np.zeros_like(last), last, places)
        with np.errstate(all="ignore"):
            rows_of_q = of_q[:, places]
            found, unsure = _rows(plan, rows_of_q, of_k, of_v, steps, seen, exp2)
            for head in np.flatnonzero(unsure.any(-1)):
                again = unsure[head]
                some = _Seen(lowest, seen.first[again], seen.last[again], places[again])
                slow = _large(plan, rows_of_q[head, again], of_k[head], of_v[head], keys, some, exp2)
                found[head, again] = slow
            out[:, places] = found.astype(out.dtype)
    return out[:, : problem.queries]


def exact(plan: Attention, q: ArrayLike, k: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """O in f64, straight from the definition: what the kernel's rounding is measured against.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> plan, ones = plan_attention(4, 8, 32, causal=True, target="bmg"), np.ones((8, 32))
    >>> exact(plan, ones[:4], ones, ones).max()
    np.float64(1.0)
    """
    problem, arrays = plan.problem, laid_out(plan, q, k, v)
    group = problem.heads // problem.kv_heads
    of_q, of_k, of_v = (array.astype(np.float64) for array in (arrays.q, arrays.k, arrays.v))
    of_k, of_v = of_k.repeat(group, axis=0), of_v.repeat(group, axis=0)
    out = np.zeros((len(of_q), problem.queries, problem.d))
    for one, rows, keys in in_sequences(problem):
        query, key = np.arange(one.queries)[:, None], np.arange(one.keys)
        hidden = key > query + one.shift if one.causal else np.zeros((one.queries, one.keys), bool)
        if one.window is not None:
            hidden |= key <= query + one.shift - one.window
        for head in range(len(of_q) if one.keys else 0):  # the scores of one head at a time
            scores = np.where(hidden, -np.inf, of_q[head, rows] @ of_k[head, keys].T * one.scale)
            largest = np.maximum(scores.max(-1, keepdims=True), np.finfo(np.float64).min)
            weights = np.exp(scores - largest)
            sums = np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
            out[head, rows] = weights @ of_v[head, keys] / sums
    return heads_of(plan, out)


def _rows(
    plan: Attention,
    q: Array,
    k: Array,
    v: Array,
    steps: list[tuple[int, int]],
    seen: _Seen,
    exp2: Callable[[Array], Array],
) -> tuple[Array, Array]:
    """O of some queries, all heads at once, and the rows whose subgroup has one that isn't sure."""
    from layoutalg.simulate.products import dpas_chain

    scale, limit = np.float32(plan.problem.exponent_scale), np.float32(plan.limit)
    shape = q.shape[:2]

    def scores_of(key: int, count: int, less: Array) -> Array:
        return _scores(q, k, seen, key, count, less)

    def marked(less: Array, sums: Array) -> Array:
        return np.where(abs(less) < np.float32(plan.largest_m), sums, np.float32(np.inf))

    zeros = np.zeros((*shape, 1), np.float32)
    first = _first(plan, scores_of, zeros, seen)
    sees: Array = first > -np.inf
    if plan.problem.window is not None:
        sees &= seen.places[:, None] < plan.problem.queries
    less: Array = np.where(sees, -first, np.float32(0))
    o, sums = np.zeros((*shape, plan.problem.d), np.float32), np.where(sees, marked(less, zeros), np.float32(1))
    for key, count in steps:
        scores = scores_of(key, count, less)
        for number in range(TRIES if plan.maximum == "online" else 0):
            most: Array = scores.max(-1, keepdims=True)
            above = most > limit
            if not above.any():
                break
            margin = np.float32(MARGIN if number < TRIES - 1 else 0)
            after: Array = np.where(above, less - (most - abs(less) * margin), less)
            factor = exp2((after - less) * scale)
            less, sums, o = after, marked(after, sums * factor), o * factor
            scores = scores_of(key, count, less)
        weights = exp2(scores * scale).astype(q.dtype)
        sums = dpas_chain(weights, np.ones((len(q), count, 1), q.dtype), sums)
        o = dpas_chain(weights, _keys(v, key, count), o)
    sure: Array = (sums >= LEAST_SUM) & (sums < np.inf)
    if plan.maximum == "first":
        sure &= np.isfinite(o).all(-1, keepdims=True)
    starts = np.arange(0, shape[1], plan.rows, dtype=np.intp)
    unsure: Array = ~np.logical_and.reduceat(sure[..., 0], starts, axis=1).repeat(plan.rows, axis=1)
    return _divided(o, sums), unsure


def _large(
    plan: Attention, q: Array, k: Array, v: Array, keys: Stretches, seen: _Seen, exp2: Callable[[Array], Array]
) -> Array:
    """O of some queries of one head, with the exact maximum of each row."""
    from layoutalg.simulate.products import dpas_chain

    scale, count = np.float32(plan.problem.exponent_scale), plan.keys_per_masked_step
    q, k, v = q[None], k[None], v[None]
    zeros = np.zeros((1, q.shape[1], 1), np.float32)
    o, sums, top = zeros.repeat(plan.problem.d, axis=-1), zeros, np.full_like(zeros, np.finfo(np.float32).min)
    for key in range(keys.begin, keys.end, count):
        scores = _scores(q, k, seen, key, count, zeros)
        found: Array = np.fmax.reduce(scores, axis=-1, keepdims=True)
        after = np.where(found > top, found, top)
        factor = exp2((top - after) * scale)
        top, sums, o = after, sums * factor, o * factor
        weights = exp2((scores - top) * scale).astype(q.dtype)
        sums = dpas_chain(weights, np.ones((1, count, 1), q.dtype), sums)
        o = dpas_chain(weights, _keys(v, key, count), o)
    return _divided(o, sums)[0]


def _divided(o: Array, sums: Array) -> Array:
    return o * np.where(sums != 0, np.float32(1) / sums, np.float32(0))


def _scores(q: Array, k: Array, seen: _Seen, key: int, count: int, less: Array) -> Array:
    """Q K^T + `less` of some keys; -inf where a query does not see the key."""
    from layoutalg.simulate.products import dpas_chain

    begin = np.broadcast_to(less, (*q.shape[:2], count)).copy()
    found = dpas_chain(q, np.swapaxes(_keys(k, key, count), 1, 2), begin)
    place = np.arange(key, key + count)
    return np.where((place < seen.last[:, None]) & (place >= seen.first[:, None]), found, np.float32(-np.inf))


def _first(plan: Attention, scores_of: Callable[[int, int, Array], Array], zeros: Array, seen: _Seen) -> Array:
    """The largest score of every row among the first keys: 16, and more while its subgroup has a row with only -inf."""
    rows = plan.rows
    starts = np.arange(0, len(seen.last), rows, dtype=np.intp)
    end: Array = np.minimum(np.maximum.reduceat(seen.last, starts), plan.problem.keys).repeat(rows)[:, None]
    found: Array = scores_of(seen.lowest, _LANES, zeros).max(-1, keepdims=True)
    for key in range(seen.lowest + _LANES, int(end.max()), _LANES):
        none: Array = np.maximum.reduceat(np.equal(found, -np.inf), starts, axis=1).repeat(rows, axis=1)
        more = none & (end > key)
        if not more.any():
            break
        new: Array = scores_of(key, _LANES, zeros).max(-1, keepdims=True)
        found = np.where(more, np.where(found > new, found, new), found)
    return found


def _keys(matrix: Array, key: int, count: int) -> Array:
    """Some rows of K or V; beyond the matrix they are 0, as messages have it."""
    held = matrix[:, key : key + count]
    missing = count - held.shape[1]
    return np.pad(held, ((0, 0), (0, missing), (0, 0))) if missing else held
