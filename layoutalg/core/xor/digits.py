"""A layout with XOR digit by digit: where each digit of a dimension goes, and which places several digits flip.

>>> found = digits_of(Layout.parse("d0 = 8@lane, d1 = 2@(lane:2)"))
>>> [[(d.place, d.extent, sorted(d.moves), d.flips) for d in row] for row in found.dims]
[[(1, 2, [('lane', 1)], False), (2, 2, [('lane', 2)], True), (4, 2, [('lane', 4)], False)], [(1, 2, [('lane', 2)], True)]]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor, Place, XorFactor
from layoutalg.core.lazy import once

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["Digit", "Digits", "digits_of", "flipped_places", "spans"]

_NOTHING: frozenset[Place] = frozenset()


class Digit(NamedTuple):
    """A digit of the domain, or of the replicas."""

    place: int
    """What it counts in its dimension; 0 for a replica."""
    extent: int
    moves: frozenset[Place]
    """The places that it flips, or the one (axis, stride) along which it counts, or none."""
    flips: bool
    """Whether it flips places: its bit is XORed with the others that flip them."""


class Digits(NamedTuple):
    """All digits of a layout, each dimension minor to major."""

    dims: list[list[Digit]]
    replicas: list[Digit]
    places: set[Place]
    """The places that are XORed."""
    on_axis: dict[str, list[tuple[int, int]]]
    """Each axis with XORed places: all its digits, (weight, extent), ascending."""


def flipped_places(layout: Relation) -> set[Place]:
    """The places that XOR factors and the clause `flip` name."""
    found = set(layout.flips or ())
    for factors in (*layout.dims, layout.replicas):
        for factor in factors:
            if type(factor) is XorFactor:
                found.update(factor.places)
    return found


def digits_of(layout: Relation, error: type[LayoutError] = LayoutError) -> Digits:
    """The digits of a layout; a plain factor is split where others flip one of its bits.

    Raises `error` where a plain factor carries over an XORed place, and where digits overlap on an axis that has one.
    """
    if layout.flips is None:
        return _digits_of(layout, error)
    return once(layout.kept, "digits", lambda: _digits_of(layout, error))


def _digits_of(layout: Relation, error: type[LayoutError]) -> Digits:
    layout.require_numbers("XOR")
    places = flipped_places(layout)
    on_axis: dict[str, list[tuple[int, int]]] = {}
    for axis, weight in places:
        on_axis.setdefault(axis, []).append((weight, 2))
    weights = {axis: [weight for weight, _ in found] for axis, found in on_axis.items()}

    def split(factor: Factor, place: int) -> Iterator[Digit]:
        if type(factor) is XorFactor:
            yield Digit(place, 2, frozenset(factor.places), True)
            return
        extent, stride, axis = factor
        if axis is None:
            yield Digit(place, extent, _NOTHING, False)
        elif axis not in weights:
            yield Digit(place, extent, frozenset(((axis, stride),)), False)
        else:
            low = 1
            for cut in _cuts(extent, stride, weights[axis]):
                if cut % low or extent % cut:
                    raise error(f"axis {axis!r} has XORed places, and {factor} carries over one of them (in {layout})")
                spot = (axis, stride * low)
                if spot not in places:
                    on_axis[axis].append((stride * low, cut // low))
                yield Digit(place * low, cut // low, frozenset((spot,)), spot in places)
                low = cut

    dims: list[list[Digit]] = []
    for factors in layout.dims:
        row: list[Digit] = []
        place = 1
        for factor in reversed(factors):
            if factor.extent != 1:
                row += split(factor, place)
                place *= factor.extent
        dims.append(row)
    replicas = [digit for factor in layout.replicas if factor.extent != 1 for digit in split(factor, 0)]
    for axis, found in on_axis.items():
        found.sort()
        for (low, extent), (high, _) in pairwise(found):
            if low * extent > high:
                raise error(
                    f"axis {axis!r} has XORed places, and {Factor(extent, low, axis)} overlaps what moves {high} along it "
                    f"(in {layout})"
                )
    return Digits(dims, replicas, places, on_axis)


def _cuts(extent: int, stride: int, weights: Iterable[int]) -> list[int]:
    """The extents at which a plain factor is split so that each XORed bit of it stands alone."""
    cuts = {extent}
    for weight in weights:
        bit, rest = divmod(weight, stride)
        if not rest and bit < extent:
            cuts |= {bit, 2 * bit}
    return sorted(cuts - {1})


def spans(layout: Relation) -> dict[str, int]:
    """One more than the furthest move along each axis."""
    found = digits_of(layout)
    reach = {axis: 1 + sum((extent - 1) * weight for weight, extent in row) for axis, row in found.on_axis.items()}
    for row in (*found.dims, found.replicas):
        for digit in row:
            for axis, stride in digit.moves:
                if axis not in found.on_axis:
                    reach[axis] = reach.get(axis, 1) + (digit.extent - 1) * stride
    return reach


def plain_factor(digit: Digit) -> Factor:
    """A digit that flips nothing, as a factor."""
    for axis, stride in digit.moves:
        return Factor(digit.extent, stride, axis)
    return Factor(digit.extent)


def by_axis(places: Iterable[Place], order: Sequence[str]) -> list[Place]:
    """Places with those of the first axis in `order` last, each axis ascending: the last is the most significant."""
    rank = {axis: i for i, axis in enumerate(order)}
    return sorted(places, key=lambda place: (-rank[place[0]], place[1]))
