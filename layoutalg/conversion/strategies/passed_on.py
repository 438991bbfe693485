"""Exchanges of elements below 32 bits that lanes pass on to several others: for copies, and for digits of any radix.

Four lanes have one element of 16 bits each, and all are to have all four. Each of the first two lanes shows the other its
element, and so do the last two; then each lane shows both that it knows to the lane two further on: two shuffles, where three
other lanes are heard.

>>> from layoutalg.conversion.program.steps import Shuffle
>>> from layoutalg.conversion.strategies.tables import slot_tables
>>> tables = slot_tables(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg | replicas 4@lane"))
>>> passed_on(*tables, 16, 2, 3).count(Shuffle)
2

Lanes that have nothing to do with each other are looked at alone, and those that do the same once. Who hears whom is tried:
in each shuffle all lanes of such a part rotate their numbers, or digits of them. Then every element that a lane wants looks
for the way that adds fewest elements to words, a word that has it already being free; one that finds no room goes first in
the next trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.choosing import Slots
from layoutalg.conversion.strategies.multi_hop import rotations
from layoutalg.conversion.strategies.words_by_pair import gathered
from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_STEPS

__all__ = ["passed_on"]

_MOST_TRIED = 1 << 14
"""Lanes that are asked for an element, in all trials of one conversion: some milliseconds."""
_MOST_LANES, _MOST_WISHES, _MOST_SHUFFLES = 16, 128, 8
_AGAIN = 4
"""Trials from one choice of patterns: in another order, or with another lane heard by the one that lacks an element."""


def passed_on(
    source: Slots, destination: Slots, element_bits: int, least: int, most: int, patterns: Sequence[Sequence[int]] = ()
) -> Program | None:
    """The program with fewer than `most` shuffles, from `tables.slot_tables`; None where none is found. `least` is a bound.

    The conversion stays in its subgroups, and all subgroups do the same. `patterns` say whom each lane hears in other ways'
    shuffles: these are tried too.
    """
    if element_bits >= WORD or not 0 < least < most or least > _MOST_SHUFFLES or source.shape[1] > 64:
        return None
    alike = [_renamed(before, after) for before, after in zip(source, destination, strict=True)]
    before, after = alike[0]
    if any(not np.array_equal(b, before) or not np.array_equal(a, after) for b, a in alike[1:]):
        return None
    parts = WORD // element_bits
    known: dict[bytes, _Part] = {}
    pools: dict[bytes, list[list[int]]] = {}
    members: list[tuple[list[int], bytes, list[int]]] = []
    for lanes in _parts_of(before, after):
        local = _renamed(before[lanes], after[lanes])
        part = _Part.of(*local)
        if part is None:
            return None
        key = local[0].tobytes() + local[1].tobytes()
        known[key] = part
        pools.setdefault(key, [_inside(one, lanes) for one in patterns])
        names = np.full(int(max(one.max(initial=0) for one in local)) + 1, -1, np.int64)
        for whole, one in zip((before[lanes], after[lanes]), local, strict=True):
            names[one[one >= 0]] = whole[one >= 0]
        members.append((lanes, key, names.tolist()))
    budget = _MOST_TRIED
    for number in range(least, min(most, least + 2, _MOST_SHUFFLES + 1)):
        found: dict[bytes, _Schedule] = {}
        for key, part in known.items():
            schedule, budget = _scheduled(part, number, parts, pools[key], budget)
            if schedule is None:
                break
            found[key] = schedule
        else:
            try:
                return _program(
                    source,
                    before,
                    after,
                    element_bits,
                    number,
                    [(lanes, names, found[key]) for lanes, key, names in members],
                )
            except SizeError:
                return None
    return None


def _renamed(before: Slots, after: Slots) -> tuple[Slots, Slots]:
    """Both tables with elements numbered as they first occur (-1 stays)."""
    both = np.concatenate([before.reshape(-1), after.reshape(-1)])
    values, first, places = np.unique(both, return_index=True, return_inverse=True)
    empty = len(values) > 0 and values[0] < 0
    first = first.copy()
    if empty:
        first[0] = -1
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(first)] = np.arange(len(values)) - int(empty)
    numbered = rank[places.reshape(-1)]
    return numbered[: before.size].reshape(before.shape), numbered[before.size :].reshape(after.shape)


def _inside(pattern: Sequence[int], lanes: list[int]) -> list[int]:
    """A pattern of all lanes, among some of them; one that hears another lane hears itself."""
    number = {lane: i for i, lane in enumerate(lanes)}
    return [number.get(pattern[lane], i) for i, lane in enumerate(lanes)]


def _parts_of(before: Slots, after: Slots) -> list[list[int]]:
    """The parts of each layer, where all that lanes hold and want is there in as many lanes: a layer has one of each."""
    alike: dict[bytes, list[int]] = {}
    for lane, (has, wants) in enumerate(zip(before, after, strict=True)):
        alike.setdefault(has.tobytes() + wants.tobytes(), []).append(lane)
    layers = list(alike.values())
    if len({len(several) for several in layers}) > 1:
        return _apart(before, after)
    found: list[list[int]] = []
    for layer in map(list, zip(*layers, strict=True)):
        layer.sort()
        found += [[layer[i] for i in part] for part in _apart(before[layer], after[layer])]
    return found


def _apart(before: Slots, after: Slots) -> list[list[int]]:
    """The parts of lanes that have elements in common which somebody misses; lanes that miss nothing are in none alone."""
    lanes = len(before)
    held: list[set[int]] = [set(row) - {-1} for row in before.tolist()]
    missing = [set(row) - {-1} - has for row, has in zip(after.tolist(), held, strict=True)]
    needed = set[int]().union(*missing)
    part = list(range(lanes))
    owner: dict[int, int] = {}
    for lane in range(lanes):
        for element in (held[lane] & needed) | missing[lane]:
            one, other = owner.setdefault(element, lane), lane
            while part[one] != one:
                one = part[one]
            while part[other] != other:
                other = part[other]
            part[max(one, other)] = min(one, other)
    found: dict[int, list[int]] = {}
    for lane in range(lanes):
        root = lane
        while part[root] != root:
            root = part[root]
        found.setdefault(root, []).append(lane)
    return [several for several in found.values() if any(missing[lane] for lane in several)]


class _Part(NamedTuple):
    """Lanes that exchange among themselves: what is needed of what each holds, and what each misses, as (lane, element)."""

    lanes: int
    held: list[set[int]]
    wishes: list[tuple[int, int]]

    @staticmethod
    def of(before: Slots, after: Slots) -> _Part | None:
        """None where there is too much to try."""
        if len(before) > _MOST_LANES:
            return None
        held: list[set[int]] = [set(row) - {-1} for row in before.tolist()]
        rows: list[list[int]] = after.tolist()
        wishes = [(lane, e) for lane, row in enumerate(rows) for e in sorted(set(row) - {-1} - held[lane])]
        return _Part(len(before), held, wishes) if len(wishes) <= _MOST_WISHES else None


class _Schedule(NamedTuple):
    """Whom each lane hears, and the elements that each lane shows, by round and lane."""

    heard: list[list[int]]
    shown: list[list[set[int]]]


def _scheduled(
    part: _Part, number: int, parts: int, known: list[list[int]], budget: int
) -> tuple[_Schedule | None, int]:
    """A schedule of so many rounds, if one is found: rotations, what other ways do (`known`), and changes of these.

    Also what is left of the budget: a trial costs the product of lanes, wishes and rounds.
    """
    random = Random(0)
    price = number * part.lanes * len(part.wishes)
    pools = [known] * (len(known) > 1)
    pools += [[np.argsort(group[:, turn]).tolist() for turn in range(1, part.lanes)] for group in rotations(part.lanes)]
    holders: dict[int, list[int]] = {}
    for lane, has in enumerate(part.held):
        for element in has:
            holders.setdefault(element, []).append(lane)
    while budget >= price:
        for pool in pools:
            drawn = random.sample(pool, number) if len(pool) >= number else random.choices(pool, k=number)
            heard = [list(one) for one in drawn]
            order = random.sample(part.wishes, len(part.wishes))
            for _ in range(_AGAIN):
                if budget < price:
                    return None, budget
                budget -= price
                shown, stuck = _shown(part, heard, order, parts)
                if stuck is None:
                    return _Schedule(heard, shown), budget
                if order[0] == stuck:  # with these nothing brings it
                    heard[random.randrange(number)][stuck[0]] = random.choice(holders[stuck[1]])
                order.remove(stuck)
                order.insert(0, stuck)
    return None, budget


def _shown(
    part: _Part, heard: list[list[int]], order: list[tuple[int, int]], parts: int
) -> tuple[list[list[set[int]]], tuple[int, int] | None]:
    """What each lane shows in each round, and the first wish that finds no way (None: all do)."""
    far = 1 << 20
    shown: list[list[set[int]]] = [[set() for _ in range(part.lanes)] for _ in heard]
    for lane, element in order:
        costs = [0 if element in has else far for has in part.held]
        came: list[list[int]] = []
        for others, words in zip(heard, shown, strict=True):
            adds = [
                cost + (0 if element in word else 1 if len(word) < parts else far)
                for cost, word in zip(costs, words, strict=True)
            ]
            came.append([other if adds[other] < costs[i] else -1 for i, other in enumerate(others)])
            costs = [min(costs[i], adds[other]) for i, other in enumerate(others)]
        if costs[lane] >= far:
            return shown, (lane, element)
        at = lane
        for others, words in zip(reversed(came), reversed(shown), strict=True):
            if others[at] >= 0:
                at = others[at]
                words[at].add(element)
    return shown, None


def _program(
    source: Slots,
    before: Slots,
    after: Slots,
    element_bits: int,
    number: int,
    schedules: list[tuple[list[int], list[int], _Schedule]],
) -> Program:
    """The program of a schedule for each part; the list between says what a part's elements are called."""
    subgroups, lanes, registers = source.shape
    parts, slots = WORD // element_bits, after.shape[1]
    pack = [*range(registers), *[-1] * (-registers % parts)]
    builder = Builder(subgroups, lanes, element_bits, pack, most=MOST_STEPS)
    where = np.full((lanes, int(max(before.max(initial=0), after.max(initial=0))) + 1), -1, np.int64)
    for register in reversed(range(registers)):
        held = before[:, register]
        where[np.flatnonzero(held >= 0), held[held >= 0]] = register
    for round_ in range(number):
        cells, elements = (np.full((lanes, parts), -1, np.int64) for _ in range(2))
        heard = list(range(lanes))
        for members, names, schedule in schedules:
            for number_of, lane in enumerate(members):
                heard[lane] = members[schedule.heard[round_][number_of]]
                for element in sorted(names[one] for one in schedule.shown[round_][number_of]):
                    cell = int(where[lane, element])
                    free = [i for i in range(parts) if elements[lane, i] < 0]
                    at = cell % parts if cell % parts in free else free[0]
                    cells[lane, at], elements[lane, at] = cell, element
        word = gathered(builder, cells[None])[0]
        arrived = builder.shuffle(word, tuple(heard))
        for lane, other in enumerate(heard):
            for at, element in enumerate(elements[other].tolist()):
                if element >= 0 and where[lane, element] < 0:
                    where[lane, element] = arrived * parts + at
    wanted = np.where(after < 0, -1, np.take_along_axis(where, np.maximum(after, 0), 1))
    table = np.pad(wanted, ((0, 0), (0, -slots % parts)), constant_values=-1).reshape(lanes, -1, parts)
    made = gathered(builder, table.transpose(1, 0, 2))
    return builder.program(registers, slots, [made[slot // parts] * parts + slot % parts for slot in range(slots)])
