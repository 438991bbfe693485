"""Layouts as newer versions want them: with the sizes that LLVM 22 takes from the shape.

LLVM 23 and 24 want sg_data wherever sg_layout stands, and lane_data with lane_layout. Their values follow from the shape: on a
tensor of 32x64, `#xegpu.layout<sg_layout = [2, 4], lane_layout = [1, 16]>` is

    sg_data = [32 / 2, 64 / 4] = [16, 16],   lane_data = [16 / 1, 16 / 16] = [16, 1]

>>> from layoutalg.xegpu import LayoutAttr
>>> print(completed(LayoutAttr(sg_layout=(2, 4), lane_layout=(1, 16)), (32, 64)))
#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [16, 1]>

The law: the completed layout is the same map on that shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import NoneAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.xegpu import attributes as xegpu
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.xegpu.attributes import LayoutAttr, SliceAttr

__all__ = ["complete_layouts", "completed"]


def completed(layout: LayoutAttr | SliceAttr, shape: tuple[int, ...]) -> LayoutAttr | SliceAttr:
    """The layout with sg_data and lane_data written out for a shape; as it is where they are written, or nothing fits.

    >>> whole = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    >>> completed(whole, (8, 16)) is whole
    True
    """
    if isinstance(layout, SliceAttr):
        parent, kept = _whole(layout)
        made = _completed(parent, shape, kept)
        return layout if made is parent else _sliced(layout, made)
    return _completed(layout, shape, list(range(layout.rank)))


def _whole(layout: SliceAttr) -> tuple[LayoutAttr, list[int]]:
    """The layout that slices were taken of, and its dimensions that are left."""
    parent = layout.parent
    if isinstance(parent, SliceAttr):
        whole, before = _whole(parent)
    else:
        whole, before = parent, list(range(parent.rank))
    return whole, [axis for number, axis in enumerate(before) if number not in layout.dims]


def _sliced(layout: SliceAttr, whole: LayoutAttr) -> SliceAttr:
    parent = layout.parent
    return replace(layout, parent=_sliced(parent, whole) if isinstance(parent, SliceAttr) else whole)


def _completed(layout: LayoutAttr, shape: tuple[int, ...], kept: list[int]) -> LayoutAttr:
    """A layout with what its dimensions `kept` say on a shape; in the others, that a slice drops, a block is one element."""
    if len(kept) != len(shape) or 0 in shape:
        return layout
    tile: list[int] = list(shape)
    changes: dict[str, tuple[int, ...]] = {}
    for over, data in (("sg_layout", "sg_data"), ("lane_layout", "lane_data")):
        counts: tuple[int, ...] | None = getattr(layout, over)
        written: tuple[int, ...] | None = getattr(layout, data)
        if counts is not None:
            if written is None:
                own = [counts[axis] for axis in kept]
                shares = all(size % count == 0 for size, count in zip(tile, own, strict=True))
                if not shares and any(count % size for size, count in zip(tile, own, strict=True)):
                    return layout
                blocks = [size // count if shares else size for size, count in zip(tile, own, strict=True)]
                whole = dict(zip(kept, blocks, strict=True))
                written = changes[data] = tuple(whole.get(axis, 1) for axis in range(len(counts)))
            tile = [written[axis] for axis in kept]
        if over == "sg_layout" and layout.inst_data is not None:
            inst_data: tuple[int, ...] = layout.inst_data
            tile = [inst_data[axis] for axis in kept]
    return replace(layout, **changes) if changes else layout


def complete_layouts(op: Operation) -> None:
    """Complete every layout on an operation: in the types of its results and block arguments, and in its attributes.

    >>> from xdsl.dialects.test import TestOp
    >>> complete_layouts(TestOp())
    """
    values: list[SSAValue] = [
        *op.results,
        *(value for region in op.regions for block in region.blocks for value in block.args),
    ]
    for value in values:
        kind = value.type
        if isinstance(kind, TensorDescType) and not isinstance(kind.layout, NoneAttr):
            made = _attribute(kind.layout, kind.get_shape())
            if made is not kind.layout:
                Rewriter.replace_value_with_new_type(
                    value, TensorDescType(kind.shape, kind.element_type, kind.encoding, made)
                )
    for held in (op.properties, op.attributes):
        for name, attribute in list(held.items()):
            shape = _shape_for(op, name)
            if isinstance(attribute, xegpu.LayoutAttr | xegpu.SliceAttr) and shape is not None:
                held[name] = _attribute(attribute, shape)


def _attribute(
    attribute: xegpu.LayoutAttr | xegpu.SliceAttr, shape: tuple[int, ...]
) -> xegpu.LayoutAttr | xegpu.SliceAttr:
    value = attribute.value
    if not isinstance(value, LayoutAttr | SliceAttr):
        return attribute
    made = completed(value, shape)
    return attribute if made is value else type(attribute)(str(made).partition("<")[2].removesuffix(">"))


_OPERANDS = {"layout_a": 0, "layout_b": 1, "layout_cd": -1, "input_layout": 0, "target_layout": 0}


def _shape_for(op: Operation, name: str) -> tuple[int, ...] | None:
    """The shape of the value that a layout attribute is about."""
    if name in _OPERANDS:
        values: list[SSAValue] = list(op.operands if _OPERANDS[name] >= 0 else op.results)
        number = _OPERANDS[name]
    elif name.startswith(("layout_result_", "layout_operand_")):
        values = list(op.results if name.startswith("layout_result_") else op.operands)
        digits = name.rpartition("_")[2]
        number = int(digits) if digits.isdecimal() and len(digits) < 6 else len(values)
    else:
        values, number = list(_shaped(op)), 0
    if not -len(values) <= number < len(values):
        return None
    kind = values[number].type
    return kind.get_shape() if isinstance(kind, TensorDescType) or isa(kind, VectorType[Attribute]) else None


def _shaped(op: Operation) -> Iterator[SSAValue]:
    """The values that `layout` may be about, the first is."""
    for value in (*op.results, *op.operands):
        if isinstance(value.type, VectorType):
            yield value
    for value in op.operands:
        if isinstance(value.type, TensorDescType):
            yield value
