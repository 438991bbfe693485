"""`xegpu.convert_layout`: the planned exchange between the layouts that it states."""

from __future__ import annotations

from typing import Any

from layoutalg.flow.relations import shape_of
from layoutalg.lowering.fragments import Fragment
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.rules import Kernel, lowers

__all__: list[str] = []


@lowers("xegpu.convert_layout")
def convert_layout(op: Any, kernel: Kernel) -> None:
    """The operand, brought into `input_layout` if it is not there, goes to `target_layout`."""
    source, result = op.operands[0], op.results[0]
    if not kernel.is_spread(source):
        kernel.scalars[result] = kernel.scalar(source)
        return
    if shape_of(source) is None:
        refuse(op, "shape", f"converts {source.type}, whose shape is not known")
    stated = kernel.stated(op, 0) or kernel.fragment(source).layout
    layout = kernel.layout(op, result)
    pieces = kernel.needed(op, 0, stated)
    made = kernel.moved(op, Fragment(stated, tuple(pieces)), layout, kernel.sizes(result, layout))
    kernel.give(result, layout, made)
