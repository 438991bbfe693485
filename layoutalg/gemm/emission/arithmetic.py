"""What happens to an accumulator behind the loop: scale, alpha, bias, beta * C, activation, and the type of C.

It is arithmetic in f32 on vectors of any shape, with one rounding to the type of C at the end:

    x = accumulator                      exactly (f16, bf16), rounded to f32 (s32)
    x = x * scale                        for each that there is: of the row, then of the column (`fuses_scale`: below)
    x = fma(alpha, x, bias)              bias is +0 where there isn't one; nothing is done for alpha = 1 without a bias
    x = fma(beta, C, x)                  C as it was in memory; it isn't read for beta = 0
    x = x < 0 ? 0 : x                    relu; it keeps NaN
    x = x / (1 + exp(-x))                silu
    x = x / (1 + exp(-x (c1 + c2 x x)))  gelu in its form with tanh: x/2 (1 + tanh(y)) is x / (1 + exp(-2 y))
    C = x                                rounded to the nearest, the even one of two

alpha, beta and the constants of gelu are rounded to f32. Every fma is written as one, and no compiler may contract the others:
the bits don't depend on it. exp and the division are the device's. fma(1, x, y) is written x + y, which has the same bits.

A product that is added could be joined by a compiler, so it is one fma where alpha = 1: the last scale and the bias are
fma(scale, x, bias), or without a bias the last scale and C with beta = 1, fma(scale, x, C).

Integers stay integers where C is s32: acc + bias + C, modulo 2^32; a factor that is not a whole number needs C of f32. Where C
is of bytes, x is clamped to their range first; NaN becomes 0. By hand: 2.5 becomes 2, 300 becomes 127 in s8 and 255 in u8.

By hand, for alpha = 2, a bias of 0.5, beta = 1 and C = 1: an accumulator of 3 becomes 2 * 3 + 0.5 + 1 = 7.5.

>>> from layoutalg.gemm.problem import Problem
>>> given = [Value("f32", 8, name) for name in ("acc", "bias", "before")]
>>> function = FunctionWriter(given)
>>> result = arithmetic(function, Problem.of(64, 64, 64, alpha=2, beta=1, bias="row"), *given)
>>> print(function.writer.text())
%0 = arith.constant dense<2.000000e+00> : vector<8xf32>
%1 = math.fma %0, %acc, %bias : vector<8xf32>
%2 = arith.addf %before, %1 : vector<8xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt

import numpy as np

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.elementwise import binary, chosen, constant_like, convert, elementwise, exp, fma
from layoutalg.gemm.emission.function import FunctionWriter
from layoutalg.gemm.product import Product, fuses_scale, mlir_type

__all__ = ["BYTES", "GELU", "arithmetic", "as_computed"]

GELU = (2 * sqrt(2 / pi), 2 * sqrt(2 / pi) * 0.044715)
"""c1 and c2 of gelu: twice the factors of x and of x cubed in the argument of its tanh."""
BYTES = {"s8": (-128.0, 127.0), "u8": (0.0, 255.0)}
"""The least and the largest number of a byte."""


def arithmetic(
    function: FunctionWriter,
    problem: Product,
    accumulator: Value,
    bias: Value | None = None,
    before: Value | None = None,
    *,
    scale: Value | None = None,
    scales: Sequence[Value] = (),
    stored: str | None = None,
    exp: Callable[[FunctionWriter, Value], Value] = exp,
) -> Value:
    """The element of C in its type for an accumulator, from the bias (in the type of the arithmetic) and the element before.

    The values are vectors of one shape; scales are of f32: those of a GPU's plan are `scales`, the last may be fused, and
    `scale` is never. `stored` is the element that is written where it isn't the one of
    C: i16 for the bits of a bf16. `exp` writes the operations of an exp. Nothing is converted where nothing is computed and C
    has the accumulators' type.
    """
    element = _element(problem)
    computes = (
        problem.alpha != 1 or problem.activation or any(one is not None for one in (bias, before, scale, *scales))
    )
    if not computes and accumulator.element == element:
        return accumulator
    value = as_computed(function, problem, accumulator)
    if before is not None:
        before = as_computed(function, problem, before)
    if element == "i32":
        value = value if bias is None else binary(function, "addi", value, bias)
        value = value if before is None else binary(function, "addi", before, value)
        return _relu(function, value) if problem.activation == "relu" else value
    if scale is not None:
        value = binary(function, "mulf", value, scale)
    fused = scales[-1] if scales and fuses_scale(problem) else None
    for one in scales if fused is None else scales[:-1]:
        value = binary(function, "mulf", value, one)
    if problem.alpha != 1:
        added = constant_like(function, 0.0, value) if bias is None else bias
        value = fma(function, _factor(function, problem.alpha, value), value, added)
    elif bias is not None:
        value = binary(function, "addf", value, bias) if fused is None else fma(function, fused, value, bias)
    if before is not None and problem.beta == 1:
        fused = fused if bias is None else None
        value = binary(function, "addf", before, value) if fused is None else fma(function, fused, value, before)
    elif before is not None:
        value = fma(function, _factor(function, problem.beta, value), before, value)
    return _narrowed(function, problem, _activated(function, problem.activation, value, exp), stored or element)


def as_computed(function: FunctionWriter, problem: Product, value: Value) -> Value:
    """A value in the epilogue's type: f32, or i32 where C is of i32. i8 is a number of C, i16 a bf16."""
    wanted = "i32" if _element(problem) == "i32" else "f32"
    if value.element == wanted:
        return value
    if value.element == "i16":
        return _as_float(function, value)
    names = {"i32": "sitofp", "i8": "uitofp" if problem.c == "u8" else "sitofp"}
    return convert(function, names.get(value.element, "extf"), value, wanted)


def _element(problem: Product) -> str:
    return mlir_type(problem.c)


def _narrowed(function: FunctionWriter, problem: Product, value: Value, stored: str) -> Value:
    if value.element == stored:
        return value
    if stored == "i16":
        return _as_half(function, value)
    if stored == "i8":
        return _as_byte(function, problem, value)
    return convert(function, "truncf", value, stored)


def _as_byte(function: FunctionWriter, problem: Product, value: Value) -> Value:
    """The nearest whole number in the range of the type: outside of it the conversion itself is undefined."""
    least, largest = (constant_like(function, number, value) for number in BYTES[problem.c])
    for order, bound in (("olt", least), ("ogt", largest)):
        value = chosen(function, f"cmpf {order}", (value, bound), bound, value)
    value = chosen(function, "cmpf uno", (value, value), constant_like(function, 0.0, value), value)
    value = elementwise(function, f"math.roundeven %s : {value.kind}", (value,), value.element)
    return convert(function, "fptoui" if problem.c == "u8" else "fptosi", value, "i8")


def _as_float(function: FunctionWriter, value: Value) -> Value:
    """The f32 whose upper half these bits of a bf16 are."""
    bits = convert(function, "extui", value, "i32")
    return convert(function, "bitcast", binary(function, "shli", bits, constant_like(function, 16, bits)), "f32")


def _as_half(function: FunctionWriter, value: Value) -> Value:
    """The bits of the nearest bf16, the even one of two: half of its last place is added, less one where that one is even.

    A NaN keeps its upper bits and becomes a quiet one.
    """
    bits = convert(function, "bitcast", value, "i32")

    def number(value: int) -> Value:
        return constant_like(function, value, bits)

    upper = binary(function, "shrui", bits, number(16))
    half = binary(function, "addi", binary(function, "andi", upper, number(1)), number(0x7FFF))
    rounded = binary(function, "shrui", binary(function, "addi", bits, half), number(16))
    unordered = elementwise(function, f"arith.cmpf uno, %s, %s : {value.kind}", (value, value), "i1")
    quiet = binary(function, "ori", upper, number(0x40))
    form = f"arith.select %s, %s, %s : {unordered.kind}, {bits.kind}"
    chosen = elementwise(function, form, (unordered, quiet, rounded), "i32")
    return convert(function, "trunci", chosen, "i16")


def _factor(function: FunctionWriter, number: float, value: Value) -> Value:
    return constant_like(function, float(np.float32(number)), value)


def _activated(
    function: FunctionWriter, activation: str | None, value: Value, exp: Callable[[FunctionWriter, Value], Value]
) -> Value:
    if activation is None:
        return value
    if activation == "relu":
        return _relu(function, value)
    argument = value
    if activation == "gelu":
        first, second = (_factor(function, number, value) for number in GELU)
        argument = binary(function, "mulf", value, fma(function, binary(function, "mulf", value, value), second, first))
    negative = elementwise(function, f"arith.negf %s : {value.kind}", (argument,), value.element)
    power = exp(function, negative)
    return binary(function, "divf", value, binary(function, "addf", constant_like(function, 1.0, value), power))


def _relu(function: FunctionWriter, value: Value) -> Value:
    zero = constant_like(function, 0 if value.element == "i32" else 0.0, value)
    order = "cmpi slt" if value.element == "i32" else "cmpf olt"
    return chosen(function, order, (value, zero), zero, value)
