"""Values in another form, made once: several products take the same operand, and each wants it converted.

A value is known by its identity, which is its own for as long as it is kept here beside what was made of it.

>>> import numpy as np
>>> from layoutalg.simulate.machine import Machine
>>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None)
>>> value = np.arange(4)
>>> converted(run, value, "doubled", lambda: value * 2) is converted(run, value, "doubled", lambda: value * 2)
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from layoutalg.simulate.machine import Array, Run

__all__ = ["converted"]

_MOST_KEPT = 1 << 24
"""Bytes of converted values that are kept for the next operations."""


def converted(run: Run, value: Array, how: Hashable, make: Callable[[], Array]) -> Array:
    """What `make` gives; asked again for the same value and the same `how`, the same array.

    >>> import numpy as np
    >>> from layoutalg.simulate.machine import Machine
    >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None)
    >>> converted(run, np.ones(2), "negative", lambda: -np.ones(2))
    array([-1., -1.])
    """
    kept: dict[object, tuple[Array, Array]] = run.scratch.setdefault("converted", {})
    key = (id(value), how)
    found = kept.get(key)
    if found is not None:
        return found[1]
    made = make()
    held = run.scratch.get("held", 0) + made.nbytes + value.nbytes
    if held > _MOST_KEPT:
        kept.clear()
        held = made.nbytes + value.nbytes
    run.scratch["held"] = held
    kept[key] = value, made
    return made
