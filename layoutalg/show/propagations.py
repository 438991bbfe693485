"""What `layoutalg propagate --explain` prints: the layout of every value and why, the conversions, and what it costs.

>>> text = '''func.func @f(%p: memref<64x64xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
...   %s = arith.addf %x, %x {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }'''
>>> from rich.console import Console
>>> print_propagation(la.propagate(text), "lane level, pvc, LLVM 24", Console(width=110))
text: lane level, pvc, LLVM 24
    #1 = layout<lane_layout=[1,16], lane_data=[1,1]>
    #2 = layout<lane_layout=[16,1], lane_data=[1,1]>
<BLANKLINE>
  line  value  tensor     layout  cost  why
     3  %x     16x16xf32  #1        24  written there
     5  %s     16x16xf32  #2        16  written there
<BLANKLINE>
conversions
     3  %x     #1 to #2, for arith.addf: 128 (16 lanes in a subgroup; a lane holds 16x1 before and 1x16 after)
<BLANKLINE>
cost 168 issue slots of a subgroup: 40 in operations, 128 in conversions; the minimum
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from layoutalg.core.limits import LONGEST_ATTRIBUTE
from layoutalg.core.messages import printable, shortened
from layoutalg.core.plurals import counted

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.core.notation import Distributed
    from layoutalg.propagation import Conversion, Decision, Propagated
    from layoutalg.side.llvm_passes.comparing import Likewise

__all__ = ["print_propagation", "propagation_facts"]


def print_propagation(done: Propagated, title: str, console: Console, others: Sequence[Likewise] = ()) -> None:
    """Print what was decided, as wide as the console: of subgroups first, where both levels were decided."""
    if done.coarser is not None:
        print_propagation(done.coarser, f"workgroup level, {title.partition(', ')[2]}", console)
        console.print()
    console.print(f"{done.module.file}: {title}", soft_wrap=True)
    labels = _labels(done)
    for text, label in labels.items():
        short = text.removeprefix("#xegpu.").replace(" = ", "=").replace("#xegpu.", "")
        console.print(f"    {label} = {shortened(_dense(short), LONGEST_ATTRIBUTE)}", soft_wrap=True)
    if done.decisions:
        console.print()
        _print_table(done.decisions, labels, console)
    if done.conversions or done.removed:
        console.print("\nconversions")
    for conversion in done.conversions:
        console.print(_conversion_line(conversion, labels), soft_wrap=True)
    for conversion in done.removed:
        line = "" if conversion.place is None else str(conversion.place.line)
        console.print(f"{line:>6}  {printable(conversion.name):<5}  taken out: it does nothing", soft_wrap=True)
    console.print()
    console.print(_cost_line(done), soft_wrap=True)
    for other in others:
        console.print(printable(other.text()), soft_wrap=True)


def _dense(text: str) -> str:
    """A list of numbers without blanks."""
    inside, found = 0, list[str]()
    for sign in text:
        inside += (sign == "[") - (sign == "]")
        if not (sign == " " and inside):
            found.append(sign)
    return "".join(found)


def _labels(done: Propagated) -> dict[str, str]:
    """A short name for every layout, in the order of the text."""
    used: list[Distributed | None] = [decision.attribute for decision in done.decisions]
    for conversion in done.conversions:
        used += [conversion.source, conversion.result]
    names = dict.fromkeys(str(attribute) for attribute in used if attribute is not None)
    return {text: f"#{number}" for number, text in enumerate(names, 1)}


def _print_table(decisions: Sequence[Decision], labels: dict[str, str], console: Console) -> None:
    rows = [("line", "value", "tensor", "layout", "cost", "why"), *(_row(one, labels) for one in decisions)]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    widths[0] = max(widths[0], 6)
    for line, name, tensor, layout, cost, why in rows:
        console.print(
            f"{line:>{widths[0]}}  {name:<{widths[1]}}  {tensor:<{widths[2]}}  {layout:<{widths[3]}}"
            f"  {cost:>{widths[4]}}  {why}".rstrip(),
            soft_wrap=True,
        )


def _row(one: Decision, labels: dict[str, str]) -> tuple[str, ...]:
    return (
        "" if one.place is None else str(one.place.line),
        printable(one.name),
        f"{'x'.join(map(str, one.shape))}x{one.element}",
        "none" if one.attribute is None else labels[str(one.attribute)],
        str(one.cost) if one.cost else "",
        printable(one.why),
    )


def _conversion_line(one: Conversion, labels: dict[str, str]) -> str:
    line = "" if one.place is None else str(one.place.line)
    done = "" if one.kind == "convert" else "made again, "
    each = f", {one.times} times {one.cost // one.times}" if one.times > 1 else ""
    between = f"{labels[str(one.source)]} to {labels[str(one.result)]}"
    assumed = f" ({'; '.join(one.price.assumptions)})" if one.price is not None and one.price.assumptions else ""
    return (
        f"{line:>6}  {printable(one.name):<5}  {done}{between}, for {', '.join(one.users)}: {one.cost}{each}{assumed}"
    )


def _cost_line(done: Propagated) -> str:
    moved = sum(one.cost for one in done.conversions)
    split = f": {done.cost - moved} in operations, {moved} in conversions" if done.conversions else ""
    if any(finding.level == "error" for finding in done.findings):
        told = "without the operations that have no layout"
    elif done.like is not None:
        told = f"with the layouts of LLVM {done.like}"
    elif done.is_optimal:
        told = "the minimum"
        if done.dropped:
            told += f" of the layouts looked at ({counted(done.dropped, 'candidate')} left out)"
    else:
        told = f"at most {done.cost - done.bound} above the minimum (at least {done.bound})"
    return f"cost {done.cost} issue slots of a subgroup{split}; {told}"


def propagation_facts(done: Propagated, others: Sequence[Likewise] = ()) -> dict[str, Any]:
    """What was decided as data, for JSON.

    >>> facts = propagation_facts(la.propagate("gpu.barrier"))
    >>> facts["cost"], facts["optimal"], facts["values"]
    (0, True, [])
    """
    above = {} if done.coarser is None else {"workgroup": propagation_facts(done.coarser)}
    return {
        **above,
        "cost": done.cost,
        "bound": done.bound,
        "optimal": done.is_optimal,
        "left_out": done.dropped,
        "values": [_decision_facts(one) for one in done.decisions],
        "conversions": [_conversion_facts(one) for one in done.conversions],
        "removed": [_conversion_facts(one) for one in done.removed],
        "likewise": [
            {
                "llvm": one.llvm,
                "cost": one.cost,
                "conversions": one.conversions,
                "wrong": one.wrong,
                "overwritten": one.overwritten,
                "refused": one.refused,
            }
            for one in others
        ],
    }


def _decision_facts(one: Decision) -> dict[str, Any]:
    return {
        "name": one.name,
        "line": None if one.place is None else one.place.line,
        "operation": one.operation,
        "shape": list(one.shape),
        "element": one.element,
        "layout": None if one.attribute is None else str(one.attribute),
        "why": one.why,
        "cost": one.cost,
    }


def _conversion_facts(one: Conversion) -> dict[str, Any]:
    return {
        "name": one.name,
        "line": None if one.place is None else one.place.line,
        "kind": one.kind,
        "source": str(one.source),
        "result": str(one.result),
        "users": list(one.users),
        "cost": one.cost,
        "times": one.times,
        "price": None if one.price is None else one.price.facts,
    }
