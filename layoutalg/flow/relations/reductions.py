"""Reductions: one element of the result is made of many of the operand, wherever they are.

What stays in a lane is added there; what other lanes of the subgroup have comes by shuffles, what other subgroups have through
shared memory. Rows of 64 over 16 lanes and 2 subgroups, each lane with 8 rows and 2 columns:

>>> source = Layout.parse("d0 = 8@reg:2, d1 = 2@sg 2@reg 16@lane")
>>> total = reduction(source, (1,), bits=32, target="pvc")
>>> total.in_lane, total.across_lanes, total.across_subgroups
(2, 16, 2)
>>> total.cost, total.lane_cost, total.lanes_cost, total.subgroups_cost
(216, 8, 128, 80)
>>> print(total)
8 results in a lane: 2 elements added there (8 slots), over 16 lanes by 32 shuffles (128 slots), over 2 subgroups through shared
memory (80 slots)

8 additions; then 4 times 8 shuffles of 3 slots and 8 additions; then 8 words are stored, all wait, 16 are loaded, 8 added. The
result is where any of the elements was: rows are still in registers, and every lane of both subgroups has them.

>>> print(given(reduced((8, 64), (1,)), source))
d0 = 8@reg | replicas 2@sg 16@lane
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from layoutalg.conversion import cost_of
from layoutalg.core.carrying import given
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.core.relation import as_layout
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.flow.relations.relation import Relation, Tie, numbers_of, related, relates, same_shape, shape_of

__all__ = ["Reduction", "given", "reduced", "reduction"]

_CACHED = 1 << 12
_MOST_BITS = 1 << 10


@relates("vector.multi_reduction")
def multi_reduction(op: Any) -> Relation | None:
    """The dimensions that are reduced are copies of the result's element."""
    source, dims = shape_of(op.operands[0]), numbers_of(op.reduction_dims)
    if source is None:
        return Relation()
    if dims is None or not set(dims) <= set(range(len(source))):
        return None
    return _reduction(op, reduced(source, dims))


@relates("vector.reduction")
def reduction_to_scalar(op: Any) -> Relation:
    """All elements make one scalar, which every work-item has then."""
    source = shape_of(op.operands[0])
    return Relation() if source is None else _reduction(op, reduced(source, tuple(range(len(source)))))


@relates("vector.scan")
def scan(op: Any) -> Relation | None:
    """An element is made of all before it: a work-item needs the whole dimension, for no version of LLVM exchanges them."""
    source, dim = shape_of(op.operands[0]), int(op.reduction_dim.value.data)
    if source is None or not 0 <= dim < len(source):
        return None
    last = reduced(source, (dim,))
    start = _started(source, dim)
    ties = [
        Tie(op, 0, op.results[0], running(source, dim)),
        *([Tie(op, 0, op.results[1], last)] if last.rank else []),
        *([Tie(op, 1, op.results[0], start)] if start.codomain else []),
        *same_shape(op, 1, op.results[1]),
    ]
    return Relation(tuple(ties), uniform=() if last.rank else (Tie(op, 0, op.results[1], last),))


def _reduction(op: Any, relation: Layout) -> Relation:
    tie = Tie(op, 0, op.results[0], relation, reach="workgroup", combines=True)
    if shape_of(op.results[0]) is None:
        return Relation(uniform=(tie,))
    return Relation((tie, *same_shape(op, 1, op.results[0])))


@lru_cache(maxsize=_CACHED)
def reduced(source: tuple[int, ...], dims: tuple[int, ...]) -> Layout:
    """From the result of a reduction to the elements that make it."""
    kept = [[Factor(size, 1, f"d{dim}")] for dim, size in enumerate(source) if dim not in dims]
    return related(kept, len(source), [Factor(source[dim], 1, f"d{dim}") for dim in sorted(set(dims))])


@lru_cache(maxsize=_CACHED)
def running(source: tuple[int, ...], dim: int) -> Layout:
    """From the result of a scan to the elements that may make it: all of the dimension.

    >>> print(running((8, 64), 1))
    d0 = 8@d0, d1 = 64@_ | replicas 64@d1
    """
    dims = [[Factor(size, 1, f"d{at}")] if at != dim else [Factor(size)] for at, size in enumerate(source)]
    return related(dims, len(source), [Factor(source[dim], 1, f"d{dim}")])


@lru_cache(maxsize=_CACHED)
def _started(source: tuple[int, ...], dim: int) -> Layout:
    """From the result of a scan to its initial value, which lacks the dimension."""
    dims = [[Factor(size)] if at == dim else [Factor(size, 1, f"d{at - (at > dim)}")] for at, size in enumerate(source)]
    return related(dims, len(source) - 1)


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a reduction does with a layout, and what each step costs in issue slots of a subgroup.

    `results` are the elements of the result in a lane. Each is made of `in_lane` elements of that lane, of what
    `across_lanes` lanes have, and of what `across_subgroups` subgroups have.

    >>> reduction(Layout.parse("d0 = 16@lane, d1 = 4@reg"), (1,)).across_lanes
    1
    """

    results: int
    in_lane: int
    across_lanes: int
    across_subgroups: int
    shuffles: int
    lane_cost: int
    lanes_cost: int
    subgroups_cost: int

    @property
    def cost(self) -> int:
        """Everything together.

        >>> reduction(Layout.parse("d0 = 16@lane, d1 = 4@reg"), (1,)).cost
        3
        """
        return self.lane_cost + self.lanes_cost + self.subgroups_cost

    def __str__(self) -> str:
        steps = [f"{counted(self.in_lane, 'element')} added there ({counted(self.lane_cost, 'slot')})"]
        if self.across_lanes > 1:
            steps.append(
                f"over {self.across_lanes} lanes by {counted(self.shuffles, 'shuffle')} ({counted(self.lanes_cost, 'slot')})"
            )
        if self.across_subgroups > 1:
            memory = f"through shared memory ({counted(self.subgroups_cost, 'slot')})"
            steps.append(f"over {self.across_subgroups} subgroups {memory}")
        return f"{counted(self.results, 'result')} in a lane: {', '.join(steps)}"


def reduction(source: Layout, dims: Sequence[int], bits: int = 32, target: str | None = None) -> Reduction:
    """What stays in a lane, what crosses lanes and what crosses subgroups, when dimensions of a layout are reduced.

    Lanes combine pairwise, so 16 of them take 4 steps; where their number is not a power of two, one step for each other lane.
    Every lane has the result then. Prices are those of conversions (`conversion.cost`); an addition is one slot.

    Raises `LayoutError` for a dimension that the layout lacks, and for symbols.

    >>> print(reduction(Layout.parse("d0 = 8@reg, d1 = 16@lane"), (1,), target="pvc"))
    8 results in a lane: 1 element added there (0 slots), over 16 lanes by 32 shuffles (128 slots)
    """
    as_layout(source)
    source.require_numbers("reducing it")
    given_dims = listed(dims, "dimensions to reduce")
    for dim in given_dims:
        if type(dim) is not int or not 0 <= dim < source.rank:
            raise LayoutError(f"reduction of dimension {shown(dim)}: {source} has dimensions 0 to {source.rank - 1}")
    bits = whole_number(bits, "bits of an element", 1, _MOST_BITS)
    instance_of(target, (str, type(None)), "target")
    return _reduction_of(source, frozenset(given_dims), bits, target)


@lru_cache(maxsize=_CACHED)
def _reduction_of(source: Layout, dims: frozenset[int], bits: int, target: str | None) -> Reduction:
    cost = cost_of(target)
    gone = [factor for dim in dims for factor in source.dims[dim]]
    kept = [factor for dim, factors in enumerate(source.dims) if dim not in dims for factor in factors]

    def held(factors: Sequence[Factor], axis: str | None) -> list[int]:
        return [int(factor.extent) for factor in factors if factor.axis == axis]

    results = prod(held(kept, "reg")) * prod(held(kept, None))
    in_lane = prod(held(gone, "reg")) * prod(held(gone, None))
    lanes, subgroups = held(gone, "lane"), prod(held(gone, "sg"))
    words = -(-results * bits // 32)
    steps = sum(n.bit_length() - 1 if n & (n - 1) == 0 else n - 1 for n in lanes)
    through = 0
    if subgroups > 1:
        through = 2 * cost.message + (1 + subgroups) * words * cost.word + cost.barrier + (subgroups - 1) * results
    return Reduction(
        results,
        in_lane,
        prod(lanes),
        subgroups,
        steps * words,
        results * (in_lane - 1) * cost.select,
        steps * (words * cost.shuffle + results * cost.select),
        through,
    )
