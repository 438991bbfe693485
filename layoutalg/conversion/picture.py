"""The picture of a conversion: which register of which lane holds what before and after, and how words get there.

Shuffles are arrows between lanes and rows of a table, with the register that is sent and the one that it becomes; what goes
through shared memory is drawn as the memory, bank by bank.

>>> from layoutalg.conversion import convert
>>> plan = convert(Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg"), level="subgroup")
>>> conversion_svg(plan).count("<path")             # the first of three shuffles, in four lanes
4
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.contents import Contents, contents_of
from layoutalg.conversion.drawing.exchange import draw_exchange, draw_registers
from layoutalg.conversion.drawing.memory import draw_memory
from layoutalg.conversion.drawing.page import Page, lane_colours
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Shuffle
from layoutalg.conversion.strategies.tables import slot_tables
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_LETTERS, MOST_SLOTS
from layoutalg.core.plurals import counted

if TYPE_CHECKING:
    from layoutalg.conversion.conversion_plan import ConversionPlan

__all__ = ["conversion_svg"]


def conversion_svg(plan: ConversionPlan) -> str:
    """The conversion as an SVG document: subgroup 0, and the subgroups that it shares memory with."""
    page = Page("conversion")
    lines = [line for line in str(plan).splitlines() if not line.startswith(("source", "destination", "addresses"))]
    page.line(f"{plan.source}  to  {plan.destination}", bold=True)
    for part in (part for line in lines for part in _folded(line)):
        page.line(part)
    programs = plan.programs
    lanes, subgroups = programs[0].lanes, programs[0].subgroups
    if subgroups > 1:
        page.line(f"{'drawn':12} registers and shuffles of subgroup 0, of {subgroups}; another hue is another subgroup")
    page.line("the element in each register of each lane, coloured by the lane that it starts in")
    page.y += 4
    fills = lane_colours(lanes, subgroups)
    found = [contents_of(program) for program in programs]
    if any(contents is None for contents in found):
        page.line("too many words to follow each: registers are not drawn")
    else:
        _draw_both(page, plan, [contents for contents in found if contents is not None], fills)
    for number, (program, contents) in enumerate(zip(programs, found, strict=True), 1):
        if len(programs) > 1:
            page.line(f"part {number} of {len(programs)}: {_part(program)}", bold=True, size=12)
        name = _names(plan) if number == 1 else _anonymous(program)
        draw_exchange(page, program, contents, 0, fills[0], name)
        if program.slm_bytes:
            draw_memory(page, program, contents, fills)
    return page.svg()


def _part(program: Program) -> str:
    shuffles = program.count(Shuffle)
    return (
        f"{counted(program.slm_bytes, 'byte')} of shared memory" if program.slm_bytes else counted(shuffles, "shuffle")
    )


def _draw_both(page: Page, plan: ConversionPlan, found: list[Contents], fills: list[list[str]]) -> None:
    """The registers of subgroup 0 before and after, each by the slot of the source that its element comes from."""
    registers, lanes = plan.programs[0].source_registers, plan.programs[0].lanes
    count = plan.programs[0].subgroups * lanes * registers
    before: NDArray[np.int64] = np.arange(count).reshape(-1, lanes, registers)
    after = reduce(_through, (contents.registers for contents in found), before)
    for layout, shown in ((plan.source, before), (plan.destination, after)):  # empty slots show nothing
        held = _elements(layout, *shown.shape)
        if held is not None:
            shown[held < 0] = -1

    def colour(slot: int) -> str:
        return fills[slot // registers // lanes][slot // registers % lanes]

    sides = [("before", before[0]), ("after", after[0])]
    draw_registers(page, sides, colour, _names(plan))


def _through(held: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """The slots of the source behind slots that a later program says."""
    return np.where(after >= 0, held.reshape(-1)[after], -1)


def _names(plan: ConversionPlan) -> Callable[[int], str]:
    """The element in a slot of the source, by its coordinates."""
    source = plan.source
    held = _elements(source, plan.programs[0].subgroups, plan.programs[0].lanes, plan.programs[0].source_registers)
    if held is None:
        return str

    def name(slot: int) -> str:
        if held.flat[slot] < 0:
            return "nothing"
        if not source.rank:
            return "()"
        at = np.unravel_index(held.flat[slot], source.shape)
        return ",".join(str(int(x) + start) for x, start in zip(at, source.origins, strict=True))

    return name


def _elements(layout: Layout, *machine: int) -> NDArray[np.int64] | None:
    """The number of the element in each slot `[sg, lane, reg]`, of several the first, -1 for none; None: too many to list."""
    if prod(machine) > MOST_SLOTS or prod(layout.shape) * prod(int(one.extent) for one in layout.replicas) > MOST_SLOTS:
        return None
    if layout.flips is not None:
        held = slot_tables(layout, layout)[0]
        more = [(0, size - here) for size, here in zip(machine, held.shape, strict=True)]
        return np.pad(held, more, constant_values=-1)
    owners = [layout.owner_map(axis).reshape(-1) for axis in MACHINE]
    for factor in layout.replicas:
        copies = np.arange(int(factor.extent), dtype=np.int64) * int(factor.stride)
        owners = [
            np.add.outer(copies * (axis == factor.axis), places) for axis, places in zip(MACHINE, owners, strict=True)
        ]
    slots = np.ravel_multi_index([places.reshape(-1) for places in owners], machine)
    numbers = np.arange(prod(layout.shape))
    found = np.full(machine, -1, np.int64)
    found.flat[slots[::-1]] = np.tile(numbers, len(slots) // len(numbers))[::-1]
    return found


def _anonymous(program: Program) -> Callable[[int], str]:
    """The slots of a later program, which holds what an earlier one made."""
    return lambda slot: f"element {slot % program.source_registers}"


def _folded(line: str) -> list[str]:
    """A line of a plan in lines that fit, continued below its text."""
    if len(line) <= MOST_LETTERS:
        return [line]
    return textwrap.wrap(line, MOST_LETTERS, subsequent_indent=" " * 13, break_long_words=False, break_on_hyphens=False)
