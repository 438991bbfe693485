"""Product, inverse and composition: the three operations that all else is built from. Each is O(factors).

**Block product** puts a layout of elements inside each block of a layout of blocks; the dialects are built with it:

>>> subgroups = Layout.parse("d0 = 2@sg:4, d1 = 4@sg")
>>> print(subgroups * Layout.parse("d0 = 16@reg, d1 = 16@lane"))
d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane

**Composition** follows one relation with another: `compose(outer, inner)(x)` is `outer(inner(x))`. A factor of `inner`
that runs through several factors of `outer` is split where they meet. 6 rows of `inner` in a 2 x 3 `outer`:

>>> print(compose(Layout.parse("d0 = 2@lane 3@reg"), Layout.parse("d0 = 6@d0")))
d0 = 2@lane 3@reg

Where a factor cannot be split so (4 values cannot be dealt out to factors of 3), there is no closed form and
`CompositionError` says so; `core.table` has the answer as an index table.

**Inverse** swaps domain and codomain, and is an involution.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any, NoReturn, TypeAlias, TypeVar

from layoutalg.core.errors import CompositionError, LayoutError
from layoutalg.core.extents import SYMPY, Extent, add, conditions, exact_quotient, extent_text, multiply
from layoutalg.core.factors import Factor, size_of
from layoutalg.core.limits import MAX_START
from layoutalg.core.relation import Relation, as_layout
from layoutalg.core.xor import operations as xor_operations

__all__ = ["block_product", "compose", "inverse"]

_L = TypeVar("_L", bound=Relation)


def block_product(outer: _L, inner: _L) -> _L:
    """`outer` over blocks, `inner` inside each: `(A * B)(x) = A(x // shape B) + B(x % shape B)`.

    Raises `LayoutError` where the two have different dimensions, and for strides over 2^62.

    >>> print(block_product(Layout.parse("d0 = 2@reg"), Layout.parse("d0 = 4@reg 2@lane")))
    d0 = 2@reg:4 4@reg 2@lane
    """
    as_layout(outer, "outer layout")
    as_layout(inner, "inner layout")
    if outer.names != inner.names:
        raise LayoutError(
            f"block product of dimensions {list(outer.names)} and {list(inner.names)}: expected the same ones"
        )
    if outer.flips is not None or inner.flips is not None:
        return xor_operations.block_product(outer, inner)
    reach = inner.spans()

    def scaled(factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
        return tuple(
            Factor(n, multiply(s, reach[a]), a) if a is not None and a in reach else Factor(n, s, a)
            for n, s, a in factors
        )

    offsets = {axis: offset * reach.get(axis, 1) for axis, offset in outer.offsets.items()}
    for axis, offset in inner.offsets.items():
        offsets[axis] = offsets.get(axis, 0) + offset
    origins = inner.origins
    if any(outer.origins):
        origins = tuple(o * size_of(f) + i for o, f, i in zip(outer.origins, inner.dims, inner.origins, strict=True))
    found = outer.of_parts(
        tuple(scaled(a) + b for a, b in zip(outer.dims, inner.dims, strict=True)),
        scaled(outer.replicas) + inner.replicas,
        tuple(sorted((a, o) for a, o in offsets.items() if o)),
        outer.names,
        origins,
        outer.codomain_order if outer.codomain_order == inner.codomain_order else None,
    )
    for factors in (*found.dims, found.replicas):
        for factor in factors:
            if type(factor[1]) is int and factor[1] > MAX_START:
                raise LayoutError(_too_far(factor, outer, inner))
    for axis, start in found._offsets:  # pyright: ignore[reportPrivateUsage]
        if abs(start) > MAX_START:
            raise LayoutError(_too_far(f"offset {start}@{axis}", outer, inner))
    return found


def inverse(layout: _L) -> _L:
    """The relation read from the other side: its dimensions are the axes of `layout.codomain`.

    Replicas become factors that move along no axis, and the other way round; an offset becomes an origin.

    Raises `LayoutError` where the factors on an axis leave a gap or overlap, naming the axis and the factor.

    >>> print(inverse(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")))
    sg = 2@d0:16 4@d1:16, lane = 16@d1, reg = 16@d0
    >>> inverse(Layout.parse("d0 = 2@reg:4 2@reg"))
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: axis 'reg' has a gap: no factor moves 2 along it, the next is 2@reg:4
    (in d0 = 2@reg:4 2@reg)
    """
    as_layout(layout)
    if layout.flips is not None:
        return xor_operations.inverse(layout)
    on_axis: dict[str, list[_Moving]] = {}
    replicas: list[Factor] = []
    for name, factors in zip(layout.names, layout.dims, strict=True):
        place = 1
        for extent, stride, axis in reversed(factors):
            if extent == 1:
                continue
            if axis is None:
                replicas.append(Factor(extent, place, name))
            else:
                on_axis.setdefault(axis, []).append((stride, extent, place, name))
            place = place * extent if type(place) is int and type(extent) is int else multiply(place, extent)
    for extent, stride, axis in layout.replicas:
        if axis is not None and extent != 1:
            on_axis.setdefault(axis, []).append((stride, extent, 0, None))
    starts, origins = layout.offsets, layout.origins
    names = layout.codomain_of({*on_axis, *starts})
    return layout.of_parts(
        tuple([_axis_factors(layout, axis, on_axis[axis]) if axis in on_axis else () for axis in names]),
        tuple(replicas),
        tuple(sorted((n, o) for n, o in zip(layout.names, origins, strict=True) if o)) if any(origins) else (),
        names,
        tuple([starts.get(axis, 0) for axis in names]) if starts else (0,) * len(names),
        layout.names,
    )


def _too_far(what: object, outer: Relation, inner: Relation) -> str:
    return f"block product of {outer} and {inner}: {what} is over the limit of 2^62 for a stride or an offset"


_Moving: TypeAlias = tuple[Extent, Extent, Extent, str | None]
"""A factor on a codomain axis: its stride there, its extent, its stride in the dimension that it belongs to, and which."""


def _axis_factors(layout: Relation, axis: str, moving: list[_Moving]) -> tuple[Factor, ...]:
    """What moves along one axis as the factors of a dimension, major to minor; they must count without gap or overlap."""
    if len(moving) > 1:
        # Symbolic strides have no order; the chain below then finds each factor by equality.
        with suppress(TypeError):
            moving.sort(key=_stride)
    factors: list[Factor] = []
    place: Extent = 1
    while moving:
        index = 0
        if moving[0][0] != place:
            index = next((i for i, d in enumerate(moving) if d[0] == place), -1)
            if index < 0:
                _refuse_axis(layout, axis, place, moving[0])
        _, extent, weight, name = moving.pop(index)
        # tuple.__new__ is what Factor(...) does, at half its cost.
        factors.append(Factor(extent) if name is None else _new(Factor, (extent, weight, name)))
        place = place * extent if type(place) is int and type(extent) is int else multiply(place, extent)
    factors.reverse()
    return tuple(factors)


_stride = itemgetter(0)
_new: Any = vars(tuple)["__new__"]


def _refuse_axis(layout: Relation, axis: str, place: Extent, moving: _Moving) -> NoReturn:
    found = Factor(moving[1], moving[0], axis)
    numbers = type(place) is int and type(moving[0]) is int
    if numbers and moving[0] < place:
        problem = f"has an overlap: {found} moves less than the {place} values of the factors below it"
    else:
        problem = f"has a gap: no factor moves {extent_text(place)} along it, the next is {found}"
    raise LayoutError(f"axis {axis!r} {problem} (in {layout})")


class _Axis:
    """The factors of one dimension of the outer layout, minor to major, and how much of each is already in use."""

    __slots__ = ("factors", "free", "name", "numeric", "origin", "places", "size")

    def __init__(self, name: str, factors: Sequence[Factor], origin: int) -> None:
        self.name = name
        self.origin = origin
        self.factors = [f for f in reversed(factors) if f.extent != 1]
        self.places: list[Extent] = [1]
        for factor in self.factors:
            place, extent = self.places[-1], factor.extent
            whole = type(place) is int and type(extent) is int
            self.places.append(place * extent if whole else multiply(place, extent))
        self.size = self.places.pop()
        self.free: list[Extent] = [f.extent - 1 if type(f.extent) is int else add(f.extent, -1) for f in self.factors]
        self.numeric = bool(self.places) and type(self.size) is int


def compose(outer: _L, inner: _L) -> _L:
    """`outer` after `inner`: every pair (x, z) with a y such that `inner` relates x to y, and `outer` y to z.

    The axes of `inner` are the dimensions of `outer`, by name. Closed form, O(factors).

    Raises `CompositionError` where `inner` reaches outside `outer`'s dimensions, or where factors have no common
    refinement; `layoutalg.core.table.compose_exactly` answers then with an index table.

    >>> print(compose(Layout.parse("d0 = 4@lane 4@reg"), Layout.parse("d0 = 2@d0:8, d1 = 4@d0:2 | replicas 2@d0")))
    d0 = 2@lane:2, d1 = 2@lane 2@reg:2 | replicas 2@reg
    """
    if not (isinstance(outer, Relation) and isinstance(inner, Relation)):  # pyright: ignore[reportUnnecessaryIsInstance]
        as_layout(outer, "compose: outer")
        as_layout(inner, "compose: inner")
    if outer.flips is not None or inner.flips is not None:
        return xor_operations.compose(outer.canonical(), inner.canonical())
    outer, inner = _settled(outer), _settled(inner)
    axes = {n: _Axis(n, f, o) for n, f, o in zip(outer.names, outer.dims, outer.origins, strict=True)}
    starts = outer.offsets
    given = inner.offsets
    for axis in given:
        if axis not in axes:
            _refuse(outer, inner, f"axis {axis!r} of the inner layout is not a dimension of the outer one")
    for axis in axes.values():
        start = given.get(axis.name, 0) - axis.origin
        if start:
            _take_start(outer, inner, axis, start, starts)
    dims = tuple(_through(outer, inner, axes, factors) for factors in inner.dims)
    replicas = _through(outer, inner, axes, inner.replicas) if inner.replicas else ()
    return outer.of_parts(
        dims,
        (*(f for f in replicas if f.axis is not None), *outer.replicas) if replicas else outer.replicas,
        tuple(sorted((a, o) for a, o in starts.items() if o)) if starts else (),
        inner.names,
        inner.origins,
        outer.codomain_order,
    )


def _settled(layout: _L) -> _L:
    """The layout with its factors joined, so that equal layouts compose alike."""
    if len(layout.replicas) > 1:
        return layout.canonical()
    for factors in layout.dims:
        if len(factors) > 1:
            above: str | None = ""
            step: Extent = 0
            for extent, stride, axis in factors:
                if extent == 1 or (axis == above and step == extent * stride):
                    return layout.canonical()
                above, step = axis, stride
    return layout


def _take_start(outer: Relation, inner: Relation, axis: _Axis, start: int, starts: dict[str, int]) -> None:
    """Spend the digits of a constant start on the outer axis."""
    if start < 0 or (type(axis.size) is int and start >= axis.size):
        _refuse(outer, inner, f"the inner layout starts at {start + axis.origin}, outside dimension {axis.name!r}")
    rest = start
    for k, factor in enumerate(axis.factors):
        if not rest:
            break
        if type(factor.extent) is not int:
            _refuse(outer, inner, f"a start of {start} in the symbolic factor {factor} of {axis.name!r}")
        rest, digit = divmod(rest, factor.extent)
        axis.free[k] -= digit
        if factor.axis is not None and digit:
            starts[factor.axis] = starts.get(factor.axis, 0) + digit * factor.stride


def _through(
    outer: Relation, inner: Relation, axes: dict[str, _Axis], factors: tuple[Factor, ...]
) -> tuple[Factor, ...]:
    """The factors of `inner` in terms of what `outer` does with them."""
    result: list[Factor] = []
    for factor in factors:
        extent, stride, name = factor
        if extent == 1:
            continue
        if name is None:
            result.append(factor)
            continue
        axis = axes.get(name)
        if axis is None:
            _refuse(outer, inner, f"axis {name!r} of the inner layout is not a dimension of the outer one")
        if axis.numeric and type(extent) is int and type(stride) is int:
            # The usual factor is a part of one outer factor; the loop below would find the same, more slowly.
            k = bisect_right(axis.places, stride) - 1
            digit, beyond = divmod(stride, axis.places[k])
            free = axis.free[k] - (extent - 1) * digit
            if not beyond and free >= 0:
                axis.free[k] = free
                _, step, along = axis.factors[k]
                result.append(Factor(extent) if along is None else _new(Factor, (extent, digit * step, along)))
                continue
        with SYMPY:
            result += _split(outer, inner, axis, factor)
    return tuple(result)


def _split(outer: Relation, inner: Relation, axis: _Axis, factor: Factor) -> list[Factor]:
    """One factor of `inner`, split where it passes from one factor of the outer dimension to the next."""
    extent, stride, name = factor
    pieces: list[Factor] = []
    while True:
        k = _factor_at(axis.places, stride)
        last = k + 1 >= len(axis.places)
        whole = last or _fits(extent, stride, axis.places[k + 1])
        if whole:
            part, rest = extent, 1
        else:
            part = exact_quotient(axis.places[k + 1], stride)
            rest = None if part is None else exact_quotient(extent, part)
            if part is None or rest is None:
                _refuse(outer, inner, f"factor {factor} cannot be split at {axis.places[k + 1]} of {name!r}")
        pieces.append(_move(outer, inner, axis, k, part, stride, factor))
        if whole:
            break
        extent, stride = rest, axis.places[k + 1]
    pieces.reverse()
    return pieces


def _factor_at(places: list[Extent], stride: Extent) -> int:
    """The most significant outer factor that a step of `stride` moves."""
    k = len(places) - 1
    while k > 0 and not (
        places[k] <= stride if type(stride) is int and type(places[k]) is int else _covers(stride, places[k])
    ):
        k -= 1
    return k


def _covers(stride: Extent, place: Extent) -> bool:
    """Whether a symbolic `stride` is a multiple of `place` for all values of the symbols."""
    quotient = exact_quotient(stride, place)
    return quotient is not None and (type(quotient) is int or not conditions([quotient]))


def _fits(extent: Extent, stride: Extent, place: Extent) -> bool:
    """Whether `extent` steps of `stride` stay below `place`."""
    if type(extent) is int and type(stride) is int and type(place) is int:
        return (extent - 1) * stride < place
    return _covers(place, multiply(extent, stride))


def _move(
    outer: Relation, inner: Relation, axis: _Axis, k: int, part: Extent, stride: Extent, factor: Factor
) -> Factor:
    """One piece of an inner factor: how far it moves the outer factors up to `k`, and with them the outer axes."""
    move: Extent = 0
    along: str | None = None
    rest = stride
    while k >= 0 and axis.factors:
        digit = exact_quotient(rest, axis.places[k])
        if digit is None or (type(digit) is not int and not _covers(rest, axis.places[k])):
            if type(rest) is not int or type(axis.places[k]) is not int:
                _refuse(outer, inner, f"{extent_text(axis.places[k])} need not divide the stride of {factor}")
            digit = rest // axis.places[k]
        target = axis.factors[k]
        if digit != 0:
            free = axis.free[k] - (part - 1) * digit
            axis.free[k] = free
            if (free < 0) if type(free) is int else not _not_negative(free):
                _refuse(outer, inner, f"factor {factor} carries over the end of factor {target} of {axis.name!r}")
            if target.axis is not None:
                if along is not None and along != target.axis:
                    _refuse(outer, inner, f"factor {factor} moves along {along!r} and {target.axis!r} at once")
                along = target.axis
                move = move + digit * target.stride
        rest = rest - digit * axis.places[k]
        if rest == 0:
            break
        k -= 1
    if rest != 0:
        _refuse(outer, inner, f"factor {factor} reaches outside dimension {axis.name!r} of size {axis.size}")
    return Factor(part) if along is None else Factor(part, multiply(move, 1), along)


def _not_negative(value: Extent) -> bool:
    """Whether a symbolic expression in positive symbols is provably at least 0."""
    return value == 0 or bool(value.is_nonnegative)


def _refuse(outer: Relation, inner: Relation, problem: str) -> NoReturn:
    raise CompositionError(f"compose: {problem} (outer {outer}; inner {inner})")
