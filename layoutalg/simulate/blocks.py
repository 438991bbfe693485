"""XeGPU block operations on all subgroups at once. Which element goes where is not written here: it is a `Layout`.

A 2D block load moves a tile of memory into registers. `layoutalg.hardware.block_load` says how, as a Layout
from the tile's rows and columns to lane and register; its fragment map lists, for each lane and register, the row and
column it receives. Addresses follow: base + row * pitch + column. Elements outside the matrix read as 0, and are not
written.

DPAS is the same in the other direction: the owner maps of its operands' layouts put the fragments together to
matrices, which are multiplied, and the fragment map of C takes the product apart again. By hand: A is 8x16 in 16
lanes, `d0 = 8@reg, d1 = 16@lane`, so A[r, c] is register r of lane c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, VectorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from layoutalg.hardware import block_load, block_store, dpas, target_info
from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects.xegpu import block
from layoutalg.ir.dialects.xegpu.attributes import BlockTensorDescAttr, TensorDescType
from layoutalg.simulate.machine import Array, Machine, fail, uniform, uniform_in_subgroup
from layoutalg.simulate.numerics import dpas_chain, element_dtype

__all__ = ["HANDLERS", "Descriptor"]


@dataclass(frozen=True, eq=False)
class Descriptor:
    """A matrix in memory and a place in it: where it begins, its sizes and pitch in elements, and an offset.

    >>> at = np.zeros((1, 1, 1), np.int64)
    >>> Descriptor(at, height=8, width=32, pitch=32, row=at, column=at + 16).column.item()
    16
    """

    base: Array
    height: int
    width: int
    pitch: int
    row: Array
    column: Array


def _indices(op: Operation, numbers: DenseArrayBase | None, values: list[Array]) -> list[Array]:
    """An index list with its known numbers and its values in their places; takes the values from the front."""
    if numbers is None:
        return []
    known = static_numbers(numbers)
    return [values.pop(0) if n == DYNAMIC_INDEX else np.full((1, 1, 1), n, np.int64) for n in known]


def _create(machine: Machine, op: block.CreateNdDescOp, operands: list[Any]) -> tuple[Any, ...]:
    if not isinstance(op.source.type, IntegerType):
        fail(op, f"a source of type {op.source.type} is not simulated; pass an address as i64")
    kind = _block_type(op, op.descriptor.type)
    base, rest = operands[0], list(operands[1:])
    offsets = _indices(op, op.const_offsets, rest)
    shape = [uniform(op, size, "the shape") for size in _indices(op, op.const_shape, rest)]
    strides = [uniform(op, stride, "a stride") for stride in _indices(op, op.const_strides, rest)]
    if len(shape) != 2 or len(strides) != 2 or len(offsets) not in (0, 2):
        fail(op, "an address needs shape and strides of two dimensions each (and offsets of two, if any)")
    if strides[1] != 1:
        fail(op, f"the strides are {strides}; the elements of a row must be next to each other")
    _check_surface(machine, op, base, shape, strides[0], element_dtype(kind.element_type).itemsize)
    row, column = offsets or [np.zeros((1, 1, 1), np.int64)] * 2
    return (Descriptor(base, shape[0], shape[1], strides[0], row, column),)


def _check_surface(machine: Machine, op: Operation, base: Array, shape: list[int], pitch: int, size: int) -> None:
    limits = target_info(machine.target).surface
    if limits is None:
        fail(op, f"the target {machine.target} has no 2D block messages")
    width, distance = shape[1] * size, pitch * size
    if (base % limits.base_alignment).any():
        fail(op, f"the address {int(base.reshape(-1)[0]):#x} is not a multiple of {limits.base_alignment} bytes")
    if not limits.width_least <= width <= limits.width_most or width % limits.width_multiple:
        fail(
            op,
            f"rows of {width} bytes; a block message takes multiples of {limits.width_multiple} from "
            f"{limits.width_least} to {limits.width_most}",
        )
    if distance < width or distance % limits.pitch_multiple or distance > limits.width_most:
        fail(
            op, f"rows {distance} bytes apart; a block message takes multiples of {limits.pitch_multiple} from {width}"
        )
    if not 1 <= shape[0] <= limits.height_most:
        fail(op, f"{shape[0]} rows; a block message takes 1 to {limits.height_most}")


def _block_type(op: Operation, kind: Attribute) -> TensorDescType:
    if not isinstance(kind, TensorDescType) or len(kind.shape) != 2:
        fail(op, f"a descriptor of type {kind} is not simulated; 2-D blocks are")
    return kind


def _array_length(op: Operation, kind: TensorDescType) -> int:
    if isinstance(kind.encoding, BlockTensorDescAttr):
        value: Any = kind.encoding.value
        if value.memory_space != "global":
            fail(op, "blocks of shared local memory are not simulated")
        return int(value.array_length)
    return 1


def _update(machine: Machine, op: block.UpdateNdOffsetOp, operands: list[Any]) -> tuple[Any, ...]:
    old: Descriptor = operands[0]
    row, column = _place(op, op.const_offsets, operands[1:], old)
    return (Descriptor(old.base, old.height, old.width, old.pitch, row, column),)


def _place(op: Operation, numbers: DenseArrayBase | None, values: list[Array], descriptor: Descriptor) -> list[Array]:
    """Row and column of the block's first element."""
    offsets = _indices(op, numbers, list(values))
    if len(offsets) not in (0, 2):
        fail(op, f"{len(offsets)} offsets for a block of two dimensions")
    steps = offsets or [np.zeros((1, 1, 1), np.int64)] * 2
    return [
        uniform_in_subgroup(op, np.asarray(start + step), what)
        for start, step, what in zip((descriptor.row, descriptor.column), steps, ("the row", "the column"), strict=True)
    ]


@lru_cache(maxsize=256)
def _load_map(rows: int, width: int, bits: int, count: int, packed: bool, transposed: bool, lanes: int) -> Array:
    # The hardware transposes 32 bits at a time; narrower elements go through it in pairs.
    unit = max(bits, 32) if transposed else None
    message = block_load(rows, width, bits, count, packed, transposed, transpose_bits=unit, subgroup_size=lanes)
    return message.layout.fragment_map()[0]


@lru_cache(maxsize=256)
def _store_map(rows: int, width: int, bits: int, lanes: int) -> Array:
    return block_store(rows, width, bits, subgroup_size=lanes).layout.fragment_map()[0]


def _addresses(
    machine: Machine, op: Operation, descriptor: Descriptor, place: list[Array], held: Array, size: int
) -> tuple[Array, Array]:
    """The address of every element of a message [workgroup, subgroup, lane, register], and which are in the matrix."""
    row, column = (start[..., None] + held[..., axis] for start, axis in zip(place, (0, 1), strict=True))
    inside = (row >= 0) & (row < descriptor.height) & (column >= 0) & (column < descriptor.width)
    base = uniform_in_subgroup(op, descriptor.base, "the address")[..., None]
    addresses = base + (row * descriptor.pitch + column) * size
    return np.asarray(addresses), np.broadcast_to(inside, addresses.shape)


def _fragment(op: Operation, vector: Attribute, kind: TensorDescType, held: Array) -> None:
    """Complain about a vector that is not what a lane has of the block."""
    lanes, length = held.shape[:2]
    if not isa(vector, VectorType[Attribute]) or vector.element_type != kind.element_type:
        fail(op, f"{vector} for a block of {kind.element_type}")
    if vector.element_count() != length:
        fail(op, f"{vector} for a block of {kind}: each of {lanes} lanes holds {length} elements")


def _check_column(machine: Machine, op: Operation, column: Array, bits: int) -> None:
    limits = target_info(machine.target).surface
    multiple = 1 if limits is None else limits.x_multiple(bits)
    wrong = column[column % multiple != 0]
    if wrong.size:
        fail(op, f"column {int(wrong[0])}: a block of {bits}-bit elements begins at a multiple of {multiple}")


def _load(machine: Machine, op: block.LoadNdOp, operands: list[Any]) -> tuple[Any, ...]:
    descriptor: Descriptor = operands[0]
    kind = _block_type(op, op.descriptor.type)
    (rows, width), dtype, count = kind.get_shape(), element_dtype(kind.element_type), _array_length(op, kind)
    order = None if op.transpose is None else tuple(static_numbers(op.transpose))
    if order not in (None, (1, 0)):
        fail(op, f"transpose = {list(order)}; a block is transposed by [1, 0]")
    message = (rows, width, dtype.itemsize * 8, count, op.packed is not None, order is not None, machine.lanes)
    held = _load_map(*message)
    _fragment(op, op.value.type, kind, held)
    place = _place(op, op.const_offsets, operands[1:], descriptor)
    _check_column(machine, op, place[1], dtype.itemsize * 8)
    addresses, inside = _addresses(machine, op, descriptor, place, held, dtype.itemsize)
    return (machine.memory.read(addresses, inside, dtype),)


def _store(machine: Machine, op: block.StoreNdOp, operands: list[Any]) -> tuple[Any, ...]:
    value, descriptor = operands[0], operands[1]
    kind = _block_type(op, op.descriptor.type)
    (rows, width), dtype = kind.get_shape(), element_dtype(kind.element_type)
    if _array_length(op, kind) != 1:
        fail(op, "a store moves one block; array_length is for loads")
    held = _store_map(rows, width, dtype.itemsize * 8, machine.lanes)
    _fragment(op, op.value.type, kind, held)
    place = _place(op, op.const_offsets, operands[2:], descriptor)
    _check_column(machine, op, place[1], dtype.itemsize * 8)
    # Every work-item stores, also where the place or the value is the same for all of them: that is a race to see.
    everyone = (machine.count, machine.subgroups, machine.lanes, held.shape[1])
    addresses, inside = _addresses(machine, op, descriptor, place, held, dtype.itemsize)
    machine.memory.write(
        np.broadcast_to(addresses, everyone),
        np.broadcast_to(inside, everyone),
        np.broadcast_to(value.astype(dtype, copy=False), everyone),
        np.arange(machine.first, machine.first + machine.count).reshape(-1, 1, 1, 1),
    )
    return ()


def _prefetch(machine: Machine, op: block.PrefetchNdOp, operands: list[Any]) -> tuple[Any, ...]:
    kind = _block_type(op, op.descriptor.type)
    bits = element_dtype(kind.element_type).itemsize * 8
    _load_map(*kind.get_shape(), bits, _array_length(op, kind), False, False, machine.lanes)
    _place(op, op.const_offsets, operands[1:], operands[0])
    return ()


def _dpas(machine: Machine, op: block.DpasOp, operands: list[Array]) -> tuple[Array, ...]:
    types = (op.lhs.type, op.rhs.type, op.result.type)
    vectors = [kind for kind in types if isa(kind, VectorType[Attribute]) and kind.get_num_dims() == 1]
    if len(vectors) != 3:
        fail(op, "a dpas of other than 1-D vectors is not simulated; at lane level they are 1-D")
    names = [str(vector.element_type) for vector in vectors]
    lengths = [vector.element_count() for vector in vectors]
    if op.acc is not None and op.acc.type != op.result.type:
        fail(op, f"the accumulator is {op.acc.type} and the result {op.result.type}")
    if names[0] not in ("f16", "bf16") or names[1] != names[0] or names[2] != "f32":
        fail(op, f"a product of {names[0]} and {names[1]} in {names[2]} is not simulated; of f16 or bf16 in f32 is")
    unit = dpas(names[0], names[1], names[2], target=machine.target, m=lengths[2])
    if machine.lanes != unit.subgroup_size:
        fail(op, f"a subgroup of {machine.lanes} lanes; dpas on {machine.target} needs {unit.subgroup_size}")
    for what, layout, length in zip("ABC", (unit.a, unit.b, unit.c), lengths, strict=True):
        if layout.axes["reg"] != length:
            shape = "x".join(map(str, layout.shape))
            fail(op, f"{what} has {length} elements per lane; its {shape} block over {machine.lanes} lanes has "
                     f"{layout.axes['reg']}")  # fmt: skip
    lanes = [machine.spread(operand) for operand in operands]
    a, b = _assemble(lanes[0], unit.a), _assemble(lanes[1], unit.b)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), unit.m, unit.n)
    acc = _assemble(lanes[2], unit.c) if op.acc is not None else np.zeros(shape, np.float32)
    product = dpas_chain(a, b, acc)
    held = unit.c.fragment_map()[0]
    return (product[..., held[..., 0], held[..., 1]],)


def _assemble(fragments: Array, layout: Any) -> Array:
    """The matrix that the fragments are pieces of: [.., lane, register] to [.., row, column]."""
    return fragments[..., layout.owner_map("lane"), layout.owner_map("reg")]


HANDLERS: dict[type[Operation], Callable[[Machine, Any, list[Any]], tuple[Any, ...]]] = {
    block.CreateNdDescOp: _create,
    block.DpasOp: _dpas,
    block.LoadNdOp: _load,
    block.PrefetchNdOp: _prefetch,
    block.StoreNdOp: _store,
    block.UpdateNdOffsetOp: _update,
}
