"""Random operands of planned products, as they lie in memory, and the comparison of results bit for bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm import Gemm
from tests.gemm.running import DTYPES

Array = NDArray[Any]


def random_numbers(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """All values of an integer type; floats that need rounding."""
    dtype = DTYPES[kind]
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype) if kind != "s32" else np.iinfo(np.int16)
        return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


class Operands(NamedTuple):
    """What a plan is simulated with: A and B as they lie in memory, C, the bias and scales where the problem reads them."""

    a: Array
    b: Array
    c: Array | None
    bias: Array | None
    row_scale: Array | None = None
    column_scale: Array | None = None


def operands(gemm: Gemm) -> Operands:
    """Random ones; the same for the same sizes."""
    problem, rng = gemm.problem, np.random.default_rng(gemm.m + gemm.n + gemm.k)
    front = (problem.batch,) if problem.batch > 1 else ()
    a, b = (
        random_numbers(kind, (*front, matrix.rows, matrix.columns), rng)
        for kind, matrix in zip((problem.a, problem.b), gemm.matrices, strict=False)
    )
    c = random_numbers(problem.c, (*front, gemm.m, gemm.n), rng) if problem.beta else None
    count = gemm.m if problem.bias == "row" else gemm.n
    bias = random_numbers(problem.c, (count,), rng) if problem.bias else None
    counts = (("row", gemm.m), ("column", gemm.n))
    scales = (random_numbers("f32", (count,), rng) / 64 if side in problem.scaled else None for side, count in counts)
    return Operands(a, b, c, bias, *scales)


def same_bits(found: Array, expected: Array) -> bool:
    """Whether two arrays of one type are equal; all NaN are."""
    if found.dtype != expected.dtype or found.dtype.kind in "iu":
        return found.dtype == expected.dtype and np.array_equal(found, expected)
    one, other = found.astype(np.float32), expected.astype(np.float32)
    return np.array_equal(one, other, equal_nan=True) and np.array_equal(np.signbit(one), np.signbit(other))
