"""Exchanges by broadcasts: a shuffle for each word as it arrives, and no select before it.

Four lanes hold an element each, and all are to have all four: every lane reads lane 0, then lane 1, and so on. Who reads
which lane is the same everywhere, so these shuffles are broadcasts, and what arrives is the destination as it is:

>>> from layoutalg.conversion.program.steps import Select, Shuffle
>>> from layoutalg.conversion.strategies.tables import slot_tables
>>> tables = slot_tables(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg | replicas 4@lane"))
>>> found = broadcasts(*tables, 32)
>>> found.count(Shuffle), found.count(Select), [step.lanes for step in found.steps]
(4, 0, [(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)])

The exchange with the fewest shuffles takes 3 of them and 12 selects: a lane does not read itself. Here each shuffle sends one
register of the source, whatever the lane, and a lane that holds the element itself reads itself, unless that spoils a map
(`lane_maps`). So nothing is chosen before
the shuffles; after them, only in slots that some lanes fill from one register of the source and others from another.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD
from layoutalg.conversion.strategies.lane_maps import affine_through
from layoutalg.core.limits import MOST_BROADCASTS, MOST_SENT, MOST_STEPS

__all__ = ["broadcasts"]

Slots: TypeAlias = NDArray[np.int64]
Marks: TypeAlias = NDArray[np.bool_]
_NONE = 1 << 40


def broadcasts(source: Slots, destination: Slots, element_bits: int, most: int = MOST_BROADCASTS) -> Program | None:
    """The program for a conversion that stays in its subgroups, from `tables.slot_tables`; None where it is no way to go.

    That is where it would take more than `most` shuffles, or where subgroups would need shuffles of different registers.
    """
    parts = max(WORD // element_bits, 1)
    if _received(source, destination) > min(MOST_SENT, most) * parts:
        return None
    found = _Sources.of(source, destination)
    if found is None or found.shuffles > most * parts:
        return None
    if found.shuffles > MOST_SENT * parts and not _has_copies(destination):
        return None  # each shuffle then brings one lane its word, and there are cheaper ways for so many
    for together in (parts, 1) if parts > 1 else (1,):
        program = _program(source, found, destination.shape[2], element_bits, found.words(together), parts, most)
        if program is not None:
            return program
    return None


def _received(source: Slots, destination: Slots) -> int:
    """The elements that some lane has to read from others, where none stands in two slots of a side; 0 where they may."""
    if source.shape[0] != 1 or source.min(initial=0) < 0 or _has_copies(source) or _has_copies(destination):
        return 0
    holder = np.zeros(int(max(source.max(initial=0), destination.max(initial=0))) + 2, np.int64)
    numbers: Slots = np.arange(source.shape[1], dtype=np.int64).reshape(-1, 1)
    holder[source[0]] = numbers
    return int(((destination[0] >= 0) & (holder[destination[0]] != numbers)).sum(1).max(initial=0))


def _has_copies(slots: Slots) -> bool:
    """Whether some element stands in more than one slot of its subgroup."""
    ordered = np.sort(slots.reshape(len(slots), -1), axis=1)
    return bool(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any())


class _Sources:
    """Where each slot of the destination is read: a register, the same for all who want its element, and a lane."""

    def __init__(self, registers: Slots, lanes: Slots) -> None:
        self.registers, self.lanes = registers, lanes  # [sg, lane, slot], -1: nothing wanted

    @staticmethod
    def of(source: Slots, destination: Slots) -> _Sources | None:
        subgroups, lanes, count = source.shape
        size = int(max(source.max(initial=0), destination.max(initial=0))) + 1
        base = np.arange(subgroups, dtype=np.int64).reshape(-1, 1, 1) * size
        wanted = destination >= 0
        keys = np.where(wanted, base + destination, 0)
        held = source >= 0
        places = (base + source)[held]
        of_register = np.broadcast_to(np.arange(count, dtype=np.int64), source.shape)[held]
        of_lane = np.broadcast_to(np.arange(lanes, dtype=np.int64).reshape(-1, 1), source.shape)[held]
        registers = np.full(subgroups * size, _NONE)
        np.minimum.at(registers, places, of_register)
        register = np.where(wanted, registers[keys], -1)
        if (register == _NONE).any():
            return None
        chosen = of_register == registers[places]
        lowest = np.full(subgroups * size, _NONE)
        np.minimum.at(lowest, places[chosen], of_lane[chosen])
        lane = np.where(wanted, lowest[keys], -1)
        own = np.take_along_axis(source, np.maximum(register, 0), 2) == destination
        numbers = np.arange(lanes, dtype=np.int64).reshape(1, -1, 1)
        # One lane for all, where there is one and some lane needs it; else the own lane, where it has the element.
        alike = (np.where(wanted, lane, lane.max(1, keepdims=True)) == lane.max(1, keepdims=True)).all((0, 1))
        alike &= ~(own | ~wanted).all((0, 1))
        return _Sources(register, _by_maps(np.where(own & wanted & ~alike, numbers, lane), lane, register))

    @property
    def shuffles(self) -> int:
        """The shuffles that read each register from as many lanes as some lane needs, unless registers share words."""
        _, lanes, _ = self.registers.shape
        here = np.arange(lanes, dtype=np.int64).reshape(-1, 1)
        read = (self.registers >= 0) & (self.lanes != here)
        registers = np.unique(((self.registers * lanes + here) * lanes + self.lanes)[read]) // lanes
        readers, counts = np.unique(registers, return_counts=True)
        most = np.zeros(int(self.registers.max(initial=0)) + 1, np.int64)
        np.maximum.at(most, readers // lanes, counts)
        return int(most.sum())

    def words(self, parts: int) -> list[tuple[int, ...]]:
        """The registers of the source in each word: those that the same lanes read from the same lanes."""
        columns: dict[int, set[bytes]] = {}
        for slot in range(self.registers.shape[2]):
            registers, lanes = self.registers[..., slot], self.lanes[..., slot]
            for register in np.unique(registers[registers >= 0]).tolist():
                pattern = np.where(registers == register, lanes, -1)
                columns.setdefault(register, set()).add(pattern.tobytes())
        alike: dict[frozenset[bytes], list[int]] = {}
        for register in sorted(columns):
            alike.setdefault(frozenset(columns[register]), []).append(register)
        found = [tuple(several[i : i + parts]) for several in alike.values() for i in range(0, len(several), parts)]
        return sorted(found)


def _by_maps(own: Slots, lowest: Slots, registers: Slots) -> Slots:
    """The lanes to read, `own` or in some slots `lowest`: where only the latter are an affine map of the lane's number.

    A lane that reads itself, while others read across, may be the only exception of a map.
    """
    numbers: Slots = np.arange(own.shape[1], dtype=np.int64).reshape(-1, 1)
    differ: Marks = np.any(own != lowest, axis=(0, 1))
    crossing: Marks = np.any((own >= 0) & (own != numbers), axis=(0, 1))
    found = own.copy()
    for slot in np.flatnonzero(differ & crossing).tolist():
        for register in np.unique(registers[..., slot]).tolist():
            where = registers[..., slot] == register
            first, second = (np.where(where, one[..., slot], -1) for one in (own, lowest))
            if register >= 0 and not _is_affine(first) and _is_affine(second):
                found[..., slot] = np.where(where, lowest[..., slot], found[..., slot])
    return found


def _is_affine(pattern: Slots) -> bool:
    return all(affine_through(tuple(row)) is not None for row in pattern.tolist())


def _program(
    source: Slots, found: _Sources, slots: int, element_bits: int, words: list[tuple[int, ...]], parts: int, most: int
) -> Program | None:
    subgroups, lanes, registers = source.shape
    cells = 2 if element_bits > WORD else 1
    word_of, part_of = np.zeros(registers + 1, np.int64), np.zeros(registers + 1, np.int64)
    word_of[-1] = part_of[-1] = -1
    for number, several in enumerate(words):
        word_of[list(several)] = number
        part_of[list(several)] = np.arange(len(several))
    word, part = word_of[found.registers], part_of[found.registers]
    top = part.max((0, 1))
    if ((part != top) & (part >= 0)).any():
        return None  # lanes would have the element in different parts of the word
    shuffles: list[tuple[int, Slots]] = []  # a word, and who reads it from whom
    by_slot: list[list[tuple[int, Marks]]] = []  # which shuffle each slot takes, and where
    of_word: dict[int, list[int]] = {}
    for slot in range(slots):
        takes: list[tuple[int, Marks]] = []
        for one in np.unique(word[..., slot]).tolist():
            if one < 0:
                continue
            where = word[..., slot] == one
            pattern = np.where(where, found.lanes[..., slot], -1)
            for number in of_word.setdefault(one, []):
                other = shuffles[number][1]
                if ((other == pattern) | (other < 0) | (pattern < 0)).all():
                    np.maximum(other, pattern, out=other)
                    break
            else:
                number = len(shuffles)
                of_word[one].append(number)
                shuffles.append((one, pattern))
                if number >= most:
                    return None
            takes.append((number, where))
        by_slot.append(takes)
    pack = [cell * cells + i for several in words for cell in several for i in range(cells)]
    if parts > 1:
        pack = [cell for several in words for cell in (*several, *[-1] * (parts - len(several)))]
    builder = Builder(subgroups, lanes, element_bits, pack, most=MOST_STEPS)
    arrived = [[_read(builder, one * cells + i, pattern) for i in range(cells)] for one, pattern in shuffles]
    unpack = [-1] * (slots * cells)
    chosen: dict[tuple[tuple[int, bytes], ...], list[int]] = {}
    for slot, takes in enumerate(by_slot):
        key = tuple((number, where.tobytes()) for number, where in takes)
        if key not in chosen:
            masks = [_mask(where) for _, where in takes]
            if None in masks:
                return None
            result = list(arrived[takes[0][0]]) if takes else []
            for (number, _), mask in zip(takes[1:], masks[1:], strict=True):
                result = [
                    builder.select(on, off, "lane", mask or 0) for on, off in zip(arrived[number], result, strict=True)
                ]
            chosen[key] = result
        for i, made in enumerate(chosen[key]):
            unpack[slot * cells + i] = made * parts + int(top[slot])
    return builder.program(registers, slots, unpack)


def _read(builder: Builder, word: int, pattern: Slots) -> int:
    """The word of other lanes, or the word itself where every lane reads its own."""
    own = np.arange(builder.lanes)
    if ((pattern == own) | (pattern < 0)).all():
        return word
    read = pattern[pattern >= 0]
    full = np.where(pattern < 0, read[0] if (read == read[0]).all() else own, pattern)
    if (pattern < 0).any():
        maps = [affine_through(tuple(row)) for row in pattern.tolist()]
        full = np.array([row if one is None else one for row, one in zip(full.tolist(), maps, strict=True)])
    rows: dict[tuple[int, ...], int] = {}
    for sg, row in enumerate(full.tolist()):
        rows[tuple(row)] = rows.get(tuple(row), 0) | 1 << sg
    (first, _), *others = rows.items()
    return builder.shuffle(word, first, others=tuple((mask, row) for row, mask in others))


def _mask(where: Marks) -> int | None:
    """The lanes as a mask, where all subgroups have the same."""
    return None if (where != where[0]).any() else sum(1 << lane for lane in np.flatnonzero(where[0]).tolist())
