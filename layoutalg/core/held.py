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
from typing import Any

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.limits import MOST_LISTED
from layoutalg.core.messages import number_text, shown
from layoutalg.core.moves import lowest_moves
from layoutalg.core.relation import Relation
from layoutalg.core.slots import Selection, selected, slots_of
from layoutalg.core.whole_numbers import found_whole

__all__ = ["coords", "held"]


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
