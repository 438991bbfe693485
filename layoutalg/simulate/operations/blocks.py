"""XeGPU's 2-D block operations on all subgroups at once. Which element goes where is not written here: it is a `Layout`.

A 2D block load moves a tile of memory into registers. `layoutalg.hardware.block_load` says how, as a Layout
from the tile's rows and columns to lane and register; its fragment map (`block_maps`) lists, for each lane and register, the
row and column it receives. Addresses follow: base + row * pitch + column. Elements outside the matrix read as 0, and are not
written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase
from xdsl.ir import Attribute, Operation

from layoutalg.hardware import target_info
from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects.xegpu import operations as block
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.simulate.compiling import Compiling, Step, value_shape
from layoutalg.simulate.executed import Kind
from layoutalg.simulate.machine import Array, Run, fail, uniform_in_subgroup
from layoutalg.simulate.operations.block_maps import (
    array_length,
    element_of,
    held_as_whole,
    lane_map,
    load_map,
    message_name,
    whole_map,
)

__all__ = ["Descriptor", "check_column", "check_surface", "index_list"]

_MOST_PADDED = 1 << 26
"""Bytes of a matrix that is copied once, with zeros around it."""


@dataclass(frozen=True, eq=False)
class Descriptor:
    """A matrix in memory and a place in it: where it begins, its sizes and pitch in elements, and an offset.

    Each subgroup may have a matrix of its own.

    >>> at = np.zeros((1, 1, 1), np.int64)
    >>> Descriptor(at, height=at + 8, width=at + 32, pitch=at + 32, row=at, column=at + 16).column.item()
    16
    """

    base: Array
    height: Array
    width: Array
    pitch: Array
    row: Array
    column: Array

    @property
    def matrix(self) -> tuple[int, int, int, int] | None:
        """Where the matrix begins, its height, width and pitch, if it is the same one for all subgroups.

        >>> at = np.zeros((1, 1, 1), np.int64)
        >>> Descriptor(at, height=at + 8, width=at + 32, pitch=at + 40, row=at, column=at).matrix
        (0, 8, 32, 40)
        """
        parts = (self.base, self.height, self.width, self.pitch)
        if any(part.size != 1 for part in parts):
            return None
        base, height, width, pitch = (int(part.reshape(-1)[0]) for part in parts)
        return base, height, width, pitch


def index_list(numbers: DenseArrayBase | None) -> tuple[int, Callable[[list[Array]], list[Array]]]:
    """An index list such as `[%row, 16]`: how many values it takes, and a function that puts known numbers between them.

    >>> from xdsl.dialects.builtin import i64
    >>> count, filled = index_list(DenseArrayBase.from_list(i64, [DYNAMIC_INDEX, 16]))
    >>> count, [int(part.item()) for part in filled([np.full((1, 1, 1), 3)])]
    (1, [3, 16])
    """
    known = () if numbers is None else tuple(static_numbers(numbers))
    made = [None if n == DYNAMIC_INDEX else np.full((1, 1, 1), n, np.int64) for n in known]

    def filled(values: list[Array]) -> list[Array]:
        given = iter(values)
        return [next(given) if part is None else part for part in made]

    return made.count(None), filled


def check_surface(
    target: str, op: Operation, base: Array, height: Array, width: Array, pitch: Array, size: int
) -> None:
    """Refuse a matrix that no 2-D block message can address; height, width and pitch in elements of `size` bytes.

    >>> from xdsl.dialects.test import TestOp
    >>> one = np.ones((1, 1, 1), np.int64)
    >>> check_surface("pvc", TestOp(), one << 40, one * 8, one * 32, one * 32, 4)
    """
    limits = target_info(target).surface
    if limits is None:
        fail(op, f"the target {target} has no 2D block messages")
    row, distance = width * size, pitch * size

    def first(wrong: Array, values: Array) -> int | None:
        """The first of the values that are wrong."""
        return int(np.broadcast_to(values, wrong.shape)[wrong][0]) if wrong.any() else None

    address = first(base % limits.base_alignment != 0, base)
    if address is not None:
        fail(op, f"the address {address:#x} is not a multiple of {limits.base_alignment} bytes")
    beyond = (row < limits.width_least) | (row > limits.width_most) | (row % limits.width_multiple != 0)
    found = first(beyond, row)
    if found is not None:
        fail(
            op,
            f"rows of {found} bytes; a block message takes multiples of {limits.width_multiple} from "
            f"{limits.width_least} to {limits.width_most}",
        )
    beyond = (distance < row) | (distance % limits.pitch_multiple != 0) | (distance > limits.width_most)
    found = first(beyond, distance)
    if found is not None:
        least = first(beyond, row)
        fail(op, f"rows {found} bytes apart; a block message takes multiples of {limits.pitch_multiple} from {least}")
    found = first((height < 1) | (height > limits.height_most), height)
    if found is not None:
        fail(op, f"{found} rows; a block message takes 1 to {limits.height_most}")


def _block_type(op: Operation, kind: Attribute) -> TensorDescType:
    if not isinstance(kind, TensorDescType) or len(kind.shape) != 2:
        fail(op, f"a descriptor of type {kind} is not simulated; 2-D blocks are")
    return kind


def update_nd_offset(op: block.UpdateNdOffsetOp, compiling: Compiling) -> Step:
    """`xegpu.update_nd_offset`: the same matrix, another place."""
    place = _place(op, op.const_offsets)

    def step(run: Run, values: list[Any]) -> tuple[Descriptor]:
        old: Descriptor = values[0]
        row, column = place(values[1:], old)
        return (Descriptor(old.base, old.height, old.width, old.pitch, row, column),)

    return step


def _place(op: Operation, numbers: DenseArrayBase | None) -> Callable[[list[Array], Descriptor], list[Array]]:
    """A function that gives row and column of the block's first element."""
    known = 0 if numbers is None else len(static_numbers(numbers))
    if known not in (0, 2):
        fail(op, f"{known} offsets for a block of two dimensions")
    _, filled = index_list(numbers)

    def place(values: list[Array], descriptor: Descriptor) -> list[Array]:
        starts = (descriptor.row, descriptor.column)
        steps = filled(values)
        found = [np.asarray(start + by) for start, by in zip(starts, steps, strict=True)] if steps else starts
        return [
            uniform_in_subgroup(op, number, what) for number, what in zip(found, ("the row", "the column"), strict=True)
        ]

    return place


def _counted(
    run: Run,
    op: Operation,
    kind: Kind,
    name: str,
    descriptor: Descriptor,
    place: list[Array],
    block: tuple[int, int],
    size: int,
) -> None:
    """Count a message; `block` are its rows and columns, `size` the bytes of an element."""
    if run.counter is None:
        return
    surface = descriptor.base, descriptor.height, descriptor.width * size, descriptor.pitch * size
    corner, extent = (place[0], place[1] * size), (block[0], block[1] * size)
    run.counter.block(op, run.active, kind, name, surface, corner, extent)


def _addresses(
    op: Operation, descriptor: Descriptor, place: list[Array], held: Array, size: int
) -> tuple[Array, Array]:
    """The address of every element of a message [workgroup, subgroup, lane, ..], and which are in the matrix."""
    inner = (1,) * (held.ndim - 2)
    row, column = (start.reshape(*start.shape, *inner) + held[..., axis] for axis, start in enumerate(place))
    base, height, width, pitch = (
        part.reshape(*part.shape, *inner)
        for part in (descriptor.base, descriptor.height, descriptor.width, descriptor.pitch)
    )
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    addresses = base + (row * pitch + column) * size
    return np.asarray(addresses), np.broadcast_to(inside, addresses.shape)


def _arranged(held: Array, rows: int, width: int) -> Callable[[Array], Array]:
    """A function from tiles [.., rows, width], held by lanes, to [.., lane, the vector's axes]: a view where possible."""
    rank = held.ndim - 2
    row, column = held[..., 0], held[..., 1]
    down, across = np.indices((rows, width))
    if rank == 1 and held.shape[:2] == (width, rows) and (row == down.T).all() and (column == across.T).all():
        return lambda tiles: tiles.swapaxes(-1, -2)
    if rank == 2 and held.shape[:3] == (1, rows, width) and (row == down).all() and (column == across).all():
        return lambda tiles: tiles[..., None, :, :]
    return lambda tiles: tiles[..., row, column]


def _tiles(
    run: Run, descriptor: Descriptor, place: list[Array], block: tuple[int, int, int], dtype: np.dtype[Any]
) -> Array | None:
    """The tiles [workgroup, subgroup, row, column] of a matrix that this launch only reads; None where it is not that simple.

    `block` are its rows, the columns of one of its parts, and how many parts lie side by side, which are below each other in
    the tile. They are copied as a whole, from a view of the matrix as overlapping windows; once for all workgroups at the
    same place. Where a tile goes beyond the matrix, the windows are those of a copy with zeros around it.
    """
    rows, each, count = block
    width = each * count
    whole = descriptor.matrix
    if run.active is not None or whole is None:
        return None
    matrix = _matrix(run, *whole, dtype)
    if matrix is None:
        return None
    row, column = (np.asarray(start[:, :, 0]) for start in place)
    if not row.size or not column.size:
        return None
    row, column = (one[:1] if len(one) > 1 and bool((one[1:] == one[:1]).all()) else one for one in (row, column))
    beyond = (
        row.min() < 0
        or column.min() < 0
        or row.max() > matrix.shape[0] - rows
        or column.max() > matrix.shape[1] - width
    )
    if beyond:
        key = ("padded", *whole, rows, width, dtype)
        padded = run.shared.get(key)
        if padded is None:
            if matrix.nbytes > _MOST_PADDED:
                return None
            padded = np.zeros((matrix.shape[0] + 2 * rows, matrix.shape[1] + 2 * width), dtype)
            padded[rows:-rows, width:-width] = matrix
            run.shared[key] = padded
        row = np.clip(row, -rows, matrix.shape[0]) + rows
        column = np.clip(column, -width, matrix.shape[1]) + width
        matrix = padded
    down, across = matrix.strides
    windows = as_strided(
        matrix,
        (matrix.shape[0] - rows + 1, matrix.shape[1] - width + 1, count, rows, each),
        (down, across, across * each, down, across),
        writeable=False,
    )
    tiles = windows[row, column]
    return tiles.reshape(*tiles.shape[:2], count * rows, each)


def _matrix(run: Run, address: int, height: int, width: int, pitch: int, dtype: np.dtype[Any]) -> Array | None:
    """A matrix that this launch only reads, as an array, if all of it is in one buffer."""
    found = run.memory.input_at(address)
    if found is None:
        return None
    whole, offset = found
    size = dtype.itemsize
    last = offset + ((height - 1) * pitch + width) * size
    if last > whole.size or offset % size:
        return None
    elements = whole[offset:last].view(dtype) if not (last - offset) % size else None
    if elements is None:
        return None
    return as_strided(elements, (height, width), (pitch * size, size), writeable=False)


def check_column(target: str, op: Operation, column: Array, bits: int) -> None:
    """Refuse a column at which no block message can begin.

    >>> from xdsl.dialects.test import TestOp
    >>> check_column("pvc", TestOp(), np.full((1, 1, 1), 4), 8)
    """
    limits = target_info(target).surface
    multiple = 1 if limits is None else limits.x_multiple(bits)
    wrong = column[column % multiple != 0]
    if wrong.size:
        fail(op, f"column {int(wrong[0])}: a block of {bits}-bit elements begins at a multiple of {multiple}")


def load_nd(op: block.LoadNdOp, compiling: Compiling) -> Step:
    """`xegpu.load_nd` of a 2-D block."""
    kind = _block_type(op, op.descriptor.type)
    (rows, width), dtype, count = kind.get_shape(), element_of(op, kind), array_length(kind)
    order = None if op.transpose is None else tuple(static_numbers(op.transpose))
    if order not in (None, (1, 0)):
        fail(op, f"transpose = {list(order)}; a block is transposed by [1, 0]")
    size, target, level, packed = dtype.itemsize, compiling.target, compiling.level, op.packed is not None
    if level == "lane":
        held = lane_map(op, kind, op.value.type, compiling.lanes, target)
    else:
        shape = value_shape(op.value.type)
        together = shape[-1] if packed and shape else 1
        if together < 1 or rows % together:
            fail(op, f"{op.value.type} for a block of {kind}: {rows} rows are not packed by {together}")
        held = whole_map(rows, width, count, together, order is not None)
        held = held_as_whole(op, op.value.type, kind, level, held)
    where = _place(op, op.const_offsets)
    in_parts = np.stack((held[..., 0] + held[..., 1] // width * rows, held[..., 1] % width), axis=-1)
    arranged = _arranged(in_parts, rows * count, width)
    name = message_name("read", rows, width, size * 8, count, packed, order is not None)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        descriptor: Descriptor = values[0]
        place = where(values[1:], descriptor)
        if level == "lane":
            check_column(target, op, place[1], size * 8)
        _counted(run, op, "load", name, descriptor, place, (rows, width * count), size)
        tiles = _tiles(run, descriptor, place, (rows, width, count), dtype)
        if tiles is not None:
            return (arranged(tiles),)
        addresses, inside = _addresses(op, descriptor, place, held, size)
        return (run.memory.read(run, op, addresses, inside, dtype, together=True),)

    return step


def store_nd(op: block.StoreNdOp, compiling: Compiling) -> Step:
    """`xegpu.store_nd` of a 2-D block."""
    kind = _block_type(op, op.descriptor.type)
    (rows, width), dtype = kind.get_shape(), element_of(op, kind)
    if array_length(kind) != 1:
        fail(op, "a store moves one block; array_length is for loads")
    size, target, level = dtype.itemsize, compiling.target, compiling.level
    if level == "lane":
        held = lane_map(op, kind, op.value.type, compiling.lanes, target)
    else:
        held = held_as_whole(op, op.value.type, kind, level, whole_map(rows, width, 1, 1, False))
    where = _place(op, op.const_offsets)
    name = message_name("write", rows, width, size * 8)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        value, descriptor = values[0], values[1]
        place = where(values[2:], descriptor)
        if level == "lane":
            check_column(target, op, place[1], size * 8)
        _counted(run, op, "store", name, descriptor, place, (rows, width), size)
        # Every work-item stores, also where the place or the value is the same for all of them: that is a race to see.
        everyone = (*run.machine.items, *held.shape[1:-1])
        addresses, inside = _addresses(op, descriptor, place, held, size)
        run.memory.write(
            run,
            op,
            np.broadcast_to(addresses, everyone),
            np.broadcast_to(inside, everyone),
            np.broadcast_to(value.astype(dtype, copy=False), everyone),
            together=True,
        )
        return ()

    return step


def prefetch_nd(op: block.PrefetchNdOp, compiling: Compiling) -> Step:
    """`xegpu.prefetch_nd`: checked and counted, and nothing moves."""
    kind = _block_type(op, op.descriptor.type)
    (rows, width), size, count = kind.get_shape(), element_of(op, kind).itemsize, array_length(kind)
    if compiling.level == "lane":
        load_map(rows, width, size * 8, count, False, False, compiling.lanes, compiling.target)
    where = _place(op, op.const_offsets)
    name = message_name("prefetch", rows, width, size * 8, count)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        place = where(values[1:], values[0])
        _counted(run, op, "prefetch", name, values[0], place, (rows, width * count), size)
        return ()

    return step
