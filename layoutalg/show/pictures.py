"""`la.picture`: the picture of a value of any notation, or of its text.

>>> picture("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", (8, 16)).title
'#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, 8x16'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import Distributed, Machine, PictureOptions
from layoutalg.core.shared_places import shared_place
from layoutalg.notations import value_of
from layoutalg.viz.picture import Picture, picture_of

__all__ = ["picture", "shared_places"]


def picture(value: Distributed | str, shape: Sequence[int] | None = None, **options: Unpack[PictureOptions]) -> Picture:
    """The picture of who holds what under a `Layout`, a value of a notation, or its text (see `Distributed.picture`).

    Raises `ParseError` for a text that is not read, and what `Distributed.picture` raises.

    >>> picture("d0 = 8@reg, d1 = 16@lane", title="C of a DPAS").save("build/c.svg")
    """
    return picture_of(value_of(value), shape, **options)


def shared_places(
    value: Distributed | str, shape: Sequence[int] | None = None, machine: Machine | None = None
) -> list[str]:
    """Two elements in one place, in words, for each operand that has such: what its picture does not show.

    >>> shared_places("d0 = 4@reg, d1 = 8@lane, d2 = 16@reg")
    ['elements (0, 0, 1) and (1, 0, 0) are both in subgroup 0, lane 0, register 1']
    """
    try:
        operands = value_of(value).operands(shape, machine)
    except LayoutError:
        return []
    return [str(found) for one in operands if (found := shared_place(one.layout)) is not None]
