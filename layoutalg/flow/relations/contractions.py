"""Products of vectors as sums over named dimensions: `vector.contract` and `vector.outerproduct`.

The maps of a contraction say which dimension of the loop nest each dimension of an operand is. A product A B of 4x8 and 8x6
with the loops (m, n, k):

>>> for relation in contracted(((0, 2), (2, 1)), (0, 1), (4, 6, 8)):
...     print(relation)
d0 = 4@d0, d1 = 6@_ | replicas 8@d1
d0 = 4@_, d1 = 6@d1 | replicas 8@d0

Each work-item multiplies what it has of A and of B, and parts along k are added up (IREE does so over lanes and subgroups).
That A and B are split alike along k is for the operation's own layouts to say: no tie between operands and result does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.ir.affine import AffineDimExpr

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations.relation import Relation, Tie, related, relates, same_shape, shape_of

__all__ = ["contracted", "dims_of_map"]

_CACHED = 1 << 12


@relates("vector.contract")
def contract(op: Any) -> Relation | None:
    """What the maps say; dimensions that the result lacks are added up."""
    maps = [dims_of_map(one) for one in op.indexing_maps]
    shapes = [shape_of(op.operands[0]), shape_of(op.operands[1])]
    if len(maps) != 3 or None in maps or None in shapes:
        return None
    left, right, made = (one or () for one in maps)
    sizes: dict[int, int] = {}
    for dims, shape in zip((left, right), shapes, strict=True):
        sizes.update(zip(dims, shape or (), strict=True))
    if set(sizes) != set(range(len(sizes))):
        return None
    relations = contracted((left, right), made, tuple(sizes[dim] for dim in range(len(sizes))))
    result = op.results[0]
    ties = tuple(
        Tie(op, number, result, relation, reach="workgroup", combines=bool(relation.replicas))
        for number, relation in enumerate(relations)
    )
    if shape_of(result) is None:
        return Relation(uniform=ties)
    return Relation((*ties, *same_shape(op, 2, result)))


@relates("vector.outerproduct")
def outer_product(op: Any) -> Relation | None:
    """A row of the result is an element of the first operand, a column one of the second."""
    shape, result = shape_of(op.results[0]), op.results[0]
    factors = [shape_of(operand) for operand in op.operands[:2]]
    if shape is None or sum(map(len, filter(None, factors))) != len(shape) or len(factors[0] or ()) != 1:
        return None
    ties = [
        Tie(op, number, result, relation)
        for number, relation in enumerate(contracted(((0,), (1,)), tuple(range(len(shape))), shape))
        if shape_of(op.operands[number]) is not None
    ]
    return Relation((*ties, *(same_shape(op, 2, result) if len(op.operands) > 2 else ())))


def dims_of_map(held: Any) -> tuple[int, ...] | None:
    """The dimensions that an affine map names in turn; None where it computes something."""
    results: Any = getattr(held, "data", held).results
    if not all(isinstance(one, AffineDimExpr) for one in results):
        return None
    return tuple(one.position for one in results)


@lru_cache(maxsize=_CACHED)
def contracted(
    operands: tuple[tuple[int, ...], ...], made: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Layout, ...]:
    """From the result of a contraction to each operand; `sizes` are those of the loops.

    >>> print(*contracted(((0,), (0,)), (), (8,)), sep=" and ")
    () | replicas 8@d0 and () | replicas 8@d0
    """
    found: list[Layout] = []
    for dims in operands:
        at = {dim: f"d{place}" for place, dim in enumerate(dims)}
        factors = [[Factor(sizes[dim], 1, at[dim])] if dim in at else [Factor(sizes[dim])] for dim in made]
        summed = [Factor(sizes[dim], 1, at[dim]) for dim in dims if dim not in made]
        found.append(related(factors, len(dims), summed))
    return tuple(found)
