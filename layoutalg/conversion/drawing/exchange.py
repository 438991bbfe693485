"""An exchange in registers and lanes, drawn: what each register of each lane holds, and who gets which word from whom.

Shuffles of one kind are folded: of those in which lane l reads lane l XOR t the first is drawn with arrows, all of them as
rows of a table.

>>> steps = [Shuffle(t, 0, tuple(lane ^ t for lane in range(4))) for t in (1, 2, 3)]
>>> print(*families(Program(1, 4, 32, 1, 1, pack=(0,), steps=tuple(steps), unpack=(3,)), 0))
shuffles 1 to 3: lane l reads lane l XOR t, t = 1 to 3
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.contents import Contents, ShuffledSlots, carried_by
from layoutalg.conversion.drawing.page import BLACK, MARGIN, WIDEST, Page, side_by_side
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Regions, Shuffle, Store
from layoutalg.core.limits import MOST_DRAWN_REGISTERS, MOST_FAMILIES, MOST_STRIPS
from layoutalg.core.plurals import counted

__all__ = ["Family", "draw_exchange", "draw_registers", "families", "numbers_text"]

_LEFT, _BESIDE = 112, 34
_STRIP, _DROP, _ROW = 18, 40, 28
_EMPTY = "#f2f2f2"
_NAMES = {"Select": "select", "Permute": "byte permute", "LaneSwap": "lane swap"}


def numbers_text(numbers: Iterable[int]) -> str:
    """Numbers in few letters: runs by their ends, the first and the last of more than two runs.

    >>> numbers_text([0, 1, 2, 3, 8]), numbers_text([4, 5]), numbers_text([1, 17, 33])
    ('0-3,8', '4,5', '1…33')
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) > 2:
        return f"{runs[0][0]}…{runs[-1][-1]}"
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def draw_registers(
    page: Page,
    sides: Sequence[tuple[str, NDArray[np.int64]]],
    colour: Callable[[int], str],
    name: Callable[[int], str],
) -> None:
    """Tables of one subgroup's registers, `[lane, register]`, with the slot that each comes from."""
    lanes = len(sides[0][1])
    names = [name(int(slot)) for _, held in sides for slot in held[:, :MOST_DRAWN_REGISTERS].flat if slot >= 0]
    across, cell = side_by_side(lanes, max(map(len, names), default=1), _BESIDE)
    together = 2 * (_BESIDE + across * cell) + MARGIN <= WIDEST - 2 * MARGIN
    for first in range(0, lanes, across):
        chunk = range(first, min(first + across, lanes))
        which = f", lanes {chunk[0]} to {chunk[-1]}" if len(chunk) < lanes else ""
        top, x, bottom = page.y, float(MARGIN), page.y
        for title, held in sides:
            y = (top if together else bottom) + 18
            page.text(x, y, title + which, bold=True)
            y += 5
            for column, lane in enumerate(chunk):
                page.text(x + _BESIDE + (column + 0.5) * cell, y + 11, str(lane), anchor="middle")
            y += 14
            for register in range(min(held.shape[1], MOST_DRAWN_REGISTERS)):
                page.text(x + _BESIDE - 4, y + 12, f"r{register}", anchor="end")
                for column, lane in enumerate(chunk):
                    slot = int(held[lane, register])
                    words = name(slot) if slot >= 0 else "nothing"
                    told = f"{title}: lane {lane}, register {register}: {words}"
                    fill, label = (colour(slot), words) if slot >= 0 else (_EMPTY, "")
                    page.cell(x + _BESIDE + column * cell, y, cell, 16, fill, label, title=told)
                y += 16
            if held.shape[1] > MOST_DRAWN_REGISTERS:
                page.text(x + _BESIDE, y + 12, f"and {counted(held.shape[1] - MOST_DRAWN_REGISTERS, 'more register')}")
                y += 14
            bottom = max(bottom, y)
            x += (_BESIDE + across * cell + MARGIN) * together
        page.y = bottom + 6


@dataclass(frozen=True, slots=True)
class Family:
    """Shuffles one after another that are alike: "xor", "turn", "broadcast", or "same" (one pattern, XOR a number).

    >>> str(Family("xor", 0, ((1, 0),), (1,), ""))
    'shuffle 1: lane l reads lane l XOR 1'
    """

    kind: str
    first: int
    patterns: tuple[tuple[int, ...], ...]
    terms: tuple[int, ...]
    work: str
    """What is executed before them and between them."""

    def __str__(self) -> str:
        count = len(self.patterns)
        which = f"shuffle {self.first + 1}" if count == 1 else f"shuffles {self.first + 1} to {self.first + count}"
        several = len(set(self.terms)) > 1
        rule = {
            "xor": f"lane l reads lane l XOR {'t' if several else self.terms[0]}",
            "turn": f"lane l reads lane l + {'t' if several else self.terms[0]} (mod {len(self.patterns[0])})",
            "broadcast": f"all lanes read lane {'t' if several else self.terms[0]}",
            "same": ("as drawn" if count == 1 else "all as drawn") + ", with the lanes that are read XOR t" * several,
        }[self.kind]
        terms = ""
        if several:
            runs = list(self.terms) == list(range(self.terms[0], self.terms[0] + count))
            terms = f", t = {self.terms[0]} to {self.terms[-1]}" if runs else f", t = {', '.join(map(str, self.terms))}"
        return f"{which}: {rule}{terms}{self.work and f'; before and between them {self.work}'}"


def families(program: Program, sg: int) -> list[Family]:
    """The shuffles of one subgroup, folded."""
    found: list[tuple[str, list[tuple[int, ...]], list[int], Counter[str]]] = []
    between: Counter[str] = Counter()
    for step in program.steps:
        if not isinstance(step, Shuffle):
            if not isinstance(step, (Store, Load, Barrier)):
                between[type(step).__name__] += 1
            continue
        pattern = tuple(step.sources(program.subgroups)[sg].tolist())
        kind, term = _kind(pattern)
        if found and kind == found[-1][0] == "same":
            apart = {one ^ other for one, other in zip(pattern, found[-1][1][0], strict=True)}
            kind, term = (kind, apart.pop()) if len(apart) == 1 else ("other", 0)
        if found and found[-1][0] == kind:
            found[-1][1].append(pattern)
            found[-1][2].append(term)
            found[-1][3].update(between)
        else:
            kind = "same" if kind == "other" else kind
            found.append((kind, [pattern], [term], between.copy()))
        between.clear()
    first = 0
    families: list[Family] = []
    for kind, patterns, terms, work in found:
        families.append(Family(kind, first, tuple(patterns), tuple(terms), _work(work)))
        first += len(patterns)
    return families


def _work(counts: Counter[str]) -> str:
    return ", ".join(counted(number, _NAMES.get(name, f"{name.lower()} move")) for name, number in counts.items())


def _kind(pattern: tuple[int, ...]) -> tuple[str, int]:
    lanes = len(pattern)
    if len(terms := {lane ^ source for lane, source in enumerate(pattern)}) == 1:
        return "xor", terms.pop()
    if len(set(pattern)) == 1:
        return "broadcast", pattern[0]
    if len(terms := {(source - lane) % lanes for lane, source in enumerate(pattern)}) == 1:
        return "turn", terms.pop()
    return "same", 0


def draw_exchange(
    page: Page, program: Program, contents: Contents | None, sg: int, fills: Sequence[str], name: Callable[[int], str]
) -> None:
    """The shuffles of one subgroup: each family's first with arrows, all of them as a table; then what is left."""
    found = families(program, sg)
    if not found:
        _draw_rest(page, program, "no shuffles, but")
        return
    labels = _Labels(program, contents, sg, name)
    rows = MOST_STRIPS
    for family in found[:MOST_FAMILIES]:
        page.line(str(family), bold=True)
        page.y += 6
        _arrows(page, family, labels, fills)
        shown = family.patterns[: max(rows, 0)]
        rows -= len(shown)
        if shown:
            _table(page, family, len(shown), labels, fills)
        if len(family.patterns) > max(len(shown), 1):
            page.line(f"and {counted(len(family.patterns) - max(len(shown), 1), 'more shuffle')} of this kind")
        page.y += 6
    left = sum(len(family.patterns) for family in found[MOST_FAMILIES:])
    if left:
        page.line(f"and {counted(left, 'more shuffle')}, in {counted(len(found) - MOST_FAMILIES, 'more kind')}")
    if labels.passes:
        page.line("framed: the word also has elements that a later shuffle takes on to another lane (several hops)")
    if labels.known:
        page.line(
            "5 above 3→7: a word of lane 5 with what was register 3 (of that lane, or of one before it) and becomes register 7"
        )
    _draw_rest(page, program, "then")


def _draw_rest(page: Page, program: Program, word: str) -> None:
    """What is done after the last shuffle."""
    after = Counter[str]()
    for step in program.steps:
        if isinstance(step, Shuffle):
            after.clear()
        elif isinstance(step, Regions):
            after["Region"] += len(step.moves)
        elif not isinstance(step, (Store, Load, Barrier)):
            after[type(step).__name__] += 1
    if after:
        page.line(f"{word} {_work(after)}")


class _Labels:
    """What is written in the cells of a shuffle."""

    def __init__(self, program: Program, contents: Contents | None, sg: int, name: Callable[[int], str]) -> None:
        self.registers, self.name, self.base = program.source_registers, name, sg * program.lanes
        self.known = contents is not None
        self.carried = [] if contents is None else carried_by(program, contents, sg)
        self.passes = any(one.passes for row in self.carried for one in row)
        self.final: list[dict[int, int]] = []
        if contents is not None:
            rows: list[list[int]] = contents.registers[sg].tolist()
            self.final = [{slot: register for register, slot in reversed(list(enumerate(row)))} for row in rows]

    def of(self, shuffle: int, lane: int) -> ShuffledSlots | None:
        return self.carried[shuffle][lane] if self.known else None

    def sent(self, one: ShuffledSlots | None) -> str:
        return numbers_text(slot % self.registers for slot in (*one.keeps, *one.passes)) if one else ""

    def kept(self, one: ShuffledSlots | None, lane: int) -> str:
        return numbers_text(self.final[lane][slot] for slot in one.keeps) if one else ""

    def title(self, one: ShuffledSlots | None, lane: int, source: int) -> str:
        told = [f"lane {lane} reads lane {source}"]
        if one is not None:
            told += [f"{self._from(slot)} into register {self.final[lane][slot]}" for slot in one.keeps]
            told += [f"{self._from(slot)} on its way" for slot in one.passes]
        return "; ".join(told)

    def _from(self, slot: int) -> str:
        lane, register = divmod(slot, self.registers)
        return f"{self.name(slot)} of lane {lane - self.base}, register {register}"


def _arrows(page: Page, family: Family, labels: _Labels, fills: Sequence[str]) -> None:
    """One shuffle: the lanes that send above, those that receive below, an arrow for each word that moves."""
    pattern, lanes = family.patterns[0], len(fills)
    wide = min((WIDEST - 2 * MARGIN - _LEFT) / lanes, 40)
    page.text(MARGIN, page.y + 13, "lane sends")
    page.text(MARGIN, page.y + _STRIP + _DROP + 13, "lane gets")
    for lane, source in enumerate(pattern):
        x = _LEFT + lane * wide
        one = labels.of(family.first, lane)
        page.cell(x, page.y, wide, _STRIP, fills[lane], str(lane))
        edge = BLACK if one and one.passes else ""
        told = labels.title(one, lane, source)
        page.cell(x, page.y + _STRIP + _DROP, wide, _STRIP, fills[source], str(lane), title=told, edge=edge)
        if source != lane and (one is None or one.keeps or one.passes):
            start, end = _LEFT + (source + 0.5) * wide - 0.5, x + wide / 2 - 0.5
            low, high = page.y + _STRIP + 1, page.y + _STRIP + _DROP - 2
            bend = f"M{start:.1f} {low:.1f}C{start:.1f} {low + 18:.1f} {end:.1f} {high - 18:.1f} {end:.1f} {high:.1f}"
            page.path(f"{bend}m-3 -5l3 5l3 -5", fills[source] if _is_dark(fills[source]) else "#555555")
    page.y += 2 * _STRIP + _DROP + 4


def _table(page: Page, family: Family, count: int, labels: _Labels, fills: Sequence[str]) -> None:
    """A row for each shuffle, a column for each lane: the lane that it reads, and which register becomes which."""
    moves: list[list[tuple[str, str]]] = []
    for i in range(count):
        row: list[tuple[str, str]] = []
        for lane, source in enumerate(family.patterns[i]):
            one = labels.of(family.first + i, lane)
            idle = source == lane or (one is not None and not one.keeps and not one.passes)
            sent = labels.sent(one)
            row.append(("", "") if idle else (str(source), f"{sent}→{labels.kept(one, lane)}" if sent else ""))
        moves.append(row)
    longest = max(len(text) for row in moves for pair in row for text in pair)
    across, wide = side_by_side(len(fills), longest, _LEFT)
    for first in range(0, len(fills), across):
        lanes = range(first, min(first + across, len(fills)))
        page.y += 4
        for column, lane in enumerate(lanes):
            page.text(_LEFT + (column + 0.5) * wide, page.y + 11, str(lane), anchor="middle")
        page.text(MARGIN, page.y + 11, "lane reads")
        page.y += 15
        for i in range(count):
            rule = {"turn": f" + {family.terms[i]}", "broadcast": ""}.get(family.kind, f" XOR {family.terms[i]}")
            rule = "" if family.kind == "same" and not family.terms[i] else rule
            page.text(MARGIN, page.y + 17, f"{family.first + i + 1}:{rule}")
            for column, lane in enumerate(lanes):
                one, source = labels.of(family.first + i, lane), family.patterns[i][lane]
                page.cell(
                    _LEFT + column * wide,
                    page.y,
                    wide,
                    _ROW,
                    fills[source] if moves[i][lane][0] else _EMPTY,
                    *moves[i][lane],
                    title=labels.title(one, lane, source),
                    edge=BLACK if one and one.passes else "",
                )
            page.y += _ROW


def _is_dark(fill: str) -> bool:
    return sum(int(fill[i : i + 2], 16) * share for i, share in ((1, 0.3), (3, 0.59), (5, 0.11))) < 150
