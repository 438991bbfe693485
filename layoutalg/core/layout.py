"""A `Layout`: how the coordinates of one space are spread over the coordinates of another.

The usual domain is a tensor (`d0`, `d1`, ...), the usual codomain the machine (`sg`, `lane`, `reg`). A 32x64 tile over
2 x 4 subgroups of 16 lanes, each lane holding a column of 16 rows, is

    d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane

Read it as digits, most significant first. Row 21 is 1*16 + 5: digit 1 moves 1*4 along `sg`, digit 5 moves 5 along
`reg`. Column 50 is 3*16 + 2: digit 3 moves 3 along `sg`, digit 2 moves 2 along `lane`. So element (21, 50) lives in
subgroup 7, lane 2, register 5:

>>> tile = Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
>>> tile.owners((21, 50))
[(7, 2, 5)]

A **factor** is one digit: `extent@axis:stride` (a stride of 1 is left out; `4@_` is a digit that the codomain ignores).
Each dimension owns its factors, major to minor; their extents multiply to its size. **Replicas** are digits that belong
to no dimension: the element lives at all of their values. A layout may also start at an **offset** of a codomain axis,
and its dimensions may start at an **origin** other than 0 (an offset, seen from the other side):

    L(x) = { offset + sum_j digit_j(x - origin) * stride_j + sum_r t_r * stride_r : 0 <= t_r < extent_r }

Two laws hold everything together. `canonical()` merges what is one digit, and two layouts are the same relation exactly
when their canonical forms are equal (that is `==`). `inverse()` swaps the two sides, and is an involution:

>>> tile.inverse()
Layout.parse('sg = 2@d0:16 4@d1:16, lane = 16@d1, reg = 16@d0')
>>> tile.inverse().inverse() == tile
True

A coordinate that a layout does not mention is 0: a layout without `sg` lives in subgroup 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from layoutalg.core.errors import LayoutError
from layoutalg.core.extents import Condition, Extent, multiply
from layoutalg.core.factors import (
    Factor,
    FactorLike,
    as_factor,
    as_name,
    as_whole,
    default_names,
    merge_digits,
    merge_replicas,
    natural_order,
    same_replicas,
    size_of,
)
from layoutalg.core.notation import Machine, Notation, one_operand, own_sizes

if TYPE_CHECKING:
    from layoutalg.core.fragments import Indices, Selection
    from layoutalg.core.notation import Operand

__all__ = ["MACHINE", "Layout"]

MACHINE = ("sg", "lane", "reg")
"""The axes of a GPU's machine, outermost first: subgroup, lane, register."""


class Layout(Notation):
    """An exact relation between two spaces of named integer coordinates; immutable, hashable, `==` by meaning.

    `dims` are the factors of each dimension, major to minor; `replicas` the digits tied to none; `offsets` a start per
    codomain axis; `names` the dimensions' names (`d0`, `d1`, ... unless given); `origins` where each dimension starts;
    `codomain` an order of the codomain's axes (sg, lane, reg, then the others by name, unless given).

    Raises `LayoutError` for an extent or stride that is no whole number, an extent below 1 or over 2^31, a negative
    stride, names that are no identifiers or stand twice.

    >>> Layout([[(2, 4, "sg"), (16, 1, "reg")], [(4, 1, "sg"), (16, 1, "lane")]])
    Layout.parse('d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane')
    """

    __slots__ = ("_canonical", "_codomain", "_offsets", "_origins", "dims", "names", "replicas")

    dims: tuple[tuple[Factor, ...], ...]
    """The factors of each dimension, major to minor."""
    names: tuple[str, ...]
    """The dimensions' names."""
    replicas: tuple[Factor, ...]
    """The digits that belong to no dimension: an element lives at all of their values."""
    _offsets: tuple[tuple[str, int], ...]
    _origins: tuple[int, ...]
    _codomain: tuple[str, ...] | None
    _canonical: Layout | None

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
    def _make(
        cls,
        dims: tuple[tuple[Factor, ...], ...],
        replicas: tuple[Factor, ...],
        offsets: tuple[tuple[str, int], ...],
        names: tuple[str, ...],
        origins: tuple[int, ...],
        codomain: tuple[str, ...] | None = None,
    ) -> Layout:
        """A layout from parts that are known to be sound: no checks."""
        layout = object.__new__(cls)
        _fill(layout, dims, replicas, offsets, names, origins, codomain)
        return layout

    @classmethod
    def trusted(
        cls, dims: tuple[tuple[Factor, ...], ...], replicas: tuple[Factor, ...] = (), *, merged: bool = False
    ) -> Layout:
        """A layout from parts that an adapter knows to be sound: nothing is checked; `merged` if they are canonical.

        >>> Layout.trusted(((Factor(16, 1, "lane"),),), merged=True)
        Layout.parse('d0 = 16@lane')
        """
        layout = object.__new__(cls)
        _fill(layout, dims, replicas, (), default_names(len(dims)), (0,) * len(dims), None)
        if merged:
            _set(layout, "_canonical", layout)
        return layout

    @staticmethod
    def parse(text: str) -> Layout:
        """Read the text form that `str` prints.

        Raises `ParseError` with line and column.

        >>> Layout.parse("d0 = 8@lane, d1 = 4@reg | replicas 2@lane:8 | offset 3@sg").axes
        {'sg': 1, 'lane': 16, 'reg': 4}
        """
        from layoutalg.core.text import parse_layout

        return parse_layout(text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Layout is immutable: cannot delete {name}")

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.dims, self.replicas, self._offsets, self.names, self._origins, self._codomain)
        return Layout._make, parts

    def __str__(self) -> str:
        from layoutalg.core.text import layout_text

        return layout_text(self)

    def __repr__(self) -> str:
        return f"Layout.parse({str(self)!r})"

    # What it is

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
        from layoutalg.core.extents import conditions

        values = (v for factors in (*self.dims, self.replicas) for f in factors for v in (f.extent, f.stride))
        return conditions(values)

    def substitute(self, **numbers: int) -> Layout:
        """Put numbers for symbols.

        Raises `LayoutError` naming the condition that fails.

        >>> Layout.parse("d0 = M/16@reg 16@lane").substitute(M=48)
        Layout.parse('d0 = 3@reg 16@lane')
        """
        from layoutalg.core import views

        return views.substitute(self, numbers)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout itself; a layout says its machine, so `machine` changes nothing.

        Raises `DistributionError` for another shape than its own.

        >>> Layout.parse("d0 = 4@lane").operands()[0].name
        'd0 = 4@lane'
        """
        return one_operand(self, self.layout(shape))

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """The layout itself (see `Notation.layout`).

        Raises `DistributionError` for another shape than its own.

        >>> Layout.parse("d0 = 4@lane").layout((4,))
        Layout.parse('d0 = 4@lane')
        """
        if shape is not None:
            own_sizes(self, self.shape, shape)
        return self

    # Sameness

    def canonical(self) -> Layout:
        """The one form of this relation: neighbouring digits that form one are merged, extents of 1 dropped.

        >>> Layout.parse("d0 = 4@reg:2 2@reg 1@sg | replicas 2@lane:2 2@lane").canonical()
        Layout.parse('d0 = 8@reg | replicas 4@lane')
        """
        found = self._canonical
        if found is None:
            dims = tuple(merge_digits(factors) for factors in self.dims)
            replicas = merge_replicas(self.replicas) if self.replicas else ()
            found = Layout._make(dims, replicas, self._offsets, self.names, self._origins, self._codomain)
            _set(found, "_canonical", found)
            _set(self, "_canonical", found)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
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
        reach = tuple(sorted(Layout._make((), form.replicas, (), (), ()).spans().items()))
        return hash((form.dims, form._offsets, form.names, form._origins, reach))

    # The algebra

    def inverse(self) -> Layout:
        """The same relation read from the other side: replicas and axis-less digits change places.

        Raises `LayoutError` for an axis with a gap or an overlap, naming it.

        >>> Layout.parse("d0 = 8@lane 4@_ | replicas 2@lane:8").inverse()
        Layout.parse('sg = 1, lane = 2@_ 8@d0:4, reg = 1 | replicas 4@d0')
        """
        return _algebra.inverse(self)

    def __mul__(self, inner: Layout) -> Layout:
        """The block product: this layout places blocks, `inner` the elements inside each.

        `(A * B)(x) = A(x // shape B) + B(x % shape B)`, the strides of A on an axis scaled by B's extent on it.
        Associative; the layout of shape (1, ..., 1) is its identity.

        >>> Layout.parse("d0 = 2@sg, d1 = 4@sg:2") * Layout.parse("d0 = 16@reg, d1 = 16@lane")
        Layout.parse('d0 = 2@sg 16@reg, d1 = 4@sg:2 16@lane')
        """
        if not isinstance(inner, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return _algebra.block_product(self, inner)

    # Views: each is a layout composed in front (see core.views)

    def permute(self, order: Sequence[int]) -> Layout:
        """Reorder the dimensions: dimension i of the result is dimension `order[i]` of this one.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").permute((1, 0))
        Layout.parse('d0 = 16@lane, d1 = 8@reg')
        """
        from layoutalg.core import views

        return views.permute(self, order)

    def reshape(self, shape: Sequence[Extent]) -> Layout:
        """The same elements, row-major, in another shape.

        Raises `CompositionError` where the digits of the two shapes have no common refinement.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").reshape((2, 64))
        Layout.parse('d0 = 2@reg:4, d1 = 4@reg 16@lane')
        """
        from layoutalg.core import views

        return views.reshape(self, shape)

    def slice(self, dim: int) -> Layout:
        """Drop a dimension: its subgroups and lanes hold the same data (replicas), its registers go.

        >>> Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").slice(0)
        Layout.parse('d0 = 4@sg 16@lane | replicas 2@sg:4')
        """
        from layoutalg.core import views

        return views.slice_dim(self, dim)

    def broadcast(self, dim: int, size: Extent) -> Layout:
        """Insert a dimension of `size` equal elements before dimension `dim`: its digit moves along no axis.

        >>> Layout.parse("d0 = 16@lane").broadcast(0, 8)
        Layout.parse('d0 = 8@_, d1 = 16@lane')
        """
        from layoutalg.core import views

        return views.broadcast(self, dim, size)

    def tile(self, repeats: Sequence[Extent], axis: str = "reg") -> Layout:
        """A larger tensor of `repeats` such tiles, row-major one after another along `axis`.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").tile((2, 2))
        Layout.parse('d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane')
        """
        from layoutalg.core import views

        return views.tile(self, repeats, axis)

    def divide(self, tile: Sequence[Extent]) -> Layout:
        """Split each dimension into which tile (the first dimensions of the result) and where in it (the last).

        >>> Layout.parse("d0 = 16@reg, d1 = 16@lane").divide((8, 16))
        Layout.parse('d0 = 2@reg:8, d1 = 1, d2 = 8@reg, d3 = 16@lane')
        """
        from layoutalg.core import views

        return views.divide(self, tile)

    def restrict(self, dim: int, start: int, size: Extent) -> Layout:
        """The part of the tensor with `start <= x[dim] < start + size`, counted from 0 again.

        Raises `CompositionError` where that part is no box of digits.

        >>> Layout.parse("d0 = 16@reg, d1 = 16@lane").restrict(0, 8, 4)
        Layout.parse('d0 = 4@reg, d1 = 16@lane | offset 8@reg')
        """
        from layoutalg.core import views

        return views.restrict(self, dim, start, size)

    # Maps (numpy)

    def fragment_map(self, **part: Selection) -> Indices:
        """The coordinates that every work-item holds: an int array `[sg, lane, reg, rank]`.

        Codomains other than the machine's give one leading axis per axis of `codomain`. Name an axis to get a part
        (`fragment_map(sg=0)`, `fragment_map(lane=[0, 5])`). A slot that holds nothing has -1 in all coordinates.

        Raises `SizeError` over 2^28 entries, `LayoutError` where one slot holds several elements.

        >>> Layout.parse("d0 = 2@reg, d1 = 2@lane").fragment_map().tolist()
        [[[[0, 0], [1, 0]], [[0, 1], [1, 1]]]]
        """
        from layoutalg.core.fragments import fragment_map

        return fragment_map(self, **part)

    def coords(self, **position: int) -> Indices:
        """The coordinates that one work-item holds, in register order: an int array `[reg, rank]`.

        Name `sg` and `lane` (0 unless named); an axis that is not named and is no `sg` or `lane` stays in the result.

        >>> Layout.parse("d0 = 2@reg, d1 = 16@lane").coords(lane=5).tolist()
        [[0, 5], [1, 5]]
        """
        from layoutalg.core.fragments import coords

        return coords(self, position)

    def owners(self, element: Sequence[int]) -> list[tuple[int, ...]]:
        """Every `(sg, lane, reg)` that holds an element, in ascending order (a tuple in the order of `codomain`).

        >>> Layout.parse("d0 = 8@lane | replicas 2@lane:8").owners((3,))
        [(0, 3, 0), (0, 11, 0)]
        """
        from layoutalg.core.fragments import owners

        return owners(self, element)

    def owner_map(self, axis: str) -> Indices:
        """The coordinate on `axis` of each element's lowest owner: an int array of shape `shape`.

        Raises `SizeError` over 2^28 entries.

        >>> Layout.parse("d0 = 2@reg, d1 = 4@lane").owner_map("lane").tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
        """
        from layoutalg.core.fragments import owner_map

        return owner_map(self, axis)

    # Expressions (sympy)

    def axis_exprs(self) -> dict[str, Any]:
        """The codomain's coordinates (of the lowest owner) as sympy expressions of the dimensions.

        >>> Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").axis_exprs()["lane"]
        Mod(d1, 16)
        """
        from layoutalg.core.expressions import axis_exprs

        return axis_exprs(self)

    def index_exprs(self) -> dict[str, Any]:
        """Each dimension's coordinate as a sympy expression of the codomain's axes (`sg`, `lane`, `reg`).

        >>> from layoutalg.core import expression_text
        >>> layout = Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
        >>> [expression_text(e) for e in layout.index_exprs().values()]
        ['reg + 16*(sg // 4)', 'lane + 16*(sg % 4)']
        """
        return self.inverse().axis_exprs()


_set = object.__setattr__


def _fill(
    layout: Layout,
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


# The algebra is written in terms of Layout, so it comes last; methods that are called all the time find it here.
import layoutalg.core.algebra as _algebra  # noqa: E402
