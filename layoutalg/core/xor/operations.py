"""The operations of the algebra where a layout has XOR: inverse, composition, block product, dropping a dimension.

The places of the inner layout are taken through the outer one, and what several of them flip is XORed:

>>> rows = Layout.parse("d0 = 4@d0:2, d1 = 2@d0")
>>> print(compose(Layout.parse("d0 = 2@(lane:4^lane) 2@lane:2 2@(lane)"), rows))
d0 = 2@(lane^lane:4) 2@lane:2, d1 = 2@(lane)
>>> print(inverse(Layout.parse("d0 = 2@(lane:2^lane) 2@(lane)")))
sg = 1, lane = 2@(d0^d0:2) 2@(d0), reg = 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NoReturn, TypeVar

from layoutalg.core.errors import CompositionError, LayoutError
from layoutalg.core.factors import Factor, Place, Places, XorFactor, size_of, xor_factor
from layoutalg.core.gf2 import Echelon
from layoutalg.core.limits import MAX_START
from layoutalg.core.xor.digits import Digit, Digits, as_factor, digits_of, flipped_places, named, plain_factor

if TYPE_CHECKING:
    from layoutalg.core.relation import Relation

__all__ = ["block_product", "compose", "inverse", "slice_dim", "with_flips"]

_L = TypeVar("_L", bound="Relation")
_Moves = frozenset[Place]
_NOTHING: _Moves = frozenset()


def with_flips(layout: _L, flips: Iterable[Place]) -> _L:
    """The layout with other flips; one that names no place is a layout without XOR."""
    flips = tuple(sorted(flips))
    parts = layout.dims, layout.replicas, tuple(sorted(layout.offsets.items())), layout.names, layout.origins
    made = layout.as_written(*parts, layout.codomain_order, flips)
    return made if flipped_places(made) else layout.as_written(*parts, layout.codomain_order)


def inverse(layout: _L, tidy: bool = True) -> _L:
    """The same relation read from the other side; not in its canonical form unless `tidy`.

    Raises `LayoutError` for an axis with a gap or an overlap, naming it.
    """
    digits = digits_of(layout)
    domain: list[Place] = []  # what each bit of an input of `solved` is
    solved = Echelon()
    copies: list[Digit] = []  # the digits of the result that no axis counts
    moving: dict[str, list[tuple[int, Digit]]] = {}  # along each axis: how far apiece, and what that becomes
    unseen: list[int] = []  # inputs that change nothing
    rows = sorted(zip(layout.names, digits.dims, strict=True))  # by name: `domain` is to be in order
    for name, row in (*rows, ("", digits.replicas)):
        for place, extent, moves, flips in row:
            if flips:
                given = 0
                if name:
                    given = 1 << len(domain)
                    domain.append((name, place))
                zero = solved.add(flips, given)
                if zero:
                    unseen.append(zero)
                continue
            to = Digit(0, extent, ((name, place),) if name else (), 0)
            if moves:
                moving.setdefault(moves[0][0], []).append((moves[0][1], to))
            else:
                copies.append(to)
    flipped = 0
    for place, bit in digits.places.items():
        at = solved.solve(bit)
        if at is None:
            raise LayoutError(f"axis {place[0]!r} has a gap: no element is at {place[1]} of it alone (in {layout})")
        moving.setdefault(place[0], []).append((place[1], Digit(0, 2, Places(named(at, domain)), at)))
        if layout.flips and place in layout.flips:
            flipped ^= at
    copies += [Digit(0, 2, Places(named(zero, domain)), zero) for zero in unseen]
    starts = layout.offsets
    names = layout.codomain_of({*moving, *starts})
    dims: list[list[Digit]] = []
    for axis in names:
        found = moving.get(axis, [])
        found.sort(key=itemgetter(0))
        size = 1
        for stride, (_, extent, _, _) in found:
            if stride != size:
                problem = (
                    "an overlap"
                    if stride < size
                    else f"a gap: no factor moves {size} along it, the next moves {stride}"
                )
                raise LayoutError(f"axis {axis!r} has {problem} (in {layout})")
            size *= extent
        dims.append([Digit(stride, to[1], to[2], to[3]) for stride, to in found])
    result = layout.as_written(
        ()
        if tidy
        else tuple(tuple(map(as_factor, reversed(row))) for row in dims),  # its canonical form needs digits alone
        () if tidy else tuple(map(as_factor, copies)),
        tuple(sorted((name, start) for name, start in zip(layout.names, layout.origins, strict=True) if start)),
        names,
        tuple([starts.get(axis, 0) for axis in names]),
        layout.names,
        tuple(named(flipped, domain)),
    )
    bits = {place: 1 << i for i, place in enumerate(domain)}
    beside = {name: [(one.place, one.extent) for one in row] for name, row in rows if any(one.flips for one in row)}
    result.kept["digits"] = Digits(dims, copies, bits, beside)
    return result.canonical() if tidy else result


class _Composing:
    """One composition: the digits of the outer layout, and how far the inner one may still count along each."""

    def __init__(self, outer: Relation, inner: Relation) -> None:
        self.outer, self.inner = outer, inner
        self.digits = digits_of(outer, CompositionError)
        self.size = dict(zip(outer.names, outer.shape, strict=True))
        self.rows = dict(zip(outer.names, self.digits.dims, strict=True))
        self.free = {(name, one.place): one.extent - 1 for name, row in self.rows.items() for one in row}
        self.added: dict[str, list[tuple[int, int]]] = {}
        self.xored = {axis for axis, _ in self.digits.places}

    def refuse(self, problem: str) -> NoReturn:
        raise CompositionError(f"compose: {problem} (outer {self.outer}; inner {self.inner})")

    def row(self, name: str) -> list[Digit]:
        """The digits of the outer dimension `name`."""
        if name not in self.rows:
            self.refuse(f"axis {name!r} of the inner layout is not a dimension of the outer one")
        return self.rows[name]

    def counted(self, name: str, weight: int) -> list[tuple[int, Digit]]:
        """A move of `weight` in the digits of the outer dimension: how often each."""
        found: list[tuple[int, Digit]] = []
        rest = weight
        for digit in reversed(self.row(name)):
            count, rest = divmod(rest, digit.place)
            if count:
                found.append((count, digit))
        if rest or any(count >= digit.extent for count, digit in found):
            self.refuse(f"a move of {weight} along {name!r} reaches outside its size {self.size[name]}")
        return found

    def take(self, name: str, digit: Digit, count: int, extent: int = 2) -> None:
        """Count that far along a digit of the outer layout, `extent` - 1 times at most; it must not carry."""
        for axis, step in () if digit.flips else digit.moves:
            self.added.setdefault(axis, []).append((step * count, extent))
        self.free[name, digit.place] -= (extent - 1) * count
        if self.free[name, digit.place] < 0:
            self.refuse(f"a move along {name!r} carries over the end of its digit of {digit.extent} at {digit.place}")

    def start(self) -> tuple[_Moves, dict[str, int]]:
        """Where the inner layout starts: the places that this flips, and the offsets."""
        flips: _Moves = frozenset(self.outer.flips or ())
        offsets = self.outer.offsets
        for name in self.inner.offsets:
            self.row(name)
        for name, origin in zip(self.outer.names, self.outer.origins, strict=True):
            at = self.inner.offsets.get(name, 0) - origin
            if not 0 <= at < self.size[name]:
                self.refuse(f"the inner layout starts at {at + origin}, outside dimension {name!r}")
            for count, digit in self.counted(name, at) if at else ():
                self.take(name, digit, count)
                if digit.flips:
                    flips = flips.symmetric_difference(digit.moves)
                else:
                    for axis, stride in digit.moves:
                        offsets[axis] = offsets.get(axis, 0) + count * stride
        self.added.clear()  # what an offset adds is added behind all XOR
        return flips, offsets

    def image(self, found: Sequence[tuple[int, Digit]], times: int = 1) -> _Moves:
        """The places that a move flips, which is so many `times` the digits of the outer layout."""
        moved = _NOTHING
        for count, one in found:
            moved = moved.symmetric_difference(
                one.moves if one.flips else [(axis, step * count * times) for axis, step in one.moves]
            )
            self.xored.update(axis for axis, _ in one.moves)
        return moved

    def check_sums(self) -> None:
        """Moves that the inner layout adds are added in the end: none may meet another at a place that became XORed."""
        for axis in self.xored:
            moves = sorted(self.added.get(axis, ()))
            if any(low * extent > high for (low, extent), (high, _) in pairwise(moves)):
                self.refuse(f"moves that add up on axis {axis!r} would be XORed")

    def through(self, digit: Digit, places: dict[Place, _Moves], summed: set[str]) -> list[Factor]:
        """What a digit of the inner layout moves in the end, minor to major; `summed`: axes where plain factors may meet."""
        if digit.flips:
            moved = _NOTHING
            for place in digit.moves:
                moved ^= places[place]
            return [_flipping(moved)]
        if not digit.moves:
            return [Factor(digit.extent)]
        ((name, weight),) = digit.moves
        pieces: list[Factor] = []
        extent = digit.extent
        while extent > 1:
            above = next((one.place for one in self.row(name) if one.place > weight), None)
            part = extent
            if above is not None and (extent - 1) * weight >= above:
                part, rest = divmod(above, weight)
                if rest or extent % part:
                    self.refuse(f"{Factor(extent, weight, name)} cannot be split at {above} of {name!r}")
            found = self.counted(name, weight)
            for count, one in found:
                self.take(name, one, count, part)
            pieces += self._moving(found, part, f"{part}@{name}:{weight}", summed)
            extent //= part
            weight *= part
        return pieces

    def _moving(self, found: list[tuple[int, Digit]], extent: int, what: str, summed: set[str]) -> list[Factor]:
        along = {axis for _, one in found for axis, _ in one.moves}
        if not any(one.flips for _, one in found):
            if len(along) <= 1 and along <= summed:
                stride = sum(count * step for count, one in found for _, step in one.moves)
                return [Factor(extent, stride, *along) if stride else Factor(extent)]
            if len(found) == len(along) == 1:
                ((count, one),) = found
                return [plain_factor(one._replace(extent=extent, moves=tuple((a, s * count) for a, s in one.moves)))]
        if extent & (extent - 1):
            self.refuse(f"{what} moves several places at once and is no power of two")
        return [_flipping(self.image(found, 1 << j)) for j in range(extent.bit_length() - 1)]


def _flipping(moved: _Moves) -> Factor:
    return xor_factor(moved) if moved else Factor(2)


def compose(outer: _L, inner: Relation) -> _L:
    """`outer` after `inner`: each place of `inner` becomes the places that `outer` moves.

    Raises `CompositionError` where a digit of `inner` carries over the end of one of `outer`, and where XOR reaches an axis
    on which factors of `outer` overlap.
    """
    work = _Composing(outer, inner)
    given = digits_of(inner, CompositionError)
    flips, offsets = work.start()
    places: dict[Place, _Moves] = {}
    for name, weight in sorted(given.places):
        found = work.counted(name, weight)
        for count, digit in found:
            work.take(name, digit, count)
        places[name, weight] = work.image(found)
    xor_axes = {axis for axis, _ in work.digits.places} | {axis for moved in places.values() for axis, _ in moved}
    all_axes = {axis for row in (*work.digits.dims, work.digits.replicas) for one in row for axis, _ in one.moves}
    summed = all_axes - xor_axes

    def through(digit: Digit) -> list[Factor]:
        return work.through(digit, places, summed)

    dims = tuple(tuple(f for digit in reversed(row) for f in reversed(through(digit))) for row in given.dims)
    replicas = [f for digit in given.replicas for f in through(digit) if f[2] is not None]
    for place in inner.flips or ():
        flips ^= places[place]
    result = outer.as_written(
        dims,
        (*replicas, *outer.replicas),
        tuple(sorted((axis, start) for axis, start in offsets.items() if start)),
        inner.names,
        inner.origins,
        outer.codomain_order,
        tuple(sorted(flips)),
    )
    for axis in {axis for axis, _ in flipped_places(result)} - set(work.digits.on_axis):
        steps = sorted(
            (step, one.extent)
            for row in (*work.digits.dims, work.digits.replicas)
            for one in row
            for along, step in one.moves
            if along == axis
        )
        if any(low * extent > high for (low, extent), (high, _) in pairwise(steps)):
            work.refuse(f"XOR reaches axis {axis!r}, where factors of the outer layout overlap")
    work.check_sums()
    digits_of(result, CompositionError)
    return with_flips(result, flips).canonical()


def block_product(outer: _L, inner: Relation) -> _L:
    """`outer` places blocks, `inner` the elements inside each (see `Layout.__mul__`)."""
    reach = inner.spans()

    def scaled(factor: Factor) -> Factor:
        if type(factor) is XorFactor:
            return xor_factor((axis, weight * reach.get(axis, 1)) for axis, weight in factor.places)
        extent, stride, axis = factor
        return factor if axis is None else Factor(extent, stride * reach.get(axis, 1), axis)

    offsets = {axis: start * reach.get(axis, 1) for axis, start in outer.offsets.items()}
    for axis, start in inner.offsets.items():
        offsets[axis] = offsets.get(axis, 0) + start
    flips = {(axis, weight * reach.get(axis, 1)) for axis, weight in outer.flips or ()}
    result = outer.as_written(
        tuple(tuple(map(scaled, a)) + b for a, b in zip(outer.dims, inner.dims, strict=True)),
        tuple(map(scaled, outer.replicas)) + inner.replicas,
        tuple(sorted((axis, start) for axis, start in offsets.items() if start)),
        outer.names,
        tuple(o * size_of(f) + i for o, f, i in zip(outer.origins, inner.dims, inner.origins, strict=True)),
        outer.codomain_order if outer.codomain_order == inner.codomain_order else None,
        tuple(sorted(flips ^ set(inner.flips or ()))),
    )
    if any(abs(start) > MAX_START for start in offsets.values()):
        raise LayoutError(f"block product of {outer} and {inner}: an offset is over the limit of 2^62")
    for row in (*digits_of(result).dims, digits_of(result).replicas):
        for digit in row:
            if any(weight > MAX_START for _, weight in digit.moves):
                raise LayoutError(
                    f"block product of {outer} and {inner}: {as_factor(digit)} is over the limit of 2^62 for a weight"
                )
    return result.canonical()


def slice_dim(layout: _L, dim: int, registers: Sequence[str], names: Sequence[str]) -> _L:
    """Drop a dimension, seen from the machine: its moves vanish, and register digits that move nothing else close up.

    Raises `LayoutError` for an axis with a gap or an overlap.
    """
    gone = layout.names[dim]
    seen = inverse(layout)

    def kept(factor: Factor) -> Factor:
        if type(factor) is XorFactor:
            return _flipping(frozenset(place for place in factor.places if place[0] != gone))
        return Factor(factor.extent) if factor.axis == gone else factor

    dims: list[tuple[Factor, ...]] = []
    for axis, factors in zip(seen.names, seen.dims, strict=True):
        row = [(factor, kept(factor)) for factor in factors]
        dims.append(tuple(new for old, new in row if axis not in registers or new[2] is not None or old[2] is None))
    found = seen.as_written(
        tuple(dims),
        tuple(new for new in map(kept, seen.replicas) if new[2] is not None),
        tuple((name, start) for name, start in sorted(seen.offsets.items()) if name != gone),
        seen.names,
        seen.origins,
        tuple(name for name in layout.names if name != gone),
    )
    found = inverse(with_flips(found, (place for place in seen.flips or () if place[0] != gone)))
    return found.as_written(
        found.dims, found.replicas, tuple(sorted(found.offsets.items())), tuple(names), found.origins, None, found.flips
    )
