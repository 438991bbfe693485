"""Layouts of powers of two, a bit at a time: every bit of an element's coordinates is a bit of the machine.

    d0 = 4@reg, d1 = 16@lane     d0 bits 0, 1 are register bits 0, 1; d1 bits 0 to 3 are lane bits 0 to 3

>>> view(Layout.parse("d0 = 4@reg, d1 = 4@lane")).places
(('reg', 0), ('reg', 1), ('lane', 0), ('lane', 1))

A swizzle is a choice of address bits for these bits (memory.bank_matrix); a conversion between two such layouts renames them
(conversion.strategies.renaming).
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.core.layout import MACHINE, Layout

__all__ = ["Place", "View", "view"]

Place = tuple[str, int]
"""An axis of the machine, and a bit of its number (0 is the lowest)."""


class View(NamedTuple):
    """Where each bit of an element's coordinates is, in the order of dimensions, low bits first; and each axis's bits.

    >>> view(Layout.parse("d0 = 2@lane | replicas 2@lane:2"))
    View(places=(('lane', 0),), widths={'sg': 0, 'lane': 2, 'reg': 0})
    """

    places: tuple[Place, ...]
    widths: dict[str, int]


def view(layout: Layout) -> View | None:
    """A layout onto the machine by bits; None unless factors are powers of two, without gaps or overlaps."""
    form = layout.canonical()
    if form.flips is not None or form.offsets or any(form.origins):
        return None
    taken: dict[str, int] = {"sg": 0, "lane": 0, "reg": 0}
    places: list[Place] = []
    for factors in form.dims:
        for extent, stride, axis in reversed(factors):
            if axis not in taken or not _powers(extent, stride):
                return None
            low, count = stride.bit_length() - 1, extent.bit_length() - 1
            mask = (extent - 1) << low
            if taken[axis] & mask:
                return None
            taken[axis] |= mask
            places += [(axis, low + i) for i in range(count)]
    for extent, stride, axis in form.replicas:
        if axis not in taken or not _powers(extent, stride) or taken[axis] & (extent - 1) * stride:
            return None
        taken[axis] |= (extent - 1) * stride
    if any(mask & (mask + 1) for mask in taken.values()):
        return None
    return View(tuple(places), {axis: taken[axis].bit_length() for axis in MACHINE})


def _powers(extent: object, stride: object) -> bool:
    return (
        type(extent) is int
        and type(stride) is int
        and extent & (extent - 1) == 0
        and stride > 0
        and stride & (stride - 1) == 0
    )
