"""Levels refine one another: who holds what is decided for subgroups first, and then for the lanes of each.

Two levels decide: which subgroup has which block, and which lane of it has which element. The refinement of a layout of
subgroups is a block product: its subgroups, and in the block of each the lanes of the finer one.

>>> coarse = Layout.parse("d0 = 2@sg:4 32@reg:16, d1 = 4@sg 16@reg")
>>> print(refined(coarse, Layout.parse("d0 = 64@reg:4, d1 = 4@reg 16@lane")))
d0 = 2@sg:4 32@reg, d1 = 4@sg 16@lane

The finer layout may be one of the whole tensor, of a block, or of one tile: what counts of it is its tile of lanes, with
which the block is filled. A block of 8 columns has no room for 16 lanes in a row:

>>> refined(Layout.parse("d0 = 64@reg:8, d1 = 8@sg 8@reg"), Layout.parse("d0 = 8@reg, d1 = 16@lane"))

`inst_data` decides nothing: it is an order of registers. So a text that states subgroups alone, or instruction tiles alone,
leaves the lanes open, and conversions between such layouts are decided again with the lanes (`without_coarse_conversions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from xdsl.ir import Operation

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed
from layoutalg.flow.graph import Flow
from layoutalg.flow.levels import levels_of, machine_of, unblocked
from layoutalg.flow.written_layouts import statements_of
from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.propagation.named_layout import NamedLayout, agree, as_written, attribute_for
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = [
    "block_of",
    "coarse_held",
    "has_subgroups",
    "is_coarse",
    "leaves_lanes",
    "refine",
    "refined",
    "states_subgroups",
    "without_coarse_conversions",
]

_CACHED = 1 << 14
_HELD = ("reg", None)


def is_coarse(attribute: Distributed) -> bool:
    """Whether a layout says subgroups, and leaves the lanes open."""
    levels = levels_of(attribute)
    return "sg" in levels and "lane" not in levels


def leaves_lanes(attribute: Distributed) -> bool:
    """Whether a layout says nothing of lanes: subgroups alone, or tiles of instructions."""
    return isinstance(attribute, LayoutAttr | SliceAttr) and "lane" not in levels_of(attribute)


def states_subgroups(module: Operation) -> bool:
    """Whether a module states subgroups somewhere, and leaves the lanes open there."""
    return any(is_coarse(statement.attribute) for operation in module.walk() for statement in statements_of(operation))


_OF_ONE_SUBGROUP = frozenset(("gpu.subgroup_id", "gpu.lane_id", "gpu.thread_id", "gpu.global_id", "gpu.shuffle"))
"""A kernel that asks for these says by itself what each subgroup does."""


def has_subgroups(flow: Flow, target: str, *, spread: bool) -> bool:
    """Whether a function's values belong to a workgroup, so that its subgroups share the work.

    Stated subgroups say so. With `spread`, so does a kernel of several subgroups that states no lanes, works on whole blocks,
    and does not ask which subgroup it is.
    """
    from layoutalg.simulate.levels import level_of

    stated = [one.attribute for value in flow.values for one in value.stated] + [one.attribute for one in flow.wanted]
    if any(is_coarse(attribute) for attribute in stated):
        return True
    if not spread or any("lane" in levels_of(attribute) for attribute in stated):
        return False
    several = (machine_of(flow.function, target).subgroups or 1) > 1
    asks = any(one.name in _OF_ONE_SUBGROUP for function in flow.functions for one in function.walk())
    return several and not asks and level_of(flow.function) != "lane"


@lru_cache(maxsize=_CACHED)
def refined(coarse: Layout, fine: Layout) -> Layout | None:
    """The subgroups of one layout, and in the block of each the lanes of another; None where the block has no room for them.

    >>> print(refined(Layout.parse("d0 = 4@sg 16@reg | replicas 2@sg:4"), Layout.parse("d0 = 16@lane")))
    d0 = 4@sg 16@lane | replicas 2@sg:4
    """
    if coarse.rank != fine.rank or "lane" in coarse.axes or coarse.offsets or fine.offsets or any(fine.origins):
        return None
    # The registers of the tile keep their order; around it they are row-major, and rounds of subgroups come last.
    outer: list[list[Factor]] = []
    held: list[list[Factor]] = []
    blocks: list[int] = []
    for above, below in zip(coarse.dims, fine.dims, strict=True):
        first = 1 + max((at for at, one in enumerate(above) if one.axis == "sg"), default=-1)
        of_subgroup = _lanes(below)
        if of_subgroup is None:
            return None
        outer.append(list(above[:first]))
        held.append(of_subgroup)
        blocks.append(_size(above[first:]))
    if [_size(one) for one in held] == blocks:
        inner = held
    else:
        tiles = [_tile(one) for one in held]
        if any(block % _size(tile) for block, tile in zip(blocks, tiles, strict=True)):
            return None
        inner = [[Factor(block // _size(tile)), *tile] for block, tile in zip(blocks, tiles, strict=True)]
    strides = _strides(outer, inner)
    if strides is None:
        return None
    dims = [
        [
            Factor(factor.extent, strides[dim, at], "reg") if factor.axis in _HELD else factor
            for at, factor in enumerate([*outer[dim], *inner[dim]])
            if factor.extent != 1
        ]
        for dim in range(coarse.rank)
    ]
    lanes = [factor for factor in fine.replicas if factor.axis == "lane"]
    groups = [factor for factor in coarse.replicas if factor.axis == "sg"]
    return Layout(dims, [*groups, *lanes])


def _size(factors: Sequence[Factor]) -> int:
    return prod(int(factor.extent) for factor in factors)


def _lanes(factors: tuple[Factor, ...]) -> list[Factor] | None:
    """One subgroup's part of a dimension: what lies below its subgroups; None where lanes lie above them."""
    last = max((at for at, one in enumerate(factors) if one.axis == "sg"), default=-1)
    if any(one.axis == "lane" for one in factors[: max(last, 0)]):
        return None
    return list(factors[last + 1 :])


def _tile(factors: list[Factor]) -> list[Factor]:
    """From the first digit of lanes on: what comes before it are copies of the tile."""
    first = next((at for at, one in enumerate(factors) if one.axis == "lane"), len(factors))
    return factors[first:]


def _strides(outer: list[list[Factor]], inner: list[list[Factor]]) -> dict[tuple[int, int], int] | None:
    """How far apart registers are: those of the tile in its order, then its copies, then the rounds of subgroups."""
    tile: list[tuple[int, int, int, int]] = []
    copies: list[tuple[int, int, int]] = []
    rounds: list[tuple[int, int, int]] = []
    for dim, (above, below) in enumerate(zip(outer, inner, strict=True)):
        for at, factor in enumerate([*above, *below]):
            if factor.axis not in _HELD:
                if factor.axis not in ("sg", "lane"):
                    return None
                continue
            extent = int(factor.extent)
            if at < len(above):
                rounds.append((dim, at, extent))
            elif factor.axis is None:
                copies.append((dim, at, extent))
            else:
                tile.append((int(factor.stride), dim, at, extent))
    found: dict[tuple[int, int], int] = {}
    size = 1
    in_tile = [(dim, at, extent) for _, dim, at, extent in sorted(tile)]
    for dim, at, extent in (*in_tile, *reversed(copies), *reversed(rounds)):
        found[dim, at] = size
        size *= extent
    return found


@lru_cache(maxsize=_CACHED)
def refine(coarse: NamedLayout, fine: NamedLayout, llvm: int) -> NamedLayout | None:
    """A layout with the subgroups of one and the lanes of another; None where the blocks have no room, or nothing says it.

    >>> groups = as_written(LayoutAttr(sg_layout=(2, 4), sg_data=(32, 16)), (64, 64))
    >>> lanes = as_written(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (64, 64))
    >>> print(refine(groups, lanes, 24).attribute)
    #xegpu.layout<sg_layout = [2, 4], sg_data = [32, 16], lane_layout = [1, 16], lane_data = [1, 1]>
    """
    if "lane" not in fine.levels:
        return None
    if "sg" in fine.levels and agree(coarse, fine):
        return fine
    layout = refined(coarse.layout, fine.layout)
    if layout is None:
        return None
    attribute = _together(coarse.attribute, fine.attribute) or coarse.attribute
    like = replace(coarse, attribute=attribute, levels=("lane", "sg"))
    return attribute_for(layout, like, coarse.shape, llvm)


def _together(coarse: Distributed, fine: Distributed) -> Distributed | None:
    """The attribute of subgroups with the fields of another one that says lanes, where they are alike."""
    if isinstance(coarse, SliceAttr) and isinstance(fine, SliceAttr) and coarse.dims == fine.dims:
        parent = _together(coarse.parent, fine.parent)
        return SliceAttr(parent, coarse.dims) if isinstance(parent, LayoutAttr | SliceAttr) else None
    if not isinstance(coarse, LayoutAttr) or not isinstance(fine, LayoutAttr) or coarse.rank != fine.rank:
        return None
    return replace(coarse, inst_data=None, lane_layout=fine.lane_layout, lane_data=fine.lane_data)


@lru_cache(maxsize=_CACHED)
def block_of(coarse: NamedLayout) -> tuple[int, ...]:
    """The block of one subgroup (of one round, where a subgroup has several)."""
    return tuple(_size(_lanes(factors) or ()) for factors in coarse.layout.dims)


def without_coarse_conversions(module: Operation) -> Iterator[ConvertLayoutOp]:
    """Yield conversions without lanes, taken out of the way of their uses: what to convert is decided with the lanes."""
    for operation in list(module.walk()):
        if not isinstance(operation, ConvertLayoutOp) or len(operation.operands) != 1:
            continue
        written: Any = {**operation.attributes, **operation.properties}
        layouts = [written.get(name) for name in ("input_layout", "target_layout")]
        values = [getattr(layout, "value", None) for layout in layouts]
        if all(value is not None and leaves_lanes(value) for value in values):
            operation.results[0].replace_all_uses_with(operation.operands[0])
            yield operation


def coarse_held(attribute: Distributed, shape: tuple[int, ...]) -> NamedLayout | None:
    """What a statement about subgroups says of a tensor, without the order of registers."""
    return as_written(unblocked(attribute), shape)
