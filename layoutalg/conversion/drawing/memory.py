"""Shared memory as a picture: banks as columns, a row for a word of each bank; who writes every word, and who reads it.

Below it the store and the load that wait longest: which lanes come to which bank, phase by phase; words that meet in a bank
are framed in red.

>>> from layoutalg.conversion.drawing.contents import contents_of
>>> from layoutalg.conversion.program.steps import Address
>>> store, load = Store((0,), Address(xor=True, lane=(32,))), Load((1,), Address(32, xor=True, lane=(32,)))
>>> swap = Program(1, 2, 32, 1, 1, pack=(0,), steps=(store, Barrier(), load), unpack=(1,), slm_bytes=256)
>>> page = Page("")
>>> draw_memory(page, swap, contents_of(swap), [["#000000", "#ffffff"]])
>>> "bank 0: written by lane 1 from register 0" in page.svg(), RED in page.svg()
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.contents import Contents
from layoutalg.conversion.drawing.exchange import numbers_text
from layoutalg.conversion.drawing.page import MARGIN, RED, WIDEST, Page, side_by_side
from layoutalg.conversion.program.matrices import matrix_access, matrix_bytes
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Barrier, Load, Store, lane_bits
from layoutalg.core.banks import BANKS
from layoutalg.core.limits import MOST_MEMORY_ROWS, MOST_PHASES
from layoutalg.core.plurals import counted

__all__ = ["draw_memory"]

_LEFT, _ROW, _LINE = 92, 29, 18
_ROOM = WIDEST - 2 * MARGIN - _LEFT
_EMPTY, _BYTES = "#f2f2f2", WORD // 8


def draw_memory(page: Page, program: Program, contents: Contents | None, fills: Sequence[Sequence[str]]) -> None:
    """The memory of one round of a program, and the accesses that wait longest."""
    rounds = _rounds(program)
    if not rounds:
        return
    stores = [step for step in rounds[0] if isinstance(step, Store)]
    loads = [step for step in rounds[0] if isinstance(step, Load)]
    sides = [_Side(program, contents, steps) for steps in (stores, loads)]
    rows = -(-program.slm_bytes // (BANKS * _BYTES))
    page.line(
        f"shared memory: {counted(program.slm_bytes, 'byte')}, {BANKS} banks of {_BYTES} bytes; "
        + ("all words at once" if len(rounds) == 1 else f"the same places in {len(rounds)} rounds, the first is drawn")
        + f"; {counted(program.count(Barrier), 'barrier')}",
        bold=True,
    )
    if len(fills) > 1:
        page.y += 6
        page.text(MARGIN, page.y + 13, "subgroup")
        for sg, row in enumerate(fills[:12]):
            page.cell(_LEFT + sg * 30, page.y, 30, 18, row[-1], str(sg))
        if len(fills) > 12:
            page.text(_LEFT + 12 * 30 + 4, page.y + 13, f"and {len(fills) - 12} more")
        page.y += 18
    for side, verb in zip(sides, ("written by lane, from register", "read by lane, into register"), strict=True):
        _draw_words(page, side, verb, min(rows, MOST_MEMORY_ROWS), fills)
        if rows > MOST_MEMORY_ROWS:
            page.line(f"and {counted(rows - MOST_MEMORY_ROWS, 'more row')} of {BANKS} words")
    for side in sides:
        side.draw_worst(page, fills)


def _rounds(program: Program) -> list[list[Store | Load]]:
    """The accesses, round by round: a round ends where a store follows a load."""
    found: list[list[Store | Load]] = []
    for step in program.steps:
        if isinstance(step, (Store, Load)):
            if not found or (isinstance(step, Store) and isinstance(found[-1][-1], Load)):
                found.append([])
            found[-1].append(step)
    return found


@dataclass(frozen=True, slots=True)
class _Owner:
    """Who touches a part of a word: the subgroup, the lane, its word; and how many others do."""

    sg: int
    lane: int
    word: int
    others: int


class _Side:
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

    def parts(self, word: int) -> list[tuple[int, _Owner | None]]:
        """The parts of a word of memory, low bytes first: how many bytes, and whose."""
        here = slice(word * _BYTES, (word + 1) * _BYTES)
        lanes = self.program.lanes
        keys = zip(self.owner[here].tolist(), self.word[here].tolist(), self.touched[here].tolist(), strict=True)
        return [
            (len(list(same)), None if key[0] < 0 else _Owner(key[0] // lanes, key[0] % lanes, key[1], key[2] - 1))
            for key, same in groupby(keys)
        ]

    def registers(self, owner: _Owner) -> str:
        """The registers that a lane stores from, or loads into."""
        if self.contents is None:
            return ""
        slots = self.contents.slots(owner.sg, owner.lane, owner.word)
        if self.stores:
            return numbers_text(slot % self.program.source_registers for slot in slots)
        final = self.contents.registers[owner.sg, owner.lane].tolist()
        return numbers_text(register for register, slot in enumerate(final) if slot in slots)

    def told(self, owner: _Owner) -> str:
        which = f"subgroup {owner.sg}, " if self.program.subgroups > 1 else ""
        registers = self.registers(owner)
        verb = ("written by", "from") if self.stores else ("read by", "into")
        more = f", and {counted(owner.others, 'other lane')}" if owner.others else ""
        return f"{verb[0]} {which}lane {owner.lane}{f' {verb[1]} register {registers}' if registers else ''}{more}"

    def draw_worst(self, page: Page, fills: Sequence[Sequence[str]]) -> None:
        """The access that waits longest: the lanes that come to each bank, phase by phase."""
        if not self.steps:
            return
        ways, index, sg = self.worst[0], -self.worst[1], -self.worst[2]
        step, what = self.steps[index], "store" if self.stores else "load"
        count = counted(
            len(step.words if isinstance(step, Store) else step.to), "word" if step.bits == WORD else "part"
        )
        phases = list(self.phases(step, sg))
        waits = (
            "no two lanes come to a bank for different words"
            if ways == 1
            else f"{ways} words of a bank, one after another"
        )
        which = f" of subgroup {sg}" if self.program.subgroups > 1 else ""
        page.line(f"{what} {index + 1} of {len(self.steps)}{which}, {count} per lane: {waits}", bold=True)
        page.y += 6
        for lanes, columns in phases[:MOST_PHASES]:
            page.line(f"lanes {numbers_text(lanes)}")
            texts = [numbers_text(served) for found in columns.values() for served in found.values()]
            for banks, wide in _chunks(max(map(len, texts), default=1)):
                if not any(bank in columns for bank in banks):
                    continue
                _number_banks(page, banks, wide)
                for column, bank in enumerate(banks):
                    found = columns.get(bank, {})
                    for level, (word, served) in enumerate(sorted(found.items())):
                        page.cell(
                            _LEFT + column * wide,
                            page.y + level * _LINE,
                            wide,
                            _LINE,
                            fills[sg][served[0]],
                            numbers_text(served),
                            title=f"bank {bank}, row {word // BANKS}: lanes {numbers_text(served)}",
                            edge=RED if len(found) > 1 else "",
                        )
                page.y += max(len(columns.get(bank, {})) for bank in banks) * _LINE + 3
        if len(phases) > MOST_PHASES:
            page.line(f"and {counted(len(phases) - MOST_PHASES, 'more phase')}")


def _chunks(longest: int) -> list[tuple[range, float]]:
    """The banks that stand side by side where a cell has so many letters, and how wide each is."""
    across, wide = side_by_side(BANKS, longest, _LEFT, _ROOM / 16)
    return [(range(first, first + across), wide) for first in range(0, BANKS, across)]


def _number_banks(page: Page, banks: range, wide: float) -> None:
    page.text(MARGIN, page.y + 14, "bank")
    for column, bank in enumerate(banks):
        page.text(_LEFT + (column + 0.5) * wide, page.y + 14, str(bank), anchor="middle")
    page.y += 18


def _draw_words(page: Page, side: _Side, verb: str, rows: int, fills: Sequence[Sequence[str]]) -> None:
    page.line(verb + (": words that wait for their bank in red" if side.red else ""))
    inside = side.program.slm_bytes + _BYTES - 1
    words = [
        []
        if (word + 1) * _BYTES > inside
        else [(size, owner, _lines(side, size, owner)) for size, owner in side.parts(word)]
        for word in range(rows * BANKS)
    ]
    longest = max(
        (len(text) * _BYTES // size for parts in words for size, _, lines in parts for text in lines), default=1
    )
    for banks, wide in _chunks(longest):
        _number_banks(page, banks, wide)
        for row in range(rows):
            page.text(MARGIN, page.y + 17, f"byte {row * BANKS * _BYTES}")
            for column, bank in enumerate(banks):
                word = row * BANKS + bank
                x = _LEFT + column * wide
                for size, owner, lines in words[word]:
                    if owner is None:
                        page.cell(x, page.y, wide * size / _BYTES, _ROW, _EMPTY, title=f"bank {bank}: nothing")
                    else:
                        told = f"byte {word * _BYTES}, bank {bank}: {side.told(owner)}"
                        edge = RED if word in side.red else ""
                        fill = fills[owner.sg][owner.lane]
                        page.cell(x, page.y, wide * size / _BYTES, _ROW, fill, *lines, title=told, edge=edge)
                    x += wide * size / _BYTES
            page.y += _ROW


def _lines(side: _Side, size: int, owner: _Owner | None) -> tuple[str, ...]:
    """The label of a part of a word: its lane, and of a whole word its registers."""
    if owner is None:
        return ()
    registers = side.registers(owner) if size == _BYTES else ""
    return (str(owner.lane), f"r{registers}") if registers else (str(owner.lane),)
