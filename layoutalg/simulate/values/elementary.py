"""Elementary functions: computed in f64 and rounded once to their type.

A library of a device may be some units of the last place away (OpenCL allows exp 3 and powf 16 of them in f32), so kernels that
use these compare within such a bound. What is exact everywhere (absf, floor, sqrt, fma, copysign ...) is exact here.

>>> from layoutalg.simulate.values.elements import element
>>> unary("rsqrt", np.array([4.0], np.float32), element("f32")), unary("round", np.array([2.5, -0.4]), element("f64"))
(array([0.5], dtype=float32), array([ 3., -0.]))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.simulate.values.elements import Element
from layoutalg.simulate.values.floats import round_to

__all__ = ["BINARY", "UNARY", "binary", "sign_bits", "unary"]

Array = NDArray[Any]


def _round_away(value: Array) -> Array:
    """To the nearest whole number, halves away from zero; keeps the sign of 0."""
    whole = np.trunc(value)
    return np.asarray(np.copysign(whole + np.where(np.abs(value - whole) >= 0.5, np.sign(value), 0), value))


_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)

UNARY: Mapping[str, Callable[[Array], Array]] = {
    "absf": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
    "erf": lambda x: np.asarray(_erf(x), np.float64), "erfc": lambda x: np.asarray(_erfc(x), np.float64),
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor, "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "round": _round_away, "roundeven": np.rint,
    "rsqrt": lambda x: 1.0 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
"""The functions of one float, by their names in the math dialect."""

BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "fpowi": np.power,
    "powf": np.power,
    "remf": np.fmod,
}
"""The functions of two numbers, by their names in the math dialect (and `arith.remf`)."""


def unary(name: str, value: Array, kind: Element) -> Array:
    """One of UNARY, rounded to the type.

    >>> from layoutalg.simulate.values.elements import element
    >>> unary("erf", np.array([0.5], np.float16), element("f16"))
    array([0.5205], dtype=float16)
    """
    if name == "absf":
        return sign_bits(value, kind, lambda bits, sign: bits & ~sign)
    with np.errstate(all="ignore"):
        return round_to(np.asarray(UNARY[name](value.astype(np.float64))), kind)


def binary(name: str, left: Array, right: Array, kind: Element) -> Array:
    """One of BINARY, rounded to the type; the exponent of `fpowi` is an integer.

    >>> from layoutalg.simulate.values.elements import element
    >>> binary("powf", np.array([2.0]), np.array([-1.0]), element("f64"))
    array([0.5])
    """
    with np.errstate(all="ignore"):
        return round_to(np.asarray(BINARY[name](left.astype(np.float64), right.astype(np.float64))), kind)


def sign_bits(value: Array, kind: Element, change: Callable[[Array, Any], Array]) -> Array:
    """A float with its sign bit changed, NaN too: `change` is given the bits and the bit of the sign.

    >>> from layoutalg.simulate.values.elements import element
    >>> sign_bits(np.array([-0.0, np.nan]), element("f64"), lambda bits, sign: bits ^ sign)
    array([ 0., nan])
    """
    bits = np.ascontiguousarray(value).view(kind.unsigned_dtype)
    sign = kind.unsigned_dtype.type(1 << (kind.dtype.itemsize * 8 - 1))
    changed = change(bits, sign)
    if "UZ" in kind.name:
        # These types have no -0: its bits are their NaN, and the sign of 0 and of NaN stays.
        changed = np.where((bits == 0) | (bits == sign), bits, changed)
    return changed.view(kind.dtype).reshape(value.shape)
