"""Whether a layout of a module fits a shape, as each version of LLVM decides it.

>>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
>>> distributable(LayoutAttr("lane_layout = [1, 16], lane_data = [1, 1]"), (8, 16), 23)
True
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute

from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.ir.verify.types import inside, layout_value

__all__ = ["distributable", "level", "reasons", "reasons_of_type", "undistributed"]


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


def undistributed(said: str, layout: Attribute, shape: tuple[int, ...], llvm: int) -> tuple[str, ...] | None:
    """LLVM's words for a layout that does not fit a shape, and as a note the reason and what would fit; None where it fits.

    >>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
    >>> undistributed("no", LayoutAttr("lane_layout = [1, 16], lane_data = [1, 1]"), (8, 24), 23)[1]
    'dimension 1 has 24 columns: 16 lanes of 1 need a multiple of 16, or exactly 1; 8x32 would fit, or lane_layout = [2, 8]'
    """
    if distributable(layout, shape, llvm):
        return None
    return said, *reasons(layout_value(layout), shape, llvm)


def reasons(value: Any, shape: tuple[int, ...], llvm: int) -> tuple[str, ...]:
    """Why a version of LLVM refuses a layout or slice on a shape, and what would fit: the notes of a finding, one or none.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> reasons(LayoutAttr(lane_layout=(16,), lane_data=(1,)), (8,), 24)[0][:33]
    'dimension 0 has 8 elements: 16 la'
    """
    found = value.refusal(shape, llvm)
    return () if found is None else (str(found),)


def reasons_of_type(kind: Attribute, llvm: int) -> tuple[str, ...]:
    """Those of the first descriptor in a type that a version of LLVM refuses; none where its layout is not the reason.

    >>> from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr, f16
    >>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
    >>> layout = LayoutAttr("lane_layout = [1, 16], lane_data = [1, 1]")
    >>> kind = TensorDescType(ArrayAttr([IntAttr(8), IntAttr(8)]), f16, NoneAttr(), layout)
    >>> reasons_of_type(kind, 24)
    ('dimension 1 has 8 columns: 16 lanes of 1 need a multiple of 16, or exactly 1; 8x16 would fit, or lane_layout = [2, 8]',)
    """
    if isinstance(kind, TensorDescType):
        layout = kind.layout
        return () if isinstance(layout, NoneAttr) else reasons(layout_value(layout), kind.get_shape(), llvm)
    return next((found for one in inside(kind) if (found := reasons_of_type(one, llvm))), ())


@lru_cache(maxsize=4096)
def level(layout: Attribute) -> str:
    """For whom a layout is: "workgroup" where it has subgroups, else "subgroup".

    >>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
    >>> level(LayoutAttr("lane_layout = [1, 16]"))
    'subgroup'
    """
    value: Any = layout_value(layout)
    return "workgroup" if value.parent_layout().sg_layout is not None else "subgroup"
