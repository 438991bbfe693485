"""Fragment maps and owner maps: a layout as numpy arrays.

Factors of different axes only add, so every map is separable: one short vector per axis, and one broadcast sum. No loop
runs over elements, and a map costs about what writing its result costs.

>>> tile = Layout.parse("d0 = 2@sg 2@reg, d1 = 2@lane")
>>> fragment_map(tile)[1, 0].tolist()       # subgroup 1, lane 0: two registers
[[2, 0], [3, 0]]
>>> owner_map(tile, "sg").tolist()
[[0, 0], [0, 0], [1, 1], [1, 1]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.factors import Factor
from layoutalg.core.limits import MAX_ENTRIES, MOST_DIMENSIONS, MOST_PAIRS
from layoutalg.core.messages import number_text, shown
from layoutalg.core.moves import lowest_moves
from layoutalg.core.relation import Relation
from layoutalg.core.slots import Selection, selected, slots_of
from layoutalg.core.xor import maps as xor_maps
from layoutalg.core.xor.lowest import flipped_copies

__all__ = [
    "Indices",
    "every_place",
    "fragment_map",
    "limit_entries",
    "owner_map",
    "places",
    "reach",
]

Indices: TypeAlias = NDArray[np.signedinteger[Any]]
"""An array of coordinates: int32, or int64 where a coordinate needs it."""


def fragment_map(layout: Relation, **part: Selection) -> Indices:
    """The coordinates of every work-item's registers: `[sg, lane, reg, rank]` (see `Layout.fragment_map`)."""
    slots = slots_of(layout, part)
    if slots is None:
        return _scattered_map(layout, part)
    names = layout.codomain
    picks = [_pick(part.get(a), n, o, a) for a, n, o in zip(names, slots.shape, slots.origins, strict=True)]
    sizes = tuple(n if pick is None else len(pick) for n, pick in zip(slots.shape, picks, strict=True))
    limit_entries(layout, sizes, layout.rank, names)
    ends = [(o, o + n) for o, n in zip(layout.origins, layout.shape, strict=True)]
    dtype = _index_type(min((low for low, _ in ends), default=0), max((high for _, high in ends), default=1))
    _limit_bytes(layout, sizes, layout.rank, dtype)
    result = np.empty((layout.rank, *sizes), dtype)
    start = slots.offsets
    if slots.flips is not None:
        xor_maps.fill(slots, layout.names, picks, result)
        return np.moveaxis(result, 0, -1)
    for d, name in enumerate(layout.names):
        vectors: list[Indices | None] = []
        for factors, pick in zip(slots.dims, picks, strict=True):
            if all(f.axis != name for f in factors):
                vectors.append(None)
            else:
                vectors.append(
                    _steps(factors, name, dtype) if pick is None else _steps_at(factors, name, pick).astype(dtype)
                )
        _outer_sum(vectors, start.get(name, 0), result[d])
    return np.moveaxis(result, 0, -1)


def places(layout: Relation, element: Sequence[Any]) -> dict[str, Indices]:
    """The lowest owner of many elements at once: an array per axis of the codomain.

    `element` has one coordinate or array of coordinates per dimension; they are broadcast against each other.

    Raises `LayoutError` for another number of dimensions, and for elements outside the tensor.

    >>> found = places(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"), ([[0], [21]], [0, 50]))
    >>> found["sg"].tolist(), found["lane"].tolist(), found["reg"].tolist()
    ([[0, 3], [4, 7]], [[0, 2], [0, 2]], [[0, 0], [5, 5]])
    """
    layout.require_numbers("asking for a map")
    if len(element) != layout.rank:
        raise LayoutError(f"{len(element)} coordinates: expected {layout.rank} (of {layout})")
    ends = [layout.offsets.get(axis, 0) + span for axis, span in layout.spans().items()]
    _index_type(0, max(ends, default=1))
    try:
        counted = [np.asarray(values, np.int64) - o for values, o in zip(element, layout.origins, strict=True)]
        shape = np.broadcast_shapes(*(values.shape for values in counted))
    except (TypeError, ValueError, OverflowError):
        raise LayoutError(
            f"coordinates {shown(element)}: expected whole numbers, or arrays of them that numpy broadcasts"
        ) from None
    for rest, size, name in zip(counted, layout.shape, layout.names, strict=True):
        if rest.size and (rest.min() < 0 or rest.max() >= size):
            raise LayoutError(f"{name} from {rest.min()} to {rest.max()}: outside a size of {size} (in {layout})")
    return {axis: np.broadcast_to(moves.at(counted), shape) for axis, moves in lowest_moves(layout).items()}


def reach(replicas: Sequence[Factor], axis: str) -> NDArray[np.int64]:
    """How far each combination of replicas' values moves along `axis`: a vector, one entry per combination.

    >>> reach([Factor(2, 8, "lane"), Factor(2, 1, "lane")], "lane").tolist()
    [0, 1, 8, 9]
    """
    return np.asarray(_steps(replicas, axis, np.dtype(np.int64)), np.int64)


_MOST_DIMENSIONS = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32
"""The dimensions of an array of this numpy."""


def owner_map(layout: Relation, axis: str) -> Indices:
    """The coordinate on `axis` of each element's lowest owner, shape `layout.shape` (see `Layout.owner_map`)."""
    layout.require_numbers("asking for a map")
    if not isinstance(axis, str) or axis not in layout.codomain:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"axis {shown(axis)}: expected one of {', '.join(layout.codomain)} (of {layout})")
    shape = layout.shape
    if len(shape) > _MOST_DIMENSIONS:
        raise SizeError(
            f"a tensor of {len(shape)} dimensions: numpy {np.__version__} has arrays of at most {_MOST_DIMENSIONS}; ask for "
            "the owners of an element, or for what a lane holds"
        )
    limit_entries(layout, shape, 1, layout.names)
    start = layout.offsets.get(axis, 0)
    dtype = _index_type(start, start + layout.spans().get(axis, 1))
    _limit_bytes(layout, shape, 1, dtype)
    result = np.empty(shape, dtype)
    if layout.flips is not None:
        xor_maps.fill_lowest(layout, axis, result)
    else:
        _outer_sum([_steps(factors, axis, dtype) for factors in layout.dims], start, result)
    return result


def every_place(layout: Relation) -> dict[str, NDArray[np.int64]]:
    """Where all copies of all elements are on each axis: `[elements, copies]`, elements row-major.

    >>> every_place(Layout.parse("d0 = 2@lane:2 | replicas 2@lane"))["lane"].tolist()
    [[0, 1], [2, 3]]
    """
    if not layout.codomain:
        return {}
    copies = [layout] if layout.flips is None else flipped_copies(layout)
    moves: Any = np.unique(np.stack([reach(copies[0].replicas, axis) for axis in layout.codomain], -1), axis=0)
    found: dict[str, Any] = {}
    for axis, move in zip(layout.codomain, moves.T, strict=True):
        at = np.stack([owner_map(copy, axis).astype(np.int64).reshape(-1) for copy in copies], -1)
        found[axis] = (at[:, :, None] + move).reshape(len(at), -1)
    return found


def _steps(factors: Sequence[Factor], axis: str, dtype: np.dtype[Any]) -> Indices:
    """How far each value of a dimension moves along `axis`: a vector of the dimension's size."""
    steps: Indices = np.zeros(1, dtype)
    for extent, stride, along in factors:
        if along == axis:
            moves: Indices = np.arange(0, extent * stride, stride, dtype=dtype)
            steps = moves if len(steps) == 1 else (steps[:, None] + moves).reshape(-1)
        elif extent != 1:
            steps = np.repeat(steps, extent)
    return steps


def _steps_at(factors: Sequence[Factor], axis: str, positions: Indices) -> Indices:
    """How far some values of a dimension move along `axis`; the others are not worked out."""
    steps: Any = np.zeros(len(positions), np.int64)
    rest: Any = positions
    for extent, stride, along in reversed(factors):
        rest, digit = np.divmod(rest, extent)
        if along == axis:
            steps += digit * stride
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


def _index_type(low: int, high: int) -> np.dtype[Any]:
    """The integer type for coordinates from `low` to below `high`."""
    largest = max(-low, high)
    if largest >= 2**63:
        raise SizeError(f"coordinates from {low} to {high - 1} do not fit into 64 bits")
    return np.dtype(np.int32 if largest < 2**31 else np.int64)


def _pick(part: Selection | None, size: int, origin: int, axis: str) -> Indices | None:
    """The positions (from 0) on an axis that a selection names; None for all."""
    found = selected(part, size, origin, axis)
    if isinstance(found, range):
        return np.arange(found.start, found.stop, found.step, dtype=np.int64) - origin
    return None if found is None else np.array(found, np.int64) - origin


def limit_entries(layout: Relation, sizes: Sequence[int], rank: int, names: Sequence[str]) -> None:
    """Refuse a map of more dimensions than arrays have, or of more than 2^28 entries."""
    if len(sizes) >= MOST_DIMENSIONS:
        raise SizeError(
            f"an array of {len(sizes)} dimensions or more: numpy has at most {MOST_DIMENSIONS} (layout {layout})"
        )
    entries = prod(sizes) * max(1, rank)
    if entries > MAX_ENTRIES:
        counts = " x ".join(f"{number_text(n)} {name}" for n, name in zip(sizes, names, strict=True))
        raise SizeError(
            f"a map of {counts} x {rank} coordinates is over the limit of 2^28 entries; ask for a part with "
            f"fragment_map(sg=0, lane=0), or for a part of the tensor with restrict() (layout {layout})"
        )


def _limit_bytes(layout: Relation, sizes: Sequence[int], rank: int, dtype: np.dtype[Any]) -> None:
    """At most 1 GiB, and half as much beside it for the places along the longest axis, from which the map is made."""
    entries = prod(sizes) * max(1, rank)
    beside = max(sizes, default=1)
    if entries * dtype.itemsize > 4 * MAX_ENTRIES or (entries + beside) * dtype.itemsize > 6 * MAX_ENTRIES:
        raise SizeError(
            f"a map of {number_text(entries)} entries of {dtype.itemsize} bytes, and {number_text(beside)} places along an "
            f"axis: over 1 GiB (layout {layout})"
        )


def _scattered_map(layout: Relation, part: Mapping[str, Selection]) -> Indices:
    """The fragment map where an axis has gaps or overlaps: every element is written into its slots, holes are -1."""
    names, starts, spans = layout.codomain, layout.offsets, layout.spans()
    picks = [_pick(part.get(a), spans.get(a, 1), starts.get(a, 0), a) for a in names]
    chosen: list[Any] = [None if pick is None else np.unique(pick) for pick in picks]
    sizes: tuple[int, ...] = tuple(
        spans.get(a, 1) if one is None else len(one) for a, one in zip(names, chosen, strict=True)
    )
    limit_entries(layout, sizes, layout.rank, names)
    pairs = prod(layout.shape) * prod(f.extent for f in layout.replicas)
    if pairs > MOST_PAIRS or prod(sizes) > 4 * MOST_PAIRS:
        raise SizeError(
            f"{number_text(pairs)} pairs of an element and a slot, for {prod(sizes)} slots, one by one because an axis has a "
            f"gap or an overlap: at most {MOST_PAIRS} pairs; restrict() takes a part of the tensor (layout {layout})"
        )
    slots: Any = 0
    inside: Any = True
    for (axis, place), one, size in zip(every_place(layout).items(), chosen, sizes, strict=True):
        place: Any = place - starts.get(axis, 0)
        if one is not None:
            at = cast("Any", np.searchsorted(one, place))
            inside = inside & (np.append(one, -1)[at] == place)
            place = at
        slots = slots * size + place
    inside = np.broadcast_to(inside, slots.shape)
    elements: Any = np.broadcast_to(np.arange(len(slots))[:, None], slots.shape)[inside]
    slots = slots[inside]
    holder = np.full(prod(sizes), -1, np.int64)
    holder[slots] = elements
    if (holder[slots] != elements).any():
        held = np.bincount(slots)
        crowded = np.unravel_index(int((held > 1).argmax()), sizes)
        where = ", ".join(
            f"{a} {int(c if one is None else one[c]) + starts.get(a, 0)}"
            for a, c, one in zip(names, crowded, chosen, strict=True)
            if a in spans
        )
        raise LayoutError(
            f"fragment map: one slot holds {held.max()} elements, the first at {where or 'the only one'} (in {layout})"
        )
    if not layout.rank:
        result = np.zeros((*sizes, 0), np.int32)
    else:
        coordinates = [np.append(values, -1) for values in _coordinates(layout)]
        result = np.stack([values[holder] for values in coordinates], -1).reshape((*sizes, layout.rank))
    for k, (pick, one) in enumerate(zip(picks, chosen, strict=True)):
        if pick is not None and one is not None:
            result = np.take(result, np.searchsorted(one, pick), axis=k)
    return result


def _coordinates(layout: Relation) -> list[Indices]:
    """The coordinates of all elements, row-major: a vector per dimension."""
    ends = [(o, o + n) for o, n in zip(layout.origins, layout.shape, strict=True)]
    dtype = _index_type(min((low for low, _ in ends), default=0), max((high for _, high in ends), default=1))
    after, found = prod(layout.shape), list[Indices]()
    before = 1
    for low, high in ends:
        after //= high - low
        found.append(np.tile(np.repeat(np.arange(low, high, dtype=dtype), after), before))
        before *= high - low
    return found
