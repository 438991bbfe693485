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
>>> all(own >= wanted for own, wanted in zip(knows, missing, strict=True))
True
>>> max(len(word) for shown in schedule.shown for word in shown)
2

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
from typing import Any, NamedTuple

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
    found) and the budget that is left. Asking one lane for an element costs one.
    """
    routing = _Routing(held, missing, [list(one) for one in start], room, budget, symmetry)
    routing.route(set(range(len(routing.wishes))))
    while routing.stuck and routing.budget > 0:
        routing.change()
    return None if routing.stuck else routing.schedule(), max(routing.budget, 0)


_Hop = tuple[int, int, int]
"""In which round, who hears, whom."""
_Route = tuple[_Hop, Any] | None
"""The first hop of a route, and the route that is left: to the same of these."""


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
        self.held, self.room, self.budget, self.symmetry = held, room, budget, symmetry
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
        # Of every lane: whom it hears, the word that stands for its own, and what elements are called there.
        self.heard = [[0] * len(held) for _ in heard]
        for round_, others in enumerate(heard):
            for orbit, other in enumerate(others):
                self._hear(round_, symmetry.first[orbit], other)
        self.words = [[words[orbit] for orbit in symmetry.orbit] for words in self.shown]
        self.called = [symmetry.back[member] for member in symmetry.member]

    def schedule(self) -> Schedule:
        """What all lanes do: as the first of their orbits, renumbered."""
        elements = [self.symmetry.elements[member] for member in self.symmetry.member]
        shown = [
            [{own[one] for one in word} for own, word in zip(elements, words, strict=True)] for words in self.words
        ]
        return Schedule(self.heard, shown)

    def _hear(self, round_: int, lane: int, other: int) -> None:
        """Let a lane hear another one, and those of its orbit accordingly."""
        orbit = self.symmetry.orbit[lane]
        back = self.symmetry.from_lane[self.symmetry.member[lane]]
        first, others = self.symmetry.first[orbit], self.heard[round_]
        for moved in self.symmetry.lanes:
            others[moved[first]] = moved[back[other]]

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
        held, called, room = self.held, self.called, self.room
        costs: dict[int, tuple[int, _Route]] = {lane: (0, None)}
        best: int = _FAR
        way: _Route = None
        for round_ in range(len(self.heard) - 1, -1, -1):
            others, words = self.heard[round_], self.words[round_]
            asked = 0
            for at, (cost, hops) in list(costs.items()):
                if cost >= best:
                    continue
                asked += 1
                other = others[at]
                word = words[other]
                if called[other][element] not in word:
                    cost += 1
                    if cost >= best or len(word) >= room:
                        continue
                if element in held[other]:
                    best, way = cost, ((round_, at, other), hops)
                elif other not in costs or costs[other][0] > cost:
                    costs[other] = cost, ((round_, at, other), hops)
            self.budget -= asked
        found: list[_Hop] = []
        while way is not None:
            hop, way = way
            found.append(hop)
        return found[::-1] if found else None

    def _place(self, hop: _Hop, wish: int) -> tuple[dict[int, int], int, set[int]]:
        """The word that a hop takes, what the wish's element is called there, and those that hear for the same lane."""
        round_, at, other = hop
        called = self.called[other][self.wishes[wish][1]]
        return self.words[round_][other], called, self.users[round_][self.symmetry.orbit[at]]

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
        self._try(set(self.users[last][self.symmetry.orbit[at]]), (last, at, other))

    def _change_word(self, round_: int, lane: int, element: int) -> None:
        word = self.words[round_][lane]
        if self.called[lane][element] in word or len(word) < self.room:
            return
        gone = self.random.choice(sorted(word))
        orbit = self.symmetry.orbit
        hears = {orbit[at] for at, other in enumerate(self.heard[round_]) if orbit[other] == orbit[lane]}
        wishes = {
            wish
            for one in hears
            for wish in self.users[round_][one]
            for hop in self.routes[wish]
            if hop[0] == round_ and orbit[hop[2]] == orbit[lane] and self._place(hop, wish)[1] == gone
        }
        self._try(wishes, None)

    def _try(self, broken: set[int], hop: _Hop | None) -> None:
        """Look for other routes where some break; `hop` says who hears whom from now on."""
        stuck = set(self.stuck)
        old = {wish: self._remove(wish) for wish in broken}
        before = 0
        if hop is not None:
            before = self.heard[hop[0]][hop[1]]
            self._hear(*hop)
        # Those that had none look first: they are what the change is for.
        self.route(stuck)
        self.route(broken)
        if len(self.stuck) <= len(stuck) or self.random.random() < _WORSE:
            return
        for wish in broken | stuck:
            self._remove(wish)
        if hop is not None:
            self._hear(hop[0], hop[1], before)
        for wish, hops in old.items():
            self._add(wish, hops)
        self.stuck = stuck
