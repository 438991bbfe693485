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
from typing import TYPE_CHECKING, NamedTuple

from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.drawing.contents import Contents, contents_of
from layoutalg.conversion.drawing.exchange import Exchange
from layoutalg.conversion.drawing.memory import FEW_ROWS, Memory, rounds_of
from layoutalg.conversion.drawing.prices import price_panel
from layoutalg.conversion.drawing.registers import ends_of, ends_panels, marked_lane
from layoutalg.conversion.drawing.tables import RED, lane_colours
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Shuffle, Step, Store
from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.limits import MOST_DRAWN_REGISTERS, MOST_FAMILIES, MOST_MEMORY_ROWS, MOST_STEP_CELLS
from layoutalg.core.notebook import in_a_cell
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware.chips import target_info
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
_APART = 14.0
_FEW_CELLS, _FEWEST_ROWS = 384, 2
"""Registers of all lanes, and rows of memory, that the output of a notebook cell has of a large conversion."""
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

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours."""
        program = self.plan.programs[0]
        fills = lane_colours(program.lanes, program.subgroups)
        last = program.lanes - 1
        stops = range(program.lanes) if last < 4 else [round(i * last / 3) for i in range(4)]
        found = [(f"{'colour: starts in lane ' * (lane == 0)}{lane}", fills[0][lane]) for lane in stops]
        if program.subgroups > 1:
            found = [(f"{'colour: starts in subgroup ' * (sg == 0)}{sg}", row[-1]) for sg, row in enumerate(fills[:8])]
        if self.plan.bank_conflicts > 1:
            found.append(("outlined: waits for its bank", RED))
        return found

    def panels(self) -> Sequence[Panel]:
        """The panels of all steps."""
        return [panel for step in self.steps() for panel in step.panels]

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The steps one below the other."""
        return self._drawn([stacked(step.panels) for step in self.steps()], self.subtitle())

    def _drawn(self, panels: Sequence[Panel], subtitle: str) -> Scene:
        return beside(panels, self.title, subtitle, self.widest(), self.key())

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
        of = f" of subgroup 0 of {program.subgroups}" if program.subgroups > 1 else ""
        head = told_panel(
            f"which element each register (r0, r1, ...) of each lane{of} holds",
            ["cells: row,column of the element"] * (plan.source.rank == 2),
        )
        most = _registers_drawn(program.lanes, small)
        lane = marked_lane(ends, most)
        told += [f"outlined: what lane {lane} gets, and where it was"] * (lane is not None)
        before, after = ends_panels(ends, fills, most)
        dotted = any(one.text in _DOTS for one in (*before.words, *after.words))
        told += [f"{DOTS} left out: the numbers go on evenly"] * dotted
        fits = before.width + _ARROW.width + after.width + 2 * _APART <= INNER
        shown = in_a_row([before, _ARROW, after], apart=_APART) if fits else stacked([before, _DOWN, after], 6)
        steps = [DrawnStep("what it does", [stacked([head, shown, told_panel("", told)], 6), *price])]
        for number, (one, contents) in enumerate(zip(plan.programs, found, strict=True)):
            part = f"part {number + 1} of {len(found)}"
            made = self._program(one, contents, fills, ends.name_in(number), one_by_one, small)
            if len(found) == 1:
                steps += made
                continue
            for place, step in enumerate(made):
                panels = [told_panel(part, []), *step.panels] if place == 0 or one_by_one else step.panels
                steps.append(DrawnStep(f"{part}: {step.name}", panels))
        return steps

    def _program(
        self,
        program: Program,
        contents: Contents,
        fills: Sequence[Sequence[str]],
        name: Callable[[int], str],
        one_by_one: bool,
        small: bool,
    ) -> Iterator[DrawnStep]:
        exchange = Exchange(program, contents, fills, name)
        vendor = target_info(self.plan.target).vendor
        if exchange.families:
            yield from self._shuffles(program, exchange, one_by_one)
        most = _registers_drawn(program.lanes, small)
        rest = exchange.rest()
        if rest:
            permutes = f"; byte permutes are {_PERMUTES[vendor]}" if "permute" in rest and vendor in _PERMUTES else ""
            heading = f"{'besides, ' * bool(exchange.families)}each lane makes {rest}"
            notes = [f"selects are arith.select{permutes}"] * ("select" in rest)
            yield DrawnStep("the rest", [told_panel(heading, notes)])
        if exchange.families:
            yield DrawnStep(
                "what arrives when", [exchange.brought("after: which shuffle brings each element", most=most)]
            )
        rounds = rounds_of(program)
        if rounds:
            rows = MOST_MEMORY_ROWS if one_by_one else _FEWEST_ROWS if small else FEW_ROWS
            yield from self._memory(program, contents, rounds, fills, name, one_by_one, rows)

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
        contents: Contents,
        rounds: Sequence[Sequence[Store | Load]],
        fills: Sequence[Sequence[str]],
        name: Callable[[int], str],
        whole: bool,
        rows: int,
    ) -> Iterator[DrawnStep]:
        memory = Memory(program, contents, rounds[0], fills)
        often = f" in the first of {len(rounds)} rounds" if len(rounds) > 1 else ""
        size = f"{counted(program.slm_bytes, 'byte')} of shared memory: {BANKS} banks of {BANK_BYTES} bytes"
        who = "subgroup:lane" if program.subgroups > 1 else "lane"
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
            banks = [side.accesses(fills)] if whole or waits else []
            drawn: list[Panel] = []
            if whole or side is memory.stores or not memory.stores.steps:
                below = memory.stores if whole and side is memory.stores else memory.loads
                does = "reads" if below is memory.loads else "writes"
                each = "cells: the element, and below it the {} that {} it"
                if any(step.bits == 8 for step in rounds[0]):
                    each = "cells: the {} that {} each byte"
                told = told_panel(size, [each.format(who, does)])
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

        return page(self.title, self.views(one_by_one=True))

    def _repr_html_(self) -> str:
        from layoutalg.viz.stepped import fragment

        def small() -> list[tuple[str, str]]:
            return self._views(self.steps(small=True))

        drawings = (
            lambda: fragment(self.title, self.views(one_by_one=True)),
            lambda: fragment(self.title, small()),
            lambda: fragment(self.title, [(name, still(svg)) for name, svg in small()]),
            lambda: fragment(self.title, [(name, still(svg)) for name, svg in small()[:1]]),
        )
        return in_a_cell(drawings, 'picture().save("conversion.html")')

    def views(self, *, one_by_one: bool = False) -> list[tuple[str, str]]:
        """Each step as an SVG document of its own, with its name; `one_by_one` is that of `steps`.

        >>> from layoutalg.conversion import convert
        >>> [name for name, _ in convert("d0 = 2@reg 2@lane", "d0 = 2@lane 2@reg").picture().views()]
        ['what it does', 'shuffle', 'the rest', 'what arrives when']
        """
        return self._views(self.steps(one_by_one=one_by_one))

    def _views(self, steps: Sequence[DrawnStep]) -> list[tuple[str, str]]:
        """The drawing of each step; the first says what all of it is."""
        told = [self.subtitle(), *[""] * (len(steps) - 1)]
        return [
            (step.name, svg_document(self._drawn([stacked(step.panels)], subtitle)))
            for step, subtitle in zip(steps, told, strict=True)
        ]


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
