"""Scattered descriptors: from points in a descriptor (LLVM 22) to a pointer and offsets (23 and 24).

    %t = xegpu.create_tdesc %p, %o : i64, vector<16xindex>
         -> !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>
    %x = xegpu.load %t, %m : ... , vector<16xi1> -> vector<16x8xf32>

becomes for LLVM 23

    %x = xegpu.load %p[%o], %m <{chunk_size = 8}> : i64, vector<16xindex>, vector<16xi1> -> vector<16x8xf32>

LLVM 24 has no chunks: offsets and mask have the shape of the value. So the offsets are spread over the chunk, `%o + 0`,
`%o + 1`, ..., and so is the mask.

The parts of a descriptor are its source and its offsets. `atomic_rmw` has no form with offsets in 23 and 24.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.core.elements import element_bits
from layoutalg.ir.dialects.xegpu.attributes import ScatterTensorDescAttr, TensorDescType
from layoutalg.ir.migrate.carried import Carried, Rewrite, vector_shape

__all__ = ["SCATTERED_REWRITES", "is_scattered"]


def is_scattered(kind: Attribute) -> bool:
    """Whether a type is a descriptor of scattered points, which LLVM 23 and 24 do not have.

    >>> from xdsl.dialects.builtin import IndexType
    >>> is_scattered(IndexType())
    False
    """
    return isinstance(kind, TensorDescType) and isinstance(kind.encoding, ScatterTensorDescAttr)


def _create(carried: Carried, op: Operation) -> None:
    source, offsets = op.operands
    if isa(source.type, MemRefType[Attribute]):
        source = _in_a_row(carried, op, source)
    carried.parts[op.results[0]] = (source, offsets)


def _in_a_row(carried: Carried, op: Operation, source: SSAValue) -> SSAValue:
    """A memref with one dimension, over the same elements."""
    kind = source.type
    if not isa(kind, MemRefType[Attribute]) or len(kind.get_shape()) == 1:
        return source
    if not isinstance(kind.layout, NoneAttr) or DYNAMIC_INDEX in kind.get_shape():
        carried.say(
            op,
            "migrate.scattered_memref",
            f"has a source of type {kind}; in {carried.source} it must have one dimension",
            "give a memref of one dimension, or an address (i64)",
        )
        return source
    count = 1
    for size in kind.get_shape():
        count *= size
    flat = MemRefType(kind.element_type, [count], NoneAttr(), kind.memory_space)
    properties: dict[str, Attribute] = {
        f"static_{name}": DenseArrayBase.from_list(i64, [number])
        for name, number in (("offsets", 0), ("sizes", count), ("strides", 1))
    }
    return carried.made(op, "memref.reinterpret_cast", [source, [], [], []], [flat], properties).results[0]


def _update(carried: Carried, op: Operation) -> None:
    parts = carried.parts.get(op.operands[0])
    if parts is None:
        return
    carried.parts[op.results[0]] = (parts[0], carried.sum(op, parts[1], op.operands[1]))


def _chunk_of(op: Operation, kind: Attribute) -> int:
    """The elements that each point has: what the descriptor says, or the operation."""
    if isinstance(kind, TensorDescType) and isinstance(kind.encoding, ScatterTensorDescAttr):
        value = kind.encoding.value
        return int(getattr(value, "chunk_size", 1) or 1)
    written = op.properties.get("chunk_size")
    return written.value.data if isinstance(written, IntegerAttr) else 1


def _moved(carried: Carried, op: Operation) -> None:
    """A load, a store or a prefetch of points."""
    place = 1 if op.name == "xegpu.store" else 0
    source = op.operands[place]
    chunk = _chunk_of(op, source.type)
    parts = carried.parts.get(source)
    if parts is None and is_scattered(source.type):
        return  # said where the descriptor comes from
    behind = list(op.operands[place + 1 :])
    if parts is not None:
        behind = [carried.value(op, parts[1]), *behind]
        source = carried.value(op, parts[0])
    if op.name == "xegpu.prefetch":
        _align(op, source, op.operands[0].type)
    elif chunk > 1:
        if carried.source == "LLVM 23":
            op.properties["chunk_size"] = IntegerAttr(chunk, i64)
        else:
            value = op.results[0] if op.results else op.operands[0]
            behind = _spread(carried, op, behind, value.type, chunk)
    if carried.source != "LLVM 23":
        op.properties.pop("chunk_size", None)
    op.operands = [*op.operands[:place], source, *behind]


def _align(op: Operation, source: SSAValue, descriptor: Attribute) -> None:
    """Behind an address, a prefetch says how many bytes an offset counts; in a descriptor it is the element type."""
    if isinstance(source.type, IntegerType) and isinstance(descriptor, TensorDescType):
        size = max(1, element_bits(str(descriptor.element_type)) // 8)
        op.properties["offset_align_byte"] = IntegerAttr(size, i64)


def _spread(carried: Carried, op: Operation, points: list[SSAValue], kind: Attribute, chunk: int) -> list[SSAValue]:
    """Offsets and mask for every element of a value: the point's offset and 0, 1, ... up to the chunk."""
    shape = vector_shape(kind)
    if not shape or shape[-1] != chunk:
        carried.say(
            op,
            "migrate.chunk_shape",
            f"moves {kind} in chunks of {chunk}; in {carried.source} each element has its own offset",
            f"the last dimension of the value must be the chunk, {chunk}",
        )
        return points
    offsets, mask = (_broadcast(carried, op, point, shape) for point in points)
    steps = carried.numbers(op, chunk)
    if len(shape) > 1:
        steps = carried.made(op, "vector.broadcast", [steps], [offsets.type]).results[0]
    total = carried.made(op, "arith.addi", [offsets, steps], [offsets.type], carried.no_overflow_flags())
    return [total.results[0], mask]


def _broadcast(carried: Carried, op: Operation, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """A value with one element per point, spread over the last dimension."""
    own = vector_shape(value.type)
    kind: Attribute = value.type
    element = kind.element_type if isa(kind, VectorType[Attribute]) else kind
    if own and own[-1:] != (1,):
        column = VectorType(element, [*own, 1])
        value = carried.made(op, "vector.shape_cast", [value], [column]).results[0]
    return carried.made(op, "vector.broadcast", [value], [VectorType(element, shape)]).results[0]


def _atomic(carried: Carried, op: Operation) -> None:
    if is_scattered(op.operands[0].type):
        carried.say(
            op,
            "migrate.atomic",
            f"has no counterpart in {carried.source}, where atomic_rmw takes no scattered points",
            "stay with LLVM 22, or write memref.atomic_rmw for each element",
        )


SCATTERED_REWRITES: dict[str, Rewrite] = {
    "xegpu.create_tdesc": _create,
    "xegpu.update_offset": _update,
    "xegpu.load": _moved,
    "xegpu.store": _moved,
    "xegpu.prefetch": _moved,
    "xegpu.atomic_rmw": _atomic,
}
