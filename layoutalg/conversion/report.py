"""A conversion between two values for people: its plan, its price and Triton's, as rows and as data.

>>> found = describe_conversion(la.parse("d0 = 4@reg, d1 = 4@lane"), la.parse("d0 = 4@lane, d1 = 4@reg"), None, la.Machine())
>>> found.rows()[-1]
('price', '20 issue slots on pvc; 4 lanes in a subgroup; a lane holds 4x1 before and 1x4 after')
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.conversion.plan import ConversionPlan, SymbolicPlan, convert
from layoutalg.core.agreement import readings
from layoutalg.core.elements import element_bits
from layoutalg.core.notation import Distributed, Machine

if TYPE_CHECKING:
    from layoutalg.conversion.price import Price
    from layoutalg.conversion.triton_way import TritonPrice

__all__ = ["ConversionDescription", "describe_conversion"]

_LABEL = 12
"""Letters of the names of a plan's rows."""


@dataclass(frozen=True, slots=True)
class ConversionDescription:
    """A plan, what it costs on the chip, what Triton's own way costs there, and how texts were read that may be two things."""

    plan: ConversionPlan
    price: Price
    triton: TritonPrice | None
    readings: tuple[str, ...]

    def rows(self) -> list[tuple[str, str]]:
        """The plan's rows, the first without a name, then the price, Triton's, and the readings."""
        head, *lines = str(self.plan).splitlines()
        found = [("", head), *((line[:_LABEL].strip(), line[_LABEL + 1 :]) for line in lines)]
        if not isinstance(self.plan, SymbolicPlan) and not self.plan.unpriced:
            regime = "" if self.plan.pressure == "all" else "; all subgroups convert at once"
            # On what is not a chip the rows above have issue slots: it says what they are.
            ranked = self.price.slots is None and self.plan.target == "generic"
            if not self.plan.portable and self.price.slots not in (None, self.plan.cost):
                regime += "; of portable code, which check, propagate and lower count"
            found.append(("price", self.price.problem if ranked else f"{self.price}{regime}"))
        if self.triton is not None:
            found.append(("triton", self.triton.text))
        return [*found, *(("reading", one) for one in self.readings)]

    def lines(self) -> list[str]:
        """The rows as lines."""
        (_, head), *rows = self.rows()
        return [head, *(f"{name:{_LABEL}} {text}" for name, text in rows)]

    @property
    def facts(self) -> dict[str, Any]:
        """Everything as data, for JSON."""
        plan = self.plan
        return {
            "source": str(plan.source),
            "destination": str(plan.destination),
            "element_bits": plan.element_bits,
            "target": plan.target,
            "level": plan.level,
            "workgroups": plan.workgroups,
            "portable": plan.portable,
            "kind": plan.kind,
            "shuffles": _fact(plan.shuffles),
            "lower_bound": _fact(plan.lower_bound),
            "bound_reason": plan.bound_reason,
            "optimal": plan.optimal,
            "selects": _fact(plan.selects),
            "permutes": _fact(plan.permutes),
            "moves": _fact(plan.moves),
            "slm_bytes": plan.slm_bytes,
            "bank_conflicts": plan.bank_conflicts,
            "barriers": plan.barriers,
            "cost": None if plan.unpriced else _fact(plan.cost),
            "pressure": plan.pressure,
            "pressures": {one: _fact(slots) for one, slots in plan.pressures.items()},
            "price": self.price.facts,
            **({} if self.triton is None else {"triton": self.triton.facts}),
            **({"readings": list(self.readings)} if self.readings else {}),
            "candidates": [
                {
                    "name": one.name,
                    "kind": one.kind,
                    "work": one.work,
                    "slm_bytes": one.slm_bytes,
                    "cost": None if plan.unpriced else one.cost,
                }
                for one in plan.candidates
            ],
        }


def describe_conversion(
    source: Distributed,
    destination: Distributed,
    shape: Sequence[int] | None,
    machine: Machine,
    *,
    element: str = "f32",
    target: str = "pvc",
    **settings: Any,
) -> ConversionDescription:
    """Plan a conversion for a chip; `settings` are those of `layoutalg.convert`.

    Raises what `layoutalg.convert` raises.
    """
    from layoutalg.conversion.ends import completed
    from layoutalg.conversion.price import price

    bits = element_bits(element)
    paid = price(source, destination, shape, element, machine, target)
    ends, _ = completed(source, destination, shape, machine)
    triton = _triton_says(source, destination, shape, element, target)
    plan = convert(
        ends[0],
        ends[1],
        shape,
        machine=machine | Machine(lanes=paid.lanes),
        element_bits=bits,
        target=target,
        **settings,
    )
    return ConversionDescription(plan, paid, triton, tuple(readings((source, destination), shape, machine)))


def _triton_says(
    source: Distributed, destination: Distributed, shape: Sequence[int] | None, element: str, target: str
) -> TritonPrice | None:
    """Triton's price between two of its encodings; there are none while nothing has imported them."""
    if "layoutalg.triton.encodings" not in sys.modules:
        return None
    from layoutalg.conversion.triton_way import triton_says

    return triton_says(source, destination, shape, element, target)


def _fact(count: Any) -> int | str:
    """A count, as text where it is an expression."""
    return count if isinstance(count, int) else str(count)
