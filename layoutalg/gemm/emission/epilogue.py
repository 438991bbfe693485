"""What happens to the accumulators after the loop: alpha, beta * C, bias, activation, the type of C, and memory.

It is arithmetic in f32 on the fragments, one block of 8x16 after the other, with one rounding to the type of C at the end:

    x = accumulator                      exactly (f16, bf16), rounded to f32 (s32)
    x = fma(alpha, x, bias)              bias is +0 where there isn't one; nothing is done for alpha = 1 without a bias
    x = fma(beta, C, x)                  C as it was in memory; it isn't read for beta = 0
    x = x < 0 ? 0 : x                    relu; it keeps NaN
    x = x / (1 + exp(-x))                silu
    x = x / (1 + exp(-x (c1 + c2 x x)))  gelu in its form with tanh: x/2 (1 + tanh(y)) is x / (1 + exp(-2 y))

alpha, beta and the constants of gelu are rounded to f32. Every fma is written as one, and no other product feeds a sum, so
that a compiler has nothing to contract: the bits don't depend on it. exp and the division are the device's (OpenCL allows 3
and 2.5 units of the last place). fma(1, x, y) is written x + y, which has the same bits.

Integers stay integers where C is s32: acc + bias + C, modulo 2^32; a factor that is not a whole number needs C of f32.

By hand, for alpha = 2, a bias of 0.5, beta = 1 and C = 1: an accumulator of 3 becomes 2 * 3 + 0.5 + 1 = 7.5.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(8, 16), alpha=2, beta=1, bias="row"))
>>> kernel.writer.arguments = tuple(Value("f32", 8, name) for name in ("acc", "bias", "before"))
>>> result = arithmetic(kernel, *kernel.writer.arguments)
>>> print(kernel.writer.text())
%0 = arith.constant dense<2.000000e+00> : vector<8xf32>
%1 = math.fma %0, %acc, %bias : vector<8xf32>
%2 = arith.addf %before, %1 : vector<8xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt

import numpy as np

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import PlanError
from layoutalg.gemm.emission.elementwise import binary, constant_like, convert, elementwise
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import descriptor
from layoutalg.gemm.problem import Problem

__all__ = ["GELU", "arithmetic", "as_computed", "check_epilogue", "finish", "in_memory"]

GELU = (2 * sqrt(2 / pi), 2 * sqrt(2 / pi) * 0.044715)
"""c1 and c2 of gelu: twice the factors of x and of x cubed in the argument of its tanh."""


def check_epilogue(problem: Problem) -> None:
    """Refuse arithmetic that integers can't do.

    Raises:
        PlanError: C is s32 and the epilogue needs fractions; says what would fit.

    >>> check_epilogue(Problem.of(64, 64, 64, "s8", alpha=0.5))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: c = 's32' with alpha = 0.5: s32 is stored as the sum of integers, alpha = 1, beta = 0 or \
1, activation None or relu; c = 'f32' takes the others
    """
    if problem.c != "s32":
        return
    wrong = [
        f"{name} = {value!r}"
        for name, value, fits in (
            ("alpha", problem.alpha, problem.alpha == 1),
            ("beta", problem.beta, problem.beta in (0, 1)),
            ("activation", problem.activation, problem.activation in (None, "relu")),
        )
        if not fits
    ]
    if wrong:
        raise PlanError(
            f"c = 's32' with {' and '.join(wrong)}: s32 is stored as the sum of integers, alpha = 1, beta = 0 or 1, "
            "activation None or relu; c = 'f32' takes the others"
        )


def finish(kernel: KernelWriter, base: Value, held: Mapping[tuple[int, int], Value], row: Value, column: Value) -> None:
    """Store the tile whose blocks are `held`, by (row block, column block); its corner is at `row`, `column`.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(8, 16), c="f16"))
    >>> place, base = kernel.constant(0), kernel.constant(64, "i64")
    >>> kernel.writer.arguments += (accumulator := Value("f32", 8, "acc"),)
    >>> finish(kernel, base, {(0, 0): accumulator}, place, place)
    >>> [line.split(" : ")[0] for line in kernel.writer.text().splitlines()[-2:]]
    ['%0 = arith.truncf %acc', 'xegpu.store_nd %0, %matrix_c[%c0, %c0]']
    """
    unit, matrix, problem = kernel.gemm.dpas, kernel.gemm.matrices[2], kernel.gemm.problem
    check_epilogue(problem)
    element = in_memory(kernel)
    kind = f"!xegpu.tensor_desc<{unit.m}x{unit.n}x{element}>"
    described = kernel.named("matrix_c", descriptor(kernel, matrix, base, kind))
    bias = _bias(kernel, row, column)
    for (i, j), accumulator in held.items():
        place = (kernel.plus(row, i * unit.m), kernel.plus(column, j * unit.n))
        before = None
        if problem.beta:
            form = f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<{unit.m}x{element}>"
            before = kernel.writer.value(form, (described, *place), element, unit.m)
        value = arithmetic(kernel, accumulator, bias(i, j), before)
        kernel.writer.do(f"xegpu.store_nd %s, %s[%s, %s] : {value.kind}, {kind}", (value, described, *place))


def in_memory(kernel: KernelWriter) -> str:
    """The element of the messages that move C and the bias: C's, but i16 for bf16 with LLVM 22, whose SPIR-V has no bf16.

    >>> from layoutalg.gemm import plan_gemm
    >>> [in_memory(KernelWriter(plan_gemm(64, 64, 64, c="bf16", llvm=llvm))) for llvm in (22, 23)]
    ['i16', 'bf16']
    """
    element = kernel.gemm.element_of("C")
    return "i16" if element == "bf16" and kernel.gemm.llvm == 22 and kernel.gemm.accumulator != "bf16" else element


def arithmetic(kernel: KernelWriter, accumulator: Value, bias: Value | None, before: Value | None) -> Value:
    """The element of C in its type for an accumulator, from the bias (in the type of the arithmetic) and the element before.

    The values are vectors of one length. Nothing is converted where nothing is computed and C has the accumulators' type.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 64, 64, c="f16"))
    >>> arithmetic(kernel, Value("f32", 8, "acc"), None, None).kind
    'vector<8xf16>'
    """
    problem, element = kernel.gemm.problem, kernel.gemm.element_of("C")
    computes = problem.alpha != 1 or problem.beta or problem.bias or problem.activation
    if not computes and accumulator.element == element:
        return accumulator
    value = as_computed(kernel, accumulator)
    if before is not None:
        before = as_computed(kernel, before)
    if element == "i32":
        value = value if bias is None else binary(kernel, "addi", value, bias)
        value = value if before is None else binary(kernel, "addi", before, value)
        return _relu(kernel, value) if problem.activation == "relu" else value
    if problem.alpha != 1:
        added = constant_like(kernel, 0.0, value) if bias is None else bias
        value = _fma(kernel, _factor(kernel, problem.alpha, value), value, added)
    elif bias is not None:
        value = binary(kernel, "addf", value, bias)
    if before is not None and problem.beta == 1:
        value = binary(kernel, "addf", before, value)
    elif before is not None:
        value = _fma(kernel, _factor(kernel, problem.beta, value), before, value)
    return _narrowed(kernel, _activated(kernel, value), element)


def as_computed(kernel: KernelWriter, value: Value) -> Value:
    """A value in the type of the epilogue's arithmetic: f32, or i32 where C is of i32.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
    >>> as_computed(kernel, Value("bf16", 8, "c")).kind
    'vector<8xf32>'
    """
    wanted = "i32" if kernel.gemm.element_of("C") == "i32" else "f32"
    if value.element == wanted:
        return value
    if value.element == "i16":
        return _as_float(kernel, value)
    return convert(kernel, "sitofp" if value.element == "i32" else "extf", value, wanted)


def _narrowed(kernel: KernelWriter, value: Value, element: str) -> Value:
    if value.element == element:
        return value
    if in_memory(kernel) == "i16":
        return _as_half(kernel, value)
    return convert(kernel, "truncf", value, element)


def _as_float(kernel: KernelWriter, value: Value) -> Value:
    """The f32 whose upper half these bits of a bf16 are."""
    bits = convert(kernel, "extui", value, "i32")
    return convert(kernel, "bitcast", binary(kernel, "shli", bits, constant_like(kernel, 16, bits)), "f32")


def _as_half(kernel: KernelWriter, value: Value) -> Value:
    """The bits of the nearest bf16, the even one of two: half of its last place is added, less one where that one is even.

    A NaN keeps its upper bits and becomes a quiet one.
    """
    bits = convert(kernel, "bitcast", value, "i32")

    def number(value: int) -> Value:
        return constant_like(kernel, value, bits)

    upper = binary(kernel, "shrui", bits, number(16))
    half = binary(kernel, "addi", binary(kernel, "andi", upper, number(1)), number(0x7FFF))
    rounded = binary(kernel, "shrui", binary(kernel, "addi", bits, half), number(16))
    unordered = elementwise(kernel, f"arith.cmpf uno, %s, %s : {value.kind}", (value, value), "i1")
    quiet = binary(kernel, "ori", upper, number(0x40))
    form = f"arith.select %s, %s, %s : {unordered.kind}, {bits.kind}"
    chosen = elementwise(kernel, form, (unordered, quiet, rounded), "i32")
    return convert(kernel, "trunci", chosen, "i16")


def _fma(kernel: KernelWriter, left: Value, right: Value, added: Value) -> Value:
    return elementwise(kernel, f"math.fma %s, %s, %s : {left.kind}", (left, right, added), left.element)


def _factor(kernel: KernelWriter, number: float, value: Value) -> Value:
    return constant_like(kernel, float(np.float32(number)), value)


def _activated(kernel: KernelWriter, value: Value) -> Value:
    activation = kernel.gemm.problem.activation
    if activation is None:
        return value
    if activation == "relu":
        return _relu(kernel, value)
    argument = value
    if activation == "gelu":
        first, second = (_factor(kernel, number, value) for number in GELU)
        argument = binary(kernel, "mulf", value, _fma(kernel, binary(kernel, "mulf", value, value), second, first))
    negative = elementwise(kernel, f"arith.negf %s : {value.kind}", (argument,), value.element)
    power = elementwise(kernel, f"math.exp %s : {value.kind}", (negative,), value.element)
    return binary(kernel, "divf", value, binary(kernel, "addf", constant_like(kernel, 1.0, value), power))


def _relu(kernel: KernelWriter, value: Value) -> Value:
    zero = constant_like(kernel, 0 if value.element == "i32" else 0.0, value)
    order = "cmpi slt" if value.element == "i32" else "cmpf olt"
    below = elementwise(kernel, f"arith.{order}, %s, %s : {value.kind}", (value, zero), "i1")
    form = f"arith.select %s, %s, %s : {below.kind}, {value.kind}"
    return elementwise(kernel, form, (below, zero, value), value.element)


def _bias(kernel: KernelWriter, row: Value, column: Value) -> Callable[[int, int], Value | None]:
    """What gives the bias of a block in the type of the arithmetic; each number is loaded once."""
    unit, kind = kernel.gemm.dpas, kernel.gemm.problem.bias
    if kind is None:
        return lambda i, j: None
    if kind == "column":
        blocks = [_bias_of_columns(kernel, kernel.plus(column, j * unit.n)) for j in range(kernel.gemm.blocks[1])]
        return lambda i, j: blocks[j]
    lanes, tile = unit.subgroup_size, kernel.gemm.tile
    loaded = [_bias_of_rows(kernel, kernel.plus(row, start)) for start in range(0, tile.m, lanes)]
    rows: dict[int, Value] = {}

    def of_rows(i: int, j: int) -> Value:
        if i not in rows:
            first = i * unit.m
            rows[i] = _given_to_all(kernel, loaded[first // lanes], first % lanes, unit.m)
        return rows[i]

    return of_rows


def _bias_of_columns(kernel: KernelWriter, column: Value) -> Value:
    """The numbers of a block's columns: a lane has one column, and its number for all rows.

    They are read as a matrix of one row, which has the width and the pitch of C and so what a block message needs.
    """
    unit, element = kernel.gemm.dpas, in_memory(kernel)
    kind = f"!xegpu.tensor_desc<1x{unit.n}x{element}>"
    sizes = [kernel.constant(1), *(kernel.index(kernel.arguments[name]) for name in ("n", "ldc"))]
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
    described = kernel.once("bias", lambda: kernel.writer.value(form, (kernel.arguments["bias"], *sizes), kind))
    place = (described, kernel.constant(0), column)
    loaded = kernel.writer.value(f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<1x{element}>", place, element, 1)
    number = kernel.writer.value(f"vector.extract %s[0] : {element} from {loaded.kind}", (loaded,), element)
    number = as_computed(kernel, number)
    made = Value(number.element, unit.m)
    return kernel.writer.value(
        f"vector.broadcast %s : {number.kind} to {made.kind}", (number,), made.element, made.size
    )


def _bias_of_rows(kernel: KernelWriter, row: Value) -> Value:
    """The numbers of as many rows as there are lanes: lane l has that of row l. Rows outside of C are not read and give 0.

    A gather, because the m numbers may be fewer than a block message needs.
    """
    writer, element = kernel.writer, in_memory(kernel)
    lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
    place = kernel.op("addi", row, lane)
    inside = writer.value("arith.cmpi ult, %s, %s : index", (place, kernel.index(kernel.arguments["m"])), "i1")
    form = f"xegpu.load %s[%s], %s : i64, index, i1 -> {element}"
    loaded = writer.value(form, (kernel.arguments["bias"], place, inside), element)
    loaded = as_computed(kernel, loaded)
    zero = kernel.constant(0 if loaded.element == "i32" else 0.0, loaded.element)
    return writer.value(f"arith.select %s, %s, %s : {loaded.kind}", (inside, loaded, zero), loaded.element)


def _given_to_all(kernel: KernelWriter, loaded: Value, first: int, count: int) -> Value:
    """Some lanes' numbers as registers of every lane; shuffles from constant lanes are no more than operands' regions."""
    width = kernel.constant(kernel.gemm.dpas.subgroup_size, "i32")
    numbers: list[Value] = []
    for lane in range(first, first + count):
        number, valid = Value(loaded.element), Value("i1")
        operands = (loaded, kernel.constant(lane, "i32"), width)
        kernel.writer.values(f"gpu.shuffle idx %s, %s, %s : {loaded.kind}", operands, (number, valid))
        numbers.append(number)
    kind = Value(loaded.element, count).kind
    form = f"vector.from_elements {', '.join(['%s'] * count)} : {kind}"
    return kernel.writer.value(form, numbers, loaded.element, count)
