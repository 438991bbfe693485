"""What LLVM's propagation does to the text of a layout: it copies, scales and permutes fields, without asking what they mean.

>>> pairs = lanes((1, 16), (1, 2))
>>> print(permuted(pairs, (1, 0)))
#xegpu.layout<lane_layout = [16, 1], lane_data = [2, 1], order = [0, 1]>
>>> print(scaled(pairs, 1, 2))
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
>>> print(sliced(pairs, (0,)))
#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>, dims = [0]>

A slice is changed through its parent: the dimension that is meant is looked up there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod

from layoutalg.core.errors import LayoutError
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = [
    "Attribute",
    "collapsed",
    "dropped",
    "expanded",
    "fits",
    "has_level",
    "lanes",
    "numbers_of",
    "permuted",
    "scaled",
    "sliced",
    "tiles",
    "with_data",
]

Attribute = LayoutAttr | SliceAttr
Ints = tuple[int, ...]
_FIELDS = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data")
_DATA = ("sg_data", "inst_data", "lane_data")


def lanes(layout: Iterable[int], data: Iterable[int], inst: Iterable[int] | None = None) -> LayoutAttr:
    """A layout of lanes, and of an instruction's tile where one is given."""
    return LayoutAttr(inst_data=None if inst is None else tuple(inst), lane_layout=tuple(layout), lane_data=tuple(data))


def tiles(inst: Iterable[int]) -> LayoutAttr:
    """A layout that says an instruction's tile alone."""
    return LayoutAttr(inst_data=tuple(inst))


def sliced(parent: Attribute, dims: Iterable[int]) -> SliceAttr:
    """The slice of a layout."""
    return SliceAttr(parent, tuple(dims))


def numbers_of(attribute: Attribute, field: str) -> Ints | None:
    """A field without the dimensions that are sliced off; None where it isn't said."""
    return getattr(attribute.distribution(), field)


_LEVELS = {
    "inst": ("inst_data",),
    "lane": ("lane_layout", "lane_data"),
    "workgroup": ("sg_layout", "sg_data"),
}


def has_level(attribute: Attribute | None, level: str) -> bool:
    """Whether a layout says all fields of the level that is propagated."""
    return attribute is not None and all(numbers_of(attribute, field) for field in _LEVELS[level])


def fits(shape: Sequence[int], layout: Sequence[int], data: Sequence[int]) -> bool:
    """Whether lanes and what each has divide a tile, dimension by dimension."""
    return all(size % (count * each) == 0 for size, count, each in zip(shape, layout, data, strict=False))


def permuted(attribute: Attribute, permutation: Sequence[int]) -> Attribute:
    """Every field with its dimensions in this order. `order` is renumbered, and written where it was not.

    >>> print(permuted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (1, 0)))
    #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1], order = [0, 1]>

    Of a slice, LLVM puts the dimensions that are sliced off behind the others, the last one first, and slices off those that
    are now in their places.

    >>> print(permuted(sliced(LayoutAttr(lane_layout=(1, 2, 8), lane_data=(1, 1, 1)), [0]), (1, 0)))
    #xegpu.slice<#xegpu.layout<lane_layout = [8, 2, 1], lane_data = [1, 1, 1], order = [0, 1, 2]>, dims = [0]>
    """
    if isinstance(attribute, SliceAttr):
        kept = _kept(attribute)
        turned = [*(kept[source] for source in permutation), *sorted(attribute.dims, reverse=True)]
        return SliceAttr(permuted(attribute.parent, turned), attribute.dims)
    back = {source: dim for dim, source in enumerate(permutation)}
    order = tuple(back[dim] for dim in attribute.order or range(attribute.rank - 1, -1, -1))
    return replace(_each(attribute, lambda values: tuple(values[dim] for dim in permutation)), order=order)


def scaled(attribute: Attribute, up: int, down: int) -> Attribute:
    """The innermost dimension with data `up` times as large and `down` times as small.

    Raises `LayoutError` where that isn't a whole number.
    """
    dim = attribute.rank - 1
    said = {field: numbers_of(attribute, field) for field in _DATA}
    sizes = {field: values[dim] * up // down for field, values in said.items() if values is not None}
    for field, size in sizes.items():
        if size == 0:
            raise LayoutError(f"{field} of {attribute} cannot be divided by {down} in dimension {dim}: LLVM makes it 0")
    return with_data(attribute, dim, **sizes)


def with_data(attribute: Attribute, dim: int, **sizes: int) -> Attribute:
    """The layout with other data in one dimension, of the fields that it says.

    >>> print(with_data(lanes((1, 16), (1, 1)), 1, lane_data=2, inst_data=32))
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>
    """
    if isinstance(attribute, SliceAttr):
        return SliceAttr(with_data(attribute.parent, _kept(attribute)[dim], **sizes), attribute.dims)
    changed = {}
    for field, size in sizes.items():
        values = getattr(attribute, field)
        if values is not None:
            changed[field] = (*values[:dim], size, *values[dim + 1 :])
    return replace(attribute, **changed)


def dropped(attribute: Attribute, dims: Sequence[int]) -> Attribute:
    """The layout without dimensions; what is left of `order` is counted again.

    >>> print(dropped(lanes((1, 16, 1), (1, 1, 2)), (2,)))
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
    """
    if isinstance(attribute, SliceAttr):
        kept = _kept(attribute)
        gone = sorted(kept[dim] for dim in dims)
        moved = tuple(dim - sum(other < dim for other in gone) for dim in attribute.dims)
        return SliceAttr(dropped(attribute.parent, gone), moved)
    left = [dim for dim in range(attribute.rank) if dim not in set(dims)]
    order = None
    if attribute.order is not None:
        order = tuple(left.index(dim) for dim in attribute.order if dim in left)
    return replace(_each(attribute, lambda values: tuple(values[dim] for dim in left)), order=order)


def collapsed(attribute: Attribute, groups: Sequence[Sequence[int]]) -> Attribute:
    """Each group of neighbouring dimensions as one: sizes are multiplied.

    >>> print(collapsed(lanes((1, 16), (2, 1)), [[0, 1]]))
    #xegpu.layout<lane_layout = [16], lane_data = [2]>
    """
    if isinstance(attribute, SliceAttr):
        kept, removed = _kept(attribute), set(attribute.dims)
        inner = [[kept[dim] for dim in group] for group in groups]
        everything = sorted([*inner, *([dim] for dim in removed)])
        dims = tuple(at for at, group in enumerate(everything) if group[0] in removed)
        return SliceAttr(collapsed(attribute.parent, everything), dims)
    changed = _each(replace(attribute, order=None), lambda values: tuple(prod(values[d] for d in g) for g in groups))
    if attribute.order is None:
        return changed
    ranks = [min(attribute.order.index(dim) for dim in group) for group in groups]
    return replace(changed, order=tuple(sorted(range(len(groups)), key=ranks.__getitem__)))


def expanded(attribute: Attribute, dim: int, shape: Sequence[int]) -> Attribute:
    """One dimension as several of these sizes: lanes and data go to the innermost first, subgroups to what their data leave."""
    if isinstance(attribute, SliceAttr):
        at = _kept(attribute)[dim]
        moved = tuple(d if d < at else d + len(shape) - 1 for d in attribute.dims)
        return SliceAttr(expanded(attribute.parent, at, shape), moved)

    def split(values: Ints, sizes: Sequence[int] = shape) -> Ints:
        left = values[dim]
        parts: list[int] = []
        for size in reversed(sizes):
            part = min(left, size)
            parts.append(part)
            left //= max(part, 1)
        return (*values[:dim], *reversed(parts), *values[dim + 1 :])

    order = None
    if attribute.order is not None:
        added = len(shape) - 1
        order = tuple(
            new
            for old in attribute.order
            for new in (range(dim + added, dim - 1, -1) if old == dim else (old if old < dim else old + added,))
        )
    found = replace(_each(replace(attribute, order=None), split), order=order)
    if attribute.sg_layout is None or found.sg_data is None:
        return found
    data = found.sg_data[dim : dim + len(shape)]
    rounds = [size // max(1, each) for size, each in zip(shape, data, strict=True)]
    return replace(found, sg_layout=split(attribute.sg_layout, rounds))


def _each(attribute: LayoutAttr, change: Callable[[Ints], Ints]) -> LayoutAttr:
    said = {field: getattr(attribute, field) for field in _FIELDS}
    changed = {field: None if values is None else change(values) for field, values in said.items()}
    return LayoutAttr(**changed, order=attribute.order if attribute.order and _same_rank(attribute, changed) else None)


def _same_rank(attribute: LayoutAttr, changed: dict[str, Ints | None]) -> bool:
    return all(values is None or len(values) == attribute.rank for values in changed.values())


def _kept(attribute: SliceAttr) -> list[int]:
    """The dimensions of the parent that a slice has."""
    return [dim for dim in range(attribute.parent.rank) if dim not in attribute.dims]
