"""What a layout is made of: the factors of each dimension, replicas, offsets, names; and when two of them are the same.

A `Relation` is a `Layout` without its operations. The algebra, the views and the maps are written in terms of it;
`Layout` (core.layout) adds their methods, and is the one class that anybody makes.

>>> one, other = Layout.parse("d0 = 4@reg:2 2@reg 1@sg"), Layout.parse("d0 = 8@reg")
>>> one == other, one.canonical()
(True, Layout.parse('d0 = 8@reg'))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn, Self

from layoutalg.core.errors import LayoutError
from layoutalg.core.extents import Condition, Extent, conditions, multiply
from layoutalg.core.factors import (
    Factor,
    FactorLike,
    as_factor,
    as_name,
    as_whole,
    default_names,
    merge_factors,
    natural_order,
    size_of,
)
from layoutalg.core.replicas import merge_replicas, same_replicas
from layoutalg.core.text import LayoutParts, layout_text

__all__ = ["MACHINE", "Relation"]

MACHINE = ("sg", "lane", "reg")
"""The axes of a GPU's machine, outermost first: subgroup, lane, register."""


class Relation:
    """The data of a layout: immutable, hashable, `==` by meaning (see `Layout` for the arguments).

    >>> Layout.parse("d0 = 4@lane") == Layout.parse("d0 = 2@lane:2 2@lane")
    True
    """

    __slots__ = ("_canonical", "_codomain", "_offsets", "_origins", "dims", "names", "replicas")

    dims: tuple[tuple[Factor, ...], ...]
    """The factors of each dimension, major to minor."""
    names: tuple[str, ...]
    """The dimensions' names."""
    replicas: tuple[Factor, ...]
    """The factors that belong to no dimension: an element lives at all of their values."""
    _offsets: tuple[tuple[str, int], ...]
    _origins: tuple[int, ...]
    _codomain: tuple[str, ...] | None
    _canonical: Self | None

    def __init__(
        self,
        dims: Iterable[Iterable[FactorLike]],
        replicas: Iterable[FactorLike] = (),
        offsets: Mapping[str, int] | Iterable[tuple[str, int]] = (),
        *,
        names: Iterable[str] | None = None,
        origins: Iterable[int] | None = None,
        codomain: Iterable[str] | None = None,
    ) -> None:
        checked = tuple(tuple(as_factor(f) for f in factors) for factors in dims)
        rank = len(checked)
        moves = tuple(as_factor(f) for f in replicas)
        for factor in moves:
            if factor.axis is None and factor.extent != 1:
                raise LayoutError(f"replica {factor}: a replica needs an axis to be repeated along")
        starts = (0,) * rank if origins is None else tuple(as_whole(o, "origin") for o in origins)
        labels = default_names(rank) if names is None else tuple(as_name(n, "dimension") for n in names)
        if len(labels) != rank or len(starts) != rank:
            raise LayoutError(f"{rank} dimensions with {len(labels)} names and {len(starts)} origins")
        if len(set(labels)) != rank:
            raise LayoutError(f"dimension names {list(labels)}: a name stands twice")
        pairs = dict(offsets)
        kept = tuple(sorted((as_name(a, "axis"), as_whole(o, f"offset of {a}")) for a, o in pairs.items() if o))
        order = None if codomain is None else tuple(as_name(a, "axis") for a in codomain)
        _fill(self, checked, moves, kept, labels, starts, order)

    @classmethod
    def of_parts(
        cls,
        dims: tuple[tuple[Factor, ...], ...],
        replicas: tuple[Factor, ...],
        offsets: tuple[tuple[str, int], ...],
        names: tuple[str, ...],
        origins: tuple[int, ...],
        codomain: tuple[str, ...] | None = None,
    ) -> Self:
        """A layout from all its parts, as another layout has them: nothing is checked.

        >>> Layout.of_parts(((Factor(16, 1, "lane"),),), (), (("addr", 64),), ("row",), (0,))
        Layout.parse('row = 16@lane | offset 64@addr')
        """
        layout = object.__new__(cls)
        _fill(layout, dims, replicas, offsets, names, origins, codomain)
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
        _fill(layout, dims, replicas, (), default_names(len(dims)), (0,) * len(dims), None)
        if merged:
            _set(layout, "_canonical", layout)
        return layout

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot delete {name}")

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.dims, self.replicas, self._offsets, self.names, self._origins, self._codomain)
        return type(self).of_parts, parts

    def __str__(self) -> str:
        return layout_text(LayoutParts(self.dims, self.replicas, dict(self._offsets), self.names, self._origins))

    def __repr__(self) -> str:
        return f"Layout.parse({str(self)!r})"

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
        others = used.difference(MACHINE)
        if not others:
            return MACHINE
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
        return {axis: spans[axis] for axis in self.codomain if axis in spans}

    def spans(self) -> dict[str, Extent]:
        """How far the layout reaches along each axis that it moves along: 1 + the largest move, offsets left out.

        >>> Layout.parse("d0 = 4@addr:10, d1 = 8@addr").spans()
        {'addr': 38}
        """
        spans: dict[str, Extent] = {}
        for factors in (*self.dims, self.replicas):
            for extent, stride, axis in factors:
                if axis is not None and extent != 1:
                    spans[axis] = spans.get(axis, 1) + (extent - 1) * stride
        return {a: s if type(s) is int else multiply(s, 1) for a, s in spans.items()}

    @property
    def fragment_shape(self) -> tuple[Extent, ...]:
        """The shape of one work-item's vector: per dimension, how many values its register digits take.

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
        values = (v for factors in (*self.dims, self.replicas) for f in factors for v in (f.extent, f.stride))
        return conditions(values)

    # Sameness

    def canonical(self) -> Self:
        """The one form of this relation: neighbouring digits that form one are merged, extents of 1 dropped.

        >>> Layout.parse("d0 = 4@reg:2 2@reg 1@sg | replicas 2@lane:2 2@lane").canonical()
        Layout.parse('d0 = 8@reg | replicas 4@lane')
        """
        found = self._canonical
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
        if a.dims != b.dims or a._offsets != b._offsets or a.names != b.names or a._origins != b._origins:
            return False
        return a.replicas == b.replicas or same_replicas(a.replicas, b.replicas)

    def __hash__(self) -> int:
        form = self.canonical()
        # Replicas whose digits overlap can write one set in two ways; what they have in common is how far they reach.
        reach = tuple(sorted(self.of_parts((), form.replicas, (), (), ()).spans().items()))
        return hash((form.dims, form._offsets, form.names, form._origins, reach))


_set = object.__setattr__


def _fill(
    layout: Relation,
    dims: tuple[tuple[Factor, ...], ...],
    replicas: tuple[Factor, ...],
    offsets: tuple[tuple[str, int], ...],
    names: tuple[str, ...],
    origins: tuple[int, ...],
    codomain: tuple[str, ...] | None,
) -> None:
    _set(layout, "dims", dims)
    _set(layout, "replicas", replicas)
    _set(layout, "_offsets", offsets)
    _set(layout, "names", names)
    _set(layout, "_origins", origins)
    _set(layout, "_codomain", codomain)
    _set(layout, "_canonical", None)
