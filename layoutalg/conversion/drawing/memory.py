"""Shared memory as a picture: banks as columns, a row for a word of each bank; who writes every word, and who reads it.

A step is the stores of a round, or its loads: a table says to which bank each lane comes first, and a sentence how many cycles
that takes; below it the memory. Colours are banks, as in every picture of memory; what waits for a bank is framed in red.

>>> from layoutalg.conversion.drawing.contents import contents_of
>>> from layoutalg.conversion.program.steps import Address, Barrier
>>> store, load = Store((0,), Address(xor=True, lane=(32,))), Load((1,), Address(32, xor=True, lane=(32,)))
>>> swap = Program(1, 2, 32, 1, 1, pack=(0,), steps=(store, Barrier(), load), unpack=(1,), slm_bytes=256)
>>> side = Side(swap, contents_of(swap), [store])
>>> side.cycles(), [cell.sentence for cell in side.panels(str)[-1].cells][32]
([2], 'byte 128, bank 0: 1, written by lane 1 from register 0; waits for its bank')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.contents import Contents
from layoutalg.conversion.drawing.exchange import numbers_text
from layoutalg.conversion.drawing.tables import RED, ROOM, cell_table, width_for
from layoutalg.conversion.program.matrices import matrix_access, matrix_bytes
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Load, Store, lane_bits
from layoutalg.core.banks import BANKS
from layoutalg.core.plurals import counted
from layoutalg.viz.colours import ramp
from layoutalg.viz.panels import PALE, Look, Panel, placed, stacked, told_panel
from layoutalg.viz.scene import CHARACTER
from layoutalg.viz.shapes import Cell, Line, Words

__all__ = ["FEW_ROWS", "Side", "bank_colour", "rounds_of"]

_BYTES = WORD // 8
_HIGH = 30.0
FEW_ROWS = 8
"""Rows of memory that are drawn in a strip of steps."""
_MOST_ACCESSES = 8
"""Stores or loads of a round that have a row of their own."""


def bank_colour(bank: int) -> str:
    """The colour of a bank, the same in every picture of memory."""
    return ramp(bank / (BANKS - 1))


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

    def parts(self, word: int) -> list[tuple[int, Owner | None]]:
        """The parts of a word of memory, low bytes first: how many bytes, and whose."""
        here = slice(word * _BYTES, (word + 1) * _BYTES)
        lanes = self.program.lanes
        keys = zip(self.owner[here].tolist(), self.word[here].tolist(), self.touched[here].tolist(), strict=True)
        return [
            (len(list(same)), None if key[0] < 0 else Owner(key[0] // lanes, key[0] % lanes, key[1], key[2] - 1))
            for key, same in groupby(keys)
        ]

    def registers(self, owner: Owner) -> str:
        """The registers that a lane stores from, or loads into."""
        if self.contents is None:
            return ""
        slots = self.contents.slots(owner.sg, owner.lane, owner.word)
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

    def panels(self, name: Callable[[int], str], rows: int = FEW_ROWS) -> list[Panel]:
        """The accesses, lane by lane, how long they take, and the memory's first rows; `name` is the element in a slot."""
        return [stacked([self._accesses(), told_panel("", self.told_cycles())], 4), self._memory(name, rows)]

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
            which = f"{what} {first + 1}" if count == 1 else f"{what}s {first + 1} to {first + count}, each"
            cycles = [ways for _, ways in phases]
            meet = f"up to {max(cycles)} words of one bank meet" if max(cycles) > 1 else "no two words meet in a bank"
            parts = counted(len(phases), "phase") + f" of {counted(phases[0][0], 'lane')}"
            sums = f" ({' + '.join(map(str, cycles))})" if 1 < len(cycles) <= _MOST_ACCESSES else ""
            told.append(f"{which}{of}: {parts}, {counted(sum(cycles), 'cycle')}{sums}: {meet}")
            first += count
        return told[:_MOST_ACCESSES] + [f"and {counted(len(told) - _MOST_ACCESSES, 'more kind')}"] * (
            len(told) > _MOST_ACCESSES
        )

    def _accesses(self) -> Panel:
        """A row for each access, a column for each lane of the subgroup that waits longest: the bank it comes to first."""
        sg, lanes = -self.worst[2], self.program.lanes
        what = "store" if self.stores else "load"
        which = f", subgroup {sg}" if self.program.subgroups > 1 else ""
        found: list[dict[int, Look]] = []
        ruled: set[int] = set()
        for index, step in enumerate(self.steps[:_MOST_ACCESSES]):
            row: dict[int, Look] = {}
            for phase, (served, columns) in enumerate(self.phases(step, sg)):
                if phase and served and step.matrix != "block":
                    ruled.add(served[0])
                for bank, words in columns.items():
                    for word, coming in words.items():
                        for lane in coming:
                            row[lane] = _came(
                                row.get(lane), lane, bank, word, len(words), f"{what} {index + 1}, phase {phase}"
                            )
            found.append(row)
        title = f"the bank that each lane comes to first{which}"
        rows = [(f"{what} {index + 1}", index) for index in range(len(found))]
        panel = cell_table(
            title, "lane", range(lanes), rows, lambda row, lane: found[row].get(lane), (width_for(2), 17), sorted(ruled)
        )
        more = len(self.steps) - len(found)
        return stacked([panel, told_panel("", [f"and {counted(more, f'more {what}')}"])], 2) if more else panel

    def _memory(self, name: Callable[[int], str], most: int) -> Panel:
        """The words of memory: what each holds, and who writes or reads it."""
        rows = min(-(-self.program.slm_bytes // (BANKS * _BYTES)), most)
        inside = self.program.slm_bytes + _BYTES - 1
        words = {
            word: [(size, owner, self._labels(size, owner, name)) for size, owner in self.parts(word)]
            for word in range(rows * BANKS)
            if (word + 1) * _BYTES <= inside
        }
        texts = [(size, text) for parts in words.values() for size, _, labels in parts for text in labels]
        wide = width_for(max((len(text) * _BYTES // size for size, text in texts), default=1))
        left = max(len("bank"), len(f"byte {(rows - 1) * BANKS * _BYTES}")) * CHARACTER + 8
        across = BANKS
        while left + across * wide > ROOM and across > 1:
            across //= 2
        rows = min(rows, max(most * across // BANKS * 2, most // 2))
        strips = [
            self._strip(words, range(first, first + across), rows, wide, left, name)
            for first in range(0, BANKS, across)
        ]
        verb = "writes" if self.stores else "reads"
        who = "subgroup:lane" if self.program.subgroups > 1 else "lane"
        named = any(
            label and below == self._lane(owner) for parts in words.values() for _, owner, (label, below) in parts
        )
        told = (
            f"below each element the {who} that {verb} it"
            if named
            else f"the {who} that {verb} each word, or part of one"
        )
        panels = [told_panel(f"the memory: {told}", []), *strips]
        left_out = -(-self.program.slm_bytes // (BANKS * _BYTES)) - rows
        if left_out:
            panels.append(told_panel("", [f"and {counted(left_out, 'more row')} of {BANKS} words"]))
        return stacked(panels, 4)

    def _strip(
        self,
        words: dict[int, list[tuple[int, Owner | None, tuple[str, str]]]],
        banks: range,
        rows: int,
        wide: float,
        left: float,
        name: Callable[[int], str],
    ) -> Panel:
        """Some banks side by side, with all their rows."""
        texts = [Words(0, 12, "bank", 11)]
        texts += [Words(left + (i + 0.5) * wide, 12, str(bank), 11, "middle") for i, bank in enumerate(banks)]
        cells: list[Cell] = []
        lines: list[Line] = []
        for row in range(rows):
            y = 16 + row * _HIGH
            texts.append(Words(0, y + 19, f"byte {row * BANKS * _BYTES}", 11))
            for column, bank in enumerate(banks):
                word, x = row * BANKS + bank, left + column * wide
                for size, owner, (label, below) in words.get(word, ()):
                    part = wide * size / _BYTES
                    at = f"byte {word * _BYTES}, bank {bank}: "
                    if owner is None:
                        look = Look(PALE, "", at + "nothing")
                    else:
                        slot = self._slot(owner)
                        told = at + (f"{name(slot)}, " if slot is not None else "") + self.told(owner)
                        waits = word in self.red
                        look = Look(bank_colour(bank), label, told + "; waits for its bank" * waits, below, RED * waits)
                    cell, inside, frame = placed(x, y, part, _HIGH, look)
                    cells.append(cell)
                    texts += inside
                    lines += frame
                    x += part
        return Panel(tuple(cells), tuple(texts), tuple(lines), left + len(banks) * wide, 16 + rows * _HIGH)

    def _slot(self, owner: Owner) -> int | None:
        """The slot of the one element in a word; None where it has several, or too many are to be followed."""
        if self.contents is None:
            return None
        slots = self.contents.slots(owner.sg, owner.lane, owner.word)
        return slots[0] if len(slots) == 1 else None

    def _lane(self, owner: Owner | None) -> str:
        """A lane, with its subgroup where there are several."""
        if owner is None:
            return ""
        return f"{owner.sg}:{owner.lane}" if self.program.subgroups > 1 else str(owner.lane)

    def _labels(self, size: int, owner: Owner | None, name: Callable[[int], str]) -> tuple[str, str]:
        """The label of a part of a word: its element over its lane, or its lane over its registers."""
        if owner is None:
            return "", ""
        lane = self._lane(owner)
        slot = self._slot(owner)
        if slot is not None and size == _BYTES:
            return name(slot), lane
        registers = self.registers(owner) if size == _BYTES else ""
        return (lane, f"r{registers}") if registers else (lane, "")


def _came(before: Look | None, lane: int, bank: int, word: int, ways: int, access: str) -> Look:
    """A lane that comes to a bank: the first one is its label, all are told, and it is red where it waits for any."""
    edge = RED if ways > 1 or (before is not None and before.edge) else ""
    if before is not None:
        return Look(before.fill, before.label, f"{before.sentence}, {bank} (word {word})", edge=edge)
    return Look(bank_colour(bank), str(bank), f"{access}: lane {lane} comes to bank {bank} (word {word})", edge=edge)
