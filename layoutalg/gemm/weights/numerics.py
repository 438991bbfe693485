"""What a product with quantised weights computes, bit for bit: the order of the sums of a group, and where it rounds.

For every group of k, and every 128 of a larger one, with S(x) the chain of sums of the matrix instruction that begins at x
(`layoutalg.gemm.numerics`: pairs of products, in the order of k):

    d = S(0) of a[k] * -(bias[k] + z)        z is the middle (8, 128) where there are no zero points, else 0
    c = fma(f32(s * z), e, c)                with zero points; e = S(0) of a[k] * -1. c begins at 0
    t = S(d) of a[k] * (bias[k] + q[k])      which is the sum of a (q - z), or of a q with zero points, but for rounding
    c = fma(s, t, c)

The biases are what makes a number of A's type of the bits of a q: 1024 and 64 by turns of pairs (f16 and 4 bits), 1024 (f16 and
8 bits), 128 (bf16 and 4 bits). With such a power of two alone d / bias stands for e, and f32(s * z) / bias is multiplied by d.
Beside bf16 a byte is multiplied in halves, with biases of 128 and 2048: for every 16 k, t goes on with a[k] * (128 + lower) and
then with a[k] * (2048 + 16 * upper). Behind the last group the epilogue of any product follows. Tiles change no bit. Where k is
in parts, each has a c of its own, from 0 on, and they are added in their order (`layoutalg.gemm.split_k`).

By hand, 32 ones times weights of q = 9 and s = 0.5, in 4 bits without zero points: the biases are 1024 and 64, 16 times each,
so d = -16 * 1032 - 16 * 72 = -17664, t = -17664 + 16 * 1033 + 16 * 73 = 32, and c = 0.5 * 32.

>>> from layoutalg.gemm.weights import QuantisedWeights, WeightsProblem
>>> weights = QuantisedWeights(np.full((32, 32), 9), np.full((1, 32), 0.5))
>>> computed(WeightsProblem.of(1, 32, 32, group=32), np.ones((1, 32)), weights)[0, 0]
np.float32(16.0)

Floats of 8 bits have no biases (`layoutalg.gemm.weights.float8`), with f = 256 for f8E4M3FN and 1 for f8E5M2:

    t = S(0) of a[k] * (q[k] / f)            q / f is an f16 or a bf16, as a is
    c = fma(f32(s * f), t, c)

The biases take bits: partial sums are near 1024 times the sum of A, and f32 keeps 24 bits of them. With random numbers the
rounding is 5e-5 of a typical result for f16 and 4 bits, 5e-6 for 8 bits, 2e-6 for bf16; rounding to 4 bits itself changes
1e-1, to 8 bits 6e-3. An infinite a gives NaN: d and t have both signs of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.gemm.numerics import exact_after_sums, finished, fused
from layoutalg.gemm.operand_arrays import check_given, held, held_scales, numbers
from layoutalg.gemm.split_k import part_steps
from layoutalg.gemm.weights.emission import PAIRS, UPPER
from layoutalg.gemm.weights.float8 import FACTORS, Float8Weights
from layoutalg.gemm.weights.problem import WeightsProblem
from layoutalg.gemm.weights.quantised import QuantisedWeights
from layoutalg.simulate.products import dpas_chain

__all__ = ["check_batch", "check_weights", "computed", "exact"]

Array = NDArray[Any]


def check_weights(problem: WeightsProblem, weights: object) -> QuantisedWeights | Float8Weights:
    """The weights that somebody gave for a problem.

    Raises `PlanError`: they have another size, group or number of bits, or zero points that are not planned.
    """
    product = problem.product
    if problem.floats:
        if not isinstance(weights, Float8Weights):
            raise PlanError(f"weights {shown(weights)}: expected Float8Weights, such as quantise_float8 makes")
        given, more = weights, [("element", weights.element, problem.b)]
    else:
        if not isinstance(weights, QuantisedWeights):
            raise PlanError(f"weights {shown(weights)}: expected QuantisedWeights, such as quantise makes")
        given, more = (
            weights,
            [("bits", weights.bits, problem.bits), ("zeros", weights.zeros is not None, problem.zeros)],
        )
    facts: list[tuple[str, object, object]] = [
        ("shape", given.shape, (product.k, product.n)),
        ("group", given.group, problem.group),
        *more,
    ]
    for name, found, wanted in facts:
        if found != wanted:
            raise PlanError(f"weights with {name} = {found}: the plan has {wanted}")
    return given


def check_batch(problem: WeightsProblem, weights: object) -> tuple[QuantisedWeights | Float8Weights, ...]:
    """The weights of all matrices of a batch: one, or a list of as many as the batch has.

    Raises `PlanError`: there are others, or another number.
    """
    count = problem.product.batch
    if count == 1:
        return (check_weights(problem, weights),)
    if not isinstance(weights, (list, tuple)):
        raise PlanError(f"weights {shown(weights)}: expected a list of {count}, one for each matrix of the batch")
    given = cast("Sequence[object]", weights)
    if len(given) != count:
        raise PlanError(f"weights: a list of {len(given)}; the batch has {count} matrices")
    return tuple(check_weights(problem, one) for one in given)


def _each(problem: WeightsProblem, a: ArrayLike, c: ArrayLike | None) -> Iterator[tuple[Array, Array | None]]:
    """A and C of each matrix of a batch."""
    product = problem.product
    left = numbers("A", a, (product.batch, product.m, product.k))
    before = None if c is None else numbers("C", c, (product.batch, product.m, product.n))
    for number in range(product.batch):
        yield left[number], None if before is None else before[number]


def computed(
    problem: WeightsProblem,
    a: ArrayLike,
    weights: QuantisedWeights | Float8Weights | Sequence[QuantisedWeights | Float8Weights],
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    parts: int = 1,
) -> Array:
    """C as the planned kernel computes it; `parts` are those of k, whose sums are added in their order.

    Raises:
        PlanError: an array is missing, or has another shape than the problem.

    >>> from layoutalg.gemm.weights import quantise
    >>> weights = quantise(np.full((32, 32), 0.5), 8, group=32)
    >>> computed(WeightsProblem.of(1, 32, 32, b="u8", group=32), np.ones((1, 32)), weights)[0, 0].round(3)
    np.float32(16.0)
    """
    instance_of(problem, WeightsProblem, "problem", PlanError)
    given, product = check_batch(problem, weights), problem.product
    if product.batch > 1:
        found = [
            computed(problem.of_one, left, one, before, bias, row_scale, column_scale, parts=parts)
            for one, (left, before) in zip(given, _each(problem, a, c), strict=True)
        ]
        return np.stack(found)
    weights = given[0]
    check_given(product, c, bias=bias)
    scales = held_scales(product, row_scale, column_scale)
    left = held("A", a, (product.m, product.k), product.a)
    kind = numpy_type(product.a)
    if isinstance(weights, Float8Weights):
        return finished(product, _of_floats(problem, left, weights, parts), c, bias, scales)
    pairs = PAIRS[product.a, problem.bits]
    biases = np.repeat([pair.bias + (UPPER[0].bias if problem.halves else 0) for pair in pairs], 2)
    biases = np.resize(biases, problem.step)[:, None]
    middle = 0 if problem.zeros else 1 << problem.bits - 1
    every = [np.zeros((product.m, product.n), np.float32) for _ in range(whole_number(parts, "parts =", 1))]
    each = part_steps(product.k, problem.step, parts) * problem.step
    nothing = np.zeros((product.m, 1), np.float32)
    with np.errstate(all="ignore"):
        for number in range(product.k // problem.step):
            step = slice(number * problem.step, (number + 1) * problem.step)
            group = step.start // problem.group
            total, part = every[step.start // each], left[:, step]
            begin = dpas_chain(part, (-(biases + middle)).astype(kind), nothing)
            sums = _sums(
                problem, part, weights.values[step].astype(np.int64), biases, np.broadcast_to(begin, total.shape)
            )
            scale = weights.scales[group][None, :]
            if weights.zeros is not None:
                points, of_a = scale * weights.zeros[group], begin
                if problem.uniform:
                    points = points * np.float32(1 / pairs[0].bias)
                else:
                    of_a = dpas_chain(part, np.full((problem.step, 1), -1).astype(kind), nothing)
                total = fused(points, of_a, total)
            every[step.start // each] = fused(scale, sums, total)
        total = sum(every[1:], every[0])
    return finished(product, total, c, bias, scales)


def _sums(problem: WeightsProblem, left: Array, values: Array, biases: Array, begin: Array) -> Array:
    """The sums of a step: A times biases and values."""
    kind, depth = numpy_type(problem.product.a), problem.dpas.k
    if not problem.halves:
        return dpas_chain(left, (biases + values).astype(kind), begin)
    lower, upper = (128 + values % 16).astype(kind), (UPPER[0].bias + values // 16 * 16).astype(kind)
    for first in range(0, len(values), depth):
        here = slice(first, first + depth)
        for half in (lower, upper):
            begin = dpas_chain(left[:, here], half[here], begin)
    return begin


def _of_floats(problem: WeightsProblem, left: Array, weights: Float8Weights, parts: int) -> Array:
    """The sums of floats of 8 bits, groups and parts of k in their order."""
    product, factor = problem.product, np.float32(FACTORS[problem.b])
    every = [np.zeros((product.m, product.n), np.float32) for _ in range(whole_number(parts, "parts =", 1))]
    each = part_steps(product.k, problem.step, parts) * problem.step
    right = weights.sixteen.astype(numpy_type(product.a))
    with np.errstate(all="ignore"):
        for first in range(0, product.k, problem.step):
            step = slice(first, first + problem.step)
            total = every[first // each]
            sums = dpas_chain(left[:, step], right[step], np.zeros_like(total))
            every[first // each] = fused(weights.scales[first // problem.group][None, :] * factor, sums, total)
        return sum(every[1:], every[0])


def exact(
    problem: WeightsProblem,
    a: ArrayLike,
    weights: QuantisedWeights | Float8Weights | Sequence[QuantisedWeights | Float8Weights],
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """C in f64, straight from the definition.

    >>> from layoutalg.gemm.weights import quantise
    >>> weights = quantise(np.full((32, 32), 0.5), group=32)
    >>> exact(WeightsProblem.of(1, 32, 32, group=32), np.ones((1, 32)), weights)[0, 0].round(3)
    np.float64(16.0)
    """
    instance_of(problem, WeightsProblem, "problem", PlanError)
    given, product = check_batch(problem, weights), problem.product
    if product.batch > 1:
        found = [
            exact(problem.of_one, left, one, before, bias, row_scale, column_scale)
            for one, (left, before) in zip(given, _each(problem, a, c), strict=True)
        ]
        return np.stack(found)
    weights = given[0]
    check_given(product, c, bias=bias)
    c = None if c is None else numbers("C", c, (product.m, product.n))
    bias = None if bias is None else numbers("bias", bias, (product.count(product.bias or "row"),))
    scales = np.repeat(weights.scales.astype(np.float64), problem.group, axis=0)
    if isinstance(weights, Float8Weights):
        right = weights.numbers.astype(np.float64) * scales
    else:
        zeros = float(1 << problem.bits - 1)
        points = zeros if weights.zeros is None else np.repeat(weights.zeros.astype(np.float64), problem.group, axis=0)
        right = (weights.values.astype(np.float64) - points) * scales
    with np.errstate(invalid="ignore"):
        sums = held("A", a, (product.m, product.k), product.a).astype(np.float64) @ right
    return exact_after_sums(product, sums, c, bias, held_scales(product, row_scale, column_scale))
