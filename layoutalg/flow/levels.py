"""What the layouts of a function mean there: on its machine, at the levels that they say.

A layout may speak of subgroups (`sg_layout`), of instructions (`inst_data`) and of lanes (`lane_layout`), or of some of them.
Two layouts are compared at the levels that both say.

>>> from layoutalg.xegpu import LayoutAttr
>>> subgroups, lanes = LayoutAttr(sg_layout=(2, 4), sg_data=(16, 16)), LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
>>> sorted(levels_of(subgroups)), sorted(levels_of(lanes))
(['sg'], ['lane'])
>>> print(layout_at(lanes, (8, 16), Machine(lanes=16)))
d0 = 8@reg, d1 = 16@lane
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Operation

from layoutalg.conversion.price import DEFAULT_CHIP
from layoutalg.core.carrying import held_in_both, settled, without
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_WORK_ITEMS
from layoutalg.core.notation import Distributed, Machine, Operand, one_operand, single_operand
from layoutalg.hardware import target_info
from layoutalg.triton.encodings import Encoding
from layoutalg.xegpu import LayoutAttr, SliceAttr

if TYPE_CHECKING:
    from layoutalg.flow.graph import Flow

__all__ = [
    "DEFAULT_TARGET",
    "LEVELS",
    "PartlySaid",
    "layout_at",
    "levels_of",
    "machine_in",
    "machine_of",
    "narrowed",
    "on_levels",
    "unblocked",
]

DEFAULT_TARGET = DEFAULT_CHIP
LEVELS = ("lane", "inst", "workgroup")
"""What propagation can be asked to state: `lane_layout`, `inst_data` or `sg_layout`."""
_CACHED = 1 << 14
_LANES = ("intel_reqd_sub_group_size", "reqd_sub_group_size", "ttg.threads-per-warp", "triton_gpu.threads-per-warp")
_SUBGROUPS, _OLD_SUBGROUPS = "ttg.num-warps", "triton_gpu.num-warps"


@dataclass(frozen=True, slots=True)
class PartlySaid(Distributed):
    """A layout that counts at some levels alone, as an XeGPU attribute without `lane_layout` does.

    >>> sorted(levels_of(PartlySaid(Layout.parse("d0 = 2@sg 8@reg"), frozenset({"sg"}))))
    ['sg']
    """

    spread: Layout
    said: frozenset[str]

    @property
    def levels(self) -> frozenset[str]:
        """The levels at which the layout counts."""
        return self.said

    @classmethod
    @lru_cache(maxsize=_CACHED)
    def of(cls, layout: Layout, levels: frozenset[str]) -> PartlySaid:
        """Who holds what, whatever the order of registers: they are counted in row-major order.

        >>> print(PartlySaid.of(Layout.parse("d0 = 2@reg, d1 = 2@reg:2 8@lane"), frozenset({"lane"})))
        d0 = 2@reg:2, d1 = 2@reg 8@lane (lane)
        """
        dims = [[Factor(f.extent, 0, None) if f.axis == "reg" else f for f in factors] for factors in layout.dims]
        replicas = [factor for factor in layout.replicas if factor.axis != "reg"]
        offsets = {axis: start for axis, start in layout.offsets.items() if axis != "reg"}
        return cls(settled(Layout(dims, replicas, offsets, origins=layout.origins)), levels)

    def completed_by(self, other: Distributed) -> Distributed:
        """The layout with the levels that it leaves open as another one says them: what work-items hold in both.

        >>> blocks = PartlySaid(Layout.parse("d0 = 4@sg 16@reg | replicas 16@lane"), frozenset({"sg"}))
        >>> print(blocks.completed_by(PartlySaid(Layout.parse("d0 = 4@reg 16@lane | replicas 4@sg"), frozenset({"lane"}))))
        d0 = 4@sg 16@lane (lane, sg)
        """
        more = other.said - self.said if isinstance(other, PartlySaid) else frozenset[str]()
        if not isinstance(other, PartlySaid) or not more:
            return self
        try:
            both = held_in_both(on_levels(self.spread, self.said), on_levels(other.spread, more))
        except LayoutError:
            return self
        return PartlySaid.of(both, self.said | more)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout, of the tensor and the machine that it is for."""
        return one_operand(str(self), self.spread)

    def __str__(self) -> str:
        return f"{self.spread} ({', '.join(sorted(self.said))})"


def on_levels(layout: Layout, levels: AbstractSet[str]) -> Layout:
    """A layout on the axes of these levels; what it does on others counts as registers.

    >>> print(on_levels(Layout.parse("d0 = 4@sg 2@reg, d1 = 16@lane"), {"sg"}))
    d0 = 4@sg 2@reg:16, d1 = 16@reg
    """
    return settled(without(layout, [axis for axis in layout.axes if axis not in levels]))


@lru_cache(maxsize=_CACHED)
def layout_at(attribute: Distributed, shape: tuple[int, ...], machine: Machine) -> Layout:
    """Who holds what of a tensor of this shape; work-items of the machine that the layout does not use hold copies.

    Raises `DistributionError` where the layout does not fit the shape.

    >>> print(layout_at(LayoutAttr(lane_layout=(8,), lane_data=(1,)), (8,), Machine(lanes=16)))
    d0 = 8@lane | replicas 2@lane:8
    """
    sizes = shape if attribute.needs_shape else None
    return single_operand(attribute, sizes, machine).layout


@lru_cache(maxsize=_CACHED)
def levels_of(attribute: Distributed) -> frozenset[str]:
    """The levels that a layout says: of `sg`, `inst` and `lane` (`Distributed.levels`, kept)."""
    return attribute.levels


@lru_cache(maxsize=_CACHED)
def unblocked(attribute: Distributed) -> Distributed:
    """The layout without instruction tiles, which change the order of registers alone; who holds what stays.

    >>> print(unblocked(LayoutAttr(inst_data=(8, 16), lane_layout=(1, 16), lane_data=(1, 1))))
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
    """
    if isinstance(attribute, SliceAttr):
        parent = unblocked(attribute.parent)
        return replace(attribute, parent=parent) if isinstance(parent, LayoutAttr | SliceAttr) else attribute
    if not isinstance(attribute, LayoutAttr) or attribute.inst_data is None:
        return attribute
    if attribute.lane_layout is None:
        return attribute if attribute.sg_layout is None else replace(attribute, inst_data=None)
    data = attribute.lane_data
    if data is None:
        sizes = [divmod(tile, lanes) for tile, lanes in zip(attribute.inst_data, attribute.lane_layout, strict=True)]
        if any(rest or not size for size, rest in sizes):
            return attribute
        data = tuple([size for size, _ in sizes])
    return replace(attribute, inst_data=None, lane_data=data)


@lru_cache(maxsize=_CACHED)
def narrowed(attribute: Distributed, shape: tuple[int, ...]) -> LayoutAttr | None:
    """A layout whose blocks are cut to dimensions of size 1: what LLVM means where it keeps the layout of a wider value.

    None where no dimension is 1 or the layout is another one.

    >>> wide = LayoutAttr(sg_layout=(4, 1), sg_data=(8, 32), lane_layout=(1, 16), lane_data=(1, 1))
    >>> print(narrowed(wide, (32, 1)))
    #xegpu.layout<sg_layout = [4, 1], sg_data = [8, 1], lane_layout = [1, 16], lane_data = [1, 1]>
    """
    if not isinstance(attribute, LayoutAttr) or attribute.rank != len(shape) or 1 not in shape:
        return None

    def cut(sizes: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if sizes is None:
            return None
        return tuple([1 if size == 1 else one for size, one in zip(shape, sizes, strict=True)])

    data = {name: cut(getattr(attribute, name)) for name in ("sg_data", "inst_data", "lane_data")}
    return replace(attribute, **data)


def machine_of(function: Operation, target: str = DEFAULT_TARGET, layouts: Iterable[Distributed] = ()) -> Machine:
    """The lanes of a subgroup and the subgroups of a workgroup that a kernel says.

    Where it does not say them, they are what its `layouts` use, and the chip's lanes where those use none.
    """
    used = [_reach(layout) for layout in set(layouts)]
    lanes = next((found for name in _LANES if (found := _number(function, name))), None)
    if lanes is None:
        lanes = max([each[0] for each in used if each[0]], default=0)
        if not lanes or not any(other for _, _, other in used):  # XeGPU's layouts may use fewer lanes than the chip has
            lanes = max(lanes, target_info(target).subgroup_size)
    block = getattr(function, "known_block_size", None)
    if isinstance(block, DenseArrayBase):
        items = prod(block.get_values())
        if items > MOST_WORK_ITEMS:
            sizes = list(block.get_values())
            raise LayoutError(f"known_block_size = {sizes}: a workgroup has at most {MOST_WORK_ITEMS:,} work-items")
        if items >= lanes:
            return Machine(lanes=lanes, subgroups=items // lanes)
    subgroups = (
        _number(function, _SUBGROUPS) or _number(function, _OLD_SUBGROUPS) or max([each[1] for each in used], default=0)
    )
    return Machine(lanes=lanes, subgroups=subgroups or None)


@lru_cache(maxsize=_CACHED)
def _reach(layout: Distributed) -> tuple[int, int, bool]:
    """The lanes and subgroups that a layout uses (0: not said), and whether it is of another notation than XeGPU."""
    if isinstance(layout, LayoutAttr | SliceAttr):
        parent = layout.parent_layout()
        lanes, subgroups = (0 if counts is None else prod(counts) for counts in (parent.lane_layout, parent.sg_layout))
        return lanes, subgroups, False
    if isinstance(layout, Encoding):
        return _of_encoding(layout)
    try:
        axes = single_operand(layout, None, None).layout.axes
    except LayoutError:
        return 0, 0, True
    return int(axes.get("lane", 1)), int(axes.get("sg", 1)), True


def _of_encoding(layout: Encoding) -> tuple[int, int, bool]:
    """The lanes and warps of a layout of Triton's, which are the same for every shape."""
    try:
        linear = layout.to_linear((1,) * layout.rank)
        lanes, warps = (1 << len(linear.bases_of(name)) for name in ("lane", "warp"))
    except LayoutError:  # of memory, or of shapes of a size that only its own type says
        return 0, 0, True
    return lanes, warps, True


def machine_in(flow: Flow, target: str = DEFAULT_TARGET) -> Machine:
    """The machine of a function, where all of its layouts are looked at."""
    stated = (one.attribute for value in flow.values for one in value.stated)
    return machine_of(flow.function, target, [*stated, *(one.attribute for one in flow.wanted)])


def _number(function: Operation, name: str) -> int | None:
    """A positive number that a function or an operation around it says."""
    around: Operation | None = function
    while around is not None:
        said = around.attributes.get(name)
        if isinstance(said, IntegerAttr) and said.value.data > 0:
            return said.value.data
        around = around.parent_op()
    return None
