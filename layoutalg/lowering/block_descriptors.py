"""What a block descriptor of the source describes, and the descriptors that are written for it.

One descriptor of 32x64 f32 becomes one of 8x16 where it is loaded by messages of that size. Elements that no message moves are
reached one by one, from the same address, shape and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.core.layout import Layout
from layoutalg.hardware import target_info
from layoutalg.hardware.messages import Message
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.ir.writing import ModulePrinter
from layoutalg.lowering.kernels import Refused, refuse
from layoutalg.lowering.registers import terms
from layoutalg.lowering.rules import Kernel

__all__ = [
    "BlockDescriptor",
    "address",
    "can_move",
    "descriptor_of",
    "listed",
    "mixed",
    "of_memref",
    "places",
    "space_of",
    "takes_messages",
    "tile",
]


@dataclass(slots=True)
class BlockDescriptor:
    """The memory that a descriptor of the source is about, and the descriptors that were written for it."""

    source: Value
    shape: list[Value | int]
    strides: list[Value | int]
    offsets: list[Value | int]
    element: str
    said: bool
    """Whether shape and strides are written: a memref has its own."""
    space: str
    name: str | None = None
    pointer: Value | None = None
    tiles: dict[tuple[int, ...], Value] = field(default_factory=dict[tuple[int, ...], Value])


def descriptor_of(descriptor: SSAValue, kernel: Kernel) -> BlockDescriptor:
    """The surface of a descriptor. Raises `Refused` for one that was not lowered."""
    found = kernel.descriptors.get(descriptor)
    if found is None:
        raise Refused(None)
    return found


def mixed(numbers: Any, values: Sequence[Value | int]) -> list[Value | int]:
    """A list of numbers and values as MLIR keeps it: numbers, with a mark where a value stands."""
    if numbers is None:
        return list(values)
    rest = iter(values)
    return [next(rest) if number == DYNAMIC_INDEX else int(number) for number in numbers.get_values()]


def space_of(kind: TensorDescType) -> str:
    """What a descriptor's type says about the memory, to stand behind the element type."""
    stream = StringIO()
    ModulePrinter(stream).print_attribute(kind.encoding)
    return "" if "tdesc" not in stream.getvalue() else f", {stream.getvalue()}"


def of_memref(op: Any, source: Value, kernel: Kernel) -> tuple[list[Value | int], list[Value | int]]:
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
    if strides is None:
        return sizes, []
    if all(isinstance(stride, int) and stride != DYNAMIC_INDEX for stride in strides):
        return sizes, list(strides)
    found = _described(kernel, source)
    return sizes, [
        stride if isinstance(stride, int) and stride != DYNAMIC_INDEX else found[1 + len(sizes) + dim]
        for dim, stride in enumerate(strides)
    ]


def _described(kernel: Kernel, source: Value) -> list[Value]:
    """What a memref carries with it: its offset, its sizes, its strides."""
    kind = source.kind
    dimensions = kind.removeprefix("memref<").partition(",")[0].rstrip(">").split("x")
    rank, element = len(dimensions) - 1, dimensions[-1]
    space = ", 3" if kind.endswith((", 3>", "3 : i64>", "3 : i32>")) else ""
    results = [Value(f"memref<{element}{space}>"), *(Value("index") for _ in range(1 + 2 * rank))]
    types = ", ".join([result.kind for result in results])
    kernel.writer.values(f"memref.extract_strided_metadata %s : {kind} -> {types}", (source,), results)
    return results[1:]


def tile(op: Any, kernel: Kernel, surface: BlockDescriptor, message: Message) -> Value:
    """The descriptor of a surface for messages of this size.

    >>> from layoutalg.hardware.messages import messages_of
    >>> from layoutalg.lowering.rules import bare_kernel
    >>> from xdsl.dialects.test import TestOp
    >>> surface = BlockDescriptor(Value("i64"), [64, 64], [64, 1], [0, 0], "f16", True, "")
    >>> loads = messages_of("pvc", 16, "load", "spirv")
    >>> for name in ("read_16b_8r16x2c", "read_transpose_32b_16r8x1c"):
    ...     tile(TestOp(), bare_kernel(), surface, next(one for one in loads if one.name == name)).kind
    '!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>'
    '!xegpu.tensor_desc<16x8xi32>'

    What moves units of several elements (f16 are transposed by twos) sees memory as units: half as many, half as far apart.
    """
    together = message.unit // message.block.bits
    key = (*message.shape, message.count, together)
    if key not in surface.tiles:
        element = surface.element if together == 1 else f"i{message.unit}"
        space = surface.space if message.count == 1 else _SIDE_BY_SIDE.format(message.count)
        kind = f"!xegpu.tensor_desc<{message.rows}x{message.width // together}x{element}{space}>"
        source = surface.source if together == 1 else address(op, kernel, surface)
        form, operands = "xegpu.create_nd_tdesc %s", [source]
        if surface.said or together > 1:
            shape = [*surface.shape[:-1], _units(kernel, surface.shape[-1], together)]
            strides = [*[_units(kernel, one, together) for one in surface.strides[:-1]], surface.strides[-1]]
            for name, numbers in (("shape", shape), ("strides", strides)):
                form += f", {name} : {listed(numbers)}"
                operands += [one for one in numbers if isinstance(one, Value)]
        made = kernel.writer.value(f"{form} : {source.kind} -> {kind}", operands, kind)
        made.name = surface.name
        surface.tiles[key] = made
    return surface.tiles[key]


_SIDE_BY_SIDE = ", #xegpu.block_tdesc_attr<array_length = {} : i64>"


def _units(kernel: Kernel, number: Value | int, together: int) -> Value | int:
    """A number of elements as one of units of `together`, a power of two."""
    if together == 1 or isinstance(number, int):
        return number // together if isinstance(number, int) else number
    shift = kernel.indices.constant(together.bit_length() - 1, number.kind)
    return kernel.indices.once_of(
        ("units", number, together), (number, shift), lambda: kernel.indices.binary("shrui", number, shift)
    )


def can_move(surface: BlockDescriptor, kernel: Kernel, op: Any, message: Message) -> bool:
    """Whether a message can move blocks of a surface, as far as its sizes and the place of the block are numbers."""
    chip, bits = target_info(kernel.target), message.block.bits
    together = message.unit // bits
    if message.count > 1 and surface.space:
        return False
    if together > 1 and len(surface.strides) != len(surface.shape):
        return False
    wide = [surface.shape[-1], *surface.strides[:-1]] if together > 1 else []
    if any(isinstance(number, int) and number % together for number in wide):
        return False
    if together > 1 and surface.strides[-1] != 1:
        return False
    offsets = mixed(op.const_offsets, [0] * len(op.offsets)) if op.const_offsets is not None else []
    multiple = max(1 if chip.surface is None else chip.surface.x_multiple(bits), together)
    starts = [surface.offsets[-1], *offsets[-1:]]
    return not any(isinstance(start, int) and start % multiple for start in starts)


def listed(numbers: Sequence[Value | int]) -> str:
    """A list as a form has it."""
    return f"[{', '.join(['%s' if isinstance(one, Value) else str(one) for one in numbers])}]"


def address(op: Any, kernel: Kernel, surface: BlockDescriptor) -> Value:
    """The address of a surface, as i64. Raises `Refused` where its strides are not known."""
    if not surface.strides or len(surface.strides) != len(surface.shape):
        refuse(op, "address", "moves elements one by one, of a memref whose strides are not known")
    if surface.source.element == "i64":
        return surface.source
    if surface.pointer is None:
        kind = surface.source.kind
        if not kind.startswith("memref"):
            surface.pointer = kernel.writer.value(f"arith.extui %s : {kind} to i64", (surface.source,), "i64")
            return surface.pointer
        form = f"memref.extract_aligned_pointer_as_index %s : {kind} -> index"
        found = kernel.writer.value(form, (surface.source,), "index")
        if "offset:" in kind:
            size = kernel.indices.constant(element_bits(surface.element) // 8, "index")
            moved = kernel.indices.binary("muli", _described(kernel, surface.source)[0], size)
            found = kernel.indices.binary("addi", found, moved)
        surface.pointer = kernel.writer.value("arith.index_cast %s : index to i64", (found,), "i64")
    return surface.pointer


def takes_messages(surface: BlockDescriptor, kernel: Kernel, bits: int) -> bool:
    """Whether the hardware's 2D messages can move blocks of a surface, as far as its sizes are numbers."""
    chip = target_info(kernel.target)
    limits = chip.surface
    if limits is None or chip.blocks is None or len(surface.shape) != 2 or kernel.lanes != chip.subgroup_size:
        return False
    width, pitch = surface.shape[-1], (surface.strides or [0])[0]
    if isinstance(width, int) and (width * bits < limits.width_least * 8 or width * bits % (limits.width_multiple * 8)):
        return False
    return not (isinstance(pitch, int) and pitch * bits % (limits.pitch_multiple * 8))


def places(
    op: Any,
    kernel: Kernel,
    surface: BlockDescriptor,
    layout: Layout,
    origins: Sequence[tuple[int, ...]],
    together: int = 1,
) -> list[list[Value | int]]:
    """Where messages begin: the operation's offsets, what the subgroup's number adds, and each piece's own.

    Columns are counted in units of `together` elements.
    """
    offsets = mixed(op.const_offsets, [kernel.number(value) for value in op.offsets]) or [0] * len(surface.offsets)
    corner: list[Value | int] = []
    for first, second, own in zip(surface.offsets, offsets, terms(layout), strict=True):
        start = kernel.indices.plus(first, second)
        corner.append(kernel.indices.plus(start, kernel.indices.along(own["sg"])) if own["sg"] else start)
    corner[-1] = _units(kernel, corner[-1], together)
    return [
        [kernel.indices.plus(start, more) for start, more in zip(corner, (*before, last // together), strict=True)]
        for *before, last in origins
    ]
