"""Layouts that are written at a load or a store, and that no message moves: another is written there, with a conversion.

What the user wrote holds for the value: it has that layout from the load on, and up to the store. The message moves the block
in the layout from which the conversion costs least:

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @f(%p: memref<64x64xf16>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
...   func.return }''')
>>> [found] = restate(module, "pvc", 24)
>>> found.cost > 0, str(found.moved)
(True, '#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>')
>>> [op.name for op in module.walk()][-4:]
['xegpu.create_nd_tdesc', 'xegpu.load_nd', 'xegpu.convert_layout', 'func.return']

LLVM ignores such a layout: the message delivers what it delivers, and what follows computes with other elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Operation, SSAValue

from layoutalg.conversion.price import price
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.graph import flows_of
from layoutalg.flow.levels import levels_of, machine_of
from layoutalg.flow.relations import Demand, shape_of
from layoutalg.ir.assembly import property_of
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr, TensorDescType
from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.propagation.costs import bits_of
from layoutalg.propagation.demand_options import ignored
from layoutalg.propagation.descriptors import retyped
from layoutalg.propagation.named_layout import as_written
from layoutalg.propagation.writing import attribute_of
from layoutalg.xegpu import LayoutAttr as Spread
from layoutalg.xegpu import SliceAttr as Sliced

__all__ = ["Restated", "restate"]

_MESSAGES = ("xegpu.load_nd", "xegpu.store_nd")


@dataclass(frozen=True, slots=True, eq=False)
class Restated:
    """One load or store: what was written, the layout in which the block is moved now, why, and what the conversion costs."""

    operation: Operation
    written: Distributed
    moved: Distributed
    problem: str
    cost: int


def restate(module: Operation, target: str, llvm: int) -> list[Restated]:
    """Change the loads and stores of a module whose layouts no message of the target moves.

    Those whose descriptor goes through a loop or a branch stay as they are.
    """
    found: list[Restated] = []
    for flow in flows_of(module):
        machine = machine_of(flow.function, target)
        for demand in flow.demands:
            operation = demand.user
            written = _written(operation)
            if operation.name not in _MESSAGES or written is None or "lane" not in levels_of(written.value):
                continue
            problem = demand.problem(written.value, machine, target)
            if problem is None or not _is_free(operation, written):
                continue
            best = _cheapest(demand, written.value, machine, target, llvm)
            if best is not None:
                cost, moved = best
                _change(operation, demand.value, written, moved)
                found.append(Restated(operation, written.value, moved, problem, cost))
    return found


def _written(operation: Operation) -> LayoutAttr | SliceAttr | None:
    """The layout at a load or a store: its own, or its descriptor's."""
    own = property_of(operation, "layout")
    if isinstance(own, LayoutAttr | SliceAttr):
        return own
    for operand in operation.operands:
        if isinstance(operand.type, TensorDescType) and isinstance(operand.type.layout, LayoutAttr | SliceAttr):
            return operand.type.layout
    return None


def _descriptor(operation: Operation) -> SSAValue:
    return next(operand for operand in operation.operands if isinstance(operand.type, TensorDescType))


def _is_free(operation: Operation, written: LayoutAttr | SliceAttr) -> bool:
    """Whether the descriptor says nothing else, or is made right for this operation."""
    descriptor: Any = _descriptor(operation)
    layout = descriptor.type.layout
    if isinstance(layout, NoneAttr):
        return True
    maker = descriptor.owner
    return layout == written and isinstance(maker, Operation) and maker.name == "xegpu.create_nd_tdesc"


def _cheapest(
    demand: Demand, written: Distributed, machine: Machine, target: str, llvm: int
) -> tuple[int, Spread | Sliced] | None:
    """The layout of a message from (or to) which the conversion costs least, with all that both cost."""
    shape = shape_of(demand.value)
    bits = bits_of(str(getattr(demand.value.type, "element_type", demand.value.type)))
    found: list[tuple[int, int, Spread | Sliced]] = []
    for number, choice in enumerate(demand.choices("lane", machine, target, llvm)):
        attribute = choice.attribute
        if shape is None or not isinstance(attribute, Spread | Sliced):
            continue
        known = as_written(attribute, shape)
        if known is None or ignored(demand, known):
            continue
        pair = (attribute, written) if demand.number is None else (written, attribute)
        cost = price(*pair, shape, f"i{bits}", machine, target).slots
        if cost is None:
            continue  # too large to plan
        found.append((cost + choice.cost, number, attribute))
    if not found:
        return None
    cost, _, attribute = min(found, key=lambda one: one[:2])
    return cost, attribute


def _change(operation: Operation, value: SSAValue, written: LayoutAttr | SliceAttr, moved: Spread | Sliced) -> None:
    """Write the other layout at the operation and its descriptor, and the conversion beside it."""
    known = as_written(moved, shape_of(value) or ())
    attribute = None if known is None else attribute_of(known)
    if not isinstance(attribute, LayoutAttr | SliceAttr):
        return
    operation.attributes.pop("layout", None)
    operation.properties["layout"] = attribute
    descriptor: Any = _descriptor(operation)
    if not isinstance(descriptor.type.layout, NoneAttr):
        _own_descriptor(operation, descriptor, attribute)
    block = operation.parent
    if block is None:
        return
    loads = bool(operation.results)
    layouts = {"input_layout": attribute if loads else written, "target_layout": written if loads else attribute}
    conversion = ConvertLayoutOp.build(operands=[value], properties=layouts, result_types=[value.type])
    conversion.results[0].name_hint = value.name_hint
    if loads:
        block.insert_op_after(conversion, operation)
        value.replace_uses_with_if(conversion.results[0], lambda use: use.operation is not conversion)
    else:
        block.insert_op_before(conversion, operation)
        operation.operands[list(operation.operands).index(value)] = conversion.results[0]


def _own_descriptor(operation: Operation, descriptor: SSAValue, layout: LayoutAttr | SliceAttr) -> None:
    """A descriptor of this layout: a copy, where others use it too."""
    maker = descriptor.owner
    if not isinstance(maker, Operation) or maker.parent is None:
        return
    if len(list(descriptor.uses)) > 1:
        copy = maker.clone()
        maker.parent.insert_op_after(copy, maker)
        number = list(operation.operands).index(descriptor)
        descriptor = copy.results[0]
        operation.operands[number] = descriptor
    retyped(descriptor, layout)
