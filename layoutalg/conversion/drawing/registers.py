"""Registers drawn: what each register of each lane holds before and after, and which shuffles bring it.

`Ends` knows the slots of the source, `(sg * lanes + lane) * registers + register`, that every register of the destination comes
from, and the elements in them; both sides are drawn in the colours of the lanes that elements start in.

>>> from layoutalg.conversion.drawing.contents import contents_of
>>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup")
>>> ends = ends_of(plan, [contents_of(program) for program in plan.programs])
>>> ends.after.tolist(), ends.name(2)           # lane 0 ends with registers 0 of lanes 0 and 1; the latter holds e[0, 1]
([[[0, 2], [1, 3]]], '0,1')

All subgroups are drawn where they are small, else the first alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, NamedTuple

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

__all__ = ["Ends", "Outlined", "drawn_subgroups", "ends_of", "ends_panels", "marked_lane"]

_MOST_ROWS, _MOST_CELLS = 16, 256
"""Registers of a lane of each subgroup together, and those of all lanes, up to which all subgroups are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """What is held before and after: slots of the source, `[sg, lane, register]`, -1 for nothing; and their elements.

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
        sg, lane = divmod(lane, self.before.shape[1])
        return sg, lane, register

    def got_in(self, part: int, lane: tuple[int, int] | None) -> frozenset[int]:
        """The slots that a program begins with whose elements a lane (its subgroup and number) ends with."""
        if lane is None:
            return frozenset()
        got = self.after[lane]
        return frozenset(np.flatnonzero(np.isin(self.parts[part], got[got >= 0])).tolist())


class Outlined(NamedTuple):
    """What one lane ends with: the lane in words, the slots of it that a program begins with, and the lane's number.

    The number is None where the program is not the last, or the lane one of another subgroup than the first.
    """

    words: str = ""
    slots: frozenset[int] = frozenset()
    lane: int | None = None


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
    return Ends(before, after, registers, _elements(plan.source, subgroups, lanes, registers), plan.source, parts)


def drawn_subgroups(ends: Ends) -> range:
    """The subgroups that are drawn: all of a few small ones, else the first."""
    count, lanes = ends.before.shape[:2]
    rows = count * max(ends.before.shape[2], ends.after.shape[2])
    return range(count if rows <= _MOST_ROWS and rows * lanes <= _MOST_CELLS else 1)


def ends_panels(
    ends: Ends,
    fills: Sequence[Sequence[str]],
    marked: tuple[int, int] | None,
    most: int = MOST_DRAWN_REGISTERS,
    spare: float = 0,
) -> list[tuple[Panel, Panel]]:
    """The registers of each drawn subgroup before and after, by the element in each, in the colour of the lane it starts in.

    At most so many registers of a lane are drawn, cells have so many `spare` pixels; what the lane `marked` gets is outlined.
    """
    groups = drawn_subgroups(ends)
    sides = (("before", ends.before), ("after", ends.after))
    names = [ends.name(int(slot)) for _, held in sides for slot in held[: len(groups), :, :most].flat if slot >= 0]
    wide = width_for(max(map(len, names), default=1)) + spare
    got = ends.got_in(0, marked)

    def panel(title: str, held: NDArray[np.int64], sg: int) -> Panel:
        def outlined(lane: int, slot: int) -> bool:
            return slot in got if held is ends.before else (sg, lane) == marked

        return _end(title, held[sg], ends, fills, wide, outlined, most, sg if len(groups) > 1 else None)

    return [(panel(*sides[0], sg), panel(*sides[1], sg)) for sg in groups]


def marked_lane(ends: Ends, most: int = MOST_DRAWN_REGISTERS) -> tuple[int, int] | None:
    """The subgroup and lane whose elements are outlined on both sides: the first drawn that gets one from another; or None.

    Another subgroup counts for more than another lane of its own.

    >>> from layoutalg.conversion.drawing.contents import contents_of
    >>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup")
    >>> marked_lane(ends_of(plan, [contents_of(program) for program in plan.programs]))
    (0, 1)
    """
    groups = drawn_subgroups(ends)
    found: list[tuple[bool, bool, int, int]] = []
    for sg in groups:
        for lane in folded(_told(ends.after[sg], ends, most)):
            if lane is not None:
                starts = [ends.place(int(slot))[:2] for slot in ends.after[sg, lane, :most] if slot >= 0]
                across = any(start[0] != sg and start[0] in groups for start in starts)
                if across or any(start != (sg, lane) for start in starts):
                    found.append((not across, not lane, sg, lane))
    return min(found)[2:] if found else None


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
    outlined: Callable[[int, int], bool],
    most: int,
    group: int | None,
) -> Panel:
    told = _told(held, ends, most)
    lanes, registers = folded(told), folded(told.swapaxes(0, 1))
    which = "" if group is None else f"subgroup {group}, "

    def look(register: int, lane: int) -> Look:
        slot = int(held[lane, register])
        words = ends.name(slot) if slot >= 0 else "nothing"
        sentence = f"{title}: {which}lane {lane}, register {register}: {words}"
        if slot < 0:
            return Look(PALE, "", sentence)
        sg, start, _ = ends.place(slot)
        return Look(fills[sg][start], words, sentence, edge=FRAME * outlined(lane, slot))

    heading = title if group is None else f"{title}: subgroup {group}"
    panel = cell_table(heading, "lane", lanes, _named(registers), look, (wide, 17))
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
