"""The math dialect: elementary functions of floats, and counts of bits.

Exact where every device is exact; the others are computed in f64 and rounded once (see `values.elementary`), while OpenCL
allows a device some units of the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.ir import Operation

from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Run
from layoutalg.simulate.operations.declared import element_of, pointwise, undefined
from layoutalg.simulate.values import elementary, floats, integers
from layoutalg.simulate.values.elements import Element, as_signed, settle

__all__: list[str] = []


@compiled_by(*(f"math.{name}" for name in elementary.UNARY))
def unary(op: Operation, compiling: Compiling) -> Step:
    """A function of one float."""
    name, kind = op.name.removeprefix("math."), element_of(op.results[0])
    return pointwise(lambda value: elementary.unary(name, value, kind))


@compiled_by("math.atan2", "math.powf", "math.fpowi")
def binary(op: Operation, compiling: Compiling) -> Step:
    """A function of two numbers."""
    name, kind = op.name.removeprefix("math."), element_of(op.results[0])
    return pointwise(lambda left, right: elementary.binary(name, left, right, kind))


@compiled_by("math.copysign")
def copysign(op: Operation, compiling: Compiling) -> Step:
    """`math.copysign`: the first float with the sign bit of the second."""
    kind = element_of(op.results[0])

    def compute(value: Array, other: Array) -> Array:
        value, other = np.broadcast_arrays(value, other)
        flipped = elementary.sign_bits(value, kind, lambda bits, sign: bits ^ sign)
        return np.where(np.signbit(value) == np.signbit(other), value, flipped)

    return pointwise(compute)


@compiled_by("math.sincos")
def sincos(op: Operation, compiling: Compiling) -> Step:
    """`math.sincos`: both functions of one float."""
    kind = element_of(op.results[0])
    return lambda run, values: tuple(elementary.unary(name, values[0], kind) for name in ("sin", "cos"))


@compiled_by("math.fma", "vector.fma")
def fma(op: Operation, compiling: Compiling) -> Step:
    """a * b + c, rounded once; of integers (which `vector.fma` may have) modulo their width."""
    kind = element_of(op.results[0])
    if not kind.is_float:
        return pointwise(lambda a, b, c: settle(as_signed(a) * as_signed(b) + as_signed(c), kind))
    return pointwise(lambda a, b, c: floats.fused(a, b, c, kind))


@compiled_by("math.clampf")
def clamp(op: Operation, compiling: Compiling) -> Step:
    """`math.clampf value to [low, high]`: the smaller of high and the larger of value and low."""
    return pointwise(lambda value, low, high: floats.extreme("minnum", floats.extreme("maxnum", value, low), high))


_COUNTS: dict[str, Callable[[Array, Element], Array]] = {
    "math.ctpop": integers.count_ones,
    "math.ctlz": integers.count_leading_zeros,
    "math.cttz": integers.count_trailing_zeros,
}


@compiled_by(*_COUNTS)
def count(op: Operation, compiling: Compiling) -> Step:
    """How many bits are set, or clear before the first one."""
    kind, function = element_of(op.results[0]), _COUNTS[op.name]
    return pointwise(lambda value: function(value, kind))


@compiled_by("math.absi")
def absolute(op: Operation, compiling: Compiling) -> Step:
    """`math.absi`: the smallest integer stays as it is."""
    kind = element_of(op.results[0])
    return pointwise(lambda value: settle(np.abs(as_signed(value)), kind))


@compiled_by("math.ipowi")
def power(op: Operation, compiling: Compiling) -> Step:
    """`math.ipowi`: powers that wrap; 0 to a negative power has no defined result (0 here)."""
    kind = element_of(op.results[0])

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        bad = (as_signed(values[0]) == 0) & (as_signed(values[1]) < 0)
        undefined(run, op, np.asarray(bad), "0 to a negative power has no defined result")
        return (integers.power(values[0], values[1], kind),)

    return step


_CLASSES: dict[str, Callable[[Array], Array]] = {
    "math.isfinite": np.isfinite,
    "math.isinf": np.isinf,
    "math.isnan": floats.is_nan,
}


@compiled_by(*_CLASSES)
def classify(op: Operation, compiling: Compiling) -> Step:
    """Whether a float is finite, infinite, not a number."""
    return pointwise(_CLASSES[op.name])


@compiled_by("math.isnormal")
def is_normal(op: Operation, compiling: Compiling) -> Step:
    """Whether a float is finite, not 0 and not a denormal."""
    kind = element_of(op.operands[0])
    smallest = float(cast("Any", ml_dtypes.finfo(kind.dtype)).smallest_normal)
    return pointwise(lambda value: np.isfinite(value) & (np.abs(value.astype(np.float64)) >= smallest))
