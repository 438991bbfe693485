"""Blocks of a region of memory: what `create_nd_tdesc`, `load_nd` and their like do, message or not.

A block of two dimensions in global memory is a 2-D block message (see `blocks`): the hardware clips it at the edges of its
matrix. Any other block has no edges that the hardware knows: blocks of one dimension, blocks of shared local memory, and
those whose descriptor says `boundary_check = false`. There an element outside the region is an error of the kernel.

At lane level a block of one dimension is a sub-group block message: element r of lane l is the (r * lanes + l)th. So is each
row of a block of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects.xegpu import operations as block
from layoutalg.ir.dialects.xegpu.attributes import BlockTensorDescAttr, TensorDescType
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail, uniform_in_subgroup
from layoutalg.simulate.memory.views import View, dtype_of, kept_as, memory_space
from layoutalg.simulate.operations import block_maps, blocks
from layoutalg.simulate.operations.memref import check_window

__all__ = ["BlockRegion"]


@dataclass(frozen=True, eq=False)
class BlockRegion:
    """A region of memory and where a block begins in it.

    >>> BlockRegion(View.row_major(np.full((1, 1, 1), 64), (32,)), (np.full((1, 1, 1), 16),)).view.sizes
    (32,)
    """

    view: View
    offsets: tuple[Array, ...]


def _is_message(kind: Attribute) -> bool:
    """Whether the hardware clips blocks of this type at the edges of their matrix."""
    if not isinstance(kind, TensorDescType) or len(kind.shape) != 2:
        return False
    return not isinstance(kind.encoding, BlockTensorDescAttr) or (_space(kind) == "global" and _checked(kind))


def _space(kind: TensorDescType) -> str:
    value: Any = None if isinstance(kind.encoding, NoneAttr) else kind.encoding.value
    return "global" if value is None else str(value.memory_space)


def _checked(kind: TensorDescType) -> bool:
    value: Any = None if isinstance(kind.encoding, NoneAttr) else kind.encoding.value
    return value is None or bool(value.boundary_check)


@compiled_by(block.CreateNdDescOp)
def create_nd_tdesc(op: block.CreateNdDescOp, compiling: Compiling) -> Step:
    """`xegpu.create_nd_tdesc` of an address or a memref."""
    source: Attribute = op.source.type
    if not isa(source, IntegerType) and not isa(source, MemRefType[Attribute]):
        fail(op, f"a source of type {source} is not simulated; memrefs and addresses (i64) are")
    kind = op.descriptor.type
    if not isinstance(kind, TensorDescType) or not 1 <= len(kind.shape) <= 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(op, f"a descriptor of type {kind} is not simulated; blocks of one and two dimensions are")
    rank, size = len(kind.shape), dtype_of(kind.element_type).itemsize
    if isa(source, MemRefType[Attribute]) and memory_space(source) != ("shared" if _space(kind) == "slm" else "global"):
        fail(op, f"{source} for blocks of memory_space = {_space(kind)}")
    region = _region_of(op, rank, size)
    message = _is_message(kind)

    def step(run: Run, values: list[Any]) -> tuple[Any]:
        view, offsets = region(run, values)
        if not message:
            return (BlockRegion(view, offsets),)
        base, height, width, pitch, by = (
            uniform_in_subgroup(op, _value(number), what)
            for number, what in (
                (view.base + view.offset * size, "the address"),
                *((number, "the shape") for number in view.sizes),
                *((number, "a stride") for number in view.strides),
            )
        )
        if (by != 1).any():
            numbers = f"{int(pitch.reshape(-1)[0])}, {int(by[by != 1][0])}"
            fail(op, f"the strides are [{numbers}]; the elements of a row must be next to each other")
        if compiling.level == "lane":
            blocks.check_surface(compiling.target, op, base, height, width, pitch, size)
        return (blocks.Descriptor(base, height, width, pitch, *offsets),)

    return step


def _value(number: Any) -> Array:
    """A size, a stride or an address with the axes of the work-items."""
    found = np.asarray(number, np.int64)
    return found if found.ndim == 3 else found.reshape(1, 1, 1)


def _region_of(
    op: block.CreateNdDescOp, rank: int, size: int
) -> Callable[[Run, list[Any]], tuple[View, tuple[Array, ...]]]:
    """A function that gives the region, of as many dimensions as the block, and where the block begins."""
    parts = [blocks.index_list(numbers) for numbers in (op.const_offsets, op.const_shape, op.const_strides)]
    ends = np.cumsum([1, *(count for count, _ in parts)]).tolist()
    nowhere = np.zeros((1, 1, 1), np.int64)

    def region(run: Run, values: list[Any]) -> tuple[View, tuple[Array, ...]]:
        offsets, shape, strides = (
            filled(values[start:end]) for (_, filled), (start, end) in zip(parts, pairwise(ends), strict=True)
        )
        view = values[0] if isinstance(values[0], View) else View(values[0].astype(np.int64), 0, (), (), size)
        if shape or strides:
            view = View(view.base, view.offset, tuple(shape), tuple(strides), size)
        if not len(view.sizes) == len(view.strides) >= rank:
            fail(
                op,
                f"a region of {len(view.sizes)} dimensions for a block of {rank}; an address needs shape and strides",
            )
        if len(offsets) not in (0, len(view.sizes)):
            fail(op, f"{len(offsets)} offsets for a region of {len(view.sizes)} dimensions")
        outer, inner = offsets[: len(view.sizes) - rank], tuple(offsets[len(view.sizes) - rank :]) or (nowhere,) * rank
        shift: Any = view.offset
        for offset, stride in zip(outer, view.strides, strict=False):
            shift = shift + offset * stride
        return View(view.base, shift, view.sizes[-rank:], view.strides[-rank:], size), inner

    return region


@compiled_by(block.UpdateNdOffsetOp)
def update_nd_offset(op: block.UpdateNdOffsetOp, compiling: Compiling) -> Step:
    """`xegpu.update_nd_offset`: the same region, another place."""
    if _is_message(op.descriptor.type):
        return blocks.update_nd_offset(op, compiling)
    _, filled = blocks.index_list(op.const_offsets)

    def step(run: Run, values: list[Any]) -> tuple[BlockRegion]:
        found: BlockRegion = values[0]
        return (BlockRegion(found.view, _moved(op, found, filled(values[1:]))),)

    return step


def _moved(op: Operation, found: BlockRegion, steps: list[Array]) -> tuple[Array, ...]:
    if len(steps) not in (0, len(found.offsets)):
        fail(op, f"{len(steps)} offsets for a block of {len(found.offsets)} dimensions")
    moved = [np.asarray(a + b) for a, b in zip(found.offsets, steps, strict=True)] if steps else found.offsets
    return tuple(uniform_in_subgroup(op, offset, "the place") for offset in moved)


def _held(op: Any, kind: TensorDescType, vector: Attribute, compiling: Compiling) -> Array:
    """The place in the block of every element of a value: [lane, the vector's axes, dimension]."""
    shape, values, lanes = kind.get_shape(), value_shape(vector), compiling.lanes
    if getattr(vector, "element_type", None) != kind.element_type:
        fail(op, f"{vector} for a block of {kind.element_type}")
    plain = getattr(op, "packed", None) is None and getattr(op, "transpose", None) is None
    if len(shape) == 2 and _space(kind) == "global" and compiling.level == "lane":
        return block_maps.lane_map(op, kind, vector, lanes, compiling.target)
    count = block_maps.array_length(kind)
    if not plain or count != 1:
        fail(op, "packed, transpose and array_length are for 2-D blocks of global memory")
    at = np.moveaxis(np.indices(shape), 0, -1)
    if compiling.level != "lane":
        if values != shape:
            fail(op, f"{vector} for a block of {kind}: this kernel is at {compiling.level} level")
        return at[None]
    if shape[-1] % lanes or prod(values) * lanes != prod(shape):
        fail(op, f"{vector} for a block of {kind}: {lanes} lanes take rows of a multiple of {lanes} elements")
    rows = at.reshape(-1, shape[-1] // lanes, lanes, len(shape))
    return np.moveaxis(rows, 2, 0).reshape(lanes, *values, len(shape))


def _accessed(
    op: block.LoadNdOp | block.StoreNdOp, kind: TensorDescType, vector: Attribute, compiling: Compiling
) -> Callable[[Run, BlockRegion, list[Any]], tuple[Array, Array | None]]:
    """A function that gives the address of every element of a value, and which are in the region."""
    held = _held(op, kind, vector, compiling)
    _, filled = blocks.index_list(op.const_offsets)
    axes = held.ndim - 2

    def accessed(run: Run, found: BlockRegion, values: list[Any]) -> tuple[Array, Array | None]:
        offsets = _moved(op, found, filled(values))
        wide = [n.reshape(*n.shape, *(1,) * axes) + held[..., d] for d, n in enumerate(offsets)]
        spread = found.view.spread(axes)
        addresses, inside = spread.elements(wide)
        return addresses, check_window(run, op, np.broadcast_to(inside, addresses.shape), spread, wide)

    return accessed


@compiled_by(block.LoadNdOp)
def load_nd(op: block.LoadNdOp, compiling: Compiling) -> Step:
    """`xegpu.load_nd`."""
    kind = op.descriptor.type
    if _is_message(kind) or not isinstance(kind, TensorDescType) or len(kind.shape) > 2:
        return blocks.load_nd(op, compiling)
    accessed, dtype = _accessed(op, kind, op.value.type, compiling), dtype_of(kind.element_type)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        addresses, inside = accessed(run, values[0], values[1:])
        if run.counter is not None:
            run.counter.elements(op, run.active, "load", addresses, inside, dtype.itemsize)
        return (run.memory.read(run, op, addresses, inside, dtype, together=True),)

    return step


@compiled_by(block.StoreNdOp)
def store_nd(op: block.StoreNdOp, compiling: Compiling) -> Step:
    """`xegpu.store_nd`."""
    kind = op.descriptor.type
    if _is_message(kind) or not isinstance(kind, TensorDescType) or len(kind.shape) > 2:
        return blocks.store_nd(op, compiling)
    accessed, dtype = _accessed(op, kind, op.value.type, compiling), dtype_of(kind.element_type)
    axes = value_shape(op.value.type)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        addresses, inside = accessed(run, values[1], values[2:])
        everyone = (*run.machine.items, *axes)
        if run.counter is not None:
            run.counter.elements(op, run.active, "store", addresses, inside, dtype.itemsize)
        wanted = None if inside is None else np.broadcast_to(inside, everyone)
        stored = np.broadcast_to(kept_as(values[0], dtype), everyone)
        run.memory.write(run, op, np.broadcast_to(addresses, everyone), wanted, stored, together=True)
        return ()

    return step


@compiled_by(block.PrefetchNdOp)
def prefetch_nd(op: block.PrefetchNdOp, compiling: Compiling) -> Step:
    """`xegpu.prefetch_nd`: nothing moves."""
    if _is_message(op.descriptor.type):
        return blocks.prefetch_nd(op, compiling)
    numbers = op.const_offsets
    if isinstance(numbers, DenseArrayBase) and len(static_numbers(numbers)) > 2:
        fail(op, "a block of more than two dimensions is not simulated")
    return lambda run, values: ()
