"""The factors that two layouts of one tensor have in common, and where each is on both sides.

A dimension of 24 that is 2 x 3 x 4 on one side and 6 x 4 on the other has three: what either side divides, the other side
must be able to divide too.

>>> source, destination = Layout.parse("d0 = 2@sg 3@reg 4@lane"), Layout.parse("d0 = 6@reg 4@lane")
>>> for factor in common_factors(source.dims[0], destination.dims[0]):
...     print(factor.weight, factor.extent, factor.before, factor.after)
1 4 4@lane 4@lane
4 3 3@reg 3@reg
12 2 2@sg 2@reg:3
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from layoutalg.core.factors import Factor

__all__ = ["CommonFactor", "common_factors", "weighed"]


class CommonFactor(NamedTuple):
    """A factor of a dimension: what a step adds to the coordinate, its extent, and what it is on either side."""

    weight: int
    extent: int
    before: Factor
    after: Factor


def weighed(factors: Sequence[Factor]) -> list[tuple[int, Factor]]:
    """Each factor of a dimension with its weight, what a step of it adds to the coordinate; lowest first.

    >>> [(weight, str(factor)) for weight, factor in weighed([Factor(2, 1, "sg"), Factor(4, 1, "reg")])]
    [(1, '4@reg'), (4, '2@sg')]
    """
    weight = 1
    found: list[tuple[int, Factor]] = []
    for factor in reversed(factors):
        found.append((weight, factor))
        weight *= factor.extent
    return found


def common_factors(before: Sequence[Factor], after: Sequence[Factor]) -> list[CommonFactor]:
    """The factors that two ways to write a dimension have in common, lowest first; not all of it need be covered."""
    ours, theirs = dict(weighed(before)), dict(weighed(after))
    marks = {weight * factor.extent for factors in (ours, theirs) for weight, factor in factors.items()} | {1}
    marks |= {weight * gcd(ours[weight].extent, theirs[weight].extent) for weight in ours if weight in theirs}
    return [
        CommonFactor(low, high // low, _part(ours, low, high // low), _part(theirs, low, high // low))
        for low, high in pairwise(sorted(marks))
        if all(high % mark == low % mark == 0 if mark <= low else mark % high == 0 for mark in marks)
    ]


def _part(factors: dict[int, Factor], weight: int, extent: int) -> Factor:
    """The factor of this weight and extent, as a part of the one that it lies in."""
    start = max(one for one in factors if one <= weight)
    factor = factors[start]
    return factor._replace(extent=extent, stride=factor.stride * (weight // start))
