"""Elementwise operations: each work-item computes its own registers, one vector after the other.

`arith.addf` of two 32x64 tensors, of which a lane has 32 elements in four vectors, is four additions of `vector<8xf32>`. The
same holds for comparisons, selections, casts, functions of `math`: every operation whose ties are equal coordinates.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation

from layoutalg.conversion.lowering.writer import Value
from layoutalg.flow.relations import identity, relation_of, shape_of
from layoutalg.lowering.fragments import length, vector_size
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.line_template import piece_type, template_of
from layoutalg.lowering.rules import Kernel, lowers

__all__: list[str] = []


@lowers("elementwise")
def elementwise(op: Operation, kernel: Kernel) -> None:
    """An operation on equal coordinates; any other is refused, as nobody said what it does."""
    relation = relation_of(op)
    spread = [number for number, value in enumerate(op.operands) if kernel.is_spread(value)]
    if relation is None or op.regions or not op.results or not all(kernel.is_spread(one) for one in op.results):
        refuse(op, "operation", "works on spread values, and how it is lowered is not known")
    tied = {tie.number for tie in relation.ties if tie.relation == identity(shape_of(tie.result) or ())}
    if not spread or not tied.issuperset(spread) or not all(tie.reach == "work-item" for tie in relation.ties):
        refuse(op, "operation", "is not elementwise, and how it is lowered is not known")
    layout = kernel.layout(op, op.results[0])
    sizes = kernel.sizes(op.results[0], layout)
    taken = {number: kernel.needed(op, number, layout, sizes) for number in spread}
    scalars = {number: kernel.scalar(one) for number, one in enumerate(op.operands) if number not in taken}
    pieces: list[list[Value]] = [[] for _ in op.results]
    for place in range(len(sizes)):
        operands = [taken[number][place] if number in taken else scalars[number] for number in range(len(op.operands))]
        for found, made in zip(pieces, written(op, operands, length(operands[spread[0]]), kernel), strict=True):
            found.append(made)
    for result, found in zip(op.results, pieces, strict=True):
        kernel.give(result, layout, found)


def written(op: Operation, operands: list[Value], size: int, kernel: Kernel) -> list[Value]:
    """The operation on vectors of `size` elements (or on scalars); what is a scalar in the source stays one."""
    width = vector_size(size)
    key = ("form", id(op), width)
    form = kernel.templates.get(key)
    if form is None:
        kinds = [_kind(value.type, width) for value in op.operands]
        form = kernel.templates[key] = template_of(
            op, kinds, [_kind(value.type, width) for value in op.results], kernel.llvm
        )
    results = [Value(str(getattr(one.type, "element_type", one.type)), width) for one in op.results]
    kernel.writer.values(form.text, [operands[number] for number in form.order], results)
    return results


def _kind(kind: Any, width: int | None) -> Attribute:
    element: Any = getattr(kind, "element_type", None)
    return piece_type(element, width) if isinstance(kind, VectorType) else kind
