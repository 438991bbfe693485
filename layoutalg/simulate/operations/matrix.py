"""Matrices in shared local memory: `mem_desc`, its windows, and loads and stores of blocks.

Where an element lies is said by `layoutalg.xegpu.mem_desc`: a table of addresses for the whole matrix. A window keeps the
table of the matrix that it was cut from, and its origin there. What a value's element is in the matrix:

- at subgroup and workgroup level, its place in the tile, from the offsets on;
- at lane level with `subgroup_block_io`, element r of lane l is the r * lanes + l th from the offsets on, in memory;
- at lane level with a layout, its place in the tile that the fragments of all lanes are, from the offsets (the same for all
  lanes) on;
- at lane level otherwise, a vector of two dimensions is a block of the work-item's own, and one of one dimension neighbours
  in memory
  from its own offsets on, as LLVM 22 lowers it.

LLVM 22 takes the third as the fourth, which keeps 23 of the 128 elements of an 8x16 tile; this follows the page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects.xegpu import operations as shared
from layoutalg.ir.dialects.xegpu.attributes import MemDescType
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail, uniform_in_subgroup
from layoutalg.simulate.memory.views import dtype_of, kept_as, memory_space
from layoutalg.xegpu import mem_desc

__all__ = ["Matrix"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A window of a matrix in shared memory: where it begins, the addresses of the whole in elements, and the origin in it.

    >>> matrix = Matrix(np.full((1, 1, 1), 64), np.arange(32).reshape(4, 8), (2, 4))
    >>> matrix.table[1, 2]
    np.int64(10)
    """

    base: Array
    table: Array
    origin: tuple[Any, ...]


def _known(op: Operation, kind: Attribute) -> mem_desc.MemDescType:
    if not isinstance(kind, MemDescType):
        fail(op, f"{kind} is not a mem_desc")
    layout: Any = None if isinstance(kind.mem_layout, NoneAttr) else kind.mem_layout.value
    return mem_desc.MemDescType(kind.get_shape(), str(kind.element_type), layout)


@compiled_by(shared.CreateMemDescOp)
def create_mem_desc(op: shared.CreateMemDescOp, compiling: Compiling) -> Step:
    """`xegpu.create_mem_desc`: shared memory seen as a matrix."""
    source: Attribute = op.source.type
    if not isa(source, MemRefType[Attribute]):
        fail(op, f"{source} is not a memref")
    if memory_space(source) != "shared":
        fail(op, f"{source} is not in shared local memory (address space 3)")
    known = _known(op, op.mem_desc.type)
    table = known.layout().owner_map("addr").astype(np.int64)
    needed = (int(table.max()) + 1) * dtype_of(op.mem_desc.type).itemsize
    given = prod(source.get_shape()) * dtype_of(source.element_type).itemsize
    if needed > given:
        fail(op, f"{known} takes {needed} bytes of {given}")
    origin = (0,) * table.ndim
    return lambda run, values: (Matrix(values[0].base + values[0].offset * values[0].size, table, origin),)


def _element(kind: Attribute) -> Attribute:
    return getattr(kind, "element_type", kind)


def _filled(numbers: DenseArrayBase[Any]) -> Callable[[list[Any]], list[Array]]:
    known = tuple(static_numbers(numbers))

    def filled(values: list[Any]) -> list[Array]:
        given = iter(values)
        return [next(given) if n == DYNAMIC_INDEX else np.full((1, 1, 1), n, np.int64) for n in known]

    return filled


@compiled_by(shared.MemDescSubviewOp)
def mem_desc_subview(op: shared.MemDescSubviewOp, compiling: Compiling) -> Step:
    """`xegpu.mem_desc_subview`: a window; where its rank is lower, the first dimensions are fixed."""
    whole, part = _known(op, op.source.type), _known(op, op.result.type)
    filled = _filled(op.const_offsets)
    dropped = len(whole.shape) - len(part.shape)
    if dropped < 0:
        fail(op, f"{part} has more dimensions than {whole}")
    sizes = (1,) * dropped + part.shape

    def step(run: Run, values: list[Any]) -> tuple[Matrix]:
        matrix: Matrix = values[0]
        offsets = filled(values[1:])
        if len(offsets) != len(sizes):
            fail(op, f"{len(offsets)} offsets for {whole}")
        for start, size, most in zip(offsets, sizes, whole.shape, strict=True):
            wrong = run.where((start < 0) | (start + size > most))
            if wrong.any():
                at = [int(np.broadcast_to(n, wrong.shape)[wrong][0]) for n in offsets]
                run.report(op, "run.out_of_bounds", f"a window of {list(sizes)} at {at} of {whole}")
        moved = tuple(np.asarray(a + b) for a, b in zip(matrix.origin[-len(offsets) :], offsets, strict=True))
        return (replace(matrix, origin=(*matrix.origin[: -len(offsets)], *moved)),)

    return step


def _places(
    op: shared.LoadMatrixOp | shared.StoreMatrixOp, value: Attribute, compiling: Compiling
) -> Callable[[Run, Matrix, list[Any]], tuple[Array, Array]]:
    """A function that gives the address of every element of a value, and which are in the matrix."""
    known = _known(op, op.mem_desc.type)
    size = dtype_of(op.mem_desc.type).itemsize
    if _element(value) != _element(op.mem_desc.type):
        fail(op, f"{value} for {known}")
    filled, shape, rank = _filled(op.const_offsets), value_shape(value), len(known.shape)
    lane = compiling.level == "lane"
    blocks = lane and op.subgroup_block_io is not None
    along: Array | None = None
    steps = np.zeros((1, *shape, rank), np.int64)
    if blocks:
        along = np.arange(prod(shape)).reshape(1, *shape) * compiling.lanes + np.arange(compiling.lanes).reshape(
            -1, *(1,) * len(shape)
        )
    elif lane and op.layout is not None:
        steps = _spread(op, shape, rank, compiling.lanes)
    elif lane and len(shape) == 1 and rank != 1:
        along = np.arange(shape[0]).reshape(1, -1)
    elif len(shape) > rank:
        fail(op, f"{value} for a matrix of {rank} dimensions")
    elif shape:
        steps[..., rank - len(shape) :] = np.moveaxis(np.indices(shape), 0, -1)

    def places(run: Run, matrix: Matrix, values: list[Any]) -> tuple[Array, Array]:
        offsets = filled(values)
        if len(offsets) != rank:
            fail(op, f"{len(offsets)} offsets for {known}")
        if lane and (blocks or op.layout is not None):
            offsets = [uniform_in_subgroup(op, offset, "the place") for offset in offsets]
        found: list[Array] = []
        inside: Any = np.True_
        for dimension, offset in enumerate(offsets):
            wide = offset.reshape(*offset.shape, *(1,) * len(shape))
            coordinate = wide + steps[..., dimension] if along is None else wide
            inside = inside & (coordinate >= 0) & (coordinate < known.shape[dimension])
            found.append(coordinate)
        begin = [np.asarray(n).reshape(*np.shape(n), *(1,) * len(shape)) if np.ndim(n) else n for n in matrix.origin]
        moved = [*begin[:-rank], *(a + b for a, b in zip(begin[-rank:], found, strict=True))]
        held = [np.clip(n, 0, most - 1) for n, most in zip(moved, matrix.table.shape, strict=True)]
        numbers = matrix.table[tuple(np.broadcast_arrays(*held))]
        if along is not None:
            numbers = numbers + along
            inside = inside & (numbers < matrix.table.size)
        inside = np.asarray(inside)
        if not inside.all():
            wrong = run.where(~inside)
            if wrong.any():
                at = [int(np.broadcast_to(n, wrong.shape)[wrong][0]) for n in found]
                run.report(op, "run.out_of_bounds", f"element {at} of {known}")
        base = matrix.base.reshape(*matrix.base.shape, *(1,) * len(shape))
        addresses = np.asarray(base + numbers * size)
        items = np.broadcast_shapes(addresses.shape[:3], (1, 1, compiling.lanes if lane and blocks else 1))
        addresses = np.broadcast_to(addresses, (*items, *shape))
        return addresses, np.broadcast_to(inside, addresses.shape)

    return places


def _spread(op: Any, shape: tuple[int, ...], rank: int, lanes: int) -> Array:
    """The place in the tile of every element of a lane's fragment: [lane, .., dimension]."""
    layout: Any = op.layout.value
    spread = layout.lane_layout if hasattr(layout, "lane_layout") else None
    if spread is None or prod(spread) != lanes or len(spread) != rank:
        fail(op, f"the layout {op.layout} does not spread a tile of {rank} dimensions over {lanes} lanes")
    if len(shape) == rank:
        tile = tuple(n * by for n, by in zip(shape, spread, strict=True))
    else:
        unit = [a * b for a, b in zip(spread, layout.lane_data or (1,) * rank, strict=True)]
        tile = (prod(shape) * lanes // prod(unit[1:]), *unit[1:])
    return layout.layout(tile).fragment_map()[0].reshape(lanes, *shape, rank)


@compiled_by(shared.LoadMatrixOp)
def load_matrix(op: shared.LoadMatrixOp, compiling: Compiling) -> Step:
    """`xegpu.load_matrix`: a block of a matrix in shared memory."""
    places, dtype = _places(op, op.value.type, compiling), dtype_of(op.value.type)
    together = op.subgroup_block_io is not None

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        addresses, inside = places(run, values[0], values[1:])
        return (run.memory.read(run, op, addresses, inside, dtype, together=together),)

    return step


@compiled_by(shared.StoreMatrixOp)
def store_matrix(op: shared.StoreMatrixOp, compiling: Compiling) -> Step:
    """`xegpu.store_matrix`: a block of a matrix in shared memory."""
    places, dtype = _places(op, op.value.type, compiling), dtype_of(op.value.type)
    together = op.subgroup_block_io is not None

    def step(run: Run, values: list[Any]) -> tuple[()]:
        addresses, inside = places(run, values[1], values[2:])
        run.memory.write(run, op, addresses, inside, kept_as(values[0], dtype), together=together)
        return ()

    return step
