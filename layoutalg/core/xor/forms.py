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
from typing import TYPE_CHECKING, TypeVar

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor, Place, Places, XorFactor, merge_factors, xor_factor
from layoutalg.core.gf2 import modulo, reduced
from layoutalg.core.replicas import merge_replicas
from layoutalg.core.xor.digits import Digits, digits_of, named, plain_factor

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["canonical_form", "equality_form", "merged", "plain_replicas"]

_L = TypeVar("_L", bound="Relation")


def canonical_form(layout: _L) -> _L:
    """The same relation in its canonical form; without XOR where it needs none."""
    form, joined = _form(layout, True)
    if form.flips is not None:
        if joined:
            try:
                digits_of(form)
            except LayoutError:  # joined places overlap others between them
                apart, _ = _form(layout, False)
                apart.kept["equality"] = form
                return apart
        form.kept["equality"] = form
    return form


def equality_form(layout: _L) -> _L:
    """A form that is equal exactly where the relations are; its places may overlap."""
    found = layout.kept.get("equality")
    if found is None:
        found = layout.kept["equality"] = _form(layout, True)[0]
    return found


def _form(layout: _L, join: bool) -> tuple[_L, bool]:
    """The unique form, its places joined where they always change together; and whether that made any of them new."""
    digits = digits_of(layout)
    vectors = [digit.flips for row in (*digits.dims, digits.replicas) for digit in row if digit.flips]
    spots = _Spots(digits, vectors, layout.flips or (), layout.offsets, join)
    copies = [spots.taken(digit.flips) for digit in digits.replicas if digit.flips]
    if copies:
        copies = reduced(copies)
        vectors = [modulo(spots.taken(digit.flips), copies) for row in digits.dims for digit in row if digit.flips]
        vectors += copies
    elif spots.new:
        vectors = [spots.taken(vector) for vector in vectors]
    flips = modulo(spots.flips, copies)
    once = twice = 0
    for vector in vectors:
        twice |= once & vector
        once |= vector
    plain = once & ~twice & ~flips  # the places that one digit alone flips
    left = iter(vectors)
    has_xor = bool(flips)
    dims: list[tuple[Factor, ...]] = []
    for row in digits.dims:
        factors: list[Factor] = []
        for digit in row:
            if not digit.flips:
                factors.append(plain_factor(digit))
                continue
            vector = next(left)
            if not vector:
                factors.append(Factor(2))
            elif vector & plain and not vector & (vector - 1):
                factors.append(spots.factor(vector))
            else:
                has_xor = True
                factors.append(
                    xor_factor(spots.names_of(vector) if vector != digit.flips or spots.new else digit.moves)
                )
        factors.reverse()
        dims.append(merged(factors))
    counted = [plain_factor(copy) for copy in digits.replicas if not copy.flips]
    flipping: list[Factor] = []
    for vector in copies:
        if vector & plain and not vector & (vector - 1):
            counted.append(spots.factor(vector))
        else:
            flipping.append(xor_factor(spots.names_of(vector)))
    has_xor = has_xor or bool(flipping)
    form = layout.as_written(
        tuple(dims),
        (*merge_replicas(counted), *flipping) if counted else tuple(flipping),
        tuple(sorted((axis, start) for axis, start in spots.offsets.items() if start)) if spots.offsets else (),
        layout.names,
        layout.origins,
        layout.codomain_order,
        tuple(sorted(spots.names_of(flips))) if has_xor else None,
    )
    return form, spots.new


class _Spots:
    """The places of the result: what is left of those that were joined, in order; what never changes goes to `offsets`."""

    def __init__(
        self, digits: Digits, vectors: Sequence[int], flips: Iterable[Place], offsets: dict[str, int], join: bool
    ) -> None:
        self.places = list(digits.places)
        """Each spot as the axis and the weight of a plain factor."""
        self.names: Sequence[Place] = self.places
        """Each spot as XOR factors name it."""
        self.offsets = offsets
        self.flips = 0
        """The spots that are flipped."""
        for place in flips:
            self.flips |= digits.places[place]
        changes = [0] * len(self.places)  # for each place: which vectors change it
        for j, vector in enumerate(vectors):
            while vector:
                low = vector & -vector
                changes[low.bit_length() - 1] |= 1 << j
                vector ^= low
        groups: dict[object, list[int]] = {}
        for i, (axis, _) in enumerate(self.places):
            change = changes[i]
            groups.setdefault((axis, change) if join or not change else i, []).append(i)
        self.new = len(groups) < len(changes) or 0 in changes
        """Whether they are other places than before."""
        if self.new:
            self._join(groups.values(), changes, join)

    def _join(self, groups: Iterable[Sequence[int]], changes: Sequence[int], join: bool) -> None:
        found: list[tuple[str, int, int, bool]] = []  # axis, weight, an old place that changes as it does, flipped
        for members in groups:
            axis = self.places[members[0]][0]
            up = sum(self.places[i][1] for i in members if not self.flips >> i & 1)
            down = sum(self.places[i][1] for i in members if self.flips >> i & 1)
            if not changes[members[0]]:
                self.offsets[axis] = self.offsets.get(axis, 0) + down
            elif not join:
                found.append((axis, up + down, members[0], bool(down)))
            else:
                self.offsets[axis] = self.offsets.get(axis, 0) + min(up, down)
                if up != down:
                    found.append((axis, abs(up - down), members[0], down > up))
        found.sort()
        self.places = [(axis, weight) for axis, weight, _, _ in found]
        # Two spots of one weight on one axis would have one name: they count as negative weights, which nothing else has.
        self.names = [one if self.places.count(one) == 1 else (one[0], -(i + 1)) for i, one in enumerate(self.places)]
        self.old = [old for _, _, old, _ in found]
        self.flips = sum(flipped << i for i, (*_, flipped) in enumerate(found))

    def taken(self, vector: int) -> int:
        """What a vector of the old places is in the new ones."""
        return sum((vector >> old & 1) << i for i, old in enumerate(self.old)) if self.new else vector

    def names_of(self, vector: int) -> Iterable[Place]:
        """The spots of a vector, as XOR factors name them."""
        found = named(vector, self.names)
        return found if self.new else Places(found)

    def factor(self, vector: int) -> Factor:
        """The plain factor that moves along the one spot of a vector."""
        axis, weight = self.places[vector.bit_length() - 1]
        return Factor(2, weight, axis)


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
