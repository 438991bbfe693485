"""Floats: rounding once to any type, comparisons and extremes with their rules for NaN and -0, and casts.

numpy adds two f16 by way of f32, which has enough bits for the second rounding to change nothing. Conversions are not as kind:
a double that is rounded to f32 and then to bf16 may end one step away. So `round_to` goes through f32 with the last bit
made odd where something was lost, which keeps the second rounding right.

>>> from layoutalg.simulate.values.elements import element
>>> near = np.array([1 + 2**-8 + 2**-30])                         # just above the middle of 1 and 1 + 2^-7
>>> float(near.astype(np.float32).astype(element("bf16").dtype)[0]), float(round_to(near, element("bf16"))[0])
(1.0, 1.0078125)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.simulate.values.elements import Element, as_signed, as_unsigned, settle

__all__ = [
    "COMPARISONS",
    "ROUNDINGS",
    "compare",
    "extreme",
    "from_integer",
    "fused",
    "is_nan",
    "quiet",
    "round_tf32",
    "round_to",
    "round_toward",
    "to_integer",
]

Array = NDArray[Any]

ROUNDINGS = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
"""The rounding modes of arith, in the order of their numbers."""


def is_nan(value: Array) -> Array:
    """Where a float is not a number."""
    return np.asarray(value != value)


def _odd(value: Array) -> Array:
    """f64 to f32 toward zero, with the last bit set where that lost something."""
    near = value.astype(np.float32)
    wide = near.astype(np.float64)
    bits = near.view(np.int32)
    over = np.abs(wide) > np.abs(value)
    inexact = (wide != value) & ~is_nan(value)
    return np.where(inexact, (bits - over.astype(np.int32)) | 1, bits).astype(np.int32).view(np.float32)


def round_tf32(value: Array) -> Array:
    """f32 with 10 bits after the point, to the nearest, ties to even.

    >>> round_tf32(np.array([1 + 2**-11, 1 + 3 * 2**-11], np.float32)).tolist()
    [1.0, 1.001953125]
    """
    bits = value.astype(np.float32, copy=False).view(np.uint32)
    rounded = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(value), rounded, bits).astype(np.uint32).view(np.float32)


def round_to(value: Array, kind: Element) -> Array:
    """A float in another float type, rounded once, to the nearest, ties to even.

    >>> from layoutalg.simulate.values.elements import element
    >>> round_to(np.array([2049.0, 1e6]), element("f16")).tolist()
    [2048.0, inf]
    """
    with np.errstate(all="ignore"):
        if kind.name == "tf32":
            return round_tf32(_odd(value) if value.dtype == np.float64 else value.astype(np.float32))
        if value.dtype == np.float64 and kind.dtype.itemsize < 4 and kind.name != "f16":
            return _odd(value).astype(kind.dtype)
        if value.dtype.kind != "f" and kind.dtype.kind != "f" and value.dtype != kind.dtype:
            return value.astype(np.float32).astype(kind.dtype)
        if value.dtype.kind != "f" and kind.name == "f64":
            return value.astype(np.float32).astype(np.float64)
        return value.astype(kind.dtype, copy=False)


def round_toward(value: Array, kind: Element, mode: str) -> Array:
    """A float in a narrower type, rounded as `mode` says (one of ROUNDINGS).

    >>> from layoutalg.simulate.values.elements import element
    >>> [float(round_toward(np.array([-2049.0]), element("f16"), mode)[0]) for mode in ROUNDINGS]
    [-2048.0, -2050.0, -2048.0, -2048.0, -2050.0]
    """
    near = round_to(value, kind)
    if mode == "to_nearest_even":
        return near
    with np.errstate(all="ignore"):
        exact, held = value.astype(np.float64), near.astype(np.float64)
        magnitude, taken = np.abs(exact), np.abs(held)
        inward, outward = _step(near, -1), _step(near, 1)
        if mode == "to_nearest_away":
            tie = (outward.astype(np.float64) + held) / 2 == exact
            return np.where(tie & np.isfinite(held), outward, near)
        grows = {"downward": np.signbit(exact), "upward": ~np.signbit(exact)}.get(mode, np.zeros(exact.shape, bool))
        result = np.where(~grows & (taken > magnitude), inward, near)
        return np.where(grows & (taken < magnitude), outward, result).astype(kind.dtype)


def _step(value: Array, by: int) -> Array:
    """The next float away from zero (by 1) or toward it (by -1); bits of the same sign are in order."""
    bits = value.view(f"i{value.dtype.itemsize}")
    return (bits + bits.dtype.type(by)).view(value.dtype)


def quiet(function: Callable[..., Array], *operands: Array) -> Array:
    """A numpy function with IEEE's results and without numpy's warnings about them."""
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands))


def fused(a: Array, b: Array, c: Array, kind: Element) -> Array:
    """a * b + c, rounded once.

    The product of two floats of at most 24 bits is exact in f64; the sum there is made odd where it lost something, so that the
    rounding to the type is the only one. In f64 the product and its error, and the sum and its error, are added exactly.

    >>> from layoutalg.simulate.values.elements import element
    >>> x = np.array([1 + 2**-12], np.float32)
    >>> float(fused(x, x, np.array([-1 - 2**-11], np.float32), element("f32"))[0]) == 2**-24
    True
    """
    with np.errstate(all="ignore"):
        x, y, z = (np.asarray(part).astype(np.float64) for part in (a, b, c))
        if kind.name == "f64":
            return _fused_double(x, y, z)
        product = x * y
        total = product + z
        return _round_odd_sum(total, product, z, kind)


def _sum_error(total: Array, x: Array, y: Array) -> Array:
    """What the sum of two doubles lost, exactly (Knuth)."""
    other = total - x
    return np.asarray((x - (total - other)) + (y - other))


def _made_odd(total: Array, error: Array) -> Array:
    """A double with its last bit odd where something was lost, on the side of what was lost."""
    bits = total.view(np.int64)
    lost = (error != 0) & np.isfinite(total) & np.isfinite(error)
    inward = lost & ((error < 0) == (total > 0)) & (total != 0)
    return np.where(lost, (bits - inward.astype(np.int64)) | 1, bits).astype(np.int64).view(np.float64)


def _round_odd_sum(total: Array, x: Array, y: Array, kind: Element) -> Array:
    odd = _made_odd(np.asarray(total), _sum_error(total, x, y))
    if kind.name == "f32":
        return np.asarray(odd.astype(np.float32))
    return round_to(odd, kind)


_SPLIT = 2.0**27 + 1
_LARGE, _SMALL = 2.0**960, 2.0**-900


def _fused_double(x: Array, y: Array, z: Array) -> Array:
    """Doubles, after Boldo and Melquiond: the product and its error, then sums with what they lose, the last one odd.

    Where a part could leave the range of doubles the fractions of Python decide.
    """
    x, y, z = np.broadcast_arrays(x, y, z)
    high = x * y
    low = _product_error(high, x, y)
    inner = z + low
    outer = high + inner
    lost, rest = _sum_error(inner, z, low), _sum_error(outer, high, inner)
    tail = lost + rest
    result = outer + _made_odd(np.asarray(tail), _sum_error(tail, lost, rest))
    sizes = [np.abs(part) for part in (x, y, z, high)]
    usual = np.logical_and.reduce([(size == 0) | ((size < _LARGE) & (size > _SMALL)) for size in sizes])
    usual &= (high != 0) | (x == 0) | (y == 0)
    result = np.where(usual, np.where(inner == 0, high + z, result), high + z)
    finite = np.isfinite(x) & np.isfinite(y)
    result = np.where(finite & np.isinf(z), z, result)
    rare = ~usual & finite & np.isfinite(z)
    if rare.any():
        result[rare] = np.asarray(_exactly(x[rare], y[rare], z[rare]), np.float64)
    return result


def _product_error(product: Array, x: Array, y: Array) -> Array:
    """What the product of two doubles lost, exactly (Dekker, with Veltkamp's halves)."""
    (a, b), (c, d) = _halves(x), _halves(y)
    return np.asarray(b * d - (((product - a * c) - b * c) - a * d))


def _halves(value: Array) -> tuple[Array, Array]:
    scaled = value * _SPLIT
    high = scaled - (scaled - value)
    return high, value - high


def _fused_fraction(x: float, y: float, z: float) -> float:
    total = Fraction(x) * Fraction(y) + Fraction(z)
    if not total:
        return x * y + z
    try:
        return float(total)
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")


_exactly = np.frompyfunc(_fused_fraction, 3, 1)


COMPARISONS = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
               "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")  # fmt: skip
"""The predicates of arith.cmpf, in the order of their numbers."""

_ORDERED: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal,
}  # fmt: skip


def compare(predicate: str, left: Array, right: Array) -> Array:
    """A comparison of floats; `o..` is false and `u..` true where one of them is NaN.

    >>> one, nan = np.array([1.0]), np.array([np.nan])
    >>> [bool(compare(name, one, nan)[0]) for name in ("oeq", "ueq", "one", "une", "ord", "uno", "true")]
    [False, True, False, True, False, True, True]
    """
    with np.errstate(invalid="ignore"):
        shape = np.broadcast_shapes(left.shape, right.shape)
        if predicate in ("true", "false"):
            return np.full(shape, predicate == "true")
        unordered = is_nan(left) | is_nan(right)
        if predicate in ("ord", "uno"):
            return np.asarray(unordered if predicate == "uno" else ~unordered)
        test = predicate[1:]
        found = (left != right) & ~unordered if test == "ne" else _ORDERED[test](left, right)
        return np.asarray(found | unordered if predicate[0] == "u" else found & ~unordered)


def extreme(name: str, left: Array, right: Array) -> Array:
    """The larger or smaller float: `maximum` and `minimum` give NaN where one is, `maxnum` and `minnum` the other one.

    -0 is smaller than +0 (which `maxnum` and `minnum` leave open).

    >>> zero, nan = np.array([-0.0, np.nan]), np.array([0.0, 1.0])
    >>> extreme("maximum", zero, nan), extreme("minnum", zero, nan)
    (array([ 0., nan]), array([-0.,  1.]))
    """
    with np.errstate(invalid="ignore"):
        largest = name.startswith("max")
        first = left > right if largest else left < right
        zeros = (left == right) & (np.signbit(right) if largest else np.signbit(left))
        taken = np.where(first | zeros, left, right)
        if name.endswith("imum"):
            taken = np.where(is_nan(right), right, taken)
            return np.where(is_nan(left), left, taken)
        taken = np.where(is_nan(right), left, taken)
        return np.where(is_nan(left), right, taken)


def from_integer(value: Array, source: Element, kind: Element, signed: bool) -> Array:
    """An integer as a float, rounded once, to the nearest, ties to even.

    >>> from layoutalg.simulate.values.elements import element
    >>> from_integer(np.array([-1], np.int8), element("i8"), element("f32"), signed=False)
    array([255.], dtype=float32)
    """
    number = as_signed(value) if signed else as_unsigned(value, source)
    with np.errstate(all="ignore"):
        if kind.name in ("f32", "f64"):
            return number.astype(kind.dtype)
        if source.bits <= 53:
            return round_to(number.astype(np.float64), kind)
        wide = number.astype(np.float64)
        # What the double lost, exactly: both are integers below 2^64, the difference is below 2^11.
        back = np.where(np.abs(wide) < 2.0**63, wide, 0).astype(np.int64).astype(number.dtype)
        lost = np.where(np.abs(wide) < 2.0**63, (number - back).astype(np.int64), np.where(wide == 2.0**64, -1, 0))
        return round_to(_made_odd(wide, lost.astype(np.float64)), kind)


def to_integer(value: Array, kind: Element, signed: bool) -> tuple[Array, Array]:
    """A float as an integer, toward zero, and where that has no defined result (NaN, too large); 0 there.

    >>> from layoutalg.simulate.values.elements import element
    >>> to_integer(np.array([-1.5, 300, np.nan]), element("i8"), signed=True)
    (array([-1,  0,  0], dtype=int8), array([False,  True,  True]))
    """
    with np.errstate(all="ignore"):
        whole = np.trunc(value.astype(np.float64))
        low, high = (-(2.0 ** (kind.bits - 1)), 2.0 ** (kind.bits - 1)) if signed else (0.0, 2.0**kind.bits)
        bad = ~((whole >= low) & (whole < high))
        kept = np.where(bad, 0.0, whole)
        number = kept.astype(np.int64) if signed else kept.astype(np.uint64)
        return settle(number, kind), np.asarray(bad)
