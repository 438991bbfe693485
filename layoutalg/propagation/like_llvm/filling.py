"""Results that nobody demands: LLVM 24 gives them a layout that follows from their operands'.

>>> from xdsl.dialects.test import TestOp
>>> left_open(TestOp(), [])
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from layoutalg.propagation.like_llvm.analysis import bits_of, shape_in
from layoutalg.propagation.like_llvm.fields import Attribute, permuted, scaled, sliced

__all__ = ["filled", "left_open"]


def left_open(op: Operation, layouts: list[Attribute | None]) -> Attribute | None:
    """No layout."""
    return None


def filled(op: Any, layouts: list[Attribute | None]) -> Attribute | None:
    """The layout of the result of an operation, from those of its operands.

    >>> from xdsl.dialects.test import TestOp
    >>> filled(TestOp(), [])
    """
    first = next((layout for layout in layouts if layout is not None), None)
    if first is None:
        return None
    dialect = op.name.partition(".")[0]
    if op.name == "vector.transpose":
        return permuted(first, op.permutation.get_values())
    if op.name == "vector.multi_reduction":
        return sliced(first, op.reduction_dims.get_values())
    if op.name == "vector.bitcast":
        before, after = bits_of(op.operands[0]), bits_of(op.results[0])
        return scaled(first, before, after) if before >= after else scaled(first, 1, after // before)
    if dialect in ("arith", "math") or (
        op.name.startswith("vector.") and shape_in(op.results[0]) == shape_in(op.operands[0])
    ):
        return first
    return None
