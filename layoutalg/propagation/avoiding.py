"""What propagation writes so that compilers do not crash or miscompile: the known mistakes stand in `flow.compiler_mistakes`.

A layout that is known to be moved wrongly (columns through `load_matrix`) has a price that nobody pays where there is another
choice; those that are moved rightly are offered beside it.

The sum of a row is a slice of the rows' layout. A store may name the same map otherwise; LLVM 23 and 24 then look for the
parent of a layout that has none. A conversion between the two names moves nothing, and the reduction's result stays a slice:

>>> from layoutalg.ir import read_module
>>> from layoutalg.propagation.propagating import propagate
>>> text = '''gpu.module @m { gpu.func @k(%p: i64, %q: i64) kernel {
...   %t = xegpu.create_nd_tdesc %p, shape : [16, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<16x32xf32>
...   %u = xegpu.create_nd_tdesc %q, shape : [16], strides : [1] : i64 -> !xegpu.tensor_desc<16xf32>
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x32xf32> -> vector<16x32xf32>
...   %z = arith.constant dense<0.0> : vector<16xf32>
...   %s = vector.multi_reduction <add>, %x, %z [1] : vector<16x32xf32> to vector<16xf32>
...   xegpu.store_nd %s, %u[0] : vector<16xf32>, !xegpu.tensor_desc<16xf32>
...   gpu.return } }'''
>>> for llvm in (22, 24):
...     print(llvm, str(propagate(text, llvm=llvm)).count("xegpu.convert_layout"))
22 0
24 1
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation, SSAValue, Use

from layoutalg.core.notation import Distributed
from layoutalg.flow.compiler_mistakes import (
    Followers,
    compiler_mistake,
    followers_of,
    reached_from,
    right_for_matrix,
    wants_slices,
)
from layoutalg.flow.graph import Flow
from layoutalg.flow.levels import levels_of
from layoutalg.flow.relations import Demand, shape_of
from layoutalg.flow.written_layouts import statements_of
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr as LayoutText
from layoutalg.ir.dialects.xegpu.attributes import SliceAttr as SliceText
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.propagation.named_layout import NamedLayout, if_accepted
from layoutalg.xegpu import LayoutAttr, SliceAttr

if TYPE_CHECKING:
    from layoutalg.propagation.demand_options import DemandOptions

__all__ = ["WRONG", "keep_slices", "price_of_mistake", "right_layouts", "sliced"]


WRONG = 1 << 16
"""The price of a layout in which a compiler moves other elements, in issue slots: more than any conversion around it."""


def price_of_mistake(demand: Demand, known: NamedLayout, asked: DemandOptions) -> int:
    """`WRONG` where the asked version of LLVM is known to move a value wrongly in this layout, otherwise nothing."""
    found = compiler_mistake(demand.user, demand.value, known.attribute)
    return WRONG if found is not None and asked.llvm in found.versions else 0


def right_layouts(demand: Demand, known: NamedLayout, asked: DemandOptions) -> Iterator[NamedLayout]:
    """Layouts of the same subgroups that compilers move rightly, in place of one that they don't; none for another."""
    wrong = price_of_mistake(demand, known, asked)
    for attribute in right_for_matrix(demand.user, known.attribute, known.shape) if wrong else ():
        found = if_accepted(attribute, known.shape, asked.llvm)
        if found is not None and demand.problem(attribute, asked.machine, asked.target) is None:
            yield found


def keep_slices(flow: Flow, llvm: int) -> None:
    """Convert the results of reductions from a slice to the other name that their users give the same map."""
    followers = followers_of(flow)
    for operation in [each for function in flow.functions for each in function.walk()]:
        slice_ = operation.attributes.get("layout_result_0")
        if wants_slices(operation, llvm) and isinstance(slice_, SliceText) and "lane" in levels_of(slice_.value):
            _convert(operation, slice_, followers)


def _convert(operation: Operation, slice_: SliceText, followers: Followers) -> None:
    result, block = operation.results[0], operation.parent
    wanting = [(use, other) for use in list(result.uses) if (other := _other_name(use, followers)) is not None]
    made: dict[Attribute, SSAValue] = {}
    if block is None:
        return
    for use, other in wanting:
        if other not in made:
            layouts = {"input_layout": slice_, "target_layout": other}
            conversion = ConvertLayoutOp.build(operands=[result], properties=layouts, result_types=[result.type])
            block.insert_op_after(conversion, operation)
            made[other] = conversion.results[0]
        use.operation.operands[use.index] = made[other]


def sliced(
    operation: Operation, source: NamedLayout | None, present: NamedLayout | None, llvm: int
) -> NamedLayout | None:
    """The slice to write for a reduction's layout, if this version of LLVM requires slices; otherwise None."""
    if not wants_slices(operation, llvm) or source is None or present is None or "lane" not in present.levels:
        return None
    if not isinstance(source.attribute, LayoutAttr | SliceAttr):
        return None
    reduction: Any = operation
    try:
        attribute = SliceAttr(source.attribute, tuple(int(dim) for dim in reduction.reduction_dims.get_values()))
    except ValueError:
        return None
    found = if_accepted(attribute, present.shape, llvm)
    return found if found is not None and found.map == present.map else None


def _other_name(use: Use, followers: Followers) -> Attribute | None:
    """The layout, not a slice, in which a value is taken by a use or by what is made of it element by element."""
    if _converts(use):
        return None
    said = (attribute for one in reached_from(use, followers) if not _converts(one) for attribute in _said(one))
    return next(said, None)


def _converts(use: Use) -> bool:
    return isinstance(use.operation, ConvertLayoutOp)


def _said(use: Use) -> Iterator[Attribute]:
    written: dict[str, Attribute] = {**use.operation.properties, **use.operation.attributes}
    for statement in statements_of(use.operation):
        shape = shape_of(use.operation.operands[use.index])
        about = statement.number in (use.index, None) and shape_of(statement.value) == shape
        if about and shape is not None and _is_named_otherwise(statement.attribute):
            kinds = (value.type for value in use.operation.operands)
            in_type = (kind.layout for kind in kinds if isinstance(kind, TensorDescType))
            attribute = written.get(statement.name) or next(in_type, None)
            if isinstance(attribute, LayoutText):
                yield attribute


def _is_named_otherwise(attribute: Distributed) -> bool:
    return isinstance(attribute, LayoutAttr) and "lane" in levels_of(attribute)
