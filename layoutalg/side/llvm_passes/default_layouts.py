"""Results that nobody demands: LLVM 24 gives them a layout that follows from their operands'; before, they had none.

>>> from layoutalg.ir import read_module
>>> from layoutalg.xegpu import LayoutAttr
>>> text = "%x = arith.constant dense<0.0> : vector<8x16xf32> "
>>> text += "%y = vector.transpose %x, [1, 0] : vector<8x16xf32> to vector<16x8xf32>"
>>> print(filled(list(read_module(text).ops)[1], [LayoutAttr(lane_layout=(1, 16))]))
#xegpu.layout<lane_layout = [16, 1], order = [0, 1]>
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from layoutalg.side.llvm_passes.analysis import shape_in
from layoutalg.side.llvm_passes.fields import Attribute, permuted
from layoutalg.side.llvm_passes.sources import is_elementwise, refolded

__all__ = ["filled", "left_open"]


def left_open(op: Operation, layouts: list[Attribute | None]) -> Attribute | None:
    """No layout."""
    return None


def filled(op: Any, layouts: list[Attribute | None]) -> Attribute | None:
    """The layout of the result of a transpose, shape_cast or elementwise operation, from the first operand that has one."""
    first = next((layout for layout in layouts if layout is not None), None)
    if first is None:
        return None
    if op.name == "vector.transpose":
        return permuted(first, op.permutation.get_values())
    if op.name == "vector.shape_cast":
        return refolded(first, shape_in(op.operands[0]), shape_in(op.results[0]))
    return first if is_elementwise(op) else None
