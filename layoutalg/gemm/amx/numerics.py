"""What a planned product computes on AMX, bit for bit: the order of the sums, and where something is rounded.

An element of C is summed by one tile product after the other, from k = 0 on, each of them 64 bytes of k deep. Within a tile
product even and odd k are summed apart, from 0 on by fused steps, then together, then onto the accumulator:

    bf16, f16   even = fma(a[k], b[k], even), odd = fma(a[k+1], b[k+1], odd)     over the k of the tile product, 32 of them
                acc = acc + (even + odd)
    s8, u8      acc = acc + a[k] * b[k] + ...                                    exact modulo 2^32

Every sum is rounded to nearest, ties to even. Subnormal bf16 count as 0, and a sum below 2^-126 becomes 0 (f16 has no numbers
as small as that). Depth beyond k is zeros, which add nothing. Cache blocks and register blocks change no bit: an accumulator
that waits in memory keeps its 32 bits. So the result is a property of the problem.

By hand: in bf16 a row (1, 1, 1, 0, ...) times a column (2^24, 1, 1, 0, ...): even = 2^24 + 1 rounds to 2^24, odd = 1, and their
sum to 2^24. With the column (1, 2^24, 1, 0, ...) even = 2, odd = 2^24, and the sum is 2^24 + 2.

>>> from layoutalg.gemm.amx.problem import AmxProblem
>>> problem = AmxProblem.of(8, 32, 32, "bf16")
>>> a, b = np.zeros((8, 32)), np.zeros((32, 32))
>>> a[0, :3], b[:3, 0], b[:3, 1] = 1, (2**24, 1, 1), (1, 2**24, 1)
>>> [int(number) - 2**24 for number in computed(problem, a, b)[0, :2]]
[0, 2]

The epilogue computes in f32, as `layoutalg.gemm.numerics` says, with two steps more, and an exp of its own (`exponential`):
vectors of fused steps, whose bits are the same on every CPU.

    x = f32(acc)
    x = x * scale                 one factor for every row or column, rounded to f32; of both the row's first
    ...                           alpha, bias, beta * C, activation
    C = x                         rounded once to the type of C: to the nearest, ties to even. s8 and u8 are clamped; NaN is 0

The exp of gelu and silu is that of the emitted module, in f32 and off by less than a unit of the last place
(`layoutalg.gemm.amx.emission.exponential`), so that these results too have the module's bits.

Sources: the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, TDPBF16PS, TDPFP16PS, TDPBSSD; a CPU with
AMX gives these bits (`tests/oracle/test_amx_cpu.py`).
"""

from __future__ import annotations

from math import factorial, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.amx.execution import float_chains
from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.amx.operands import Scales, at_call, each_scale, memory_type
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.numerics import (
    after_sums,
    exact_after_sums,
    exact_sums,
    fused,
    integer_product,
    operands,
    stated_steps,
)
from layoutalg.gemm.operand_arrays import check_given, held, numbers

__all__ = ["accumulated", "computed", "exact", "exponential", "finished", "stated"]

Array = NDArray[Any]


def stated(problem: AmxProblem) -> tuple[str, ...]:
    """The order of the arithmetic of a problem, in lines: the sum of the products, and the steps behind.

    >>> for line in stated(AmxProblem.of(64, 64, 64, "s8", c="s8", scale="column", bias="row", activation="relu")):
    ...     print(line)
    acc = acc + a[k] * b[k], exact modulo 2^32
    x = f32(acc); x = x * scale; x = fma(1, x, bias); x = x < 0 ? 0 : x; C = s8(nearest integer of x, clamped)
    """
    if problem.acc == "s32":
        total = "acc = acc + a[k] * b[k], exact modulo 2^32"
    else:
        total = (
            f"even = fma(a[k], b[k], even), odd = fma(a[k+1], b[k+1], odd) over {problem.depth} k; "
            "acc = f32(acc + f32(even + odd)); below 2^-126 is 0"
        )
    steps = [f"x = x * {name}" for name, _, _ in problem.vectors if name != "bias"] + stated_steps(problem)
    rounded = "nearest integer of x, clamped" if problem.c in ("s8", "u8") else "x"
    if not steps and problem.c not in ("s8", "u8"):
        return total, "C = acc" if problem.c == problem.acc else f"C = {problem.c}(acc)"
    return total, "; ".join(["x = f32(acc)", *steps, f"C = {problem.c}({rounded})"])


def computed(
    problem: AmxProblem,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    scale: Scales | None = None,
) -> Array:
    """C, as the planned code computes it from the matrices as they lie in memory (k x m with `trans_a`).

    `c` is C before, for a beta that is not 0; `bias` and `scale` have a number for every row or every column, and a scale of
    both is a pair.

    Raises:
        PlanError: an array is missing, or given where the problem has none, or of another shape.

    >>> ones = np.ones((64, 64))
    >>> computed(AmxProblem.of(64, 64, 64, alpha=0.5, beta=2, scale="row"), ones, ones, ones, scale=np.arange(64))[5, 7]
    np.float32(162.0)
    """
    instance_of(problem, AmxProblem, "problem", PlanError)
    problem = at_call(problem, a)
    check_given(problem, c, "has", bias=bias, scale=scale)
    return finished(problem, accumulated(problem, a, b), c, bias, scale)


def accumulated(problem: AmxProblem, a: ArrayLike, b: ArrayLike) -> Array:
    """The accumulators after the last tile product: f32 or int32; of a batch with another dimension in front."""
    left, right = operands(problem, a, b)
    if problem.batch > 1:
        return np.stack([_accumulated(problem, x, y) for x, y in zip(left, right, strict=True)])
    return _accumulated(problem, left, right)


def _accumulated(problem: AmxProblem, left: Array, right: Array) -> Array:
    if problem.acc == "s32":
        return integer_product(left, right)
    right = right.astype(np.float32)  # of bytes: they are numbers of A's type
    short = problem.k_padded - problem.k
    left, right = np.pad(left, ((0, 0), (0, short))), np.pad(right, ((0, short), (0, 0)))
    total = np.zeros((problem.m, problem.n), np.float32)
    for first in range(0, problem.k_padded, problem.depth):
        step = slice(first, first + problem.depth)
        total = float_chains(left[:, step], right[step], total)
    return total


def finished(
    problem: AmxProblem,
    accumulators: Array,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    scale: Scales | None = None,
) -> Array:
    """What the epilogue makes of the accumulators: an array of C's type.

    >>> finished(AmxProblem.of(1, 2, 4, "u8", c="s8", scale="column"), np.array([[5, 900]], np.int32), scale=[0.5, 0.5])
    array([[  2, 127]], dtype=int8)
    """
    of_c = (problem.m, problem.n) if problem.batch == 1 else (problem.batch, problem.m, problem.n)
    before = None if c is None else held("C", c, of_c, problem.c)
    if bias is not None and problem.bias is not None:
        bias = held("bias", bias, (problem.count(problem.bias),), problem.bias_type)
    added = None if bias is None else np.asarray(bias)
    with np.errstate(all="ignore"):
        if problem.c == "s32":
            return after_sums(problem, accumulators, before, added)
        x = accumulators.astype(np.float32)
        for side, given in zip(problem.scaled, each_scale(problem, scale), strict=True):
            factors = held("scale", given, (problem.count(side),), "f32")
            x = x * (factors[:, None] if side == "row" else factors)
        if before is not None:
            before = before.view(memory_type(problem.c))
        x = after_sums(problem, x, before, added, exponential)
        result = memory_type(problem.c)
        if result.kind not in "iu":
            return x.astype(result)
        clamped = np.clip(np.rint(x), np.iinfo(result).min, np.iinfo(result).max)
        return np.where(np.isnan(x), np.float32(0), clamped).astype(result)


def exponential(x: Array) -> Array:
    """exp of f32 as the emitted code computes it, to less than a unit of the last place; -86 stands for all that is below.

    >>> exponential(np.array([1, -200, 90, np.nan], np.float32))
    array([2.7182817e+00, 4.4737793e-38,           inf,           nan],
          dtype=float32)
    """
    with np.errstate(all="ignore"):
        x = np.where(x < -86, np.float32(-86), np.where(x > 89, np.float32(89), x))
        rounding = np.float32(1.5 * 2**23)
        shifted = fused(1 / log(2), x, rounding)
        whole = shifted - rounding
        # ln 2 as 10 bits, which whole multiplies exactly, and the rest.
        rest = fused(-(log(2) - 0.693359375), whole, fused(-0.693359375, whole, x))
        total = np.full_like(x, 1 / factorial(7))
        for term in range(6, -1, -1):
            total = fused(total, rest, np.float32(1 / factorial(term)))
        power = ((shifted.view(np.int32) + np.int32(126)) << np.int32(23)).view(np.float32)
        return total * power * np.float32(2)


def exact(
    problem: AmxProblem,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    scale: Scales | None = None,
) -> NDArray[np.float64]:
    """C in f64, straight from the definition, before it is rounded (or clamped) to its type.

    Raises `PlanError`: an array is missing, or given where the problem has none, or scales are not one for each.

    >>> ones = np.ones((64, 64))
    >>> exact(AmxProblem.of(64, 64, 64, alpha=0.3), ones, ones)[0, 0].round(9)
    np.float64(19.2)
    """
    problem = at_call(problem, a)
    check_given(problem, c, "has", bias=bias, scale=scale)
    sums = exact_sums(problem, a, b)
    for side, given in zip(problem.scaled, each_scale(problem, scale), strict=True):
        factors = numbers("scale", given, (problem.count(side),)).astype(np.float64)
        sums = sums * (factors[:, None] if side == "row" else factors)
    return exact_after_sums(problem, sums, c, bias)
