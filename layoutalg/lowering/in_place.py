"""Conversions of fragments: an `xegpu.convert_layout` at lane level becomes the exchange, in place.

At lane level a value is what one lane holds. `vector<16x1xf32>` under `lane_layout = [1, 16]` is a column of a 16x16 tile.
Under `lane_layout = [16, 1]` the lane has a row of it, sixteen registers too, and the type stays:

>>> from layoutalg.ir import read_module
>>> module = read_module('''gpu.module @m { gpu.func @f(%x: vector<16x1xf32>) -> vector<16x1xf32>
...     attributes {intel_reqd_sub_group_size = 16 : i32} {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x1xf32>
...   gpu.return %y : vector<16x1xf32> } }''')
>>> lower_fragments(module)
()
>>> names = [op.name for op in module.walk()]
>>> names.count("gpu.shuffle"), names.count("xegpu.convert_layout")
(32, 0)

An `xegpu.lane_shuffle`, which says the same without layouts, is replaced too.

The tensor is as large as the fragment and the input's layout say together. The registers of a fragment are its elements in
row-major order, under both layouts. LLVM 22 refuses such an operation or deletes it, 23 and 24 refuse to lower it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.conversion import ConversionPlan, convert
from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.levels import DEFAULT_TARGET, machine_of
from layoutalg.flow.written_layouts import statements_of
from layoutalg.ir import Finding, place_of
from layoutalg.ir.dialects.func import FuncOp
from layoutalg.ir.dialects.gpu import FuncOp as GpuFuncOp
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr
from layoutalg.lowering.exchanges import Exchanges, moved_bits
from layoutalg.lowering.insertion import Insertion
from layoutalg.simulate.levels import level_of
from layoutalg.xegpu import LayoutAttr as Spread
from layoutalg.xegpu import SliceAttr as Sliced

__all__ = ["CONVERSIONS", "converted_shape", "exchanged", "lower_fragments"]

RULE = "lower.convert_layout"
CONVERSIONS = ("xegpu.convert_layout", "xegpu.lane_shuffle")
"""What moves a fragment between lanes."""
_LANES = ("gpu.lane_id", "gpu.shuffle", "gpu.rotate", "gpu.subgroup_broadcast", "gpu.subgroup_reduce", "gpu.thread_id")
"""What shows that a function is at lane level."""


def lower_fragments(module: Operation, target: str = DEFAULT_TARGET) -> tuple[Finding, ...]:
    """Replace the conversions of fragments in a module, in place; a finding for each that stays.

    Functions at subgroup or workgroup level are left as they are.

    Raises `PlanError` for an unknown target.
    """
    found: list[Finding] = []
    for function in [op for op in module.walk() if isinstance(op, FuncOp | GpuFuncOp)]:
        conversions = _conversions(function)
        if not conversions:
            continue
        exchanges = Exchanges(function, target=target)
        machine = Machine(lanes=machine_of(function, target).lanes, subgroups=1)
        for conversion in conversions:
            try:
                _replace(conversion, exchanges, machine, target)
            except LayoutError as problem:
                found.append(_finding(conversion, f"cannot be lowered: {problem}"))
        try:
            exchanges.finish()
        except LayoutError as problem:
            found.append(_finding(function, str(problem)))
    return tuple(found)


def converted_shape(fragment: Sequence[int], layout: Distributed) -> tuple[int, ...]:
    """The shape of the tensor whose fragment this is: in each dimension so many times larger as lanes have parts of it.

    Raises `ConversionError` for a fragment of another rank than the layout.
    """
    over = _lane_layout(layout)
    if len(over) != len(fragment):
        raise ConversionError(
            f"a fragment of {len(fragment)} dimensions does not say the shape of a tensor with {layout}: expected {len(over)}"
        )
    return tuple([extent * lanes for extent, lanes in zip(fragment, over, strict=True)])


def _lane_layout(layout: Distributed) -> tuple[int, ...]:
    """The lanes in each dimension of the value."""
    if isinstance(layout, Sliced):
        over = _lane_layout(layout.parent)
        return tuple([lanes for dim, lanes in enumerate(over) if dim not in layout.dims])
    if not isinstance(layout, Spread) or layout.lane_layout is None:
        raise ConversionError(f"{layout} has no lane_layout, which a fragment needs")
    if layout.sg_layout is not None or layout.inst_data is not None:
        raise ConversionError(
            f"{layout} speaks of more than lanes; expected lane_layout and lane_data, as fragments have"
        )
    return layout.lane_layout


def exchanged(
    exchanges: Exchanges, plan: ConversionPlan, value: SSAValue, kind: Attribute, before: Operation
) -> SSAValue:
    """A fragment of any shape after a conversion, as a fragment of type `kind`.

    Raises `ConversionError` as `Exchanges.exchange` does.
    """
    if not isa(kind, VectorType[Attribute]) or not isa(value.type, VectorType[Attribute]):
        [made] = exchanges.exchange(plan, [value], before, [1])
        return made
    flat = value if len(value.type.get_shape()) == 1 else _cast(value, [value.type.element_count()], before)
    count = kind.element_count()
    if count == 1:
        [made] = exchanges.exchange(plan, [flat], before, [1])
        return made if made.type == kind else _single(made, kind, before)
    [made] = exchanges.exchange(plan, [flat], before, [count])
    return made if made.type == kind else _cast(made, kind.get_shape(), before)


def _cast(value: SSAValue, shape: Sequence[int], before: Operation) -> SSAValue:
    element = str(value.type.get_element_type()) if isa(value.type, VectorType[Attribute]) else str(value.type)
    kind = f"vector<{'x'.join(map(str, shape))}x{element}>"
    writer = _writer(before)
    form = f"vector.shape_cast %s : {value.type} to {kind}"
    return writer.given(writer.value(form, (writer.taken(value),), kind))


def _single(value: SSAValue, kind: Attribute, before: Operation) -> SSAValue:
    writer = _writer(before)
    return writer.given(writer.value(f"vector.from_elements %s : {kind}", (writer.taken(value),), str(kind)))


def _writer(before: Operation) -> Insertion:
    block = before.parent_block()
    if block is None:
        raise ConversionError("the operation after the conversion stands in no block")
    return Insertion(block, before)


def _conversions(function: Operation) -> list[Operation]:
    """The conversions of fragments in a function."""
    named = [operation for operation in function.walk() if operation.name in CONVERSIONS]
    if not named or level_of(function) != "lane":
        return []
    others = [operation for operation in function.walk() if operation.name not in CONVERSIONS]
    sure = any(operation.name in _LANES for operation in others)
    if not sure and any(True for operation in others for _ in statements_of(operation)):
        return []  # at lane level no other operation has a layout
    return [
        operation
        for operation in named
        if sure or operation.name == "xegpu.lane_shuffle" or not _may_be_tensor(operation)
    ]


def _may_be_tensor(operation: Operation) -> bool:
    """Whether the value could be the whole tensor of a subgroup: it can be dealt out as its layouts say."""
    kind = operation.operands[0].type
    if not isa(kind, VectorType[Attribute]):
        return False
    for layout in _layouts(operation):
        if layout is None:
            return True
        try:
            over = _lane_layout(layout)
        except ConversionError:
            return True
        sizes = zip(kind.get_shape(), over, strict=False)
        if len(over) != len(kind.get_shape()) or any(extent % lanes for extent, lanes in sizes):
            return False
    return True


def _layouts(operation: Operation) -> list[Distributed | None]:
    found = [operation.properties.get(name) for name in ("input_layout", "target_layout")]
    return [one.value if isinstance(one, LayoutAttr | SliceAttr) else None for one in found]


def _replace(conversion: Operation, exchanges: Exchanges, machine: Machine, target: str) -> None:
    value, made = conversion.operands[0], conversion.results[0]
    if not isa(value.type, VectorType[Attribute]):
        raise ConversionError(f"{value.type} is not a fragment: expected a vector")
    shape, bits = value.type.get_shape(), moved_bits(str(value.type.get_element_type()))
    if conversion.name == "xegpu.lane_shuffle":
        plan = _shuffled(conversion, shape[0], bits, machine, target)
    else:
        source, result = _layouts(conversion)
        if source is None or result is None:
            raise ConversionError("both layouts are needed to know which elements move")
        _lane_layout(result)
        sizes = converted_shape(shape, source)
        plan = convert(source, result, sizes, machine=machine, element_bits=bits, target=target, portable=True)
    made.replace_all_uses_with(exchanged(exchanges, plan, value, made.type, conversion))
    conversion.detach()
    conversion.erase()


def _shuffled(op: Operation, count: int, bits: int, machine: Machine, target: str) -> ConversionPlan:
    """The plan of a `lane_shuffle`: elements that are dealt out one by one are dealt out in runs (`pack`), or back."""
    lanes = machine.lanes or 1
    layouts = [f"d0 = {count}@reg {lanes}@lane", f"d0 = {lanes}@lane {count}@reg"]
    if "unpack" in str(op.properties.get("mode")).lower():
        layouts.reverse()
    return convert(layouts[0], layouts[1], element_bits=bits, target=target, portable=True)


def _finding(operation: Operation, message: str) -> Finding:
    return Finding(RULE, message, operation.name, place_of(operation))
