"""Exchanges within a subgroup by tables: for digits that have no bits in common, such as 3 lanes against 2 registers.

Every slot of the destination is looked up in the source (the own lane first, then the nearest replica); who sends what to
whom in which shuffle is scheduled (conversion.schedule). Three lanes that turn their registers:

>>> from layoutalg.conversion.program import Shuffle
>>> from layoutalg.core.layout import Layout
>>> source, destination = Layout.parse("d0 = 3@reg, d1 = 3@lane"), Layout.parse("d0 = 3@lane, d1 = 3@reg")
>>> tables = slot_tables(source, destination)
>>> found = exchange_by_table(*tables, 32)
>>> found.count(Shuffle), fewest_by_table(*tables, 32)
(2, 2)

Which word a lane sends, and where it puts what arrives, is picked by selects: one for each bit of the lane's number, shared
by all words that are turned alike (240 registers of 15 lanes: 1,920 selects where one for each further word would be 6,496).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count, islice, repeat
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.bits import bit_mask
from layoutalg.conversion.program import MOST_STEPS, NEW, WORD, Program, Select, Shuffle, Step
from layoutalg.conversion.schedule import Items, rounds
from layoutalg.core.errors import SizeError
from layoutalg.core.fragments import fragment_map
from layoutalg.core.layout import Layout

__all__ = ["exchange_by_table", "fewest_by_table", "slot_tables", "stays_by_table"]

MOST_SLOTS = 2**20
"""Slots (subgroups x lanes x registers) of a conversion that is planned by tables."""

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
        self._extend((step,))
        return self.made - 1

    def _extend(self, steps: Iterable[Step]) -> None:
        before = len(self.steps)
        self.steps += islice(steps, MOST_STEPS + 1 - before)
        self.made += len(self.steps) - before
        if len(self.steps) > MOST_STEPS:
            raise SizeError(
                f"a conversion of more than {MOST_STEPS} steps: convert a smaller part of the tensor at a time"
            )

    def select(self, on: int, off: int, axis: str, mask: int) -> int:
        return on if on == off else self._add(Select(self.made, on, off, axis, mask))

    def choose(self, table: Slots) -> list[int]:
        """For each row `[lane]` of a table of words, the word that has in each lane what the row says there (-1: any)."""
        ordered = np.sort(table, axis=1)
        distinct = (np.diff(ordered, axis=1, prepend=-1) != 0).sum(axis=1)
        few = distinct <= 2
        nodes, chosen = self._tree(table[~few])
        if sum(len(level) for level in nodes) > int((distinct[~few] - 1).sum()):
            few[:], nodes, chosen = True, [], table[:0, 0]
        found = np.full(len(table), -1, np.int64)
        found[~few] = chosen
        for bit, level in enumerate(nodes):
            mask = bit_mask(self.lanes, bit)
            off, on = level.T.tolist()
            self._extend(
                NEW(Select, step) for step in zip(count(self.made), on, off, repeat("lane"), repeat(mask), strict=False)
            )
        found[few] = [self._chain(row) for row in table[few].tolist()]
        return found.tolist()

    def _tree(self, table: Slots) -> tuple[list[Slots], Slots]:
        """A select for each bit of the lane, shared by the rows: the pairs (off, on) of each bit, and each row's last word.

        Rows that are turned by their lanes share nearly all of it: n rows take n selects for each bit.
        """
        made = self.made
        width = (table.shape[1] - 1).bit_length()
        table = np.pad(table, ((0, 0), (0, (1 << width) - table.shape[1])), constant_values=-1)
        nodes: list[Slots] = []
        for _ in range(width):
            off, on = table[:, 0::2], table[:, 1::2]
            differ = (off >= 0) & (on >= 0) & (off != on)
            keys, places = np.unique(off[differ] << 32 | on[differ], return_inverse=True)
            pairs = np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)
            table = np.maximum(off, on)
            for half, other, number in ((off, on, 0), (on, off, 1)):
                # Where one half may be anything, a pair that is needed elsewhere will do.
                whole = (half >= 0) & (other < 0)
                table[whole] = _of_pairs(pairs[:, number], half[whole], made)
            table[differ] = made + places.reshape(-1)
            nodes.append(pairs)
            made += len(keys)
        return nodes, table[:, 0]

    def _chain(self, row: list[int]) -> int:
        """The word of a row by a select for each further word of it."""
        masks: dict[int, int] = {}
        for lane, word in enumerate(row):
            if word >= 0:
                masks[word] = masks.get(word, 0) | 1 << lane
        first, *others = sorted(masks, key=lambda word: -masks[word].bit_count())
        for word in others:
            first = self.select(word, first, "lane", masks[word])
        return first

    def exchange(self, from_lane: Slots, from_register: Slots, cells: int) -> list[int]:
        """The destination's words: `from_lane` and `from_register` say where each is, `[lane, word]`.

        What lanes keep is taken as it is, or picked by lane first as what they send is: whichever has fewer steps.
        """
        sent = _Sent.of(from_lane, from_register)
        first, made = len(self.steps), self.made
        ways: list[tuple[list[Step], list[int]]] = []
        for kept in (sent.keeps & False, sent.keeps):
            words = self._exchanged(sent, kept, from_register, cells)
            ways.append((self.steps[first:], words))
            del self.steps[first:]
            self.made = made
        steps, words = min(ways, key=lambda way: len(way[0]))
        self._extend(steps)
        return words

    def _exchanged(self, sent: _Sent, kept: NDArray[np.bool_], from_register: Slots, cells: int) -> list[int]:
        """One way of an exchange: `kept` says which of the words that lanes keep are picked by lane, `[lane, word]`."""
        picked, ranks = _kept(from_register, kept)
        rows = np.concatenate([sent.rows, picked])
        found = np.zeros((len(sent.schedule) + len(picked), cells), np.int64)
        arrived = np.zeros((sent.items, cells), np.int64)
        for i in range(cells):
            found[:, i] = self.choose(np.where(rows < 0, -1, rows * cells + i))
            for word, pattern, items in zip(found[:, i].tolist(), sent.patterns, sent.schedule, strict=False):
                arrived[items, i] = self._add(Shuffle(self.made, word, pattern))
        taken = from_register[..., None] * cells + np.arange(cells)
        taken[~sent.keeps] = arrived[sent.places]
        taken[kept] = found[len(sent.schedule) + ranks]
        return self.choose(taken.transpose(1, 2, 0).reshape(-1, from_register.shape[0]))


def _of_pairs(firsts: Slots, words: Slots, made: int) -> Slots:
    """For each word the number of a pair that has it (pairs count from `made`), or the word itself."""
    order = _order(firsts)
    places = np.minimum(_place(firsts[order], words, "left"), max(len(firsts) - 1, 0))
    return np.where(firsts[order][places] == words, made + order[places], words) if len(firsts) else words


class _Sent(NamedTuple):
    """What an exchange sends, and in which rounds."""

    keeps: NDArray[np.bool_]
    """Which slots are filled from their own lane, `[lane, word]`."""
    places: Slots
    """The item of every other slot, row by row."""
    items: int
    schedule: list[list[int]]
    """The items of each round."""
    patterns: list[tuple[int, ...]]
    """The lane that each lane hears in each round."""
    rows: Slots
    """The register that each lane sends in each round (-1: none), `[round, lane]`."""

    @staticmethod
    def of(from_lane: Slots, from_register: Slots) -> _Sent:
        lanes, registers = len(from_lane), int(from_register.max(initial=0)) + 1
        here = np.arange(lanes).reshape(-1, 1)
        keeps = from_lane == here
        # What moves, once for each lane that wants it, however many of its registers are to hold it.
        keys, places = np.unique(((from_lane * lanes + here) * registers + from_register)[~keeps], return_inverse=True)
        pairs, register = np.divmod(keys, registers)
        items = Items(*(part.tolist() for part in (*np.divmod(pairs, lanes), register)))
        schedule = rounds(lanes, items)
        patterns: list[tuple[int, ...]] = []
        rows = np.full((len(schedule), lanes), -1, np.int64)
        for row, round_ in zip(rows, schedule, strict=True):
            pattern = list(range(lanes))
            for item in round_:
                pattern[items.receivers[item]] = items.senders[item]
                row[items.senders[item]] = items.registers[item]
            patterns.append(tuple(pattern))
        return _Sent(keeps, places.reshape(-1), len(keys), schedule, patterns, rows)


def _kept(from_register: Slots, own: NDArray[np.bool_]) -> tuple[Slots, Slots]:
    """The registers of each lane that it keeps, as rows `[row, lane]` (-1: none), and the row of each that is `own`."""
    lanes, registers = len(own), int(from_register.max(initial=0)) + 1
    keys, places = np.unique((np.arange(lanes).reshape(-1, 1) * registers + from_register)[own], return_inverse=True)
    lane, register = np.divmod(keys, registers)
    rank = np.arange(len(keys)) - np.searchsorted(lane, lane)
    rows = np.full((int(rank.max(initial=-1)) + 1, lanes), -1, np.int64)
    rows[rank, lane] = register
    return rows, rank[places.reshape(-1)]
