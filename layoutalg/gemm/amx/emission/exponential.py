"""exp of a vector in the arithmetic that every CPU has: LLVM would call libm once for each element.

    n = the integer nearest to x / ln 2        by adding 1.5 * 2^23 and taking it off again
    r = x - n ln 2                             in two steps, since ln 2 has more digits than f32: |r| <= 0.35
    exp(r) = 1 + r + r^2/2 + .. + r^7/5040     what is left out is less than 6e-9
    exp(x) = exp(r) * 2^(n-1) * 2              a power of two is an exponent: bits, shifted

By hand, for x = 1: n = 1, r = 1 - 0.693 = 0.307, exp(r) = 1.359, and twice that is 2.718.

It is off by less than a unit of the last place, and has the same bits wherever fma is rounded once. Below -86 the result is
that of -86, 4.5e-38, because activations add it to 1; from 88.73 on it is infinite; NaN stays NaN.

>>> from layoutalg.gemm.emission.function import FunctionWriter
>>> function = FunctionWriter((x := Value("f32", 16, "x"),))
>>> power = exponential(function, x)
>>> function.writer.text().count("math.fma")
10
"""

from __future__ import annotations

from math import factorial, log

import numpy as np

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.elementwise import binary, chosen, constant_like, convert, fma
from layoutalg.gemm.emission.function import FunctionWriter

__all__ = ["exponential"]

_LEAST, _LARGEST = -86.0, 89.0
_ROUNDING = 1.5 * 2**23
"""A number of f32 added to this one loses its fraction, and stands in the low bits as an integer."""
_TERMS = 7
_LN2 = (0.693359375, log(2) - 0.693359375)
"""ln 2 as a number of 10 bits, which an n of 8 bits multiplies exactly, and the rest."""


def exponential(function: FunctionWriter, value: Value) -> Value:
    """exp of every element.

    >>> exponential(FunctionWriter(), Value("f32", 16)).kind
    'vector<16xf32>'
    """

    def number(x: float) -> Value:
        return constant_like(function, float(np.float32(x)), value)

    for order, bound in (("olt", number(_LEAST)), ("ogt", number(_LARGEST))):
        value = chosen(function, f"cmpf {order}", (value, bound), bound, value)
    shifted = fma(function, value, number(1 / log(2)), number(_ROUNDING))
    whole = binary(function, "subf", shifted, number(_ROUNDING))
    rest = value
    for part in _LN2:
        rest = fma(function, whole, number(-part), rest)
    total = number(1 / factorial(_TERMS))
    for term in range(_TERMS - 1, -1, -1):
        total = fma(function, total, rest, number(1 / factorial(term)))
    bits = convert(function, "bitcast", shifted, "i32")
    biased = binary(function, "addi", bits, constant_like(function, 126, bits))
    power = convert(function, "bitcast", binary(function, "shli", biased, constant_like(function, 23, bits)), "f32")
    return binary(function, "mulf", binary(function, "mulf", total, power), number(2.0))
