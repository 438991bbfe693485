"""Schedules in which every lane hears whom it likes: elements are routed, and routes are changed until all have one.

Six lanes hold one element each, and lane l is to have 3 (l % 2) and the two that follow. Lane 4 holds none of those that it
wants, and hears two words. So one of the words has two elements, and whoever shows it has heard one of them before:

>>> held = [{0}, {1}, {2}, {3}, {4}, {5}]
>>> wishes = [(lane, e) for lane in range(6) for e in range(lane % 2 * 3, lane % 2 * 3 + 3) if e != lane]
>>> schedule, _ = rerouted(held, wishes, rounds=2, room=2, start=[[1, 2, 3, 4, 5, 0], [2, 3, 4, 5, 0, 1]], budget=20000)
>>> knows = held
>>> for heard, shown in zip(schedule.heard, schedule.shown, strict=True):
...     knows = [own | shown[other] for own, other in zip(knows, heard, strict=True)]
>>> all(e in knows[lane] for lane, e in wishes), max(len(word) for shown in schedule.shown for word in shown)
(True, 2)

A route says from which lane, in which rounds and over whom an element comes. It takes a place in each word that does not have
the element yet. While some wish has no route, one lane hears another one in some round, or one element leaves a full word;
the routes that this breaks are looked for again. A change that leaves more wishes without a route is mostly taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

__all__ = ["Schedule", "rerouted"]

_WORSE = 0.05
"""How often a change is kept that leaves more wishes without a route."""
_FAR = 1 << 20


class Schedule(NamedTuple):
    """Whom each lane hears, and the elements that each lane shows, by round and lane."""

    heard: list[list[int]]
    shown: list[list[set[int]]]


def rerouted(
    held: Sequence[set[int]],
    wishes: Sequence[tuple[int, int]],
    rounds: int,
    room: int,
    start: Sequence[Sequence[int]],
    budget: int,
) -> tuple[Schedule | None, int]:
    """A schedule that brings each wish `(lane, element)` in so many rounds with words of `room` elements, if one is found.

    `start` has the lane that each lane hears at first, by round. Returns the schedule (None where none was found) and the
    budget that is left; each lane that is asked for an element costs one.
    """
    routing = _Routing(held, wishes, [list(one) for one in start], room, budget)
    routing.route(set(range(len(wishes))))
    while routing.stuck and routing.budget > 0:
        routing.change()
    if routing.stuck:
        return None, max(routing.budget, 0)
    shown = [[set(word) for word in words] for words in routing.shown]
    return Schedule(routing.heard, shown), routing.budget


_Hop = tuple[int, int, int]
"""In which round, who hears, whom."""


class _Routing:
    """The routes that are found so far."""

    def __init__(
        self,
        held: Sequence[set[int]],
        wishes: Sequence[tuple[int, int]],
        heard: list[list[int]],
        room: int,
        budget: int,
    ) -> None:
        self.held, self.wishes, self.heard, self.room, self.budget = held, wishes, heard, room, budget
        lanes = range(len(held))
        self.random = Random(0)
        self.shown: list[list[dict[int, int]]] = [[{} for _ in lanes] for _ in heard]  # how many routes need an element
        self.users: list[list[set[int]]] = [[set() for _ in lanes] for _ in heard]  # the wishes that a lane hears for
        self.routes: list[list[_Hop]] = [[] for _ in wishes]
        self.stuck: set[int] = set()
        self.holders: dict[int, list[int]] = {}
        for lane, elements in enumerate(held):
            for element in elements:
                self.holders.setdefault(element, []).append(lane)

    def route(self, wishes: set[int]) -> None:
        """Look for a route for each of these wishes, in a random order."""
        order = sorted(wishes)
        self.random.shuffle(order)
        for wish in order:
            found = self._found(*self.wishes[wish])
            if found is None:
                self.stuck.add(wish)
            else:
                self.stuck.discard(wish)
                self._add(wish, found)

    def _found(self, lane: int, element: int) -> list[_Hop] | None:
        """The hops of the route that takes fewest places, from the last round back."""
        costs: dict[int, tuple[int, tuple[_Hop, ...]]] = {lane: (0, ())}
        best, way = _FAR, ()
        for round_ in range(len(self.heard) - 1, -1, -1):
            others, words = self.heard[round_], self.shown[round_]
            for at, (cost, hops) in list(costs.items()):
                other = others[at]
                self.budget -= 1
                word = words[other]
                if element not in word:
                    if len(word) >= self.room:
                        continue
                    cost += 1
                if cost >= best:
                    continue
                if element in self.held[other]:
                    best, way = cost, (*hops, (round_, at, other))
                elif other not in costs or costs[other][0] > cost:
                    costs[other] = cost, (*hops, (round_, at, other))
        return None if best == _FAR else list(way)

    def _add(self, wish: int, hops: list[_Hop]) -> None:
        element = self.wishes[wish][1]
        self.routes[wish] = hops
        for round_, at, other in hops:
            word = self.shown[round_][other]
            word[element] = word.get(element, 0) + 1
            self.users[round_][at].add(wish)

    def _remove(self, wish: int) -> list[_Hop]:
        element, hops = self.wishes[wish][1], self.routes[wish]
        self.routes[wish] = []
        for round_, at, other in hops:
            word = self.shown[round_][other]
            word[element] -= 1
            if not word[element]:
                del word[element]
            self.users[round_][at].discard(wish)
        return hops

    def change(self) -> None:
        """Change whom one lane hears, or what one lane shows, for a wish without a route; perhaps take it back."""
        lane, element = self.wishes[self.random.choice(sorted(self.stuck))]
        rounds = len(self.heard)
        # Back from the lane to some round, over lanes that it hears.
        last = self.random.randrange(rounds)
        at = lane
        for round_ in range(rounds - 1, last, -1):
            if self.random.random() < 0.5:
                at = self.heard[round_][at]
        before = self.heard[last][at]
        if element in self.held[before] or self.random.random() < 0.2:
            self._change_word(last, before, element)
            return
        knowing = self.holders[element]
        if last and self.random.random() < 0.5:
            knowing = [
                self.wishes[wish][0]
                for wish, hops in enumerate(self.routes)
                if self.wishes[wish][1] == element and hops and hops[0][0] < last
            ] or knowing
        other = self.random.choice(knowing)
        if other == at:
            return
        self._try(set(self.users[last][at]), (last, at, other))

    def _change_word(self, round_: int, lane: int, element: int) -> None:
        word = self.shown[round_][lane]
        if element in word or len(word) < self.room:
            return
        gone = self.random.choice(sorted(word))
        wishes = {
            wish
            for at, other in enumerate(self.heard[round_])
            if other == lane
            for wish in self.users[round_][at]
            if self.wishes[wish][1] == gone
        }
        self._try(wishes, None)

    def _try(self, broken: set[int], hop: _Hop | None) -> None:
        """Look for other routes where some break; `hop` says who hears whom from now on."""
        stuck = set(self.stuck)
        old = {wish: self._remove(wish) for wish in broken}
        heard = [list(others) for others in self.heard]
        if hop is not None:
            self.heard[hop[0]][hop[1]] = hop[2]
        # Those that had none look first: they are what the change is for.
        self.route(stuck)
        self.route(broken)
        if len(self.stuck) <= len(stuck) or self.random.random() < _WORSE:
            return
        for wish in broken | stuck:
            self._remove(wish)
        self.heard = heard
        for wish, hops in old.items():
            self._add(wish, hops)
        self.stuck = stuck
