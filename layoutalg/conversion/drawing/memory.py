"""Shared memory as a picture: banks as columns, a row for a word of each bank; who writes every word, and who reads it.

A cell is a part of a word: the element in it, below it the lane that reads (or writes) it, in the colour of the lane that the
element starts in. Rows that continue their neighbours evenly are dots, and columns where all are too
many. What waits for its bank is outlined in red.

>>> from layoutalg.conversion.drawing.contents import contents_of
>>> from layoutalg.conversion.program.steps import Address, Barrier
>>> store, load = Store((0,), Address(xor=True, lane=(32,))), Load((1,), Address(32, xor=True, lane=(32,)))
>>> swap = Program(1, 2, 32, 1, 1, pack=(0,), steps=(store, Barrier(), load), unpack=(1,), slm_bytes=256)
>>> memory = Memory(swap, contents_of(swap), [store, load], [["#000000", "#ffffff"]])
>>> memory.stores.cycles(), memory.panel(str, memory.loads, 8).cells[0].sentence       # two words of bank 0: two cycles
([2], 'byte 0, bank 0: 0, written by lane 0 from register 0, read by lane 1 into register 0; waits for its bank')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.contents import Contents
from layoutalg.conversion.drawing.exchange import numbers_text
from layoutalg.conversion.drawing.registers import Outlined
from layoutalg.conversion.drawing.tables import FRAME, RED, ROOM, cell_table, folded, width_for
from layoutalg.conversion.program.matrices import matrix_access, matrix_bytes
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Load, Store, lane_bits
from layoutalg.core.banks import BANKS
from layoutalg.core.plurals import counted
from layoutalg.viz.panels import PALE, Look, Panel, stacked, told_panel
from layoutalg.viz.scene import CHARACTER

__all__ = ["FEW_ROWS", "MOST_ACCESSES", "Memory", "Side", "rounds_of"]

_BYTES = WORD // 8
_HIGH = 30.0
FEW_ROWS = 6
"""Rows of memory that are drawn where all steps stand below one another."""
_MOST_STRIPS = 4
"""Strips of banks, one below the other, in which all are drawn; beyond, columns that go on evenly are dots."""
_MOST_READ = 256
"""Rows of memory that are read."""
_WAITS = "outlined in red: waits for its bank"
_RANK = 8
"""Coordinates of an element by which columns are found to go on evenly."""
MOST_ACCESSES = 8
"""Stores or loads of a round that have a row of their own."""


def rounds_of(program: Program) -> list[list[Store | Load]]:
    """The accesses, round by round: a round ends where a store follows a load."""
    found: list[list[Store | Load]] = []
    for step in program.steps:
        if isinstance(step, (Store, Load)):
            if not found or (isinstance(step, Store) and isinstance(found[-1][-1], Load)):
                found.append([])
            found[-1].append(step)
    return found


@dataclass(frozen=True, slots=True)
class Owner:
    """Who touches a part of a word: the subgroup, the lane, its word; and how many others do."""

    sg: int
    lane: int
    word: int
    others: int


class Side:
    """The stores of a round, or its loads."""

    def __init__(self, program: Program, contents: Contents | None, steps: Sequence[Store | Load]) -> None:
        self.program, self.contents, self.steps = program, contents, steps
        self.stores = bool(steps) and isinstance(steps[0], Store)
        self.owner = np.full(program.slm_bytes, -1, np.int64)
        self.word = np.full(program.slm_bytes, -1, np.int64)
        self.touched = np.zeros(program.slm_bytes, np.int64)
        self.red: set[int] = set()
        self.worst: tuple[int, int, int] = (1, 0, 0)  # ways, step, subgroup
        shape = program.subgroups, program.lanes
        numbers = np.arange(shape[0] * shape[1]).reshape(*shape, 1, 1)
        for index, step in enumerate(steps):
            at, active = self.bytes_of(step), self.active(step)
            words = np.array(step.words if isinstance(step, Store) else step.to).reshape(1, 1, -1, 1)
            for table, values in ((self.owner, numbers), (self.word, words)):
                table[at[active][::-1]] = np.broadcast_to(values, at.shape)[active][::-1]
            np.add.at(self.touched, at[active], 1)
            for sg in range(shape[0]):
                for _, columns in self.phases(step, sg):
                    ways = max(map(len, columns.values()), default=1)
                    self.red.update(word for found in columns.values() if len(found) > 1 for word in found)
                    self.worst = max(self.worst, (ways, -index, -sg))

    def bytes_of(self, step: Store | Load) -> NDArray[np.int64]:
        """The bytes that it touches: `[sg, lane, place, byte]`."""
        size, count = step.bits // 8, len(step.words if isinstance(step, Store) else step.to)
        at = step.address.of(np.arange(self.program.subgroups), np.arange(self.program.lanes))
        if step.matrix:
            return matrix_bytes(step.matrix, at * size, count, step.bits)
        return (at[..., None, None] + np.arange(count)[:, None]) * size + np.arange(size)

    def active(self, step: Store | Load) -> NDArray[np.bool_]:
        """The lanes that take part: `[sg, lane]`."""
        shape = self.program.subgroups, self.program.lanes
        if isinstance(step, Load) or step.where is None:
            return np.ones(shape, np.bool_)
        return np.stack([lane_bits(mask, shape[1]) for mask in step.where])

    def phases(self, step: Store | Load, sg: int) -> Iterator[tuple[list[int], dict[int, dict[int, list[int]]]]]:
        """The lanes of a subgroup that are served together, and for each bank the words they come for, with their lanes."""
        at, active = self.bytes_of(step)[sg], self.active(step)[sg]
        if step.matrix == "block":  # a line for each place of a lane
            for line in (at[:, i] // _BYTES for i in range(at.shape[1])):
                found: dict[int, dict[int, list[int]]] = {}
                for lane, word in enumerate(line[:, 0].tolist()):
                    found.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
                yield list(range(len(line))), found
            return
        if step.matrix:  # the banks serve rows, of the lanes that say where
            count, mask = matrix_access(step.matrix, at.shape[1], self.program.lanes)
            rows = step.address.of(np.arange(sg, sg + 1), np.arange(self.program.lanes))[0]
            at = ((rows[:, None] + np.arange(count)) * _BYTES)[..., None] + np.arange(_BYTES)
            active = lane_bits(mask, self.program.lanes)
        together = max(min(BANKS * _BYTES // max(at[0].size, 1), self.program.lanes), 1)
        for first in range(0, self.program.lanes, together):
            lanes = [lane for lane in range(first, min(first + together, self.program.lanes)) if active[lane]]
            columns: dict[int, dict[int, list[int]]] = {}
            for lane in lanes:
                for word in dict.fromkeys((at[lane] // _BYTES).reshape(-1).tolist()):
                    columns.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
            yield lanes, columns

    def key(self, byte: int) -> tuple[int, int, int]:
        """Who touches a byte, in numbers: the lane of all, its word, how many do."""
        return int(self.owner[byte]), int(self.word[byte]), int(self.touched[byte])

    def owner_of(self, key: tuple[int, int, int]) -> Owner | None:
        """Who it is; None for nobody."""
        lane, word, count = key
        return None if lane < 0 else Owner(*divmod(lane, self.program.lanes), word, count - 1)

    def slots(self, owner: Owner) -> list[int]:
        """The slots of the elements in the word of a lane; none where too many are to be followed."""
        return [] if self.contents is None else self.contents.slots(owner.sg, owner.lane, owner.word)

    def registers(self, owner: Owner) -> str:
        """The registers that a lane stores from, or loads into."""
        if self.contents is None:
            return ""
        slots = self.slots(owner)
        if self.stores:
            return numbers_text(slot % self.program.source_registers for slot in slots)
        final = self.contents.registers[owner.sg, owner.lane].tolist()
        return numbers_text(register for register, slot in enumerate(final) if slot in slots)

    def told(self, owner: Owner) -> str:
        """Who touches a part of a word, in words."""
        which = f"subgroup {owner.sg}, " if self.program.subgroups > 1 else ""
        registers = self.registers(owner)
        verb = ("written by", "from") if self.stores else ("read by", "into")
        more = f", and {counted(owner.others, 'other lane')}" if owner.others else ""
        return f"{verb[0]} {which}lane {owner.lane}{f' {verb[1]} register {registers}' if registers else ''}{more}"

    def cycles(self) -> list[int]:
        """The cycles of each access of the subgroup that waits longest, all phases together."""
        return [
            sum(max(map(len, columns.values()), default=1) for _, columns in self.phases(step, -self.worst[2]))
            for step in self.steps
        ]

    def told_cycles(self) -> list[str]:
        """How long each access takes, those that are alike together."""
        sg, what = -self.worst[2], "store" if self.stores else "load"
        of = f" of subgroup {sg}" if self.program.subgroups > 1 else ""
        told: list[str] = []
        first = 0
        alike = [
            tuple(
                [(len(lanes), max(map(len, columns.values()), default=1)) for lanes, columns in self.phases(step, sg)]
            )
            for step in self.steps
        ]
        for phases, group in groupby(alike):
            count = len(list(group))
            which = "the" if len(alike) == 1 else "each" if count == len(alike) else ""
            which = f"{which} {what}" if which else f"{what}s {first + 1} to {first + count}"
            cycles = [ways for _, ways in phases]
            meet = f"up to {max(cycles)} words of one bank meet" if max(cycles) > 1 else "no two words meet in a bank"
            parts = f", {counted(phases[0][0], 'lane')} at a time" if len(phases) > 1 else ""
            told.append(f"{which}{of} takes {counted(sum(cycles), 'cycle')}{parts}: {meet}")
            first += count
        return told[:MOST_ACCESSES] + [f"and {counted(len(told) - MOST_ACCESSES, 'more kind')}"] * (
            len(told) > MOST_ACCESSES
        )

    def accesses(self, fills: Sequence[Sequence[str]], most: int = MOST_ACCESSES) -> Panel:
        """A row for each access, a column for each lane of the subgroup that waits longest: the bank it comes to first."""
        sg, lanes = -self.worst[2], self.program.lanes
        what = "store" if self.stores else "load"
        which = f", subgroup {sg}" if self.program.subgroups > 1 else ""
        found: list[dict[int, Look]] = []
        ruled: set[int] = set()
        for index, step in enumerate(self.steps[:most]):
            row: dict[int, Look] = {}
            for phase, (served, columns) in enumerate(self.phases(step, sg)):
                access = f"{what} {index + 1}, phase {phase}"
                if phase and served and step.matrix != "block":
                    ruled.add(served[0])
                for bank, words in columns.items():
                    for word, coming in words.items():
                        for lane in coming:
                            row[lane] = _came(
                                row.get(lane),
                                fills[sg][lane],
                                lane,
                                bank,
                                word,
                                len(words),
                                access,
                            )
            found.append(row)
        title = f"the bank that each lane comes to first{which}"
        rows = [(f"{what} {index + 1}", index) for index in range(len(found))]
        panel = cell_table(
            title, "lane", range(lanes), rows, lambda row, lane: found[row].get(lane), (width_for(2), 17), sorted(ruled)
        )
        more = len(self.steps) - len(found)
        notes = [f"and {counted(more, f'more {what}')}"] * bool(more)
        notes += ["lines part the lanes that are served one after another"] * bool(ruled)
        notes += [_WAITS] * any(look.edge for row in found for look in row.values())
        return stacked([panel, told_panel("", notes)], 2) if notes else panel

    def lane(self, owner: Owner | None) -> str:
        """A lane, with its subgroup where there are several, and how many others."""
        if owner is None:
            return ""
        one = f"{owner.sg}/{owner.lane}" if self.program.subgroups > 1 else str(owner.lane)
        return f"{one}+{owner.others}" if owner.others else one

    def places(self, owner: Owner | None) -> list[int]:
        """Who it is, in numbers that go on evenly where lanes, subgroups and registers do; -1 for nobody."""
        if owner is None:
            return [-1] * 5
        first = self.registers(owner).split("-")[0].split(",")[0].split("\N{HORIZONTAL ELLIPSIS}")[0]
        return [owner.sg, owner.lane, owner.word, owner.others, int(first or -1)]


_NOTHING = Outlined()


class Part(NamedTuple):
    """Some bytes of a word of memory that one lane writes and one reads; the slots of the elements in them, and a label."""

    size: int
    writer: Owner | None
    reader: Owner | None
    slots: Sequence[int]


class Memory:
    """The stores and the loads of a round, and the memory between; `fills` has the colour of each lane of each subgroup.

    What is `outlined` has a line around it, where no word waits for its bank.
    """

    def __init__(
        self,
        program: Program,
        contents: Contents | None,
        steps: Sequence[Store | Load],
        fills: Sequence[Sequence[str]],
        outlined: Outlined = _NOTHING,
    ) -> None:
        self.program, self.contents, self.fills, self.outlined = program, contents, fills, outlined
        self.stores = Side(program, contents, [step for step in steps if isinstance(step, Store)])
        self.loads = Side(program, contents, [step for step in steps if isinstance(step, Load)])

    def parts(self, word: int) -> list[Part]:
        """The parts of a word, low bytes first."""
        keys = [self.stores.key(byte) + self.loads.key(byte) for byte in range(word * _BYTES, (word + 1) * _BYTES)]
        found: list[Part] = []
        for key, same in groupby(keys):
            writer, reader = self.stores.owner_of(key[:3]), self.loads.owner_of(key[3:])
            known = [side.slots(one) for side, one in ((self.stores, writer), (self.loads, reader)) if one is not None]
            found.append(Part(len(list(same)), writer, reader, min(filter(None, known), key=len, default=())))
        return found

    def panel(self, name: Callable[[int], str], side: Side, most: int) -> Panel:
        """The memory, at most so many rows; below each element the lane of a side. `name` is the element in a slot."""
        count = -(-self.program.slm_bytes // (BANKS * _BYTES))
        inside = (self.program.slm_bytes + _BYTES - 1) // _BYTES
        words = {word: self.parts(word) for word in range(min(count, _MOST_READ) * BANKS) if word < inside}
        told = np.array(
            [
                [self._numbers(words.get(row * BANKS + bank, ()), row * BANKS + bank, name) for bank in range(BANKS)]
                for row in range(min(count, _MOST_READ))
            ]
        )
        rows = folded(told, most)[:most]
        while rows[-1] is None:
            rows.pop()
        drawn = [row for row in rows if row is not None]
        labels = {
            (row, bank): [self._label(part, name, side) for part in words.get(row * BANKS + bank, ())]
            for row in drawn
            for bank in range(BANKS)
        }
        shown = [
            (part, pair)
            for (row, bank), some in labels.items()
            for part, pair in zip(words.get(row * BANKS + bank, ()), some, strict=True)
        ]
        sizes = [len(text) * _BYTES / part.size for part, pair in shown for text in pair]
        named = [("" if row is None else str(row * BANKS * _BYTES), row) for row in rows]
        wide, fits = _beside(ceil(max(sizes, default=1)), max(len(text) for text, _ in named))
        banks = range(BANKS) if fits else folded(told[drawn].swapaxes(0, 1))

        def looks(row: int, bank: int) -> Sequence[tuple[float, Look]]:
            word = row * BANKS + bank
            return [
                (part.size / _BYTES, self._look(part, word, bank, pair, name))
                for part, pair in zip(words.get(word, ()), labels[row, bank], strict=True)
            ]

        panel = cell_table("", "bank", banks, named, looks, (wide, _HIGH))
        left = count - drawn[-1] - 1
        notes = [f"and {counted(left, 'more row')} of {BANKS} words"] * bool(left)
        for place, what in enumerate(("element", "lane")):
            more = next((pair[place] for _, pair in shown if pair[1] and "+" in pair[place]), "")
            notes += [f"{more}: {what} {more.replace('+', ' and ')} more"] * bool(more)
        notes += [_WAITS] * any(self._waits(row * BANKS + bank) for row, bank in labels)
        notes += [f"outlined: what {self.outlined.words} gets"] * any(self._outlined(part) for part, _ in shown)
        notes += ["grey: no element is stored there"] * any(not part.slots for part, _ in shown)
        return stacked([panel, told_panel("", notes)], 4) if notes else panel

    def _numbers(self, parts: Sequence[Part], word: int, name: Callable[[int], str]) -> list[int]:
        """What is said of a word, in numbers that go on evenly where all that is drawn does."""
        found: list[int] = [len(parts), word in self.stores.red, word in self.loads.red]
        for part in parts:
            elements = [_coordinates(name(slot)) for slot in part.slots]
            found += [part.size, len(part.slots), *self.stores.places(part.writer), *self.loads.places(part.reader)]
            found += [x for one in (elements + [[]] * _BYTES)[:_BYTES] for x in (one + [-1] * _RANK)[:_RANK]]
        return found + [-1] * (3 + _BYTES * (12 + _BYTES * _RANK) - len(found))

    def _label(self, part: Part, name: Callable[[int], str], side: Side) -> tuple[str, str]:
        """The element of a part over a lane of a side; the lane alone where the part is a byte, or elements are not known."""
        lane = side.lane(part.writer if side is self.stores else part.reader)
        if not part.slots or part.size == 1:
            return lane, ""
        more = f"+{len(part.slots) - 1}" if len(part.slots) > 1 else ""
        return name(part.slots[0]) + more, lane

    def _waits(self, word: int) -> bool:
        return word in self.stores.red or word in self.loads.red

    def _outlined(self, part: Part) -> bool:
        return not self.stores.red and not self.loads.red and any(slot in self.outlined.slots for slot in part.slots)

    def _look(self, part: Part, word: int, bank: int, label: tuple[str, str], name: Callable[[int], str]) -> Look:
        at = f"byte {word * _BYTES}, bank {bank}: "
        told = [
            side.told(one) for side, one in ((self.stores, part.writer), (self.loads, part.reader)) if one is not None
        ]
        if not told:
            return Look(PALE, "", at + "nothing")
        waits = self._waits(word)
        elements = [" and ".join(map(name, part.slots))] * bool(part.slots)
        start = part.slots[0] // self.program.source_registers if part.slots else None
        fill = PALE if start is None else self.fills[start // self.program.lanes][start % self.program.lanes]
        sentence = at + ", ".join(elements + told) + "; waits for its bank" * waits
        edge = RED if waits else FRAME * self._outlined(part)
        return Look(fill, label[0], sentence, label[1], edge)


def _beside(longest: int, named: int) -> tuple[float, bool]:
    """How wide a word of memory is for so many letters, and whether all banks fit beside names of rows, in a few strips."""
    room = ROOM - max(named, len("bank")) * CHARACTER - 8
    for strips in (1, 2, _MOST_STRIPS):
        if longest * CHARACTER + 1.5 <= room * strips / BANKS:
            return min(width_for(longest) + 4, room * strips / BANKS), True
    return width_for(longest), False


def _coordinates(text: str) -> list[int]:
    """The numbers in the name of an element."""
    return [int(one) for one in text.split(",") if one.removeprefix("-").isdigit()]


def _came(before: Look | None, fill: str, lane: int, bank: int, word: int, ways: int, access: str) -> Look:
    """A lane that comes to a bank: the first one is its label, all are told, and it is red where it waits for any."""
    edge = RED if ways > 1 or (before is not None and before.edge) else ""
    if before is not None:
        return Look(before.fill, before.label, f"{before.sentence}, {bank} (word {word})", edge=edge)
    return Look(fill, str(bank), f"{access}: lane {lane} comes to bank {bank} (word {word})", edge=edge)
