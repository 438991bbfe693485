"""When two layouts with XOR are the same, and the form in which they are compared and printed.

Every digit that flips places is a column: a vector over GF(2), a bit for each place. Three steps make them unique. Columns
count modulo the span of the replicas, which stands in reduced echelon form. Places of one axis that always change together
are one place: 0 and 1 + 4. What is flipped and changes with what is not, moves by the difference: 1 and 4. And a place that
one digit alone flips is a plain factor again:

>>> print(Layout.parse("d0 = 2@(addr^addr:4)").canonical())
d0 = 2@addr:5
>>> print(Layout.parse("d0 = 2@(addr^addr:4) | flip (addr)").canonical())
d0 = 2@addr:3 | offset 1@addr

Joined places may overlap others that lie between them (1 and 4 around 2); then `canonical` leaves them apart, and only `==`
and `hash` use the joined form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor, Place, XorFactor, merge_factors, xor_factor
from layoutalg.core.gf2 import modulo, reduced
from layoutalg.core.replicas import merge_replicas
from layoutalg.core.xor.digits import Digits, by_axis, digits_of, plain_factor

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["Columns", "canonical_form", "columns_of", "equality_form", "merged", "plain_replicas"]

_L = TypeVar("_L", bound="Relation")


class Columns(NamedTuple):
    """The digits that flip places as vectors over GF(2), bit i for place i."""

    places: list[Place]
    of_digit: dict[tuple[int, int], int]
    """The column of each digit: by the dimension's number and the digit's place in it; modulo the replicas."""
    replicas: list[int]
    """The reduced basis of what the replicas flip."""
    flipped: int
    """What is flipped for all elements, modulo the replicas."""


def columns_of(digits: Digits, flips: Iterable[Place], order: Sequence[str]) -> Columns:
    """The columns of a layout. The first axis in `order` is the most significant: reduced columns are the lowest owner."""
    places = by_axis(digits.places, order)
    bit = {place: 1 << i for i, place in enumerate(places)}

    def vector(moves: Iterable[Place]) -> int:
        return sum(bit[place] for place in moves)

    copies = reduced(vector(copy.moves) for copy in digits.replicas if copy.flips)
    columns = {
        (d, digit.place): modulo(vector(digit.moves), copies)
        for d, row in enumerate(digits.dims)
        for digit in row
        if digit.flips
    }
    return Columns(places, columns, copies, modulo(vector(flips), copies))


def canonical_form(layout: _L) -> _L:
    """The same relation in its canonical form; without XOR where it needs none."""
    joined = equality_form(layout)
    if joined.flips is not None:
        try:
            digits_of(joined)
        except LayoutError:  # joined places overlap others between them
            return equality_form(layout, join=False)
    return joined


class _Spot(NamedTuple):
    """A place of the result: what is left of the places that were joined into it."""

    axis: str
    weight: int
    column: int
    """Which bit of the old columns says whether it changes."""
    flipped: bool


def equality_form(layout: _L, join: bool = True) -> _L:
    """A form that is equal exactly where the relations are (with `join`); its places may overlap."""
    digits = digits_of(layout)
    columns = columns_of(digits, layout.flips or (), sorted({axis for axis, _ in digits.places}))
    offsets = layout.offsets
    spots = _spots(columns, offsets, join)
    # Two spots of one weight on one axis would have one name: the second counts as a negative weight, which nothing else has.
    named = [(spot.axis, spot.weight) for spot in spots]
    names = [name if named.count(name) == 1 else (name[0], -(i + 1)) for i, name in enumerate(named)]

    def of_spots(vector: int) -> int:
        return sum((vector >> spot.column & 1) << i for i, spot in enumerate(spots))

    copies = reduced(map(of_spots, columns.replicas))
    moved = {key: modulo(of_spots(vector), copies) for key, vector in columns.of_digit.items()}
    flipped = modulo(sum(spot.flipped << i for i, spot in enumerate(spots)), copies)
    users = [sum(vector >> i & 1 for vector in (*moved.values(), *copies)) for i in range(len(spots))]

    def factor(vector: int) -> Factor:
        if not vector:
            return Factor(2)
        i = vector.bit_length() - 1
        if not vector & (vector - 1) and users[i] == 1 and not flipped >> i & 1:
            return Factor(2, named[i][1], named[i][0])
        return xor_factor(name for i, name in enumerate(names) if vector >> i & 1)

    dims = tuple(
        merged([factor(moved[d, digit.place]) if digit.flips else plain_factor(digit) for digit in reversed(row)])
        for d, row in enumerate(digits.dims)
    )
    replicas = [plain_factor(copy) for copy in digits.replicas if not copy.flips] + [factor(one) for one in copies]
    flips = tuple(sorted(name for i, name in enumerate(names) if flipped >> i & 1))
    xors = tuple(one for one in replicas if type(one) is XorFactor)
    has_xor = bool(flips or xors) or any(type(one) is XorFactor for factors in dims for one in factors)
    return layout.of_parts(
        dims,
        merge_replicas([one for one in replicas if type(one) is not XorFactor]) + xors,
        tuple(sorted((axis, start) for axis, start in offsets.items() if start)),
        layout.names,
        layout.origins,
        layout.codomain_order,
        flips if has_xor else None,
    )


def _spots(columns: Columns, offsets: dict[str, int], join: bool) -> list[_Spot]:
    """The places that are left when those that always change together are joined; what never changes goes to `offsets`."""
    changes = [0] * len(columns.places)  # for each place: which columns and replicas change it
    for j, vector in enumerate((*columns.of_digit.values(), *columns.replicas)):
        while vector:
            low = vector & -vector
            changes[low.bit_length() - 1] |= 1 << j
            vector ^= low
    groups: dict[object, list[int]] = {}
    for i, (axis, _) in enumerate(columns.places):
        groups.setdefault((axis, changes[i]) if join or not changes[i] else i, []).append(i)
    found: list[_Spot] = []
    for members in groups.values():
        axis = columns.places[members[0]][0]
        up = sum(columns.places[i][1] for i in members if not columns.flipped >> i & 1)
        down = sum(columns.places[i][1] for i in members if columns.flipped >> i & 1)
        if not changes[members[0]]:
            offsets[axis] = offsets.get(axis, 0) + down
        elif not join:
            found.append(_Spot(axis, up + down, members[0], bool(down)))
        else:
            offsets[axis] = offsets.get(axis, 0) + min(up, down)
            if up != down:
                found.append(_Spot(axis, abs(up - down), members[0], down > up))
    return sorted(found)


def merged(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """The runs of plain factors between those that flip places, each merged."""
    found: list[Factor] = []
    run: list[Factor] = []
    for factor in factors:
        if type(factor) is XorFactor:
            found += [*merge_factors(run), factor]
            run = []
        else:
            run.append(factor)
    return (*found, *merge_factors(run))


def plain_replicas(layout: Relation) -> tuple[tuple[Factor, ...], tuple[Factor, ...]]:
    """The replicas that count along an axis, and those that flip places."""
    xors = tuple(one for one in layout.replicas if type(one) is XorFactor)
    return tuple(one for one in layout.replicas if type(one) is not XorFactor), xors
