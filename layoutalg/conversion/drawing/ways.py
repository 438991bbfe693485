"""The ways of a conversion as bars, as long as each costs, and the price alone: what ends a notebook cell of either.

>>> source, destination = Layout.parse("d0 = 2@sg 2@reg, d1 = 16@lane"), Layout.parse("d0 = 2@reg 2@sg, d1 = 16@lane")
>>> for cell in ways_picture(la.convert(source, destination).candidates).scene().cells:
...     print(cell.sentence)
323 issue slots: only what crosses goes through shared memory
448 issue slots: everything goes through shared memory
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layoutalg.conversion.drawing.prices import price_panel
from layoutalg.conversion.drawing.tables import ROOM
from layoutalg.core.plurals import counted
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import DARK, PALE, Look, Panel, cell_of, stacked, told_panel

if TYPE_CHECKING:
    from layoutalg.conversion.candidate import Candidate
    from layoutalg.conversion.conversion_plan import ConversionPlan

__all__ = ["PricePicture", "WaysPicture", "price_picture", "ways_picture"]

_HIGH = 8.0
_MOST = 16
"""Ways that are drawn; of the others the range of their costs is said."""


@dataclass(frozen=True, slots=True, repr=False)
class WaysPicture(PanelPicture):
    """A bar for each way, the best first."""

    ways: tuple[Candidate, ...] = field(kw_only=True)

    def subtitle(self) -> str:
        """What the numbers are."""
        return "issue slots of a subgroup: the time in which it issues one instruction"

    def key(self) -> Sequence[tuple[str, str]]:
        """The colours."""
        return [("the best way", DARK), ("another way", PALE)]

    def panels(self) -> Sequence[Panel]:
        """The bars, each under its way and what it does."""
        most = max([way.cost for way in self.ways] + [1])
        panels: list[Panel] = []
        for number, way in enumerate(self.ways[:_MOST]):
            told = f"{counted(way.cost, 'issue slot')}: {way.name}"
            look = Look(PALE if number else DARK, "", told)
            bar = cell_of(0, 0, max(ROOM * way.cost / most, 2.0), _HIGH, look)
            does = [] if way.work == "nothing" else [way.work]
            panels.append(stacked([told_panel("", [told, *does]), Panel((bar,), (), (), bar.width, _HIGH)], 1))
        left = self.ways[_MOST:]
        if left:
            costs = f"{min(way.cost for way in left)} to {max(way.cost for way in left)} issue slots"
            panels.append(told_panel("", [f"and {counted(len(left), 'more way')}, {costs}"]))
        return [stacked(panels, 7)]


@dataclass(frozen=True, slots=True, repr=False)
class PricePicture(PanelPicture):
    """What the price of a plan is made of, and what the other kinds of ways cost."""

    plan: ConversionPlan = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The bars of the plan's own picture."""
        return [price_panel(self.plan)]


def ways_picture(ways: tuple[Candidate, ...]) -> WaysPicture:
    """The picture of the candidates of a plan."""
    return WaysPicture((), f"{counted(len(ways), 'way')} to convert, the best first", ways=ways)


def price_picture(plan: ConversionPlan) -> PricePicture:
    """The picture of a plan's price."""
    return PricePicture((), f"{plan.source} to {plan.destination}", plan=plan)
