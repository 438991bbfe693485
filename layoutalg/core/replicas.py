"""Replicas: factors that belong to no dimension. Only the set of places that they reach counts.

`2@lane 2@lane:8 4@lane:2` reaches 0, 1, ..., 15, and so does `16@lane`: sorted by stride, neighbours without a hole between
them are one run.

>>> [str(f) for f in merge_replicas([Factor(2, 1, "lane"), Factor(2, 8, "lane"), Factor(4, 2, "lane")])]
['16@lane']

Where factors overlap, one set can be written in two ways, and is compared as a set: a whole number whose bit x is 1 where
place x is reached. Both of these reach 0 to 4, one of them twice:

>>> same_replicas([Factor(2, 1, "lane"), Factor(2, 3, "lane"), Factor(2, 2, "lane")], [Factor(7, 1, "lane")])
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from layoutalg.core.errors import SizeError
from layoutalg.core.extents import conditions, multiply
from layoutalg.core.factors import Factor
from layoutalg.core.limits import MOST_REPLICA_PLACES, MOST_REPLICA_SHIFTS

__all__ = ["merge_replicas", "same_replicas"]


def merge_replicas(replicas: Sequence[Factor]) -> tuple[Factor, ...]:
    """Sort replicas by axis and stride (largest first) and merge those that together reach the same places."""
    kept = [f for f in replicas if f.extent != 1 and f.axis is not None]
    if any(type(f.stride) is not int or type(f.extent) is not int for f in kept):
        return _merge_symbolic_replicas(kept)
    merged: list[Factor] = []
    for factor in sorted(kept, key=lambda one: (str(one.axis), one.stride, one.extent)):
        extent, stride, axis = factor
        if merged:
            n, s, along = merged[-1]
            # n values s apart, repeated every stride: without a hole between the repeats they are one longer run.
            if along == axis and stride % s == 0 and stride // s <= n:
                merged[-1] = Factor(n + (extent - 1) * (stride // s), s, axis)
                continue
        merged.append(factor)
    return tuple(sorted(merged, key=lambda one: (str(one.axis), -one.stride, -one.extent)))


def _merge_symbolic_replicas(replicas: list[Factor]) -> tuple[Factor, ...]:
    rest = sorted(replicas, key=lambda f: (str(f.axis), str(f.stride), str(f.extent)))
    joined = True
    while joined:
        joined = False
        for low in rest:
            high = next(
                (f for f in rest if f is not low and f[1:] == (multiply(low.extent, low.stride), low.axis)), None
            )
            if high is not None and not conditions([low.extent, high.extent]):
                rest = [f for f in rest if f is not low and f is not high]
                rest.append(Factor(multiply(low.extent, high.extent), low.stride, low.axis))
                rest.sort(key=lambda f: (str(f.axis), str(f.stride), str(f.extent)))
                joined = True
                break
    return tuple(rest)


def same_replicas(a: Sequence[Factor], b: Sequence[Factor]) -> bool:
    """Whether two merged lists of replicas reach the same places.

    Raises `SizeError` where factors overlap over more than 2^30 places, or so many times that it would take seconds.

    >>> same_replicas((Factor(2, 3, "reg"), Factor(2, 2, "reg")), (Factor(6, 1, "reg"),))
    False
    """
    if not (_overlapping(a) or _overlapping(b)):
        return tuple(a) == tuple(b)
    if any(type(value) is not int for f in (*a, *b) for value in f[:2]):
        return False
    return all(
        _same_places(sorted(_steps_on(a, axis)), sorted(_steps_on(b, axis))) for axis in {f.axis for f in (*a, *b)}
    )


_Step = tuple[int, int]
"""A factor by itself: its stride, its extent."""


def _steps_on(replicas: Iterable[Factor], axis: str | None) -> list[_Step]:
    return [(f.stride, f.extent) for f in replicas if f.axis == axis]


def _reach(steps: Iterable[_Step]) -> int:
    return sum((extent - 1) * stride for stride, extent in steps)


def _same_places(a: list[_Step], b: list[_Step]) -> bool:
    """Whether two lists, each by rising stride, reach the same places of one axis."""
    if a == b:
        return True
    if _reach(a) != _reach(b) or a[0][0] != b[0][0]:
        return False  # the largest place, or the smallest but 0
    # Strides that are multiples of m, above steps that stay below m: the two parts are the quotient and the remainder.
    for stride in sorted({stride for stride, _ in (*a, *b)})[1:]:
        high = [[step for step in side if step[0] >= stride] for side in (a, b)]
        low = [[step for step in side if step[0] < stride] for side in (a, b)]
        whole = gcd(*(step[0] for side in high for step in side))
        if all(_reach(side) < whole for side in low):
            return all(part[0] and part[1] and _same_places(*part) for part in (low, high))
    unit = gcd(*(step[0] for step in (*a, *b)))
    first, second = ([(stride // unit, extent) for stride, extent in side] for side in (a, b))
    return _bits(first) == _bits(second)


def _bits(steps: Sequence[_Step]) -> int:
    """The places that steps reach, as the bits of a number."""
    places = _reach(steps) + 1
    shifts = sum(extent.bit_length() for _, extent in steps)
    if places > MOST_REPLICA_PLACES or places * shifts > MOST_REPLICA_SHIFTS:
        raise SizeError(
            f"replicas that overlap over {places} places: at most {MOST_REPLICA_PLACES} are compared, fewer with many factors"
        )
    found = 1
    for stride, extent in steps:
        # Twice as many copies each time, until all are there.
        copies = 1
        while copies < extent:
            more = min(copies, extent - copies)
            found |= found << more * stride
            copies += more
    return found


def _overlapping(replicas: Sequence[Factor]) -> bool:
    """Whether two different values can meet: then the list of factors need not be the only way to write the set."""
    axis: str | None = None
    reach = 0
    for factor in reversed(replicas):
        if type(factor.stride) is not int or type(factor.extent) is not int:
            return False
        if factor.axis != axis:
            axis, reach = factor.axis, 0
        if factor.stride <= reach:
            return True
        reach += (factor.extent - 1) * factor.stride
    return False
