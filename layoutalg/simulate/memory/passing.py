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

A place keeps its releases in their order, and a subgroup how many of them it knows: a number for each place, however many
subgroups have counted themselves there. What a subgroup knew when it released comes with it.

What this cannot see:

- The order is that of this run. A kernel that takes for granted who comes first, and does not ask what the atomic operation
  gave, may be right in this order alone.
- A subgroup's lanes go together: one lane's release is the subgroup's, as on hardware where a subgroup is one thread. By the
  letter of OpenCL's memory model it is the lane's alone.
- Where several workgroups have read a byte, or written the same value to it, nobody is told apart, and a write by another one
  is reported even if it learnt of all of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

__all__ = ["Passed"]

_NOTHING: Mapping[int, int] = MappingProxyType({})
_Known = dict[Hashable, int]
"""For places: how many of the releases there are known."""


class _Place:
    """The releases at a place, and who did something atomic there."""

    def __init__(self) -> None:
        self.releases = 0
        self.known: _Known = {}
        """What those who released knew of other places."""
        self.done: dict[int, int] = {}
        """By subgroup, the epoch of its last operation here, whether it released or not."""
        self._epochs: dict[int, tuple[list[int], list[int]]] = {}

    def add(self, epochs: Mapping[int, int], known: _Known) -> None:
        """One more release: the epochs up to which it says what subgroups did, and what it knows of other places."""
        self.releases += 1
        for number, epoch in epochs.items():
            when, up_to = self._epochs.setdefault(number, ([], []))
            if epoch > (up_to[-1] if up_to else 0):
                when.append(self.releases)
                up_to.append(epoch)
        _learn(self.known, known)

    def epoch(self, number: int, releases: int) -> int:
        """The epoch up to which the first so many releases say what a subgroup did; 0 if they say nothing."""
        when, up_to = self._epochs.get(number, ((), ()))
        found = bisect_right(when, releases)
        return up_to[found - 1] if found else 0


class Passed:
    """What every subgroup of a launch knows of others, and what is to be learnt at every place.

    >>> bool(Passed())
    False
    """

    def __init__(self) -> None:
        self._of: dict[int, _Known] = {}
        self._at: dict[Hashable, _Place] = {}

    def __bool__(self) -> bool:
        return bool(self._of)

    def through(
        self, place: Hashable, number: int, own: Mapping[int, int], epoch: int, *, acquire: bool, release: bool
    ) -> None:
        """Subgroup `number`, in this epoch, has changed a place; `own` is what it knows of its own workgroup."""
        there = self._at.setdefault(place, _Place())
        there.done[number] = epoch
        if not acquire | release:
            return
        known = self._of.setdefault(number, {})
        if acquire:
            _learn(known, there.known)
            known[place] = there.releases
        if release:
            there.add({**own, number: epoch}, known)

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
        known = self._of.get(number, {})
        return max((self._at[place].epoch(other, releases) for place, releases in known.items()), default=0)

    def epochs(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many pairs (subgroup, other), each a row."""
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        found = np.array([self.known(number, other) for number, other in unique.tolist()], np.int64)
        return found[inverse.reshape(-1)]

    def covers(self, number: int, place: Hashable, own: Mapping[int, int] = _NOTHING) -> bool:
        """Whether a subgroup, with what it knows of its own workgroup, knows all atomic operations on a place."""
        there = self._at.get(place)
        return there is not None and all(
            other == number or max(own.get(other, 0), self.known(number, other)) >= epoch
            for other, epoch in there.done.items()
        )


def _learn(known: _Known, more: _Known) -> None:
    for place, releases in more.items():
        if known.get(place, 0) < releases:
            known[place] = releases
