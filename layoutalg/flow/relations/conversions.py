"""Operations whose business is who holds an element: conversions of layouts, and exchanges between lanes.

A conversion moves whatever has to move, so it ties the same element on both sides and reaches over the workgroup:

>>> from layoutalg.ir import read_module
>>> text = '%a = "test.op"() : () -> vector<16x16xf32> %b = xegpu.convert_layout %a <{'
>>> text += "input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, "
>>> text += "target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>"
>>> [tie] = conversion(read_module(text).body.block.last_op).ties
>>> print(tie.relation, tie.reach)
d0 = 16@d0, d1 = 16@d1 workgroup

What stands at lane level (shuffles, the hardware's own operations) has fragments for operands, which are spread no further.
"""

from __future__ import annotations

from typing import Any

from layoutalg.flow.relations.relation import Relation, relates, same_shape

__all__: list[str] = []


@relates("xegpu.convert_layout", "ttg.convert_layout", "iree_vector_ext.to_layout")
def conversion(op: Any) -> Relation:
    """The same tensor, held by others."""
    return Relation(same_shape(op, 0, op.results[0], "workgroup"))


@relates("iree_gpu.value_barrier")
def value_barrier(op: Any) -> Relation:
    """The same values, after everybody has written his."""
    return Relation(tuple(tie for at, result in enumerate(op.results) for tie in same_shape(op, at, result)))


@relates(
    "gpu.shuffle",
    "gpu.rotate",
    "gpu.subgroup_broadcast",
    "gpu.subgroup_reduce",
    "gpu.all_reduce",
    "iree_vector_ext.to_simd",
    "iree_vector_ext.to_simt",
    "xegpu.lane_shuffle",
    "xevm.blockload",
    "xevm.blockload2d",
    "xevm.blockstore",
    "xevm.blockstore2d",
    "xevm.mma",
)
def of_fragments(op: Any) -> Relation:
    """Each lane's own fragment: there is no tensor that it is a part of."""
    return Relation()
