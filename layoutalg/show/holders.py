"""Who holds an element and what a work-item holds, in words.

>>> tile = Layout.parse("d0 = 2@reg, d1 = 4@sg 16@lane")
>>> print(held_by(tile, {"sg": 1, "lane": 5}))
(0, 21) (1, 21)
>>> holder_text({"sg": 1, "lane": 5, "reg": 0})
'subgroup 1, lane 5, register 0'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from layoutalg.core.errors import DistributionError
from layoutalg.core.factors import as_name
from layoutalg.core.held import held
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_HELD, MOST_PRINTED
from layoutalg.core.limits import MOST_REPORTED as _MOST_LISTED
from layoutalg.core.whole_numbers import as_whole, instance_of

__all__ = [
    "HeldElements",
    "as_holder",
    "box_text",
    "held_by",
    "holder_text",
    "places_text",
    "points_text",
    "ranges_text",
]

_WORDS = {"sg": "subgroup", "reg": "register"}


@dataclass(frozen=True, slots=True)
class HeldElements:
    """The elements that a work-item (or a subgroup) holds, in the order of its registers; `more` that are not listed.

    >>> str(HeldElements({"lane": 0}, [[0, 1]], 1000))
    '(0, 1) and 1,000 more'
    """

    holder: Mapping[str, int]
    elements: list[list[int]]
    more: int = 0

    def __str__(self) -> str:
        return points_text(self.elements) + (f" and {self.more:,} more" if self.more else "")


def held_by(layout: Layout, holder: Mapping[str, int]) -> HeldElements:
    """The coordinates that a work-item holds: of very many elements the first. Subgroup 0 is meant unless `holder` says it.

    Raises `DistributionError` for an axis that the layout does not have, and for too many elements to list.
    """
    axes: dict[str, Any] = layout.axes
    if "sg" not in axes and holder.get("sg") == 0:  # a layout of one subgroup may leave it out
        holder = {axis: number for axis, number in holder.items() if axis != "sg"}
    for axis, number in holder.items():
        who = holder_text({axis: number})
        if axis not in axes:
            raise DistributionError(f"{who}: this layout has {', '.join(axes) or 'no axes'} ({layout})")
        first, size = layout.offsets.get(axis, 0), axes[axis]
        if type(size) is int and not first <= number < first + size:
            raise DistributionError(f"{who}: this layout has {first} to {first + size - 1} ({layout})")
    whole = {axis: 0 for axis in ("sg", "lane") if axis in axes} | dict(holder)
    if "lane" not in holder and axes.get("lane", 1) != 1:
        del whole["lane"]
    rest = [axis for axis in layout.codomain if axis not in whole and axes.get(axis, 1) != 1]
    count: Any = prod(axes[axis] for axis in rest)
    part: dict[str, Any] = dict(whole)
    more = 0
    if type(count) is int and count > _MOST_LISTED:
        if rest != ["reg"]:
            raise DistributionError(f"{holder_text(whole)} holds {count} elements: too many to list; ask for one lane")
        if count > MOST_HELD:
            raise DistributionError(f"{holder_text(whole)} holds {count} elements: over 2^31, too many to list")
        start = layout.offsets.get("reg", 0)
        part["reg"] = range(start, start + MOST_PRINTED)
        more = count - MOST_PRINTED
    return HeldElements(whole, held(layout, **part), more)


def as_holder(holder: Mapping[str, int] | None) -> dict[str, int]:
    """A place on the machine that a caller gave; none is empty.

    Raises `LayoutError` for what does not say a number of each of its axes.

    >>> as_holder({"lane": np.int64(5)}), as_holder(None)
    ({'lane': 5}, {})
    """
    instance_of(holder, (Mapping, type(None)), "holder")
    return {as_name(axis, "axis"): as_whole(number, f"{axis} =") for axis, number in (holder or {}).items()}


def holder_text(position: Mapping[str, int]) -> str:
    """A place on the machine, in words.

    >>> holder_text({"lane": 5}), holder_text({})
    ('lane 5', 'the work-item')
    """
    return ", ".join(f"{_WORDS.get(axis, axis)} {n}" for axis, n in position.items()) or "the work-item"


def points_text(points: Sequence[Sequence[int]]) -> str:
    """Coordinates, as a person writes them."""
    return " ".join("(" + ", ".join(map(str, point)) + ")" for point in points)


def ranges_text(values: Sequence[int], most: int = 4) -> str:
    """Ascending numbers, runs of them as ranges; of more than `most` parts the first.

    >>> ranges_text([0, 1, 2, 3, 8, 16, 17]), ranges_text([0, 8, 16, 24, 32]), ranges_text([0, 1, 8, 9, 16, 17], 2)
    ('0-3, 8, 16-17', '0-32 by 8', '0-1, 8-9, ...')
    """
    steps = {b - a for a, b in pairwise(values)}
    if len(values) > 2 and len(steps) == 1 and steps != {1}:
        return f"{values[0]}-{values[-1]} by {steps.pop()}"
    starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(values)) if b - a != 1), len(values)]
    parts = [str(values[a]) if b - a == 1 else f"{values[a]}-{values[b - 1]}" for a, b in pairwise(starts[: most + 1])]
    return ", ".join([*parts, "..."] if len(starts) > most + 1 else parts)


def _sides(points: Sequence[Sequence[int]]) -> list[list[int]] | None:
    """The values of each coordinate, where the points are all combinations of them."""
    sides = [sorted(set(side)) for side in zip(*points, strict=True)]
    return sides if prod(map(len, sides)) == len({tuple(point) for point in points}) else None


def box_text(names: Sequence[str], points: Sequence[Sequence[int]]) -> str:
    """Coordinates as ranges of each dimension, where they are all combinations of these; listed where not.

    >>> box_text(("d0", "d1"), [(0, 5), (1, 5), (0, 21), (1, 21)])
    'd0 0-1; d1 5, 21'
    >>> box_text(("d0", "d1"), [(0, 5), (1, 6)])
    '(0, 5) (1, 6)'
    """
    sides = _sides(points)
    if sides is None or not points:
        more = len(points) - 16
        return points_text(points[:16]) + (f" and {more:,} more" if more > 0 else "")
    return "; ".join(f"{name} {ranges_text(side)}" for name, side in zip(names, sides, strict=True))


def places_text(places: Sequence[Mapping[str, int]]) -> str:
    """The places of an element and of its copies, in words.

    >>> places_text([{"sg": 0, "lane": 2, "reg": 117}, {"sg": 4, "lane": 2, "reg": 117}])
    'subgroups 0, 4, lane 2, register 117'
    """
    sides = _sides([tuple(one.values()) for one in places])
    if sides is None or len(places) == 1:
        words = "; ".join(map(holder_text, places[:4]))
        return words if len(places) <= 4 else f"{words} and {len(places) - 4} more"
    return ", ".join(
        f"{_WORDS.get(axis, axis)}{'s' if len(side) > 1 else ''} {ranges_text(side)}"
        for axis, side in zip(places[0], sides, strict=True)
    )
