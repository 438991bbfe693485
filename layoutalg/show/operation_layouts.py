"""The layouts of one operation of a module: those that it states, and those that its values have by the flow around them.

The load says its layout, the exponential says none. It has the layout that its operand gives it:

>>> module = la.read('''func.func @f(%p: memref<64x64xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
...   %y = math.exp %x : vector<8x16xf32>
...   func.return }''')
>>> for name in ("%x", "%y"):
...     [use] = layout_uses_of(module, name)
...     print(use.operation, "|", use.operand, "|", use.text)
xegpu.load_nd | layout | #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
math.exp | result, as its operands give it | #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>

What the flow says is what `check` compares and what `lower` writes (`layoutalg.flow.values`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.ir import OpResult

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LONGEST_ATTRIBUTE
from layoutalg.core.messages import shortened
from layoutalg.flow.levels import on_levels
from layoutalg.flow.written_layouts import called
from layoutalg.ir.places import place_of
from layoutalg.module.chip import meant_chip
from layoutalg.module.uses import LayoutUse

if TYPE_CHECKING:
    from layoutalg.flow.graph import Value
    from layoutalg.flow.value_candidates import Candidate
    from layoutalg.module import Module

__all__ = ["layout_uses_of"]

_WHY = {"carried": "as its operands give it", "wanted": "as its uses want it"}


def layout_uses_of(module: Module, operation: str, target: str | None = None) -> tuple[LayoutUse, ...]:
    """The layouts of the operations that are asked for: by a result (`%7`), by name (`xegpu.dpas`), or by line (`12`).

    First what is stated, then the layouts of results and arguments that state none, as `check` has them for the chip `target`.

    Raises `LayoutError` where there is no such operation with a layout.

    >>> layout_uses_of(la.read("gpu.barrier"), "%7")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: '%7': text has no such operation with a layout; it has none
    """
    wanted = operation.strip()
    stated = [use for use in module.layouts if _is_asked(wanted, use)]
    known = {(use.place, use.text, use.shape) for use in stated}
    chip = meant_chip(module, target)
    found = (*stated, *(use for use in _by_flow(module, wanted, chip) if (use.place, use.text, use.shape) not in known))
    if not found:
        names = dict.fromkeys(use.name or use.operation for use in module.layouts)
        there = shortened(", ".join(filter(None, names)), LONGEST_ATTRIBUTE) or "none"
        raise LayoutError(f"{wanted!r}: {module.file} has no such operation with a layout; it has {there}")
    return found


def _is_asked(wanted: str, use: LayoutUse) -> bool:
    names = (use.name, use.operation, use.operation.partition(".")[2])
    return bool(wanted) and (wanted in names or (use.place is not None and wanted == str(use.place.line)))


def _by_flow(module: Module, wanted: str, target: str) -> Iterator[LayoutUse]:
    """The layouts of the values that are asked for, as the flow has them."""
    from layoutalg.flow.graph import flows_of
    from layoutalg.flow.levels import machine_in
    from layoutalg.flow.values import solved

    for part in module.parts:
        for flow in flows_of(part.module):
            asked = [(value, use) for value in flow.values for use in _members(module, value) if _is_asked(wanted, use)]
            if not asked:
                continue
            try:
                held = solved(flow, machine_in(flow, target), target).stated
            except LayoutError:  # a workgroup that no chip has: what is stated is all there is
                continue
            for value, use in asked:
                one = held.get(value.number)
                if one is not None:
                    yield _as_held(use, one)


def _members(module: Module, value: Value) -> Iterator[LayoutUse]:
    """The results and arguments that a value stands for, without a layout."""
    for member in value.members:
        if isinstance(member, OpResult):
            name = module.lines.result_names(member.op)[member.index]
            place, operation, what = place_of(member.op), called(member.op), "result"
        elif member.name_hint:
            place, operation, name, what = None, "", f"%{member.name_hint}", "argument"
        else:
            continue
        yield LayoutUse(place, operation, name, what, value.shape, value.element, None)


def _as_held(use: LayoutUse, one: Candidate) -> LayoutUse:
    layout = one.attribute if one.attribute is not None else on_levels(one.layout, one.levels)
    why = _WHY.get(one.how)
    if why is None:
        place = None if one.statement is None else place_of(one.statement.user)
        why = "as is stated elsewhere" if place is None else f"as line {place.line} states it"
    return replace(use, operand=f"{use.operand}, {why}", attribute=layout, text=str(layout))
