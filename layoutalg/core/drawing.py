"""What a value shows of itself in a picture: its `parts`, each a layout with a name.

An attribute has one part, a matrix product three: A, B and C. A value says which; drawing them is the room `viz`, which is
loaded when the first picture is asked for, and knows nothing but parts:

>>> from layoutalg.core.layout import Layout
>>> [str(part.layout) for part in Layout.parse("d0 = 8@reg, d1 = 16@lane").parts()]
['d0 = 8@reg, d1 = 16@lane']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from layoutalg.core.extents import Extent
    from layoutalg.core.layout import Layout
    from layoutalg.core.swizzle import Swizzled
    from layoutalg.viz.picture import Picture

__all__ = ["Drawable", "Part", "as_sizes", "one_part", "own_sizes", "product_parts"]

_MOST_SIZES = 64


class Part(NamedTuple):
    """One layout of a value: its name, the instruction tile in elements (None: not known), and its place in a product.

    `role` is "A", "B" (K x N) or "C" in a matrix product. `slots` is a finer layout with an inverse, where the layout itself
    has gaps (an AMX tile's bytes).

    >>> from layoutalg.core.layout import Layout
    >>> Part("C", Layout.parse("d0 = 8@reg, d1 = 16@lane"), role="C").tile
    """

    name: str
    layout: Layout | Swizzled
    tile: tuple[int, ...] | None = None
    role: str | None = None
    slots: Layout | None = None


class Drawable:
    """A value with parts: it has pictures, and shows one in a notebook.

    >>> from layoutalg.core.layout import Layout
    >>> isinstance(Layout.parse("d0 = 4@lane"), Drawable)
    True
    """

    __slots__ = ()

    def parts(self, shape: Sequence[int] | None = None) -> tuple[Part, ...]:
        """The layouts to draw, for a tensor of `shape` (one whole unit of the value unless given).

        Raises `DistributionError` where there is none.

        >>> from layoutalg.xegpu import LayoutAttr
        >>> LayoutAttr(lane_layout=(2, 8), lane_data=(2, 2)).parts()[0].layout
        Layout.parse('d0 = 2@lane:8 2@reg:2, d1 = 8@lane 2@reg')
        """
        raise NotImplementedError

    def heading(self) -> str:
        """What to call it above a picture of several parts.

        >>> import layoutalg as la
        >>> la.dpas("f16", "f16", "f32").heading()
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return str(self)

    def picture(
        self,
        shape: Sequence[int] | None = None,
        *,
        title: str | None = None,
        colour: str | None = None,
        direction: str = "tensor",
        full: bool = False,
    ) -> Picture:
        """The picture of who holds what, to show in a notebook, to save, or to take apart.

        `shape` is the tensor's (one whole unit of the value unless given). `direction` is "tensor" (a cell per element, with
        its owner) or "hardware" (a cell per register of each lane, with its element). `colour` is "subgroup" (one hue per
        subgroup, a shade per lane), "lane", "register" or "tile"; for layouts onto other axes, one of them. Large tensors
        are folded unless `full`.

        Raises `DistributionError` where there is no layout, `LayoutError` for symbols, and for a colour or direction that
        there is none of, `SizeError` for a full picture of more than 2^24 cells.

        >>> from layoutalg.core.layout import Layout
        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").picture().save("build/c.svg")
        >>> Layout.parse("d0 = M@reg").picture()
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: d0 = M@reg has symbols; put numbers for them with substitute() before drawing it
        """
        from layoutalg.viz.picture import picture_of

        return picture_of(self, shape, title=title, colour=colour, direction=direction, full=full)

    def draw(
        self,
        shape: Sequence[int] | None = None,
        *,
        title: str | None = None,
        colour: str | None = None,
        direction: str = "tensor",
        full: bool = False,
    ) -> Figure:
        """The picture as a matplotlib figure, for a paper (`pip install layoutalg[viz]`); the arguments of `picture`.

        >>> from layoutalg.core.layout import Layout
        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").draw().get_size_inches().round(1).tolist()
        [6.6, 2.7]
        """
        return self.picture(shape, title=title, colour=colour, direction=direction, full=full).figure()

    def _repr_html_(self) -> str | None:
        """What a notebook shows; None (the text, then) for a value that there is no picture of."""
        from layoutalg.core.errors import LayoutError

        try:
            return self.picture()._repr_html_()  # pyright: ignore[reportPrivateUsage]
        except LayoutError:
            return None


def product_parts(
    layouts: Sequence[Layout], elements: Sequence[str], sizes: Sequence[int], unit: Sequence[int] | None = None
) -> tuple[Part, ...]:
    """The parts of a matrix product of m x n x k: A (M x K), B (K x N), C (M x N); `unit` is one instruction's m, n, k.

    >>> from layoutalg.core.layout import Layout
    >>> tile = Layout.parse("d0 = 4@reg, d1 = 4@lane")
    >>> [part.name for part in product_parts((tile, tile, tile), ("f16", "f16", "f32"), (4, 4, 4))]
    ['A  4x4xf16', 'B  4x4xf16', 'C  4x4xf32']
    """
    m, n, k = sizes if unit is None else unit
    tiles = ((m, k), (k, n), (m, n))
    return tuple(
        Part(f"{role}  {'x'.join(map(str, layout.shape))}x{element}", layout, tile, role)
        if layout.rank == 2
        else Part(f"{role}  {'x'.join(map(str, layout.shape))}x{element}", layout)
        for role, layout, element, tile in zip("ABC", layouts, elements, tiles, strict=True)
    )


def own_sizes(value: object, sizes: Sequence[Extent], shape: Sequence[Extent] | None) -> None:
    """Refuse a shape that is not the one that a value has, for a product its m, n, k.

    >>> own_sizes("a product", (8, 16, 16), (32, 32))
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: shape 32x32: a product has sizes of its own, 8x16x16
    """
    from layoutalg.core.errors import DistributionError

    if shape is not None and as_sizes(shape) != tuple(sizes):
        theirs, own = ("x".join(map(str, one)) for one in (shape, sizes))
        raise DistributionError(f"shape {theirs}: {value} has sizes of its own, {own}")


def as_sizes(shape: object) -> tuple[Extent, ...]:
    """A shape as a tuple.

    Raises `LayoutError` for what is no sequence of sizes.

    >>> as_sizes("8x16")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: shape '8x16': expected sizes, such as (32, 64)
    """
    from layoutalg.core.errors import LayoutError

    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise LayoutError(f"shape {shape!r:.60}: expected sizes, such as (32, 64)")
    sizes = tuple(islice(cast("Iterable[Extent]", shape), _MOST_SIZES + 1))
    if len(sizes) > _MOST_SIZES:
        raise LayoutError(f"a shape of more than {_MOST_SIZES} sizes: expected sizes, such as (32, 64)")
    return sizes


def one_part(name: object, layout: Any, tile: tuple[int, ...] | None = None) -> tuple[Part, ...]:
    """The parts of a value that has one layout.

    >>> from layoutalg.core.layout import Layout
    >>> one_part("it", Layout.parse("d0 = 4@lane"))[0].name
    'it'
    """
    return (Part(str(name), layout, tile),)
