"""The conversions of a module: between which layouts, at what price, and which move nothing.

>>> module = la.read('''func.func @f(%x: vector<16x16xf32>) {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>}> : vector<16x16xf32>
...   func.return }''')
>>> from layoutalg.propagation.flow import flows_of
>>> [flow] = flows_of(module.parts[0].module)
>>> [conversion] = conversions_of(flow, module, Machine(lanes=16), "pvc", {})
>>> conversion.is_redundant, conversion.cost
(True, 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.ir.places import Place, place_of
from layoutalg.propagation.spread import levels_of, planned, spread, unblocked
from layoutalg.propagation.stated import Statement, called
from layoutalg.xegpu import LayoutAttr

if TYPE_CHECKING:
    from layoutalg.module import Module
    from layoutalg.propagation.flow import Flow
    from layoutalg.propagation.value_layouts import Candidate

__all__ = ["CONVERTING", "CheckedConversion", "conversions_of", "price"]

CONVERTING = {
    "xegpu.convert_layout": ("input_layout", "target_layout"),
    "ttg.convert_layout": ("type", "type"),
    "triton_gpu.convert_layout": ("type", "type"),
    "iree_vector_ext.to_layout": ("layout", "layout"),
}


@dataclass(frozen=True, slots=True)
class CheckedConversion:
    """An operation that moves a value from one layout to another, and what that costs on the target (issue slots).

    `cost` is None where the price is not known, and `problem` says why.

    >>> rows = la.parse("#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>")
    >>> CheckedConversion(None, "xegpu.convert_layout", "%y", (16, 16), rows, rows, True, 0).is_redundant
    True
    """

    place: Place | None
    operation: str
    name: str
    shape: tuple[int, ...]
    source: Distributed
    result: Distributed
    is_redundant: bool
    cost: int | None
    problem: str = ""


def conversions_of(
    flow: Flow, module: Module, machine: Machine, target: str, held: Mapping[int, Candidate]
) -> Iterator[CheckedConversion]:
    """The conversions of a function, in the order of the text; `held` are the layouts of its values (`Solved.stated`).

    One whose source nothing speaks of gives a value its layout, and moves nothing.

    >>> from layoutalg.propagation.flow import flow_of
    >>> module = la.read("gpu.barrier")
    >>> list(conversions_of(flow_of(module.parts[0].module), module, Machine(lanes=16), "pvc", {}))
    []
    """
    before = {statement.user: statement for statement in flow.wanted if _reads(statement)}
    for value in flow.values:
        for statement in value.stated:
            names = CONVERTING.get(called(statement.user))
            if names is None or statement.name != names[1] or not statement.user.operands:
                continue
            source = before.get(statement.user)
            attribute = None if source is None else source.attribute
            operand = statement.user.operands[0]
            if attribute is None and operand in flow:
                known = held.get(flow.value_of(operand).number)
                if known is not None and known.how != "wanted":
                    attribute = known.attribute or known.layout
            if attribute is None:
                continue
            name = next(iter(module.lines.result_names(statement.user)), "")
            cost, problem = price(attribute, statement.attribute, value.shape, value.element, machine, target)
            yield CheckedConversion(
                place_of(statement.user),
                called(statement.user),
                name,
                value.shape,
                attribute,
                statement.attribute,
                _redundant(attribute, statement.attribute, value.shape, machine),
                cost,
                problem,
            )


def _reads(statement: Statement) -> bool:
    return CONVERTING.get(called(statement.user), ("", ""))[0] == statement.name


@lru_cache(maxsize=4096)
def _redundant(source: Distributed, result: Distributed, shape: tuple[int, ...], machine: Machine) -> bool:
    """Whether both are the same map, at the same levels."""
    if levels_of(source) - {"inst"} != levels_of(result) - {"inst"}:
        return False
    try:
        return spread(source, shape, machine) == spread(result, shape, machine)
    except LayoutError:
        return False


@lru_cache(maxsize=1 << 14)
def price(
    source: Distributed, result: Distributed, shape: tuple[int, ...], element: str, machine: Machine, target: str
) -> tuple[int | None, str]:
    """What a conversion costs on the target (None: not known), and why it is not known.

    >>> rows, columns = Layout.parse("d0 = 16@lane, d1 = 16@reg"), Layout.parse("d0 = 16@reg, d1 = 16@lane")
    >>> price(rows, columns, (16, 16), "f32", Machine(lanes=16), "pvc")[1]
    ''
    """
    written = not isinstance(source, Layout) and not isinstance(result, Layout)
    if written and levels_of(source) - {"inst"} != levels_of(result) - {"inst"}:
        return None, "one of the two says a level that the other leaves open"
    # Instruction tiles vanish when values are cut into them; lanes that are not said are the usual ones.
    one, other = (_with_lanes(unblocked(layout), machine) for layout in (source, result))
    if one == other or levels_of(source) <= {"inst"}:
        return 0, ""
    try:
        bits = element_bits(element)
        if bits not in (8, 16, 32, 64):
            bits = 8 if bits < 8 else 32
        return planned(one, other, shape, bits, machine, target).cost, ""
    except LayoutError as error:
        return None, str(error)


def _with_lanes(layout: Distributed, machine: Machine) -> Distributed:
    """A layout that says subgroups alone, with the lanes of a subgroup along the last dimension."""
    if not isinstance(layout, LayoutAttr) or layout.lane_layout is not None or layout.sg_data is None:
        return layout
    lanes, rest = machine.lanes or 1, (1,) * (len(layout.sg_data) - 1)
    if layout.sg_data[-1] % lanes:
        return layout
    return replace(layout, lane_layout=(*rest, lanes), lane_data=(*rest, 1))
