"""The price of a conversion as bars: what the chosen way costs and for what, below it the cheapest way of each other kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.drawing.tables import ROOM
from layoutalg.core.plurals import counted
from layoutalg.hardware.shared_memory import CYCLE_BYTES
from layoutalg.viz.panels import DARK, PALE, Look, Panel, cell_of, stacked, told_panel

if TYPE_CHECKING:
    from layoutalg.conversion.candidate import Candidate
    from layoutalg.conversion.conversion_plan import ConversionPlan

__all__ = ["price_panel"]

_HIGH = 8.0
_MOST_WAYS = 3


def price_panel(plan: ConversionPlan) -> Panel:
    """Bars of the plan's ways, the chosen one first, as long as they cost; what it is for stands in words.

    >>> plan = la.convert("d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg")
    >>> for cell in price_panel(plan).cells:
    ...     print(cell.sentence)
    271 issue slots: an exchange in registers and lanes, taken
    1280 issue slots: everything goes through shared memory, not taken

    A way alone has no bar: there is nothing to compare it with.
    """
    price = cost_of(plan.target, plan.pressure)
    found = price.parts(plan.programs, plan.workgroups)
    notes = ["an issue slot: the time in which a subgroup issues one instruction"]
    notes[0] += "; listings: a compiler's machine code" * price.counted
    if found is None:
        parts = sorted(price.shares(plan.programs).items(), key=lambda one: -one[1])
        told = [f"{round(slots)} {'slots ' * (i == 0)}for {name}" for i, (name, slots) in enumerate(parts)]
        notes += [f"{', '.join(told)}: see the steps"] * (len(parts) > 1)
    else:
        shared = ", as all subgroups share it" * (plan.pressure == "all")
        each = f", {price.unit:g} slots each{shared}" if price.unit > 1 else ""
        busy = {
            f"to issue {counted(round(found.issued), 'instruction')}": found.issued,
            "for the ALUs": found.alu,
            f"for shared memory ({counted(round(found.cycles), 'cycle')} of {CYCLE_BYTES} bytes{each})": found.memory,
            "for the cluster's network": found.network,
        }
        parts = sorted(busy.items(), key=lambda one: -one[1])[:2]
        told = "; ".join(f"{counted(round(slots), 'slot')} {name}" for name, slots in parts if slots >= 1)
        notes += [f"the price is what takes longest: {told}"] * bool(told)
    others: dict[str, Candidate] = {}
    for way in sorted(plan.candidates, key=lambda one: (one.name != plan.chosen.name, one.cost)):
        others.setdefault(_kind(way), way)
    ways = [*others.values()][:_MOST_WAYS]
    most = max([one.cost for one in ways] + [1])
    panels: list[Panel] = []
    for way in ways:
        taken = way.name == plan.chosen.name
        name = f"{counted(way.cost, 'slot')}, {'taken' if taken else 'not taken'}: {way.name}"
        told = f"{counted(way.cost, 'issue slot')}: {way.name}, {'taken' if taken else 'not taken'}"
        bar = cell_of(0, 0, max(ROOM * way.cost / most, 2.0), _HIGH, Look(DARK if taken else PALE, "", told))
        drawn = [Panel((bar,), (), (), bar.width, _HIGH)] * (len(ways) > 1)
        panels.append(stacked([told_panel("", [name]), *drawn], 1))
    heading = told_panel(f"the price: {counted(plan.cost, 'issue slot')} on {plan.target}, {price.origin}", notes)
    left = sorted(one.cost for one in plan.candidates if one not in ways)
    if left:
        span = counted(left[-1], "slot") if left[0] == left[-1] else f"{left[0]} to {left[-1]} slots"
        kinds = "these kinds" if len(ways) > 1 else "this kind"
        panels.append(told_panel("", [f"{counted(len(left), 'more way')} of {kinds}: {span}"]))
    return stacked([heading, *panels], 5)


def _kind(way: Candidate) -> str:
    """What a way does, without how."""
    return way.name.partition(",")[0]
