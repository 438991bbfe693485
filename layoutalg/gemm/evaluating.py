"""Expressions behind the sums as numbers: bit for bit what a kernel computes in f32, and in f64 what the definition says.

By hand: relu(3 * 0.5 - 2) is 0, and fma rounds once, so 3 times the f32 next to 1/3, less 1, is not 0.

>>> from layoutalg.gemm.expressions import planned
>>> float(evaluated(planned("relu(acc * scale + bias)"), {"acc": 3.0, "column_scale": 0.5, "column_bias": -2.0}, np.float32))
0.0
>>> float(evaluated(planned("acc * scale - 1"), {"acc": 1 / 3, "column_scale": 3.0}, np.float32))
2.9802322387695312e-08

exp and tanh are computed in f64 and rounded once, which no device is far from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm.expressions import Node

__all__ = ["evaluated", "exp_rounded_once", "fused"]

Array = NDArray[Any]


def evaluated(node: Node, values: Mapping[str, Any], kind: Any, exp: Callable[[Any], Any] | None = None) -> Any:
    """The expression of arrays or numbers by name; `kind` is numpy's f32, for the kernel's arithmetic, or f64.

    `exp` is that of the device, in f32.
    """
    known: dict[Node, Any] = {}

    def value(one: Node) -> Any:
        if one not in known:
            if one.kind == "number":
                known[one] = kind(one.value)
            elif one.kind == "name":
                known[one] = np.asarray(values[one.name]).astype(kind)
            else:
                known[one] = _computed(one.kind, [value(part) for part in one.of], kind, exp)
        return known[one]

    with np.errstate(all="ignore"):
        return value(node)


def _computed(step: str, of: list[Any], kind: Any, exp: Callable[[Any], Any] | None) -> Any:
    """One step of arrays."""
    exact = kind is np.float64
    numpys: Any = np
    match step:
        case "neg":
            return -of[0]
        case "add":
            return of[0] + of[1]
        case "sub":
            return of[0] - of[1]
        case "mul":
            return of[0] * of[1]
        case "div":
            return of[0] / of[1]
        case "fma":
            return of[0] * of[1] + of[2] if exact else fused(of[0], of[1], of[2])
        case "exp":
            return numpys.exp(of[0]) if exact else (exp or exp_rounded_once)(of[0])
        case "tanh":
            return numpys.tanh(of[0]) if exact else _tanh_rounded_once(of[0])
        case "min":
            return numpys.where(of[0] > of[1], of[1], of[0])
        case _:
            return numpys.where(of[0] < of[1], of[1], of[0])


def exp_rounded_once(x: Array) -> Array:
    """exp of f32, computed in f64 and rounded once: what no device is far from."""
    return np.exp(x.astype(np.float64)).astype(np.float32)


def _tanh_rounded_once(x: Array) -> Array:
    return np.tanh(x.astype(np.float64)).astype(np.float32)


def fused(factor: Any, x: Array, y: Any) -> Array:
    """f32(factor * x + y), rounded once. The product of two numbers of 24 bits is exact in f64.

    The sum there is rounded to odd where it lost something (Boldo and Melquiond), so that f32 sees on which side it was.

    >>> fused(3, np.array([1 / 3], np.float32), -1)
    array([2.9802322e-08], dtype=float32)
    """
    product = np.asarray(factor).astype(np.float32).astype(np.float64) * x.astype(np.float64)
    other = np.asarray(y).astype(np.float64)
    total = product + other
    part = total - product
    lost = (product - (total - part)) + (other - part)
    bits = total.view(np.int64)
    inward = (lost < 0) == (total > 0)
    inexact = (lost != 0) & np.isfinite(total) & np.isfinite(lost)
    bits = np.where(inexact, (bits - inward) | 1, bits)
    return bits.view(np.float64).astype(np.float32)
