"""Exchanges of elements below 32 bits in which some lanes pass on what is meant for others: fewer shuffles than pairs of lanes.

Fifteen lanes transpose a 15x15 tile of 16 bits: each lane has one element for each other one, half a word. In ten shuffles
lane l sends to lanes l + 1 to l + 10 (modulo 15) directly; what is meant for lane l + 11 fills up the words for l + 1, and then
those that lane l + 1 sends to l + 11; and so on with 12 = 5 + 7, 13 = 4 + 9, 14 = 6 + 8:

>>> from layoutalg.conversion.program.steps import Shuffle
>>> from layoutalg.conversion.strategies.tables import slot_tables
>>> tables = slot_tables(Layout.parse("d0 = 15@reg, d1 = 15@lane"), Layout.parse("d0 = 15@lane, d1 = 15@reg"))
>>> relayed(*tables, 16, 10, 14).count(Shuffle)
10

Every shuffle rotates all lanes alike: their numbers, or digits of these (by 3 and 2 in fifteen lanes that are 3x5). Which
rotations there are is tried: those are left out that fewest elements need; an element that has no word for its way goes in
two that have room.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from random import Random
from typing import NamedTuple

import numpy as np

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.choosing import Slots
from layoutalg.conversion.strategies.tables import origins
from layoutalg.conversion.strategies.words_by_pair import gathered
from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_RELAYED, MOST_STEPS

__all__ = ["relayed", "rotations"]

_TRIES = 6
"""Choices of rotations that are tried for each number of shuffles."""
_MOST_GROUPS = 16
"""Ways to see lanes as digits that are tried."""


def relayed(source: Slots, destination: Slots, element_bits: int, least: int, most: int) -> Program | None:
    """The program with at least `least` and fewer than `most` shuffles, from `tables.slot_tables`; None where none is found.

    For conversions that stay in their subgroups, all of which do the same.
    """
    if element_bits >= WORD or least >= most:
        return None
    taken = origins(source, destination)
    if taken is None:
        return None
    (from_lane, from_register), (subgroups, lanes, registers) = taken, source.shape
    here = np.arange(lanes, dtype=np.int64).reshape(-1, 1)
    moved = (from_lane >= 0) & (from_lane != here)
    keys, places = np.unique(((from_lane * lanes + here) * registers + from_register)[moved], return_inverse=True)
    if not 0 < len(keys) <= MOST_RELAYED:
        return None
    pairs, register = np.divmod(keys, registers)
    sender, receiver = np.divmod(pairs, lanes)
    parts = WORD // element_bits
    group = min(_groups(lanes), key=lambda one: one.words(sender, receiver, parts))
    routes = _routes(sender, group.distance[sender, receiver], group, parts, least, most)
    if routes is None:
        return None
    builder = Builder(
        subgroups, lanes, element_bits, [*range(registers), *[-1] * (-registers % parts)], most=MOST_STEPS
    )
    try:
        cells = _sent(builder, routes, sender, register, parts)
        wanted = np.where(from_lane < 0, -1, from_register)
        wanted[moved] = cells[places.reshape(-1)]
        slots = wanted.shape[1]
        table = np.pad(wanted, ((0, 0), (0, -slots % parts)), constant_values=-1).reshape(lanes, -1, parts)
        made = gathered(builder, table.transpose(1, 0, 2))
    except SizeError:
        return None
    return builder.program(registers, slots, [made[slot // parts] * parts + slot % parts for slot in range(slots)])


class _Group(NamedTuple):
    """How lanes are rotated: the digits of their numbers, each modulo its radix."""

    reach: Slots
    """The lane that lane l sends to at distance d, `[l, d]`."""
    distance: Slots
    """How far it is from a lane to another one."""

    @staticmethod
    def of(radices: tuple[int, ...]) -> _Group:
        lanes = prod(radices)
        numbers = np.arange(lanes, dtype=np.int64)
        reach, distance = np.zeros((lanes, lanes), np.int64), np.zeros((lanes, lanes), np.int64)
        weight = 1
        for radix in radices:
            digit = numbers // weight % radix
            reach += (digit[:, None] + digit) % radix * weight
            distance += (digit - digit[:, None]) % radix * weight
            weight *= radix
        return _Group(reach, distance)

    def words(self, sender: Slots, receiver: Slots, parts: int) -> int:
        """The rounds that it takes if every item goes directly."""
        counts = np.zeros_like(self.reach)
        np.add.at(counts, (sender, self.distance[sender, receiver]), 1)
        return int((-(-counts.max(0) // parts)).sum())


@lru_cache(maxsize=64)
def _groups(lanes: int) -> list[_Group]:
    """The ways to see lanes as digits, one digit first, and the most digits last."""
    found = _radices(lanes)
    return [_Group.of(radices) for radices in (*found[: _MOST_GROUPS - 1], *found[_MOST_GROUPS - 1 :][-1:])]


@lru_cache(maxsize=64)
def rotations(lanes: int) -> list[Slots]:
    """The lane that each lane sends to at each distance, `[lane, distance]`, for all ways to see lanes as digits.

    >>> [one[1].tolist() for one in rotations(4)]
    [[1, 2, 3, 0], [1, 0, 3, 2]]
    """
    return [group.reach for group in _groups(lanes)]


def _radices(number: int) -> list[tuple[int, ...]]:
    """The ordered factorizations of a number, the shortest first."""
    found = [(number,)]
    for first in range(2, number // 2 + 1):
        if number % first == 0:
            found += [(first, *rest) for rest in _radices(number // first)]
    return sorted(found, key=len)


class _Routes(NamedTuple):
    """How far each round rotates the lanes, and the rounds of each item: one, or two (-1: only one)."""

    group: _Group
    turns: list[int]
    first: Slots
    second: Slots


def _routes(sender: Slots, distance: Slots, group: _Group, parts: int, least: int, most: int) -> _Routes | None:
    """Routes with the fewest rounds that are found."""
    counts = np.zeros_like(group.reach)  # by sender and distance
    np.add.at(counts, (sender, distance), 1)
    random = Random(0)
    for number in range(least, most):
        for _ in range(_TRIES):
            turns = _turns(counts, parts, number, random)
            found = None if turns is None else _routed(turns, sender, distance, group, parts)
            if found is not None:
                return found
    return None


def _turns(counts: Slots, parts: int, number: int, random: Random) -> list[int] | None:
    """So many rotations: of all that it would take, without those that fewest elements need."""
    words: Slots = -(-counts.max(0) // parts)
    left = int(words.sum()) - number
    order = random.sample(range(len(words)), len(words))
    for _ in range(left):
        lost = np.maximum(counts - (words - 1) * parts, 0).sum(0)
        lost -= np.maximum(counts - words * parts, 0).sum(0)
        costs = [(int(lost[d]), i) for i, d in enumerate(order) if words[d]]
        if not costs:
            return None
        words[order[min(costs)[1]]] -= 1
    turns = [d for d, times in enumerate(words.tolist()) for _ in range(times)]
    return [*turns, *random.choices(turns, k=-left)] if left < 0 < len(turns) else turns


def _routed(turns: list[int], sender: Slots, distance: Slots, group: _Group, parts: int) -> _Routes | None:
    """Every item directly while there is room, else in two rounds; None where one has none."""
    lanes = len(group.reach)
    first, second = np.full(len(sender), -1, np.int64), np.full(len(sender), -1, np.int64)
    order = np.lexsort((sender, distance))
    pair = (distance * lanes + sender)[order]
    rank = np.arange(len(pair), dtype=np.int64) - np.searchsorted(pair, pair)
    rounds_of: dict[int, list[int]] = {}
    for round_, turn in enumerate(turns):
        rounds_of.setdefault(turn, []).append(round_)
    of_turn = np.full((lanes, max(map(len, rounds_of.values()), default=0) + 1), -1, np.int64)
    for turn, several in rounds_of.items():
        of_turn[turn, : len(several)] = several
    word = np.minimum(rank // parts, of_turn.shape[1] - 1)
    first[order] = of_turn[distance[order], word]
    taken = np.zeros((len(turns), lanes), np.int64)
    np.add.at(taken, (first[first >= 0], sender[first >= 0]), 1)
    free: list[list[int]] = (parts - taken).tolist()
    left = np.flatnonzero(first < 0)
    ways: dict[int, list[tuple[int, int]]] = {}
    reach: list[list[int]] = group.reach.tolist()
    distances: list[list[int]] = group.distance.tolist()
    for item in left[np.lexsort((sender[left], distance[left]))].tolist():
        lane, far = int(sender[item]), int(distance[item])
        if far not in ways:
            pairs = [(a, b) for a, turn in enumerate(turns) for b in rounds_of.get(distances[turn][far], []) if a < b]
            ways[far] = pairs
        best, found = 0, (0, 0)
        for a, b in ways[far]:
            room = min(free[a][lane], free[b][reach[lane][turns[a]]])
            if room > best:
                best, found = room, (a, b)
        if not best:
            return None
        a, b = found
        first[item], second[item] = a, b
        free[a][lane] -= 1
        free[b][reach[lane][turns[a]]] -= 1
    return _Routes(group, turns, first, second)


def _sent(builder: Builder, routes: _Routes, sender: Slots, register: Slots, parts: int) -> Slots:
    """Send all items; where each is at the end: `word * parts + part`."""
    lanes = builder.lanes
    cells, lane = register.copy(), sender.copy()
    waiting = list(range(len(routes.turns)))
    done: set[int] = set()
    while waiting:
        # Rounds that pass on nothing which is still to come: their words are put together at one time.
        needs = {round_: set(routes.first[routes.second == round_].tolist()) for round_ in waiting}
        ready = [round_ for round_ in waiting if needs[round_] <= done]
        table = np.full((len(ready), lanes, parts), -1, np.int64)
        carried: list[tuple[Slots, Slots]] = []
        for number, round_ in enumerate(ready):
            items = np.flatnonzero((routes.first == round_) | (routes.second == round_))
            part = _parts(lane[items], cells[items] % parts, lanes, parts)
            table[number, lane[items], part] = cells[items]
            carried.append((items, part))
        words = gathered(builder, table)
        for round_, word, (items, part) in zip(ready, words, carried, strict=True):
            turn = routes.turns[round_]
            heard: list[int] = np.argsort(routes.group.reach[:, turn]).tolist()
            arrived = builder.shuffle(word, tuple(heard))
            cells[items] = arrived * parts + part
            lane[items] = routes.group.reach[lane[items], turn]
        done.update(ready)
        waiting = [round_ for round_ in waiting if round_ not in done]
    return cells


def _parts(lane: Slots, natural: Slots, lanes: int, parts: int) -> Slots:
    """A part of its lane's word for each item: where it is already, if all of the lane's can be."""
    clash = np.bincount(lane * parts + natural, minlength=lanes * parts).reshape(lanes, parts).max(1) > 1
    order = np.argsort(lane, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.searchsorted(lane[order], lane[order])
    return np.where(clash[lane], rank, natural)
