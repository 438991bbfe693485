"""Schedules in which every lane hears whom it likes: elements are routed, and routes are changed until all have one.

Six lanes hold one element each, and lane l is to have 3 (l % 2) and the two that follow. Lane 4 holds none of those that it
wants, and hears two words. So one of the words has two elements, and whoever shows it has heard one of them before:

>>> held = [{0}, {1}, {2}, {3}, {4}, {5}]
>>> from layoutalg.conversion.strategies.symmetries import symmetries
>>> missing = [{lane % 2 * 3 + i for i in range(3)} - {lane} for lane in range(6)]
>>> alone = symmetries(held, missing)[-1]
>>> start = [[1, 2, 3, 4, 5, 0], [2, 3, 4, 5, 0, 1]]
>>> schedule, _ = rerouted(held, missing, 2, start, budget=20000, symmetry=alone)
>>> knows = held
>>> for heard, shown in zip(schedule.heard, schedule.shown, strict=True):
...     knows = [own | shown[other] for own, other in zip(knows, heard, strict=True)]
>>> all(own >= wanted for own, wanted in zip(knows, missing, strict=True)), max(len(word) for shown in schedule.shown for word in shown)
(True, 2)

A route says from which lane, in which rounds and over whom an element comes. It takes a place in each word that does not have
the element yet. While some wish has no route, one lane hears another one in some round, or one element leaves a full word;
the routes that this breaks are looked for again. A change that leaves more wishes without a route is mostly taken back.

Where lanes do the same but for a renumbering (`symmetries`), one of them is routed, and its hops count for all: a trial costs
that much less, and far more conversions are scheduled in the fewest rounds.

>>> held, missing = [{lane} for lane in range(12)], [set(range(12)) - {lane} for lane in range(12)]
>>> alike = symmetries(held, missing)[0]
>>> len(alike.first), rerouted(held, missing, 2, [[1], [2], [4], [6], [8], [10]], budget=2000, symmetry=alike)[0] is None
(1, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from layoutalg.conversion.strategies.symmetries import Symmetry

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
    missing: Sequence[set[int]],
    room: int,
    start: Sequence[Sequence[int]],
    budget: int,
    symmetry: Symmetry,
) -> tuple[Schedule | None, int]:
    """A schedule that brings each lane what it misses, with words of `room` elements, if one is found; it looks as asked.

    `start` has the lane that the first lane of each orbit hears at first, by round. Returns the schedule (None where none was
    found) and the budget that is left; each lane that is asked for an element costs one.
    """
    routing = _Routing(held, missing, [list(one) for one in start], room, budget, symmetry)
    routing.route(set(range(len(routing.wishes))))
    while routing.stuck and routing.budget > 0:
        routing.change()
    return None if routing.stuck else routing.schedule(), max(routing.budget, 0)


_Hop = tuple[int, int, int]
"""In which round, who hears, whom."""


class _Routing:
    """The routes that are found so far, to the first lane of each orbit; whom these hear, and what they show."""

    def __init__(
        self,
        held: Sequence[set[int]],
        missing: Sequence[set[int]],
        heard: list[list[int]],
        room: int,
        budget: int,
        symmetry: Symmetry,
    ) -> None:
        self.held, self.heard, self.room, self.budget, self.symmetry = held, heard, room, budget, symmetry
        self.wishes = [(lane, element) for lane in symmetry.first for element in sorted(missing[lane])]
        orbits = range(len(symmetry.first))
        self.random = Random(0)
        self.shown: list[list[dict[int, int]]] = [
            [{} for _ in orbits] for _ in heard
        ]  # how many routes need an element
        self.users: list[list[set[int]]] = [[set() for _ in orbits] for _ in heard]  # the wishes that a lane hears for
        self.routes: list[list[_Hop]] = [[] for _ in self.wishes]
        self.stuck: set[int] = set()
        self.holders: dict[int, list[int]] = {}
        for lane, elements in enumerate(held):
            for element in elements:
                self.holders.setdefault(element, []).append(lane)

    def schedule(self) -> Schedule:
        """What all lanes do: as the first of their orbits, renumbered."""
        orbit, member, elements = self.symmetry.orbit, self.symmetry.member, self.symmetry.elements
        lanes = range(len(self.held))
        heard = [[self._hears(round_, lane) for lane in lanes] for round_ in range(len(self.heard))]
        shown = [
            [{elements[member[lane]][one] for one in words[orbit[lane]]} for lane in lanes] for words in self.shown
        ]
        return Schedule(heard, shown)

    def _hears(self, round_: int, lane: int) -> int:
        return self.symmetry.lanes[self.symmetry.member[lane]][self.heard[round_][self.symmetry.orbit[lane]]]

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
        orbit, member, lanes, back = (
            self.symmetry.orbit,
            self.symmetry.member,
            self.symmetry.lanes,
            self.symmetry.back,
        )
        costs: dict[int, tuple[int, tuple[_Hop, ...]]] = {lane: (0, ())}
        best, way = _FAR, ()
        for round_ in range(len(self.heard) - 1, -1, -1):
            others, words = self.heard[round_], self.shown[round_]
            for at, (cost, hops) in list(costs.items()):
                other = lanes[member[at]][others[orbit[at]]]
                self.budget -= 1
                word = words[orbit[other]]
                if back[member[other]][element] not in word:
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

    def _place(self, hop: _Hop, wish: int) -> tuple[dict[int, int], int, set[int]]:
        """The word that a hop takes, what the wish's element is called there, and those that hear for the same lane."""
        round_, at, other = hop
        orbit = self.symmetry.orbit
        called = self.symmetry.back[self.symmetry.member[other]][self.wishes[wish][1]]
        return self.shown[round_][orbit[other]], called, self.users[round_][orbit[at]]

    def _add(self, wish: int, hops: list[_Hop]) -> None:
        self.routes[wish] = hops
        for hop in hops:
            word, element, users = self._place(hop, wish)
            word[element] = word.get(element, 0) + 1
            users.add(wish)

    def _remove(self, wish: int) -> list[_Hop]:
        hops = self.routes[wish]
        self.routes[wish] = []
        for hop in hops:
            word, element, users = self._place(hop, wish)
            word[element] -= 1
            if not word[element]:
                del word[element]
            users.discard(wish)
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
                at = self._hears(round_, at)
        before = self._hears(last, at)
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
        orbit, member = self.symmetry.orbit[at], self.symmetry.member[at]
        self._try(set(self.users[last][orbit]), (last, orbit, self.symmetry.from_lane[member][other]))

    def _change_word(self, round_: int, lane: int, element: int) -> None:
        orbit = self.symmetry.orbit
        word = self.shown[round_][orbit[lane]]
        if self.symmetry.back[self.symmetry.member[lane]][element] in word or len(word) < self.room:
            return
        gone = self.random.choice(sorted(word))
        wishes = {
            wish
            for at, other in enumerate(self.heard[round_])
            if orbit[other] == orbit[lane]
            for wish in self.users[round_][at]
            for hop in self.routes[wish]
            if hop[0] == round_ and orbit[hop[2]] == orbit[lane] and self._place(hop, wish)[1] == gone
        }
        self._try(wishes, None)

    def _try(self, broken: set[int], hop: _Hop | None) -> None:
        """Look for other routes where some break; `hop` says whom the first lane of which orbit hears from now on."""
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
