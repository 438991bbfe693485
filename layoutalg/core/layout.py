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

A **factor** is `extent@axis:stride` (a stride of 1 is left out; `4@_` is a factor that the codomain ignores).
Each dimension owns its factors, major to minor; their extents multiply to its size. **Replicas** are factors that belong
to no dimension: the element lives at all of their values. A layout may also start at an **offset** of a codomain axis,
and its dimensions may start at an **origin** other than 0 (an offset, seen from the other side):

    L(x) = { offset + sum_j digit_j(x - origin) * stride_j + sum_r t_r * stride_r : 0 <= t_r < extent_r }

Two laws hold everything together. `canonical()` merges neighbours that form one factor, and two layouts are the same
relation exactly when their canonical forms are equal (that is `==`). `inverse()` swaps the two sides, and is an involution:

>>> tile.inverse()
Layout.parse('sg = 2@d0:16 4@d1:16, lane = 16@d1, reg = 16@d0')
>>> tile.inverse().inverse() == tile
True

A coordinate that a layout does not mention is 0: a layout without `sg` lives in subgroup 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from layoutalg.core import algebra, views
from layoutalg.core.extents import Extent
from layoutalg.core.notation import Machine, Notation, Operand, one_operand, own_sizes
from layoutalg.core.reader import Reader
from layoutalg.core.relation import MACHINE, Relation
from layoutalg.core.text import read_parts, read_usual

if TYPE_CHECKING:
    from layoutalg.core.fragments import Indices
    from layoutalg.core.slots import Selection

__all__ = ["MACHINE", "Layout", "read_layout", "row_major"]


class Layout(Relation, Notation):
    """An exact relation between two spaces of named integer coordinates; immutable, hashable, `==` by meaning.

    `dims` are the factors of each dimension, major to minor; `replicas` the factors tied to none; `offsets` a start per
    codomain axis; `names` the dimensions' names (`d0`, `d1`, ... unless given); `origins` where each dimension starts;
    `codomain` an order of the codomain's axes (sg, lane, reg, then the others by name, unless given).

    Raises `LayoutError` for an extent or stride that is not a whole number, an extent below 1 or over 2^31, a negative
    stride, names that are not identifiers or stand twice.

    >>> Layout([[(2, 4, "sg"), (16, 1, "reg")], [(4, 1, "sg"), (16, 1, "lane")]])
    Layout.parse('d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane')
    """

    __slots__ = ()

    @staticmethod
    def parse(text: str) -> Layout:
        """Read the text form that `str` prints.

        Raises `ParseError` with line and column.

        >>> Layout.parse("d0 = 8@lane, d1 = 4@reg | replicas 2@lane:8 | offset 3@sg").axes
        {'sg': 1, 'lane': 16, 'reg': 4}
        """
        usual = _usual(text) if text.__class__ is str else None
        if usual is not None:
            return usual
        reader = Reader(text)
        layout = read_layout(reader)
        reader.finish()
        return layout

    def substitute(self, **numbers: int) -> Layout:
        """Put numbers for symbols.

        Raises `LayoutError` naming the condition that fails.

        >>> Layout.parse("d0 = M/16@reg 16@lane").substitute(M=48)
        Layout.parse('d0 = 3@reg 16@lane')
        """
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

    # The algebra

    def inverse(self) -> Layout:
        """The same relation read from the other side: replicas and axis-less factors change places.

        Raises `LayoutError` for an axis with a gap or an overlap, naming it.

        >>> Layout.parse("d0 = 8@lane 4@_ | replicas 2@lane:8").inverse()
        Layout.parse('sg = 1, lane = 2@_ 8@d0:4, reg = 1 | replicas 4@d0')
        """
        return algebra.inverse(self)

    def __mul__(self, inner: Layout) -> Layout:
        """The block product: this layout places blocks, `inner` the elements inside each.

        `(A * B)(x) = A(x // shape B) + B(x % shape B)`, the strides of A on an axis scaled by B's extent on it.
        Associative; the layout of shape (1, ..., 1) is its identity.

        >>> Layout.parse("d0 = 2@sg, d1 = 4@sg:2") * Layout.parse("d0 = 16@reg, d1 = 16@lane")
        Layout.parse('d0 = 2@sg 16@reg, d1 = 4@sg:2 16@lane')
        """
        if not isinstance(inner, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return algebra.block_product(self, inner)

    # Views: each is a layout composed in front (see core.views)

    def permute(self, order: Sequence[int]) -> Layout:
        """Reorder the dimensions: dimension i of the result is dimension `order[i]` of this one.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").permute((1, 0))
        Layout.parse('d0 = 16@lane, d1 = 8@reg')
        """
        return views.permute(self, order)

    def reshape(self, shape: Sequence[Extent]) -> Layout:
        """The same elements, row-major, in another shape.

        Raises `CompositionError` where the factors of the two shapes have no common refinement.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").reshape((2, 64))
        Layout.parse('d0 = 2@reg:4, d1 = 4@reg 16@lane')
        """
        return views.reshape(self, shape)

    def slice(self, dim: int) -> Layout:
        """Drop a dimension: its subgroups and lanes hold the same data (replicas), its registers go.

        >>> Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").slice(0)
        Layout.parse('d0 = 4@sg 16@lane | replicas 2@sg:4')
        """
        return views.slice_dim(self, dim)

    def broadcast(self, dim: int, size: Extent) -> Layout:
        """Insert a dimension of `size` equal elements before dimension `dim`: its factor moves along no axis.

        >>> Layout.parse("d0 = 16@lane").broadcast(0, 8)
        Layout.parse('d0 = 8@_, d1 = 16@lane')
        """
        return views.broadcast(self, dim, size)

    def tile(self, repeats: Sequence[Extent], axis: str = "reg") -> Layout:
        """A larger tensor of `repeats` such tiles, row-major one after another along `axis`.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").tile((2, 2))
        Layout.parse('d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane')
        """
        return views.tile(self, repeats, axis)

    def divide(self, tile: Sequence[Extent]) -> Layout:
        """Split each dimension into which tile (the first dimensions of the result) and where in it (the last).

        >>> Layout.parse("d0 = 16@reg, d1 = 16@lane").divide((8, 16))
        Layout.parse('d0 = 2@reg:8, d1 = 1, d2 = 8@reg, d3 = 16@lane')
        """
        return views.divide(self, tile)

    def restrict(self, dim: int, start: int, size: Extent) -> Layout:
        """The part of the tensor with `start <= x[dim] < start + size`, counted from 0 again.

        Raises `CompositionError` where that part is not a box of factors.

        >>> Layout.parse("d0 = 16@reg, d1 = 16@lane").restrict(0, 8, 4)
        Layout.parse('d0 = 4@reg, d1 = 16@lane | offset 8@reg')
        """
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

        Where numpy is missing, lists with the same numbers.
        Name `sg` and `lane` (0 unless named); an axis that is not named, other than `sg` and `lane`, stays in the result.

        >>> Layout.parse("d0 = 2@reg, d1 = 16@lane").coords(lane=5).tolist()
        [[0, 5], [1, 5]]
        """
        from layoutalg.core.held import coords

        return coords(self, position)

    def owners(self, element: Sequence[int]) -> list[tuple[int, ...]]:
        """Every `(sg, lane, reg)` that holds an element, in ascending order (a tuple in the order of `codomain`).

        >>> Layout.parse("d0 = 8@lane | replicas 2@lane:8").owners((3,))
        [(0, 3, 0), (0, 11, 0)]
        """
        from layoutalg.core.moves import owners

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


def _usual(text: str) -> Layout | None:
    """The layout of a text in the usual form; None for others, which `Reader` takes."""
    found = read_usual(text)
    return None if found is None else Layout.as_written(found.dims, found.replicas, (), found.names, found.origins)


def read_layout(reader: Reader) -> Layout:
    """Read one layout and leave the reader behind it."""
    usual = _usual(reader.text) if reader.position == 0 else None
    if usual is not None:
        reader.position = len(reader.text)
        return usual
    dims, replicas, offsets, names, origins, flips = read_parts(reader)
    return Layout(dims, replicas, offsets, names=names, origins=origins, flips=flips)


def row_major(shape: Sequence[Extent], axis: str = "reg") -> Layout:
    """A tensor laid out along one axis, last dimension fastest.

    >>> print(row_major((2, 3, 4)))
    d0 = 2@reg:12, d1 = 3@reg:4, d2 = 4@reg
    """
    return Layout(views.row_major_factors(shape, axis))
