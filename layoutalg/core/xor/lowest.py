"""The owners of elements of a layout with XOR: all of one element, the lowest of each, and how an axis numbers what is XORed.

>>> places_of(Layout.parse("d0 = 2@(lane:2^lane) | replicas 2@lane:4"), [1])
[(0, 3, 0), (0, 7, 0)]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from layoutalg.core.factors import Place, XorFactor
from layoutalg.core.gf2 import modulo, reduced
from layoutalg.core.lazy import once
from layoutalg.core.xor.digits import Digit, Digits, digits_of, named

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["XoredAxis", "flipped_copies", "lowest_owner", "places_of", "xored_axis"]

_L = TypeVar("_L", bound="Relation")


class XoredAxis(NamedTuple):
    """How one axis counts."""

    name: str
    bits: dict[int, int]
    """The bit that stands for each XORed place, by its weight."""
    binary: bool
    """Whether all digits are powers of two of powers of two: then the bits are the weights."""
    weights: list[int]
    """The weights of the XORed places, ascending."""


def xored_axis(digits: Digits, name: str) -> XoredAxis:
    """How an axis counts."""
    row = digits.on_axis.get(name, [])
    binary = bool(row) and all(not (weight & (weight - 1) or extent & (extent - 1)) for weight, extent in row)
    weights = [weight for weight, _ in row if (name, weight) in digits.places]
    return XoredAxis(name, {w: w if binary else 1 << i for i, w in enumerate(weights)}, binary, weights)


def lowest_owner(layout: Relation) -> tuple[Digits, list[Place]]:
    """The digits and flips of each element's lowest owner, in the order of the codomain: columns modulo the replicas."""
    return once(layout.kept, "lowest owner", lambda: _lowest_owner(layout))


def _lowest_owner(layout: Relation) -> tuple[Digits, list[Place]]:
    digits = digits_of(layout)
    if not any(copy.flips for copy in digits.replicas):
        return digits, list(layout.flips or ())
    rank = {axis: i for i, axis in enumerate(layout.codomain)}  # the first axis is the most significant
    places = sorted(digits.places, key=lambda place: (-rank[place[0]], place[1]))
    bit = {place: 1 << i for i, place in enumerate(places)}

    def vector(moves: Iterable[Place]) -> int:
        return sum(bit[place] for place in moves)

    copies = reduced(vector(copy.moves) for copy in digits.replicas if copy.flips)

    def lowest(digit: Digit) -> Digit:
        moves = named(modulo(vector(digit.moves), copies), places)
        return digit._replace(moves=tuple(moves), flips=sum(digits.places[place] for place in moves))

    rows = [[lowest(one) if one.flips else one for one in row] for row in digits.dims]
    return digits._replace(dims=rows), named(modulo(vector(layout.flips or ()), copies), places)


def flipped_copies(layout: _L) -> list[_L]:
    """The layout once for each value of the replicas that flip places, each copy with its own flips instead."""
    form = layout.canonical()
    plain = tuple(one for one in form.replicas if type(one) is not XorFactor)
    sides = [frozenset(form.flips or ())]
    for one in form.replicas:
        if type(one) is XorFactor:
            sides += [flips ^ frozenset(one.places) for flips in sides]
    offsets = tuple(sorted(form.offsets.items()))
    codomain = layout.codomain
    return [
        form.as_written(form.dims, plain, offsets, form.names, form.origins, codomain, tuple(sorted(flips)))
        for flips in sides
    ]


def places_of(layout: Relation, element: Sequence[int]) -> list[tuple[int, ...]]:
    """Every position of the codomain that holds an element (its coordinates counted from 0), ascending."""
    digits = digits_of(layout)
    flipped = frozenset(layout.flips or ())
    at = {axis: layout.offsets.get(axis, 0) for axis in layout.codomain}
    for value, row in zip(element, digits.dims, strict=True):
        for one in row:
            count = value // one.place % one.extent
            if one.flips and count:
                flipped = flipped.symmetric_difference(one.moves)
            elif not one.flips:
                for axis, stride in one.moves:
                    at[axis] += count * stride
    order = list(at)
    found = {(flipped, tuple(at.values()))}
    for copy in digits.replicas:
        if copy.flips:
            found |= {(flips.symmetric_difference(copy.moves), place) for flips, place in found}
        else:
            ((axis, stride),) = copy.moves
            column = order.index(axis)
            found = {
                (flips, (*place[:column], place[column] + count * stride, *place[column + 1 :]))
                for flips, place in found
                for count in range(copy.extent)
            }
    return sorted(
        {
            tuple(value + sum(w for name, w in flips if name == axis) for axis, value in zip(order, place, strict=True))
            for flips, place in found
        }
    )
