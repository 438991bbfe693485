"""An exchange in registers and lanes, drawn: who gets which word from whom, and which shuffles bring each element.

Shuffles of one kind are a family: of those in which lane l reads lane l XOR t the first is drawn with arrows. A table of the
result has for every register the numbers of the shuffles that bring its element, so that each is known.

>>> steps = [Shuffle(t, 0, tuple(lane ^ t for lane in range(4))) for t in (1, 2, 3)]
>>> print(*families(Program(1, 4, 32, 1, 1, pack=(0,), steps=tuple(steps), unpack=(3,)), 0))
shuffles 1 to 3: lane l reads lane l XOR t, t = 1 to 3
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.contents import Contents, ShuffledSlots, carried_by
from layoutalg.conversion.drawing.tables import FRAME, ROOM, cell_table, width_for
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Regions, Shuffle, Store
from layoutalg.core.limits import MOST_DRAWN_REGISTERS
from layoutalg.core.plurals import counted
from layoutalg.viz.panels import PALE, Look, Panel, arrow, placed, stacked, told_panel
from layoutalg.viz.scene import CHARACTER
from layoutalg.viz.shapes import Cell, Line, Words

__all__ = ["Exchange", "Family", "families", "numbers_text"]

Route = tuple[tuple[int, int], ...]
"""The shuffles that bring a word of an element, in order, each with the lane that it reads."""
_LEFT, _DROP, _HIGH = 84.0, 34.0, 31.0
_MOST_LANES, _SOME_LANES = 32, 16
"""Lanes that are drawn with arrows; of more, so many stand for all."""
_ON = ">"
"""What goes on, in another shuffle."""
_MOST_HOPS = 2
"""Shuffles of one element that stand in its cell."""
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


@dataclass(frozen=True, slots=True)
class Family:
    """Shuffles one after another that are alike: "xor", "turn", "broadcast", or "same" (one pattern, XOR a number).

    >>> str(Family("xor", 0, ((1, 0),), (1,)))
    'shuffle 1: lane l reads lane l XOR 1'
    """

    kind: str
    first: int
    patterns: tuple[tuple[int, ...], ...]
    terms: tuple[int, ...]

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
            times = [(term, len(list(group))) for term, group in groupby(self.terms)]
            listed = ", ".join(f"{term} ({many} times)" if many > 1 else str(term) for term, many in times)
            again, run = {many for _, many in times}, range(self.terms[0], self.terms[0] + len(times))
            if [term for term, _ in times] == [*run] and len(again) == 1 and len(times) > 2:
                listed = f"{run[0]} to {run[-1]}{f' (each {times[0][1]} times)' * (times[0][1] > 1)}"
            terms = f", t = {listed}"
        return f"{which}: {rule}{terms}"


def families(program: Program, sg: int) -> list[Family]:
    """The shuffles of one subgroup, folded."""
    found: list[tuple[str, list[tuple[int, ...]], list[int]]] = []
    for step in program.steps:
        if not isinstance(step, Shuffle):
            continue
        pattern = tuple(step.sources(program.subgroups)[sg].tolist())
        kind, term = _kind(pattern)
        if found and kind == found[-1][0] == "same":
            apart = {one ^ other for one, other in zip(pattern, found[-1][1][0], strict=True)}
            kind, term = (kind, apart.pop()) if len(apart) == 1 else ("other", 0)
        if found and found[-1][0] == kind:
            found[-1][1].append(pattern)
            found[-1][2].append(term)
        else:
            kind = "same" if kind == "other" else kind
            found.append((kind, [pattern], [term]))
    first = 0
    families: list[Family] = []
    for kind, patterns, terms in found:
        families.append(Family(kind, first, tuple(patterns), tuple(terms)))
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


class Exchange:
    """The shuffles of one subgroup of a program: what each brings, and the panels that say so.

    `name` is what the element in a slot is called, `fills` has the colour of each lane of each subgroup; the lane `outlined`
    has a line around what it gets.

    >>> from layoutalg.conversion import convert
    >>> from layoutalg.conversion.drawing.contents import contents_of
    >>> program = convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup").programs[0]
    >>> Exchange(program, contents_of(program), [["#000000", "#ffffff"]], str).routes
    {(0, 1): [((0, 1),)], (1, 0): [((0, 0),)]}
    """

    def __init__(
        self,
        program: Program,
        contents: Contents,
        fills: Sequence[Sequence[str]],
        name: Callable[[int], str],
        outlined: int | None = None,
    ) -> None:
        self.program, self.fills, self.name, self.outlined = program, fills, name, outlined
        self.families = families(program, 0)
        self.carried = carried_by(program, contents, 0)
        self.held: NDArray[np.int64] = contents.registers[0]
        rows: list[list[int]] = self.held.tolist()
        self.final: list[dict[int, int]] = [
            {slot: register for register, slot in reversed(list(enumerate(row)))} for row in rows
        ]
        self.routes: dict[tuple[int, int], list[Route]] = {
            (lane, register): routes
            for lane, row in enumerate(rows)
            for register, slot in enumerate(row)
            if slot >= 0 and (routes := self._routes(lane, slot))
        }
        """By lane and register of the result how its element comes; one of 64 bits comes in two words."""

    def _routes(self, lane: int, slot: int) -> list[Route]:
        """The ways of an element to a lane."""
        if slot // self.program.source_registers == lane:
            return []
        taken: set[tuple[int, int]] = set()
        found = [
            self._back(shuffle, lane, slot, taken)
            for shuffle in reversed(range(len(self.carried)))
            if slot in self.carried[shuffle][lane].keeps
        ]
        return found[::-1]

    def _back(self, shuffle: int, lane: int, slot: int, taken: set[tuple[int, int]]) -> Route:
        """The way that ends with a shuffle: before it, the one that gave the element to the lane that it reads."""
        source = self.carried[shuffle][lane].source
        if slot // self.program.source_registers == source:
            return ((shuffle, source),)
        for earlier in reversed(range(shuffle)):
            if (earlier, source) not in taken and slot in self.carried[earlier][source].passes:
                taken.add((earlier, source))
                return (*self._back(earlier, source, slot, taken), (shuffle, source))
        return ((shuffle, source),)

    def moved(self, shuffle: int, lane: int) -> bool:
        """Whether a shuffle brings a lane something that it needs."""
        one = self.carried[shuffle][lane]
        return bool(one.keeps or one.passes)

    def arrows(self, family: Family, place: int = 0) -> Panel:
        """One shuffle of a family: the lanes that send above, those that receive below, with their registers."""
        lanes, pattern = self.program.lanes, family.patterns[place]
        shuffle = family.first + place
        shown = range(lanes) if lanes <= _MOST_LANES else range(_SOME_LANES)
        above = list(shown) if lanes <= _MOST_LANES else sorted({pattern[lane] for lane in shown})
        wide = min((ROOM - _LEFT) / max(len(above), len(shown)), 40)
        sent: dict[int, dict[int, None]] = {lane: {} for lane in above}
        for lane in range(lanes):
            if pattern[lane] in sent and self.moved(shuffle, lane):
                one = self.carried[shuffle][lane]
                sent[pattern[lane]].update(dict.fromkeys((*one.keeps, *one.passes)))
        cells: list[Cell] = []
        words = [
            Words(0, y + at, text, 11)
            for y, names in ((0.0, ("lane sends", "register")), (_HIGH + _DROP, ("lane gets", "as register")))
            for at, text in zip((12.0, 26.0), names, strict=True)
        ]
        lines: list[Line] = []

        def put(x: float, y: float, look: Look) -> None:
            if len(look.below) * CHARACTER > wide:
                look = replace(look, below="")
            cell, inside, frame = placed(x, y, wide, _HIGH, look)
            cells.append(cell)
            words.extend(inside)
            lines.extend(replace(line, over=False) for line in frame)

        for column, lane in enumerate(above):
            registers = numbers_text(slot % self.program.source_registers for slot in sent[lane])
            told = f"lane {lane} sends {'; '.join(map(self._from, sent[lane])) or 'nothing that is needed'}"
            put(_LEFT + column * wide, 0, Look(self.fills[0][lane] if registers else PALE, str(lane), told, registers))
        for column, lane in enumerate(shown):
            one, moves = self.carried[shuffle][lane], self.moved(shuffle, lane)
            fill = self.fills[0][pattern[lane]] if moves else PALE
            kept = numbers_text(self.final[lane][slot] for slot in one.keeps) + _ON * bool(one.passes)
            if len(kept) * CHARACTER > wide:
                kept = _ON * bool(one.passes)
            x = _LEFT + column * wide
            put(x, _HIGH + _DROP, Look(fill, str(lane), self._told(one, lane, pattern[lane]), kept))
            if moves:
                start, end = _LEFT + (above.index(pattern[lane]) + 0.5) * wide, x + wide / 2
                lines += arrow(start, _HIGH + 2, end, _HIGH + _DROP - 2)
        panel = Panel(tuple(cells), tuple(words), tuple(lines), _LEFT + len(above) * wide, 2 * _HIGH + _DROP)
        notes = [f"lanes {len(shown)} to {lanes - 1} likewise, by the same rule"] * (len(shown) < lanes)
        if any(one.passes for one in self.carried[shuffle]):
            notes.append(f"{_ON}: a part of the word travels on, in a later shuffle")
        return stacked([panel, told_panel("", notes)], 2) if notes else panel

    def _told(self, one: ShuffledSlots, lane: int, source: int) -> str:
        told = [f"lane {lane} reads lane {source}"]
        told += [f"{self._from(slot)} into register {self.final[lane][slot]}" for slot in one.keeps]
        told += [f"{self._from(slot)} on its way" for slot in one.passes]
        return "; ".join(told)

    def _from(self, slot: int) -> str:
        lane, register = divmod(slot, self.program.source_registers)
        return f"{self.name(slot)} of lane {lane}, register {register}"

    def brought(self, title: str, now: int | None = None, most: int = MOST_DRAWN_REGISTERS) -> Panel:
        """The result: for each register the shuffles that bring its element, in the colour of the lane that it starts in.

        At most so many registers are drawn. With `now` what that shuffle brings stands out; what came before is pale,
        what comes later empty.
        """
        registers = min(self.held.shape[1], most)
        labels, notes = self._labels()
        wide = width_for(max(map(len, labels.values()), default=1))
        lanes, same = self._block(wide)

        def look(register: int, lane: int) -> Look:
            slot, routes = int(self.held[lane, register]), self.routes.get((lane, register), ())
            at = f"after: lane {lane}, register {register}: "
            if slot < 0:
                return Look(PALE, "", at + "nothing")
            start, first = divmod(slot, self.program.source_registers)
            sg, start = divmod(start, self.program.lanes)
            ways = "; the other word".join(
                "".join(f", by shuffle {i + 1} from lane {source}" for i, source in route) for route in routes
            )
            sentence = f"{at}{self.name(slot)} of lane {start}, register {first}{ways}"
            fill = self.fills[sg][start]
            edge = FRAME * (lane == self.outlined)
            if not routes:
                stays = (sg, start) == (0, lane)
                return Look(PALE if stays else fill, "=" * stays, sentence, edge=edge)
            last = routes[-1][-1][0]
            label = labels[lane, register] if now is None or last <= now else ""
            return Look(fill if now is None or last == now else PALE, label, sentence, edge=edge)

        rows = [(f"r{register}", register) for register in range(registers)]
        panel = cell_table(title, "lane", lanes, rows, look, (wide, 17))
        notes = [*same, f"cells: {notes}; =: it stays in its lane"]
        notes += ["grey numbers: it came before; empty: it comes later"] * (now is not None)
        notes += [f"outlined: what lane {self.outlined} gets"] * (self.outlined is not None)
        if registers < self.held.shape[1]:
            notes.append(f"and {counted(self.held.shape[1] - registers, 'more register')}")
        return stacked([panel, told_panel("", notes)], 2)

    def _labels(self) -> tuple[dict[tuple[int, int], str], str]:
        """The shuffles of each register in few letters, and what they are."""
        hops = max((len(route) for routes in self.routes.values() for route in routes), default=1)
        if hops > _MOST_HOPS:
            told = f"the last of the up to {hops} shuffles that bring the element"
            return {at: str(routes[-1][-1][0] + 1) for at, routes in self.routes.items()}, told
        told = "the shuffle that brings the element"
        first = next((route for routes in self.routes.values() for route in routes if len(route) > 1), ())
        if first:
            one, then = (str(i + 1) for i, _ in first)
            told += f"; {one}{_ON}{then}: shuffle {one} brings it to a lane between, {then} from there"
        told += "; 1,2: each brings a word of it" * any(len(routes) > 1 for routes in self.routes.values())
        labels = {
            at: ",".join(_ON.join(str(i + 1) for i, _ in route) for route in routes)
            for at, routes in self.routes.items()
        }
        return labels, told

    def _block(self, wide: float) -> tuple[Sequence[int], list[str]]:
        """The lanes to draw, all or a block that the others repeat by XOR, and what to say of the others."""
        lanes, registers = self.held.shape
        if lanes * wide + 40 <= ROOM or registers & registers - 1 or (self.held < 0).any():
            return range(lanes), []
        shuffles = {at: tuple([i for route in routes for i, _ in route]) for at, routes in self.routes.items()}
        numbers = {one: i for i, one in enumerate(dict.fromkeys(shuffles.values()), 1)}
        ways = np.array([[numbers.get(shuffles.get((i, r), ()), 0) for r in range(registers)] for i in range(lanes)])
        starts, froms = self.held // self.program.source_registers, self.held % self.program.source_registers
        block = 8
        while block * 2 * wide + 40 <= ROOM:
            block *= 2
        if lanes % block:
            return range(lanes), []
        first = slice(0, block)
        order: NDArray[np.int64] = np.arange(registers, dtype=np.int64)
        found: list[tuple[int, int, int]] = []
        for h in range(block, lanes, block):
            here = slice(h, h + block)
            for c in range(registers):
                turned: NDArray[np.int64] = np.bitwise_xor(order, c)
                d = int(froms[h, c] ^ froms[0, 0])
                if (
                    np.array_equal(ways[here][:, turned], ways[first])
                    and np.array_equal(starts[here][:, turned], starts[first] ^ h)
                    and np.array_equal(froms[here][:, turned], froms[first] ^ d)
                ):
                    found.append((h, c, d))
                    break
            else:
                return range(lanes), []
        told: dict[str, list[int]] = {}
        for h, c, d in found:
            rule = f"registers XOR {c}" + f", which were registers XOR {d}" * (c != d)
            told.setdefault(
                "the same registers" if c == d == 0 else "registers likewise" if c == d == h else rule, []
            ).append(h)
        said: list[str] = []
        for rule, hs in told.items():
            which = numbers_text(h + i for h in hs for i in range(block))
            said.append(f"lanes {which} do the same: every lane XOR {', '.join(map(str, hs))}, {rule}")
        return range(block), said

    def rest(self) -> str:
        """What each lane does by itself: all steps but shuffles, accesses and barriers, counted by kind."""
        found = Counter[str]()
        for step in self.program.steps:
            if isinstance(step, Regions):
                found["Region"] += len(step.moves)
            elif not isinstance(step, (Shuffle, Store, Load, Barrier)):
                found[type(step).__name__] += 1
        return _work(found)
