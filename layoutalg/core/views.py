"""Views of a tensor: permute, reshape, slice, broadcast, tile, divide, restrict.

A view is itself a layout, from the new tensor's dimensions to the old one's, and looking through it is composition.
Transposing an 8x16 tile is the layout `d0 = 16@d1, d1 = 8@d0` composed in front:

>>> tile = Layout.parse("d0 = 8@reg, d1 = 16@lane")
>>> compose(tile, Layout.parse("d0 = 16@d1, d1 = 8@d0")) == permute(tile, (1, 0))
True

Two of them do more than look: `slice_dim` forgets a dimension, so that what was told apart by it is now the same data
(replicas), and its registers close up; `tile` lays copies out along an axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TypeVar

from layoutalg.core.algebra import block_product, compose
from layoutalg.core.errors import CompositionError, LayoutError
from layoutalg.core.extents import Extent, as_extent, exact_quotient, multiply
from layoutalg.core.extents import substitute as put_numbers
from layoutalg.core.factors import Factor, default_names
from layoutalg.core.messages import shown
from layoutalg.core.relation import Relation
from layoutalg.core.whole_numbers import listed
from layoutalg.core.xor import operations as xor_operations

__all__ = [
    "broadcast",
    "divide",
    "permute",
    "reshape",
    "restrict",
    "row_major_factors",
    "slice_dim",
    "substitute",
    "tile",
]

_L = TypeVar("_L", bound=Relation)


def row_major_factors(shape: Sequence[Extent], axis: str) -> list[tuple[Factor, ...]]:
    """The factors of each dimension of a tensor laid out along one axis, last dimension fastest.

    >>> row_major_factors((2, 3), "reg")
    [(Factor(extent=2, stride=3, axis='reg'),), (Factor(extent=3, stride=1, axis='reg'),)]
    """
    stride: Extent = 1
    dims: list[tuple[Factor, ...]] = []
    for size in reversed(listed(shape, "shape")):
        size = as_extent(size, "size")
        dims.append((Factor(size, stride, axis),) if size != 1 else ())
        stride = multiply(stride, size)
    dims.reverse()
    return dims


def permute(layout: _L, order: Sequence[int]) -> _L:
    """Reorder the dimensions: dimension i of the result is dimension `order[i]` of `layout`.

    Raises `LayoutError` for an order that is not a permutation.
    """
    given = listed(order, "permute by")
    if not all(type(d) is int for d in given) or sorted(given) != list(range(layout.rank)):
        raise LayoutError(
            f"permute by {shown(order)}: expected an order of the dimensions 0..{layout.rank - 1} of {layout}"
        )
    old = layout.shape
    wanted: list[int] = [int(d) for d in given]
    view = [[(old[d], 1, layout.names[d])] for d in wanted]
    return compose(
        layout, type(layout)(view, offsets=_starts(layout), names=_names(layout, [layout.names[d] for d in wanted]))
    )


def reshape(layout: _L, shape: Sequence[Extent]) -> _L:
    """The same elements in row-major order, in another shape.

    Raises `LayoutError` where the number of elements differs, `CompositionError` where the factors of the two shapes have
    no common refinement.

    >>> print(reshape(Layout.parse("d0 = 6@lane, d1 = 4@reg"), (3, 8)))
    d0 = 3@lane:2, d1 = 2@lane 4@reg
    """
    sizes = [as_extent(size, "size") for size in listed(shape, "shape")]
    if multiply(1, prod(sizes)) != multiply(1, prod(layout.shape)):
        raise LayoutError(
            f"reshape of {list(layout.shape)} to {list(sizes)}: the number of elements differs (in {layout})"
        )
    # One dimension that counts the elements row-major: its factors are the old tensor's coordinates.
    factors = [Factor(size, 1, name) for size, name in zip(layout.shape, layout.names, strict=True)]
    made = type(layout)
    flat = made([factors], offsets=_starts(layout), names=("flat",))
    try:
        return compose(layout, compose(flat, made(row_major_factors(sizes, "flat"))))
    except CompositionError as error:
        raise CompositionError(
            f"reshape of {list(layout.shape)} to {list(sizes)}: the factors have no common refinement (in {layout})"
        ) from error


def _names(layout: Relation, names: Sequence[str]) -> Sequence[str] | None:
    """The names of a view: kept where they mean something, counted anew where they only count (d0, d1, ...)."""
    return None if layout.names == default_names(layout.rank) else names


def _starts(layout: Relation) -> dict[str, int]:
    return {n: o for n, o in zip(layout.names, layout.origins, strict=True) if o}


def slice_dim(layout: _L, dim: int, registers: Iterable[str] = ("reg",)) -> _L:
    """Drop dimension `dim`: its subgroups and lanes hold the same data (replicas), its registers go.

    Axes named in `registers` close up: the factors that stay count without a gap again.

    Raises `LayoutError` for a dimension that is not there, or a register axis that has a gap or an overlap already.

    >>> print(slice_dim(Layout.parse("d0 = 2@lane:8 4@reg, d1 = 8@lane 2@reg:4"), 1))
    d0 = 2@lane:8 4@reg | replicas 8@lane
    >>> print(slice_dim(Layout.parse("d0 = 2@lane:8 4@reg, d1 = 8@lane 2@reg:4"), 0))
    d0 = 8@lane 2@reg | replicas 2@lane:8
    """
    dim = _dimension(layout, dim)
    if layout.flips is not None:
        names = _names(layout, layout.names[:dim] + layout.names[dim + 1 :]) or default_names(layout.rank - 1)
        return xor_operations.slice_dim(layout, dim, tuple(registers), names)
    gone = layout.dims[dim]
    closing = tuple(registers)
    kept = layout.dims[:dim] + layout.dims[dim + 1 :]
    replicas = tuple(f for f in gone if f.axis is not None and f.axis not in closing)
    moves = dict[tuple[str, Extent], Extent]()
    for axis in closing:
        if any(f.axis == axis and f.extent != 1 for f in gone):
            _close_up(layout, dim, axis, moves)

    def closed(factors: tuple[Factor, ...]) -> list[Factor]:
        return [Factor(n, moves.get((a, s), s) if a is not None else 0, a) for n, s, a in factors]

    origins = layout.origins
    return type(layout)(
        map(closed, kept),
        [*closed(layout.replicas), *replicas],
        layout.offsets,
        names=_names(layout, layout.names[:dim] + layout.names[dim + 1 :]),
        origins=origins[:dim] + origins[dim + 1 :],
    )


def _close_up(layout: Relation, dim: int, axis: str, moves: dict[tuple[str, Extent], Extent]) -> None:
    """The new strides on `axis` once the factors of dimension `dim` are gone from it."""
    factors = [(f.stride, f.extent, d == dim) for d, fs in enumerate(layout.dims) for f in fs if f.axis == axis]
    factors += [(f.stride, f.extent, False) for f in layout.replicas if f.axis == axis]
    factors = [factor for factor in factors if factor[1] != 1]
    place: Extent = 1
    stride: Extent = 1
    while factors:
        factor = next((d for d in factors if d[0] == place), None)
        if factor is None:
            raise LayoutError(f"slice of dimension {dim}: axis {axis!r} has a gap or an overlap already (in {layout})")
        factors.remove(factor)
        moves[axis, place] = stride
        place = multiply(place, factor[1])
        if not factor[2]:
            stride = multiply(stride, factor[1])


def broadcast(layout: _L, dim: int, size: Extent) -> _L:
    """Insert a dimension of `size` equal elements before dimension `dim`.

    >>> print(broadcast(Layout.parse("d0 = 16@lane"), 1, 4))
    d0 = 16@lane, d1 = 4@_
    """
    if type(dim) is not int or not 0 <= dim <= layout.rank:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"broadcast before dimension {shown(dim)}: expected 0..{layout.rank} (in {layout})")
    new = as_extent(size, "size")
    view = [[Factor(n, 1, name)] for n, name in zip(layout.shape, layout.names, strict=True)]
    view.insert(dim, [Factor(new)])
    return compose(layout, type(layout)(view, offsets=_starts(layout)))


def tile(layout: _L, repeats: Sequence[Extent], axis: str = "reg") -> _L:
    """A larger tensor of `repeats` tiles like `layout`, row-major one after another along `axis`.

    >>> print(tile(Layout.parse("d0 = 8@reg, d1 = 16@lane"), (2, 2)))
    d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane
    """
    counts = [as_extent(count, "repeats") for count in listed(repeats, "repeats")]
    if len(counts) != layout.rank:
        raise LayoutError(f"tile by {list(counts)}: expected {layout.rank} numbers, one per dimension (of {layout})")
    return block_product(type(layout)(row_major_factors(counts, axis), names=layout.names), layout)


def divide(layout: _L, tile: Sequence[Extent]) -> _L:
    """Split each dimension in two: which tile (the first dimensions of the result), and where in it (the last).

    Raises `LayoutError` where a tile does not divide the shape.

    >>> print(divide(Layout.parse("d0 = 2@sg 4@reg"), (4,)))
    d0 = 2@sg, d1 = 4@reg
    """
    sizes = [as_extent(size, "tile size") for size in listed(tile, "tile")]
    if len(sizes) != layout.rank:
        raise LayoutError(
            f"divide by {list(sizes)}: expected {layout.rank} tile sizes, one per dimension (of {layout})"
        )
    grid: list[list[Factor]] = []
    inside: list[list[Factor]] = []
    for name, whole, size in zip(layout.names, layout.shape, sizes, strict=True):
        count = exact_quotient(whole, size)
        if count is None:
            raise LayoutError(f"divide by {list(sizes)}: {size} does not divide {name} of size {whole} (in {layout})")
        grid.append([Factor(count, size, name)])
        inside.append([Factor(size, 1, name)])
    return compose(layout, type(layout)([*grid, *inside], offsets=_starts(layout)))


def restrict(layout: _L, dim: int, start: int, size: Extent) -> _L:
    """The part with `start <= x[dim] < start + size`; the result counts from 0.

    Raises `LayoutError` where that reaches outside the tensor, `CompositionError` where it is not a box of factors.

    >>> print(restrict(Layout.parse("d0 = 4@lane 4@reg"), 0, 4, 4))
    d0 = 4@reg | offset 1@lane
    """
    dim = _dimension(layout, dim)
    whole, count = layout.shape[dim], as_extent(size, "size")
    first = as_extent(start, "start", low=0)
    if type(whole) is type(count) is type(first) is int and first + count > whole:
        raise LayoutError(
            f"restrict dimension {dim} to {first}..{first + count - 1}: it has 0..{whole - 1} (in {layout})"
        )
    view = [[Factor(n, 1, name)] for n, name in zip(layout.shape, layout.names, strict=True)]
    view[dim] = [Factor(count, 1, layout.names[dim])]
    starts = _starts(layout)
    starts[layout.names[dim]] = starts.get(layout.names[dim], 0) + first
    return compose(layout, type(layout)(view, offsets=starts, names=layout.names))


def substitute(layout: _L, numbers: Mapping[str, int]) -> _L:
    """Put numbers for symbols, by name (see `Layout.substitute`)."""

    values = [v for factors in (*layout.dims, layout.replicas) for f in factors for v in f[:2] if type(v) is not int]
    known = {str(s) for value in values for s in value.free_symbols}
    for name in numbers:
        if name not in known:
            raise LayoutError(f"no symbol {shown(name)} in {layout}: expected {', '.join(sorted(known)) or 'no name'}")

    def put(factors: Iterable[Factor]) -> list[Factor]:
        return [Factor(put_numbers(n, numbers), put_numbers(s, numbers), a) for n, s, a in factors]

    return type(layout)(
        map(put, layout.dims),
        put(layout.replicas),
        layout.offsets,
        names=layout.names,
        origins=layout.origins,
        codomain=layout.codomain_order,
        flips=layout.flips,
    )


def _dimension(layout: Relation, dim: int) -> int:
    if isinstance(dim, bool) or not isinstance(dim, int) or not 0 <= dim < layout.rank:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"dimension {shown(dim)}: expected one of 0..{layout.rank - 1} (of {layout})")
    return dim
