"""Registers drawn: what each register of each lane holds before and after, and which shuffles bring it.

`Ends` knows the slots of the source, `(sg * lanes + lane) * registers + register`, that every register of the destination comes
from, and the elements in them; both sides are drawn in the colours of the lanes that elements start in.

>>> from layoutalg.conversion.drawing.contents import contents_of
>>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup")
>>> ends = ends_of(plan, [contents_of(program) for program in plan.programs])
>>> ends.after.tolist(), ends.name(2)           # lane 0 ends with registers 0 of lanes 0 and 1; the latter holds e[0, 1]
([[0, 2], [1, 3]], '0,1')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.drawing.contents import Contents
from layoutalg.conversion.drawing.tables import FRAME, Band, cell_table, folded, width_for
from layoutalg.conversion.strategies.tables import slot_tables
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_DRAWN_REGISTERS, MOST_SLOTS
from layoutalg.core.plurals import counted
from layoutalg.viz.panels import PALE, Look, Panel, stacked, told_panel

if TYPE_CHECKING:
    from layoutalg.conversion.conversion_plan import ConversionPlan

__all__ = ["Ends", "ends_of", "ends_panels", "marked_lane"]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """What subgroup 0 holds before and after: slots of the source, `[lane, register]`, -1 for nothing; and their elements.

    `parts` has for each program the slots of the source that are in what it begins with, `[sg, lane, register]`.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    registers: int
    elements: NDArray[np.int64] | None
    source: Layout
    parts: Sequence[NDArray[np.int64]]

    def name_in(self, part: int) -> Callable[[int], str]:
        """What the elements are called in the slots that a program begins with."""
        return lambda slot: self.name(int(self.parts[part].flat[slot]))

    def name(self, slot: int) -> str:
        """The element in a slot of the source, by its coordinates."""
        if self.elements is None:
            return str(slot)
        if slot < 0 or self.elements.flat[slot] < 0:
            return "nothing"
        return ",".join(map(str, self.at(slot))) if self.source.rank else "()"

    def at(self, slot: int) -> tuple[int, ...]:
        """The coordinates of the element in a slot."""
        if self.elements is None or slot < 0 or self.elements.flat[slot] < 0:
            return (-1,) * max(self.source.rank, 1)
        if not self.source.rank:
            return (0,)
        found = np.unravel_index(self.elements.flat[slot], self.source.shape)
        return tuple([int(x) + start for x, start in zip(found, self.source.origins, strict=True)])

    def place(self, slot: int) -> tuple[int, int, int]:
        """The subgroup, the lane and the register of a slot; -1 of nothing."""
        if slot < 0:
            return -1, -1, -1
        lane, register = divmod(slot, self.registers)
        return (*divmod(lane, len(self.before)), register)


def ends_of(plan: ConversionPlan, found: Sequence[Contents]) -> Ends:
    """Both ends of a plan, by what its programs make of the slots of the source."""
    registers, lanes, subgroups = plan.programs[0].source_registers, plan.programs[0].lanes, plan.programs[0].subgroups
    before: NDArray[np.int64] = np.arange(subgroups * lanes * registers).reshape(-1, lanes, registers)
    *parts, after = accumulate((contents.registers for contents in found), _through, initial=before)
    after = after.copy()
    for layout, shown in ((plan.source, before), (plan.destination, after)):  # empty slots show nothing
        held = _elements(layout, *shown.shape)
        if held is not None:
            shown[held < 0] = -1
    return Ends(before[0], after[0], registers, _elements(plan.source, subgroups, lanes, registers), plan.source, parts)


def ends_panels(ends: Ends, fills: Sequence[Sequence[str]], most: int = MOST_DRAWN_REGISTERS) -> list[Panel]:
    """The registers before and after, each by the element in it, in the colour of the lane that the element starts in.

    At most so many registers of a lane are drawn.
    """
    sides = (("before", ends.before), ("after", ends.after))
    marked = marked_lane(ends, most)
    names = [ends.name(int(slot)) for _, held in sides for slot in held[:, :most].flat if slot >= 0]
    wide = width_for(max(map(len, names), default=1)) + 3
    outlined: set[int] = set() if marked is None else {int(slot) for slot in ends.after[marked] if slot >= 0}
    return [
        _end(title, held, ends, fills, wide, outlined if held is ends.before else marked, most) for title, held in sides
    ]


def marked_lane(ends: Ends, most: int = MOST_DRAWN_REGISTERS) -> int | None:
    """The lane whose elements are outlined on both sides: the first that is drawn and gets one from another; None without.

    >>> from layoutalg.conversion.drawing.contents import contents_of
    >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup")
    >>> marked_lane(ends_of(plan, [contents_of(program) for program in plan.programs]))
    1
    """
    lanes = [lane for lane in folded(_told(ends.after, ends, most)) if lane is not None]
    found = [
        lane
        for lane in lanes
        if any(slot >= 0 and ends.place(int(slot))[:2] != (0, lane) for slot in ends.after[lane, :most])
    ]
    return next((lane for lane in found if lane), found[0] if found else None)


def _told(held: NDArray[np.int64], ends: Ends, most: int) -> NDArray[np.int64]:
    """What is said of each register of each lane, in numbers: by these columns and rows are folded."""
    drawn = held[:, :most].tolist()
    return np.array([[(*ends.at(slot), *ends.place(slot)) for slot in row] for row in drawn])


def _end(
    title: str,
    held: NDArray[np.int64],
    ends: Ends,
    fills: Sequence[Sequence[str]],
    wide: float,
    outlined: set[int] | int | None,
    most: int,
) -> Panel:
    told = _told(held, ends, most)
    lanes, registers = folded(told), folded(told.swapaxes(0, 1))

    def look(register: int, lane: int) -> Look:
        slot = int(held[lane, register])
        words = ends.name(slot) if slot >= 0 else "nothing"
        sentence = f"{title}: lane {lane}, register {register}: {words}"
        if slot < 0:
            return Look(PALE, "", sentence)
        sg, start, _ = ends.place(slot)
        marks = lane == outlined if not isinstance(outlined, set) else slot in outlined
        return Look(fills[sg][start], words, sentence, edge=FRAME * marks)

    panel = cell_table(title, "lane", lanes, _named(registers), look, (wide, 17))
    if held.shape[1] <= most:
        return panel
    more = counted(held.shape[1] - most, "more register")
    return stacked([panel, told_panel("", [f"and {more}"])], 2)


def _named(registers: Sequence[Band]) -> list[tuple[str, Band]]:
    return [(f"r{register}", register) for register in registers]


def _through(held: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """The slots of the source behind slots that a later program says."""
    return np.where(after >= 0, held.reshape(-1)[after], -1)


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
