"""A layout with XOR digit by digit: where each digit of a dimension goes, and which places several digits flip.

>>> found = digits_of(Layout.parse("d0 = 8@lane, d1 = 2@(lane:2)"))
>>> [[(d.place, d.extent, d.moves, d.flips) for d in row] for row in found.dims]
[[(1, 2, (('lane', 1),), 0), (2, 2, (('lane', 2),), 1), (4, 2, (('lane', 4),), 0)], [(1, 2, (('lane', 2),), 1)]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor, Place, XorFactor, xor_factor

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["Digit", "Digits", "digits_of", "flipped_places", "named", "spans"]


class Digit(NamedTuple):
    """A digit of the domain, or of the replicas."""

    place: int
    """What it counts in its dimension; 0 for a replica."""
    extent: int
    moves: tuple[Place, ...]
    """The places that it flips, or the one (axis, stride) along which it counts, or none."""
    flips: int
    """The places that it flips, a bit for each in the order of `Digits.places`; 0 for a digit that adds."""


class Digits(NamedTuple):
    """All digits of a layout, each dimension minor to major."""

    dims: list[list[Digit]]
    replicas: list[Digit]
    places: dict[Place, int]
    """The places that are XORed, in order, and the bit that stands for each."""
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


def named(vector: int, places: Sequence[Place]) -> list[Place]:
    """The places whose bits a vector has, in order."""
    found: list[Place] = []
    while vector:
        low = vector & -vector
        found.append(places[low.bit_length() - 1])
        vector ^= low
    return found


def digits_of(layout: Relation, error: type[LayoutError] = LayoutError) -> Digits:
    """The digits of a layout; a plain factor is split where others flip one of its bits.

    Raises `error` where a plain factor carries over an XORed place, and where digits overlap on an axis that has one.
    """
    if layout.flips is None:
        return _digits_of(layout, error)
    found = layout.kept.get("digits")
    if found is None:
        found = layout.kept["digits"] = _digits_of(layout, error)
    return found


def _digits_of(layout: Relation, error: type[LayoutError]) -> Digits:
    ordered = sorted(flipped_places(layout))
    places = {place: 1 << i for i, place in enumerate(ordered)}
    on_axis: dict[str, list[tuple[int, int]]] = {}
    for axis, weight in ordered:
        if axis in on_axis:
            on_axis[axis].append((weight, 2))
        else:
            on_axis[axis] = [(weight, 2)]
    mixed: set[str] = set()  # the axes along which plain factors count beside XORed places
    dims: list[list[Digit]] = []
    for factors in (*layout.dims, layout.replicas):
        row: list[Digit] = []
        place = 1
        for factor in reversed(factors):
            extent: Any = factor[0]
            stride: Any = factor[1]
            axis: Any = factor[2]
            if type(factor) is XorFactor:
                row.append(Digit(place, 2, axis, sum([places[one] for one in axis])))
            elif extent == 1:
                continue
            elif type(extent) is not int or type(stride) is not int:
                layout.require_numbers("XOR")
            elif axis is None:
                row.append(Digit(place, extent, (), 0))
            elif axis in on_axis:
                row += _split(layout, factor, place, (places, on_axis), error)
                mixed.add(axis)
            else:
                row.append(Digit(place, extent, ((axis, stride),), 0))
            place *= extent
        dims.append(row)
    for axis, found in on_axis.items():
        if axis in mixed:
            found.sort()
        below = (1, 1)
        for one in found:
            if below[0] * below[1] > one[0]:
                raise error(
                    f"axis {axis!r} has XORed places, and {Factor(below[1], below[0], axis)} overlaps what moves {one[0]} "
                    f"along it (in {layout})"
                )
            below = one
    replicas = [one._replace(place=0) for one in dims.pop()]
    return Digits(dims, replicas, places, on_axis)


def _split(
    layout: Relation,
    factor: Factor,
    place: int,
    known: tuple[dict[Place, int], dict[str, list[tuple[int, int]]]],
    error: type[LayoutError],
) -> Iterator[Digit]:
    """The digits of a plain factor on an axis with XORed places; what is not one of them joins the digits of the axis."""
    extent, stride, axis = cast("tuple[int, int, str]", factor)
    places, on_axis = known
    cuts = {extent}
    for weight, _ in on_axis[axis]:
        bit, rest = divmod(weight, stride)
        if not rest and bit < extent and (axis, weight) in places:
            cuts |= {bit, 2 * bit}
    low = 1
    for cut in sorted(cuts - {1}):
        if cut % low or extent % cut:
            raise error(f"axis {axis!r} has XORed places, and {factor} carries over one of them (in {layout})")
        spot = (axis, stride * low)
        flips = places.get(spot, 0)
        if not flips:
            on_axis[axis].append((stride * low, cut // low))
        yield Digit(place * low, cut // low, (spot,), flips)
        low = cut


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


def as_factor(digit: Digit) -> Factor:
    """A digit as a factor."""
    return xor_factor(digit.moves) if digit.flips else plain_factor(digit)
