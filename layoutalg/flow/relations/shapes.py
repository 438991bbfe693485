"""Operations that change the shape: which element of the operand one of the result is.

>>> print(reshaped((8, 16), (2, 64)))
d0 = 2@d0:4, d1 = 4@d0 16@d1
>>> print(reshaped((16,), (1, 16)), reshaped((6, 4), (4, 6)), sep=" | ")
d0 = 1, d1 = 16@d0 | None

The last one has no closed form: a row of 6 is one and a half rows of 4. Such a reshape is not known.

>>> print(broadcast_from((1, 16), (4, 8, 16)))
d0 = 4@_, d1 = 8@_, d2 = 16@d1
>>> print(recast((8, 16), (8, 8)), recast((8, 8), (8, 16)), sep=" and ")
d0 = 8@d0, d1 = 8@d1:2 | replicas 2@d1 and d0 = 8@d0, d1 = 8@d1 2@_
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from layoutalg.core.algebra import compose
from layoutalg.core.errors import CompositionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout, row_major
from layoutalg.flow.relations.relation import Relation, Tie, numbers_of, related, relates, same_shape, shape_of

__all__ = ["broadcast_from", "recast", "reshaped", "transposed"]

_CACHED = 1 << 12


@relates("vector.transpose")
def transpose(op: Any) -> Relation | None:
    """Dimension d of the result is dimension permutation[d] of the operand."""
    shape, order = shape_of(op.operands[0]), numbers_of(op.permutation)
    if shape is None:
        return Relation()
    if order is None or sorted(order) != list(range(len(shape))):
        return None
    return Relation((Tie(op, 0, op.results[0], transposed(shape, order)),))


@relates("vector.broadcast")
def broadcast(op: Any) -> Relation | None:
    """Leading dimensions, and dimensions of size 1, are repeated; a scalar is everywhere."""
    shape, source = shape_of(op.results[0]), shape_of(op.operands[0])
    if shape is None or source is None:
        return Relation(makes="equal")
    return Relation((Tie(op, 0, op.results[0], broadcast_from(source, shape)),))


@relates("vector.shape_cast", "tensor.expand_shape", "tensor.collapse_shape", "tensor.reshape")
def shape_cast(op: Any) -> Relation | None:
    """The same elements, row-major."""
    return _tied(op, reshaped)


@relates("vector.bitcast")
def bitcast(op: Any) -> Relation | None:
    """Of the innermost dimension, several elements become one, or one becomes several."""
    return _tied(op, recast)


def _tied(op: Any, relate: Callable[[tuple[int, ...], tuple[int, ...]], Layout | None]) -> Relation | None:
    """The result tied to the operand by what `relate` makes of their shapes; None where it makes nothing."""
    shape, source = shape_of(op.results[0]), shape_of(op.operands[0])
    if shape is None or source is None:
        return Relation()
    relation = relate(source, shape)
    return None if relation is None else Relation((Tie(op, 0, op.results[0], relation),))


@relates("tensor.cast", "builtin.unrealized_conversion_cast")
def cast(op: Any) -> Relation | None:
    """The same tensor under another type."""
    if len(op.operands) != 1 or len(op.results) != 1 or shape_of(op.operands[0]) != shape_of(op.results[0]):
        return None
    return Relation(same_shape(op, 0, op.results[0]))


@lru_cache(maxsize=_CACHED)
def transposed(source: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    """From a transposed tensor to the one that it was made of."""
    return related([[Factor(source[dim], 1, f"d{dim}")] for dim in order], len(source))


@lru_cache(maxsize=_CACHED)
def broadcast_from(source: tuple[int, ...], shape: tuple[int, ...]) -> Layout:
    """From a broadcast tensor to the one that it was made of.

    >>> print(broadcast_from((8, 1), (8, 16)))
    d0 = 8@d0, d1 = 16@_
    """
    lead = len(shape) - len(source)
    dims = [
        [Factor(extent, 1, f"d{dim - lead}") if dim >= lead and source[dim - lead] == extent else Factor(extent)]
        for dim, extent in enumerate(shape)
    ]
    return related(dims, len(source))


@lru_cache(maxsize=_CACHED)
def reshaped(source: tuple[int, ...], shape: tuple[int, ...]) -> Layout | None:
    """From a tensor to another of the same elements in row-major order; None where that is not a layout.

    >>> print(reshaped((2, 64), (8, 16)))
    d0 = 2@d0 4@d1:16, d1 = 16@d1
    """
    flat = Layout([[Factor(extent, 1, f"d{dim}") for dim, extent in enumerate(source)]], names=("flat",))
    try:
        found = compose(flat, row_major(shape, "flat"))
    except CompositionError:
        return None
    return related(found.dims, len(source))


@lru_cache(maxsize=_CACHED)
def recast(source: tuple[int, ...], shape: tuple[int, ...]) -> Layout | None:
    """From a tensor to another of the same bits, whose innermost dimension differs; None where neither size divides the other.

    >>> print(recast((3,), (2,)))
    None
    """
    last, old, new = len(shape) - 1, source[-1], shape[-1]
    dims = [[Factor(extent, 1, f"d{dim}")] for dim, extent in enumerate(shape)]
    replicas: list[Factor] = []
    if old % new == 0:
        dims[last] = [Factor(new, old // new, f"d{last}")]
        replicas = [Factor(old // new, 1, f"d{last}")] if old > new else []
    elif new % old == 0:
        dims[last] = [Factor(old, 1, f"d{last}"), Factor(new // old)]
    else:
        return None
    return related(dims, len(source), replicas)
