"""Whether a layout of a module fits a shape, as each version of LLVM decides it.

>>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
>>> distributable(LayoutAttr("lane_layout = [1, 16], lane_data = [1, 1]"), (8, 16), 23)
True
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.ir import Attribute

from layoutalg.ir.verify.types import layout_value

__all__ = ["distributable", "level"]


@lru_cache(maxsize=16384)
def distributable(layout: Attribute, shape: tuple[int, ...], llvm: int) -> bool:
    """Whether a version of LLVM can deal a shape out by a layout or slice.

    >>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
    >>> distributable(LayoutAttr("lane_layout = [1, 16], lane_data = [1, 1]"), (8, 17), 23)
    False
    """
    value: Any = layout_value(layout)
    if llvm > 22 and value.rank != len(shape):
        return value.rank > len(shape)  # LLVM looks at fewer dimensions than the layout has: a rule of ours refuses it
    return value.check(shape, llvm=llvm) is None


@lru_cache(maxsize=4096)
def level(layout: Attribute) -> str:
    """For whom a layout is: "workgroup" where it has subgroups, else "subgroup".

    >>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
    >>> level(LayoutAttr("lane_layout = [1, 16]"))
    'subgroup'
    """
    value: Any = layout_value(layout)
    return "workgroup" if value.parent_layout().sg_layout is not None else "subgroup"
