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

from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from layoutalg.conversion import convert
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.ir.dialects.xegpu.attributes import BlockTensorDescAttr
from layoutalg.ir.writing import ModulePrinter
from layoutalg.propagation.lowering.fragments import Fragment, picked, vector_size
from layoutalg.propagation.lowering.held import tile_registers
from layoutalg.propagation.lowering.kernels import refuse
from layoutalg.propagation.lowering.messages import Message, Way, block_message, deliverable
from layoutalg.propagation.lowering.rules import Kernel, lowers, registers_of
from layoutalg.propagation.lowering.surfaces import (
    Surface,
    address,
    listed,
    mixed,
    of_memref,
    places,
    space_of,
    surface_of,
    takes_messages,
    tile,
)
from layoutalg.propagation.stated import statements_of
from layoutalg.propagation.value_layouts import stated_layout

__all__ = ["Transfer", "cheapest", "hints"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """How a fragment is moved between memory and registers: by messages in `layout`, or (without) element by element.

    >>> Transfer(Layout.parse("d0 = 16@lane"), None).message is None
    True
    """

    layout: Layout
    message: Message | None


@lowers("xegpu.create_nd_tdesc")
def create(op: Any, kernel: Kernel) -> None:
    """The descriptors that its uses need: one for each size of a message."""
    kind = op.descriptor.type
    if isinstance(kind.encoding, BlockTensorDescAttr):
        held = kind.encoding.value
        if getattr(held, "array_length", None) not in (None, 1):
            refuse(op, "block", f"describes several blocks side by side ({kind}), which is not lowered")
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
    surface = Surface(
        source,
        shape,
        strides,
        offsets or [0] * rank,
        str(kind.element_type),
        said,
        space_of(kind),
        op.descriptor.name_hint,
    )
    kernel.surfaces[op.descriptor] = surface
    for use in list(op.descriptor.uses):
        way = _transfer(use.operation, kernel, surface)
        if way is not None and way.message is not None:
            tile(kernel, surface, (way.message.rows, way.message.width))
        elif way is not None:
            address(op, kernel, surface)


def _transfer(op: Operation, kernel: Kernel, surface: Surface) -> Transfer | None:
    """How the elements of a load, store or prefetch are moved; None for other operations, and without a layout."""
    layout, preferred, way = _wanted(op, kernel)
    if layout is None:
        return None
    bits = element_bits(surface.element)
    if not takes_messages(surface, kernel, bits):
        return Transfer(layout, None)
    message = block_message(layout, bits, way, preferred)
    return Transfer(layout, message) if message is not None else cheapest(layout, bits, way, kernel.target)


@lru_cache(maxsize=1 << 10)
def cheapest(layout: Layout, bits: int, way: Way, target: str) -> Transfer:
    """How a fragment is moved that no message moves: in another layout with an exchange, or element by element.

    >>> from layoutalg.core.layout import Layout
    >>> turned = Layout.parse("d0 = 16@lane, d1 = 16@reg")
    >>> cheapest(turned, 16, "load", "pvc").layout == turned
    False
    """
    cost = cost_of(target)
    words = -(-registers_of(layout) * bits // 32)
    best, price = Transfer(layout, None), registers_of(layout) * (cost.message + _PLACE) + words * cost.word
    for other in deliverable(layout, bits, way):
        message = block_message(other, bits, way)
        if message is None:
            continue
        try:
            ends = (other, layout) if way != "store" else (layout, other)
            plan = convert(*ends, element_bits=bits, target=target)
        except LayoutError:
            continue
        whole = len(message.origins) * cost.message + words * cost.word + plan.cost
        if whole < price:
            best, price = Transfer(other, message), whole
    return best


_PLACE = 6
"""What the address (64 bits, two slots a sum) and the bounds of one element cost, in issue slots."""


def _wanted(op: Any, kernel: Kernel) -> tuple[Layout | None, int | None, Way]:
    """The layout that a message should move, the registers of a tile, and which way it goes."""
    if op.name == "xegpu.load_nd":
        held = kernel.held.of(op.value)
        if held is None:
            return None, None, "load"
        packed = any(use.operation.name == "xegpu.dpas" and use.index == 1 for use in op.value.uses)
        return held.layout, held.sizes[0] if held.sizes else None, "packed" if packed else "load"
    if op.name == "xegpu.store_nd":
        return (*_stated(op, kernel, op.value), "store")
    if op.name == "xegpu.prefetch_nd":
        return (*_stated(op, kernel, None), "load")
    return None, None, "load"


def _stated(op: Any, kernel: Kernel, value: SSAValue | None) -> tuple[Layout | None, int | None]:
    """The layout that a store or prefetch states, or that the stored value has."""
    shape = op.descriptor.type.get_shape()
    for statement in statements_of(op):
        try:
            layout = stated_layout(statement.attribute, shape, kernel.machine)
        except LayoutError:
            continue
        return layout, tile_registers(statement.attribute, layout)
    attribute = getattr(op.descriptor.type.layout, "value", None)
    if value is None and attribute is not None:
        layout = stated_layout(attribute, shape, kernel.machine)
        return layout, tile_registers(attribute, layout)
    held = None if value is None else kernel.held.of(value)
    return (None, None) if held is None else (held.layout, held.sizes[0])


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
    surface = surface_of(op.descriptor, kernel)
    way = _transfer(op, kernel, surface)
    if way is None or way.message is None:
        kernel.give(op.value, layout, _gathered(op, kernel, surface, layout))
        return
    message = way.message
    descriptor = tile(kernel, surface, (message.rows, message.width))
    more = ["packed"] if message.packed else ["transpose = array<i64: 1, 0>"] if message.transpose else []
    size = vector_size(message.registers) or 1
    pieces: list[Value] = []
    for place in places(op, kernel, surface, way.layout, message.origins):
        form = (
            f"xegpu.load_nd %s{listed(place)}{hints(op, *more)} : {descriptor.kind} -> vector<{size}x{surface.element}>"
        )
        operands = [descriptor, *(one for one in place if isinstance(one, Value))]
        pieces.append(kernel.writer.value(form, operands, surface.element, size))
    pieces = [_unpacked(kernel, piece) for piece in pieces]
    if way.layout != layout:
        why = "is loaded in a layout that messages deliver, and exchanged"
        pieces = kernel.moved(op, Fragment(way.layout, tuple(pieces)), layout, kernel.sizes(op.value, layout), why=why)
    kernel.give(op.value, layout, pieces)


def _gathered(op: Any, kernel: Kernel, surface: Surface, layout: Layout) -> list[Value]:
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


def _elements(op: Any, kernel: Kernel, surface: Surface, layout: Layout) -> list[tuple[Value, Value]]:
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
    surface = surface_of(op.descriptor, kernel)
    way = _transfer(op, kernel, surface)
    if way is None:
        refuse(op, "layout", f"stores {op.value.type} without a layout")
    layout, message = way.layout, way.message
    if message is None:
        _scattered(op, kernel, surface, layout)
        return
    pieces = kernel.needed(op, 0, layout, (message.registers,) * len(message.origins))
    descriptor = tile(kernel, surface, (message.rows, message.width))
    with kernel.only(kernel.first_copy(layout)):
        for place, one in zip(places(op, kernel, surface, layout, message.origins), pieces, strict=True):
            piece = _packed(kernel, one)
            form = f"xegpu.store_nd %s, %s{listed(place)}{hints(op)} : {piece.kind}, {descriptor.kind}"
            kernel.writer.do(form, [piece, descriptor, *(one for one in place if isinstance(one, Value))])


def _scattered(op: Any, kernel: Kernel, surface: Surface, layout: Layout) -> None:
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
    surface = surface_of(op.descriptor, kernel)
    way = _transfer(op, kernel, surface)
    if way is None or way.message is None:
        return
    layout, message = way.layout, way.message
    descriptor = tile(kernel, surface, (message.rows, message.width))
    for place in places(op, kernel, surface, layout, message.origins):
        form = f"xegpu.prefetch_nd %s{listed(place)}{hints(op)} : {descriptor.kind}"
        kernel.writer.do(form, [descriptor, *(one for one in place if isinstance(one, Value))])
