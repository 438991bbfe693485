"""Exchanges within a subgroup by tables: for digits that have no bits in common, such as 3 lanes against 2 registers.

Who sends how many words to whom is a bipartite multigraph between lanes and lanes. In one shuffle every lane sends at most one
word and receives at most one: a matching. A bipartite multigraph falls into as many matchings as its largest degree
(König 1916), so the largest number of words that one lane sends or receives is the number of shuffles. Three lanes that turn
their registers:

>>> from layoutalg.conversion.program import Shuffle
>>> from layoutalg.core.layout import Layout
>>> source, destination = Layout.parse("d0 = 3@reg, d1 = 3@lane"), Layout.parse("d0 = 3@lane, d1 = 3@reg")
>>> tables = slot_tables(source, destination)
>>> found = exchange_by_table(*tables, 32)
>>> found.count(Shuffle), fewest_by_table(*tables, 32)
(2, 2)

Matchings are found by augmenting paths, each taken as often as its rarest edge allows, so that a regular exchange of many
registers costs no more than one of few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program import MOST_STEPS, NEW, WORD, Program, Select, Shuffle, Step
from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.fragments import fragment_map
from layoutalg.core.layout import Layout

__all__ = ["exchange_by_table", "fewest_by_table", "slot_tables", "stays_by_table"]

MOST_SLOTS = 2**20
"""Slots (subgroups x lanes x registers) of a conversion that is planned by tables."""

MOST_WORDS = 2**13
"""Words that one subgroup's lanes exchange, scheduled by tables."""
_MOST_WEIGHED = 2**18

Slots = NDArray[np.int64]
"""The number of the element in each slot, row by row: `[sg, lane, reg]`; -1 where there is none."""


def slot_tables(source: Layout, destination: Layout) -> tuple[Slots, Slots]:
    """Which element is in each slot, before and after.

    Raises `SizeError` for more than 2^20 slots, `LayoutError` where a slot holds several elements.

    >>> slot_tables(Layout.parse("d0 = 2@lane"), Layout.parse("d0 = 2@reg | replicas 2@lane"))[1].tolist()
    [[[0, 1], [0, 1]]]
    """
    found: list[Slots] = []
    for layout in (source, destination):
        count = 1
        for axis in layout.codomain:
            span: Any = layout.axes.get(axis, 1)
            count *= span
        if count > MOST_SLOTS:
            raise SizeError(f"{count} slots: a conversion by tables has at most 2^20 (layout {layout})")
        held = fragment_map(layout).astype(np.int64)
        shape: Any = layout.shape
        numbers = np.zeros(held.shape[:-1], np.int64)
        for d, size in enumerate(shape):
            numbers = numbers * size + held[..., d]
        holes = (held < 0).any(axis=-1) if layout.rank else np.zeros(numbers.shape, bool)
        found.append(np.where(holes, -1, numbers))
    return found[0], found[1]


def stays_by_table(source: Slots, destination: Slots) -> bool:
    """Whether every subgroup has all elements already that it is to have.

    >>> stays_by_table(*slot_tables(Layout.parse("d0 = 3@sg 2@reg"), Layout.parse("d0 = 2@reg 3@sg")))
    False
    """
    return all(not np.setdiff1d(after, before).size for before, after in zip(source, destination, strict=True))


def fewest_by_table(source: Slots, destination: Slots, element_bits: int) -> int:
    """The largest number of words that one lane must receive: its own elements count nothing, the nearest replica counts.

    >>> columns = Layout.parse("d0 = 4@lane, d1 = 2@lane:4 4@reg")
    >>> fewest_by_table(*slot_tables(Layout.parse("d0 = 4@reg, d1 = 8@lane"), columns), 16)
    3
    """
    worst = 0
    if not stays_by_table(source, destination):  # then lanes of all subgroups count
        source, destination = (slots.reshape(1, -1, slots.shape[2]) for slots in (source, destination))
    for before, after in zip(source, destination, strict=True):
        lanes, _ = _chosen(before, after)
        for lane, row in enumerate(lanes):
            held = after[lane]
            _, firsts = np.unique(held, return_index=True)  # an element that a lane holds twice comes once
            firsts = firsts[held[firsts] >= 0]
            others, counts = np.unique(row[firsts], return_counts=True)
            words = -(-counts * element_bits // WORD)
            worst = max(worst, int(words[others != lane].sum()))
    return worst


def exchange_by_table(source: Slots, destination: Slots, element_bits: int) -> Program:
    """The program for a conversion that stays in its subgroups (`stays_by_table`).

    Subgroups whose tables differ have their own rounds, one after another, and take what is theirs.

    Raises `SizeError` for a program of more than 2^16 steps.

    >>> same = slot_tables(Layout.parse("d0 = 3@lane 5@reg"), Layout.parse("d0 = 3@lane 5@reg"))
    >>> exchange_by_table(*same, 32).steps
    ()
    """
    subgroups, lanes, registers = source.shape
    cells = 2 if element_bits > WORD else 1
    parts = max(WORD // element_bits, 1)
    kinds: dict[bytes, tuple[int, NDArray[np.int64], NDArray[np.int64]]] = {}
    for sg in range(subgroups):
        from_lane, from_register = _chosen(source[sg], destination[sg])
        key = from_lane.tobytes() + from_register.tobytes()
        mask = kinds[key][0] if key in kinds else 0
        kinds[key] = (mask | 1 << sg, from_lane, from_register)
    group = _together([(one, two) for _, one, two in kinds.values()], registers, parts)
    pack = [r * group + i if i < group else -1 for r in range(registers // group) for i in range(parts)]
    if cells == 2:
        pack = list(range(2 * registers))
    build = _Steps(lanes, len(pack) // parts)
    words: list[int] = []
    for mask, from_lane, from_register in kinds.values():
        arrived = build.exchange(from_lane[:, ::group], from_register[:, ::group] // group, cells)
        words = (
            [build.select(new, old, "sg", mask) for new, old in zip(arrived, words, strict=True)] if words else arrived
        )
    unpack = [w * parts + i for w in words for i in range(group)] if cells == 1 else words
    return Program(
        subgroups, lanes, element_bits, registers, destination.shape[2], tuple(pack), tuple(build.steps), tuple(unpack)
    )


def _chosen(before: NDArray[np.int64], after: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lane and register that each destination slot is taken from: its own lane where that has the element."""
    lanes, registers = len(before), int(before.shape[1])
    here = np.arange(lanes, dtype=np.int64).reshape(-1, 1)
    flat = before.reshape(-1)
    order = _order(flat)  # by element, then by lane
    first, last = _place(flat[order], after, "left"), _place(flat[order], after, "right")
    known = (last > first) & (after >= 0)
    pick = order[np.where(known, first + here % np.maximum(last - first, 1), 0)]
    size = int(max(before.max(initial=0), after.max(initial=0))) + 2
    keys = (here * size + before + 1).reshape(-1)
    by_lane = _order(keys)
    wanted = here * size + after + 1
    own = by_lane[np.minimum(_place(keys[by_lane], wanted, "left"), len(keys) - 1)]
    stays = (keys[own] == wanted) | ~known
    from_lane = np.where(stays, here, pick // registers)
    from_register = np.where(stays, own % registers, pick % registers)
    return from_lane, np.where(known, from_register, 0)


def _order(values: Slots) -> Slots:
    """Where each value is, smallest first."""
    return np.argsort(values, kind="stable")


def _place(ordered: Slots, values: Slots, side: Literal["left", "right"]) -> Slots:
    """Before which of the ordered numbers each value belongs."""
    return np.asarray(np.searchsorted(ordered, values, side), np.int64)


def _together(kinds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], registers: int, parts: int) -> int:
    """How many neighbouring registers always travel together, in their order: as many as a word has room for, or fewer."""
    group = parts
    while group > 1:
        if registers % group == 0 and all(
            lane.shape[1] % group == 0
            and bool((lane.reshape(len(lane), -1, group) == lane[:, ::group, None]).all())
            and bool((register[:, ::group] % group == 0).all())
            and bool((register.reshape(len(lane), -1, group) == register[:, ::group, None] + np.arange(group)).all())
            for lane, register in kinds
        ):
            return group
        group //= 2
    return 1


class _Steps:
    """The steps as they are made, and the number of the next word."""

    def __init__(self, lanes: int, words: int) -> None:
        self.lanes, self.made = lanes, words
        self.steps: list[Step] = []

    def _add(self, step: Step) -> int:
        if len(self.steps) >= MOST_STEPS:
            raise SizeError(
                f"a conversion of more than {MOST_STEPS} steps: convert a smaller part of the tensor at a time"
            )
        self.steps.append(step)
        self.made += 1
        return self.made - 1

    def select(self, on: int, off: int, axis: str, mask: int) -> int:
        return on if on == off else self._add(Select(self.made, on, off, axis, mask))

    def choose(self, words: Sequence[int]) -> int:
        """The word that has, in each lane, the word of that lane's number in the list."""
        masks: dict[int, int] = {}
        for lane, word in enumerate(words):
            if word >= 0:
                masks[word] = masks.get(word, 0) | 1 << lane
        if len(masks) == 1:
            return next(iter(masks))
        ordered = sorted(masks, key=lambda word: -masks[word].bit_count())
        found, made = ordered[0], self.made
        for word in ordered[1:]:
            self.steps.append(NEW(Select, (made, word, found, "lane", masks[word])))
            found = made
            made += 1
        self.made = made
        if len(self.steps) > MOST_STEPS:
            raise SizeError(
                f"a conversion of more than {MOST_STEPS} steps: convert a smaller part of the tensor at a time"
            )
        return found

    def exchange(self, from_lane: NDArray[np.int64], from_register: NDArray[np.int64], cells: int) -> list[int]:
        """The destination's words: `from_lane` and `from_register` say where each is, `[lane, word]`."""
        lanes, count = from_lane.shape
        wanted: dict[tuple[int, int], dict[int, list[int]]] = {}  # (lane, register): who wants it, and where
        taken = np.full((lanes, count, cells), -1, np.int64)
        for lane, (sources, registers) in enumerate(zip(from_lane.tolist(), from_register.tolist(), strict=True)):
            for slot, (source, register) in enumerate(zip(sources, registers, strict=True)):
                if source == lane:
                    taken[lane, slot] = [register * cells + i for i in range(cells)]
                else:
                    wanted.setdefault((source, register), {}).setdefault(lane, []).append(slot)
        for round_ in rounds(lanes, {item: list(receivers) for item, receivers in wanted.items()}):
            moved = [(source, lane, register) for source, register, lane in round_]
            pattern = list(range(lanes))
            for source, lane, _ in moved:
                pattern[lane] = source
            for i in range(cells):
                sent = [-1] * lanes
                for source, _, register in moved:
                    sent[source] = register * cells + i
                word = self.choose(sent)
                arrived = self._add(Shuffle(self.made, word, tuple(pattern)))
                for source, lane, register in moved:
                    for slot in wanted[source, register][lane]:
                        taken[lane, slot, i] = arrived
        return [self.choose(taken[:, slot, i].tolist()) for slot in range(count) for i in range(cells)]


def rounds(lanes: int, wanted: dict[tuple[int, int], list[int]]) -> list[list[tuple[int, int, int]]]:
    """Who receives which word in which round: (sender, register, receiver).

    A sender has one word in a round, which may go to several lanes. Where no word is wanted twice, these are matchings;
    otherwise the words that most lanes want go first, if that takes fewer rounds.

    Raises `SizeError` for more than 2^13 words.

    >>> rounds(3, {(0, 0): [1, 2], (1, 0): [0]})
    [[(0, 0, 1), (0, 0, 2), (1, 0, 0)]]
    """
    count = sum(map(len, wanted.values()))
    if count > MOST_WORDS:
        raise SizeError(
            f"{count} words to schedule between {lanes} lanes: at most {MOST_WORDS}; convert a part at a time"
        )
    waiting: dict[tuple[int, int], list[int]] = {}
    for (source, register), receivers in wanted.items():
        for lane in receivers:
            waiting.setdefault((source, lane), []).append(register)
    one_by_one = matchings(lanes, {pair: len(registers) for pair, registers in waiting.items()})
    found = [[(source, waiting[source, lane].pop(), lane) for source, lane in matching] for matching in one_by_one]
    if count == len(wanted) or len(wanted) * len(found) > _MOST_WEIGHED:
        return found
    shared = _shared_rounds(lanes, wanted)
    return shared if len(shared) < len(found) else found


def _shared_rounds(lanes: int, wanted: dict[tuple[int, int], list[int]]) -> list[list[tuple[int, int, int]]]:
    """Rounds in which a word goes to all lanes that want it and get no other, the most wanted first."""
    left: dict[tuple[int, int], set[int]] = {item: set(receivers) for item, receivers in wanted.items()}
    found: list[list[tuple[int, int, int]]] = []
    while left:
        free, busy = set(range(lanes)), set[int]()
        round_: list[tuple[int, int, int]] = []
        for source, register in sorted(left, key=lambda item: (-len(left[item]), item)):
            receivers = left[source, register] & free
            if source in busy or not receivers:
                continue
            busy.add(source)
            free -= receivers
            left[source, register] -= receivers
            round_ += [(source, register, lane) for lane in sorted(receivers)]
        left = {item: receivers for item, receivers in left.items() if receivers}
        found.append(round_)
    return found


def matchings(lanes: int, edges: dict[tuple[int, int], int]) -> list[list[tuple[int, int]]]:
    """A bipartite multigraph as matchings, as many as its largest degree; `edges` counts those of each pair.

    >>> matchings(2, {(0, 1): 2, (1, 0): 1})
    [[(0, 1), (1, 0)], [(0, 1)]]
    """
    left: list[dict[int, int]] = [{} for _ in range(lanes)]
    out, into = [0] * lanes, [0] * lanes
    for (source, lane), number in edges.items():
        left[source][lane] = number
        out[source] += number
        into[lane] += number
    degree = max([*out, *into], default=0)
    # Edges to nowhere fill up every lane's degree, so that a perfect matching exists until all are gone.
    fill: list[dict[int, int]] = [{} for _ in range(lanes)]
    sender = receiver = 0
    while True:
        while sender < lanes and out[sender] == degree:
            sender += 1
        while receiver < lanes and into[receiver] == degree:
            receiver += 1
        if sender == lanes or receiver == lanes:
            break
        number = min(degree - out[sender], degree - into[receiver])
        fill[sender][receiver] = number
        out[sender] += number
        into[receiver] += number
    found: list[list[tuple[int, int]]] = []
    partner = [-1] * lanes  # of each receiver
    while degree:
        matched = set(partner)
        for source in range(lanes):
            if source not in matched and not _augment(source, left, fill, partner, set()):
                raise ConversionError("the exchange has no schedule: please report the two layouts")
        pairs = [(source, lane) for lane, source in enumerate(partner)]
        times = min(left[s].get(d, 0) + fill[s].get(d, 0) for s, d in pairs)
        for _ in range(times):
            round_: list[tuple[int, int]] = []
            for source, lane in pairs:
                if left[source].get(lane, 0):
                    left[source][lane] -= 1
                    round_.append((source, lane))
                else:
                    fill[source][lane] -= 1
            found.append(sorted(round_))
        degree -= times
        for source, lane in pairs:
            if not left[source].get(lane, 0) and not fill[source].get(lane, 0):
                left[source].pop(lane, None)
                fill[source].pop(lane, None)
                partner[lane] = -1
    return [round_ for round_ in found if round_]


def _augment(
    source: int, left: list[dict[int, int]], fill: list[dict[int, int]], partner: list[int], seen: set[int]
) -> bool:
    """Find a receiver for `source`, moving others if need be."""
    for lane in (*left[source], *fill[source]):
        if lane in seen or not left[source].get(lane, 0) + fill[source].get(lane, 0):
            continue
        seen.add(lane)
        if partner[lane] < 0 or _augment(partner[lane], left, fill, partner, seen):
            partner[lane] = source
            return True
    return False
