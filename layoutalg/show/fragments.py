"""Layouts that a pass left behind: once lanes have their fragments, `layout_result_0` speaks of the tensor that was.

Behind LLVM's subgroup-to-lane pass stands, for one,

    %3 = math.exp %2 {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x1xf32>

The layout does not fit 16x1, and is not meant to: 16x1 is what one lane holds of 16x16. That is what is said of it.

>>> text = '''gpu.module @m { gpu.func @k(%p: memref<16x16xf32>) kernel {
...   %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x16xf32> -> vector<16xf32>
...   %y = vector.shape_cast %x : vector<16xf32> to vector<16x1xf32>
...   %e = math.exp %y {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x1xf32>
...   gpu.return } }'''
>>> module = la.read(text)
>>> [use] = module.layouts
>>> whole_of(use, fragment_places(module))
(16, 16)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layoutalg.xegpu.attributes import LayoutAttr

if TYPE_CHECKING:
    from layoutalg.ir.places import Place
    from layoutalg.module import LayoutUse, Module

__all__ = ["fragment_places", "whole_of"]

_LEFT = re.compile(r"layout_(operand|result)_\d+")
"""The attributes that LLVM's passes write beside operations, and leave there."""


def fragment_places(module: Module) -> frozenset[Place]:
    """Where the operations of functions stand whose values are what one lane holds."""
    from layoutalg.ir.places import place_of
    from layoutalg.simulate.levels import works_on_fragments

    found: set[Place] = set()
    for part in module.parts:
        for function in part.module.walk():
            if function.name in ("func.func", "gpu.func") and works_on_fragments(function):
                places = (place_of(operation) for operation in function.walk())
                found.update(place for place in places if place is not None)
    return frozenset(found)


def whole_of(use: LayoutUse, fragments: frozenset[Place]) -> tuple[int, ...] | None:
    """The shape of the tensor that a fragment's layout was about before a pass; None where it isn't on a fragment."""
    attribute = use.attribute
    if use.place not in fragments or use.shape is None or _LEFT.fullmatch(use.operand) is None:
        return None
    if not isinstance(attribute, LayoutAttr) or attribute.lane_layout is None or attribute.sg_layout is not None:
        return None
    if len(attribute.lane_layout) != len(use.shape):
        return None
    return tuple(size * lanes for size, lanes in zip(use.shape, attribute.lane_layout, strict=True))
