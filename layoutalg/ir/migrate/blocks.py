"""Block descriptors: from offsets in the descriptor (LLVM 22) to offsets on every load, store and prefetch (23 and 24).

    %t = xegpu.create_nd_tdesc %m[%i, 0] : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
    %x = xegpu.load_nd %t : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>

becomes

    %t = xegpu.create_nd_tdesc %m : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
    %x = xegpu.load_nd %t[%i, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>

The parts of a descriptor are the descriptor and one offset for each of its dimensions. A matrix with more dimensions than the
descriptor is cut down to those first (`memref.subview`; the address is moved where it is a number), because 23 and 24 want as
many offsets as the descriptor has dimensions. LLVM 24 takes shape and strides for addresses alone: a memref that came with
them is seen through a `memref.reinterpret_cast` with that shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.core.elements import element_bits
from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects.xegpu.attributes import ScatterTensorDescAttr, TensorDescType
from layoutalg.ir.migrate.carried import Carried, Part, Parts, Rewrite

__all__ = ["BLOCK_REWRITES", "block_start", "is_block", "keeps_places"]

_INDEX = IndexType()


def is_block(kind: Attribute) -> bool:
    """Whether a type is the descriptor of a block.

    >>> is_block(IndexType())
    False
    """
    return isinstance(kind, TensorDescType) and not isinstance(kind.encoding, ScatterTensorDescAttr)


def keeps_places(op: Operation) -> bool:
    """Whether an operation keeps the place of a block in its descriptor, as LLVM 22 lets it, or a shape that 24 does not take.

    >>> from xdsl.dialects.test import TestOp
    >>> keeps_places(TestOp())
    False
    """
    if op.name == "xegpu.create_nd_tdesc":
        return "const_offsets" in op.properties or (
            isinstance(op.operands[0].type, MemRefType) and "const_shape" in op.properties
        )
    if op.name in ("xegpu.load_nd", "xegpu.store_nd", "xegpu.prefetch_nd"):
        return "const_offsets" not in op.properties
    return op.name == "xegpu.update_nd_offset"


def block_start(value: SSAValue) -> Parts | None:
    """The parts of a descriptor that comes from outside: itself, at the first place.

    >>> from xdsl.dialects.builtin import f16
    >>> from xdsl.dialects.test import TestOp
    >>> block_start(TestOp(result_types=[TensorDescType.of([8, 16], f16)]).results[0])[1:]
    (0, 0)
    """
    if not isinstance(value.type, TensorDescType) or not is_block(value.type):
        return None
    return (value, *[0] * len(value.type.get_shape()))


def _listed(op: Operation, name: str) -> list[Part]:
    """An index list of an operation: its numbers, with the values in their places."""
    numbers = op.properties.get(f"const_{name}")
    values = iter(getattr(op, name))
    if not isinstance(numbers, DenseArrayBase):
        return list(values)
    known = static_numbers(cast(Any, numbers))
    return [next(values) if number == DYNAMIC_INDEX else number for number in known]


def _create(carried: Carried, op: Operation) -> None:
    kind = op.results[0].type
    if not isinstance(kind, TensorDescType):
        return
    rank = len(kind.get_shape())
    source: SSAValue = op.operands[0]
    offsets, shape, strides = (_listed(op, name) for name in ("offsets", "shape", "strides"))
    memory = source.type
    if isa(memory, MemRefType[Attribute]):
        if shape and carried.source != "LLVM 23":
            source, shape, strides = _seen_with(carried, op, source, shape, strides), [], []
        whole = len(memory.get_shape())
        offsets = offsets or [0] * whole
        if whole > rank:
            source = _cut_down(carried, op, source, offsets, rank)
            shape = shape[-rank:] if shape else []
            strides = strides[-rank:] if strides else []
    elif len(shape) > rank:
        offsets = offsets or [0] * len(shape)
        source = _moved(carried, op, source, offsets[:-rank], strides[:-rank], kind.element_type)
        shape, strides = shape[-rank:], strides[-rank:]
    offsets = (offsets or [0] * rank)[-rank:]
    lists = [carried.mixed(numbers) for numbers in (shape, strides)]
    op.operands = [source, *(value for values, _ in lists for value in values)]
    counts = [1, 0, *(len(values) for values, _ in lists)]
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    op.properties.pop("const_offsets", None)
    for name, numbers, (_, static) in zip(("shape", "strides"), (shape, strides), lists, strict=True):
        op.properties.pop(f"const_{name}", None)
        if numbers:
            op.properties[f"const_{name}"] = static
    carried.parts[op.results[0]] = (op.results[0], *offsets)


Extent = int | None
"""A size, stride or offset in a memref's type; None where only a value says it."""


def _known(part: Part) -> Extent:
    return part if isinstance(part, int) else None


def _strided(
    kind: MemRefType[Attribute], shape: Sequence[Part], strides: Sequence[Extent], offset: Extent
) -> MemRefType[Attribute]:
    """The type of a part of a memref."""
    sizes = [part if isinstance(part, int) else DYNAMIC_INDEX for part in shape]
    return MemRefType(kind.element_type, sizes, StridedLayoutAttr(strides, offset), kind.memory_space)


def _lists(carried: Carried, **lists: Sequence[Part]) -> tuple[list[list[SSAValue]], dict[str, Attribute]]:
    values: list[list[SSAValue]] = []
    properties: dict[str, Attribute] = {}
    for name, parts in lists.items():
        own, static = carried.mixed(parts)
        values.append(own)
        properties[f"static_{name}"] = static
    return values, properties


def _seen_with(
    carried: Carried, op: Operation, source: SSAValue, shape: Sequence[Part], strides: Sequence[Part]
) -> SSAValue:
    """The memref with the shape and strides that the descriptor was given."""
    kind = source.type
    if not isa(kind, MemRefType[Attribute]):
        return source
    if (
        isinstance(kind.layout, NoneAttr)
        and list(kind.get_shape()) == list(shape)
        and _strides_of(kind) == list(strides)
    ):
        return source
    values, properties = _lists(carried, offsets=[0], sizes=shape, strides=strides)
    made = _strided(kind, shape, [_known(step) for step in strides], 0)
    return carried.made(op, "memref.reinterpret_cast", [source, *values], [made], properties).results[0]


def _cut_down(carried: Carried, op: Operation, source: SSAValue, offsets: Sequence[Part], rank: int) -> SSAValue:
    """The last dimensions of a memref, at the place that the first offsets say."""
    kind = source.type
    if not isa(kind, MemRefType[Attribute]):
        return source
    sizes: list[Part] = []
    for axis, size in enumerate(kind.get_shape()):
        if axis < len(offsets) - rank:
            sizes.append(1)
        elif size == DYNAMIC_INDEX:
            sizes.append(carried.made(op, "memref.dim", [source, carried.value(op, axis)], [_INDEX]).results[0])
        else:
            sizes.append(size)
    first = [*offsets[:-rank], *[0] * rank]
    strides = _strides_of(kind)
    start = kind.get_offset()
    for part, step in zip(first, strides, strict=True):
        known = 0 if part == 0 else part * step if isinstance(part, int) and step is not None else None
        start = None if start is None or known is None else start + known
    made = _strided(kind, sizes[-rank:], strides[-rank:], start)
    values, properties = _lists(carried, offsets=first, sizes=sizes, strides=[1] * len(sizes))
    return carried.made(op, "memref.subview", [source, *values], [made], properties).results[0]


def _strides_of(kind: MemRefType[Attribute]) -> list[Extent]:
    """The strides of a memref's type; of a layout that has none, unknown ones."""
    strides = kind.get_strides()
    return [None] * len(kind.get_shape()) if strides is None else list(strides)


def _moved(
    carried: Carried,
    op: Operation,
    address: SSAValue,
    offsets: Sequence[Part],
    strides: Sequence[Part],
    element: Attribute,
) -> SSAValue:
    """An address moved by whole steps of its first dimensions."""
    size = max(1, element_bits(str(element)) // 8)
    place: Part = 0
    for offset, stride in zip(offsets, strides, strict=True):
        if isinstance(stride, int):
            term = carried.product(op, offset, stride)
        elif isinstance(offset, int):
            term = carried.product(op, stride, offset)
        else:
            term = carried.made(op, "arith.muli", [offset, stride], [_INDEX], carried.no_overflow_flags()).results[0]
        place = carried.sum(op, place, term)
    place = carried.product(op, place, size)
    if place == 0:
        return address
    wide = carried.made(op, "arith.index_cast", [carried.value(op, place)], [address.type]).results[0]
    return carried.made(op, "arith.addi", [address, wide], [address.type], carried.no_overflow_flags()).results[0]


def _update(carried: Carried, op: Operation) -> None:
    parts = carried.parts.get(op.operands[0])
    if parts is None:
        return
    base, *offsets = parts
    steps = _listed(op, "offsets")
    if len(steps) != len(offsets):
        carried.say(op, "migrate.offset_count", f"{len(steps)} offsets for a descriptor of {len(offsets)} dimensions")
        return
    moved = [carried.sum(op, offset, step) for offset, step in zip(offsets, steps, strict=True)]
    carried.parts[op.results[0]] = (base, *moved)


def _placed(carried: Carried, op: Operation) -> None:
    """A load, store or prefetch: the offsets of its descriptor become its own."""
    [number] = [i for i, operand in enumerate(op.operands) if is_block(operand.type)]
    parts = carried.parts.get(op.operands[number])
    if parts is None:
        return
    base, *offsets = parts
    own = _listed(op, "offsets")
    if own and len(own) != len(offsets):
        carried.say(op, "migrate.offset_count", f"{len(own)} offsets for a descriptor of {len(offsets)} dimensions")
        return
    places = [carried.sum(op, a, b) for a, b in zip(offsets, own or [0] * len(offsets), strict=True)]
    values, static = carried.mixed(places)
    before = list(op.operands[:number])
    if isinstance(base, SSAValue):
        op.operands = [*before, base, *values]
    op.properties["const_offsets"] = static


BLOCK_REWRITES: dict[str, Rewrite] = {
    "xegpu.create_nd_tdesc": _create,
    "xegpu.update_nd_offset": _update,
    "xegpu.load_nd": _placed,
    "xegpu.store_nd": _placed,
    "xegpu.prefetch_nd": _placed,
}
