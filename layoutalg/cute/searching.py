"""The layout of a given shape that has given values, where there is one: what is left when closed forms end.

The values have an axis for each leaf of the shape. They must be the sum of what each leaf gives alone, and each leaf's values
must be digits: the longest run of equal steps is the first digit, and what is left must repeat.

>>> layout_of_values(np.array([0, 1, 7, 8]), 4)
CuteLayout((2, 2), (1, 7))
>>> layout_of_values(np.array([0, 1, 7, 9]), 4)

Law: the answer is None exactly where no layout whose shape refines the given one, leaf by leaf, has the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from layoutalg.core.limits import MOST_CUTE_STRIDE
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.modes import Mode, gathered
from layoutalg.cute.nested_tuples import IntTuple, leaves_of, mode_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["layout_of_values", "values_after", "values_at"]


def values_after(outer: CuteLayout, inner: CuteLayout) -> NDArray[Any] | None:
    """A(B(c)) for every coordinate of B, an axis per leaf; None where the values are no numbers, or too large for 64 bits."""
    leaves = leaves_of(inner.shape, inner.stride)
    if not all(type(s) is int for _, s in [*leaves, *leaves_of(outer.shape, outer.stride)]):
        return None
    return values_at(outer, _values(cast("list[tuple[int, int]]", leaves)))


def values_at(layout: CuteLayout, index: Any) -> NDArray[Any] | None:
    """The values of a layout at an array of indices; past the end its last leaf runs on, below 0 it is odd."""
    import numpy as np

    flat = cast("list[tuple[int, int]]", leaves_of(layout.shape, layout.stride))
    if index is None or _bound(index) * (1 + sum(abs(s) for _, s in flat)) >= MOST_CUTE_STRIDE:
        return None
    sign: Any = np.sign(index)
    rest: Any = np.abs(index)
    total: Any = np.zeros_like(rest)
    for n, s in flat[:-1]:
        rest, digit = np.divmod(rest, n)
        total = total + digit * s
    return sign * (total + rest * flat[-1][1]) if flat else total


def _bound(index: Any) -> int:
    return int(abs(index).max(initial=0))


def _values(leaves: list[tuple[int, int]]) -> NDArray[Any] | None:
    """The values of a layout at every coordinate, an axis per leaf."""
    import numpy as np

    if sum((n - 1) * abs(s) for n, s in leaves) >= MOST_CUTE_STRIDE:
        return None
    # numpy has at most 64 axes, and leaves of extent 1 need none.
    long = [(n, s) for n, s in leaves if n > 1]
    total: Any = np.zeros((1,) * len(long), np.int64)
    for k, (n, s) in enumerate(long):
        total = total + (np.arange(n, dtype=np.int64) * s).reshape([-1 if k == j else 1 for j in range(len(long))])
    return total


def layout_of_values(values: Any, shape: IntTuple) -> CuteLayout | None:
    """The layout with these values, whose shape refines `shape`; `values` has an axis for each leaf of extent over 1."""
    import numpy as np

    axes = values.ndim
    total: Any = np.zeros_like(values)
    alone: list[Any] = []
    for k in range(axes):
        one = values[tuple([slice(None) if k == j else 0 for j in range(axes)])]
        alone.append(one)
        total = total + one.reshape([-1 if k == j else 1 for j in range(axes)])
    if values.flat[0] or not np.array_equal(total, values):
        return None
    found: list[list[tuple[int, int]]] = []
    for one in alone:
        digits = _digits(one)
        if digits is None:
            return None
        found.append(digits)
    following = iter(found)

    def walk(n: IntTuple) -> Mode:
        if isinstance(n, tuple):
            return gathered(list(map(walk, n)))
        return (1, 0) if n == 1 else mode_of(next(following))

    return CuteLayout(*walk(shape))


def _digits(values: Any) -> list[tuple[int, int]] | None:
    """The digits of one leaf, fastest first."""
    import numpy as np

    found: list[tuple[int, int]] = []
    while len(values) > 1:
        step = int(values[1])
        steps = np.diff(values)
        other = np.flatnonzero(steps != step)
        run = int(other[0]) + 1 if len(other) else len(values)
        if len(values) % run:
            return None
        blocks = values.reshape(-1, run)
        if not np.array_equal(blocks, blocks[:, :1] + blocks[:1]):
            return None
        found.append((run, step))
        values = blocks[:, 0]
    return found
