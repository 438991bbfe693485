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
from math import prod
from operator import index
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.algebra import inverse
from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.factors import Factor
from layoutalg.core.relation import Relation

__all__ = [
    "MAX_COPIES",
    "MAX_ENTRIES",
    "Indices",
    "Selection",
    "collect",
    "coords",
    "distribute",
    "fragment_map",
    "owner_map",
    "owners",
    "places",
    "reach",
]

Indices: TypeAlias = NDArray[np.signedinteger[Any]]
"""An array of coordinates: int32, or int64 where a coordinate needs it."""
Selection: TypeAlias = int | Sequence[int] | range
"""A part of an axis: one coordinate, or several."""

MAX_ENTRIES = 2**28
"""A map of more entries than this is refused."""
MAX_COPIES = 2**20
"""An element with more owners than this is not listed."""
MOST_PAIRS = 2**24
"""Pairs of an element and a slot that are written out one by one."""


def fragment_map(layout: Relation, **part: Selection) -> Indices:
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
        slots = inverse(layout)
    except LayoutError:
        return _scattered_map(layout, part)
    if slots.replicas:
        raise LayoutError(
            f"fragment map: one slot holds several elements along {slots.replicas[0].axis!r} (in {layout})"
        )
    picks = [_pick(part.get(a), n, o, a) for a, n, o in zip(names, slots.shape, slots.origins, strict=True)]
    sizes = tuple(n if pick is None else len(pick) for n, pick in zip(slots.shape, picks, strict=True))
    _limit(layout, sizes, layout.rank, names)
    ends = [(o, o + n) for o, n in zip(layout.origins, layout.shape, strict=True)]
    dtype = _index_type(min((low for low, _ in ends), default=0), max((high for _, high in ends), default=1))
    result = np.empty((layout.rank, *sizes), dtype)
    start = slots.offsets
    for d, name in enumerate(layout.names):
        vectors = [None if all(f.axis != name for f in fs) else _steps(fs, name, dtype) for fs in slots.dims]
        picked = [v if v is None or p is None else v[p] for v, p in zip(vectors, picks, strict=True)]
        _outer_sum(picked, start.get(name, 0), result[d])
    return np.moveaxis(result, 0, -1)


def coords(layout: Relation, position: Mapping[str, int]) -> Indices:
    """The coordinates of one work-item: `[reg, rank]` (see `Layout.coords`).

    >>> coords(Layout.parse("d0 = 2@reg, d1 = 4@lane"), {"lane": 3}).tolist()
    [[0, 3], [1, 3]]
    """
    fixed = {a: 0 for a in ("sg", "lane") if a in layout.codomain} | dict(position)
    for axis, value in fixed.items():
        if isinstance(value, (Sequence, np.ndarray)):
            raise LayoutError(f"coords({axis}={value!r}): expected one whole number; fragment_map takes several")
    found = fragment_map(layout, **fixed)
    sizes = [n for n, axis in zip(found.shape, layout.codomain, strict=False) if axis not in fixed]
    return found.reshape([*sizes, layout.rank])


def owners(layout: Relation, element: Sequence[int]) -> list[tuple[int, ...]]:
    """Every position of the codomain that holds one element, ascending (see `Layout.owners`).

    Raises `LayoutError` for an element outside the tensor.

    >>> owners(Layout.parse("d0 = 4@reg, d1 = 2@lane | replicas 2@sg"), (3, 1))
    [(0, 1, 3), (1, 1, 3)]
    """
    _require_numbers(layout)
    names = layout.codomain
    place = {axis: layout.offsets.get(axis, 0) for axis in names}
    shape, origins = layout.shape, layout.origins
    try:
        given = [index(value) for value in element]
    except TypeError:
        raise LayoutError(f"element {element!r}: expected {layout.rank} whole numbers (of {layout})") from None
    if len(given) != layout.rank:
        raise LayoutError(f"element {tuple(given)}: expected {layout.rank} coordinates (of {layout})")
    for d, value in enumerate(given):
        rest = value - origins[d]
        if not 0 <= rest < shape[d]:
            raise LayoutError(
                f"element {tuple(given)}: {layout.names[d]} goes from {origins[d]} to {origins[d] + shape[d] - 1} "
                f"(in {layout})"
            )
        for extent, stride, axis in reversed(layout.dims[d]):
            rest, digit = divmod(rest, extent)
            if axis is not None:
                place[axis] += digit * stride
    if not layout.replicas:
        return [tuple(place.values())]
    copies = _copies(layout)
    moved = np.stack([copies[axis] + start for axis, start in place.items()], -1)
    return [tuple(row) for row in np.unique(moved, axis=0).tolist()]


def places(layout: Relation, element: Sequence[Any]) -> dict[str, Indices]:
    """The lowest owner of many elements at once: an array per axis of the codomain.

    `element` has one coordinate or array of coordinates per dimension; they are broadcast against each other.

    Raises `LayoutError` for another number of dimensions, and for elements outside the tensor.

    >>> found = places(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"), ([[0], [21]], [0, 50]))
    >>> found["sg"].tolist(), found["lane"].tolist(), found["reg"].tolist()
    ([[0, 3], [4, 7]], [[0, 2], [0, 2]], [[0, 0], [5, 5]])
    """
    _require_numbers(layout)
    if len(element) != layout.rank:
        raise LayoutError(f"{len(element)} coordinates: expected {layout.rank} (of {layout})")
    ends = [layout.offsets.get(axis, 0) + span for axis, span in layout.spans().items()]
    _index_type(0, max(ends, default=1))
    moved: dict[str, Any] = dict.fromkeys(layout.codomain, 0)
    counted = [np.asarray(values, np.int64) - o for values, o in zip(element, layout.origins, strict=True)]
    for rest, factors, size, name in zip(counted, layout.dims, layout.shape, layout.names, strict=True):
        if rest.size and (rest.min() < 0 or rest.max() >= size):
            raise LayoutError(f"{name} from {rest.min()} to {rest.max()}: outside a size of {size} (in {layout})")
        for extent, stride, axis in reversed(factors):
            rest, digit = np.divmod(rest, extent)
            if axis is not None:
                moved[axis] = moved[axis] + digit * stride
    shape = np.broadcast_shapes(*(values.shape for values in counted))
    starts = layout.offsets
    return {axis: np.broadcast_to(moves + starts.get(axis, 0), shape) for axis, moves in moved.items()}


def distribute(layout: Relation, tensor: NDArray[Any]) -> NDArray[Any]:
    """What every work-item holds of a tensor: `[..., d0, d1]` becomes `[..., sg, lane, reg]`; holes are 0.

    Raises `LayoutError` for what is no array, or a tensor of another shape.

    >>> tile = Layout.parse("d0 = 2@reg, d1 = 2@lane")
    >>> distribute(tile, np.array([[1, 2], [3, 4]])).tolist()
    [[[1, 3], [2, 4]]]
    """
    if not isinstance(tensor, np.ndarray) or tensor.shape[max(tensor.ndim - layout.rank, 0) :] != layout.shape:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(
            f"{_shape_of(tensor)} for {layout}: expected an array whose last sizes are {list(layout.shape)}"
        )
    # Counted from 0, so that -1 marks a hole and nothing else.
    held = fragment_map(type(layout)(layout.dims, layout.replicas, layout.offsets, names=layout.names))
    if not layout.rank:
        return np.broadcast_to(tensor[(..., *(None,) * (held.ndim - 1))], (*tensor.shape, *held.shape[:-1])).copy()
    places = np.moveaxis(held, -1, 0)
    found: NDArray[Any] = tensor[(..., *places)]
    if int(places[0].min(initial=0)) < 0:
        found = np.where(places[0] < 0, np.zeros((), tensor.dtype), found)
    return found


def collect(layout: Relation, fragments: NDArray[Any]) -> NDArray[Any]:
    """The tensor that fragments hold: `[..., sg, lane, reg]` becomes `[..., d0, d1]`, read from the lowest owners.

    Raises `LayoutError` for fragments of another shape.

    >>> tile = Layout.parse("d0 = 2@reg, d1 = 2@lane")
    >>> collect(tile, np.array([[[1, 3], [2, 4]]])).tolist()
    [[1, 2], [3, 4]]
    """
    axes, spans = layout.codomain, layout.spans()
    sizes = tuple(spans.get(axis, 1) for axis in axes)
    if not isinstance(fragments, np.ndarray) or fragments.shape[max(fragments.ndim - len(axes), 0) :] != sizes:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(
            f"fragments, {_shape_of(fragments)}: expected [..., {', '.join(axes)}] of sizes {list(sizes)} (of {layout})"
        )
    starts = layout.offsets
    places = (owner_map(layout, axis) - starts.get(axis, 0) for axis in axes)
    found: NDArray[Any] = fragments[(..., *places)]
    return found


def _shape_of(given: object) -> str:
    shape: Any = getattr(given, "shape", None)
    return f"a {type(given).__name__}" if shape is None else f"an array of shape {list(shape)}"


def _copies(layout: Relation) -> dict[str, NDArray[np.int64]]:
    """How far each combination of replica digits moves along each axis of the codomain."""
    count = prod(f.extent for f in layout.replicas)
    if count > MAX_COPIES:
        raise SizeError(f"{count} copies of each element: at most {MAX_COPIES} are listed (in {layout})")
    return {axis: reach(layout.replicas, axis) for axis in layout.codomain}


def reach(replicas: Sequence[Factor], axis: str) -> NDArray[np.int64]:
    """How far each combination of replica digits moves along `axis`: a vector, one entry per combination.

    >>> reach([Factor(2, 8, "lane"), Factor(2, 1, "lane")], "lane").tolist()
    [0, 1, 8, 9]
    """
    return np.asarray(_steps(replicas, axis, np.dtype(np.int64)), np.int64)


def owner_map(layout: Relation, axis: str) -> Indices:
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
    dtype = _index_type(start, start + layout.spans().get(axis, 1))
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


def _index_type(low: int, high: int) -> np.dtype[Any]:
    """The integer type for coordinates from `low` to below `high`."""
    largest = max(-low, high)
    if largest >= 2**63:
        raise SizeError(f"coordinates from {low} to {high - 1} do not fit into 64 bits")
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


def _limit(layout: Relation, sizes: Sequence[int], rank: int, names: Sequence[str]) -> None:
    entries = prod(sizes) * rank
    if entries > MAX_ENTRIES:
        shown = " x ".join(f"{n} {name}" for n, name in zip(sizes, names, strict=True))
        raise SizeError(
            f"a map of {shown} x {rank} coordinates is over the limit of 2^28 entries; ask for a part with "
            f"fragment_map(sg=0, lane=0), or for a part of the tensor with restrict() (layout {layout})"
        )


def _require_numbers(layout: Relation) -> None:
    for value in (*layout.shape, *layout.spans().values()):
        if type(value) is not int:
            raise LayoutError(f"{layout} has symbols; put numbers for them with substitute() before asking for a map")


def _scattered_map(layout: Relation, part: Mapping[str, Selection]) -> Indices:
    """The fragment map where an axis has gaps or overlaps: every element is written into its slots, holes are -1."""
    names, starts, spans = layout.codomain, layout.offsets, layout.spans()
    sizes = tuple(spans.get(axis, 1) for axis in names)
    _limit(layout, sizes, layout.rank, names)
    pairs = prod(layout.shape) * prod(f.extent for f in layout.replicas)
    if pairs > MOST_PAIRS:
        raise SizeError(
            f"{pairs} pairs of an element and a slot, one by one because an axis has a gap or an overlap: "
            f"at most {MOST_PAIRS} are written out; restrict() takes a part of the tensor (layout {layout})"
        )
    slots, moves = np.zeros((), np.int64), np.zeros((), np.int64)
    for axis, size in zip(names, sizes, strict=True):
        slots = slots * size + (owner_map(layout, axis).astype(np.int64) - starts.get(axis, 0))
        moves = moves * size + reach(layout.replicas, axis)
    slots = slots.reshape(-1, 1) + np.unique(moves)
    elements = np.broadcast_to(np.arange(len(slots))[:, None], slots.shape)
    holder = np.full(prod(sizes), -1, np.int64)
    holder[slots] = elements
    if (holder[slots] != elements).any():
        held = np.bincount(slots.reshape(-1))
        crowded = np.unravel_index(int((held > 1).argmax()), sizes)
        where = ", ".join(f"{a} {int(c) + starts.get(a, 0)}" for a, c in zip(names, crowded, strict=True) if a in spans)
        raise LayoutError(
            f"fragment map: one slot holds {held.max()} elements, the first at {where or 'the only one'} (in {layout})"
        )
    if not layout.rank:
        result = np.zeros((*sizes, 0), np.int32)
    else:
        coordinates = [np.append(values, -1) for values in _coordinates(layout)]
        result = np.stack([values[holder] for values in coordinates], -1).reshape(*sizes, layout.rank)
    picks = [_pick(part.get(a), n, starts.get(a, 0), a) for a, n in zip(names, sizes, strict=True)]
    chosen: list[Any] = [np.arange(n) if p is None else p for n, p in zip(sizes, picks, strict=True)]
    return result[np.ix_(*chosen)]


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
