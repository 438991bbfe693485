"""What an attention kernel computes, bit for bit: the order of every sum, and where numbers are rounded.

All numbers are f32 unless said otherwise, every operation rounds once, and c is scale * log2(e) rounded to f32. A subgroup
takes its keys in steps: those that need a mask first, 32 at a time, then the others from key 0 on, 64 at a time. In a step:

1. S = Q K^T by DPAS: 16 columns of d after the other, in each the pairs of neighbours in order (see `simulate.products`).
2. S = -inf for keys that do not exist or that the query may not see.
3. m' = max(m, c * max(S)). At first m is the least finite f32.
4. f = exp2(m - m'); P = exp2(fma(S, c, -m')).
5. The sums l, of 16 lanes: l = fma(l, f, P) for the first 16 keys of the step, l = l + P for the others, 16 at a time.
6. P is rounded to the type of Q, after the sums. O = O * f, then O + P V by DPAS, 16 keys after the other.

At the end the lanes are added: neighbours, pairs of neighbours, fours, eights. The result is O * (1 / l), or 0 where l is 0
(a query that sees no key), rounded to the type of O.

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
from layoutalg.gemm.attention.steps import visible

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["exact", "exp2_of_simulator", "model", "sum_of_lanes"]

Array = NDArray[Any]
_LANES = 16
_LEAST = np.finfo(np.float32).min


def exp2_of_simulator(value: Array) -> Array:
    """2 to the power of f32 numbers, rounded once."""
    with np.errstate(under="ignore", over="ignore"):
        return np.exp2(value.astype(np.float64)).astype(np.float32)


def sum_of_lanes(value: Array) -> Array:
    """The sum over the last axis of 16 lanes: neighbours first, then pairs of neighbours."""
    while value.shape[-1] > 1:
        value = value[..., 0::2] + value[..., 1::2]
    return value[..., 0]


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
    from layoutalg.simulate.values.elements import element
    from layoutalg.simulate.values.floats import fused

    f32, scale = element("f32"), np.array(plan.problem.exponent_scale, np.float32)
    shape = q.shape[:2]
    o = np.zeros((*shape, plan.problem.d), np.float32)
    largest, sums = np.full((*shape, 1), _LEAST, np.float32), np.zeros((*shape, _LANES), np.float32)
    for key, count in steps:
        part, values = _keys(k, key, count), _keys(v, key, count)
        scores = dpas_chain(q, np.swapaxes(part, 1, 2), np.zeros((*shape, count), np.float32))
        hidden = np.arange(key, key + count) >= seen[:, None]
        scores = np.where(hidden, np.float32(-np.inf), scores)
        found = scores.max(-1, keepdims=True) * scale
        after = np.where(largest > found, largest, found)
        factor = exp2(largest - after)
        weights = exp2(fused(scores, scale, -after, f32))
        blocks = weights.reshape(*shape, -1, _LANES)
        sums = fused(sums, factor, blocks[:, :, 0], f32)
        for block in range(1, blocks.shape[2]):
            sums = sums + blocks[:, :, block]
        o = dpas_chain(weights.astype(q.dtype), values, o * factor)
        largest = after
    total = sum_of_lanes(sums)[..., None]
    return o * np.where(total > 0, np.float32(1) / total, np.float32(0))


def _keys(matrix: Array, key: int, count: int) -> Array:
    """Some rows of K or V; beyond the matrix they are 0, as messages have it."""
    held = matrix[:, key : key + count]
    missing = count - held.shape[1]
    return np.pad(held, ((0, 0), (0, missing), (0, 0))) if missing else held
