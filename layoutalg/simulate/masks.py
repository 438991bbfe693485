"""Which work-items execute a step, where control flow differs between them: masks, and values put together again.

Both sides of a divergent branch run, each under the mask of those who take it; then the results are merged. By hand, 4 lanes:

>>> from layoutalg.simulate.machine import Machine
>>> run = Run(Machine("pvc", (1, 1, 1), (4, 1, 1), 4, 0, 1), None)
>>> low = np.array([[[True, True, False, False]]])
>>> yes, no = split(run, low)
>>> merge(yes, np.full((1, 1, 1), 10), np.full((1, 1, 1), 20)).tolist()
[[[10, 10, 20, 20]]]
>>> split(run, np.array([[[True]]])) == (EVERYBODY, NOBODY)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from layoutalg.core.errors import LayoutError
from layoutalg.simulate.machine import Array, Run
from layoutalg.simulate.poison import merged_mark, poisoned

__all__ = ["EVERYBODY", "NOBODY", "Some", "merge", "merged", "split", "under"]

T = TypeVar("T")


class Some(Enum):
    """A mask that needs no array: all work-items that are active already, or none.

    >>> [some.name for some in Some]
    ['EVERYBODY', 'NOBODY']
    """

    EVERYBODY = 1
    NOBODY = 0


EVERYBODY, NOBODY = Some.EVERYBODY, Some.NOBODY


def split(run: Run, condition: Array) -> tuple[Array | Some, Array | Some]:
    """The active work-items where a condition holds, and those where it does not.

    >>> from layoutalg.simulate.machine import Machine
    >>> machine = Machine("pvc", (1, 1, 1), (4, 1, 1), 4, 0, 1)
    >>> split(Run(machine, None, active=machine.lane_ids() < 2), machine.lane_ids() < 3) == (EVERYBODY, NOBODY)
    True
    """
    if condition.size == 1:
        return (EVERYBODY, NOBODY) if condition.reshape(-1)[0] else (NOBODY, EVERYBODY)
    yes, no = run.where(condition), run.where(~condition)
    if not no.any():
        return EVERYBODY, NOBODY
    if not yes.any():
        return NOBODY, EVERYBODY
    return yes, no


def under(run: Run, mask: Array | Some, function: Callable[[], T]) -> T:
    """Call a function while only these work-items are active.

    >>> from layoutalg.simulate.machine import Machine
    >>> machine = Machine("pvc", (1, 1, 1), (4, 1, 1), 4, 0, 1)
    >>> run = Run(machine, None)
    >>> under(run, machine.lane_ids() < 2, lambda: int(run.active.sum())), run.active is None
    (2, True)
    """
    if isinstance(mask, Some):
        return function()
    before, run.active = run.active, mask
    try:
        return function()
    finally:
        run.active = before


def merge(mask: Array | Some, new: object, old: object) -> Any:
    """The new value for the work-items of the mask, the old one for the others; None stands for a value not made yet.

    >>> mask = np.array([[[True, False]]])
    >>> merge(mask, np.ones((1, 1, 1, 2), int), np.zeros((1, 1, 1, 2), int)).tolist()
    [[[[1, 1], [0, 0]]]]
    """
    if new is old or old is None or mask is EVERYBODY:
        return new
    if mask is NOBODY:
        return old
    if _is_array(new) and _is_array(old):
        where: Array = np.reshape(mask, (*np.shape(mask), *(1,) * (new.ndim - 3)))
        mark = merged_mark(where, new, old)
        whole = np.where(where, new, old)
        return whole if mark is None else poisoned(whole, mark)
    if _is_tuple(new) and _is_tuple(old) and len(new) == len(old):
        return tuple(merge(mask, a, b) for a, b in zip(new, old, strict=True))
    if is_dataclass(new) and type(new) is type(old):
        parts = {part.name: (getattr(new, part.name), getattr(old, part.name)) for part in fields(new)}
        return replace(cast("Any", new), **{name: merge(mask, *pair) for name, pair in parts.items()})
    if bool(new == old):
        return new
    raise LayoutError(f"one of {old} and {new}, which differs between work-items; it must be the same for all of them")


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def _is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)


def merged(mask: Array | Some, new: Iterable[Any], old: Iterable[Any]) -> list[Any]:
    """`merge` for lists of values."""
    return [merge(mask, a, b) for a, b in zip(new, old, strict=True)]
