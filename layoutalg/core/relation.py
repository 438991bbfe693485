"""What a layout is made of: the factors of each dimension, replicas, offsets, names; and when two of them are the same.

A `Relation` is a `Layout` without its operations. The algebra, the views and the maps are written in terms of it;
`Layout` (core.layout) adds their methods, and is the one class that users construct.

>>> one, other = Layout.parse("d0 = 4@reg:2 2@reg 1@sg"), Layout.parse("d0 = 8@reg")
>>> one == other, one.canonical()
(True, Layout.parse('d0 = 8@reg'))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Self

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.extents import Condition, Extent, add, conditions, multiply
from layoutalg.core.factors import (
    Factor,
    FactorLike,
    Place,
    XorFactor,
    XorFoundError,
    as_name,
    as_places,
    merge_factors,
    natural_order,
    size_of,
)
from layoutalg.core.given import (
    MACHINE,
    default_labels,
    given_factors,
    given_labels,
    given_replicas,
    given_starts,
    known_factors,
    readable_again,
)
from layoutalg.core.messages import shown
from layoutalg.core.replicas import merge_replicas, same_replicas
from layoutalg.core.text import LayoutParts, layout_text
from layoutalg.core.whole_numbers import listed
from layoutalg.core.xor.digits import spans as xor_spans
from layoutalg.core.xor.forms import canonical_form, equality_form, plain_replicas

__all__ = ["MACHINE", "Relation", "as_layout"]

_NONE: tuple[tuple[str, int], ...] = ()


class _Unfinished:
    """The parts of a relation while they are put in: plain assignments, which a relation refuses, take a third of the time."""

    __slots__ = ("_canonical", "_codomain", "_offsets", "_origins", "_working", "dims", "flips", "names", "replicas")


class Relation(_Unfinished):
    """The data of a layout: immutable, hashable, `==` by meaning (see `Layout` for the arguments).

    >>> Layout.parse("d0 = 4@lane") == Layout.parse("d0 = 2@lane:2 2@lane")
    True
    """

    __slots__ = ()

    dims: tuple[tuple[Factor, ...], ...]
    """The factors of each dimension, major to minor."""
    names: tuple[str, ...]
    """The dimensions' names."""
    replicas: tuple[Factor, ...]
    """The factors that belong to no dimension: an element lives at all of their values."""
    flips: tuple[Place, ...] | None
    """The places that are flipped for all elements; None for a layout without XOR (see `layoutalg.core.xor`)."""
    _offsets: tuple[tuple[str, int], ...]
    _origins: tuple[int, ...]
    _codomain: tuple[str, ...] | None
    _canonical: Self | None
    _working: dict[str, Any]
    """What `core.xor` works with, made once; only a layout with XOR has it."""

    def __init__(
        self,
        dims: Iterable[Iterable[FactorLike]],
        replicas: Iterable[FactorLike] = (),
        offsets: Mapping[str, int] | Iterable[tuple[str, int]] = _NONE,
        *,
        names: Iterable[str] | None = None,
        origins: Iterable[int] | None = None,
        codomain: Iterable[str] | None = None,
        flips: Iterable[Place] | None = None,
    ) -> None:
        plain = replicas is _NONE and offsets is _NONE and names is origins is codomain is flips is None
        if plain and (known := known_factors(dims)) is not None:
            _fill(self, known, (), (), *default_labels(len(known)), None)
            return
        if flips is None:  # read a second time where a factor flips places
            dims = readable_again(dims)
            if replicas is not _NONE and not isinstance(replicas, (list, tuple)):
                replicas = listed(replicas, "replicas")
        try:
            checked = given_factors(dims, flips is not None)
            copies = () if replicas is _NONE else given_replicas(replicas, flips is not None)
        except XorFoundError as found:
            if type(found.args[0]) is XorFactor:  # taken from a layout, whose flips would be lost
                raise LayoutError(
                    f"{found.args[0]} flips places (XOR): expected the layout's flips beside it"
                ) from None
            flips = ()
            checked, copies = given_factors(dims, True), given_replicas(replicas, True)
        if names is None and origins is None:
            labels, starts = default_labels(len(checked))
        else:
            labels, starts = given_labels(len(checked), names, origins)
        kept = () if offsets is _NONE else given_starts(offsets)
        order = None if codomain is None else tuple([as_name(a, "axis") for a in listed(codomain, "codomain")])
        if flips is None:
            _fill(self, checked, copies, kept, labels, starts, order)
            return
        _fill(self, checked, copies, kept, labels, starts, order, tuple(as_places(flips)))
        form = self.canonical()  # every flipped place has a factor that says so, and equal layouts answer alike
        _fill(self, form.dims, form.replicas, form._offsets, labels, starts, order, form.flips)
        _set(self, "_working", {})
        _set(self, "_canonical", form)

    @classmethod
    def of_parts(
        cls,
        dims: tuple[tuple[Factor, ...], ...],
        replicas: tuple[Factor, ...],
        offsets: tuple[tuple[str, int], ...],
        names: tuple[str, ...],
        origins: tuple[int, ...],
        codomain: tuple[str, ...] | None = None,
        flips: tuple[Place, ...] | None = None,
    ) -> Self:
        """A layout from all its parts, as another layout has them: nothing is checked; one with XOR is in canonical form.

        >>> Layout.of_parts(((Factor(16, 1, "lane"),),), (), (("addr", 64),), ("row",), (0,))
        Layout.parse('row = 16@lane | offset 64@addr')
        """
        layout = cls.as_written(dims, replicas, offsets, names, origins, codomain, flips)
        return layout if flips is None else layout.canonical()

    @classmethod
    def as_written(
        cls,
        dims: tuple[tuple[Factor, ...], ...],
        replicas: tuple[Factor, ...],
        offsets: tuple[tuple[str, int], ...],
        names: tuple[str, ...],
        origins: tuple[int, ...],
        codomain: tuple[str, ...] | None = None,
        flips: tuple[Place, ...] | None = None,
    ) -> Self:
        """What `of_parts` makes, left as it is; operations on XOR put it into canonical form before they give it away.

        >>> Layout.as_written(((Factor(16, 1, "lane"),),), (), (), ("row",), (0,))
        Layout.parse('row = 16@lane')
        """
        layout = object.__new__(cls)
        _fill(layout, dims, replicas, offsets, names, origins, codomain, flips)
        return layout

    @classmethod
    def trusted(
        cls, dims: tuple[tuple[Factor, ...], ...], replicas: tuple[Factor, ...] = (), *, merged: bool = False
    ) -> Self:
        """A layout from parts that an adapter knows to be sound: nothing is checked; `merged` if they are canonical.

        >>> Layout.trusted(((Factor(16, 1, "lane"),),), merged=True)
        Layout.parse('d0 = 16@lane')
        """
        layout = object.__new__(cls)
        _fill(layout, dims, replicas, (), *default_labels(len(dims)), None)
        if merged:
            _set(layout, "_canonical", layout)
        return layout

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot delete {name}")

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.dims, self.replicas, self._offsets, self.names, self._origins, self._codomain, self.flips)
        return type(self).as_written, parts

    def __str__(self) -> str:
        starts = dict(self._offsets)
        return layout_text(LayoutParts(self.dims, self.replicas, starts, self.names, self._origins, self.flips or ()))

    def __repr__(self) -> str:
        return f"Layout.parse({str(self)!r})"

    @property
    def kept(self) -> dict[str, Any]:
        """What was worked out about it and is kept: digits and columns of a layout with XOR (`core.lazy.once`).

        >>> Layout.parse("d0 = 8@lane").kept
        {}
        """
        try:
            return self._working
        except AttributeError:
            _set(self, "_working", {})
            return self._working

    @property
    def rank(self) -> int:
        """The number of dimensions.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").rank
        2
        """
        return len(self.dims)

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The size of each dimension, in elements.

        >>> Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").shape
        (32, 64)
        """
        return tuple(size_of(factors) for factors in self.dims)

    @property
    def offsets(self) -> dict[str, int]:
        """Where the layout starts on a codomain axis; axes that start at 0 are left out.

        >>> Layout.parse("d0 = 8@addr | offset 64@addr").offsets
        {'addr': 64}
        """
        return dict(self._offsets)

    @property
    def origins(self) -> tuple[int, ...]:
        """The lowest coordinate of each dimension: 0, but for the inverse of a layout with an offset.

        >>> Layout.parse("d0 = 8@addr | offset 64@addr").inverse().origins
        (64,)
        """
        return self._origins

    @property
    def codomain(self) -> tuple[str, ...]:
        """The codomain's axes, in order: those of the machine (all three, if any is used), then the others by name.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").codomain
        ('sg', 'lane', 'reg')
        """
        return self._codomain or self.codomain_of({*self.spans(), *self.offsets})

    @property
    def codomain_order(self) -> tuple[str, ...] | None:
        """The order of the codomain's axes that the layout was given; None for the usual one.

        >>> Layout.parse("d0 = 8@reg").codomain_order
        """
        return self._codomain

    def codomain_of(self, used: set[str]) -> tuple[str, ...]:
        """The order of `codomain` for the axes in `used`.

        >>> Layout([[]]).codomain_of({"row", "col"})
        ('col', 'row')
        """
        if self._codomain is not None:
            return self._codomain
        if not isinstance(used, set):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"axes {shown(used)}: expected a set of names, such as {{'lane', 'reg'}}")
        others = used.difference(MACHINE)
        if not others:
            return MACHINE
        for axis in others:
            as_name(axis, "axis")
        return ((*MACHINE,) if len(others) < len(used) else ()) + tuple(sorted(others, key=natural_order))

    @property
    def axes(self) -> dict[str, Extent]:
        """The extent of each codomain axis that the layout moves along or is offset on, in the order of `codomain`.

        >>> Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").axes
        {'sg': 8, 'lane': 16, 'reg': 16}
        """
        spans = self.spans()
        for axis, _ in self._offsets:
            spans.setdefault(axis, 1)
        return {axis: spans[axis] for axis in self.codomain_of({*spans}) if axis in spans}

    def spans(self) -> dict[str, Extent]:
        """How far the layout reaches along each axis that it moves along: 1 + the largest move, offsets left out.

        >>> Layout.parse("d0 = 4@addr:10, d1 = 8@addr").spans()
        {'addr': 38}
        """
        if self.flips is not None:
            return dict(xor_spans(self))
        spans: dict[str, Extent] = {}
        for factors in (*self.dims, self.replicas):
            for extent, stride, axis in factors:
                if axis is None or extent == 1:
                    continue
                if type(extent) is int and type(stride) is int:
                    spans[axis] = spans.get(axis, 1) + (extent - 1) * stride
                else:
                    spans[axis] = add(spans.get(axis, 1), multiply(add(extent, -1), stride))
        return {a: s if type(s) is int else multiply(s, 1) for a, s in spans.items()}

    @property
    def fragment_shape(self) -> tuple[Extent, ...]:
        """The shape of one work-item's vector: per dimension, how many values its register factors take.

        >>> Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").fragment_shape
        (16, 1)
        """
        return tuple(size_of(tuple(f for f in factors if f.axis == "reg")) for factors in self.dims)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What must divide what for a symbolic layout to exist; empty for one with numbers only.

        >>> [str(c) for c in Layout.parse("d0 = M/16@reg 16@lane").conditions]
        ['16 divides M']
        """
        if self.flips is not None:
            return ()
        values = (v for factors in (*self.dims, self.replicas) for f in factors for v in (f.extent, f.stride))
        return conditions(values)

    def require_numbers(self, before: str) -> None:
        """Refuse a layout that has symbols; `before` is what cannot be done with them.

        >>> Layout.parse("d0 = M@reg").require_numbers("asking for a map")
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: d0 = M@reg has symbols; put numbers for them with substitute() before
        asking for a map
        """
        if any(type(value) is not int for factors in (*self.dims, self.replicas) for f in factors for value in f[:2]):
            raise LayoutError(f"{self} has symbols; put numbers for them with substitute() before {before}")

    def require_strides(self, who: str) -> None:
        """Refuse a layout with XOR; `who` takes layouts whose factors have strides alone.

        >>> Layout.parse("d0 = 2@(lane^reg) 2@lane").require_strides("a nested layout")
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: 2@(lane^reg) flips places (XOR), and a nested layout has strides alone (in
        d0 = 2@(lane^reg) 2@(lane))
        """
        if self.flips is not None:
            factors = (f for dim in (*self.dims, self.replicas) for f in dim)
            first = next((str(f) for f in factors if type(f) is XorFactor), "it")
            raise ConversionError(f"{first} flips places (XOR), and {who} has strides alone (in {self})")

    # Sameness

    def canonical(self) -> Self:
        """The one form of this relation: neighbouring factors that form one are merged, extents of 1 dropped.

        >>> Layout.parse("d0 = 4@reg:2 2@reg 1@sg | replicas 2@lane:2 2@lane").canonical()
        Layout.parse('d0 = 8@reg | replicas 4@lane')
        """
        found = self._canonical
        if found is None and self.flips is not None:
            found = canonical_form(self)
            found = found if found.flips is not None else found.canonical()
            _set(found, "_canonical", found)
            _set(self, "_canonical", found)
        if found is None:
            dims = tuple(merge_factors(factors) for factors in self.dims)
            replicas = merge_replicas(self.replicas) if self.replicas else ()
            found = self.of_parts(dims, replicas, self._offsets, self.names, self._origins, self._codomain)
            _set(found, "_canonical", found)
            _set(self, "_canonical", found)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Relation):
            return NotImplemented
        if self is other:
            return True
        a, b = self._canonical or self.canonical(), other._canonical or other.canonical()
        if a.flips is not None or b.flips is not None:
            return _same_with_xor(a, b)
        if a.dims != b.dims or a._offsets != b._offsets or a.names != b.names or a._origins != b._origins:
            return False
        return a.replicas == b.replicas or same_replicas(a.replicas, b.replicas)

    def __hash__(self) -> int:
        form = self.canonical()
        replicas = form.replicas
        if form.flips is not None:
            form = equality_form(form)
            replicas, _ = plain_replicas(form)
        # Replicas whose factors overlap can write one set in two ways; what they have in common is how far they reach.
        reach = tuple(sorted(self.of_parts((), replicas, (), (), ()).spans().items()))
        return hash((form.dims, form._offsets, form.names, form._origins, reach))


def _same_with_xor(a: Relation, b: Relation) -> bool:
    """Whether two canonical layouts are equal, of which one or both have XOR."""
    if a.flips is None or b.flips is None:
        return False
    a, b = equality_form(a), equality_form(b)
    if (a.dims, a.offsets, a.names, a.origins, a.flips) != (b.dims, b.offsets, b.names, b.origins, b.flips):
        return False
    (counted, flipping), (others, other) = plain_replicas(a), plain_replicas(b)
    return flipping == other and same_replicas(counted, others)


_set = object.__setattr__
_become: Callable[[object, type], None] = vars(object)["__class__"].__set__


_PARTS = ("flips", "dims", "replicas", "_offsets", "names", "_origins", "_codomain", "_canonical")


def _fill(
    layout: Relation,
    dims: tuple[tuple[Factor, ...], ...],
    replicas: tuple[Factor, ...],
    offsets: tuple[tuple[str, int], ...],
    names: tuple[str, ...],
    origins: tuple[int, ...],
    codomain: tuple[str, ...] | None,
    flips: tuple[Place, ...] | None = None,
) -> None:
    parts: Any = layout
    kind = layout.__class__
    try:
        _become(parts, _Unfinished)
    except TypeError:  # a subclass has a dictionary, or slots of its own
        for name, value in zip(_PARTS, (flips, dims, replicas, offsets, names, origins, codomain, None), strict=True):
            _set(layout, name, value)
        return
    parts.flips = flips
    parts.dims = dims
    parts.replicas = replicas
    parts._offsets = offsets
    parts.names = names
    parts._origins = origins
    parts._codomain = codomain
    parts._canonical = None
    parts.__class__ = kind


def as_layout(value: object, what: str = "layout") -> None:
    """Refuse what is not a layout."""
    if not isinstance(value, Relation):
        raise LayoutError(f'{what} {shown(value)}: expected a Layout, such as Layout.parse("d0 = 16@lane")')
