"""A conversion within a warp as Triton shuffles it: bits of registers and of lanes renamed, and some that change places.

The bits of the source's place become those of the result's: a permutation. Triton writes it as one of registers, one of lanes
and k exchanges of a register bit with a lane bit. Here the register bit and the lane bit change places: a select, a shuffle of
half the registers and two selects:

>>> from layoutalg.triton.linear import LinearLayout
>>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
>>> columns = LinearLayout(register=((1, 0),), lane=((0, 1),), shape=(2, 2))
>>> found = Exchanges.of(rows, columns, 32)
>>> found.pairs, found.shuffles, found.ships
(((0, 0),), 1, True)

Registers below 32 bits are packed first, up to four to a word, as long as a bit is left to exchange. Bits where one layout has
copies are free: they stay where they are if they can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.triton.bases import LinearBases

__all__ = ["Exchanges"]

_WORD = 32
_SHIPPED = {((0, 4, 1, 5), (0, 4, 2, 6)), ((0, 2, 4, 6), (0, 1, 4, 5)), ((0, 1, 2, 3), (0, 2, 1, 3))}
"""Orders of the bytes of two words, before and after, with which a lane still sends one word of a pair (as equal ones do)."""


class Exchanges(NamedTuple):
    """The permutations and the exchanges of a conversion within a warp.

    `registers[i]` and `lanes[i]` are what bit i becomes, `pairs` the exchanges (register bit, lane bit) after that; `packed`
    register bits lie in one word. `words` is what a lane holds then, `each` the words of an element.
    """

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    packed: int
    each: int
    by_warp: bool = False
    """Whether warps, which hold the same, read other lanes: then every word is shuffled."""

    @property
    def exchanged(self) -> int:
        """The number k of exchanges."""
        return len(self.pairs)

    @property
    def words(self) -> int:
        """The words of all registers of a lane."""
        return self.each << len(self.registers) - self.packed

    @property
    def lanes_stay(self) -> bool:
        """Whether lanes read from where they are, but for the exchanges."""
        return not self.by_warp and self.lanes == tuple(range(len(self.lanes)))

    @property
    def ships(self) -> bool:
        """Whether a lane sends one word of each pair, and no other is moved."""
        return self.exchanged == 1 and self.lanes_stay and _ships(self.registers, self.pairs[0][0], self.packed)

    @property
    def shuffles(self) -> int:
        """The shuffles that Triton emits, each of one word."""
        if not self.lanes_stay:
            return self.words
        if self.ships:
            return self.words // 2
        return self.words - (self.words >> self.exchanged)

    @staticmethod
    def of(source: LinearBases, result: LinearBases, element_bits: int) -> Exchanges | None:
        """The decomposition between two layouts without registers that hold copies; None where bits are mixed by XOR."""
        sides = [(list(_columns(one, "register")), list(_columns(one, "lane"))) for one in (source, result)]
        counts = [max(len(sides[0][i]), len(sides[1][i])) for i in range(2)]
        for side in sides:
            for one, count in zip(side, counts, strict=True):
                one.extend([0] * (count - len(one)))
        places = _permutation(*[[*registers, *lanes] for registers, lanes in sides])
        if places is None:
            return None
        return _decomposed(places, counts[0], element_bits)._replace(
            by_warp=source.bases_of("warp") != result.bases_of("warp")
        )


def _columns(layout: LinearBases, name: str) -> Sequence[int]:
    start = 0
    for other, bases in layout.bases:
        if other == name:
            return layout.columns()[start : start + len(bases)]
        start += len(bases)
    return ()


def _permutation(source: Sequence[int], result: Sequence[int]) -> list[int] | None:
    """Which place of the result each place of the source becomes."""
    found: list[int | None] = []
    for column in source:
        if column & (column - 1):
            return None
        found.append(result.index(column) if column and column in result else None)
    taken = {place for place in found if place is not None}
    free = [place for place in range(len(result)) if place not in taken]
    if any(result[place] & (result[place] - 1) for place in free):
        return None
    for place, became in enumerate(found):  # what is free in both stays
        if became is None and place in free:
            found[place] = place
            free.remove(place)
    rest = iter(free)
    return [next(rest) if place is None else place for place in found]


def _decomposed(places: Sequence[int], registers: int, element_bits: int) -> Exchanges:
    """Cut runs of lane bits out of cycles: (.. r, l .. m, s ..) is the exchange (s l) after (.. r, s ..) and (l .. m)."""
    permuted = list(places)
    pairs: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in range(len(places)):
        if start in seen:
            continue
        before = entered = -1
        place = start
        while place not in seen:
            seen.add(place)
            after = places[place]
            if place < registers <= after:
                before, entered = place, after
            elif after < registers <= place:
                permuted[before], permuted[place] = after, entered
                pairs.append((after, entered - registers))
            place = after
    packed = {16: 1, 8: 2}.get(element_bits, 0) if element_bits > 8 else 2
    packed = min(packed, registers - len(pairs))
    lanes = tuple([place - registers for place in permuted[registers:]])
    each = max(element_bits // _WORD, 1)
    return Exchanges(tuple(permuted[:registers]), lanes, tuple(pairs), packed, each)


def _ships(registers: Sequence[int], exchanged: int, packed: int) -> bool:
    """Whether one word of each pair is sent: not where elements of both words must change places inside the lane."""
    if not packed:
        return True
    follow = list(registers)
    before, after, head, tail = _low_bits(follow, exchanged, packed)
    selectors: list[list[int]] = []
    for bits in (before, after):
        order = list(range(4))
        for bit in bits:
            order = [_swapped(byte, bit + 2 - packed) for byte in order]
            if bit not in (head, tail):
                follow[bit] = bit
        selectors.append(order)
    follow[tail] = head
    if packed == 2 and follow[:2] == [1, 0]:
        for bit in (0, 1, 0):
            selectors[0] = [_swapped(byte, bit) for byte in selectors[0]]
    first, second = map(tuple, selectors)
    return first == second or (first, second) in _SHIPPED


def _low_bits(follow: list[int], exchanged: int, packed: int) -> tuple[list[int], list[int], int, int]:
    """The bits inside words that are permuted before and after the shuffle, and between which bits they leave the cycle."""
    cycle = [exchanged]
    while follow[cycle[-1]] != exchanged:
        cycle.append(follow[cycle[-1]])
    high = [i for i, bit in enumerate(cycle) if bit >= packed]
    if high:
        after = cycle[: high[0]]
        before = cycle[: high[-1] : -1]
        return before, after[::-1], cycle[high[0]], cycle[high[-1]]
    after, before = list(cycle), cycle[::-1]
    if len(cycle) == 2:
        after.pop()
    head = cycle[-1]
    other = 1 - head
    if packed == 2 and follow[head] == head and follow[other] >= packed:
        before.append(other)
        entry = follow.index(other)
        follow[entry] = follow[other]
    return before, after[::-1], head, head


def _swapped(byte: int, low: int) -> int:
    """A byte's number with bit 2, which says the word, and bit `low` exchanged."""
    return byte ^ (4 | 1 << low) if (byte >> 2 ^ byte >> low) & 1 else byte
