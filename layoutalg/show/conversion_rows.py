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
    from layoutalg.compare import Same
    from layoutalg.conversion.triton_way import TritonPrice
    from layoutalg.flow.conversions import FlowConversion
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
    """A row for each conversion of a module, in the order of the text; equal ones are planned once, not too many in all.

    What a conversion converts, where it does not say so, is how the flow has its operand, as in `check`.
    """
    inside = _in_flows(module, machine, target)
    known: dict[tuple[Any, ...], ConversionRow] = {}
    rows: list[ConversionRow] = []
    slots = MOST_PLANNED_SLOTS
    for one in _conversions(module, inside):
        found = inside.get(one.source.place)
        on, chosen = (machine, None) if found is None else (found.machine, found.conversion.chosen)
        ends = None if chosen is None else tuple([(end.layout, end.levels) for end in chosen])
        key = (one.source.text, one.target.text, one.shape, one.source.element, on, ends)
        row = known.get(key)
        if row is None:
            size = prod(one.shape or ())
            slots -= size
            row = known[key] = _row(one, machine, found, target, slots >= 0 or size > MOST_PLANNED_SLOTS)
        rows.append(replace(row, conversion=one))
    return rows


@dataclass(frozen=True, slots=True)
class _InFlow:
    """A conversion as its flow has it, and the machine of the kernel in which it stands."""

    conversion: FlowConversion
    machine: Machine

    @property
    def same(self) -> Same:
        """Whether both ends are one map, with the levels that the text leaves open as the flow has them."""
        from layoutalg.compare import same

        return same(*self.conversion.ends, self.conversion.value.shape, machine=self.machine)


def _in_flows(module: Module, machine: Machine, target: str) -> dict[Place | None, _InFlow]:
    """The conversions of a module as their flows have them, by their places."""
    from layoutalg.flow.conversions import conversions_in
    from layoutalg.flow.graph import flows_of
    from layoutalg.flow.levels import machine_in
    from layoutalg.flow.values import solved
    from layoutalg.flow.written_layouts import CONVERTING
    from layoutalg.ir.places import place_of

    found: dict[Place | None, _InFlow] = {}
    if not any(use.operation in CONVERTING for use in module.layouts):
        return found
    for part in module.parts:
        for flow in flows_of(part.module):
            try:
                on = machine | machine_in(flow, target)
                held = solved(flow, on, target).stated
            except LayoutError:  # a workgroup that no chip has: prices are of the layouts alone
                continue
            found |= {place_of(one.user): _InFlow(one, on) for one in conversions_in(flow, on, held)}
    return found


def _conversions(module: Module, inside: Mapping[Place | None, _InFlow]) -> list[LayoutConversion]:
    """Those that say both layouts, and those whose source follows from the flow."""
    from layoutalg.module.conversions import LayoutConversion

    said = list(module.conversions)
    places = {one.source.place for one in said}
    for use in module.layouts:
        found = inside.get(use.place)
        if found is not None and use.place not in places and use.attribute == found.conversion.result:
            source = found.conversion.source
            said.append(LayoutConversion(replace(use, operand="source", attribute=source, text=str(source)), use))
            places.add(use.place)
    return sorted(said, key=lambda one: (one.source.place is None, one.source.place))


def _row(one: LayoutConversion, machine: Machine, inside: _InFlow | None, target: str, planned: bool) -> ConversionRow:
    facts: dict[str, Any] = {"source": one.source.text, "target": one.target.text}
    if inside is not None and not inside.conversion.is_stated:
        facts["stated"] = False
    try:
        answer = one.same(machine) if inside is None else inside.same
    except LayoutError as error:
        facts["reason"] = str(error)
        return ConversionRow(one, str(error), "", facts)
    facts |= {"same": bool(answer), "explanation": answer.explanation}
    if answer.element is not None:
        facts["element"] = list(answer.element)
    if not planned:
        return ConversionRow(one, str(answer), "not planned: there are too many; ask `layoutalg convert`", facts)
    paid = one.price(machine, target=target) if inside is None else inside.conversion.price(inside.machine, target)
    triton = _triton(one, target)
    facts |= {"price": paid.facts, "cost": paid.slots} | ({} if triton is None else {"triton": triton.facts})
    theirs = "" if triton is None else f"Triton: {triton.text}"
    if paid.slots is None:
        return ConversionRow(one, str(answer), paid.text, facts, theirs)
    if answer:
        return ConversionRow(one, str(answer), "", facts, theirs)
    plan = paid.plan
    facts |= {name: getattr(plan, name) for name in ("kind", "shuffles", "slm_bytes", "barriers")}
    memory = f"{plan.slm_bytes:,} bytes of shared memory" if plan.slm_bytes else "no shared memory"
    barriers = counted(plan.barriers, "barrier") if plan.barriers else "no barriers"
    words = f"{counted(plan.shuffles, 'shuffle')}, {memory}, {barriers}, {paid}"
    return ConversionRow(one, str(answer), words, facts, theirs)


def _triton(one: LayoutConversion, target: str) -> TritonPrice | None:
    from layoutalg.conversion.triton_way import triton_says

    before, after = one.source.attribute, one.target.attribute
    return (
        None
        if before is None or after is None
        else triton_says(before, after, one.shape, one.source.element or "f32", target)
    )
