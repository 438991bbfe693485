"""XeVM's block messages and matrix products: what XeGPU's become, with addresses and sizes in place of descriptors.

A block is given by the surface's address, width and pitch (bytes) and height (rows), and by the column and row of its
first element. Lanes receive what the hardware's layouts say; narrow elements are packed into wider ones as they lie in
registers. The low half of an integer of 32 bits is the first of its two elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, VectorType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.executed import Kind
from layoutalg.simulate.lines import LINE
from layoutalg.simulate.machine import Array, Run, fail, uniform_in_subgroup
from layoutalg.simulate.memory.views import dtype_of
from layoutalg.simulate.operations.block_maps import load_map, message_name, store_map
from layoutalg.simulate.operations.blocks import check_column
from layoutalg.simulate.operations.dpas import product_of_fragments

__all__: list[str] = []

_DTYPES = {8: np.dtype(np.int8), 16: np.dtype(np.int16), 32: np.dtype(np.int32), 64: np.dtype(np.int64)}
_MMA_NAMES = {"i32": "s32", "i8": "s8", "i4": "s4"}


def _number(op: Any, name: str, otherwise: int | None = None) -> int:
    found = op.properties.get(name)
    if isinstance(found, IntegerAttr):
        return int(found.value.data)
    if otherwise is None:
        fail(op, f"{name} is needed")
    return otherwise


def _elements(op: Any) -> np.dtype[Any]:
    bits = _number(op, "elem_size_in_bits")
    if bits not in _DTYPES:
        fail(op, f"elements of {bits} bits in memory are not simulated")
    return _DTYPES[bits]


_OPERANDS = ("the address", "the width", "the height", "the pitch", "x", "y")


def _surface(
    run: Run, op: Any, values: list[Any], kind: Kind, name: str, block: tuple[int, int], size: int
) -> list[Array]:
    """What a message says of its surface and place; it is counted. `block` are its rows and columns."""
    found = [
        uniform_in_subgroup(op, np.asarray(value), what) for value, what in zip(values[:6], _OPERANDS, strict=True)
    ]
    if run.counter is not None:
        base, width, height, pitch, column, row = (part.astype(np.int64) for part in found)
        surface, corner = (base, height, width, pitch), (row, column * size)
        run.counter.block(op, run.active, kind, name, surface, corner, (block[0], block[1] * size))
    return found


def _addresses(op: Any, compiling: Compiling, surface: list[Array], held: Array, size: int) -> tuple[Array, Array]:
    """The address of every element of a message, and which are inside the surface."""
    base, width, height, pitch, column, row = surface
    check_column(compiling.target, op, np.asarray(column), size * 8)
    down = row[..., None] + held[..., 0]
    across = (column[..., None] + held[..., 1]) * size
    inside = (down >= 0) & (down < height[..., None]) & (across >= 0) & (across < width[..., None])
    addresses = base[..., None].astype(np.int64) + down.astype(np.int64) * pitch[..., None] + across
    return addresses, np.broadcast_to(inside, addresses.shape)


@compiled_by("xevm.blockload2d")
def blockload2d(op: Any, compiling: Compiling) -> Step:
    """`xevm.blockload2d`."""
    dtype, kind = _elements(op), op.results[0].type
    rows, width, count = _number(op, "tile_height"), _number(op, "tile_width"), _number(op, "v_blocks", 1)
    packed, transposed = bool(_number(op, "pack_register", 0)), bool(_number(op, "transpose", 0))
    held = load_map(rows, width, dtype.itemsize * 8, count, packed, transposed, compiling.lanes, compiling.target)
    result, shape = dtype_of(kind), value_shape(kind)
    if int(np.prod(shape)) * result.itemsize != held.shape[1] * dtype.itemsize:
        fail(op, f"{kind} for {held.shape[1]} elements of {dtype.itemsize * 8} bits per lane")
    name = message_name("read", rows, width, dtype.itemsize * 8, count, packed, transposed)
    block = rows, width * count

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        surface = _surface(run, op, values, "load", name, block, dtype.itemsize)
        addresses, inside = _addresses(op, compiling, surface, held, dtype.itemsize)
        read = run.memory.read(run, op, addresses, inside, dtype, together=True)
        made = np.ascontiguousarray(read).view(result)
        return (made.reshape(*made.shape[:3], *shape),)

    return step


@compiled_by("xevm.blockstore2d")
def blockstore2d(op: Any, compiling: Compiling) -> Step:
    """`xevm.blockstore2d`."""
    dtype = _elements(op)
    rows, width = _number(op, "tile_height"), _number(op, "tile_width")
    held = store_map(rows, width, dtype.itemsize * 8, compiling.lanes, compiling.target)
    kind = op.stored_val.type
    given, shape = dtype_of(kind), value_shape(kind)
    if int(np.prod(shape)) * given.itemsize != held.shape[1] * dtype.itemsize:
        fail(op, f"{kind} for {held.shape[1]} elements of {dtype.itemsize * 8} bits per lane")
    name = message_name("write", rows, width, dtype.itemsize * 8)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        surface = _surface(run, op, values, "store", name, (rows, width), dtype.itemsize)
        addresses, inside = _addresses(op, compiling, surface, held, dtype.itemsize)
        everyone = (*run.machine.items, held.shape[1])
        value = np.ascontiguousarray(values[6]).astype(given, copy=False)
        stored = value.reshape(*value.shape[:3], -1).view(dtype)
        run.memory.write(
            run,
            op,
            np.broadcast_to(addresses, everyone),
            np.broadcast_to(inside, everyone),
            np.broadcast_to(stored, everyone),
            together=True,
        )
        return ()

    return step


@compiled_by("xevm.blockprefetch2d")
def blockprefetch2d(op: Any, compiling: Compiling) -> Step:
    """`xevm.blockprefetch2d`: nothing moves."""
    dtype, rows, width = _elements(op), _number(op, "tile_height"), _number(op, "tile_width")
    count = _number(op, "v_blocks", 1)
    name, block = message_name("prefetch", rows, width, dtype.itemsize * 8, count), (rows, width * count)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        if run.counter is not None:
            _surface(run, op, values, "prefetch", name, block, dtype.itemsize)
        return ()

    return step


@compiled_by("xevm.prefetch")
def prefetch(op: Any, compiling: Compiling) -> Step:
    """`xevm.prefetch`: nothing moves."""

    def step(run: Run, values: list[Any]) -> tuple[()]:
        if run.counter is not None:
            addresses = np.asarray(values[0])
            run.counter.elements(op, run.active, "prefetch", addresses, run.memory.buffers.is_there(addresses), LINE)
        return ()

    return step


@compiled_by("xevm.mma")
def mma(op: Any, compiling: Compiling) -> Step:
    """`xevm.mma`, whose operands have the types that it names, or integers of their width."""
    vectors = [kind for kind in (op.a.type, op.b.type, op.d.type) if isa(kind, VectorType[Attribute])]
    if "types" not in op.properties or len(vectors) != 3:
        fail(op, "types and vectors are needed")
    written = [name.data if isinstance(name, StringAttr) else str(name) for name in op.types.types.data]
    names = [written[1], written[2], written[0]]
    # It says its shape itself: operands that do not have it are the kernel's mistake.
    return product_of_fragments(
        op, compiling, vectors, [_MMA_NAMES.get(name, name) for name in names], rule="run.undefined"
    )
