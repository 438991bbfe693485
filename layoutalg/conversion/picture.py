"""The picture of a conversion: what each register of each lane holds before and after, and step by step how words get there.

A step is a family of shuffles, or the stores, the barrier and the loads of a round through shared memory. Each says what it
costs and what it is written as. A page (`html`, and in a notebook) shows one step at a time; every other format shows them one
below the other.

>>> from layoutalg.conversion import convert
>>> plan = convert(Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg"), level="subgroup")
>>> [step.name for step in plan.picture().steps()]
['what it does', 'shuffles', 'the rest', 'what arrives when']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.drawing.contents import Contents, contents_of
from layoutalg.conversion.drawing.exchange import Exchange
from layoutalg.conversion.drawing.memory import FEW_ROWS, MOST_ACCESSES, Memory, rounds_of
from layoutalg.conversion.drawing.prices import price_panel
from layoutalg.conversion.drawing.registers import Ends, Outlined, drawn_subgroups, ends_of, ends_panels, marked_lane
from layoutalg.conversion.drawing.summary import held_in_words, moved_in_words
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Shuffle, Step, Store
from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.limits import MOST_DRAWN_REGISTERS, MOST_FAMILIES, MOST_MEMORY_ROWS, MOST_STEP_CELLS
from layoutalg.core.notebook import in_a_cell
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware.chips import target_info
from layoutalg.viz.colouring import lane_colours, lane_legend
from layoutalg.viz.folding import DOTS
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import INNER, Panel, arrow, arrow_down, beside, in_a_row, stacked, told_panel
from layoutalg.viz.shapes import Scene
from layoutalg.viz.svg import legal, still, svg_document

if TYPE_CHECKING:
    from layoutalg.conversion.conversion_plan import ConversionPlan

__all__ = ["ConversionPicture", "DrawnStep", "conversion_picture"]

_ROWS = ("replicas", "cluster")
"""The rows of a plan that its picture tells in words."""
_DOTS = (DOTS, "\N{VERTICAL ELLIPSIS}")
_ARROW, _DOWN = (
    Panel((), (), arrow(0, 40, 26, 40, heavy=True), 26, 48),
    Panel((), (), arrow(60, 0, 60, 24, heavy=True), 80, 24),
)
"""From before to after, beside it and below it."""
_APART = 10.0
_SPARE = 3
"""Pixels that a cell of registers has besides its letters, if before and after then fit beside each other."""
_FEW_CELLS, _FEWEST_ROWS, _FEWEST_ACCESSES = 256, 2, 4
"""Registers of all lanes, rows of memory, and accesses, that the output of a notebook cell has of a large conversion."""
_MADE = {
    "byte permute": "a byte permute picks the bytes of a word from two others",
    "select": "a select takes one of two words, by the number of the lane (arith.select)",
}
"""What each lane makes of its words, in words."""
_PERMUTES = {"nvidia": "prmt", "amd": "v_perm_b32"}
_MATRICES = {"block": "block messages"}


class DrawnStep(NamedTuple):
    """A step of a conversion: its name, and the panels that show it."""

    name: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True, repr=False)
class ConversionPicture(PanelPicture):
    """The picture of a plan.

    >>> from layoutalg.conversion import convert
    >>> convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).picture().title
    'd0 = 2@lane 2@lane:2 to d0 = 2@lane:2 2@lane'
    """

    plan: ConversionPlan = field(kw_only=True)

    def subtitle(self) -> str:
        """What is converted, and by what instructions."""
        kind = next((text for name, text in _rows(str(self.plan)) if name == "kind"), "")
        return f"{str(self.plan).splitlines()[0]}; {kind.partition(': ')[2] or kind}"

    def key(self) -> Sequence[tuple[str, str | None]]:
        """The colours."""
        program = self.plan.programs[0]
        (first, colour), *others = lane_legend(program.lanes, program.subgroups)
        return [(f"colour: starts in {first}", colour), *others]

    def panels(self) -> Sequence[Panel]:
        """The panels of all steps."""
        return [panel for step in self.steps() for panel in step.panels]

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The steps one below the other."""
        panels = [stacked(step.panels) for step in self.steps()]
        return beside(panels, self.title, self.subtitle(), self.widest(), self.key())

    def steps(self, *, one_by_one: bool = False, small: bool = False) -> list[DrawnStep]:
        """The steps in order; `one_by_one` has each shuffle by itself where that is not too much, `small` not all registers.

        >>> from layoutalg.conversion import convert
        >>> plan = convert("d0 = 2@sg 8@lane", "d0 = 8@lane 2@sg")
        >>> [step.name for step in plan.picture().steps(one_by_one=True)]
        ['what it does', 'store', 'barrier', 'load']
        """
        plan = self.plan
        program = plan.programs[0]
        fills = lane_colours(program.lanes, program.subgroups)
        traced = [contents_of(one) for one in plan.programs]
        found = [one for one in traced if one is not None]
        told = [text for name, text in _rows(str(plan)) if name in _ROWS]
        price = [] if plan.unpriced else [price_panel(plan)]
        if len(found) < len(plan.programs):
            told.append("too many words to follow each: registers are not drawn")
            return [DrawnStep("what it does", [*price, told_panel("", told)])]
        ends = ends_of(plan, found)
        found[-1] = found[-1]._replace(registers=np.where(ends.after < 0, -1, found[-1].registers))
        most = _registers_drawn(program.lanes, small)
        lane = marked_lane(ends, most)
        marked = "" if lane is None else f"lane {lane[1]}{f' of subgroup {lane[0]}' * (program.subgroups > 1)}"
        steps = [DrawnStep("what it does", [self._ends(ends, fills, lane, marked, told, most), *price])]
        for number, (one, contents) in enumerate(zip(plan.programs, found, strict=True)):
            part = f"part {number + 1} of {len(found)}"
            last = number == len(found) - 1
            outlined = Outlined(marked, ends.got_in(number, lane), lane[1] if lane and last and not lane[0] else None)
            made = self._program(one, contents, fills, ends.name_in(number), outlined, one_by_one, small)
            if len(found) == 1:
                steps += made
                continue
            for place, step in enumerate(made):
                panels = [told_panel(part, []), *step.panels] if place == 0 or one_by_one else step.panels
                steps.append(DrawnStep(f"{part}: {step.name}", panels))
        return steps

    def _ends(
        self,
        ends: Ends,
        fills: Sequence[Sequence[str]],
        lane: tuple[int, int] | None,
        marked: str,
        told: Sequence[str],
        most: int,
    ) -> Panel:
        """What registers hold before and after, in words and drawn; `marked` is the lane in words, `told` what stands below."""
        held, moved, groups = held_in_words(ends), moved_in_words(ends), len(ends.before)
        cells = f"cells: the element{' (row,column)' * (self.plan.source.rank == 2)} in each register r0, r1, ... of each lane"
        cells += f" of subgroup 0 of {groups}" * (len(drawn_subgroups(ends)) < groups)
        head = told_panel(held or moved, [moved, cells] if held else [cells])
        pairs = ends_panels(ends, fills, lane, most, _SPARE)
        if not all(map(_fits, pairs)):
            tight = ends_panels(ends, fills, lane, most)
            pairs = tight if all(map(_fits, tight)) else pairs
        in_rows = all(map(_fits, pairs))
        shown = [
            in_a_row([before, _ARROW, after], apart=_APART) if in_rows else stacked([before, _DOWN, after], 6)
            for before, after in pairs
        ]
        notes = [*told, *[f"outlined: what {marked} gets, and where it was"] * bool(marked)]
        dotted = any(one.text in _DOTS for pair in pairs for side in pair for one in side.words)
        notes += [f"{DOTS} left out: the numbers go on evenly"] * dotted
        return stacked([head, *shown, told_panel("", notes)], 6)

    def _program(
        self,
        program: Program,
        contents: Contents,
        fills: Sequence[Sequence[str]],
        name: Callable[[int], str],
        outlined: Outlined,
        one_by_one: bool,
        small: bool,
    ) -> Iterator[DrawnStep]:
        exchange = Exchange(program, contents, fills, name, outlined.lane)
        vendor = target_info(self.plan.target).vendor
        if exchange.families:
            yield from self._shuffles(program, exchange, one_by_one)
        most = _registers_drawn(program.lanes, small)
        rest = exchange.rest()
        if rest:
            heading = f"{'besides, ' * bool(exchange.families)}each lane makes {rest}"
            permute = f"{_MADE['byte permute']} ({_PERMUTES[vendor]})" if vendor in _PERMUTES else _MADE["byte permute"]
            notes = [text for name, text in (_MADE | {"byte permute": permute}).items() if name in rest]
            yield DrawnStep("the rest", [told_panel(heading, notes)])
        if exchange.families:
            yield DrawnStep(
                "what arrives when", [exchange.brought("after: the shuffles that bring each element", most=most)]
            )
        rounds = rounds_of(program)
        if rounds:
            rows = MOST_MEMORY_ROWS if one_by_one else _FEWEST_ROWS if small else FEW_ROWS
            yield from self._memory(
                program,
                Memory(program, contents, rounds[0], fills, outlined),
                len(rounds),
                fills,
                name,
                one_by_one,
                rows,
            )

    def _shuffles(self, program: Program, exchange: Exchange, one_by_one: bool) -> Iterator[DrawnStep]:
        total = len(exchange.carried)
        whole = one_by_one and total * program.lanes * program.registers <= MOST_STEP_CELLS
        shuffles = [step for step in program.steps if isinstance(step, Shuffle)]
        for family in exchange.families[:MOST_FAMILIES] if not whole else exchange.families:
            count = len(family.patterns)
            if whole:
                for place, (pattern, term) in enumerate(zip(family.patterns, family.terms, strict=True)):
                    shuffle = family.first + place
                    alone = replace(family, first=shuffle, patterns=(pattern,), terms=(term,))
                    head = told_panel(str(alone), [self._paid(program, [shuffles[shuffle]], "gpu.shuffle")])
                    arrives = exchange.brought(f"arrived after shuffle {shuffle + 1} of {total}", shuffle)
                    yield DrawnStep(f"shuffle {shuffle + 1}", [head, exchange.arrows(family, place), arrives])
                continue
            here = shuffles[family.first : family.first + count]
            notes = [self._paid(program, here, f"{count} x gpu.shuffle")]
            notes += [f"drawn: shuffle {family.first + 1}, the first of them"] * (count > 1)
            yield DrawnStep(
                "shuffles" if count > 1 else "shuffle", [told_panel(str(family), notes), exchange.arrows(family)]
            )
        left = sum(len(family.patterns) for family in exchange.families[MOST_FAMILIES:])
        if left and not whole:
            kinds = counted(len(exchange.families) - MOST_FAMILIES, "more kind")
            yield DrawnStep("more", [told_panel("", [f"and {counted(left, 'more shuffle')}, in {kinds}"])])

    def _memory(
        self,
        program: Program,
        memory: Memory,
        rounds: int,
        fills: Sequence[Sequence[str]],
        name: Callable[[int], str],
        whole: bool,
        rows: int,
    ) -> Iterator[DrawnStep]:
        most = _FEWEST_ACCESSES if rows == _FEWEST_ROWS else MOST_ACCESSES
        often = f" in the first of {rounds} rounds" if rounds > 1 else ""
        size = f"{counted(program.slm_bytes, 'byte')} of shared memory: {BANKS} banks of {BANK_BYTES} bytes"
        who = "subgroup/lane" if program.subgroups > 1 else "lane"
        barriers = [step for step in program.steps if isinstance(step, Barrier)]
        for verb, side in (("store", memory.stores), ("load", memory.loads)):
            if verb == "load" and barriers:
                scope = "all subgroups wait" if barriers[0].scope != "subgroup" else "the lanes wait"
                times = "" if len(barriers) == 1 else f"{len(barriers)} times: "
                paid = self._paid(program, barriers, "gpu.barrier")
                yield DrawnStep("barrier", [arrow_down([f"barrier: {times}{scope} until all is stored; {paid}"])])
            if not side.steps:
                continue
            head = told_panel(
                f"{verb}: each lane makes {_each(verb, side.steps)}{often}",
                [self._paid(program, side.steps, _instruction(verb, side.steps)), *side.told_cycles()],
            )
            waits = max(side.cycles(), default=0) > 0 and bool(side.red)
            banks = [side.accesses(fills, most)] if whole or waits else []
            drawn: list[Panel] = []
            if whole or side is memory.stores or not memory.stores.steps:
                below = memory.stores if whole and side is memory.stores else memory.loads
                does = "reads" if below is memory.loads else "writes"
                each = f"cells: the element, and below it the {who} that {does} it"
                if any(step.bits == 8 for one in (memory.stores, memory.loads) for step in one.steps):
                    each = f"cells: the {who} that {does} each byte"
                each += "; 1/0 is lane 0 of subgroup 1" * (program.subgroups > 1)
                row = f"each row: a word of {BANK_BYTES} bytes in each bank; at its left the number of its first byte"
                told = told_panel(size, [row, each])
                drawn.append(stacked([told, memory.panel(name, below, rows)], 4))
            yield DrawnStep(verb, [head, *banks, *drawn])

    def _paid(self, program: Program, steps: Sequence[Step], instruction: str) -> str:
        """What some steps are written as and, where the price of each is known, what they cost."""
        cost = cost_of(self.plan.target, self.plan.pressure)
        if cost.counted or self.plan.unpriced:
            return instruction
        slots = round(sum(cost.shares([replace(program, steps=tuple(steps), pack=(), unpack=())]).values()))
        return f"{instruction}: {slots} of the {counted(self.plan.cost, 'issue slot')}"

    def html(self) -> str:
        """The picture as a page that shows a step at a time, with buttons."""
        from layoutalg.viz.stepped import page

        return page(self.title, self._parts(self.steps(one_by_one=True)))

    def _repr_html_(self) -> str:
        from layoutalg.viz.stepped import fragment

        @cache
        def small() -> list[tuple[str, list[str]]]:
            return self._parts(self.steps(small=True))

        def stilled() -> list[tuple[str, list[str]]]:
            return [(name, [still(svg) for svg in drawn]) for name, drawn in small()]

        drawings = (
            lambda: fragment(self.title, self._parts(self.steps(one_by_one=True))),
            lambda: fragment(self.title, small()),
            lambda: fragment(self.title, stilled()),
            lambda: fragment(self.title, stilled()[:1]),
        )
        return in_a_cell(drawings, 'picture().save("conversion.html")')

    def views(self, *, one_by_one: bool = False) -> list[tuple[str, str]]:
        """Each step as an SVG document of its own, with its name; `one_by_one` is that of `steps`.

        >>> from layoutalg.conversion import convert
        >>> [name for name, _ in convert("d0 = 2@reg 2@lane", "d0 = 2@lane 2@reg").picture().views()]
        ['what it does', 'shuffle', 'the rest', 'what arrives when']
        """
        steps = self.steps(one_by_one=one_by_one)
        return [(step.name, self._document([stacked(step.panels)], step is steps[0])) for step in steps]

    def _parts(self, steps: Sequence[DrawnStep]) -> list[tuple[str, list[str]]]:
        """The drawings of each step for a page: words stand with what they are about."""
        found: list[tuple[str, list[str]]] = []
        for step in steps:
            parts: list[list[Panel]] = [[]]
            for panel in step.panels:
                if parts[-1] and parts[-1][-1].cells:
                    parts.append([])
                parts[-1].append(panel)
            first = step is steps[0]
            drawn = [self._document([stacked(part)], first and i == 0, bare=i > 0) for i, part in enumerate(parts)]
            found.append((step.name, drawn))
        return found

    def _document(self, panels: Sequence[Panel], first: bool, *, bare: bool = False) -> str:
        """A drawing of its own: the first says what all of it is, a `bare` one has no title."""
        subtitle, key = self.subtitle() if first else "", () if bare else self.key()
        return svg_document(beside(panels, self.title, subtitle, self.widest(), key, bare=bare))


def _fits(pair: tuple[Panel, Panel]) -> bool:
    """Whether before and after fit beside each other."""
    return sum(side.width for side in pair) + _ARROW.width + 2 * _APART <= INNER


def conversion_picture(plan: ConversionPlan, title: str | None = None) -> ConversionPicture:
    """The picture of a plan, under a title (its two layouts unless given)."""
    if title is not None:
        instance_of(title, str, "title")
    return ConversionPicture((), legal(f"{plan.source} to {plan.destination}" if title is None else title), plan=plan)


def _registers_drawn(lanes: int, small: bool) -> int:
    """How many registers of each lane are drawn."""
    return max(_FEW_CELLS // lanes, 1) if small else MOST_DRAWN_REGISTERS


def _rows(text: str) -> list[tuple[str, str]]:
    """The rows of a plan's text, each with its name."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines()[1:]:
        found.append((line[:12].strip() or found[-1][0], line[13:]))
    return found


def _each(what: str, steps: Sequence[Store | Load]) -> str:
    most = max(len(step.words if isinstance(step, Store) else step.to) for step in steps)
    return f"{counted(len(steps), what)} of {counted(most * steps[0].bits // 8, 'byte')}"


def _instruction(verb: str, steps: Sequence[Store | Load]) -> str:
    """What the accesses are written as: the instruction for matrices, or plain loads and stores."""
    matrix = steps[0].matrix
    plain = f"plain {verb}s {'to' if verb == 'store' else 'from'} shared memory"
    return f"written as {_MATRICES.get(matrix, f'{verb}s of 8x8 matrices') if matrix else plain}"
