"""Which elements share a word: those that every lane takes from one lane, always the same ones together.

Four elements of 8 bits in 12 lanes that change places, and rotate their registers: all four travel together:

>>> from_lane = np.tile((np.arange(12) * 5 % 12).reshape(1, 12, 1), (1, 1, 4))
>>> from_register = np.tile(np.array([0, 2, 1, 3]), (1, 12, 1))
>>> pack_slots(from_lane, from_register, registers=4, parts=4).words
[(0, 1, 2, 3)]
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.limits import MOST_PACKED as _MOST_TRIED

__all__ = ["Packed", "pack_slots"]

Slots: TypeAlias = NDArray[np.int64]


class Packed(NamedTuple):
    """The words of an exchange: the registers in each of the source, the slots in each of the destination.

    `lanes` and `words_of` say where the destination's words come from, `[kind of subgroup, lane, word]`.
    """

    words: list[tuple[int, ...]]
    slots: list[tuple[int, ...]]
    lanes: Slots
    words_of: Slots


def pack_slots(from_lane: Slots, from_register: Slots, registers: int, parts: int) -> Packed:
    """The words, of up to `parts` elements, of an exchange given as the source of each `[kind, lane, slot]`."""
    while parts > 1:
        found = _Packing(from_lane, from_register, parts).packed()
        if found is not None:
            return found
        parts //= 2
    slots = [(slot,) for slot in range(from_lane.shape[2])]
    return Packed([(register,) for register in range(registers)], slots, from_lane, from_register)


class _Packing:
    """The words as they are found; a register is in one word, always at the same place."""

    def __init__(self, from_lane: Slots, from_register: Slots, parts: int) -> None:
        self.from_lane, self.from_register, self.parts = from_lane, from_register, parts
        self.columns: list[list[int]] = np.unique(from_register.reshape(-1, from_register.shape[2]), axis=0).tolist()
        self.word_of: dict[int, tuple[int, ...]] = {}

    def packed(self) -> Packed | None:
        alike: dict[bytes, list[int]] = {}
        by_lane = self.from_lane.reshape(-1, self.from_lane.shape[2])
        for slot in range(by_lane.shape[1]):
            alike.setdefault(by_lane[:, slot].tobytes(), []).append(slot)
        groups: list[tuple[int, ...]] = []
        for slots in alike.values():
            slots.sort(key=lambda slot: (self.columns[0][slot], slot))
            slot_of = {self.columns[0][slot]: slot for slot in reversed(slots)}
            grouped: set[int] = set()
            for place, first in enumerate(slots):
                if first in grouped:
                    continue
                near = [slot for slot in slots[place + 1 : place + _MOST_TRIED + self.parts] if slot not in grouped]
                group = self._group(first, near, slot_of)
                if group is None or not grouped.isdisjoint(group):
                    return None
                groups.append(group)
                grouped.update(group)
        groups.sort()
        words = sorted(set(self.word_of.values()))
        number = {word: i for i, word in enumerate(words)}
        found = np.zeros(int(self.from_register.max(initial=0)) + 1, np.int64)
        for register, word in self.word_of.items():
            found[register] = number[word]
        firsts = [group[0] for group in groups]
        return Packed(words, groups, self.from_lane[..., firsts], found[self.from_register[..., firsts]])

    def _group(self, first: int, near: list[int], slot_of: dict[int, int]) -> tuple[int, ...] | None:
        """A slot and those that share a word with it, as many as there is room for: of some, or those that must."""
        word = self.word_of.get(self.columns[0][first])
        if word is not None:
            group = tuple(slot_of.get(register, -1) for register in word)
            if -1 in group or first not in group:
                return None
        else:
            group = (first,)
            for slot in near:
                if len(group) < self.parts and self._words((*group, slot)) is not None:
                    group = (*group, slot)
        words = self._words(group)
        if words is None:
            return None
        self.word_of |= {register: word for word in words for register in word}
        return group

    def _words(self, group: tuple[int, ...]) -> set[tuple[int, ...]] | None:
        """The registers that each lane takes for a group of slots; None where a register would be in two words."""
        rows = {tuple(row[slot] for slot in group) for row in self.columns}
        if len({register for row in rows for register in row}) < len(rows) * len(group):
            return None
        for row in rows:
            known = {self.word_of.get(register) for register in row}
            if known != {None} and known != {row}:
                return None
        return rows
