"""What is wrong with one layout, and what would repair it.

>>> from layoutalg.ir.findings import Finding
>>> finding = Finding("layouts.operand", "lane 1 needs element (0, 1) of %x, which is in lane 0", "arith.addf", None)
>>> mistake = Mistake(finding, "%x", element=(0, 1), needed_by=(1,), holders=((0,),), axes=("lane",))
>>> mistake.repairs
()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from layoutalg.core.notation import Distributed
from layoutalg.core.plurals import counted

if TYPE_CHECKING:
    from layoutalg.compare.owners import Owner
    from layoutalg.conversion.price import Price
    from layoutalg.ir.findings import Finding
    from layoutalg.ir.places import Place

__all__ = ["UNCOMPARED", "Mistake", "Repair"]

UNCOMPARED = "layouts.unknown"
"""The rule of findings that say what could not be compared."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A change of the module after which the mistake is gone: a conversion of the operand, or another layout where it is made.

    `kind` is "convert" (put a conversion of `value` from `source` to `layout` before `place`) or "state" (say `layout` about
    `value`, where `place` makes it). Where `restated` is not empty, it is the attribute in which the operation that takes the
    value then says `layout` too. `cost` is in issue slots of the target; None where it is not known.

    >>> print(Repair("state", "%x", None, la.parse("#xegpu.layout<lane_layout = [1, 16]>"), None, 0))
    make %x in #xegpu.layout<lane_layout = [1, 16]>: no cost
    """

    kind: Literal["convert", "state"]
    value: str
    source: Distributed | None
    layout: Distributed
    place: Place | None
    cost: int | None
    target: str = "pvc"
    restated: str = ""
    price: Price | None = None
    """What a conversion costs, with what was assumed (`layoutalg.price`)."""

    def __str__(self) -> str:
        line = f" (line {self.place.line})" if self.place is not None and self.kind == "state" else ""
        price = "of a cost that is not known"
        if self.cost is not None:
            price = f"{counted(self.cost, 'issue slot')} on {self.target}" if self.cost else "no cost"
        also = f", and say so in {self.restated}" if self.restated else ""
        if self.kind == "state":
            return f"make {self.value}{line} in {self.layout}{also}: {price}"
        return f"convert {self.value} to {self.layout} before it{also}: {price}"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A finding with what it is made of: the operand, both layouts, the element, who needs it, who holds it, and repairs.

    `needed` and `held` are layouts of the operand (None where the finding is about something else); `needed_by` and `holders`
    have one coordinate per axis of `axes`. The cheapest repair comes first.

    >>> from layoutalg.ir.findings import Finding
    >>> Mistake(Finding("layouts.fit", "no", "arith.addf", None), "%x").element
    """

    finding: Finding
    operand: str
    needed: Distributed | None = None
    held: Distributed | None = None
    element: tuple[int, ...] | None = None
    needed_by: Owner = ()
    holders: tuple[Owner, ...] = ()
    axes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()

    def __str__(self) -> str:
        return str(self.finding)
