"""What places hold, element by element and without arrays: the same as a part of the fragment map.

>>> held(Layout.parse("d0 = 2@reg, d1 = 4@lane"), sg=0, lane=3)
[[0, 3], [1, 3]]

A layout whose axes have no gap has an inverse, and the element of a place is where the inverse has that place. With gaps or
overlaps it is the fragment map that knows (numpy).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

from layoutalg.core.algebra import inverse
from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.limits import MOST_LISTED, MOST_PICKED
from layoutalg.core.messages import number_text, shown
from layoutalg.core.moves import lowest_moves
from layoutalg.core.relation import Relation
from layoutalg.core.whole_numbers import found_whole, listed
from layoutalg.core.xor import operations as xor_operations

__all__ = ["Selection", "coords", "held", "selected", "slots_of"]

Selection: TypeAlias = int | Sequence[int] | range
"""A part of an axis: one coordinate, or several."""


def held(layout: Relation, **part: Selection) -> list[list[int]]:
    """The coordinates of the element in each of some places, the last axis of the codomain fastest.

    Name an axis to get a part of it, as in `Layout.fragment_map`. Raises `LayoutError` where a place holds several elements,
    `SizeError` for more than 2^19 places.
    """
    slots = slots_of(layout, part)
    if slots is None:
        from layoutalg.core.fragments import fragment_map

        found = fragment_map(layout, **part)
        elements: list[list[int]] = found.reshape(prod(found.shape[:-1]), layout.rank).tolist()
        return elements
    chosen: list[Sequence[int]] = []
    sizes: Any = slots.shape
    for axis, size, origin in zip(layout.codomain, sizes, slots.origins, strict=True):
        some = selected(part.get(axis), size, origin, axis)
        chosen.append(range(size) if some is None else [x - origin for x in some])
    count = prod(map(len, chosen))
    if count > MOST_LISTED:
        raise SizeError(f"{number_text(count)} elements: at most {MOST_LISTED} are listed (in {layout})")
    moves = lowest_moves(slots)
    return [[moves[name].at(place) for name in layout.names] for place in product(*chosen)]


def coords(layout: Relation, position: Mapping[str, int]) -> Any:
    """The coordinates of one work-item: `[reg, rank]`, an array, or where numpy is missing lists (see `Layout.coords`)."""
    fixed = {a: 0 for a in ("sg", "lane") if a in layout.codomain} | dict(position)
    for axis, value in fixed.items():
        if found_whole(value) is None:
            raise LayoutError(f"coords({axis}={shown(value)}): expected one whole number; fragment_map takes several")
    try:
        from layoutalg.core.fragments import fragment_map
    except ModuleNotFoundError:
        spans: Any = layout.spans()
        nested: Any = held(layout, **fixed)
        for size in [spans.get(axis, 1) for axis in layout.codomain if axis not in fixed][:0:-1]:
            nested = [nested[at : at + size] for at in range(0, len(nested), size)]
        return nested
    found = fragment_map(layout, **fixed)
    sizes = [n for n, axis in zip(found.shape, layout.codomain, strict=False) if axis not in fixed]
    return found.reshape([*sizes, layout.rank])


def slots_of(layout: Relation, part: Mapping[str, Selection]) -> Relation | None:
    """The inverse, which says what each place holds; None where an axis has a gap or an overlap.

    Raises `LayoutError` for an axis of `part` that there is not, and where one place holds several elements.
    """
    layout.require_numbers("asking for a map")
    for axis in part:
        if axis not in layout.codomain:
            raise LayoutError(f"axis {shown(axis)}: expected one of {', '.join(layout.codomain)} (of {layout})")
    try:
        slots = inverse(layout) if layout.flips is None else xor_operations.inverse(layout, tidy=False)
    except LayoutError:
        return None
    if slots.replicas:
        raise LayoutError(
            f"fragment map: one slot holds several elements along {slots.replicas[0].axis!r} (in {layout})"
        )
    return slots


def selected(part: Selection | None, size: int, origin: int, axis: str) -> Sequence[int] | None:
    """The coordinates on an axis that a selection names; None for all."""
    if part is None:
        return None
    if isinstance(part, range) and part and origin <= min(part[0], part[-1]) <= max(part[0], part[-1]) < origin + size:
        if len(part) > MOST_PICKED:
            raise SizeError(f"{axis}={shown(part)}: expected at most {MOST_PICKED} coordinates")
        return part
    given: object = part
    found = [found_whole(given)]
    if found == [None]:
        found = [found_whole(one) for one in listed(given, f"{axis}=", MOST_PICKED, SizeError)]
    whole: list[int] = []
    for value in found:
        if value is None:
            raise LayoutError(f"{axis}={shown(given)}: expected a whole number or several")
        if not origin <= value < origin + size:
            raise LayoutError(f"{axis}={number_text(value)}: expected {origin}..{origin + size - 1}")
        whole.append(value)
    return whole
