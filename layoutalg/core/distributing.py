"""A tensor dealt out to the work-items that hold it, and collected from them.

Where a layout has an inverse in factors, that is a reshape and a transpose; with gaps, overlaps or XOR it goes by the maps.

>>> tile = Layout.parse("d0 = 2@reg, d1 = 2@lane")
>>> held = distribute(tile, np.array([[1, 2], [3, 4]]))
>>> held.tolist(), collect(tile, held).tolist()
([[[1, 3], [2, 4]]], [[1, 2], [3, 4]])
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.algebra import inverse
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import size_of
from layoutalg.core.fragments import fragment_map, limit_entries, owner_map
from layoutalg.core.limits import MAX_ENTRIES, MOST_DIMENSIONS
from layoutalg.core.relation import Relation, as_layout

__all__ = ["collect", "distribute"]


def distribute(layout: Relation, tensor: NDArray[Any]) -> NDArray[Any]:
    """What every work-item holds of a tensor: `[..., d0, d1]` becomes `[..., sg, lane, reg]`; holes are 0.

    Raises `LayoutError` for what is not an array, or a tensor of another shape.

    >>> tile = Layout.parse("d0 = 2@reg, d1 = 2@lane")
    >>> distribute(tile, np.array([[1, 2], [3, 4]])).tolist()
    [[[1, 3], [2, 4]]]
    """
    as_layout(layout)
    if not isinstance(tensor, np.ndarray) or tensor.shape[max(tensor.ndim - layout.rank, 0) :] != layout.shape:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(
            f"{_shape_of(tensor)} for {layout}: expected an array whose last sizes are {list(layout.shape)}"
        )
    before = tensor.shape[: tensor.ndim - layout.rank]
    axes = _regular(layout)
    if axes is None or axes.shared or len(before) + axes.most > MOST_DIMENSIONS:
        return _distribute_by_map(layout, tensor, before)
    sizes = tuple(prod(extents) for extents in axes.slots)
    if prod(before) * prod(sizes) > max(MAX_ENTRIES, tensor.size):
        limit_entries(layout, sizes, max(1, prod(before)), layout.codomain)
    kept = [k for k, one in enumerate(axes.order) if one >= 0]
    split = tensor.reshape((*before, *(n for extents in axes.elements for n in extents)))
    shown_as = split.transpose(*range(len(before)), *(len(before) + axes.order[k] for k in kept))
    index: list[Any] = [slice(None) if one >= 0 else None for one in axes.order]
    result = np.empty((*before, *sizes), tensor.dtype)
    result.reshape((*before, *(n for extents in axes.slots for n in extents)))[...] = shown_as[(..., *index)]
    return result


def _distribute_by_map(layout: Relation, tensor: NDArray[Any], before: tuple[int, ...]) -> NDArray[Any]:
    # Counted from 0, so that -1 marks a hole and nothing else; without dimensions as with one of size 1, which has coordinates.
    whole = type(layout)(
        layout.dims or ((),),
        layout.replicas,
        layout.offsets,
        names=layout.names or None,
        codomain=layout.codomain,
        flips=layout.flips,
    )
    held = fragment_map(whole)
    element = np.zeros(held.shape[:-1], np.int64)
    for d, size in enumerate(whole.shape):
        element = element * size + held[..., d]
    found: NDArray[Any] = tensor.reshape((*before, -1))[..., np.maximum(element, 0)]
    if int(element.min(initial=0)) < 0:
        found = np.where(element < 0, np.zeros((), tensor.dtype), found)
    return found


class _Regular(NamedTuple):
    """The factors of a layout that has an inverse: reshaping by them and transposing deals a tensor out."""

    elements: tuple[tuple[int, ...], ...]
    """The extents of each dimension's factors."""
    slots: tuple[tuple[int, ...], ...]
    """The extents of each axis's factors, replicas among them."""
    order: list[int]
    """For each factor of `slots`, in turn, which factor of `elements` it is; -1 for a replica."""
    shared: tuple[int, ...]
    """Factors of `elements` that move along no axis: a slot holds all of their values."""

    @property
    def most(self) -> int:
        return max(sum(map(len, self.elements)), len(self.order)) + len(self.shared)


def _regular(layout: Relation) -> _Regular | None:
    """How the factors of tensor and machine go together; None where an axis has a gap or an overlap."""
    layout.require_numbers("asking for a map")
    if layout.flips is not None:
        return None
    try:
        slots = inverse(layout)
    except LayoutError:
        return None
    number: dict[tuple[str, int], int] = {}
    elements: list[tuple[int, ...]] = []
    shared: list[int] = []
    for name, factors in zip(layout.names, layout.dims, strict=True):
        kept = [f for f in factors if f.extent != 1]
        place = size_of(kept)
        for factor in kept:
            place //= factor.extent
            if factor.axis is None:
                shared.append(len(number))
            number[name, place] = len(number)
        elements.append(tuple(f.extent for f in kept))
    order = [-1 if f.axis is None else number[f.axis, f.stride] for factors in slots.dims for f in factors]
    extents = tuple(tuple(f.extent for f in factors) for factors in slots.dims)
    return _Regular(tuple(elements), extents, order, tuple(shared))


def collect(layout: Relation, fragments: NDArray[Any]) -> NDArray[Any]:
    """The tensor that fragments hold: `[..., sg, lane, reg]` becomes `[..., d0, d1]`, read from the lowest owners.

    Raises `LayoutError` for fragments of another shape.

    >>> tile = Layout.parse("d0 = 2@reg, d1 = 2@lane")
    >>> collect(tile, np.array([[[1, 3], [2, 4]]])).tolist()
    [[1, 2], [3, 4]]
    """
    as_layout(layout)
    axes, spans = layout.codomain, layout.spans()
    sizes = tuple(spans.get(axis, 1) for axis in axes)
    if not isinstance(fragments, np.ndarray) or fragments.shape[max(fragments.ndim - len(axes), 0) :] != sizes:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(
            f"fragments, {_shape_of(fragments)}: expected [..., {', '.join(axes)}] of sizes {list(sizes)} (of {layout})"
        )
    before = fragments.shape[: fragments.ndim - len(axes)]
    found = _regular(layout)
    if found is None or len(before) + found.most > MOST_DIMENSIONS:
        return _collect_by_map(layout, fragments, before)
    shape = layout.shape
    if prod(before) * prod(shape) > max(MAX_ENTRIES, fragments.size):
        limit_entries(layout, shape, max(1, prod(before)), layout.names)
    split = fragments.reshape((*before, *(n for extents in found.slots for n in extents)))
    # The lowest owner is where all replicas are 0.
    lowest = split[(..., *(0 if one < 0 else slice(None) for one in found.order))]
    kept = [one for one in found.order if one >= 0]
    where = sorted(range(len(kept)), key=kept.__getitem__)
    ordered = lowest.transpose(*range(len(before)), *(len(before) + k for k in where))
    count = sum(map(len, found.elements))
    result = np.empty((*before, *shape), fragments.dtype)
    split_result = result.reshape((*before, *(n for extents in found.elements for n in extents)))
    split_result[...] = ordered[(..., *(None if one in found.shared else slice(None) for one in range(count)))]
    return result


def _collect_by_map(layout: Relation, fragments: NDArray[Any], before: tuple[int, ...]) -> NDArray[Any]:
    starts, spans = layout.offsets, layout.spans()
    slot: Any = 0
    for axis in layout.codomain:
        slot = slot * spans.get(axis, 1) + (owner_map(layout, axis).astype(np.int64) - starts.get(axis, 0))
    found: NDArray[Any] = fragments.reshape((*before, -1))[..., slot]
    return found


def _shape_of(given: object) -> str:
    shape: Any = getattr(given, "shape", None)
    return f"a {type(given).__name__}" if shape is None else f"an array of shape {list(shape)}"
