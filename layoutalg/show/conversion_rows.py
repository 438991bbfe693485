"""The conversions of a module as `show` tells them: what moves, what it costs, and what Triton emits for its own.

>>> module = la.read('''func.func @f(%x: vector<16x16xf32>) {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>
...   func.return }''')
>>> [row] = conversion_rows(module, Machine(), "pvc")
>>> print(row.words)
element (0, 1) is in lane 1, register 0 in the first and in lane 0, register 1 in the second
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_PLANNED_SLOTS
from layoutalg.core.notation import Machine
from layoutalg.core.plurals import counted

if TYPE_CHECKING:
    from layoutalg.conversion.triton_way import TritonPrice
    from layoutalg.ir.places import Place
    from layoutalg.module import LayoutConversion, Module

__all__ = ["ConversionRow", "conversion_rows"]


@dataclass(frozen=True, slots=True)
class ConversionRow:
    """One conversion of a module: whether something moves, and what it costs (empty where it cannot be planned)."""

    conversion: LayoutConversion
    words: str
    cost: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    triton: str = ""
    """What Triton emits for it, on chips that it compiles for."""


def conversion_rows(module: Module, machine: Machine, target: str) -> list[ConversionRow]:
    """A row for each conversion of a module; equal ones are planned once, and not more than a limit in all."""
    conversions = module.conversions
    kernels = _machines(module, target) if conversions else {}
    known: dict[tuple[Any, ...], ConversionRow] = {}
    rows: list[ConversionRow] = []
    slots = MOST_PLANNED_SLOTS
    for one in conversions:
        on = machine | kernels.get(one.source.place, Machine())
        key = (one.source.text, one.target.text, one.shape, one.source.element, on)
        row = known.get(key)
        if row is None:
            size = prod(one.shape or ())
            slots -= size
            row = known[key] = _conversion(one, machine, on, target, slots >= 0 or size > MOST_PLANNED_SLOTS)
        rows.append(replace(row, conversion=one))
    return rows


def _machines(module: Module, target: str) -> dict[Place | None, Machine]:
    """The machine of the kernel in which each operation with two layouts stands, by its place."""
    from layoutalg.flow.graph import flows_of
    from layoutalg.flow.levels import machine_in
    from layoutalg.ir.places import place_of

    found: dict[Place | None, Machine] = {}
    for part in module.parts:
        for flow in flows_of(part.module):
            try:
                machine = machine_in(flow, target)
            except LayoutError:  # a workgroup that no chip has: prices are of the layouts alone
                continue
            found |= {place_of(statement.user): machine for statement in flow.wanted}
    return found


def _conversion(one: LayoutConversion, machine: Machine, on: Machine, target: str, planned: bool) -> ConversionRow:
    facts: dict[str, Any] = {"source": one.source.text, "target": one.target.text}
    try:
        answer = one.same(machine)
    except LayoutError as error:
        facts["reason"] = str(error)
        return ConversionRow(one, str(error), "", facts)
    facts |= {"same": bool(answer), "explanation": answer.explanation}
    if answer.element is not None:
        facts["element"] = list(answer.element)
    if not planned:
        return ConversionRow(one, str(answer), "not planned: there are too many; ask `layoutalg convert`", facts)
    found, triton = one.price(on, chip=target), _triton(one, target)
    facts |= {"price": found.facts, "cost": found.slots} | ({} if triton is None else {"triton": triton.facts})
    theirs = "" if triton is None else f"Triton: {triton.text}"
    if found.slots is None:
        return ConversionRow(one, str(answer), found.text, facts, theirs)
    if answer:
        return ConversionRow(one, str(answer), "", facts, theirs)
    plan = found.plan
    facts |= {name: getattr(plan, name) for name in ("kind", "shuffles", "slm_bytes", "barriers")}
    memory = f"{plan.slm_bytes:,} bytes of shared memory" if plan.slm_bytes else "no shared memory"
    barriers = counted(plan.barriers, "barrier") if plan.barriers else "no barriers"
    words = f"{counted(plan.shuffles, 'shuffle')}, {memory}, {barriers}, {found}"
    return ConversionRow(one, str(answer), words, facts, theirs)


def _triton(one: LayoutConversion, target: str) -> TritonPrice | None:
    from layoutalg.conversion.triton_way import triton_says

    before, after = one.source.attribute, one.target.attribute
    return (
        None
        if before is None or after is None
        else triton_says(before, after, one.shape, one.source.element or "f32", target)
    )
