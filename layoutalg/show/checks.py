"""What `layoutalg check` prints beside its findings: the conversions with their prices, and everything as data.

>>> checked = la.check('''func.func @f(%x: vector<16x16xf32>) {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>}> : vector<16x16xf32>
...   func.return }''')
>>> print_conversions(checked)
conversions
     2  %y = xegpu.convert_layout  16x16  redundant: the same work-items hold the same elements
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutalg.core.messages import printable

if TYPE_CHECKING:
    from layoutalg.checking import Check, CheckedConversion, Mistake, Repair
    from layoutalg.core.notation import Distributed

__all__ = ["check_facts", "print_conversions"]


def print_conversions(checked: Check) -> None:
    """Print the conversions of the module, of Triton's whether it is needed first; nothing if it has no conversions."""
    if not checked.conversions:
        return
    print("conversions")
    rows = [_row(one) for one in checked.conversions]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for line, name, shape, first, *rest in rows:
        print(f"{line:>{max(6, widths[0])}}  {name:<{widths[1]}}  {shape:<{widths[2]}}  {first}")
        for told in rest:
            print(f"{'':{max(6, widths[0])}}    {told}")


def _row(one: CheckedConversion) -> tuple[str, ...]:
    line = "" if one.place is None else str(one.place.line)
    name = printable(f"{one.name} = {one.operation}" if one.name else one.operation)
    told = "redundant: the same work-items hold the same elements" if one.is_redundant else str(one.price)
    if one.needed_by:
        told = f"moves nothing, and {one.needed_by} crashes without it"
    way = () if one.triton is None else (f"Triton: {one.triton.text}",)
    verdict = () if one.remade is None else (str(one.remade),)
    return line, name, "x".join(map(str, one.shape)), *verdict, told, *way


def check_facts(checked: Check) -> dict[str, Any]:
    """A check as data, for JSON; the findings are printed with it."""
    return {
        "llvm": checked.llvm,
        "target": checked.target,
        "right": None if checked.verdict == "unknown" else checked.is_right,
        "operations": checked.operations,
        "unknown": list(checked.unknown),
        "without_layout": checked.unsaid,
        "cost": checked.cost,
        "conversions": [_conversion_facts(one) for one in checked.conversions],
        "mistakes": [_mistake_facts(one) for one in checked.mistakes],
    }


def _text(layout: Distributed | None) -> str | None:
    return None if layout is None else str(layout)


def _conversion_facts(one: CheckedConversion) -> dict[str, Any]:
    return {
        "line": None if one.place is None else one.place.line,
        "operation": one.operation,
        "name": one.name,
        "shape": list(one.shape),
        "source": str(one.source),
        "result": str(one.result),
        "redundant": one.is_redundant,
        "needed_by": one.needed_by or None,
        "cost": one.cost,
        "price": one.price.facts,
        **({} if one.triton is None else {"triton": one.triton.facts}),
        **({} if one.remade is None else {"avoidable": one.remade.facts}),
    }


def _mistake_facts(one: Mistake) -> dict[str, Any]:
    return {
        "rule": one.finding.rule,
        "line": None if one.finding.place is None else one.finding.place.line,
        "operand": one.operand,
        "needed": _text(one.needed),
        "held": _text(one.held),
        "element": None if one.element is None else list(one.element),
        "axes": list(one.axes),
        "needed_by": list(one.needed_by),
        "holders": [list(holder) for holder in one.holders],
        "repairs": [_repair_facts(repair) for repair in one.repairs],
    }


def _repair_facts(one: Repair) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "value": one.value,
        "layout": str(one.layout),
        "cost": one.cost,
        "price": None if one.price is None else one.price.facts,
        "text": str(one),
    }
