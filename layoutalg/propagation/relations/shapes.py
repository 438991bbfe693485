"""Operations that change the shape: which element of the operand one of the result is."""

from __future__ import annotations

from typing import Any

from layoutalg.core.layout import Layout
from layoutalg.propagation.relations.relation import Relation, Tie, relates, shape_of

__all__: list[str] = []


@relates("vector.transpose")
def transpose(op: Any) -> Relation:
    """Dimension d of the result is dimension permutation[d] of the operand."""
    shape, order = shape_of(op.results[0]), op.permutation.get_values()
    if shape is None:
        return Relation()
    relation = Layout([[(extent, 1, f"d{dim}")] for extent, dim in zip(shape, order, strict=True)])
    return Relation((Tie(op, 0, op.results[0], relation),))


@relates("vector.broadcast")
def broadcast(op: Any) -> Relation:
    """Leading dimensions, and dimensions of size 1, are repeated."""
    shape, source = shape_of(op.results[0]), shape_of(op.operands[0])
    if shape is None or source is None:
        return Relation()
    lead = len(shape) - len(source)
    relation = Layout(
        [
            [(extent, 1, f"d{dim - lead}") if dim >= lead and source[dim - lead] != 1 else (extent, 0, None)]
            for dim, extent in enumerate(shape)
        ]
    )
    return Relation((Tie(op, 0, op.results[0], relation),))
