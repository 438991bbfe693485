"""Renumberings of lanes that leave an exchange as it is: what one lane does then says what many do.

Four lanes have one element each, and all are to have all four. If lane 0 hears lane 1, and lane 1 hears lane 2, and so on,
the exchange looks the same from every lane: rotate the numbers of lanes and of elements alike, and who holds and misses what
is unchanged. So are XORs of the two bits of a lane's number. One lane stands for all:

>>> held = [{0}, {1}, {2}, {3}]
>>> missing = [{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}]
>>> flipped, rotated, nothing = symmetries(held, missing)
>>> rotated.lanes, rotated.elements == rotated.lanes, rotated.first
([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]], True, [0])
>>> flipped.lanes[1:], nothing.lanes
([[1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]], [[0, 1, 2, 3]])

Only rotations of a lane's number and of its digits are tried. They move every lane or none, so a group of n renumberings
divides the lanes into orbits of n. The law: a schedule in which the first lane of each orbit does something, and the others
what is the same after their renumbering, is right for all if it is right for these.

Elements with the same holders that the same lanes miss keep their order; but where lanes miss copies of the same, half of the
renumberings may turn it round. Two lanes miss elements 0, 1 and 2 of two others. If each had to do what the other does, both
would have to hear the same; so one hears 0 and 1, the other 2 and 1, and then they tell each other what is left:

>>> for one in symmetries([set(), set(), {0, 1, 2}, {0, 1, 2}], [{0, 1, 2}, {0, 1, 2}, set(), set()]):
...     print(one.lanes, one.elements)
[[0, 1, 2, 3], [1, 0, 3, 2]] [[0, 1, 2], [0, 1, 2]]
[[0, 1, 2, 3], [1, 0, 3, 2]] [[0, 1, 2], [2, 1, 0]]
[[0, 1, 2, 3]] [[0, 1, 2]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.strategies.choosing import Slots
from layoutalg.conversion.strategies.multi_hop import rotations

__all__ = ["Symmetry", "symmetries"]

_MOST_GROUPS = 4
"""Groups that are kept, besides that of nothing."""


class Symmetry(NamedTuple):
    """A group of renumberings: where each lane and each element goes, by member; and the lanes' orbits."""

    lanes: list[list[int]]
    elements: list[list[int]]
    """-1: an element that nobody misses."""
    back: list[list[int]]
    """Where each element comes from."""
    orbit: list[int]
    """The number of each lane's orbit."""
    member: list[int]
    """The renumbering that takes the first lane of its orbit to each lane."""
    first: list[int]
    """The first lane of each orbit."""
    from_lane: list[list[int]]
    """Where each lane comes from, by member."""

    @staticmethod
    def of(lanes: list[list[int]], elements: list[list[int]]) -> Symmetry:
        """The group that these renumberings make. Each one moves all lanes, or none.

        >>> Symmetry.of([[0, 1, 2, 3], [1, 0, 3, 2]], [[0], [0]]).first
        [0, 2]
        """
        orbit, member, first = [-1] * len(lanes[0]), [0] * len(lanes[0]), list[int]()
        for lane in range(len(lanes[0])):
            if orbit[lane] < 0:
                for number, one in enumerate(lanes):
                    orbit[one[lane]], member[one[lane]] = len(first), number
                first.append(lane)
        return Symmetry(lanes, elements, _inverses(elements), orbit, member, first, _inverses(lanes))


def symmetries(held: Sequence[set[int]], missing: Sequence[set[int]]) -> list[Symmetry]:
    """The groups that leave what at most 64 lanes hold and miss as it is, the largest first; that of nothing is the last.

    Elements are numbers from 0.

    >>> [len(one.lanes) for one in symmetries([{0}, {1}, set()], [{1}, {0}, {0}])]
    [1]
    """
    lanes = len(held)
    size = max((max(one, default=-1) for one in (*held, *missing)), default=-1) + 1
    kinds = _Kinds.of(held, missing, size)
    groups = [(group, kinds.perhaps(group)) for group in reversed(rotations(lanes))]
    found: dict[tuple[tuple[int, ...], ...], list[Symmetry]] = {}
    for group, perhaps in sorted(groups, key=lambda one: -len(one[1])):
        goes = {turn: kinds.renamed(group[:, turn]) for turn in perhaps}
        turns = {turn: one for turn, one in goes.items() if one is not None}
        moved: list[list[int]] = group[:, list(turns)].T.tolist()
        key = tuple(sorted(map(tuple, moved)))
        if len(turns) > 1 and key not in found and len(found) < _MOST_GROUPS:
            found[key] = [Symmetry.of(moved, [kinds.elements_of(one) for one in turns.values()])]
            back = _turning_back(group, turns)
            if back and kinds.several:
                elements = [kinds.elements_of(one, back=turn in back) for turn, one in turns.items()]
                found[key].append(Symmetry.of(moved, elements))
    largest = sorted((one for several in found.values() for one in several), key=lambda one: -len(one.lanes))
    return [*largest, Symmetry.of([list(range(lanes))], [list(range(size))])]


def _turning_back(group: Slots, turns: dict[int, list[int]]) -> set[int]:
    """The rotations of a group after which kinds are turned round: half of them, one that leaves all kinds where they are too.

    The sum of two of these turns nothing round, so the others are a group by themselves. Empty where there is no such half.
    """
    sums: list[list[int]] = group.tolist()
    first = next((turn for turn, kinds in turns.items() if turn and kinds == sorted(kinds)), 0)
    signs = {0: 1}
    for turn in (first, *turns):
        if turn in signs:
            continue
        multiple, times = turn, 1
        while multiple not in signs:
            multiple, times = sums[multiple][turn], times + 1
        sign = -1 if turn == first or signs[multiple] < 0 else 1
        if sign**times != signs[multiple]:
            return set()
        multiple, reached = turn, dict(signs)
        for number in range(1, times):
            reached |= {sums[multiple][one]: sign**number * own for one, own in signs.items()}
            multiple = sums[multiple][turn]
        signs = reached
    return {turn for turn, sign in signs.items() if sign < 0}


class _Kinds(NamedTuple):
    """Elements with the same holders that the same lanes miss: both as sets of lanes, how many there are, and which."""

    holders: NDArray[np.bool_]
    """`[kind, lane]`, as `wanters`."""
    wanters: NDArray[np.bool_]
    keys: NDArray[np.uint64]
    """Holders and wanters as bits, and how many elements: `[3, kind]`, sorted."""
    elements: list[list[int]]
    size: int

    @staticmethod
    def of(held: Sequence[set[int]], missing: Sequence[set[int]], size: int) -> _Kinds:
        sides = [[0] * size, [0] * size]
        for lane, both in enumerate(zip(held, missing, strict=True)):
            for side, several in zip(sides, both, strict=True):
                for element in several:
                    side[element] |= 1 << lane
        found: dict[tuple[int, int], list[int]] = {}
        for element, key in enumerate(zip(*sides, strict=True)):
            if key[1]:
                found.setdefault(key, []).append(element)
        order = sorted(found, key=lambda key: (key[1], key[0]))
        keys = np.array([(*key, len(found[key])) for key in order], np.uint64).reshape(-1, 3).T
        bits = np.arange(len(held), dtype=np.uint64)
        holders, wanters = ((one[:, None] >> bits & np.uint64(1)).astype(np.bool_) for one in keys[:2])
        return _Kinds(holders, wanters, keys, [found[key] for key in order], size)

    def perhaps(self, group: Slots) -> list[int]:
        """The rotations of a group after which the sum of something over all kinds is the same."""
        images = [self._images(one, group) for one in (self.holders, self.wanters)]
        sums = _mixed(images[0], images[1], self.keys[2][:, None]).sum(0, dtype=np.uint64)
        return np.flatnonzero(sums == sums[0]).tolist()

    def renamed(self, moved: Slots) -> list[int] | None:
        """Where each kind goes if lanes go where `moved` says; None where some kind has no counterpart."""
        images = [self._images(one, moved[:, None])[:, 0] for one in (self.holders, self.wanters)]
        order = np.lexsort(images)
        if any((image[order] != own).any() for image, own in zip((*images, self.keys[2]), self.keys, strict=True)):
            return None
        found = [0] * len(order)
        kinds: list[int] = order.tolist()
        for other, kind in enumerate(kinds):
            found[kind] = other
        return found

    @property
    def several(self) -> bool:
        """Whether there is more than one element of some kind."""
        return any(len(one) > 1 for one in self.elements)

    def elements_of(self, kinds: list[int], *, back: bool = False) -> list[int]:
        """Where each element goes if kinds go so: in their order, or back from the last."""
        found = [-1] * self.size
        for own, kind in zip(self.elements, kinds, strict=True):
            others = self.elements[kind]
            for element, other in zip(own, reversed(others) if back else others, strict=True):
                found[element] = other
        return found

    @staticmethod
    def _images(lanes: NDArray[np.bool_], group: Slots) -> NDArray[np.uint64]:
        """Sets of lanes after each rotation, as bits: `[kind, rotation]`."""
        return lanes.astype(np.uint64) @ (np.uint64(1) << group.astype(np.uint64))


def _mixed(*several: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number of 64 bits that depends on all, and differs for most."""
    found = several[0] * np.uint64(0)
    for one in several:
        found = (found ^ one) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def _inverses(several: list[list[int]]) -> list[list[int]]:
    found = [[-1] * len(one) for one in several]
    for back, one in zip(found, several, strict=True):
        for number, other in enumerate(one):
            if other >= 0:
                back[other] = number
    return found
