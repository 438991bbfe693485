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

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.elementwise import binary, chosen, constant_like, convert, elementwise, exp, fma
from layoutalg.gemm.emission.function import FunctionWriter
from layoutalg.gemm.expressions import Node, of_options
from layoutalg.gemm.product import Product, fuses_scale, mlir_type

__all__ = ["BYTES", "arithmetic", "as_computed"]

BYTES = {"s8": (-128.0, 127.0), "u8": (0.0, 255.0)}
"""The least and the largest number of a byte."""


def arithmetic(
    function: FunctionWriter,
    problem: Product,
    accumulator: Value,
    bias: Value | None = None,
    before: Value | None = None,
    *,
    second: Value | None = None,
    scale: Value | None = None,
    scales: Sequence[Value] = (),
    stored: str | None = None,
    exp: Callable[[FunctionWriter, Value], Value] = exp,
) -> Value:
    """The element of C in its type for an accumulator, from the bias (in the type of the arithmetic) and the element before.

    The values are vectors of one shape; scales are of f32: those of a GPU's plan are `scales`, the last may be fused, and
    `scale` is never. `second` is the accumulator of the other product of a gated pair. `stored` is the element that is written
    where it isn't the one of C: i16 for the bits of a bf16. `exp` writes the operations of an exp. Nothing is converted where
    nothing is computed and C has the accumulators' type.
    """
    element = _element(problem)
    computes = (
        problem.alpha != 1
        or problem.activation
        or problem.epilogue
        or any(one is not None for one in (bias, before, scale, *scales))
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
    given = {"acc": value, "residual": before, f"{problem.bias}_bias": bias}
    if second is not None:
        given["acc2"] = as_computed(function, problem, second)
    if scale is not None:
        given["acc"] = binary(function, "mulf", value, scale)
    given |= {f"{side}_scale": one for side, one in zip(problem.scaled, scales, strict=bool(scales))}
    steps = of_options(problem, scaled=bool(scales), fused=fuses_scale(problem))
    return _narrowed(function, problem, _Steps(function, given, value, exp).value(steps), stored or element)


class _Steps:
    """The steps of an expression as operations, each once; numbers are constants like `alike`."""

    def __init__(
        self,
        function: FunctionWriter,
        given: Mapping[str, Value | None],
        alike: Value,
        exp: Callable[[FunctionWriter, Value], Value],
    ) -> None:
        self.function, self.given, self.alike, self.exp = function, given, alike, exp
        self._made: dict[Node, Value] = {}

    def value(self, node: Node) -> Value:
        """The value of a step."""
        if node not in self._made:
            self._made[node] = self._step(node)
        return self._made[node]

    def _step(self, node: Node) -> Value:
        function = self.function
        if node.kind == "number":
            return _factor(function, node.value, self.alike)
        if node.kind == "name":
            given = self.given[node.name]
            assert given is not None, node.name  # the problem says what is read, and `finish` loads it
            return given
        of = [self.value(one) for one in node.of]
        if node.kind in _BINARY:
            return binary(function, _BINARY[node.kind], of[0], of[1])
        if node.kind in _CHOICES:
            return chosen(function, _CHOICES[node.kind], (of[0], of[1]), of[1], of[0])
        if node.kind == "fma":
            return fma(function, of[0], of[1], of[2])
        if node.kind == "exp":
            return self.exp(function, of[0])
        name = {"neg": "arith.negf", "tanh": "math.tanh"}[node.kind]
        return elementwise(function, f"{name} %s : {of[0].kind}", of, of[0].element)


_BINARY = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf"}
_CHOICES = {"max": "cmpf olt", "min": "cmpf ogt"}


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


def _relu(function: FunctionWriter, value: Value) -> Value:
    zero = constant_like(function, 0 if value.element == "i32" else 0.0, value)
    order = "cmpi slt" if value.element == "i32" else "cmpf olt"
    return chosen(function, order, (value, zero), zero, value)
