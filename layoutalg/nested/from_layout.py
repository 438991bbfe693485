"""From a layout, or any value that has one, to the nested layout that means the same.

>>> row = Layout.parse("d0 = 4@reg:4 2@sg 64@lane 4@reg")
>>> attr = to_nested(row)
>>> attr.thread_tile, attr.thread_strides
((128,), (1,))
>>> attr.layout((2048,), la.Machine(lanes=64, subgroups=2)) == row
True

The attribute does not say how large a subgroup or a workgroup is: `layout` has to be asked with the layout's own numbers of
lanes and subgroups.

The law: `to_nested(attr.layout(shape, machine))` means the same as `attr` on that machine, for every attribute that has a
layout. `regrouping` does the work.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.core.errors import ConversionError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, sole_layout
from layoutalg.core.whole_numbers import found_whole
from layoutalg.nested.attributes import NestedLayoutAttr
from layoutalg.nested.regrouping import regroup

__all__ = ["to_nested"]


def to_nested(
    value: Distributed,
    shape: Sequence[int] | None = None,
    machine: Machine | None = None,
    *,
    subgroup_size: int | None = None,
) -> NestedLayoutAttr:
    """The nested layout whose `layout`, for as many lanes and subgroups, is this layout, or that of a value of any notation.

    `shape` and `machine` are what the value leaves open; lanes and subgroups that it does not use hold copies.
    `subgroup_size`, where given, must be the layout's number of lanes. Names of dimensions are not kept: the attribute has
    none.

    Raises `ConversionError` naming the dimension and the factor that nested layouts have no counterpart for, for a value with
    several operands, and where a shape is missing; `DistributionError` where the value has no layout.

    >>> print(to_nested(Layout.parse("d0 = 4@reg, d1 = 16@lane | replicas 4@lane:16")).thread_strides)
    (0, 1)
    >>> to_nested(la.parse("#xegpu.layout<lane_layout = [1, 16]>"), (8, 32), machine=la.Machine(lanes=32)).element_tile
    (8, 2)
    >>> to_nested(Layout.parse("d0 = 2@lane:8 4@reg 8@lane"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: dimension d0: 8@lane is a second thread factor, and a nested layout has one of
    each (in d0 = 2@lane:8 4@reg 8@lane)
    """
    layout = sole_layout(value, shape, machine, "to_nested")
    found = regroup(layout)
    lanes = layout.axes.get("lane", 1)
    if subgroup_size is not None and found_whole(subgroup_size) != lanes:
        raise ConversionError(
            f"it has {lanes} lanes and a subgroup has {shown(subgroup_size)}: idle lanes would hold copies, and it has none "
            f"(in {layout})"
        )
    return NestedLayoutAttr(*found.fields())
