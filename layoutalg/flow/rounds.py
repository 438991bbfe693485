"""Rounds: what is new goes to all neighbours at once, and each takes what is new to it.

Three values in a row. Each passes its numbers to the next one, plus one, and takes at most two, the smallest first:

>>> class Higher(Rounds[int]):
...     most = 2
...     def key(self, one): return one
...     def order(self, one): return one
...     def passed_on(self, number, fresh):
...         if number < 2:
...             yield number + 1, [one + 1 for one in fresh]
>>> search = Higher(3)
>>> search.offer(0, 7, 5, 5, 9)
>>> search.settle()
>>> [list(found) for found in search.of], search.dropped
([[5, 7], [6, 8], [7, 9]], 1)

The order of values and neighbours does not count: a value looks at all that a round offers it, and what it takes first depends
on the candidates alone. The rounds end by themselves: a value takes each key once, and at most `most` of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

__all__ = ["Rounds"]

C = TypeVar("C")


class Rounds(Generic[C]):
    """Candidates of numbered values, passed on in rounds until nothing is new.

    A subclass says which candidates are the same (`key`), which come first (`order`), and what neighbours get (`passed_on`).
    """

    most: int
    """How many candidates a value takes."""

    def __init__(self, count: int) -> None:
        self.of: list[dict[Any, C]] = [{} for _ in range(count)]
        """What each value has taken, by key."""
        self.offered: dict[int, list[C]] = {}
        """By value, what it is offered in this round."""
        self.fresh: dict[int, list[C]] = {}
        """By value, what it has taken and not passed on yet."""
        self.dropped = 0
        """How many candidates were left out, since a value had enough."""

    def key(self, one: C) -> Hashable:
        """What a value takes once: candidates of one key are the same."""
        raise NotImplementedError

    def order(self, one: C) -> Any:
        """Which candidates are taken first; of several with one key, the first is."""
        raise NotImplementedError

    def passed_on(self, number: int, fresh: list[C]) -> Iterable[tuple[int, list[C]]]:
        """What a value's neighbours are offered when these are new to it."""
        raise NotImplementedError

    def admitted(self, number: int, one: C) -> C | None:
        """What a value makes of a candidate that it is offered; None where it cannot have it."""
        return one

    def offer(self, number: int, *found: C) -> None:
        """Offer candidates to a value; it takes them in the next round."""
        self.offered.setdefault(number, []).extend(found)

    def settle(self) -> None:
        """Take and pass on, in rounds, until nothing is new."""
        while self.offered or self.fresh:
            self.take()
            self.pass_on()

    def take(self) -> None:
        """Let every value take what is new to it of what it is offered."""
        offered, self.offered = self.offered, {}
        for number, found in offered.items():
            new = self._taken(number, found)
            if new:
                self.fresh.setdefault(number, []).extend(new)

    def pass_on(self) -> None:
        """Offer what is new to all neighbours at once."""
        fresh, self.fresh = self.fresh, {}
        for number, found in fresh.items():
            for other, made in self.passed_on(number, found):
                self.offered.setdefault(other, []).extend(made)

    def _taken(self, number: int, offered: list[C]) -> list[C]:
        have = self.of[number]
        by_key: dict[Any, C] = {}
        for one in offered:
            if self.key(one) in have:
                continue
            known = self.admitted(number, one)
            if known is None or (key := self.key(known)) in have:
                continue
            other = by_key.get(key)
            if other is None or (other is not known and self.order(known) < self.order(other)):
                by_key[key] = known
        if not by_key:
            return []
        new = sorted(by_key.values(), key=self.order) if len(by_key) > 1 else list(by_key.values())
        room = max(0, self.most - len(have))
        self.dropped += max(0, len(new) - room)
        new = new[:room]
        have.update((self.key(one), one) for one in new)
        return new
