"""The slots of a layout, which say what each place holds, and which of them a caller asks for.

>>> print(slots_of(Layout.parse("d0 = 2@reg, d1 = 4@lane"), {}))
sg = 1, lane = 4@d1, reg = 2@d0
>>> selected([0, 3], 4, 0, "lane")
[0, 3]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from layoutalg.core.algebra import inverse
from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.factors import XorFactor
from layoutalg.core.limits import MOST_PICKED
from layoutalg.core.messages import number_text, shown
from layoutalg.core.relation import Relation
from layoutalg.core.whole_numbers import found_whole, listed
from layoutalg.core.xor import operations as xor_operations

__all__ = ["Selection", "selected", "slots_of"]

Selection: TypeAlias = int | Sequence[int] | range
"""A part of an axis: one coordinate, or several."""


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
        first = slots.replicas[0]
        axes = dict.fromkeys(axis for axis, _ in first.places) if isinstance(first, XorFactor) else [first.axis]
        raise LayoutError(
            f"fragment map: one slot holds several elements along {' and '.join(map(repr, axes))} (in {layout})"
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
