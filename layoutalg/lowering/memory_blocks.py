"""Values of other shapes than their block in memory: several blocks side by side, packed rows, transposed blocks.

A descriptor of 32x16 with `array_length = 2` describes 32x32 in memory, and what is loaded is `vector<2x32x16xf16>`. Rows
that are packed in pairs come as `vector<16x16x2xf16>`. The registers of a work-item are the same, only their elements have
other coordinates; so messages move the block as it lies in memory:

>>> from layoutalg.ir import read_module
>>> kind = "!xegpu.tensor_desc<32x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>"
>>> text = f'%t = "test.op"() : () -> {kind} %b = xegpu.load_nd %t[0, 0] : {kind} -> vector<2x32x16xf16>'
>>> load = read_module(text).body.block.last_op
>>> print(in_memory(load, Layout.parse("d0 = 2@reg:32, d1 = 32@reg, d2 = 16@lane")))
d0 = 32@reg, d1 = 2@reg:32 16@lane

The law: register by register, in every work-item, it is the layout of the same elements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import NoneAttr

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import shape_of
from layoutalg.flow.relations.blocks import BlockDemand
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType

__all__ = ["abreast", "in_memory", "rows_unpacked", "side_by_side", "without_count"]


def in_memory(op: Any, layout: Layout) -> Layout:
    """The layout of the block in memory, of the layout of the value that is loaded or stored."""
    number = 0 if op.name == "xegpu.store_nd" else None
    value = op.operands[0] if number == 0 else op.results[0]
    shape, tile = shape_of(value) or (), tuple(op.descriptor.type.get_shape())
    if len(shape) == len(tile) and getattr(op, "transpose", None) is None:
        return layout
    return BlockDemand(op, number).block.in_memory(layout)


def abreast(kind: Any) -> int:
    """How many blocks a descriptor's type describes, side by side."""
    held = getattr(kind.encoding, "value", None)
    return int(getattr(held, "array_length", None) or 1)


def without_count(kind: Any) -> Any:
    """A descriptor's type that describes one block."""
    held = getattr(kind.encoding, "value", None)
    if abreast(kind) == 1 or held is None:
        return kind
    alone = str(replace(held, array_length=1)).removeprefix("#xegpu.block_tdesc_attr")
    encoding = NoneAttr() if alone == "<>" else type(kind.encoding)(alone[1:-1])
    return TensorDescType(kind.shape, kind.element_type, encoding, NoneAttr())


def side_by_side(layout: Layout, count: int) -> Layout:
    """The layout of `count` blocks side by side, each in this layout, one after the other in the registers.

    >>> print(side_by_side(Layout.parse("d0 = 8@reg, d1 = 16@lane"), 2))
    d0 = 8@reg, d1 = 2@reg:8 16@lane
    """
    if count == 1:
        return layout
    registers = int(layout.axes.get("reg", 1))
    *before, last = layout.dims
    return Layout([*before, [Factor(count, registers, "reg"), *last]], layout.replicas, layout.offsets)


def rows_unpacked(layout: Layout) -> Layout:
    """The layout of rows and columns, of a layout of [rows / n, columns, n], in which n rows are packed together.

    >>> print(rows_unpacked(Layout.parse("d0 = 8@reg:2, d1 = 16@lane, d2 = 2@reg")))
    d0 = 8@reg:2 2@reg, d1 = 16@lane
    """
    rows, columns, together = layout.dims
    return Layout([[*rows, *together], columns], layout.replicas, layout.offsets)
