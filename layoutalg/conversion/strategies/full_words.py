"""Schedules in two halves: words full of what one lane has for others go directly; what is left is a smaller exchange.

Four lanes have three elements of 16 bits each, and all are to have all twelve. Two elements of each lane are a word, which goes
to the three other lanes in three shuffles. Of the third elements there is one a lane: two shuffles bring all four of them to
all lanes, where three would be heard directly. That makes five, and nine elements do not fit into fewer words:

>>> held = [{3 * lane + i for i in range(3)} for lane in range(4)]
>>> missing = [set(range(12)) - has for has in held]
>>> schedule, _ = in_full_words(held, missing, 5, 2, budget=1000)
>>> [max(map(len, words)) for words in schedule.shown]
[2, 2, 2, 1, 2]

The first half is a matching of lanes in each round (`program.schedule`), the other is found like any schedule (`rerouting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from layoutalg.conversion.program.schedule import Items, rounds, spread
from layoutalg.conversion.strategies.rerouting import Schedule, rerouted
from layoutalg.conversion.strategies.symmetries import symmetries

__all__ = ["in_full_words", "routed"]

_FIRST_START = 1 << 11
"""Lanes asked for an element before another start is tried for the first time."""
_MOST_ROUTES = 512
"""Wishes for which a route is looked for."""


def routed(
    held: Sequence[set[int]], missing: Sequence[set[int]], number: int, room: int, budget: int
) -> tuple[Schedule | None, int]:
    """A schedule of so many rounds in which every lane hears whom it likes, if one is found; what is left of the budget.

    Those that look the same from many lanes are tried first, all for longer each time; `room` elements share a word.

    >>> routed([{0}, {1}, {2}], [{1, 2}, {0, 2}, {0, 1}], 2, 1, 1000)[0].heard
    [[1, 2, 0], [2, 0, 1]]
    """
    found = symmetries(held, missing)
    groups = [one for one in found if sum(len(missing[lane]) for lane in one.first) <= _MOST_ROUTES]
    random, left, share = Random(0), budget, _FIRST_START
    while groups and left > 0:
        for group in groups:
            start = [[random.randrange(len(held)) for _ in group.first] for _ in range(number)]
            limit = min(left, share)
            schedule, kept = rerouted(held, missing, room, start, limit, group)
            left -= max(limit - kept, 1)
            if schedule is not None or left <= 0:
                return schedule, max(left, 0)
        share *= 2
    return None, left


def in_full_words(
    held: Sequence[set[int]], missing: Sequence[set[int]], number: int, room: int, budget: int
) -> tuple[Schedule | None, int]:
    """A schedule whose first rounds bring full words, if one is found; what is left of the budget.

    >>> in_full_words([{0}, {1}], [{1}, {0}], 1, 2, 1000)
    (None, 1000)
    """
    kinds = _kinds(held, missing)
    for less in (0, 1):
        words = [several[at * room : (at + 1) * room] for several in kinds for at in range(len(several) // room - less)]
        inside = {element for word in words for element in word}
        numbers = {word[0]: number for number, word in enumerate(words)}
        holds, lacks = ([{numbers[e] for e in one if e in numbers} for one in side] for side in (held, missing))
        first = max((len(one) for one in lacks), default=0)
        rest = [one - inside for one in missing]
        if not first or first - (-max(map(len, rest)) // room) > number:
            continue
        direct = _direct(holds, lacks, first if any(rest) else number)
        if direct is None:
            continue
        shown = [[{e for number in one for e in words[number]} for one in several] for several in direct.shown]
        if not any(rest):
            return Schedule(direct.heard, shown), budget
        left, budget = routed([one - inside for one in held], rest, number - first, room, budget)
        if left is not None:
            return Schedule(direct.heard + left.heard, shown + left.shown), budget
    return None, budget


def _direct(holds: Sequence[set[int]], lacks: Sequence[set[int]], most: int) -> Schedule | None:
    """So many rounds in which each lane hears the words that it lacks from lanes that hold them; None if more are needed."""
    lanes = range(len(holds))
    holders: dict[int, list[int]] = {}
    for lane, words in enumerate(holds):
        for word in words:
            holders.setdefault(word, []).append(lane)
    wishes = [(word, lane) for lane, words in enumerate(lacks) for word in sorted(words)]
    for once in (False, True):
        # Wishes with the same holders are one kind; or words are, which one holder then shows to all.
        kinds: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for wish in sorted({(word, -1) for word, _ in wishes}) if once else wishes:
            kinds.setdefault((*holders[wish[0]], -1, wish[1]), []).append(wish)
        given = spread([list(one[:-2]) for one in kinds], list(map(len, kinds.values())), len(holds), most)
        if given is None:
            continue
        shown_by = {
            wish: lane
            for number, (key, several) in enumerate(kinds.items())
            for wish, lane in zip(
                several, [lane for lane in key[:-2] for _ in range(given[lane].get(number, 0))], strict=True
            )
        }
        items = sorted((shown_by[word, -1 if once else lane], lane, word) for word, lane in wishes)
        found = rounds(len(holds), Items(*map(list, zip(*items, strict=True))))
        if len(found) > most:
            continue
        schedule = Schedule([list(lanes) for _ in range(most)], [[set() for _ in lanes] for _ in range(most)])
        for round_, several in enumerate(found):
            for sender, receiver, word in (items[item] for item in several):
                schedule.heard[round_][receiver] = sender
                schedule.shown[round_][sender].add(word)
        return schedule
    return None


def _kinds(held: Sequence[set[int]], missing: Sequence[set[int]]) -> list[list[int]]:
    """Elements with the same holders that the same lanes miss."""
    found: dict[tuple[int, ...], list[int]] = {}
    lanes = range(len(held))
    for element in sorted(set[int]().union(*missing)):
        holders = [lane for lane in lanes if element in held[lane]]
        wanters = [lane for lane in lanes if element in missing[lane]]
        found.setdefault((*holders, -1, *wanters), []).append(element)
    return list(found.values())
