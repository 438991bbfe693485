"""Integers of any width up to 64 bits: sums with their carry, products with their high half, and quotients.

>>> i8 = element("i8")
>>> add_carry(np.array([-1], np.int8), np.array([2], np.int8), i8)
(array([1], dtype=int8), array([ True]))
>>> [part.tolist() for part in multiply_unsigned(np.array([-1], np.int8), np.array([-1], np.int8), i8)]
[[1], [-2]]

255 + 2 is 257, which leaves 1 and a carry; 255 * 255 is 0xfe01. The law: low + high * 2^bits is the exact result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.simulate.values.elements import Element, as_signed, as_unsigned, element, settle

__all__ = [
    "add_carry",
    "count_leading_zeros",
    "count_ones",
    "count_trailing_zeros",
    "divide_to_zero",
    "multiply_signed",
    "multiply_unsigned",
    "power",
    "signed_overflow",
    "subtract_borrow",
    "unsigned_overflow",
]

Array = NDArray[Any]

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def add_carry(left: Array, right: Array, kind: Element) -> tuple[Array, Array]:
    """The sum, and whether it leaves the unsigned range.

    >>> add_carry(np.array([100], np.int8), np.array([100], np.int8), element("i8"))
    (array([-56], dtype=int8), array([False]))
    """
    x, y = as_unsigned(left, kind), as_unsigned(right, kind)
    total = x + y
    carry = total < x if kind.bits == 64 else (total >> np.uint64(kind.bits)) != 0
    return settle(total, kind), np.asarray(carry)


def subtract_borrow(left: Array, right: Array, kind: Element) -> tuple[Array, Array]:
    """The difference, and whether it is below zero without a sign."""
    x, y = as_unsigned(left, kind), as_unsigned(right, kind)
    return settle(x - y, kind), np.asarray(x < y)


def _wide_product(x: Array, y: Array) -> tuple[Array, Array]:
    """Low and high 64 bits of a product of unsigned numbers, by halves."""
    x0, x1, y0, y1 = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    first = x0 * y0
    middle = x1 * y0 + (first >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    return (other << _HALF) | (first & _LOW), x1 * y1 + (middle >> _HALF) + (other >> _HALF)


def multiply_unsigned(left: Array, right: Array, kind: Element) -> tuple[Array, Array]:
    """Low and high half of the product without signs."""
    low, high = _wide_product(as_unsigned(left, kind), as_unsigned(right, kind))
    return settle(low, kind), settle(_high(low, high, kind), kind)


def multiply_signed(left: Array, right: Array, kind: Element) -> tuple[Array, Array]:
    """Low and high half of the product with signs.

    >>> [part.item() for part in multiply_signed(np.int8(-128), np.int8(2), element("i8"))]
    [0, -1]
    """
    x, y = as_signed(np.asarray(left)), as_signed(np.asarray(right))
    low, high = _wide_product(x.astype(np.uint64), y.astype(np.uint64))
    # A negative number is 2^64 too large without its sign.
    high = high - np.where(x < 0, y, 0).astype(np.uint64) - np.where(y < 0, x, 0).astype(np.uint64)
    return settle(low, kind), settle(_high(low, high, kind), kind)


def _high(low: Array, high: Array, kind: Element) -> Array:
    if kind.bits == 64:
        return high
    return (low >> np.uint64(kind.bits)) | (high << np.uint64(64 - kind.bits))


def signed_overflow(name: str, left: Array, right: Array, result: Array, kind: Element) -> Array:
    """Where a sum, difference or product of signed numbers (`add`, `sub`, `mul`) is not the one that the bits keep.

    >>> signed_overflow("add", np.array([127]), np.array([1]), np.array([-128]), element("i8"))
    array([ True])
    """
    x, y, kept = as_signed(left), as_signed(right), as_signed(result)
    if name == "mul":
        low, high = multiply_signed(x, y, element("i64"))
        return np.asarray((low != kept) | (high != (kept >> np.int64(63))))
    if kind.bits < 64:
        return np.asarray((x - y if name == "sub" else x + y) != kept)
    return np.asarray(((x < 0) != (y < 0) if name == "sub" else (x < 0) == (y < 0)) & ((kept < 0) != (x < 0)))


def unsigned_overflow(name: str, left: Array, right: Array, kind: Element) -> Array:
    """Where a sum, difference or product leaves the unsigned range.

    >>> unsigned_overflow("sub", np.array([1]), np.array([2]), element("i8"))
    array([ True])
    """
    if name == "add":
        return add_carry(left, right, kind)[1]
    if name == "sub":
        return subtract_borrow(left, right, kind)[1]
    return np.asarray(as_signed(multiply_unsigned(left, right, kind)[1]) != 0)


def divide_to_zero(left: Array, right: Array) -> Array:
    """Signed quotients without what is after the point; the divisor is not 0.

    >>> divide_to_zero(np.array([-7, 7, -6]), np.array([2, -2, 2]))
    array([-3, -3, -3])
    """
    left, right = np.asarray(left, np.int64), np.asarray(right, np.int64)
    quotient = left // right
    return np.asarray(quotient + ((quotient < 0) & (quotient * right != left)))


def count_ones(value: Array, kind: Element) -> Array:
    """How many bits are set.

    >>> count_ones(np.array([-1, 5], np.int8), element("i8"))
    array([8, 2], dtype=int8)
    """
    return settle(np.bitwise_count(as_unsigned(value, kind)).astype(np.int64), kind)


def count_leading_zeros(value: Array, kind: Element) -> Array:
    """How many bits above the highest set one; the width where there is none.

    >>> count_leading_zeros(np.array([1, 0], np.int8), element("i8"))
    array([7, 8], dtype=int8)
    """
    x = as_unsigned(value, kind)
    for shift in (1, 2, 4, 8, 16, 32):
        x = x | (x >> np.uint64(shift))
    return settle(kind.bits - np.bitwise_count(x).astype(np.int64), kind)


def count_trailing_zeros(value: Array, kind: Element) -> Array:
    """How many bits below the lowest set one; the width where there is none.

    >>> count_trailing_zeros(np.array([8, 0], np.int8), element("i8"))
    array([3, 8], dtype=int8)
    """
    x = as_unsigned(value, kind)
    below = np.bitwise_count(~x & (x - np.uint64(1))).astype(np.int64)
    return settle(np.minimum(below, kind.bits), kind)


def power(base: Array, exponent: Array, kind: Element) -> Array:
    """Integer powers that wrap, by squaring; for a negative exponent the quotient of 1 and the power, toward zero.

    >>> power(np.array([3, -1, 2]), np.array([4, -3, -1]), element("i32"))
    array([81, -1,  0], dtype=int32)
    """
    x, n = as_signed(base), as_signed(exponent)
    result, square, left = np.ones(np.broadcast_shapes(x.shape, n.shape), np.int64), x, np.abs(n)
    with np.errstate(over="ignore"):
        while (left > 0).any():
            result = np.where(left & 1, result * square, result)
            square, left = square * square, left >> 1
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(n & 1, -1, 1), 0))
    return settle(np.where(n < 0, inverse, result), kind)
