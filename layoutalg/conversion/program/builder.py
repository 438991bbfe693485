"""A program while it is being made: words as columns of numbers, and only the steps that something needs at the end.

A word is exchanged with the neighbouring lane, and then only the upper lane's select is asked for:

>>> draft = Draft(given=1)
>>> arrived = draft.shuffle(0, (1, 0), ())
>>> idle, chosen = draft.select(0, arrived, "lane", 0b01), draft.select(arrived, 0, "lane", 0b10)
>>> for step in draft.finished([chosen], parts=1)[0]:
...     print(step)
Shuffle(to=1, word=0, lanes=(1, 0), sg=(), others=())
Select(to=2, on=1, off=0, axis='lane', mask=2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq

from layoutalg.conversion.program.program import NEW, Rotate, Select, Shuffle, Step

__all__ = ["Draft"]


class Draft:
    """The words of a program by number, the first `given` of which are there from the start.

    >>> Draft(given=2).select(1, 0, "lane", 0b10)
    2
    """

    def __init__(self, given: int) -> None:
        self.given = given
        # What each word reads, and the mask that a select asks (of subgroups ~mask; 0: it is no select).
        self.on, self.off, self.asked = [-1] * given, [-1] * given, [0] * given
        self.moved: dict[int, Callable[[int, int], Step]] = {}
        """What is no select, from its number and that of what it reads."""

    def select(self, on: int, off: int, axis: str, mask: int) -> int:
        """The word that is `on` where the mask says so, else `off`: a new one where that makes a difference.

        >>> Draft(given=2).select(1, 1, "lane", 0b10)
        1
        """
        if on == off or not mask:
            return off
        return self._made(on, off, mask if axis == "lane" else ~mask)

    def select_all(self, on: Sequence[int], off: Sequence[int], mask: int) -> list[int]:
        """Many selects by lane at once; where `off` is -1 there is no word.

        >>> Draft(given=2).select_all([1, 0, 1], [0, 1, -1], 0b10)
        [2, 3, -1]
        """
        made = len(self.on)
        if not mask or -1 in off or any(map(eq, on, off)):
            pairs = zip(on, off, strict=True)
            return [two if two < 0 else self.select(one, two, "lane", mask) for one, two in pairs]
        self.on += on
        self.off += off
        self.asked += [mask] * len(on)
        return list(range(made, len(self.on)))

    def shuffle(self, word: int, lanes: tuple[int, ...], terms: tuple[int, ...]) -> int:
        """The word of other lanes (see `Shuffle`).

        >>> Draft(given=1).shuffle(0, (1, 0), ())
        1
        """
        found = self._made(word, word, 0)
        self.moved[found] = lambda to, read: NEW(Shuffle, (to, read, lanes, terms, ()))
        return found

    def rotate(self, word: int, bits: int) -> int:
        """The word turned right by so many bits.

        >>> Draft(given=1).rotate(0, 16)
        1
        """
        found = self._made(word, word, 0)
        self.moved[found] = lambda to, read: Rotate(to, read, bits)
        return found

    def _made(self, on: int, off: int, asked: int) -> int:
        self.on.append(on)
        self.off.append(off)
        self.asked.append(asked)
        return len(self.on) - 1

    def finished(self, unpack: Sequence[int], parts: int) -> tuple[tuple[Step, ...], tuple[int, ...]]:
        """The steps that `unpack` needs (places are `word * parts + part`, -1 for none), numbered anew, and `unpack` likewise.

        A select between selects by the same mask needs only the side of each that it can see.

        >>> Draft(given=1).finished([0, -1], parts=1)
        ((), (0, -1))
        """
        on, off, asked = self.on, self.off, self.asked
        reads = zip(on, off, asked, strict=True)
        for word in [w for w, (a, b, m) in enumerate(reads) if m and (asked[a] == m or asked[b] == m)]:
            if asked[on[word]] == asked[word]:
                on[word] = on[on[word]]
            if asked[off[word]] == asked[word]:
                off[word] = off[off[word]]
        needed = bytearray(len(on))
        for place in unpack:
            if place >= 0:
                needed[place // parts] = 1
        for word in range(len(on) - 1, self.given - 1, -1):
            if needed[word]:
                needed[on[word]] = needed[off[word]] = 1
        kept = [word for word in range(self.given, len(on)) if needed[word]]
        names = list(range(len(on)))
        for number, word in enumerate(kept, self.given):
            names[word] = number
        steps = [
            NEW(Select, (names[word], names[on[word]], names[off[word]], "lane", asked[word]))
            if asked[word] > 0
            else Select(names[word], names[on[word]], names[off[word]], "sg", ~asked[word])
            if asked[word]
            else self.moved[word](names[word], names[on[word]])
            for word in kept
        ]
        return tuple(steps), tuple(
            [-1 if place < 0 else names[place // parts] * parts + place % parts for place in unpack]
        )
