"""`la.picture`: the picture of a value of any notation, or of its text.

>>> picture("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", (8, 16)).title
'#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, 8x16'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from layoutalg.core.notation import Distributed, PictureOptions
from layoutalg.notations import value_of
from layoutalg.viz.picture import Picture, picture_of

__all__ = ["picture"]


def picture(value: Distributed | str, shape: Sequence[int] | None = None, **options: Unpack[PictureOptions]) -> Picture:
    """The picture of who holds what under a `Layout`, a value of a notation, or its text (see `Distributed.picture`).

    Raises `ParseError` for a text that is not read, and what `Distributed.picture` raises.

    >>> picture("d0 = 8@reg, d1 = 16@lane", title="C of a DPAS").save("build/c.svg")
    """
    return picture_of(value_of(value), shape, **options)
