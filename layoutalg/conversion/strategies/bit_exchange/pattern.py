"""The pattern of an exchange in a subgroup: which register bits and lane bits change places, and how the other lanes move.

Without replicas every bit of the source's lanes and registers is one bit of the destination's. Register bits that become lane
bits and lane bits that become register bits are as many, k: they are *exchanged*. In a 4x4 tile that is transposed, two:

>>> from layoutalg.memory.machine_bits import view
>>> both = view(Layout.parse("d0 = 4@reg, d1 = 4@lane")), view(Layout.parse("d0 = 4@lane, d1 = 4@reg"))
>>> found = pattern_of(*both, 32)
>>> for one in found.exchanged:
...     print(one)
ExchangedBits(register=0, from_lane=0, to_lane=0, to_register=0)
ExchangedBits(register=1, from_lane=1, to_lane=1, to_register=1)
>>> found.turns, found.moving_bits
((0, 1), 0)

The elements of a lane then fall into 2^k classes. Lane l sends class d to lane T(l) ^ d, where T moves lane bits alone
(`turns`) and d sets the exchanged ones: a register's number, with the exchanged bits XORed by the lane's, is its class. So
in every lane there is exactly one of each class, and all lanes send it equally far.
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.renaming import renamed, with_cells
from layoutalg.memory.machine_bits import View

__all__ = ["ExchangedBits", "Pattern", "pattern_of"]


class ExchangedBits(NamedTuple):
    """A register bit that becomes lane bit `to_lane`, and the lane bit `from_lane` that becomes register bit `to_register`.

    Register bits count cells (an element, or half of one of 64 bits).

    >>> ExchangedBits(0, 3, 3, 1).to_lane
    3
    """

    register: int
    from_lane: int
    to_lane: int
    to_register: int


class Pattern(NamedTuple):
    """What an exchange without replicas moves; `parts` cells share a word.

    `staying` pairs the register bits of both sides that no lane takes part in; bit i of the lane is bit `turns[i]` of T(lane).
    """

    subgroups: int
    lane_bits: int
    register_bits: int
    parts: int
    wide: int
    """1 where an element has two cells, else 0."""
    exchanged: tuple[ExchangedBits, ...]
    staying: tuple[tuple[int, int], ...]
    turns: tuple[int, ...]

    @property
    def classes(self) -> int:
        """How many lanes a lane's elements go to, perhaps itself among them."""
        return 1 << len(self.exchanged)

    @property
    def shared(self) -> int:
        """How many classes one word can carry."""
        return max(self.parts >> len(self.staying), 1)

    @property
    def words(self) -> int:
        """How many words a lane has for each class that fills them, at least one."""
        return max((1 << len(self.staying)) // self.parts, 1)

    @property
    def moving_bits(self) -> int:
        """r, where T leaves one lane in 2^r where it is, apart from exchanged bits: 0 where it moves nothing."""
        left, found = set(range(self.lane_bits)), 0
        while left:
            bit = left.pop()
            while (bit := self.turns[bit]) in left:
                left.remove(bit)
                found += 1
        return found

    @property
    def chained(self) -> bool:
        """Whether a lane bit that a register bit becomes goes to another lane bit itself."""
        return {one.from_lane for one in self.exchanged} != {one.to_lane for one in self.exchanged}

    def turned(self, lane: int) -> int:
        """T of a lane's number.

        >>> Pattern(1, 2, 0, 1, 0, (), (), (1, 0)).turned(1)
        2
        """
        return sum((lane >> bit & 1) << to for bit, to in enumerate(self.turns))

    def reach(self, number: int) -> int:
        """What a class XORs into the number of the lane that it goes to.

        >>> Pattern(1, 4, 2, 1, 0, (ExchangedBits(0, 3, 3, 0),), ((1, 1),), (0, 1, 2, 3)).reach(1)
        8
        """
        return sum((number >> i & 1) << one.to_lane for i, one in enumerate(self.exchanged))


def pattern_of(source: View, destination: View, element_bits: int) -> Pattern | None:
    """The pattern of a conversion that stays in its subgroups; None with replicas, or between subgroups."""
    if source.widths != destination.widths or len(source.places) != sum(source.widths.values()):
        return None
    names = renamed(source, destination)
    if any(place != ("sg", bit) for bit, place in enumerate(names["sg"])):
        return None
    wide = 1 if element_bits > WORD else 0
    staying = [(0, 0)] * wide
    lane_of: dict[int, int] = {}  # by the destination's lane bit: the source's register bit
    register_of: dict[int, int] = {}  # by the source's lane bit: the destination's register bit
    turns: dict[int, int] = {}
    for axis in ("reg", "lane"):
        for bit, place in enumerate(names[axis]):
            if place is None or place[0] == "sg":
                return None
            (_, here), (_, there) = with_cells((axis, bit), wide), with_cells(place, wide)
            if axis == place[0] == "reg":
                staying.append((here, there))
            elif axis == "reg":
                lane_of[there] = here
            elif place[0] == "reg":
                register_of[here] = there
            else:
                turns[here] = there
    # Where a lane bit is exchanged for a register bit that comes to the same place, no lane moves for it.
    leaving = sorted(register_of, key=lambda bit: (bit not in lane_of, bit))
    coming = [bit for bit in leaving if bit in lane_of]
    coming += sorted(set(lane_of).difference(coming))
    exchanged = sorted(
        ExchangedBits(lane_of[to], bit, to, register_of[bit]) for bit, to in zip(leaving, coming, strict=True)
    )
    turns |= {one.from_lane: one.to_lane for one in exchanged}
    return Pattern(
        1 << source.widths["sg"],
        source.widths["lane"],
        source.widths["reg"] + wide,
        max(WORD // element_bits, 1),
        wide,
        tuple(exchanged),
        tuple(staying),
        tuple([turns[bit] for bit in range(source.widths["lane"])]),
    )
