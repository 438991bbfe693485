"""The price of a conversion as bars: what the chosen way costs and for what, and below it the other ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.drawing.tables import ROOM
from layoutalg.core.plurals import counted
from layoutalg.viz.panels import DARK, PALE, Look, Panel, cell_of, stacked, told_panel

if TYPE_CHECKING:
    from layoutalg.conversion.conversion_plan import ConversionPlan

__all__ = ["price_panel"]

_HIGH = 8.0
_MOST_WAYS = 5


def price_panel(plan: ConversionPlan) -> Panel:
    """Bars of the plan's ways, the chosen one first, as long as they cost; what it is for stands in words.

    >>> plan = la.convert("d0 = 2@lane 2@lane:2", "d0 = 2@lane:2 2@lane", level="subgroup")
    >>> [cell.sentence for cell in price_panel(plan).cells]
    ['32 issue slots: an exchange in registers and lanes, taken']
    """
    price = cost_of(plan.target, plan.pressure)
    shares = price.shares(plan.programs)
    unit = "instruction" if price.counted else "issue slot"
    ways = sorted(plan.candidates, key=lambda one: one.name != plan.chosen.name)[:_MOST_WAYS]
    most = max([one.cost for one in ways] + [1])
    panels: list[Panel] = []
    for way in ways:
        taken = way.name == plan.chosen.name
        name = f"{way.cost} {'' if taken else 'instead: '}{way.name}"
        told = f"{counted(way.cost, 'issue slot')}: {way.name}, {'taken' if taken else 'not taken'}"
        bar = cell_of(0, 0, max(ROOM * way.cost / most, 2.0), _HIGH, Look(DARK if taken else PALE, "", told))
        panels.append(stacked([told_panel("", [name]), Panel((bar,), (), (), bar.width, _HIGH)], 1))
    parts = ", ".join(f"{slots:.4g} for {name}" for name, slots in sorted(shares.items(), key=lambda one: -one[1]))
    total = f"{sum(shares.values()):.4g}"
    notes = [f"its code, {total} {unit}{'s' * (total != '1')}: {parts}"] if parts else []
    heading = told_panel(f"the price: {counted(plan.cost, 'issue slot')} on {plan.target}, {price.origin}", notes)
    more = len(plan.candidates) - len(ways)
    return stacked([heading, *panels, *[told_panel("", [f"and {counted(more, 'more way')}"])] * bool(more)], 5)
