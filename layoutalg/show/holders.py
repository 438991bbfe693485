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
from math import prod
from typing import Any

from layoutalg.core.errors import DistributionError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_HELD, MOST_PRINTED
from layoutalg.core.limits import MOST_REPORTED as _MOST_LISTED

__all__ = ["Held", "held_by", "holder_text", "points_text"]

_WORDS = {"sg": "subgroup", "reg": "register"}


@dataclass(frozen=True, slots=True)
class Held:
    """The elements that a work-item (or a subgroup) holds, in the order of its registers; `more` that are not listed.

    >>> str(Held({"lane": 0}, [[0, 1]], 1000))
    '(0, 1) and 1,000 more'
    """

    holder: Mapping[str, int]
    elements: list[list[int]]
    more: int = 0

    def __str__(self) -> str:
        return points_text(self.elements) + (f" and {self.more:,} more" if self.more else "")


def held_by(layout: Layout, holder: Mapping[str, int]) -> Held:
    """The coordinates that a work-item holds: of very many elements the first. Subgroup 0 is meant unless `holder` says it.

    Raises `DistributionError` for an axis that the layout does not have, and for too many elements to list.

    >>> held_by(Layout.parse("d0 = 2@reg, d1 = 16@lane"), {"lane": 3}).elements
    [[0, 3], [1, 3]]
    """
    axes: dict[str, Any] = layout.axes
    for axis in holder:
        if axis not in axes:
            raise DistributionError(
                f"{axis} = {holder[axis]}: this layout has {', '.join(axes) or 'no axes'} ({layout})"
            )
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
    return Held(whole, layout.fragment_map(**part).reshape(-1, layout.rank).tolist(), more)


def holder_text(position: Mapping[str, int]) -> str:
    """A place on the machine, in words.

    >>> holder_text({"lane": 5}), holder_text({})
    ('lane 5', 'the work-item')
    """
    return ", ".join(f"{_WORDS.get(axis, axis)} {n}" for axis, n in position.items()) or "the work-item"


def points_text(points: Sequence[Sequence[int]]) -> str:
    """Coordinates, as a person writes them.

    >>> points_text([(0, 5), (1, 5)])
    '(0, 5) (1, 5)'
    """
    return " ".join("(" + ", ".join(map(str, point)) + ")" for point in points)
