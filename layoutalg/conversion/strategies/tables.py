"""Exchanges within a subgroup by tables: for factors that have no bits in common, such as 3 lanes against 2 registers.

Every slot of the destination is looked up in the source (the own lane first, then the nearest replica). Elements that travel
together share words (`packing`); who sends which word to whom in which shuffle is scheduled (`program.schedule`).
Three lanes that rotate their registers:

>>> from layoutalg.conversion.program.steps import Shuffle
>>> source, destination = Layout.parse("d0 = 3@reg, d1 = 3@lane"), Layout.parse("d0 = 3@lane, d1 = 3@reg")
>>> tables = slot_tables(source, destination)
>>> found = exchange_by_table(*tables, 32)
>>> found.count(Shuffle)
2

Which word a lane sends, and where it puts what arrives, is picked by selects: one for each bit of the lane's number, shared
by all words that are rotated alike (240 registers of 15 lanes: 1,920 selects where one for each further word would be 6,496).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.schedule import Items, rounds, spread
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.choosing import Slots, choose, ordered, places_of
from layoutalg.conversion.strategies.packing import Packed, pack_slots
from layoutalg.core.errors import SizeError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_SLOTS, MOST_STEPS
from layoutalg.core.limits import MOST_SLOTS_TRIED as _MOST_COMPARED
from layoutalg.memory.accesses import held_elements

_FEW = 4
"""Elements for each slot, up to which a mark is made for each."""

__all__ = ["Slots", "Unwritten", "exchange_by_table", "origins", "slot_tables", "stays_by_table"]


def slot_tables(source: Layout, destination: Layout) -> tuple[Slots, Slots]:
    """Which element is in each slot, before and after.

    Raises `SizeError` for more than 2^20 slots, `LayoutError` where a slot holds several elements.
    """
    found: list[Slots] = []
    for layout in (source, destination):
        count = 1
        for axis in layout.codomain:
            span: Any = layout.axes.get(axis, 1)
            count *= span + layout.offsets.get(axis, 0)
        if count > MOST_SLOTS:
            raise SizeError(f"{count} slots: a conversion by tables has at most 2^20 (layout {layout})")
        held = held_elements(layout)  # from the first subgroup on, and from lane 0 on
        found.append(np.pad(held, ((layout.offsets.get("sg", 0), 0), (0, 0), (0, 0)), constant_values=-1))
    if found[0].shape[:2] == found[1].shape[:2]:
        return found[0], found[1]
    most = np.max([slots.shape[:2] for slots in found], axis=0)  # what a layout leaves empty at the end
    sizes = [most - slots.shape[:2] for slots in found]
    padded = [
        np.pad(slots, ((0, size[0]), (0, size[1]), (0, 0)), constant_values=-1)
        for slots, size in zip(found, sizes, strict=True)
    ]
    return padded[0], padded[1]


def stays_by_table(source: Slots, destination: Slots) -> bool:
    """Whether every subgroup already has all elements that it needs."""
    size = int(max(source.max(initial=0), destination.max(initial=0))) + 2
    if size > _FEW * source.size:
        return all(
            not np.setdiff1d(after[after >= 0], before).size for before, after in zip(source, destination, strict=True)
        )
    held = np.zeros((len(source), size), bool)
    held[:, -1] = True  # what is wanted by none is number -1
    here = np.arange(len(source)).reshape(-1, 1, 1)
    held[here, source] = True
    return bool(held[here, destination].all())


def exchange_by_table(source: Slots, destination: Slots, element_bits: int) -> Program:
    """The program for a conversion that stays in its subgroups (`stays_by_table`).

    Subgroups whose tables differ share the shuffles, each reading lanes of its own.

    Raises `SizeError` for a program of more than 2^16 steps.
    """
    return Unwritten.of(source, destination, element_bits).program()


class Unwritten(NamedTuple):
    """The program of `exchange_by_table` before its steps are written: how many shuffles and selects it has is known.

    >>> tables = slot_tables(Layout.parse("d0 = 3@reg, d1 = 3@lane"), Layout.parse("d0 = 3@lane, d1 = 3@reg"))
    >>> found = Unwritten.of(*tables, 32)
    >>> found.counts, [type(step).__name__ for step in found.program().steps].count("Select")
    ((2, 10), 10)
    """

    builder: Builder
    registers: tuple[int, int]
    unpack: list[int]
    names: list[int]
    """What the builder's words are called (`Builder.named`)."""

    @property
    def counts(self) -> tuple[int, int]:
        """The shuffles, and the selects by lane."""
        return self.builder.counts(self.names)

    def program(self) -> Program:
        """The program, with its steps."""
        return self.builder.named_program(*self.registers, self.unpack, self.names)

    @staticmethod
    def of(source: Slots, destination: Slots, element_bits: int) -> Unwritten:
        """The exchange of two tables (see `exchange_by_table`)."""
        return _exchanged(source, destination, element_bits)


def _exchanged(source: Slots, destination: Slots, element_bits: int) -> Unwritten:
    subgroups, lanes, registers = source.shape
    cells = 2 if element_bits > WORD else 1
    parts = max(WORD // element_bits, 1)
    packed, kinds = _scheduled(source, destination, parts)
    pack = [cell * cells + i for word in packed.words for cell in word for i in range(cells)]
    if parts > 1:
        pack = [cell for word in packed.words for cell in (*word, *[-1] * (parts - len(word)))]
    gathers = (False, True) if any(kind.keeps.any() for kind in kinds) else (False,)
    ways = [_Exchange(Builder(subgroups, lanes, element_bits, pack, most=MOST_STEPS)) for _ in gathers]
    found = [way.words(kinds, cells, gather=gather) for way, gather in zip(ways, gathers, strict=True)]
    builder, words = min(zip((way.builder for way in ways), found, strict=True), key=lambda one: one[0].next_word)
    unpack = [0] * (destination.shape[2] * cells)
    for slots, first in zip(packed.slots, range(0, len(words), cells), strict=True):
        for part, slot in enumerate(slots):
            for i in range(cells):
                unpack[slot * cells + i] = words[first + i] * parts + part
    return Unwritten(builder, (registers, destination.shape[2]), unpack, builder.named(unpack))


def _scheduled(source: Slots, destination: Slots, parts: int) -> tuple[Packed, list[_Sent]]:
    """The words of an exchange, and each kind of subgroup's schedule: of the choices of copies the one of fewest rounds."""
    found: list[tuple[int, Packed, list[_Sent]]] = []
    for choice in _CHOICES:
        tables = _kinds_of(source, destination, choice)
        if tables is None:
            break
        from_lane, from_register = (np.stack([table[i] for table in tables[1]]) for i in (0, 1))
        packed = pack_slots(from_lane, from_register, source.shape[2], parts)
        kinds = [_Sent.of(*kind) for kind in zip(tables[0], packed.lanes, packed.words_of, strict=True)]
        found.append((max(len(kind.patterns) for kind in kinds), packed, kinds))
        if all(len(kind.patterns) <= kind.received for kind in kinds):
            break
    return min(found, key=lambda one: one[0])[1:]


_CHOICES: tuple[Literal["near", "each", "once"], ...] = ("near", "each", "once")
"""How copies are chosen: by distance; the senders of each wish balanced; each element from one lane, these balanced."""


@overload
def _kinds_of(source: Slots, destination: Slots) -> tuple[list[int], list[tuple[Slots, Slots]]]: ...
@overload
def _kinds_of(
    source: Slots, destination: Slots, choice: Literal["near", "each", "once"]
) -> tuple[list[int], list[tuple[Slots, Slots]]] | None: ...
def _kinds_of(
    source: Slots, destination: Slots, choice: Literal["near", "each", "once"] = "near"
) -> tuple[list[int], list[tuple[Slots, Slots]]] | None:
    """The lane and register that each destination slot is taken from, once for all subgroups (a mask) that are alike.

    Of several copies, `choice` says which: the "near" ones; those that make the busiest lane send least if "each" wish is sent
    for itself, or if each element is sent "once" for all. None where there is no choice.
    """
    masks: dict[bytes, int] = {}
    tables: list[tuple[Slots, Slots]] = []
    for sg, (before, after) in enumerate(zip(source, destination, strict=True)):
        chosen = _chosen(before, after, choice)
        if chosen is None:
            return None
        key = chosen[0].tobytes() + chosen[1].tobytes()
        if key not in masks:
            tables.append(chosen)
        masks[key] = masks.get(key, 0) | 1 << sg
    return list(masks.values()), tables


def origins(source: Slots, destination: Slots) -> tuple[Slots, Slots] | None:
    """The lane and register that each destination slot is taken from, `[lane, slot]`, where all subgroups are alike, else None.

    The lane is -1 for slots that hold nothing.

    >>> lanes, registers = origins(*slot_tables(Layout.parse("d0 = 2@lane"), Layout.parse("d0 = 2@reg | replicas 2@lane")))
    >>> lanes.tolist(), registers.tolist()
    ([[0, 1], [0, 1]], [[0, 0], [0, 0]])
    """
    masks, tables = _kinds_of(source, destination)
    if len(masks) > 1:
        return None
    lane, register = tables[0]
    return np.where(destination[0] < 0, -1, lane), register


def _chosen(before: Slots, after: Slots, choice: Literal["near", "each", "once"]) -> tuple[Slots, Slots] | None:
    """The lane and register that each destination slot is taken from: its own lane where that has the element.

    Of several other lanes that have it, those are taken that make the busiest lane send least.
    """
    lanes, registers = len(before), int(before.shape[1])
    here = np.arange(lanes, dtype=np.int64).reshape(-1, 1)
    flat = before.reshape(-1)
    order = ordered(flat)  # by element, then by lane; what a lane holds twice counts once
    held = flat[order] * lanes + order // registers
    order = order[np.append(True, held[1:] != held[:-1])] if len(order) else order
    first, last = places_of(flat[order], after, "left"), places_of(flat[order], after, "right")
    known, copies = (last > first) & (after >= 0), np.maximum(last - first, 1)
    size = int(max(before.max(initial=0), after.max(initial=0))) + 2
    keys = (here * size + before + 1).reshape(-1)
    by_lane = ordered(keys)
    wanted = here * size + after + 1
    own = by_lane[np.minimum(places_of(keys[by_lane], wanted, "left"), len(keys) - 1)]
    stays = (keys[own] == wanted) | ~known
    if choice != "near":
        if copies.max() == 1 or after.size > _MOST_COMPARED:
            return None
        pick = _balanced(order, np.where(stays, -1, first), copies, registers, lanes, once=choice == "once")
        pick = np.where(stays, here * registers + own % registers, pick)
        return pick // registers, np.where(known, pick % registers, 0)
    tried: list[tuple[int, Slots]] = []
    for neighbours in (1, 2, 4, 8, 16) if copies.max() > 1 and after.size <= _MOST_COMPARED else (1,):
        pick = order[np.where(known, first + here // neighbours % copies, 0)]
        pick = np.where(stays, here * registers + own % registers, pick)
        sent = np.unique(pick[~stays]) // registers
        tried.append((int(np.bincount(sent).max(initial=0)), pick))
    _, pick = min(tried, key=lambda one: one[0])
    return pick // registers, np.where(known, pick % registers, 0)


def _balanced(order: Slots, first: Slots, copies: Slots, registers: int, lanes: int, *, once: bool) -> Slots:
    """The place that each slot `[lane, slot]` is taken from, so that the busiest lane sends least (0 where nothing is).

    `first` is where the places of its element begin in `order` (-1: nothing is taken), `copies` how many there are.
    """
    here = np.broadcast_to(np.arange(lanes, dtype=np.int64).reshape(-1, 1), first.shape)
    wished = first >= 0
    keys = first[wished] if once else first[wished] * lanes + here[wished]
    unique, places = np.unique(keys, return_inverse=True)
    begins = unique if once else unique // lanes
    count = np.zeros(int(first.max(initial=0)) + 1, np.int64)
    count[first[wished]] = copies[wished]
    # Wishes whose elements the same lanes hold are one kind.
    kinds: dict[tuple[int, ...], list[int]] = {}
    for number, begin in enumerate(begins.tolist()):
        holders = tuple((order[begin : begin + int(count[begin])] // registers).tolist())
        kinds.setdefault(holders, []).append(number)
    holders, sizes = [list(one) for one in kinds], [len(several) for several in kinds.values()]
    low, high = -(-len(unique) // lanes), len(unique)
    shown = spread(holders, sizes, lanes, high)
    while low < high:
        middle = (low + high) // 2
        found = spread(holders, sizes, lanes, middle)
        if found is None:
            low = middle + 1
        else:
            high, shown = middle, found
    chosen = np.zeros(len(unique), np.int64)
    for kind, (lanes_of, several) in enumerate(kinds.items()):
        given = [
            number for number, lane in enumerate(lanes_of) for _ in range(shown[lane].get(kind, 0) if shown else 0)
        ]
        chosen[several] = given
    pick = np.zeros(first.shape, np.int64)
    pick[wished] = order[(begins + chosen)[places.reshape(-1)]]
    return pick


class _Exchange:
    """One way to exchange words: what each lane sends, what arrives, and what each lane makes of it."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.lanes = builder, builder.lanes

    def words(self, kinds: list[_Sent], cells: int, *, gather: bool) -> list[int]:
        """The destination's words; with `gather`, words that lanes keep are picked by lane like those that they send."""
        taken = [kind.from_word[..., None] * cells + np.arange(cells) for kind in kinds]
        sent: list[list[list[int]]] = []  # by kind, cell and round
        for kind, words in zip(kinds, taken, strict=True):
            picked, ranks = _kept(kind.from_word, kind.keeps & gather)
            rows = np.concatenate([kind.rows, picked])
            chosen = [choose(self.builder, np.where(rows < 0, -1, rows * cells + i)) for i in range(cells)]
            if gather:
                words[kind.keeps] = np.array(chosen, np.int64).T[len(kind.rows) + ranks]
            sent.append(chosen)
        arrived = self._shuffled(kinds, sent, cells)
        found: list[list[int]] = []
        for kind, words in zip(kinds, taken, strict=True):
            words[~kind.keeps] = arrived[kind.rounds]
            found.append(choose(self.builder, words.transpose(1, 2, 0).reshape(-1, len(words))))
        if len(found) == 1:
            return found[0]
        masks = [kind.mask for kind in kinds]
        return [self._by_kind(list(zip(masks, words, strict=True))) for words in zip(*found, strict=True)]

    def _shuffled(self, kinds: list[_Sent], sent: list[list[list[int]]], cells: int) -> Slots:
        """What arrives in each round, `[round, cell]`: what each kind of subgroup has `sent`, by cell and round."""
        number = max(len(kind.patterns) for kind in kinds)
        arrived: list[int] = []
        if len(kinds) == 1:
            for lanes, *words in zip(kinds[0].patterns, *sent[0], strict=False):
                arrived += [self.builder.shuffle(word, lanes) for word in words]
            return np.array(arrived, np.int64).reshape(number, cells)
        for round_ in range(number):
            busy = [k for k, kind in enumerate(kinds) if round_ < len(kind.patterns)]
            lanes, *patterns = (kinds[k].patterns[round_] for k in busy)
            others = [
                (kinds[k].mask, pattern) for k, pattern in zip(busy[1:], patterns, strict=True) if pattern != lanes
            ]
            for i in range(cells):
                word = self._by_kind([(kinds[k].mask, sent[k][i][round_]) for k in busy])
                arrived.append(self.builder.shuffle(word, lanes, others=tuple(others)))
        return np.array(arrived, np.int64).reshape(number, cells)

    def _by_kind(self, words: list[tuple[int, int]]) -> int:
        """The word that is, in the subgroups of each mask, the word beside it."""
        found = words[0][1]
        for mask, word in words[1:]:
            found = self.builder.select(word, found, "sg", mask)
        return found


class _Sent(NamedTuple):
    """What a kind of subgroup sends, and in which rounds."""

    mask: int
    """The subgroups."""
    from_word: Slots
    """The word that each slot is taken from, `[lane, word]`."""
    keeps: NDArray[np.bool_]
    """Which slots are filled from their own lane, `[lane, word]`."""
    rounds: Slots
    """In which round every other slot is filled, row by row."""
    patterns: list[tuple[int, ...]]
    """The lane that each lane hears in each round."""
    rows: Slots
    """The word that each lane sends in each round (-1: none), `[round, lane]`."""

    @property
    def received(self) -> int:
        """The words that the lane receives that receives most."""
        heard = np.array(self.patterns, np.int64).reshape(len(self.patterns), self.rows.shape[1])
        return int((heard != np.arange(heard.shape[1])).sum(0).max(initial=0))

    @staticmethod
    def of(mask: int, from_lane: Slots, from_word: Slots) -> _Sent:
        lanes, words = len(from_lane), int(from_word.max(initial=0)) + 1
        here = np.arange(lanes).reshape(-1, 1)
        keeps = from_lane == here
        # What moves, once for each lane that wants it, however many of its slots are to hold it.
        keys, places = np.unique(((from_lane * lanes + here) * words + from_word)[~keeps], return_inverse=True)
        pairs, word = np.divmod(keys, words)
        sender, receiver = np.divmod(pairs, lanes)
        schedule = rounds(lanes, Items(sender.tolist(), receiver.tolist(), word.tolist()))
        order = np.array([item for items in schedule for item in items], np.int64)
        of_item = np.zeros(len(keys), np.int64)
        of_item[order] = np.repeat(np.arange(len(schedule)), [len(items) for items in schedule])
        patterns = np.tile(np.arange(lanes), (len(schedule), 1))
        patterns[of_item, receiver] = sender
        rows = np.full((len(schedule), lanes), -1, np.int64)
        rows[of_item, sender] = word
        heard: list[list[int]] = patterns.tolist()
        return _Sent(mask, from_word, keeps, of_item[places.reshape(-1)], [tuple(row) for row in heard], rows)


def _kept(from_word: Slots, own: NDArray[np.bool_]) -> tuple[Slots, Slots]:
    """The words of each lane that it keeps, as rows `[row, lane]` (-1: none), and the row of each that is `own`."""
    lanes, words = len(own), int(from_word.max(initial=0)) + 1
    keys, places = np.unique((np.arange(lanes).reshape(-1, 1) * words + from_word)[own], return_inverse=True)
    lane, word = np.divmod(keys, words)
    rank = np.arange(len(keys)) - np.searchsorted(lane, lane)
    rows = np.full((int(rank.max(initial=-1)) + 1, lanes), -1, np.int64)
    rows[rank, lane] = word
    return rows, rank[places.reshape(-1)]
