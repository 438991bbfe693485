"""Atomic operations of many work-items on the same elements: one after another, in the order of the work-items.

Where every element is hit once, that is one numpy operation. Where elements are hit several times, it takes as many rounds
as the most-hit element has hits: in round r every element takes its r-th.

>>> cells = np.zeros(2, np.int32)
>>> combined("addi", cells, np.array([0, 0, 1]), np.array([5, 6, 7], np.int32)), cells
(array([0, 5, 0], dtype=int32), array([11,  7], dtype=int32))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError

__all__ = ["KINDS", "combined"]

Array = NDArray[Any]


def _unsigned(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def run(old: Array, new: Array) -> Array:
        bits = f"u{old.dtype.itemsize}"
        return function(old.view(bits), new.view(bits)).view(old.dtype)

    return run


def _numbers(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """maximumf and minimumf: a NaN wins, and -0 is less than +0, which numpy leaves open."""

    def run(old: Array, new: Array) -> Array:
        zeros = (old == 0) & (new == 0)
        made = function(old, new)
        signs = np.signbit(old) & np.signbit(new) if function is np.maximum else np.signbit(old) | np.signbit(new)
        return np.where(zeros, np.where(signs, -np.zeros_like(made), np.zeros_like(made)), made)

    return run


KINDS: Mapping[str, Callable[[Array, Array], Array]] = {
    "addf": np.add,
    "addi": np.add,
    "andi": np.bitwise_and,
    "assign": lambda old, new: new,
    "maximumf": _numbers(np.maximum),
    "maxnumf": np.fmax,
    "maxs": np.maximum,
    "maxu": _unsigned(np.maximum),
    "minimumf": _numbers(np.minimum),
    "minnumf": np.fmin,
    "mins": np.minimum,
    "minu": _unsigned(np.minimum),
    "mulf": np.multiply,
    "muli": np.multiply,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
}
"""What each kind makes of the old value and the operand, in the order of arith's numbers."""


def combined(kind: str, elements: Array, places: Array, values: Array) -> Array:
    """Change elements in place; returns what each operation found there. Places and values are 1-D, in their order.

    >>> cells = np.array([4.0, 2.0], np.float32)
    >>> combined("maximumf", cells, np.array([1, 0]), np.array([3.0, 3.0], np.float32)).tolist(), cells.tolist()
    ([2.0, 4.0], [4.0, 3.0])
    """
    if kind not in KINDS:
        raise LayoutError(f"atomic kind {kind!r}: expected one of {', '.join(KINDS)}")
    function = KINDS[kind]
    before = np.zeros_like(values)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if ordered.size else ordered
    counts = np.diff(np.r_[starts, ordered.size])
    with np.errstate(all="ignore"):
        for turn in range(int(counts.max(initial=0))):
            chosen = order[starts[counts > turn] + turn]
            old = elements[places[chosen]]
            before[chosen] = old
            elements[places[chosen]] = function(old, values[chosen])
    return before
