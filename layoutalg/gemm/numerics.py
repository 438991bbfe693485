"""What a planned product computes, bit for bit: the order of the sums, and where something is rounded.

An element of C is a chain of sums in the order of k. A link of the chain is as many products as fit into 32 bits of the
instruction's depth: one for tf32, two for f16 and bf16, four for integers of 8 bits.

    f16, bf16   acc = f32(acc + f32(a[k] * b[k] + a[k+1] * b[k+1]))     the products are exact in f32
    tf32        acc = f32(acc + a[k] * b[k])                            a and b without their 13 low bits, the product exact
    s8, u8      acc = acc + a[k] * b[k] + ...                           exact modulo 2^32

Accumulators of f16 and bf16 are rounded to their type once for each instruction, 16 deep. The tile, the workgroups and the
number of steps change nothing: depth beyond k reads zeros, which add +0. So the result is a property of the problem.

By hand: a row (1, 1, 1, 0, ...) times a column (2^24, 1, 1, 0, ...) is 2^24 + 2. The first link is 2^24 + 1, which rounds to
2^24; the second is 1 + 0, and 2^24 + 1 rounds to 2^24 again. With the column (1, 1, 2^24, 0, ...) the first link is 2.

>>> from layoutalg.gemm.problem import Problem
>>> problem = Problem.of(8, 32, 32, "bf16")
>>> a, b = np.zeros((8, 32)), np.zeros((32, 32))
>>> a[0, :3], b[:3, 0], b[:3, 1] = 1, (2**24, 1, 1), (1, 1, 2**24)
>>> [int(number) - 2**24 for number in computed(problem, a, b)[0, :2]]
[0, 2]

Behind the loop the epilogue computes in f32 (integers in s32 stay integers), element by element, in this order:

    x = acc                       exactly from f16 and bf16, rounded to f32 from s32
    x = x * scale                 for each scale there is, rounded to f32: of the row, then of the column (both are f32)
    x = fma(alpha, x, bias)       the bias is +0 where there is none; nothing for alpha = 1 without a bias
    x = fma(beta, C, x)           nothing for beta = 0, where C isn't read
    relu: x < 0 ? 0 : x           keeps NaN and -0
    silu: x / (1 + exp(-x))
    gelu: x / (1 + exp(-(x * fma(x * x, c2, c1))))    its form with tanh; c1 = 2 sqrt(2/pi), c2 = 0.044715 c1
    C = x                         rounded once to the type of C

A scale that an addition follows is part of it, with one rounding: for alpha = 1 the last scale and the bias are
x = fma(scale, x, bias), and without a bias the last scale and C with beta = 1 are x = fma(scale, x, C).

alpha, beta, c1 and c2 are rounded to f32 first; where a step has an fma, it is rounded once. What a device leaves open is exp
and the division: OpenCL allows 3 and 2.5 units of the last place in f32. Here exp is computed in f64 and rounded once, and the
division is rounded correctly. So results without silu and gelu are the same bits on every device whose DPAS adds as above; with
them, up to some units of the last place of f32 (which seldom show in f16 and bf16).

Sources: the order in a link is that of the graphics compiler's DPAS.md; the extension texts leave it to the implementation. The
simulator runs the emitted kernel by the same rules, and the tests compare both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.evaluating import evaluated, exp_rounded_once, fused
from layoutalg.gemm.expressions import of_options, stated_expression
from layoutalg.gemm.grouped import by_groups
from layoutalg.gemm.operand_arrays import check_given, held_scales, numbers
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import Product, fuses_scale, mlir_type
from layoutalg.simulate.shared_operands import products_are_exact, sizes_of

__all__ = [
    "accumulated",
    "after_sums",
    "computed",
    "exact",
    "exact_after_sums",
    "exact_sums",
    "exp_rounded_once",
    "finished",
    "fused",
    "integer_product",
    "operands",
    "random_inputs",
    "stated",
    "stated_steps",
]

Array = NDArray[Any]

_LINK = {"tf32": 1, "f16": 2, "bf16": 2}
"""Products of a link of the chain."""
_PIECE = 1 << 16
"""Accumulators that are worked on at a time: they and two temporaries stay in a core's cache."""
_PIECES_FOR_THREADS = 8
_THREADS = min(2, cpu_count() or 1)
"""Threads for so many pieces or more: each piece is computed alone, so that the threads change nothing."""


def stated(problem: Problem) -> tuple[str, ...]:
    """The order of the arithmetic of a problem, in lines: the sum of the products, and the steps behind the loop.

    >>> for line in stated(Problem.of(64, 64, 64, "bf16", acc="bf16", alpha=0.5, bias="row", activation="relu")):
    ...     print(line)
    acc = f32(acc + f32(a[k] * b[k] + a[k+1] * b[k+1])), in the order of k; acc = bf16(acc) after every 16
    x = f32(acc); x = fma(0.5, x, bias); x = x < 0 ? 0 : x; C = bf16(x)
    >>> print(stated(Problem.of(64, 64, 64, "s8", c="f16", scale="both", bias="column", activation="silu"))[1])
    x = f32(acc); x = x * row_scale; x = fma(column_scale, x, bias); x = x / (1 + exp(-x)); C = f16(x)
    """
    if problem.acc == "s32":
        total = "acc = acc + a[k] * b[k], exact modulo 2^32"
    elif problem.a == "tf32":
        total = "acc = f32(acc + a[k] * b[k]), in the order of k; a and b without their 13 low bits"
    else:
        total = "acc = f32(acc + f32(a[k] * b[k] + a[k+1] * b[k+1])), in the order of k"
    if problem.acc in ("f16", "bf16"):
        total += f"; acc = {problem.acc}(acc) after every {problem.dpas.k}"
    if problem.epilogue is not None:
        return total, f"x = f32(acc); x = {stated_expression(problem).replace('acc', 'x')}; C = {problem.c}(x)"
    scales = [f"{side}_scale" for side in problem.scaled]
    fused = scales.pop() if fuses_scale(problem) else ""
    steps = [*(f"x = x * {one}" for one in scales), *stated_steps(problem, fused)]
    if not steps:
        return total, "C = acc" if problem.c == problem.acc else f"C = {problem.c}(acc)"
    return total, "; ".join(["x = f32(acc)", *steps, f"C = {problem.c}(x)"])


def stated_steps(problem: Product, fused: str = "") -> list[str]:
    """The steps of an epilogue behind the scales, before it rounds to C's type; an addition takes the scale `fused` along."""
    steps: list[str] = []
    if problem.alpha != 1 or problem.bias:
        steps.append(f"x = fma({fused or format(problem.alpha, 'g')}, x, {'bias' if problem.bias else '0'})")
    if problem.beta:
        steps.append(f"x = fma({fused}, x, C)" if fused and not problem.bias else f"x = fma({problem.beta:g}, C, x)")
    if problem.activation:
        ends = {"relu": "x < 0 ? 0 : x", "silu": "x / (1 + exp(-x))", "gelu": "x / (1 + exp(-x (c1 + c2 x^2)))"}
        steps.append(f"x = {ends[problem.activation]}")
    return steps


def computed(
    problem: Problem,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    starts: ArrayLike | None = None,
) -> Array:
    """C, as the planned kernel computes it from the matrices as they lie in memory (k x m with `trans_a`).

    Of a batch all arrays but the bias and scales have another dimension in front. `c` is C before the launch, for a beta that
    is not 0.

    Raises:
        PlanError: `c`, `bias` or a scale is missing, or given where the problem has none.

    >>> ones = np.ones((64, 64))
    >>> computed(Problem.of(64, 64, 64, alpha=0.5, beta=2, bias="row"), ones, ones, ones, np.arange(64))[5, 7]
    np.float32(39.0)
    """
    instance_of(problem, Problem, "problem", PlanError)
    check_given(problem, c, bias=bias)
    scales = held_scales(problem, row_scale, column_scale)
    if problem.groups or starts is not None:
        return by_groups(problem, starts, computed, a, b, c, bias, row_scale, column_scale)
    batch = (problem.batch,) if problem.batch > 1 else ()
    if c is not None:
        c = numbers("C", c, (*batch, problem.m, problem.n))
    if bias is not None:
        bias = numbers("bias", bias, (problem.count(problem.bias or "row"),))
    return finished(problem, accumulated(problem, a, b), c, bias, scales)


def exact(
    problem: Problem,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    starts: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """C in f64, straight from the definition: what the kernel's rounding is measured against."""
    if problem.groups or starts is not None:
        kind = np.dtype(np.float64)
        return by_groups(problem, starts, exact, a, b, c, bias, row_scale, column_scale, kind=kind)
    scales = held_scales(problem, row_scale, column_scale)
    return exact_after_sums(problem, exact_sums(problem, a, b), c, bias, scales)


def exact_sums(problem: Product, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """A B in f64, from the matrices as they lie in memory."""
    left, right = (np.asarray(matrix).astype(np.float64) for matrix in (a, b))
    left = left.swapaxes(-1, -2) if problem.trans_a else left
    return np.matmul(left, right.swapaxes(-1, -2) if problem.trans_b else right)


def exact_after_sums(
    problem: Product,
    sums: NDArray[np.float64],
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    scales: Mapping[str, Array] | None = None,
) -> NDArray[np.float64]:
    """An epilogue in f64, straight from the definition; without `scales` the sums have theirs already."""
    before, added = (None if one is None else np.asarray(one) for one in (c, bias))
    steps = of_options(problem, scaled=scales is not None)
    return evaluated(steps, _named(problem, sums, before, added, scales or {}), np.float64)


def random_inputs(
    problem: Problem, random: np.random.Generator
) -> tuple[Array, Array, Array | None, Array | None, Array | None, Array | None]:
    """Random A, B, C, bias, scales of rows and of columns, as they lie in memory; None for what is not read."""

    def drawn(kind: str, shape: tuple[int, ...]) -> Array:
        dtype = numpy_type(mlir_type(kind))
        if dtype.kind == "f" or kind == "bf16":
            return random.standard_normal(shape).astype(dtype)
        return random.integers(0 if kind[0] == "u" else -128, 256 if kind[0] == "u" else 128, shape)

    def scales(count: int) -> Array:  # sums of bytes then fit into f16
        return ((random.random(count) + 0.5) / sqrt(problem.k)).astype(np.float32)

    batch = (problem.batch,) if problem.batch > 1 else ()
    of_a, of_b, of_c = ((*batch, matrix.rows, matrix.columns) for matrix in problem.matrices)
    return (
        drawn(problem.a, of_a),
        drawn(problem.b, (problem.groups, *of_b) if problem.groups else of_b),
        drawn(problem.c, of_c) if problem.beta else None,
        drawn(problem.c, (problem.count(problem.bias),)) if problem.bias else None,
        scales(problem.m) if "row" in problem.scaled else None,
        scales(problem.count("column")) if "column" in problem.scaled else None,
    )


def accumulated(problem: Problem, a: ArrayLike, b: ArrayLike) -> Array:
    """The accumulators after the loop, in their type: f32, int32, f16 or bf16."""
    left, right = operands(problem, a, b)
    if problem.batch > 1:
        return np.stack([_product(problem, x, y) for x, y in zip(left, right, strict=True)])
    return _product(problem, left, right)


def operands(problem: Product, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """A and B as numbers, m x k and k x n, from the matrices as they lie in memory."""
    batch = (problem.batch,) if problem.batch > 1 else ()
    left, right = (
        _numbers_of_operand(numbers(matrix.name, values, (*batch, matrix.rows, matrix.columns)), kind, transposed)
        for matrix, values, kind, transposed in zip(
            problem.matrices, (a, b), (problem.a, problem.b), (problem.trans_a, problem.trans_b), strict=False
        )
    )
    return left, right


def _numbers_of_operand(given: Array, kind: str, transposed: bool) -> Array:
    """The numbers of an operand, not transposed: f32 (without what tf32 drops), or f64 for integers of 8 bits."""
    if kind in ("s8", "u8"):
        number = given.astype(np.int64).astype(np.int8 if kind == "s8" else np.uint8).astype(np.float64)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            number = given.astype(numpy_type(mlir_type(kind))).astype(np.float32)
        if kind == "tf32":
            number = (number.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return number.swapaxes(-1, -2) if transposed else number


def integer_product(left: Array, right: Array) -> NDArray[np.int32]:
    """The product of bytes that are held in f64, modulo 2^32: sums of less than 2^37 products of 16 bits are exact there.

    >>> integer_product(np.full((1, 2**16), 255.0), np.full((2**16, 1), 255.0)).item() == 255**2 * 2**16 - 2**32
    True
    """
    whole = (left @ right).astype(np.int64)
    return (whole & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def _product(problem: Problem, left: Array, right: Array) -> Array:
    if problem.acc == "s32":
        return integer_product(left, right)
    each, depth = _LINK[problem.a], problem.dpas.k
    short = -problem.k % depth
    left = np.pad(left, ((0, 0), (0, short)))
    right = np.pad(right, ((0, short), (0, 0)))
    narrow = None if problem.acc == "f32" else numpy_type(problem.acc)
    total = np.zeros((problem.m, right.shape[1]), np.float32)
    rows = max(1, _PIECE // right.shape[1])
    exact = products_are_exact(*map(sizes_of, (left, right)))
    # A matrix product loses the sign of a link that is -0, which shows beside an accumulator that was rounded to -0.
    signs = narrow is None or all(values.all() for values in (left[:, : problem.k], right[: problem.k]))
    link = np.matmul if exact and signs else _link_by_link

    def some_rows(first: int) -> None:
        part = total[first : first + rows]
        here, one = left[first : first + rows], np.empty_like(part)
        with np.errstate(all="ignore"):
            for k in range(0, right.shape[0], each):
                link(here[:, k : k + each], right[k : k + each], out=one)
                np.add(part, one, out=part)
                if narrow is not None and (k + each) % depth == 0:
                    part[:] = part.astype(narrow)

    firsts = range(0, problem.m, rows)
    if len(firsts) < _PIECES_FOR_THREADS:
        for first in firsts:
            some_rows(first)
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(some_rows, firsts))
    return total if narrow is None else total.astype(narrow)


def _link_by_link(left: Array, right: Array, *, out: Array) -> None:
    """left [m, link] times right [link, n] for numbers of any size: rounded products, added in the order of k."""
    np.multiply(left[:, :1], right[:1], out=out)
    for j in range(1, right.shape[0]):
        out += left[:, j : j + 1] * right[j]


def finished(
    problem: Problem,
    accumulators: Array,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    scales: Mapping[str, Array] | None = None,
) -> Array:
    """What the epilogue makes of the accumulators: an array of C's type. `scales` are those of `held_scales`.

    >>> finished(Problem.of(64, 64, 64, c="f16", activation="relu"), np.array([[-1.5, 2.0001]], np.float32))
    array([[0., 2.]], dtype=float16)
    """
    result = numpy_type(mlir_type(problem.c))
    if bias is not None:
        bias = np.asarray(bias).astype(result)
    before = None if c is None else np.asarray(c).astype(result)
    with np.errstate(all="ignore"):
        return after_sums(problem, accumulators, before, bias, scales=scales or {}).astype(result)


def after_sums(
    problem: Product,
    sums: Array,
    c: Array | None,
    bias: Array | None,
    exp: Callable[[Array], Array] = exp_rounded_once,
    *,
    scales: Mapping[str, Array] | None = None,
) -> Array:
    """An epilogue in f32, before rounding to C's type. Where C and sums are both s32, everything stays s32.

    `scales` are a GPU's, by side: the last of them is joined with the addition behind it (`fuses_scale`).
    """
    if sums.dtype == np.int32 and problem.c == "s32":
        for added in (bias if bias is None or problem.bias == "column" else bias[:, None], c):
            sums = sums if added is None else sums + added
        return np.maximum(sums, 0) if problem.activation == "relu" else sums
    steps = of_options(problem, scaled=scales is not None, fused=fuses_scale(problem))
    return evaluated(steps, _named(problem, sums.astype(np.float32), c, bias, scales or {}), np.float32, exp)


def _named(
    problem: Product, sums: Array, c: Array | None, bias: Array | None, scales: Mapping[str, Array]
) -> dict[str, Array]:
    """What an epilogue reads, by its names; arrays that go with those of C."""
    found = {"acc": sums}
    if problem.gated:
        found = {"acc": sums[..., : problem.n], "acc2": sums[..., problem.n :]}
    found |= {f"{side}_scale": scale for side, scale in scales.items()}
    if c is not None:
        found["residual"] = c
    if bias is not None:
        found[f"{problem.bias}_bias"] = bias[:, None] if problem.bias == "row" else bias
    return found
