"""Fragment maps and owner maps: a layout as numpy arrays.

Digits of different axes only add, so every map is separable: one short vector per axis, and one broadcast sum. No loop
runs over elements, and a map costs about what writing its result costs.

>>> tile = Layout.parse("d0 = 2@sg 2@reg, d1 = 2@lane")
>>> fragment_map(tile)[1, 0].tolist()       # subgroup 1, lane 0: two registers
[[2, 0], [3, 0]]
>>> owner_map(tile, "sg").tolist()
[[0, 0], [0, 0], [1, 1], [1, 1]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from operator import index
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.digits import Factor
from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.layout import Layout

__all__ = ["MAX_ENTRIES", "Indices", "Selection", "coords", "fragment_map", "owner_map", "owners"]

Indices: TypeAlias = NDArray[np.signedinteger[Any]]
"""An array of coordinates: int32, or int64 where a coordinate needs it."""
Selection: TypeAlias = int | Sequence[int] | range
"""A part of an axis: one coordinate, or several."""

MAX_ENTRIES = 2**28
"""A map of more entries than this is refused."""


def fragment_map(layout: Layout, **part: Selection) -> Indices:
    """The coordinates of every work-item's registers: `[sg, lane, reg, rank]` (see `Layout.fragment_map`).

    >>> fragment_map(Layout.parse("d0 = 2@reg, d1 = 4@lane"), lane=[1, 3])[0, :, 1].tolist()
    [[1, 1], [1, 3]]
    """
    _require_numbers(layout)
    names = layout.codomain
    for axis in part:
        if axis not in names:
            raise LayoutError(f"axis {axis!r}: expected one of {', '.join(names)} (of {layout})")
    try:
        slots = layout.inverse()
    except LayoutError:
        return _scattered_map(layout, part)
    if slots.replicas:
        raise LayoutError(
            f"fragment map: one slot holds several elements along {slots.replicas[0].axis!r} (in {layout})"
        )
    picks = [_pick(part.get(a), n, o, a) for a, n, o in zip(names, slots.shape, slots.origins, strict=True)]
    sizes = tuple(n if pick is None else len(pick) for n, pick in zip(slots.shape, picks, strict=True))
    _limit(layout, sizes, layout.rank, names)
    dtype = _index_type(max((o + n for o, n in zip(layout.origins, layout.shape, strict=True)), default=1))
    result = np.empty((layout.rank, *sizes), dtype)
    start = slots.offsets
    for d, name in enumerate(layout.names):
        vectors = [None if all(f.axis != name for f in fs) else _steps(fs, name, dtype) for fs in slots.dims]
        picked = [v if v is None or p is None else v[p] for v, p in zip(vectors, picks, strict=True)]
        _outer_sum(picked, start.get(name, 0), result[d])
    return np.moveaxis(result, 0, -1)


def coords(layout: Layout, position: Mapping[str, int]) -> Indices:
    """The coordinates of one work-item: `[reg, rank]` (see `Layout.coords`).

    >>> coords(Layout.parse("d0 = 2@reg, d1 = 4@lane"), {"lane": 3}).tolist()
    [[0, 3], [1, 3]]
    """
    fixed = {a: 0 for a in ("sg", "lane") if a in layout.codomain} | dict(position)
    found = fragment_map(layout, **fixed)
    return found.reshape(
        [n for n, axis in zip(found.shape, layout.codomain, strict=False) if axis not in fixed] + [layout.rank]
    )


def owners(layout: Layout, element: Sequence[int]) -> list[tuple[int, ...]]:
    """Every position of the codomain that holds one element, ascending (see `Layout.owners`).

    Raises `LayoutError` for an element outside the tensor.

    >>> owners(Layout.parse("d0 = 4@reg, d1 = 2@lane | replicas 2@sg"), (3, 1))
    [(0, 1, 3), (1, 1, 3)]
    """
    _require_numbers(layout)
    names = layout.codomain
    place = {axis: layout.offsets.get(axis, 0) for axis in names}
    shape, origins = layout.shape, layout.origins
    if len(element) != layout.rank:
        raise LayoutError(f"element {tuple(element)}: expected {layout.rank} coordinates (of {layout})")
    for d, value in enumerate(element):
        rest = index(value) - origins[d]
        if not 0 <= rest < shape[d]:
            raise LayoutError(
                f"element {tuple(element)}: {layout.names[d]} goes from {origins[d]} to {origins[d] + shape[d] - 1} "
                f"(in {layout})"
            )
        for extent, stride, axis in reversed(layout.dims[d]):
            rest, digit = divmod(rest, extent)
            if axis is not None:
                place[axis] += digit * stride
    copies = [f for f in layout.replicas if f.extent != 1]
    if prod(f.extent for f in copies) > MAX_ENTRIES:
        raise SizeError(f"element {tuple(element)} has {prod(f.extent for f in copies)} owners (in {layout})")
    found: set[tuple[int, ...]] = set()
    for digits in product(*(range(f.extent) for f in copies)):
        moved = dict(place)
        for factor, digit in zip(copies, digits, strict=True):
            moved[str(factor.axis)] += digit * factor.stride
        found.add(tuple(moved.values()))
    return sorted(found)


def owner_map(layout: Layout, axis: str) -> Indices:
    """The coordinate on `axis` of each element's lowest owner, shape `layout.shape` (see `Layout.owner_map`).

    >>> owner_map(Layout.parse("d0 = 2@reg:2 2@lane | offset 3@lane"), "lane").tolist()
    [3, 4, 3, 4]
    """
    _require_numbers(layout)
    if axis not in layout.codomain:
        raise LayoutError(f"axis {axis!r}: expected one of {', '.join(layout.codomain)} (of {layout})")
    shape = layout.shape
    _limit(layout, shape, 1, layout.names)
    start = layout.offsets.get(axis, 0)
    dtype = _index_type(abs(start) + layout.spans().get(axis, 1))
    result = np.empty(shape, dtype)
    _outer_sum([_steps(factors, axis, dtype) for factors in layout.dims], start, result)
    return result


def _steps(factors: Sequence[Factor], axis: str, dtype: np.dtype[Any]) -> Indices:
    """How far each value of a dimension moves along `axis`: a vector of the dimension's size."""
    steps: Indices = np.zeros(1, dtype)
    for extent, stride, along in factors:
        if along == axis:
            moves: Indices = np.arange(0, extent * stride, stride, dtype=dtype)
            steps = (steps[:, None] + moves).reshape(-1)
        elif extent != 1:
            steps = np.repeat(steps, extent)
    return steps


def _outer_sum(vectors: Sequence[Indices | None], start: int, out: Indices) -> None:
    """`out[i, j, ...] = start + vectors[0][i] + vectors[1][j] + ...`, written once; None stands for all zeros."""
    terms = [v.reshape((-1,) + (1,) * (len(vectors) - 1 - i)) for i, v in enumerate(vectors) if v is not None]
    if not terms:
        out[...] = start
        return
    head = terms[0] + out.dtype.type(start) if start else terms[0]
    for term in terms[1:-1]:
        head = head + term
    if len(terms) == 1:
        out[...] = head
    else:
        np.add(head, terms[-1], out=out)


def _index_type(largest: int) -> np.dtype[Any]:
    return np.dtype(np.int32 if largest < 2**31 else np.int64)


def _pick(part: Selection | None, size: int, origin: int, axis: str) -> Indices | None:
    """The positions (from 0) on an axis that a selection names; None for all."""
    if part is None:
        return None
    try:
        given = [index(p) for p in part] if isinstance(part, (Sequence, np.ndarray)) else [index(part)]
    except TypeError:
        raise LayoutError(f"{axis}={part!r}: expected a whole number or several") from None
    for value in given:
        if not origin <= value < origin + size:
            raise LayoutError(f"{axis}={value}: expected {origin}..{origin + size - 1}")
    return np.array(given, np.int64) - origin


def _limit(layout: Layout, sizes: Sequence[int], rank: int, names: Sequence[str]) -> None:
    entries = prod(sizes) * rank
    if entries > MAX_ENTRIES:
        shown = " x ".join(f"{n} {name}" for n, name in zip(sizes, names, strict=True))
        raise SizeError(
            f"a map of {shown} x {rank} coordinates is over the limit of 2^28 entries; ask for a part with "
            f"fragment_map(sg=0, lane=0), or for a part of the tensor with restrict() (layout {layout})"
        )


def _require_numbers(layout: Layout) -> None:
    for value in (*layout.shape, *layout.spans().values()):
        if type(value) is not int:
            raise LayoutError(f"{layout} has symbols; put numbers for them with substitute() before asking for a map")


def _scattered_map(layout: Layout, part: Mapping[str, Selection]) -> Indices:
    """The fragment map where an axis has gaps or overlaps: written element by element, holes are -1."""
    names, shape = layout.codomain, layout.shape
    spans, starts = layout.spans(), layout.offsets
    sizes = tuple(spans.get(axis, 1) for axis in names)
    _limit(layout, sizes, layout.rank, names)
    _limit(
        layout,
        (*shape, *(f.extent for f in layout.replicas)),
        layout.rank,
        (*layout.names, *(str(f) for f in layout.replicas)),
    )
    result = np.full((*sizes, layout.rank), -1, np.int64)
    count = np.zeros(sizes, np.int64)
    elements = np.indices(shape).reshape(layout.rank, -1).T + np.array(layout.origins, np.int64).reshape(1, -1)
    base = {axis: owner_map(layout, axis).reshape(-1) - starts.get(axis, 0) for axis in names}
    places: set[tuple[int, ...]] = set()
    for digits in product(*(range(f.extent) for f in layout.replicas)):
        moved = dict.fromkeys(names, 0)
        for factor, digit in zip(layout.replicas, digits, strict=True):
            if factor.axis is not None:
                moved[factor.axis] += digit * factor.stride
        places.add(tuple(moved.values()))
    for place in places:
        slot = tuple(base[axis] + move for axis, move in zip(names, place, strict=True))
        result[slot] = elements
        np.add.at(count, slot, 1)
    if count.max(initial=0) > 1:
        crowded = dict(zip(names, (int(c) for c in np.argwhere(count > 1)[0]), strict=True))
        raise LayoutError(f"fragment map: one slot holds {count.max()} elements, the first at {crowded} (in {layout})")
    picks = [_pick(part.get(a), n, starts.get(a, 0), a) for a, n in zip(names, sizes, strict=True)]
    chosen: list[Any] = [np.arange(n) if p is None else p for n, p in zip(sizes, picks, strict=True)]
    return result[np.ix_(*chosen)]
