"""Reductions, in the order in which LLVM's lowering accumulates: one element after the other.

    vector.reduction <add>, %v, %acc    is    ((acc + v[0]) + v[1]) + ...

and a reduction of several dimensions takes their elements in row-major order, the accumulator first. The order
matters for floats:

>>> from layoutalg.simulate.values.elements import element
>>> f32 = element("f32")
>>> [reduce("add", np.array(order, np.float32), f32).item() for order in ([2.0**24, 1, 1], [1, 1, 2.0**24])]
[16777216.0, 16777218.0]

Work-items that reduce together (`tree`) add neighbours first, then pairs of pairs, as LLVM's lowering to shuffles by
xor 1, 2, 4 ... does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.simulate.values.elements import Element, as_signed, as_unsigned, settle
from layoutalg.simulate.values.floats import extreme, quiet

__all__ = ["KINDS", "combine", "neutral", "reduce", "tree"]

Array = NDArray[Any]


def _unsigned(name: str) -> Callable[[Array, Array, Element], Array]:
    def run(left: Array, right: Array, kind: Element) -> Array:
        x, y = as_unsigned(left, kind), as_unsigned(right, kind)
        return np.where((x > y) == (name == "max"), left, right)

    return run


def _integers(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Element], Array]:
    def run(left: Array, right: Array, kind: Element) -> Array:
        with np.errstate(over="ignore"):
            return settle(function(as_signed(left), as_signed(right)), kind)

    return run


def _arithmetic(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Element], Array]:
    def run(left: Array, right: Array, kind: Element) -> Array:
        if not kind.is_float:
            return _integers(function)(left, right, kind)
        return quiet(function, left, right)

    return run


def _extreme(name: str) -> Callable[[Array, Array, Element], Array]:
    return lambda left, right, kind: extreme(name, left, right)


KINDS: Mapping[str, Callable[[Array, Array, Element], Array]] = {
    "add": _arithmetic(np.add),
    "mul": _arithmetic(np.multiply),
    "minui": _unsigned("min"),
    "maxui": _unsigned("max"),
    "minsi": _integers(np.minimum),
    "maxsi": _integers(np.maximum),
    "minimumf": _extreme("minimum"),
    "maximumf": _extreme("maximum"),
    "minnumf": _extreme("minnum"),
    "maxnumf": _extreme("maxnum"),
    "and": _integers(np.bitwise_and),
    "or": _integers(np.bitwise_or),
    "xor": _integers(np.bitwise_xor),
}
"""How two elements become one, by LLVM's names of combining kinds."""


def combine(name: str, left: Array, right: Array, kind: Element) -> Array:
    """Two values combined element by element."""
    return KINDS[name](left, right, kind)


def neutral(name: str, kind: Element) -> Array | None:
    """What a reduction without an accumulator begins with, where that is seen: 0 for a sum of floats, 1 for a product.

    >>> from layoutalg.simulate.values.elements import element
    >>> neutral("add", element("f32")), neutral("maxsi", element("i32"))
    (array(0., dtype=float32), None)
    """
    if not kind.is_float or name not in ("add", "mul"):
        return None
    return np.array(float(name == "mul")).astype(kind.dtype)


def reduce(name: str, value: Array, kind: Element, start: Array | None = None) -> Array:
    """The last axis of a value, combined one element after the other; `start` comes first.

    >>> from layoutalg.simulate.values.elements import element
    >>> reduce("maxsi", np.array([[3, 5], [-2, -7]]), element("i32"))
    array([ 5, -2], dtype=int32)
    """
    count = value.shape[-1]
    total = start
    for position in range(count):
        part = value[..., position]
        total = part if total is None else combine(name, total, part, kind)
    if total is None:
        raise ValueError("a reduction of no elements")
    return np.asarray(total).astype(kind.dtype, copy=False)


def tree(name: str, value: Array, axis: int, size: int, stride: int, kind: Element) -> Array:
    """Clusters of `size` entries along an axis (every `stride`th of them), each combined; every entry holds its result.

    The entries are those with the same remainder of their number by `stride` and the same quotient by `size * stride`.
    Sizes are powers of two.

    >>> from layoutalg.simulate.values.elements import element
    >>> tree("add", np.arange(8), 0, 4, 1, element("i32")).tolist(), tree("add", np.arange(8), 0, 2, 4, element("i32")).tolist()
    ([6, 6, 6, 6, 22, 22, 22, 22], [4, 6, 8, 10, 4, 6, 8, 10])
    """
    count = value.shape[axis]
    numbers = np.arange(count, dtype=np.int64)
    step = 1
    while step < size:
        other = np.take(value, np.minimum(numbers ^ (step * stride), count - 1), axis=axis)
        value = combine(name, value, other, kind)
        step *= 2
    return value
