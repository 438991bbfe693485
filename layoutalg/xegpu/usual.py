"""Layouts as nearly everybody writes them, known at a glance: tuples of numbers that keep every rule of the dialect.

`LayoutAttr` checks the rules one by one, so that it can say in LLVM's words which one is broken. A layout of tuples of one
rank, with sizes from 1 on and each `data` beside its `layout`, breaks none, and needs no such check:

>>> is_usual((8, 4), (32, 32), None, (1, 16), (1, 1), (0, 1)), is_usual(None, (32, 32), None, (1, 16), (1, 1), None)
(True, False)

The law: what is usual, the rules accept. What is not may still be right.
"""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

from layoutalg.core.limits import MAX_EXTENT, MOST_DIMENSIONS

__all__ = ["is_usual"]


_Field: TypeAlias = tuple[Any, ...] | None
"""What a field should be. Callers may give anything."""


def is_usual(
    sg_layout: _Field, sg_data: _Field, inst_data: _Field, lane_layout: _Field, lane_data: _Field, order: _Field
) -> bool:
    """Whether the fields of a layout, None where one is not said, are tuples that keep every rule.

    >>> is_usual((8, 0), None, None, None, None, None), is_usual(None, None, None, (1, 2**40), None, None)
    (False, False)
    """
    if (sg_layout is None and sg_data is not None) or (lane_layout is None and lane_data is not None):
        return False
    levels = [sizes for sizes in (sg_layout, inst_data, lane_layout) if sizes is not None]
    rank = len(levels[0]) if levels and type(levels[0]) is tuple else 0
    if not 0 < rank <= MOST_DIMENSIONS:
        return False
    for sizes in (sg_layout, sg_data, inst_data, lane_layout, lane_data):
        if sizes is None:
            continue
        if type(sizes) is not tuple or len(sizes) != rank:
            return False
        for size in sizes:
            if type(size) is not int or not 0 < size <= MAX_EXTENT:
                return False
    for sizes in (sg_layout, lane_layout):
        if sizes is not None and prod(sizes) > MAX_EXTENT:
            return False
    return order is None or (
        type(order) is tuple
        and (sg_layout is not None or lane_layout is not None)
        and set(map(type, order)) == {int}
        and sorted(order) == list(range(rank))
    )
