"""Reductions: one element of the result is made of many of the operand, wherever they are.

What stays in a work-item is added there; what other lanes and subgroups have is exchanged by the operation itself.
"""

from __future__ import annotations

from typing import Any

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.propagation.relations.relation import Relation, Tie, relates, same_shape, shape_of

__all__: list[str] = []


@relates("vector.multi_reduction")
def multi_reduction(op: Any) -> Relation:
    """The dimensions that are reduced are copies of the result's element."""
    source, shape = shape_of(op.operands[0]), shape_of(op.results[0])
    if source is None or shape is None:
        return Relation()
    reduced = set(op.reduction_dims.get_values())
    kept = [dim for dim in range(len(source)) if dim not in reduced]
    relation = Layout(
        [[Factor(source[dim], 1, f"d{dim}")] for dim in kept],
        [Factor(source[dim], 1, f"d{dim}") for dim in sorted(reduced)],
    )
    tie = Tie(op, 0, op.results[0], relation, reach="workgroup", combines=True)
    return Relation((tie, *same_shape(op, 1, op.results[0])))
