"""The arith operations: each is a numpy function of its operands.

Integers are held in 64 bits and wrapped to the width of their type: in i32, 2147483647 + 1 is -2147483648. An i1 is a numpy
bool between operations, and counts as 0 or -1 inside them. Floats are computed in their own type, so f16 + f16 rounds to f16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.numerics import as_number, as_typed, as_unsigned, element_dtype, element_of, signed_bits

__all__: list[str] = []

Function = Callable[[Array, Array], Array]


@compiled_by(arith.ConstantOp)
def constant(op: arith.ConstantOp, compiling: Compiling) -> Step:
    """`arith.constant`: the value is made once."""
    kind = op.result.type
    value, dtype = op.value, element_dtype(element_of(kind))
    match value:
        case IntegerAttr() | FloatAttr():
            numbers: list[Any] = [value.value.data]
        case DenseIntOrFPElementsAttr():
            numbers = [next(value.iter_values())] if value.is_splat() else list(value.get_values())
        case _:
            fail(op, "a constant of this form is not simulated")
    shape = value_shape(kind)
    held = np.array(numbers, dtype=np.float64 if dtype.kind in "fV" else np.int64).astype(dtype)
    if dtype.kind == "i":
        held = held.astype(np.int64)
    made = np.broadcast_to(held.reshape(shape if held.size > 1 else (1,) * len(shape)), (1, 1, 1, *shape))
    compiling.is_same_for_all(op)
    compiling.costs(op, 1)
    return lambda run, values: (made,)


def _integer(function: Function, *classes: type[Operation]) -> None:
    @compiled_by(*classes)
    def compile_integer(op: Operation, compiling: Compiling) -> Step:
        kind = element_of(op.results[0].type)
        return lambda run, values: (as_typed(function(as_number(values[0]), as_number(values[1])), kind),)


def _unsigned(function: Function, *classes: type[Operation]) -> None:
    @compiled_by(*classes)
    def compile_unsigned(op: Operation, compiling: Compiling) -> Step:
        kind = element_of(op.results[0].type)
        bits = signed_bits(kind)

        def step(run: Run, values: list[Any]) -> tuple[Array]:
            left, right = (as_unsigned(as_number(value), bits) for value in values)
            return (as_typed(function(left, right).astype(np.int64), kind),)

        return step


def _shift(function: Function, *classes: type[Operation], unsigned: bool = False) -> None:
    @compiled_by(*classes)
    def compile_shift(op: Operation, compiling: Compiling) -> Step:
        kind = element_of(op.results[0].type)
        bits = signed_bits(kind)

        def step(run: Run, values: list[Any]) -> tuple[Array]:
            left, by = map(as_number, values)
            wrong = run.where((by < 0) | (by >= bits))
            if wrong.any():
                by_much = int(np.broadcast_to(by, wrong.shape)[wrong][0])
                fail(op, f"a shift of {bits} bits by {by_much}, which has no defined result", "run.undefined")
            by = by & 63
            result = function(as_unsigned(left, bits), by.astype(np.uint64)) if unsigned else function(left, by)
            return (as_typed(result.astype(np.int64), kind),)

        return step


def _divide(function: Function, *classes: type[Operation]) -> None:
    @compiled_by(*classes)
    def compile_divide(op: Operation, compiling: Compiling) -> Step:
        kind = element_of(op.results[0].type)
        least = -(1 << (signed_bits(kind) - 1))

        def step(run: Run, values: list[Any]) -> tuple[Array]:
            left, right = map(as_number, values)
            zero = right == 0
            if run.where(zero).any():
                fail(op, "division by zero", "run.undefined")
            too_large = (right == -1) & (left == least)
            if run.where(too_large).any():
                fail(op, "the smallest integer divided by -1, which has no defined result", "run.undefined")
            if run.active is not None:
                right = np.where(zero | too_large, 1, right)
            return (as_typed(function(left, right), kind),)

        return step


def _toward_zero(left: Array, right: Array) -> Array:
    quotient = left // right
    return np.asarray(quotient + ((quotient < 0) & (quotient * right != left)))


def _float(function: Function, *classes: type[Operation]) -> None:
    @compiled_by(*classes)
    def compile_float(op: Operation, compiling: Compiling) -> Step:
        def step(run: Run, values: list[Any]) -> tuple[Array]:
            with np.errstate(all="ignore"):
                return (function(values[0], values[1]),)

        return step


_COMPARE: tuple[Function, ...] = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip


@compiled_by(arith.CmpiOp)
def compare(op: arith.CmpiOp, compiling: Compiling) -> Step:
    """`arith.cmpi`; predicates from 6 on compare without sign."""
    predicate = op.predicate.value.data
    if not 0 <= predicate < len(_COMPARE):
        fail(op, f"predicate {predicate}: expected 0 to {len(_COMPARE) - 1}")
    function, bits = _COMPARE[predicate], signed_bits(element_of(op.lhs.type))
    if predicate < 6:
        return lambda run, values: (function(as_number(values[0]), as_number(values[1])),)
    return lambda run, values: (function(*(as_unsigned(as_number(value), bits) for value in values)),)


@compiled_by(arith.SelectOp)
def select(op: arith.SelectOp, compiling: Compiling) -> Step:
    """`arith.select`, by one condition or by a vector of them."""
    missing = len(value_shape(op.result.type)) - len(value_shape(op.cond.type))

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        condition: Array = values[0]
        left: Array = values[1]
        return (np.where(condition.reshape(condition.shape + (1,) * missing), left, values[2]),)

    return step


@compiled_by(
    arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp
)
def convert(op: Operation, compiling: Compiling) -> Step:
    """Between integer widths, between float widths, between index and integers, and from integers to floats."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if isa(target, IntegerType) or isinstance(target, IndexType):
        if isinstance(op, arith.ExtUIOp):
            bits = signed_bits(source)
            return lambda run, values: (as_typed(as_unsigned(as_number(values[0]), bits).astype(np.int64), target),)
        return lambda run, values: (as_typed(as_number(values[0]), target),)
    dtype = element_dtype(target)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value: Array = as_number(values[0])
        with np.errstate(all="ignore"):
            return (value.astype(dtype),)

    return step


_integer(np.add, arith.AddiOp)
_integer(np.subtract, arith.SubiOp)
_integer(np.multiply, arith.MuliOp)
_integer(np.bitwise_and, arith.AndIOp)
_integer(np.bitwise_or, arith.OrIOp)
_integer(np.bitwise_xor, arith.XOrIOp)
_integer(np.maximum, arith.MaxSIOp)
_integer(np.minimum, arith.MinSIOp)
_unsigned(np.maximum, arith.MaxUIOp)
_unsigned(np.minimum, arith.MinUIOp)
_shift(np.left_shift, arith.ShLIOp)
_shift(np.right_shift, arith.ShRSIOp)
_shift(np.right_shift, arith.ShRUIOp, unsigned=True)
_divide(_toward_zero, arith.DivSIOp)
_divide(lambda left, right: np.asarray(left - right * _toward_zero(left, right)), arith.RemSIOp)
_divide(np.floor_divide, arith.FloorDivSIOp)
_divide(lambda left, right: np.asarray(-(-left // right)), arith.CeilDivSIOp)
_float(np.add, arith.AddfOp)
_float(np.subtract, arith.SubfOp)
_float(np.multiply, arith.MulfOp)
_float(np.divide, arith.DivfOp)
