"""The fewest shuffles that any plan of a conversion can have, and why: who must send what.

>>> rows, columns = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> print(bound_of(rows, columns, 32).reason)
each lane needs 1 word from each of 15 other lanes, and gets one word in a shuffle
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from layoutalg.conversion.candidates import lower_bound_of
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.exchange import stays_in_subgroup
from layoutalg.conversion.strategies.renaming import renamed
from layoutalg.core.layout import Layout
from layoutalg.core.plurals import counted
from layoutalg.memory.machine_bits import View, view

__all__ = ["Bound", "bound_of"]


class Bound(NamedTuple):
    """The fewest shuffles of any plan, and the sentence that proves it (empty where nothing has to be shuffled).

    >>> Bound(0, "").shuffles
    0
    """

    shuffles: int
    reason: str


@lru_cache(maxsize=256)
def bound_of(source: Layout, destination: Layout, element_bits: int) -> Bound:
    """The bound of a conversion between two layouts of elements of so many bits.

    Raises `SizeError` for more than 2^20 slots that have to be counted one by one.

    >>> bound_of(Layout.parse("d0 = 8@reg"), Layout.parse("d0 = 8@reg"), 16)
    Bound(shuffles=0, reason='')
    """
    shuffles = lower_bound_of(source, destination, element_bits)
    if not shuffles:
        return Bound(0, "")
    a, b = view(source), view(destination)
    if a is None or b is None:
        return Bound(shuffles, f"some lane must receive {counted(shuffles, 'word')}")
    return Bound(shuffles, _direct(a, b, element_bits))


def _direct(source: View, destination: View, element_bits: int) -> str:
    """What a lane needs of others when every element goes directly."""
    names = renamed(source, destination)
    senders = [(axis, bit, place) for axis in ("sg", "lane") for bit, place in enumerate(names[axis]) if place]
    lanes = 1 << sum(place[0] == "reg" for _, _, place in senders)
    foreign = any(place[0] != "reg" and place != (axis, bit) for axis, bit, place in senders)
    together = sum(place is not None and place[0] == "reg" for place in names["reg"])
    words = counted(-(-(element_bits << together) // WORD), "word")
    number = lanes if foreign else lanes - 1
    inside = stays_in_subgroup(source, destination)
    whom = "another lane" if number == 1 else f"each of {number} other lanes"
    ends = ", and gets one word in a shuffle" if inside else ", of its own or another subgroup"
    return f"{'some' if foreign else 'each'} lane needs {words} from {whom}{ends}"
