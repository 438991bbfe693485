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
from layoutalg.conversion.drawing.memory import FEW_ROWS, Side, bank_colour, rounds_of
from layoutalg.conversion.drawing.prices import price_panel
from layoutalg.conversion.drawing.registers import ends_of, ends_panels
from layoutalg.conversion.drawing.tables import RED, lane_colours
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Shuffle, Step, Store
from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.limits import MOST_FAMILIES, MOST_MEMORY_ROWS, MOST_STEP_CELLS
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware.chips import target_info
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import Panel, arrow_down, beside, in_a_row, stacked, told_panel
from layoutalg.viz.shapes import Scene
from layoutalg.viz.svg import legal, svg_document

if TYPE_CHECKING:
    from layoutalg.conversion.conversion_plan import ConversionPlan

__all__ = ["ConversionPicture", "DrawnStep", "conversion_picture"]

_ROWS = ("moves", "replicas", "kind", "memory", "cluster")
"""The rows of a plan that its picture tells in words."""
_PERMUTES = {"nvidia": "prmt", "amd": "v_perm_b32"}
_MATRICES = {"block": "a block message"}


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
        """What is converted, on what."""
        return str(self.plan).splitlines()[0]

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours."""
        program = self.plan.programs[0]
        fills = lane_colours(program.lanes, program.subgroups)
        last = program.lanes - 1
        stops = range(program.lanes) if last < 4 else [round(i * last / 3) for i in range(4)]
        found = [(f"{'registers: lane ' * (lane == 0)}{lane}", fills[0][lane]) for lane in stops]
        if program.subgroups > 1:
            found = [(f"{'registers: from subgroup ' * (sg == 0)}{sg}", row[-1]) for sg, row in enumerate(fills[:8])]
        if self.plan.slm_bytes:
            found += [(f"{'memory: bank ' * (bank == 0)}{bank}", bank_colour(bank)) for bank in (0, 10, 21, 31)]
            if self.plan.bank_conflicts > 1:
                found.append(("framed: waits for its bank", RED))
        return found

    def panels(self) -> Sequence[Panel]:
        """The panels of all steps."""
        return [panel for step in self.steps() for panel in step.panels]

    def scene(self, direction: str | None = None, colour: str | None = None) -> Scene:
        """The steps one below the other."""
        return self._drawn([stacked(step.panels) for step in self.steps()])

    def _drawn(self, panels: Sequence[Panel]) -> Scene:
        return beside(panels, self.title, self.subtitle(), self.widest(), self.key())

    def steps(self, *, one_by_one: bool = False) -> list[DrawnStep]:
        """The steps in order; `one_by_one` has each shuffle by itself where that is not too much.

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
        rows = _rows(str(plan))
        told = told_panel("what it does", [text for name, text in rows if name in _ROWS])
        price = [] if plan.unpriced else [price_panel(plan)]
        if len(found) < len(plan.programs):
            return [
                DrawnStep(
                    "what it does",
                    [told, *price, told_panel("", ["too many words to follow each: registers are not drawn"])],
                )
            ]
        ends = ends_of(plan, found)
        of = f" of subgroup 0 of {program.subgroups}" if program.subgroups > 1 else ""
        note = told_panel(
            "", [f"the element in each register of each lane{of}, in the colour of the lane that it starts in"]
        )
        steps = [DrawnStep("what it does", [stacked([told, note], 4), in_a_row(ends_panels(ends, fills)), *price])]
        for number, (one, contents) in enumerate(zip(plan.programs, found, strict=True)):
            part = f"part {number + 1} of {len(found)}"
            made = self._program(one, contents, fills, ends.name_in(number), one_by_one)
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
    ) -> Iterator[DrawnStep]:
        exchange = Exchange(program, contents, fills, name)
        vendor = target_info(self.plan.target).vendor
        if exchange.families:
            yield from self._shuffles(program, exchange, one_by_one)
        rest = exchange.rest()
        if rest:
            permutes = f"; byte permutes are {_PERMUTES[vendor]}" if "permute" in rest and vendor in _PERMUTES else ""
            heading = "after the last shuffle" if exchange.families else "in each lane"
            yield DrawnStep("the rest", [told_panel(f"{heading}: {rest}", [f"selects are arith.select{permutes}"])])
        if exchange.families:
            yield DrawnStep(
                "what arrives when", [exchange.brought("which shuffle brings the element of each register")]
            )
        rounds = rounds_of(program)
        if rounds:
            yield from self._memory(program, contents, rounds, name, MOST_MEMORY_ROWS if one_by_one else FEW_ROWS)

    def _shuffles(self, program: Program, exchange: Exchange, one_by_one: bool) -> Iterator[DrawnStep]:
        total = len(exchange.carried)
        whole = one_by_one and total * program.lanes * program.registers <= MOST_STEP_CELLS
        shuffles = [step for step in program.steps if isinstance(step, Shuffle)]
        for family in exchange.families[:MOST_FAMILIES] if not whole else exchange.families:
            count = len(family.patterns)
            if whole:
                for place, (pattern, term) in enumerate(zip(family.patterns, family.terms, strict=True)):
                    shuffle = family.first + place
                    alone = replace(family, first=shuffle, patterns=(pattern,), terms=(term,), work="")
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
        name: Callable[[int], str],
        rows: int,
    ) -> Iterator[DrawnStep]:
        stores = [step for step in rounds[0] if isinstance(step, Store)]
        loads = [step for step in rounds[0] if isinstance(step, Load)]
        often = f" in the first of {len(rounds)} rounds" if len(rounds) > 1 else ""
        banks = f"{counted(program.slm_bytes, 'byte')} of shared memory, {BANKS} banks of {BANK_BYTES} bytes"
        steps = (
            ("store", stores, f"{_each('store', stores)} per lane{often}", banks),
            ("load", loads, f"{_each('load', loads)} per lane{often}", "the same memory"),
        )
        barriers = [step for step in program.steps if isinstance(step, Barrier)]
        for verb, some, heading, where in steps:
            if verb == "load" and barriers:
                scope = (
                    f"all {program.subgroups} subgroups wait"
                    if barriers[0].scope != "subgroup"
                    else "the lanes of a subgroup wait"
                )
                times = "" if len(barriers) == 1 else f"{len(barriers)} times: "
                waits = f"{times}{scope}: all is stored before any is loaded"
                yield DrawnStep(
                    "barrier", [arrow_down([f"barrier: {waits}; {self._paid(program, barriers, 'gpu.barrier')}"])]
                )
            if some:
                head = told_panel(
                    f"{verb}: {heading}", [f"{where}; {self._paid(program, some, _instruction(verb, some))}"]
                )
                yield DrawnStep(verb, [head, *Side(program, contents, some).panels(name, rows)])

    def _paid(self, program: Program, steps: Sequence[Step], instruction: str) -> str:
        """What some steps are written as and, where the price of each is known, what they cost."""
        cost = cost_of(self.plan.target, self.plan.pressure)
        if cost.counted or self.plan.unpriced:
            return instruction
        slots = round(sum(cost.shares([replace(program, steps=tuple(steps), pack=(), unpack=())]).values()))
        return f"{instruction}: {counted(slots, 'issue slot')} of {self.plan.cost}"

    def html(self) -> str:
        """The picture as a page that shows a step at a time, with buttons."""
        from layoutalg.viz.stepped import page

        return page(self.title, self.views(one_by_one=True))

    def _repr_html_(self) -> str:
        from layoutalg.viz.stepped import fragment

        return fragment(self.title, self.views(one_by_one=True))

    def views(self, *, one_by_one: bool = False) -> list[tuple[str, str]]:
        """Each step as an SVG document of its own, with its name; `one_by_one` is that of `steps`.

        >>> from layoutalg.conversion import convert
        >>> [name for name, _ in convert("d0 = 2@reg 2@lane", "d0 = 2@lane 2@reg").picture().views()]
        ['what it does', 'shuffle', 'the rest', 'what arrives when']
        """
        return [
            (step.name, svg_document(self._drawn([stacked(step.panels)]))) for step in self.steps(one_by_one=one_by_one)
        ]


def conversion_picture(plan: ConversionPlan, title: str | None = None) -> ConversionPicture:
    """The picture of a plan, under a title (its two layouts unless given)."""
    if title is not None:
        instance_of(title, str, "title")
    return ConversionPicture((), legal(f"{plan.source} to {plan.destination}" if title is None else title), plan=plan)


def _rows(text: str) -> list[tuple[str, str]]:
    """The rows of a plan's text, each with its name."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines()[1:]:
        found.append((line[:12].strip() or found[-1][0], line[13:]))
    return found


def _each(what: str, steps: Sequence[Store | Load]) -> str:
    sizes = [len(step.words if isinstance(step, Store) else step.to) for step in steps]
    unit = "word" if steps and steps[0].bits == 32 else "part of a word"
    parts = (
        counted(max(sizes, default=0), unit) if unit == "word" else f"{max(sizes, default=0)} x {steps[0].bits} bits"
    )
    return f"{counted(len(steps), what)} of {parts}"


def _instruction(verb: str, steps: Sequence[Store | Load]) -> str:
    """What the accesses are written as: the instruction for matrices, or plain loads and stores."""
    matrix = steps[0].matrix
    if matrix:
        return _MATRICES.get(matrix, f"{matrix} ({verb} of a matrix)")
    return (
        f"{counted(len(steps), verb)} to shared memory"
        if verb == "store"
        else f"{counted(len(steps), verb)} from shared memory"
    )
