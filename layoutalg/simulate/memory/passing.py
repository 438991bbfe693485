"""What subgroups of different workgroups know of one another: atomic operations at the scope of the device pass it on.

Workgroups have no barrier. But an atomic operation that releases leaves at its place all that its subgroup did before and all
that it knows, and one that acquires learns what it finds there. So the last of several subgroups that count themselves knows
what every other one did before it counted itself. A release adds to what is at the place, as further read-modify-writes
continue it (the release sequence of C++ and of OpenCL's memory model).

By hand, subgroups 0, 1 and 2 of a launch in their epochs 4, 5 and 6:

>>> passed = Passed()
>>> for subgroup, epoch in enumerate((4, 5, 6)):
...     passed.through("counter", subgroup, {}, epoch, acquire=True, release=True)
>>> passed.known(2, 0), passed.known(2, 1), passed.known(0, 2)
(4, 5, 0)
>>> passed.covers(2, "counter"), passed.covers(1, "counter")
(True, False)

A subgroup's lanes go together: one lane's release is the subgroup's, as on hardware where a subgroup is one thread.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

__all__ = ["Passed"]

_NOTHING: Mapping[int, int] = MappingProxyType({})
_Known = dict[int, int]
"""For subgroups of the launch, by their numbers: the epoch up to which it is known what they did."""


class Passed:
    """What every subgroup of a launch knows of others, and what is to be learnt at every place.

    >>> bool(Passed())
    False
    """

    def __init__(self) -> None:
        self._of: dict[int, _Known] = {}
        self._at: dict[Hashable, _Known] = {}

    def __bool__(self) -> bool:
        return bool(self._of)

    def through(
        self, place: Hashable, number: int, own: Mapping[int, int], epoch: int, *, acquire: bool, release: bool
    ) -> None:
        """Subgroup `number`, in this epoch, has changed a place; `own` is what it knows of its own workgroup."""
        there = self._at.setdefault(place, {})
        known = self._of.setdefault(number, {})
        if acquire:
            _learn(known, there)
        if release:
            _learn(there, known)
            _learn(there, own)
            _learn(there, {number: epoch})

    def together(self, numbers: Iterable[int]) -> None:
        """These subgroups have met at a barrier: each knows what any of them knew."""
        some = list(numbers)
        if not any(number in self._of for number in some):
            return
        known: _Known = {}
        for number in some:
            _learn(known, self._of.get(number, {}))
        for number in some:
            self._of[number] = dict(known)

    def known(self, number: int, other: int) -> int:
        """The epoch up to which a subgroup knows what another one did; 0 if it knows nothing."""
        return self._of.get(number, {}).get(other, 0)

    def epochs(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many pairs (subgroup, other), each a row."""
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        found = np.array([self.known(number, other) for number, other in unique.tolist()], np.int64)
        return found[inverse.reshape(-1)]

    def covers(self, number: int, place: Hashable, own: Mapping[int, int] = _NOTHING) -> bool:
        """Whether a subgroup, with what it knows of its own workgroup, knows all that was released at a place."""
        there = self._at.get(place)
        known = dict(self._of.get(number, {}))
        _learn(known, own)
        return there is not None and all(
            other == number or known.get(other, 0) >= epoch for other, epoch in there.items()
        )


def _learn(known: _Known, more: Mapping[int, int]) -> None:
    for number, epoch in more.items():
        if known.get(number, 0) < epoch:
            known[number] = epoch
