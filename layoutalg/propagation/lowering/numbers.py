"""Values that are made of nothing: constants, in each work-item the elements of its registers."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from layoutalg.conversion.lowering.writer import Value
from layoutalg.propagation.lowering.fragments import vector_size
from layoutalg.propagation.lowering.kernels import refuse
from layoutalg.propagation.lowering.rules import Kernel, lowers

__all__: list[str] = []


@lowers("arith.constant")
def constant(op: Any, kernel: Kernel) -> None:
    """A splat is one in every piece."""
    result = op.results[0]
    if not kernel.is_spread(result):
        kernel.pass_on(op)
        return
    layout = kernel.layout(op, result)
    value: Any = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        refuse(op, "constant", "is not one number repeated")
    element = str(result.type.element_type)
    text = _number(value)
    made: dict[int, Value] = {}
    pieces: list[Value] = []
    for size in kernel.sizes(result, layout):
        if size not in made:
            width = vector_size(size)
            kind, splat = (element, text) if width is None else (f"vector<{size}x{element}>", f"dense<{text}>")
            form = f"arith.constant {splat} : {kind}"
            made[size] = kernel.writer.value(form, (), element, width)
        pieces.append(made[size])
    kernel.give(result, layout, pieces)


def _number(value: Any) -> str:
    """The number of a splat, as it is written inside `dense<..>`."""
    return str(value).partition("dense<")[2].rpartition("> :")[0]
