"""What a planned decode computes, bit for bit, and what exact arithmetic makes of the same arrays.

Every part goes through its steps as `decode.emission` says: S is summed by DPAS from 0 on; m is the largest score so far,
exactly; P = exp2(c * (S - n)) is rounded to the type of Q, and so are the weights that the sums l add. The parts are combined
as `decode.combining` says, in f32, one fma a part. O * (1 / l) is rounded to the type of O; a row that sees no key gives 0.

The largest weight of a part is exactly 1, whatever the scores are: what a score loses is its own rounding in f32.

exp2 and 1 / l are the simulator's (see `layoutalg.gemm.attention.numerics`); `model` takes another exp2.

By hand: two keys with equal scores have weights of 1 each, and O is the mean of the rows of V.

>>> q, k = np.zeros((1, 1, 1, 64), np.float16), np.zeros((1, 1, 2, 64), np.float16)
>>> model(la.plan_decode(2, 64, target="bmg"), q, k, k + np.array([[1], [4]]))[0, 0, 0, :2]
array([2.5, 2.5], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.gemm.attention.decode.arrays import keys_of, laid_out
from layoutalg.gemm.attention.numerics import exp2_of_simulator
from layoutalg.gemm.numerics import fused

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["exact", "model"]

Array = NDArray[Any]
Part = tuple[Array, Array, Array]
"""O, m and l of a part, for the rows of all heads of K and V of a sequence: [kv_heads, rows, d or 1]."""


def model(
    plan: Decode,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    lengths: ArrayLike | None = None,
    table: ArrayLike | None = None,
    exp2: Callable[[Array], Array] = exp2_of_simulator,
) -> Array:
    """O as the kernels of the plan compute it, from arrays as `Decode.simulate` takes them.

    Raises `PlanError` for arrays of other shapes, `SizeError` where they are too large.

    >>> ones = np.ones((1, 1, 100, 64))
    >>> model(la.plan_decode(100, 64, out="f16", target="bmg"), ones[:, :, :1], ones, ones)[0, 0, 0, 63]
    np.float16(1.0)
    """
    problem = plan.problem
    arrays = laid_out(plan, q, k, v, lengths, table)
    rows = arrays.q.reshape(problem.batch, problem.kv_heads, problem.rows, problem.d)
    out = np.empty(rows.shape, numpy_type(problem.out))
    with np.errstate(all="ignore"):
        for number, length in enumerate(arrays.lengths.tolist()):
            of_k, of_v = (keys_of(plan, arrays, matrix, number) for matrix in (arrays.k, arrays.v))
            steps, begin, parts = plan.steps_of(length), 0, list[Part]()
            for count in steps:
                keys = range(begin, begin + count * plan.keys_per_step, plan.keys_per_step)
                parts.append(_part(plan, rows[number], of_k, of_v, keys, length, exp2))
                begin = keys.stop
            o, sums = parts[0][0], parts[0][2]
            if plan.parts > 1:
                o, sums = _combined(plan, parts, exp2)
            out[number] = (o * np.where(sums != 0, np.float32(1) / sums, np.float32(0))).astype(out.dtype)
    return out.reshape(arrays.q.shape)


def exact(
    plan: Decode,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    lengths: ArrayLike | None = None,
    table: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """O in f64, straight from the definition: what the kernel's rounding is measured against.

    >>> ones = np.ones((1, 1, 8, 32))
    >>> exact(la.plan_decode(8, 32, target="bmg"), ones[:, :, :1], ones, ones, [0]).max()
    np.float64(0.0)
    """
    problem, arrays = plan.problem, laid_out(plan, q, k, v, lengths, table)
    out = np.zeros(arrays.q.shape)
    for number, length in enumerate(arrays.lengths.tolist()):
        both = [keys_of(plan, arrays, matrix, number).astype(np.float64) for matrix in (arrays.k, arrays.v)]
        for head in range(problem.heads):
            keys, values = (one[head // problem.group] for one in both)
            scores: Array = arrays.q[number, head].astype(np.float64) @ keys.T * problem.scale
            last: Array = np.arange(problem.queries)[:, None] + length - problem.queries
            scores = np.where(np.greater(np.arange(len(keys)), last), -np.inf, scores)
            largest = np.maximum(scores.max(-1, keepdims=True, initial=-np.inf), np.finfo(np.float64).min)
            weights = np.exp(scores - largest)
            out[number, head] = weights @ values / np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    return out


def _part(plan: Decode, q: Array, k: Array, v: Array, keys: range, length: int, exp2: Callable[[Array], Array]) -> Part:
    from layoutalg.simulate.products import dpas_chain

    problem, scale, count = plan.problem, np.float32(plan.problem.exponent_scale), plan.keys_per_step
    shape = q.shape[:2]
    o, sums = np.zeros((*shape, problem.d), np.float32), np.zeros((*shape, 1), np.float32)
    most = np.full((*shape, 1), -np.inf, np.float32)
    last = np.arange(problem.rows)[:, None] % problem.queries + length - problem.queries
    for key in keys:
        scores = dpas_chain(q, np.swapaxes(_keys(k, key, count, length), 1, 2), np.zeros((*shape, count), np.float32))
        scores = np.where(np.arange(key, key + count) > last, np.float32(-np.inf), scores)
        before, most = most, np.maximum(most, scores.max(-1, keepdims=True))
        near = np.where(most > -np.inf, most, np.float32(0))
        factor, weights = exp2((before - near) * scale), exp2((scores - near) * scale).astype(q.dtype)
        sums = dpas_chain(weights, np.ones((len(q), count, 1), q.dtype), sums * factor)
        o = dpas_chain(weights, _keys(v, key, count, length), o * factor)
    return o, most, sums


def _combined(plan: Decode, parts: list[Part], exp2: Callable[[Array], Array]) -> tuple[Array, Array]:
    """O and l of all parts."""
    most = np.max([m for _, m, _ in parts], axis=0)
    near = np.where(most > -np.inf, most, np.float32(0))
    o, sums = np.zeros_like(parts[0][0]), np.zeros_like(parts[0][2])
    for of_part, m, of_sums in parts:
        weight = exp2((m - near) * np.float32(plan.problem.exponent_scale))
        sums, o = fused(weight, of_sums, sums), fused(weight, of_part, o)
    return o, sums


def _keys(matrix: Array, key: int, count: int, length: int) -> Array:
    """Some rows of K or V; behind the sequence they are 0, as messages have it."""
    held = matrix[:, key : min(key + count, length)]
    missing = count - held.shape[1]
    return np.pad(held, ((0, 0), (0, missing), (0, 0))) if missing else held
