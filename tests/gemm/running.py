"""Kernels of products run on arrays, with everything that an epilogue takes, and the same computed in exact arithmetic.

The operands are small whole numbers and halves, so that every sum and product has few enough bits to be exact in f32: then
the expected result doesn't depend on the order of the operations, and one wrong element is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.gemm import Gemm
from layoutalg.simulate import launch

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "f32": np.float32, "tf32": np.float32, "f16": np.float16, "bf16": bfloat16, "s8": np.int8, "u8": np.uint8, "s32": np.int32,
}  # fmt: skip


@dataclass(frozen=True)
class Inputs:
    """A, B and C of every matrix of the batch, as the problem names them (not transposed), and the bias."""

    a: Array
    b: Array
    c: Array
    bias: Array | None


def inputs(gemm: Gemm, seed: int = 0) -> Inputs:
    """Small numbers for all that the kernel reads."""
    problem, rng = gemm.problem, np.random.default_rng(seed)

    def numbers(kind: str, *shape: int) -> Array:
        whole = rng.integers(0 if kind == "u8" else -3, 4, shape)
        return (whole if kind in ("s8", "u8", "s32") else whole / 2).astype(DTYPES[kind])

    m, n, k, batch = problem.m, problem.n, problem.k, problem.batch
    bias = None if problem.bias is None else numbers(problem.c, m if problem.bias == "row" else n)
    return Inputs(
        numbers(problem.a, batch, m, k), numbers(problem.b, batch, k, n), numbers(problem.c, batch, m, n), bias
    )


def reals(gemm: Gemm, seed: int = 0) -> Inputs:
    """Numbers whose sums round, so that their order can be seen."""
    problem, rng = gemm.problem, np.random.default_rng(seed)
    given = inputs(gemm)

    def numbers(like: Array, kind: str) -> Array:
        return rng.standard_normal(like.shape).astype(DTYPES[kind])

    bias = None if given.bias is None else numbers(given.bias, problem.c)
    return Inputs(numbers(given.a, problem.a), numbers(given.b, problem.b), numbers(given.c, problem.c), bias)


def run(gemm: Gemm, given: Inputs, text: str | None = None) -> Array:
    """C of every matrix of the batch; what pads the rows in memory is NaN (or 99) and must stay so."""
    problem = gemm.problem

    def in_memory(values: Array, pitch: int) -> Array:
        filler = 99 if values.dtype.kind in "iu" else np.nan
        held = np.full((*values.shape[:2], pitch), filler, values.dtype)
        held[:, :, : values.shape[2]] = values
        return held

    a = in_memory(given.a.transpose(0, 2, 1) if problem.trans_a else given.a, problem.lda)
    b = in_memory(given.b.transpose(0, 2, 1) if problem.trans_b else given.b, problem.ldb)
    c = in_memory(given.c, problem.ldc)
    bias = () if given.bias is None else (given.bias,)
    kernel = gemm.emit("lane") if text is None else text
    done = launch(kernel, [a, b, c, *bias, *gemm.arguments], gemm.grid, target=gemm.target)
    assert done.findings == (), done.findings
    result = done.arguments[2]
    before, after = c[:, :, problem.n :], result[:, :, problem.n :]
    assert np.array_equal(before, after, equal_nan=c.dtype.kind not in "iu")
    return result[:, :, : problem.n]


def exactly(gemm: Gemm, given: Inputs) -> Array:
    """What the problem asks, in f64."""
    problem = gemm.problem
    x = problem.alpha * (given.a.astype(np.float64) @ given.b.astype(np.float64))
    if given.bias is not None:
        bias = given.bias.astype(np.float64)
        x = x + (bias[:, None] if problem.bias == "row" else bias)
    x = x + problem.beta * given.c.astype(np.float64)
    if problem.activation == "relu":
        x = np.maximum(x, 0)
    elif problem.activation == "silu":
        x = x / (1 + np.exp(-x))
    elif problem.activation == "gelu":
        x = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x
