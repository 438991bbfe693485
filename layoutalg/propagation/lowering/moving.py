"""Operations that say of each element of the result which one of the operand it is: registers get other names.

The transpose of a 16x16 tile whose rows are in registers and whose columns are in lanes, with the result's rows in lanes, is no
operation at all. A broadcast is the same register several times. Where a work-item does not have what it needs, the operand is
exchanged first, to the layout that composition says.
"""

from __future__ import annotations

from typing import Any

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.layout import Layout
from layoutalg.propagation.lowering.fragments import vector_size
from layoutalg.propagation.lowering.kernels import refuse
from layoutalg.propagation.lowering.rules import Kernel, lowers

__all__: list[str] = []


@lowers("vector.transpose", "vector.shape_cast", "vector.extract_strided_slice")
def renamed(op: Any, kernel: Kernel) -> None:
    """Each register of the result is one of the operand."""
    result = op.results[0]
    if not kernel.is_spread(op.operands[0]) or not kernel.is_spread(result):
        refuse(op, "operation", f"takes {op.operands[0].type} to {result.type}, which is not lowered")
    layout = kernel.layout(op, result)
    relation = kernel.ties(op).get((0, result))
    if relation is None:
        refuse(op, "operation", "has no relation between operand and result that is known")
    kernel.give(result, layout, kernel.take(op, 0, layout, relation, kernel.sizes(result, layout)))


@lowers("vector.broadcast", "vector.splat")
def broadcast(op: Any, kernel: Kernel) -> None:
    """Of a number, the same in all registers; of a vector, its registers as often as they are needed."""
    result = op.results[0]
    if kernel.is_spread(op.operands[0]):
        renamed(op, kernel)
        return
    layout = kernel.layout(op, result)
    kernel.give(result, layout, repeated(kernel, kernel.scalar(op.operands[0]), layout, kernel.sizes(result, layout)))


def repeated(kernel: Kernel, value: Value, layout: Layout, sizes: tuple[int, ...]) -> list[Value]:
    """A number in all registers of a layout."""
    made: dict[int, Value] = {1: value}
    for size in sizes:
        if size not in made:
            form = f"vector.broadcast %s : {value.kind} to vector<{size}x{value.element}>"
            made[size] = kernel.writer.value(form, (value,), value.element, vector_size(size))
    return [made[size] for size in sizes]
