"""What the layouts of a function mean there: on its machine, at the levels that they say.

A layout may speak of subgroups (`sg_layout`), of instructions (`inst_data`) and of lanes (`lane_layout`), or of some of them.
Two layouts are compared at the levels that both say.

>>> from layoutalg.xegpu import LayoutAttr
>>> subgroups, lanes = LayoutAttr(sg_layout=(2, 4), sg_data=(16, 16)), LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
>>> sorted(levels_of(subgroups)), sorted(levels_of(lanes))
(['sg'], ['lane'])
>>> print(spread(lanes, (8, 16), Machine(lanes=16)))
d0 = 8@reg, d1 = 16@lane
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Operation

from layoutalg.conversion import ConversionPlan, convert
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine, plain_layout, single_operand
from layoutalg.hardware import target_info
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["DEFAULT_TARGET", "levels_of", "machine_of", "planned", "spread"]

DEFAULT_TARGET = "pvc"
_CACHED = 1 << 14


@lru_cache(maxsize=_CACHED)
def spread(attribute: Distributed, shape: tuple[int, ...], machine: Machine) -> Layout:
    """Who holds what of a tensor of this shape; work-items of the machine that the layout does not use hold copies.

    Raises `DistributionError` where the layout does not fit the shape.
    """
    sizes = shape if attribute.needs_shape else None
    return plain_layout(attribute, single_operand(attribute, sizes, machine))


def levels_of(attribute: Distributed) -> frozenset[str]:
    """The levels that a layout says: of `sg`, `inst` and `lane`. Other notations than XeGPU say subgroups and lanes.

    >>> sorted(levels_of(LayoutAttr(inst_data=(8, 16))))
    ['inst']
    """
    if not isinstance(attribute, LayoutAttr | SliceAttr):
        return frozenset(("sg", "lane"))
    parent = attribute.parent_layout()
    said = {"sg": parent.sg_layout, "inst": parent.inst_data, "lane": parent.lane_layout}
    return frozenset(level for level, field in said.items() if field is not None)


@lru_cache(maxsize=_CACHED)
def planned(
    source: Distributed, result: Distributed, shape: tuple[int, ...], bits: int, machine: Machine, target: str
) -> ConversionPlan:
    """The plan of the conversion between two layouts of a value (see `layoutalg.convert`), which is kept."""
    return convert(source, result, shape, machine=machine, element_bits=bits, target=target)


def machine_of(function: Operation, target: str = DEFAULT_TARGET) -> Machine:
    """The lanes of a subgroup and the subgroups of a workgroup that a kernel says; the chip's lanes where it doesn't.

    >>> from layoutalg.ir import read_module
    >>> text = '''gpu.module @m { gpu.func @k() kernel attributes {intel_reqd_sub_group_size = 16 : i32,
    ...   known_block_size = array<i32: 64, 2, 1>} { gpu.return } }'''
    >>> machine_of(next(op for op in read_module(text).walk() if op.name == "gpu.func"))
    Machine(lanes=16, subgroups=8, threads=None)
    """
    lanes = target_info(target).subgroup_size
    for name in ("intel_reqd_sub_group_size", "reqd_sub_group_size"):
        said = function.attributes.get(name)
        if isinstance(said, IntegerAttr) and said.value.data > 0:
            lanes = said.value.data
    block = getattr(function, "known_block_size", None)
    if not isinstance(block, DenseArrayBase):
        return Machine(lanes=lanes)
    items = prod(block.get_values())
    return Machine(lanes=lanes, subgroups=items // lanes) if items >= lanes else Machine(lanes=lanes)
