"""Layouts that a tensor usually has, where no message and no statement says more.

Lanes deal out the last dimension, subgroups blocks that are as square as can be. Blocks hold whole tiles of 8x16 where they
can:

>>> for layout in usual_layouts((64, 64), "workgroup", Machine(lanes=16, subgroups=8), 24)[:2]:
...     print(layout.attribute)
#xegpu.layout<sg_layout = [4, 2], sg_data = [16, 32]>
#xegpu.layout<sg_layout = [2, 4], sg_data = [32, 16]>
>>> print(usual_layouts((8, 16), "lane", Machine(lanes=16), 24)[0].attribute)
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import gcd, prod

from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine
from layoutalg.flow.relations import Tie
from layoutalg.propagation.named_layout import NamedLayout, as_written, carry_back, if_accepted
from layoutalg.triton.encodings.encoding import Encoding
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["product_operand", "usual_layouts"]

_TILE = (8, 16)
_MOST_FACTORIZATIONS = 4096


@lru_cache(maxsize=1 << 12)
def usual_layouts(shape: tuple[int, ...], level: str, machine: Machine, llvm: int) -> tuple[NamedLayout, ...]:
    """The usual layouts of a tensor at a level, the best first; one in which everybody holds everything is the last.

    >>> [str(one.attribute) for one in usual_layouts((4,), "lane", Machine(lanes=16), 24)]
    ['#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [1]>']
    """
    rank = len(shape)
    found: list[NamedLayout | None] = []
    if level == "workgroup":
        count = machine.subgroups or 1
        for grid in _grids(shape, count):
            blocks = tuple(size // n for size, n in zip(shape, grid, strict=True))
            found.append(if_accepted(LayoutAttr(sg_layout=grid, sg_data=blocks), shape, llvm))
        whole = LayoutAttr(sg_layout=(*(1,) * rank, count), sg_data=(*shape, 1))
        found.append(if_accepted(SliceAttr(whole, (rank,)), shape, llvm))
    elif level == "inst":
        tile = (1,) * max(rank - 2, 0) + _TILE[-min(rank, 2) :]
        sizes = tuple(gcd(size, most) for size, most in zip(shape, tile, strict=True))
        found.append(if_accepted(LayoutAttr(inst_data=sizes), shape, llvm))
    else:
        lanes = machine.lanes or 16
        for dim in reversed(range(rank)):
            deal = tuple(lanes if d == dim else 1 for d in range(rank))
            if shape[dim] % lanes == 0:
                found.append(if_accepted(LayoutAttr(lane_layout=deal, lane_data=(1,) * rank), shape, llvm))
        whole = LayoutAttr(lane_layout=(*(1,) * rank, lanes), lane_data=(1,) * (rank + 1))
        found.append(if_accepted(SliceAttr(whole, (rank,)), shape, llvm))
    return tuple(one for one in found if one is not None)


def _grids(shape: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """The ways to deal out all subgroups, those with blocks of whole tiles and then with square blocks first."""
    divisors = [n for n in range(1, count + 1) if count % n == 0]
    if len(divisors) ** len(shape) > _MOST_FACTORIZATIONS:
        return []
    tile = (1,) * max(len(shape) - 2, 0) + _TILE[-min(len(shape), 2) :]

    def worse(grid: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        blocks = [size // n for size, n in zip(shape, grid, strict=True)]
        odd = sum(block % step != 0 for block, step in zip(blocks, tile, strict=True))
        return odd, max(blocks) - min(blocks), tuple(-n for n in grid)

    fitting = (
        grid
        for grid in product(divisors, repeat=len(shape))
        if prod(grid) == count and all(size % n == 0 for size, n in zip(shape, grid, strict=True))
    )
    return sorted(fitting, key=worse)[:6]


def product_operand(tie: Tie, result: NamedLayout, shape: tuple[int, ...], llvm: int) -> NamedLayout | None:
    """The subgroups' blocks of A or B of a product, from those of its result: all of the depth, and the rows or columns.

    None for Triton's encodings: the lanes of a warp exchange A and B, and their types say how the operation takes them.
    """
    attribute = result.attribute
    if isinstance(attribute, Encoding):
        return None
    if not isinstance(attribute, LayoutAttr) or attribute.sg_layout is None:
        return carry_back(tie.relation, result, shape, llvm)
    blocks = attribute.sg_data or tuple(size // n for size, n in zip(result.shape, attribute.sg_layout, strict=True))
    kept = _kept(tie.relation)
    if len(blocks) != len(shape):
        return carry_back(tie.relation, result, shape, llvm)
    data = tuple(blocks[kept[dim]] if dim in kept else size for dim, size in enumerate(shape))
    found = if_accepted(LayoutAttr(sg_layout=attribute.sg_layout, sg_data=data, order=attribute.order), shape, llvm)
    subgroups = LayoutAttr(sg_layout=attribute.sg_layout, sg_data=blocks, order=attribute.order)
    wanted = carry_back(tie.relation, as_written(subgroups, result.shape) or result, shape, llvm)
    if found is not None and (wanted is None or wanted.key == found.key):
        return found
    return wanted


def _kept(relation: Layout) -> dict[int, int]:
    """For each dimension of the operand that the result has too, the result's."""
    return {
        int(factors[0].axis[1:]): dim
        for dim, factors in enumerate(relation.dims)
        if len(factors) == 1 and factors[0].axis is not None
    }
