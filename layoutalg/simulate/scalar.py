"""Operations that every work-item does for itself: arith, and the vector operations that move elements.

Each is a numpy function of its operands. Integers are held in 64 bits and wrapped to the width of their type: in i32,
2147483647 + 1 is -2147483648. An i1 is a numpy bool between operations, and counts as 0 or -1 inside
them. Floats are computed in their own type, so f16 + f16 rounds to f16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from layoutalg.ir.dialects import vector
from layoutalg.simulate.machine import Array, Machine, fail, uniform
from layoutalg.simulate.numerics import element_dtype, signed_bits, wrap

__all__ = ["HANDLERS", "vector_shape"]

Handler = Callable[[Machine, Any, list[Array]], tuple[Array, ...]]


def vector_shape(kind: Attribute) -> tuple[int, ...]:
    """The axes that a value of this type has after those of the work-items.

    >>> from xdsl.dialects.builtin import f32
    >>> vector_shape(VectorType(f32, [8])), vector_shape(f32)
    ((8,), ())
    """
    return kind.get_shape() if isinstance(kind, VectorType) else ()


def _element(kind: Attribute) -> Attribute:
    return kind.element_type if isa(kind, VectorType[Attribute]) else kind


def _constant(machine: Machine, op: arith.ConstantOp, operands: list[Array]) -> tuple[Array, ...]:
    kind = op.result.type
    value, dtype = op.value, element_dtype(_element(kind))
    match value:
        case IntegerAttr() | FloatAttr():
            numbers: list[Any] = [value.value.data]
        case DenseIntOrFPElementsAttr():
            numbers = list(value.get_values())
        case _:
            fail(op, "a constant of this form is not simulated")
    shape = vector_shape(kind)
    held = np.array(numbers, dtype=np.float64 if dtype.kind in "fV" else np.int64).astype(dtype)
    if dtype.kind == "i":
        held = held.astype(np.int64)
    return (np.broadcast_to(held.reshape(shape if held.size > 1 else (1,) * len(shape)), (1, 1, 1, *shape)),)


def _number(value: Array) -> Array:
    """A value as signed integers: i1 is 0 or -1."""
    return -value.astype(np.int64) if value.dtype == np.bool_ else value


def _typed(value: Array, kind: Attribute) -> Array:
    """Integers wrapped to their type; i1 is kept as bool."""
    bits = signed_bits(kind)
    return (value & 1) != 0 if bits == 1 else wrap(value, bits)


def _integer(function: Callable[[Array, Array], Array]) -> Handler:
    def run(machine: Machine, op: Operation, operands: list[Array]) -> tuple[Array, ...]:
        left, right = map(_number, operands)
        return (_typed(function(left, right), _element(op.results[0].type)),)

    return run


def _shift(function: Callable[[Array, Array], Array], unsigned: bool = False) -> Handler:
    def run(machine: Machine, op: Operation, operands: list[Array]) -> tuple[Array, ...]:
        kind = _element(op.results[0].type)
        bits = signed_bits(kind)
        left, by = map(_number, operands)
        if ((by < 0) | (by >= bits)).any():
            fail(op, f"a shift of {bits} bits by {int(by[(by < 0) | (by >= bits)][0])}, which has no defined result")
        result = function(_to_unsigned(left, bits), by.astype(np.uint64)) if unsigned else function(left, by)
        return (_typed(result.astype(np.int64), kind),)

    return run


def _unsigned(function: Callable[[Array, Array], Array]) -> Handler:
    def run(machine: Machine, op: Operation, operands: list[Array]) -> tuple[Array, ...]:
        kind = _element(op.results[0].type)
        left, right = (_to_unsigned(_number(operand), signed_bits(kind)) for operand in operands)
        return (_typed(function(left, right).astype(np.int64), kind),)

    return run


def _to_unsigned(value: Array, bits: int) -> Array:
    return value.astype(np.uint64) if bits >= 64 else (value & ((1 << bits) - 1)).astype(np.uint64)


def _divide(function: Callable[[Array, Array], Array]) -> Handler:
    def run(machine: Machine, op: Operation, operands: list[Array]) -> tuple[Array, ...]:
        kind = _element(op.results[0].type)
        left, right = map(_number, operands)
        if (right == 0).any():
            fail(op, "division by zero")
        if ((right == -1) & (left == -(1 << (signed_bits(kind) - 1)))).any():
            fail(op, "the smallest integer divided by -1, which has no defined result")
        return (_typed(function(left, right), kind),)

    return run


def _toward_zero(left: Array, right: Array) -> Array:
    quotient = left // right
    return np.asarray(quotient + ((quotient < 0) & (quotient * right != left)))


def _float(function: Callable[[Array, Array], Array]) -> Handler:
    def run(machine: Machine, op: Operation, operands: list[Array]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return (function(operands[0], operands[1]),)

    return run


_COMPARE: tuple[Callable[[Array, Array], Array], ...] = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip


def _compare(machine: Machine, op: arith.CmpiOp, operands: list[Array]) -> tuple[Array, ...]:
    predicate = op.predicate.value.data
    left, right = map(_number, operands)
    if predicate >= 6:
        bits = signed_bits(_element(op.lhs.type))
        left, right = _to_unsigned(left, bits), _to_unsigned(right, bits)
    return (_COMPARE[predicate](left, right),)


def _select(machine: Machine, op: arith.SelectOp, operands: list[Array]) -> tuple[Array, ...]:
    condition, left, right = operands
    missing = max(left.ndim, right.ndim) - condition.ndim
    return (np.where(condition.reshape(condition.shape + (1,) * missing), left, right),)


def _convert(machine: Machine, op: Operation, operands: list[Array]) -> tuple[Array, ...]:
    """Between integer widths, between float widths, and between index and integers."""
    source, target = _element(op.operands[0].type), _element(op.results[0].type)
    if isa(target, IntegerType) or isinstance(target, IndexType):
        value = _number(operands[0])
        if isinstance(op, arith.ExtUIOp):
            value = _to_unsigned(value, signed_bits(source)).astype(np.int64)
        return (_typed(value, target),)
    with np.errstate(all="ignore"):
        return (_number(operands[0]).astype(element_dtype(target)),)


def _broadcast(machine: Machine, op: vector.BroadcastOp, operands: list[Array]) -> tuple[Array, ...]:
    value, shape = operands[0], vector_shape(op.results[0].type)
    inner = (1,) * (len(shape) - (value.ndim - 3)) + value.shape[3:]
    return (np.broadcast_to(value.reshape(*value.shape[:3], *inner), (*value.shape[:3], *shape)),)


def _position(op: vector.ExtractOp | vector.InsertOp, dynamic: list[Array]) -> tuple[int, ...]:
    remaining = iter(dynamic)
    numbers = (int(n) for n in op.static_position.get_values())
    found = tuple(uniform(op, next(remaining), "the position") if n == DYNAMIC_INDEX else n for n in numbers)
    whole = op.operands[0 if isinstance(op, vector.ExtractOp) else 1].type
    for number, extent in zip(found, vector_shape(whole), strict=False):
        if not 0 <= number < extent:
            fail(op, f"position {number} of {whole}: expected 0 to {extent - 1}")
    return found


def _extract(machine: Machine, op: vector.ExtractOp, operands: list[Array]) -> tuple[Array, ...]:
    return (operands[0][(slice(None),) * 3 + _position(op, operands[1:])],)


def _insert(machine: Machine, op: vector.InsertOp, operands: list[Array]) -> tuple[Array, ...]:
    value, into = operands[0], operands[1]
    items = np.broadcast_shapes(value.shape[:3], into.shape[:3])
    result = np.broadcast_to(into, items + into.shape[3:]).copy()
    result[(slice(None),) * 3 + _position(op, operands[2:])] = value
    return (result,)


HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _integer(np.add),
    arith.SubiOp: _integer(np.subtract),
    arith.MuliOp: _integer(np.multiply),
    arith.AndIOp: _integer(np.bitwise_and),
    arith.OrIOp: _integer(np.bitwise_or),
    arith.XOrIOp: _integer(np.bitwise_xor),
    arith.ShLIOp: _shift(np.left_shift),
    arith.ShRSIOp: _shift(np.right_shift),
    arith.ShRUIOp: _shift(np.right_shift, unsigned=True),
    arith.MaxSIOp: _integer(np.maximum),
    arith.MinSIOp: _integer(np.minimum),
    arith.MaxUIOp: _unsigned(np.maximum),
    arith.MinUIOp: _unsigned(np.minimum),
    arith.DivSIOp: _divide(_toward_zero),
    arith.RemSIOp: _divide(lambda left, right: np.asarray(left - right * _toward_zero(left, right))),
    arith.FloorDivSIOp: _divide(np.floor_divide),
    arith.CeilDivSIOp: _divide(lambda left, right: np.asarray(-(-left // right))),
    arith.AddfOp: _float(np.add),
    arith.SubfOp: _float(np.subtract),
    arith.MulfOp: _float(np.multiply),
    arith.DivfOp: _float(np.divide),
    arith.CmpiOp: _compare,
    arith.SelectOp: _select,
    arith.IndexCastOp: _convert,
    arith.ExtSIOp: _convert,
    arith.ExtUIOp: _convert,
    arith.TruncIOp: _convert,
    arith.ExtFOp: _convert,
    arith.TruncFOp: _convert,
    arith.SIToFPOp: _convert,
    vector.BroadcastOp: _broadcast,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
}
