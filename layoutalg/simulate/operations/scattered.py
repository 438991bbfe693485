"""XeGPU's scattered messages: every work-item names its own points, by offsets in elements from a pointer or a memref.

At lane level a work-item has one offset and `chunk_size` neighbours:

    %x = xegpu.load %p[%offset], %mask <{chunk_size = 8 : i64}> : i64, vector<1xindex>, vector<1xi1> -> vector<8xf32>

At subgroup and workgroup level the offsets are a tensor, and each has a chunk: `vector<16xindex>` and a value of
`vector<16x8xf32>`. Points whose mask is not set are not touched, and read as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.ir.dialects.xegpu import operations as scatter
from layoutalg.ir.dialects.xegpu.attributes import ScatterTensorDescAttr, TensorDescType
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.lines import LINE
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.memory.views import View, dtype_of, kept_as
from layoutalg.simulate.operations.memref import kind_of

__all__ = ["Points"]

Locate = Callable[[Run, Any, Array | None, Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Points:
    """A scattered descriptor: where it counts from, and the offsets of its points in elements.

    >>> Points(np.full((1, 1, 1), 64), np.arange(4).reshape(1, 1, 1, 4)).offsets.shape
    (1, 1, 1, 4)
    """

    source: Any
    offsets: Array


def _check_source(op: Operation, source: Attribute, compiling: Compiling) -> None:
    if isinstance(source, TensorDescType):
        if compiling.level == "lane":
            fail(op, "at lane level the source is a pointer or a memref with offsets, not a tensor_desc")
    elif not isinstance(source, IntegerType) and not isa(source, MemRefType[Attribute]):
        fail(op, f"a source of type {source} is not simulated; an address, a memref or a tensor_desc is")


def _locate(op: Operation, source: Attribute, offsets: tuple[int, ...], value: tuple[int, ...], size: int) -> Locate:
    """A function from source, offsets and mask to the addresses of all elements of the value, and which count."""
    count, points = prod(value), prod(offsets)
    if count % points:
        fail(op, f"{count} elements for {points} offsets; each has a chunk of the same size")
    chunk = count // points
    inside_chunk = np.arange(chunk)

    def shaped(given: Array, extents: tuple[int, ...]) -> Array:
        """Values of points, with their axes as one and an axis for the chunk."""
        return given.reshape(*given.shape[:3], -1 if extents else 1, 1) if given.ndim > 3 else given[..., None, None]

    def locate(run: Run, base: Any, given: Array | None, mask: Array) -> tuple[Array, Array]:
        if isinstance(base, Points):
            base, given = base.source, base.offsets
        assert given is not None
        numbers = shaped(given, offsets) + inside_chunk
        wanted = shaped(mask, offsets)
        if isinstance(base, View):
            view = base.spread(2)
            total: Any = view.count
            inside = (numbers >= 0) & (numbers < total)
            wrong = run.where(wanted & ~inside) if not inside.all() else np.False_
            if wrong.any():
                at = tuple(int(n) for n in np.argwhere(wrong)[0])
                number = int(np.broadcast_to(numbers, wrong.shape)[at])
                most = int(np.asarray(total).reshape(-1)[0])
                run.report(op, "run.out_of_bounds", f"element {number} of a memref of {most} elements")
                wanted = wanted & inside
            addresses = view.base + (view.offset + numbers) * size
        else:
            addresses = base[..., None, None] + numbers * size
        items = np.broadcast_shapes(addresses.shape[:3], wanted.shape[:3])
        addresses = np.broadcast_to(addresses, (*items, points, chunk)).reshape(*items, *value)
        return addresses, np.broadcast_to(wanted, (*items, points, chunk)).reshape(*items, *value)

    return locate


def _points_of(op: Operation, source: SSAValue, offsets: SSAValue | None) -> tuple[int, ...]:
    if offsets is not None:
        return value_shape(offsets.type)
    kind = source.type
    if not isinstance(kind, TensorDescType):
        fail(op, f"a source of type {kind} needs offsets")
    return kind.get_shape()[:1]


@compiled_by(scatter.CreateDescOp)
def create_tdesc(op: scatter.CreateDescOp, compiling: Compiling) -> Step:
    """`xegpu.create_tdesc`: an offset for each point."""
    if compiling.level == "lane":
        fail(op, "at lane level there are no scattered descriptors; loads and stores take offsets")
    return lambda run, values: (Points(values[0], values[1]),)


@compiled_by(scatter.UpdateOffsetOp)
def update_offset(op: scatter.UpdateOffsetOp, compiling: Compiling) -> Step:
    """`xegpu.update_offset`: every point moves by its own number of elements."""

    def step(run: Run, values: list[Any]) -> tuple[Points]:
        points: Points = values[0]
        return (Points(points.source, points.offsets + values[1]),)

    return step


def _chunk(op: Operation, kind: Attribute, points: tuple[int, ...], value: tuple[int, ...]) -> None:
    """Compare the chunk that the operation or its descriptor says with that of the value."""
    said: Any = op.properties.get("chunk_size")
    found = prod(value) // max(1, prod(points))
    chunk = None if said is None else int(said.value.data)
    if isinstance(kind, TensorDescType) and isinstance(kind.encoding, ScatterTensorDescAttr):
        value_of: Any = kind.encoding.value
        chunk = int(value_of.chunk_size)
    if chunk is not None and chunk != found:
        fail(op, f"chunk_size = {chunk}, and the value has {found} elements for each offset")


def _accesses(
    op: scatter.LoadOp | scatter.StoreOp, memory: SSAValue, compiling: Compiling
) -> tuple[Any, np.dtype[Any]]:
    """How the places of an access are found, and the type of its elements."""
    _check_source(op, memory.type, compiling)
    dtype, shape = dtype_of(op.value.type), value_shape(op.value.type)
    points = _points_of(op, memory, op.offsets)
    _chunk(op, memory.type, points, shape)
    return _locate(op, memory.type, points, shape, dtype.itemsize), dtype


@compiled_by(scatter.LoadOp)
def load(op: scatter.LoadOp, compiling: Compiling) -> Step:
    """`xegpu.load`: a gather."""
    locate, dtype = _accesses(op, op.source, compiling)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        addresses, wanted = locate(run, values[0], None if op.offsets is None else values[1], values[-1])
        return (run.memory.read(run, op, addresses, wanted, dtype),)

    return step


@compiled_by(scatter.StoreOp)
def store(op: scatter.StoreOp, compiling: Compiling) -> Step:
    """`xegpu.store`: a scatter."""
    locate, dtype = _accesses(op, op.dest, compiling)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        addresses, wanted = locate(run, values[1], None if op.offsets is None else values[2], values[-1])
        run.memory.write(run, op, addresses, wanted, kept_as(values[0], dtype))
        return ()

    return step


@compiled_by(scatter.PrefetchOp)
def prefetch(op: scatter.PrefetchOp, compiling: Compiling) -> Step:
    """`xegpu.prefetch`: nothing moves. From an address, offsets count units of `offset_align_byte`."""
    _check_source(op, op.source.type, compiling)
    source: Attribute = op.source.type
    if isa(source, MemRefType[Attribute]) or isinstance(source, TensorDescType):
        size = dtype_of(source.element_type).itemsize
    else:
        size = 1 if op.offset_align_byte is None else int(op.offset_align_byte.value.data)
    points = _points_of(op, op.source, op.offsets)
    locate = _locate(op, source, points, points, size)
    everywhere = np.ones((1, 1, 1), np.bool_)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        if run.counter is not None:
            base = values[0]
            if isinstance(base, View):  # a prefetch outside is harmless, so the memref's sizes do not matter
                base = np.asarray(base.base + base.offset * size)
            addresses, _ = locate(run, base, values[1] if op.offsets is not None else None, everywhere)
            run.counter.elements(op, run.active, "prefetch", addresses, run.memory.buffers.is_there(addresses), LINE)
        return ()

    return step


@compiled_by(scatter.AtomicRmwOp)
def atomic(op: scatter.AtomicRmwOp, compiling: Compiling) -> Step:
    """`xegpu.atomic_rmw`: the points one after another; gives what was there before each."""
    _check_source(op, op.descriptor.type, compiling)
    dtype, shape = dtype_of(op.value.type), value_shape(op.value.type)
    locate = _locate(op, op.descriptor.type, _points_of(op, op.descriptor, None), shape, dtype.itemsize)
    kind = kind_of(op)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        addresses, wanted = locate(run, values[0], None, values[1])
        return (run.memory.atomic(run, op, addresses, wanted, kept_as(values[2], dtype), kind),)

    return step
