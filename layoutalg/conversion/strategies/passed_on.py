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
the next trial. Where none of these does, every lane hears whom it likes (`rerouting`): first among the lanes of one layer,
where all that is held and wanted is there several times, then among all.

Subgroups that do different things have a schedule each, and share its shuffles.
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
from layoutalg.conversion.strategies.rerouting import Schedule, rerouted
from layoutalg.conversion.strategies.words_by_pair import gathered
from layoutalg.core.errors import SizeError
from layoutalg.core.limits import MOST_STEPS

__all__ = ["passed_on"]

_MOST_TRIED = 1 << 14
"""Lanes that are asked for an element, in all trials of one conversion: some milliseconds."""
_MOST_LANES, _MOST_WISHES, _MOST_SHUFFLES = 16, 128, 12
_MOST_KINDS = 8
"""Subgroups that do different things."""
_MOST_PART, _MOST_ROUTES, _MOST_CHANGED, _TURNED = 64, 512, 1 << 16, 5
"""Lanes and wishes of a part whose routes are changed; lanes asked for an element; starts from rotations."""
_AGAIN = 4
"""Trials from one choice of patterns: in another order, or with another lane heard by the one that lacks an element."""


def passed_on(
    source: Slots,
    destination: Slots,
    element_bits: int,
    least: int,
    most: int,
    patterns: Sequence[Sequence[int]] = (),
    changes: int = _MOST_CHANGED,
) -> Program | None:
    """The program with fewer than `most` shuffles, from `tables.slot_tables`; None where none is found. `least` is a bound.

    The conversion stays in its subgroups. `patterns` say whom each lane hears in other ways' shuffles: these are tried too.
    `changes` is the budget for every lane hearing whom it likes, half of it for layers.
    """
    if element_bits >= WORD or not 0 < least < most or least > _MOST_SHUFFLES or source.shape[1] > 64:
        return None
    kinds: dict[bytes, tuple[int, Slots, Slots]] = {}
    for sg, tables in enumerate(zip(source, destination, strict=True)):
        before, after = _renamed(*tables)
        key = before.tobytes() + after.tobytes()
        kinds[key] = kinds.get(key, (0,))[0] | 1 << sg, before, after
    if len(kinds) > _MOST_KINDS:
        return None
    done: dict[tuple[bytes, int], Schedule] = {}
    tried = [_Tried(before, after, patterns, done) for _, before, after in kinds.values()]
    budget = _MOST_TRIED
    for number in range(least, min(most, least + 2, _MOST_SHUFFLES + 1)):
        found: list[list[_Members]] = []
        for one in tried:
            schedules, budget = one.scheduled(number, WORD // element_bits, budget, changes // (2 * len(kinds)))
            if schedules is None:
                break
            found.append(schedules)
        else:
            try:
                return _program(source, destination.shape[2], element_bits, number, list(kinds.values()), found)
            except SizeError:
                return None
    return None


class _Members(NamedTuple):
    """Lanes that exchange among themselves, what a schedule's elements are called in the tables, and the schedule."""

    lanes: list[int]
    names: list[int]
    schedule: Schedule


class _Tried:
    """Lanes of one subgroup: the parts to schedule, in layers and without them; what each part looks like is kept once."""

    def __init__(
        self, before: Slots, after: Slots, patterns: Sequence[Sequence[int]], done: dict[tuple[bytes, int], Schedule]
    ) -> None:
        self.parts: dict[bytes, _Part | None] = {}
        self.pools: dict[bytes, list[list[int]]] = {}
        self.done = done
        layered, whole = _parts_of(before, after), _apart(before, after)
        self.ways = [
            self._members(before, after, lanes, patterns)
            for lanes in ([layered] if layered == whole else [layered, whole])
        ]

    def _members(
        self, before: Slots, after: Slots, parts: list[list[int]], patterns: Sequence[Sequence[int]]
    ) -> list[tuple[list[int], bytes, list[int]]]:
        members: list[tuple[list[int], bytes, list[int]]] = []
        for lanes in parts:
            local = _renamed(before[lanes], after[lanes])
            key = local[0].tobytes() + local[1].tobytes()
            if key not in self.parts:
                self.parts[key] = _Part.of(*local)
                self.pools[key] = [_inside(one, lanes) for one in patterns]
            names = np.full(int(max(one.max(initial=0) for one in local)) + 1, -1, np.int64)
            for whole, one in zip((before[lanes], after[lanes]), local, strict=True):
                names[one[one >= 0]] = whole[one >= 0]
            members.append((lanes, key, names.tolist()))
        return members

    def scheduled(self, number: int, parts: int, budget: int, changes: int) -> tuple[list[_Members] | None, int]:
        """A schedule of so many rounds for each part, if they are found; what is left of the budget for rotations.

        Each way to see parts has a budget of its own for `changes`.
        """
        for members in self.ways:
            left = changes
            for key in dict.fromkeys(key for _, key, _ in members):
                part = self.parts[key]
                if part is None:
                    break
                if (key, number) in self.done:
                    continue
                schedule = None
                if part.lanes <= _MOST_LANES and len(part.wishes) <= _MOST_WISHES:
                    schedule, budget = _scheduled(part, number, parts, self.pools[key], budget)
                if schedule is None:
                    schedule, left = _changed(part, number, parts, left)
                if schedule is None:
                    break
                self.done[key, number] = schedule
            else:
                found = [_Members(lanes, names, self.done[key, number]) for lanes, key, names in members]
                return found, budget
        return None, budget


def _changed(part: _Part, number: int, parts: int, budget: int) -> tuple[Schedule | None, int]:
    """A schedule in which every lane hears whom it likes, if one is found; what is left of the budget."""
    random, left = Random(0), budget
    lanes = range(part.lanes)
    turned = rotations(part.lanes)
    for number_of in range(1 + _TURNED):
        if number_of:  # lanes that hear others in the same way everywhere: the digits of their numbers rotated
            group = turned[-(number_of % 2)]
            start = [group[:, random.randrange(part.lanes)].tolist() for _ in range(number)]
        else:
            start = [[random.choice(lanes) for _ in lanes] for _ in range(number)]
        share = min(left, -(-budget // (2 * _TURNED if number_of else 2)))
        schedule, kept = rerouted(part.held, part.wishes, number, parts, start, share)
        left -= share - kept
        if schedule is not None or left <= 0:
            return schedule, left
    return None, left


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
        if len(before) > _MOST_PART:
            return None
        held: list[set[int]] = [set(row) - {-1} for row in before.tolist()]
        rows: list[list[int]] = after.tolist()
        wishes = [(lane, e) for lane, row in enumerate(rows) for e in sorted(set(row) - {-1} - held[lane])]
        return _Part(len(before), held, wishes) if len(wishes) <= _MOST_ROUTES else None


def _scheduled(
    part: _Part, number: int, parts: int, known: list[list[int]], budget: int
) -> tuple[Schedule | None, int]:
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
                    return Schedule(heard, shown), budget
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
    slots: int,
    element_bits: int,
    number: int,
    kinds: list[tuple[int, Slots, Slots]],
    schedules: list[list[_Members]],
) -> Program:
    """The program of a schedule for each part of each kind of subgroup: a mask of these, and their tables."""
    subgroups, lanes, registers = source.shape
    parts = WORD // element_bits
    pack = [*range(registers), *[-1] * (-registers % parts)]
    builder = Builder(subgroups, lanes, element_bits, pack, most=MOST_STEPS)
    sides = [_Side.of(before, after, members) for (_, before, after), members in zip(kinds, schedules, strict=True)]
    masks = [mask for mask, _, _ in kinds]
    for round_ in range(number):
        sent = [side.sent(round_, parts) for side in sides]
        words = [gathered(builder, cells[None])[0] for cells, _, _ in sent]
        first, *patterns = [tuple(heard) for _, _, heard in sent]
        others = [(mask, heard) for mask, heard in zip(masks[1:], patterns, strict=True) if heard != first]
        arrived = builder.shuffle(_by_kind(builder, masks, words), first, others=tuple(others))
        for side, (_, elements, heard) in zip(sides, sent, strict=True):
            side.hear(arrived, parts, elements, heard)
    made = [gathered(builder, side.wanted(parts)) for side in sides]
    words = [_by_kind(builder, masks, several) for several in zip(*made, strict=True)]
    return builder.program(registers, slots, [words[slot // parts] * parts + slot % parts for slot in range(slots)])


def _by_kind(builder: Builder, masks: Sequence[int], words: Sequence[int]) -> int:
    """The word that is, in the subgroups of each mask, the word beside it."""
    found = words[0]
    for mask, word in zip(masks[1:], words[1:], strict=True):
        if word != found:
            found = builder.select(word, found, "sg", mask)
    return found


class _Side(NamedTuple):
    """What one kind of subgroup does: where each lane has each element (`word * parts + part`), and what it wants."""

    where: Slots
    after: Slots
    members: list[_Members]

    @staticmethod
    def of(before: Slots, after: Slots, members: list[_Members]) -> _Side:
        where = np.full((len(before), int(max(before.max(initial=0), after.max(initial=0))) + 1), -1, np.int64)
        for register in reversed(range(before.shape[1])):
            held = before[:, register]
            where[np.flatnonzero(held >= 0), held[held >= 0]] = register
        return _Side(where, after, members)

    def sent(self, round_: int, parts: int) -> tuple[Slots, Slots, list[int]]:
        """The cells in each lane's word, the elements in them, and whom each lane hears."""
        lanes = len(self.where)
        cells, elements = (np.full((lanes, parts), -1, np.int64) for _ in range(2))
        heard = list(range(lanes))
        for members, names, schedule in self.members:
            for number_of, lane in enumerate(members):
                heard[lane] = members[schedule.heard[round_][number_of]]
                for element in sorted(names[one] for one in schedule.shown[round_][number_of]):
                    cell = int(self.where[lane, element])
                    free = [i for i in range(parts) if elements[lane, i] < 0]
                    at = cell % parts if cell % parts in free else free[0]
                    cells[lane, at], elements[lane, at] = cell, element
        return cells, elements, heard

    def hear(self, arrived: int, parts: int, elements: Slots, heard: list[int]) -> None:
        """Keep what comes with a word that arrives."""
        for lane, other in enumerate(heard):
            for at, element in enumerate(elements[other].tolist()):
                if element >= 0 and self.where[lane, element] < 0:
                    self.where[lane, element] = arrived * parts + at

    def wanted(self, parts: int) -> Slots:
        """The cells of the destination's words, `[word, lane, part]`."""
        found = np.where(self.after < 0, -1, np.take_along_axis(self.where, np.maximum(self.after, 0), 1))
        table = np.pad(found, ((0, 0), (0, -found.shape[1] % parts)), constant_values=-1)
        return table.reshape(len(found), -1, parts).transpose(1, 0, 2)
