"""Block descriptors, loads, stores and prefetches: messages that the hardware has, one for each piece of a fragment.

A load of 32x64 f32 over 2x2 subgroups, of which each has four tiles of 8x16, becomes, in every work-item,

    %t = xegpu.create_nd_tdesc %p, shape : [32, 64], strides : [64, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
    %row, %column = where this subgroup's part begins, from its number
    %v0 = xegpu.load_nd %t[%row, %column] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
    ...

and three more, 16 columns and 8 rows further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.ir.dialects.xegpu.attributes import BlockTensorDescAttr, TensorDescType
from layoutalg.ir.writing import ModulePrinter
from layoutalg.propagation.lowering.fragments import vector_size
from layoutalg.propagation.lowering.held import layout_of, tile_registers
from layoutalg.propagation.lowering.kernels import Refused, refuse
from layoutalg.propagation.lowering.messages import Message, Way, block_message
from layoutalg.propagation.lowering.registers import terms
from layoutalg.propagation.lowering.rules import Kernel, lowers
from layoutalg.propagation.stated import statements_of

__all__ = ["Surface", "hints", "listed", "mixed", "surface_of"]


@dataclass(slots=True)
class Surface:
    """The memory that a descriptor of the source is about, and the descriptors that were written for it."""

    source: Value
    shape: list[Value | int]
    strides: list[Value | int]
    offsets: list[Value | int]
    element: str
    said: bool
    """Whether shape and strides are written: a memref has its own."""
    space: str
    tiles: dict[tuple[int, ...], Value] = field(default_factory=dict[tuple[int, ...], Value])


def surface_of(descriptor: SSAValue, kernel: Kernel) -> Surface:
    """The surface of a descriptor."""
    found = kernel.surfaces.get(descriptor)
    if found is None:
        raise Refused(None)
    return found


def mixed(numbers: Any, values: Sequence[Value | int]) -> list[Value | int]:
    """A list of numbers and values as MLIR keeps it: numbers, with a mark where a value stands."""
    if numbers is None:
        return list(values)
    rest = iter(values)
    return [next(rest) if number == DYNAMIC_INDEX else int(number) for number in numbers.get_values()]


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
        shape, strides = _of_memref(op, source, kernel)
    rank = len(kind.get_shape())
    surface = Surface(source, shape, strides, offsets or [0] * rank, str(kind.element_type), said, _space(kind))
    kernel.surfaces[op.descriptor] = surface
    for use in list(op.descriptor.uses):
        plan = _planned(use.operation, kernel)
        if plan is not None:
            tile(kernel, surface, (plan[0].rows, plan[0].width))


def _space(kind: TensorDescType) -> str:
    stream = StringIO()
    ModulePrinter(stream).print_attribute(kind.encoding)
    return "" if "tdesc" not in stream.getvalue() else f", {stream.getvalue()}"


def _of_memref(op: Any, source: Value, kernel: Kernel) -> tuple[list[Value | int], list[Value | int]]:
    """Sizes and strides of a memref, which its type says."""
    kind = op.source.type
    strides = kind.get_strides()
    sizes: list[Value | int] = []
    for dim, size in enumerate(kind.get_shape()):
        if size != DYNAMIC_INDEX and size >= 0:
            sizes.append(size)
            continue
        at = kernel.indices.constant(dim, "index")
        sizes.append(kernel.writer.value(f"memref.dim %s, %s : {kind}", (source, at), "index"))
    if strides is None or any(stride is None for stride in strides):
        return sizes, []
    return sizes, list(strides)


def tile(kernel: Kernel, surface: Surface, size: tuple[int, ...]) -> Value:
    """The descriptor of a surface for messages of this size."""
    if size not in surface.tiles:
        kind = f"!xegpu.tensor_desc<{'x'.join(map(str, size))}x{surface.element}{surface.space}>"
        form, operands = "xegpu.create_nd_tdesc %s", [surface.source]
        if surface.said:
            for name, numbers in (("shape", surface.shape), ("strides", surface.strides)):
                form += f", {name} : {listed(numbers)}"
                operands += [one for one in numbers if isinstance(one, Value)]
        made = kernel.writer.value(f"{form} : {surface.source.kind} -> {kind}", operands, kind)
        surface.tiles[size] = made
    return surface.tiles[size]


def listed(numbers: Sequence[Value | int]) -> str:
    return f"[{', '.join(['%s' if isinstance(one, Value) else str(one) for one in numbers])}]"


def _planned(op: Operation, kernel: Kernel) -> tuple[Message, Layout] | None:
    """The messages that a load, store or prefetch becomes; None where there are none."""
    layout, preferred, way = _wanted(op, kernel)
    if layout is None or kernel.lanes != 16:
        return None
    bits = element_bits(_element(op))
    found = block_message(layout, bits, way, preferred)
    return None if found is None else (found, layout)


def _element(op: Any) -> str:
    return str(op.descriptor.type.element_type)


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
            layout = layout_of(statement.attribute, shape, kernel.machine)
        except LayoutError:
            continue
        return layout, tile_registers(statement.attribute, layout)
    attribute = getattr(op.descriptor.type.layout, "value", None)
    if value is None and attribute is not None:
        layout = layout_of(attribute, shape, kernel.machine)
        return layout, tile_registers(attribute, layout)
    held = None if value is None else kernel.held.of(value)
    return (None, None) if held is None else (held.layout, held.sizes[0])


def places(
    op: Any, kernel: Kernel, surface: Surface, layout: Layout, origins: Sequence[tuple[int, ...]]
) -> list[list[Value | int]]:
    """Where messages begin: the operation's offsets, what the subgroup's number adds, and each piece's own."""
    offsets = mixed(op.const_offsets, [kernel.number(value) for value in op.offsets]) or [0] * len(surface.offsets)
    corner: list[Value | int] = []
    for first, second, own in zip(surface.offsets, offsets, terms(layout), strict=True):
        start = kernel.indices.plus(first, second)
        corner.append(kernel.indices.plus(start, kernel.indices.along(own["sg"])) if own["sg"] else start)
    return [
        [kernel.indices.plus(start, more) for start, more in zip(corner, origin, strict=True)] for origin in origins
    ]


def hints(op: Any, *more: str) -> str:
    """The properties of a message: what the caches do, and `more`."""
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
    plan = _planned(op, kernel)
    if plan is None:
        refuse(op, "message", f"no block message delivers {layout} of {op.descriptor.type}")
    message, _ = plan
    descriptor = tile(kernel, surface, (message.rows, message.width))
    more = ["packed"] if message.packed else ["transpose = array<i64: 1, 0>"] if message.transpose else []
    size = vector_size(message.registers) or 1
    pieces: list[Value] = []
    for place in places(op, kernel, surface, layout, message.origins):
        form = (
            f"xegpu.load_nd %s{listed(place)}{hints(op, *more)} : {descriptor.kind} -> vector<{size}x{surface.element}>"
        )
        operands = [descriptor, *(one for one in place if isinstance(one, Value))]
        pieces.append(kernel.writer.value(form, operands, surface.element, size))
    kernel.give(op.value, layout, [_unpacked(kernel, piece) for piece in pieces])


def _unpacked(kernel: Kernel, piece: Value) -> Value:
    """A message's vector; of one element, the element."""
    if piece.size != 1:
        return piece
    return kernel.writer.value(f"vector.extract %s[0] : {piece.element} from {piece.kind}", (piece,), piece.element)


@lowers("xegpu.store_nd")
def store(op: Any, kernel: Kernel) -> None:
    """A message for each piece."""
    surface = surface_of(op.descriptor, kernel)
    plan = _planned(op, kernel)
    if plan is None:
        refuse(op, "message", f"no block message stores {op.value.type}")
    message, layout = plan
    pieces = kernel.needed(op, 0, layout, (message.registers,) * len(message.origins))
    descriptor = tile(kernel, surface, (message.rows, message.width))
    for place, one in zip(places(op, kernel, surface, layout, message.origins), pieces, strict=True):
        piece = _packed(kernel, one)
        form = f"xegpu.store_nd %s, %s{listed(place)}{hints(op)} : {piece.kind}, {descriptor.kind}"
        kernel.writer.do(form, [piece, descriptor, *(one for one in place if isinstance(one, Value))])


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
    plan = _planned(op, kernel)
    if plan is None:
        return
    message, layout = plan
    descriptor = tile(kernel, surface, (message.rows, message.width))
    for place in places(op, kernel, surface, layout, message.origins):
        form = f"xegpu.prefetch_nd %s{listed(place)}{hints(op)} : {descriptor.kind}"
        kernel.writer.do(form, [descriptor, *(one for one in place if isinstance(one, Value))])
