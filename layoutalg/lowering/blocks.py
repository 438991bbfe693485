"""Block descriptors, loads, stores and prefetches: messages that the hardware has, one for each piece of a fragment.

A load of 32x64 f32 over 2x2 subgroups, of which each has four tiles of 8x16, becomes, in every work-item,

    %t = xegpu.create_nd_tdesc %p, shape : [32, 64], strides : [64, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
    %row, %column = where this subgroup's part begins, from its number
    %v0 = xegpu.load_nd %t[%row, %column] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
    ...

and three more, 16 columns and 8 rows further. Where no message moves the fragment as it is, either messages move it in
another layout, from which (or to which) it is exchanged, or every element is moved by itself; what costs less is done.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import rules
from layoutalg.flow.relations.blocks import way_of
from layoutalg.flow.value_candidates import stated_layout
from layoutalg.flow.written_layouts import statements_of
from layoutalg.hardware.messages import Delivery
from layoutalg.ir.writing import ModulePrinter
from layoutalg.lowering.block_descriptors import (
    BlockDescriptor,
    address,
    can_move,
    descriptor_of,
    listed,
    mixed,
    of_memref,
    places,
    space_of,
    takes_messages,
    tile,
)
from layoutalg.lowering.fragments import Fragment, picked, piece_sizes
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.memory_blocks import abreast, in_memory, side_by_side, without_count
from layoutalg.lowering.rules import Kernel, lowers, registers_of
from layoutalg.lowering.transfers import Transfer, cheapest, transfers

__all__ = ["hints"]


@lowers("xegpu.create_nd_tdesc")
def create(op: Any, kernel: Kernel) -> None:
    """The descriptors that its uses need: one for each size of a message."""
    kind = op.descriptor.type
    source = kernel.scalar(op.source)
    shape, strides = (
        mixed(numbers, [kernel.number(value) for value in values])
        for numbers, values in ((op.const_shape, op.shape), (op.const_strides, op.strides))
    )
    offsets = mixed(op.const_offsets, [kernel.number(value) for value in op.offsets])
    said = bool(shape)
    if not said and isinstance(op.source.type, MemRefType):
        shape, strides = of_memref(op, source, kernel)
    rank = len(kind.get_shape())
    surface = BlockDescriptor(
        source,
        shape,
        strides,
        offsets or [0] * rank,
        str(kind.element_type),
        said,
        space_of(without_count(kind)),
        op.descriptor.name_hint,
    )
    if not said and not rules(kernel.llvm).dynamic_descriptors and "?" in source.kind and surface.strides:
        surface.source, surface.said = address(op, kernel, surface), True
    kernel.descriptors[op.descriptor] = surface
    for use in list(op.descriptor.uses):
        way = _transfer(use.operation, kernel, surface)
        if way is not None and way.delivery is not None:
            tile(op, kernel, surface, way.delivery.message)
        elif way is not None:
            address(op, kernel, surface)


def _transfer(op: Operation, kernel: Kernel, surface: BlockDescriptor) -> Transfer | None:
    """How the elements of a load, store or prefetch are moved; None for other operations, and without a layout.

    Its layout is that of the block in memory. Where messages move it, the first delivery is taken, which is the one that
    `relations.blocks` has a price of.
    """
    layout = _wanted(op, kernel)
    if layout is None:
        return None
    bits, way = element_bits(surface.element), way_of(op)
    if not takes_messages(surface, kernel, bits):
        return Transfer(layout, None)
    there = transfers(layout, bits, way, kernel.target, kernel.llvm)
    if not rules(kernel.llvm).spirv_bf16 and surface.element == "bf16" and way != "store":
        there = tuple(sorted(there, key=lambda one: one.message.registers != _tile_of(op, kernel)))
    for found in there:
        if can_move(surface, kernel, op, found.message) and (
            op.name != "xegpu.prefetch_nd" or found.message.kind == "plain"
        ):
            return Transfer(layout, found)
    other = cheapest(layout, bits, way, kernel.target, kernel.llvm)
    if other.delivery is None or can_move(surface, kernel, op, other.delivery.message):
        return other
    return Transfer(layout, None)


def _tile_of(op: Any, kernel: Kernel) -> int | None:
    """The registers of one piece of what is loaded, where it cannot be cut from larger ones with shuffles."""
    held = None if op.name != "xegpu.load_nd" else kernel.held.of(op.value)
    return None if held is None or not held.sizes else held.sizes[0]


def _wanted(op: Any, kernel: Kernel) -> Layout | None:
    """The layout of the block in memory that messages should move."""
    if op.name == "xegpu.load_nd":
        held = kernel.held.of(op.value)
        return None if held is None else in_memory(op, held.layout)
    if op.name == "xegpu.store_nd":
        return _stated(op, kernel, op.value)
    if op.name == "xegpu.prefetch_nd":
        layout = _stated(op, kernel, None)
        return None if layout is None else side_by_side(layout, abreast(op.descriptor.type))
    return None


def _stated(op: Any, kernel: Kernel, value: SSAValue | None) -> Layout | None:
    """The layout that a store or prefetch states (whole, see `ValueLayouts.taken`), or that the stored value has."""
    shape = op.descriptor.type.get_shape()
    known = None if value is None else kernel.held.taken.get((op, 0))
    if known is not None and known.shape == tuple(shape):
        return known
    for statement in statements_of(op):
        try:
            return stated_layout(statement.attribute, shape, kernel.machine)
        except LayoutError:
            continue
    attribute = getattr(op.descriptor.type.layout, "value", None)
    if value is None and attribute is not None:
        return stated_layout(attribute, shape, kernel.machine)
    held = None if value is None else kernel.held.of(value)
    return None if held is None else held.layout


def hints(op: Any, *more: str) -> str:
    """The properties of a message: what the caches do, and `more`.

    >>> from xdsl.dialects.test import TestOp
    >>> hints(TestOp(), "packed")
    ' <{packed}>'
    """
    stream = StringIO()
    printer = ModulePrinter(stream)
    texts: list[str] = []
    for name in ("l1_hint", "l2_hint", "l3_hint"):
        hint = op.properties.get(name)
        if hint is not None:
            stream.seek(0)
            stream.truncate()
            printer.print_attribute(hint)
            texts.append(f"{name} = {stream.getvalue()}")
    texts += more
    return f" <{{{', '.join(texts)}}}>" if texts else ""


@lowers("xegpu.load_nd")
def load(op: Any, kernel: Kernel) -> None:
    """A message for each piece."""
    layout = kernel.layout(op, op.value)
    surface = descriptor_of(op.descriptor, kernel)
    way = _transfer(op, kernel, surface)
    there, sizes = in_memory(op, layout), kernel.sizes(op.value, layout)
    if way is None or way.delivery is None:
        kernel.give(op.value, layout, _gathered(op, kernel, surface, there))
        return
    pieces = _loaded(op, kernel, surface, way.layout, way.delivery)
    if not way.delivery.in_order:
        order = way.delivery.order
        back = sorted(range(len(order)), key=order.__getitem__)
        pieces = picked(kernel.writer, pieces, back, sizes if way.layout == there else piece_sizes(len(back)))
    if way.layout != there:
        why = "is loaded in a layout that messages deliver, and exchanged"
        pieces = kernel.moved(op, Fragment(way.layout, tuple(pieces)), there, sizes, why=why)
    kernel.give(op.value, layout, pieces)


def _loaded(op: Any, kernel: Kernel, surface: BlockDescriptor, layout: Layout, delivery: Delivery) -> list[Value]:
    """What messages deliver, as elements: a vector for each, or the one element."""
    message, element = delivery.message, surface.element
    together, size = message.unit // message.block.bits, message.registers
    descriptor = tile(op, kernel, surface, message)
    more = {"packed": ["packed"], "transposed": ["transpose = array<i64: 1, 0>"]}.get(message.kind, [])
    unit, units = element if together == 1 else f"i{message.unit}", size // together
    pieces: list[Value] = []
    for place in places(op, kernel, surface, layout, delivery.origins, together):
        form = f"xegpu.load_nd %s{listed(place)}{hints(op, *more)} : {descriptor.kind} -> vector<{units}x{unit}>"
        operands = [descriptor, *(one for one in place if isinstance(one, Value))]
        piece = kernel.writer.value(form, operands, unit, units)
        if together > 1:
            form = f"vector.bitcast %s : {piece.kind} to vector<{size}x{element}>"
            piece = kernel.writer.value(form, (piece,), element, size)
        pieces.append(_unpacked(kernel, piece))
    return pieces


def _gathered(op: Any, kernel: Kernel, surface: BlockDescriptor, layout: Layout) -> list[Value]:
    """Every register loaded by itself; what is outside of the surface is 0."""
    zero = kernel.indices.early(
        ("zero", surface.element), f"arith.constant {_zero(surface.element)} : {surface.element}", surface.element
    )
    pointer = address(op, kernel, surface)
    values: list[Value] = []
    for offset, inside in _elements(op, kernel, surface, layout):
        form = f"xegpu.load %s[%s], %s{hints(op)} : i64, index, i1 -> {surface.element}"
        one = kernel.writer.value(form, (pointer, offset, inside), surface.element)
        values.append(kernel.indices.selected(inside, one, zero))
    return picked(kernel.writer, values, range(len(values)), kernel.sizes(op.value, layout))


def _zero(element: str) -> str:
    return "0" if element.startswith("i") else "0.0"


def _elements(op: Any, kernel: Kernel, surface: BlockDescriptor, layout: Layout) -> list[tuple[Value, Value]]:
    """The offset of each register's element from the address, and whether it is inside of the surface."""
    offsets = mixed(op.const_offsets, [kernel.number(value) for value in op.offsets]) or [0] * len(surface.offsets)
    start = [kernel.indices.plus(one, other) for one, other in zip(surface.offsets, offsets, strict=True)]
    lead = len(start) - len(layout.dims)
    found: list[tuple[Value, Value]] = []
    for place in kernel.places(layout):
        here = [
            *start[:lead],
            *(kernel.indices.plus(one, more) for one, more in zip(start[lead:], place, strict=True)),
        ]
        offset: Value | int = 0
        inside: Value | None = None
        for coordinate, stride, size in zip(here, surface.strides, surface.shape, strict=True):
            offset = kernel.indices.plus(offset, kernel.indices.times(coordinate, stride))
            below = kernel.compared("ult", kernel.indices.index(coordinate), kernel.indices.index(size))
            inside = below if inside is None else kernel.both(inside, below)
        if inside is None:
            inside = kernel.indices.constant(1, "i1")
        found.append((kernel.indices.index(offset), inside))
    return found


def _unpacked(kernel: Kernel, piece: Value) -> Value:
    """A message's vector; of one element, the element."""
    if piece.size != 1:
        return piece
    return kernel.writer.value(f"vector.extract %s[0] : {piece.element} from {piece.kind}", (piece,), piece.element)


@lowers("xegpu.store_nd")
def store(op: Any, kernel: Kernel) -> None:
    """A message for each piece."""
    surface = descriptor_of(op.descriptor, kernel)
    way = _transfer(op, kernel, surface)
    if way is None:
        refuse(op, "layout", f"stores {op.value.type} without a layout")
    layout, delivery = way.layout, way.delivery
    if delivery is None:
        _scattered(op, kernel, surface, layout)
        return
    sizes = (delivery.message.registers,) * delivery.count
    pieces = kernel.needed(op, 0, layout, sizes if delivery.in_order else None)
    if not delivery.in_order:
        pieces = picked(kernel.writer, pieces, delivery.order, sizes)
    descriptor = tile(op, kernel, surface, delivery.message)
    with kernel.only(kernel.first_copy(layout)):
        for place, one in zip(places(op, kernel, surface, layout, delivery.origins), pieces, strict=True):
            piece = _packed(kernel, one)
            form = f"xegpu.store_nd %s, %s{listed(place)}{hints(op)} : {piece.kind}, {descriptor.kind}"
            kernel.writer.do(form, [piece, descriptor, *(one for one in place if isinstance(one, Value))])


def _scattered(op: Any, kernel: Kernel, surface: BlockDescriptor, layout: Layout) -> None:
    """Every register stored by itself, by the first of those that hold it; what is outside of the surface is dropped."""
    values = kernel.needed(op, 0, layout, (1,) * registers_of(layout))
    pointer = address(op, kernel, surface)
    first = kernel.first_copy(layout)
    for value, (offset, inside) in zip(values, _elements(op, kernel, surface, layout), strict=True):
        where = inside if first is None else kernel.both(inside, first)
        form = f"xegpu.store %s, %s[%s], %s{hints(op)} : {surface.element}, i64, index, i1"
        kernel.writer.do(form, (value, pointer, offset, where))


def _packed(kernel: Kernel, piece: Value) -> Value:
    """A vector for a message: of an element, the vector of one."""
    if piece.size is not None:
        return piece
    form = f"vector.broadcast %s : {piece.kind} to vector<1x{piece.element}>"
    return kernel.writer.value(form, (piece,), piece.element, 1)


@lowers("xegpu.prefetch_nd")
def prefetch(op: Any, kernel: Kernel) -> None:
    """A message for each tile; where none fits, nothing: a prefetch changes no result."""
    surface = descriptor_of(op.descriptor, kernel)
    way = _transfer(op, kernel, surface)
    if way is None or way.delivery is None:
        return
    descriptor = tile(op, kernel, surface, way.delivery.message)
    for place in places(op, kernel, surface, way.layout, way.delivery.origins):
        form = f"xegpu.prefetch_nd %s{listed(place)}{hints(op)} : {descriptor.kind}"
        kernel.writer.do(form, [descriptor, *(one for one in place if isinstance(one, Value))])
