"""Which row and column of a 2-D block each element of a value has: for each lane, or for the whole tensor.

A lane's part is what `layoutalg.hardware` says a block message moves; where a value is not spread over lanes, it is the
block itself, with arrays of blocks first and packed rows last.

>>> load_map(8, 16, 32, 1, False, False, 16)[3, 2].tolist()
[2, 3]
>>> whole_map(8, 16, 1, 1, False)[2, 3].tolist()
[2, 3]
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from layoutalg.core.whole_numbers import as_whole
from layoutalg.hardware import TargetInfo, block_load, block_store, target_info
from layoutalg.ir.dialects.xegpu import operations as block
from layoutalg.ir.dialects.xegpu.attributes import BlockTensorDescAttr, TensorDescType
from layoutalg.simulate.machine import Array, fail
from layoutalg.simulate.values.elements import element

__all__ = [
    "array_length",
    "element_of",
    "held_as_whole",
    "lane_map",
    "load_map",
    "message_name",
    "store_map",
    "whole_map",
]


def element_of(op: Operation, kind: TensorDescType) -> np.dtype[Any]:
    """What numpy calls the elements of a block, which have whole bytes.

    >>> from xdsl.dialects.builtin import f16
    >>> from xdsl.dialects.test import TestOp
    >>> element_of(TestOp(), TensorDescType.of([8, 16], f16))
    dtype('float16')
    """
    found = element(str(kind.element_type))
    if found.bits != found.dtype.itemsize * 8:
        fail(op, f"elements of {found.bits} bits in memory are not simulated")
    return found.dtype


def array_length(kind: TensorDescType) -> int:
    """The blocks side by side that one load moves.

    >>> from xdsl.dialects.builtin import f16
    >>> array_length(TensorDescType.of([8, 16], f16))
    1
    """
    if isinstance(kind.encoding, BlockTensorDescAttr):
        value: Any = kind.encoding.value
        return int(value.array_length)
    return 1


def load_map(
    rows: int, width: int, bits: int, count: int, packed: bool, transposed: bool, lanes: int, target: str = "pvc"
) -> Array:
    """Row and column of every element that a load gives each lane: [lane, register, 2]."""
    return _load_map(rows, width, bits, count, packed, transposed, lanes, _with_blocks(target))


@lru_cache(maxsize=256)
def _load_map(
    rows: int, width: int, bits: int, count: int, packed: bool, transposed: bool, lanes: int, chip: TargetInfo
) -> Array:
    # The hardware transposes 32 bits at a time; narrower elements go through it in pairs.
    unit = max(bits, 32) if transposed else None
    message = block_load(rows, width, bits, count, packed, transposed, unit, lanes, chip.name)
    return message.layout.fragment_map()[0]


def _with_blocks(target: str) -> TargetInfo:
    """The chip; of one without block messages, whose descriptors are refused when they are made, the usual ones."""
    chip = target_info(target)
    return chip if chip.blocks is not None else target_info("pvc")


def store_map(rows: int, width: int, bits: int, lanes: int, target: str = "pvc") -> Array:
    """Row and column of every element that a store takes from each lane: [lane, register, 2]."""
    return _store_map(rows, width, bits, lanes, _with_blocks(target))


@lru_cache(maxsize=256)
def _store_map(rows: int, width: int, bits: int, lanes: int, chip: TargetInfo) -> Array:
    return block_store(rows, width, bits, lanes, chip.name).layout.fragment_map()[0]


def message_name(
    kind: str, rows: int, width: int, bits: int, count: int = 1, packed: bool = False, transposed: bool = False
) -> str:
    """What OpenCL calls a block message; `kind` is read, write or prefetch.

    >>> message_name("read", 32, 16, 16, 2, packed=True), message_name("read", 16, 16, 16, transposed=True)
    ('read_transform_16b_32r16x2c', 'read_transpose_32b_16r8x1c')
    """
    bits = as_whole(bits, "bits")
    unit = max(bits, 32) if transposed else bits
    how = "transform_" if packed else "transpose_" if transposed else ""
    return f"{kind}_{how}{unit}b_{rows}r{width * bits // unit}x{count}c"


def whole_map(rows: int, width: int, count: int, packed: int, transposed: bool) -> Array:
    """Row and column of every element of the tensor that a load gives, where it is not spread over lanes.

    Blocks of an array come first, rows that are packed together last: `[count, rows / packed, width, packed]`.
    """
    at = np.moveaxis(np.indices((rows, width * count)), 0, -1).reshape(rows, count, width, 2).swapaxes(0, 1)
    if transposed:
        at = at.swapaxes(1, 2)
    if packed > 1:
        at = at.reshape(count, rows // packed, packed, width, 2).swapaxes(2, 3)
    return at if count > 1 else at[0]


def lane_map(
    op: block.LoadNdOp | block.StoreNdOp, kind: TensorDescType, vector: Attribute, lanes: int, target: str = "pvc"
) -> Array:
    """Row and column in the block of every element of a lane's vector: [lane, the vector's axes, 2].

    >>> from layoutalg.ir import read_module
    >>> text = '%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32> '
    >>> text += "%x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>"
    >>> load = read_module(text).body.block.last_op
    >>> lane_map(load, load.descriptor.type, load.value.type, 16)[3, 2].tolist()
    [2, 3]
    """
    rows, width = kind.get_shape()
    bits = element_of(op, kind).itemsize * 8
    if isinstance(op, block.StoreNdOp):
        return _held_by_lanes(op, vector, kind, store_map(rows, width, bits, lanes, target))
    packed, transposed = op.packed is not None, op.transpose is not None
    held = load_map(rows, width, bits, array_length(kind), packed, transposed, lanes, target)
    return _held_by_lanes(op, vector, kind, held)


def _held_by_lanes(op: Operation, vector: Attribute, kind: TensorDescType, held: Array) -> Array:
    """Row and column [lane, the vector's axes, 2]; complain about a vector that is not what a lane has of the block."""
    lanes, length = held.shape[:2]
    if not isa(vector, VectorType[Attribute]) or vector.element_type != kind.element_type:
        fail(op, f"{vector} for a block of {kind.element_type}")
    if vector.element_count() != length:
        fail(op, f"{vector} for a block of {kind}: each of {lanes} lanes holds {length} elements")
    return held.reshape(lanes, *vector.get_shape(), 2)


def held_as_whole(op: Operation, vector: Attribute, kind: TensorDescType, level: str, held: Array) -> Array:
    """Row and column [1, the tensor's axes, 2]; complain about a vector that is not the whole block."""
    if not isa(vector, VectorType[Attribute]) or vector.element_type != kind.element_type:
        fail(op, f"{vector} for a block of {kind.element_type}")
    if vector.get_shape() != held.shape[:-1]:
        shape = "x".join(map(str, held.shape[:-1]))
        fail(
            op, f"{vector} for a block of {kind}: this kernel is at {level} level, where a value is all of it, {shape}"
        )
    return held[None]
