"""Gathers and scatters: one access for each register, at the offset that the work-item has for it.

An access of 64 elements over 4 subgroups is one element in each work-item:

    %x = xegpu.load %p[%offset], %mask : i64, index, i1 -> f32

Where every offset has several neighbouring elements (`vector<64x4xf32>` of 64 offsets), the place along them is added to it.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import shape_of
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.lowering.blocks import hints
from layoutalg.lowering.fragments import picked
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.rules import Kernel, lowers, registers_of

__all__: list[str] = []


def _for_each(op: Any, value: SSAValue, layout: Layout, kernel: Kernel) -> tuple[list[Value], list[Value]]:
    """The offset and the mask of each register of a value."""
    if isinstance(op.operands[0].type, TensorDescType) or isinstance(op.operands[1].type, TensorDescType):
        refuse(op, "descriptor", "goes through a scattered descriptor; migrate the module to LLVM 23 first")
    if op.offsets is None:
        refuse(op, "offsets", "has no offsets")
    offsets = _taken(op, op.offsets, value, layout, kernel)
    shape, own = shape_of(value), shape_of(op.offsets)
    if shape is not None and own is not None and len(own) < len(shape):
        inner = [place[len(own) :] for place in kernel.places(layout)]
        size = 1
        for dim in reversed(range(len(shape) - len(own))):
            offsets = [
                kernel.indices.index(kernel.indices.plus(offset, kernel.indices.times(place[dim], size)))
                for offset, place in zip(offsets, inner, strict=True)
            ]
            size *= shape[len(own) + dim]
    return offsets, _taken(op, op.mask, value, layout, kernel)


def _taken(op: Any, operand: SSAValue, value: SSAValue, layout: Layout, kernel: Kernel) -> list[Value]:
    """An operand for each register of a value, whose leading dimensions are the operand's."""
    count = registers_of(layout)
    if not kernel.is_spread(operand):
        return [kernel.scalar(operand)] * count
    shape, own = shape_of(value) or (), shape_of(operand) or ()
    if shape[: len(own)] != own:
        refuse(op, "shape", f"moves {value.type} with {operand.type}")
    relation = Layout(
        [
            [Factor(extent, 1, f"d{dim}") if dim < len(own) else Factor(extent, 0, None)]
            for dim, extent in enumerate(shape)
        ]
    )
    number = next(index for index, one in enumerate(op.operands) if one is operand)
    return kernel.take(op, number, layout, relation, (1,) * count)


@lowers("xegpu.load", spread="value")
def gather(op: Any, kernel: Kernel) -> None:
    """One load for each register."""
    layout = kernel.layout(op, op.value)
    source = kernel.scalar(op.source)
    offsets, masks = _for_each(op, op.value, layout, kernel)
    element = str(op.value.type.element_type)
    values = [
        kernel.writer.value(
            f"xegpu.load %s[%s], %s{hints(op)} : {source.kind}, {offset.kind}, i1 -> {element}",
            (source, offset, mask),
            element,
        )
        for offset, mask in zip(offsets, masks, strict=True)
    ]
    kernel.give(op.value, layout, picked(kernel.writer, values, range(len(values)), kernel.sizes(op.value, layout)))


@lowers("xegpu.store", spread="value")
def scatter(op: Any, kernel: Kernel) -> None:
    """One store for each register; of work-items that hold copies, the first one stores."""
    fragment = kernel.fragment(op.value)
    layout = kernel.stated(op, 0) or fragment.layout
    target = kernel.scalar(op.dest)
    offsets, masks = _for_each(op, op.value, layout, kernel)
    values = kernel.needed(op, 0, layout, (1,) * registers_of(layout))
    first = kernel.first_copy(layout)
    for value, offset, mask in zip(values, offsets, masks, strict=True):
        where = mask if first is None else kernel.both(mask, first)
        form = f"xegpu.store %s, %s[%s], %s{hints(op)} : {value.kind}, {target.kind}, {offset.kind}, i1"
        kernel.writer.do(form, (value, target, offset, where))


@lowers("xegpu.prefetch")
def prefetch(op: Any, kernel: Kernel) -> None:
    """Left out: it changes no result, and the hardware has no prefetch of single elements."""
    if op.offsets is None or not kernel.is_spread(op.offsets):
        kernel.pass_on(op)
