"""Tiles of Intel's matrix extension on the host: loaded, stored, zeroed and multiplied, in both of LLVM's spellings.

A tile is its rows and columns of elements, [workgroup, subgroup, lane, row, column]. Row r of a tile in memory begins `stride`
elements behind row r - 1; without a stride, where the memref has its next row. Sizes that no register holds and memrefs that
LLVM refuses are refused in LLVM's words. A product is `TileProduct.execute`: what the manual says of the bytes of three
registers.

On the CPU a tile that is stored with overlapping rows leaves the later row's elements; here the rows are stored one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from layoutalg.amx import TileProduct, TileType
from layoutalg.core.errors import VerificationError
from layoutalg.ir.dialects import amx
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.memory.views import View, dtype_of, static_view
from layoutalg.simulate.operations.memref import check_window, memref_type

__all__: list[str] = []

_BOTH = ("amx", "x86.amx")
_Places = Callable[[Run, View, Sequence[Array]], tuple[Array, Array | None]]


def _tile(op: Any, kind: Attribute) -> TileType:
    """The tile that a type is, if a register holds it."""
    if not isinstance(kind, amx.TileType | amx.X86TileType):
        fail(op, f"{kind} is not a tile")
    if op.name.startswith("x86.") != isinstance(kind, amx.X86TileType):
        fail(op, f"{kind} is a tile of the other dialect: LLVM 22 calls both amx, LLVM 23 and 24 call both x86.amx")
    shape = kind.get_shape()
    if min(shape, default=1) < 0:
        fail(op, f"{kind}: the rows and columns of a tile are numbers")
    if len(shape) != 2:
        fail(op, f"{kind}: a tile has two sizes, rows and columns")
    tile = TileType(*shape, str(kind.element_type))
    problem = tile.check()
    if problem is not None:
        fail(op, problem)
    return tile


@compiled_by(*(f"{dialect}.tile_zero" for dialect in _BOTH), host=True)
def tile_zero(op: Any, compiling: Compiling) -> Step:
    """`amx.tile_zero`: every byte is zero."""
    tile = _tile(op, op.res.type)
    made = np.zeros((1, 1, 1, *tile.shape), dtype_of(op.res.type))
    made.flags.writeable = False
    return lambda run, values: (made,)


def _rows(op: Any, tile: TileType, element: Attribute) -> _Places:
    """A function from a memref and the values of indices (and of a stride) to the address of every element of the tile."""
    kind = memref_type(op, op.base.type)
    _, strides, _ = static_view(kind)
    rank = len(strides)
    given = op.stride is not None
    if rank < 2 and not given:
        fail(op, "requires at least 2D memref")
    if rank < 1:
        fail(op, "a memref of no dimension has no rows")
    if strides[-1] != 1:
        fail(op, "requires memref with unit innermost stride")
    if len(op.indices) != rank:
        fail(op, f"requires {rank} indices")
    if kind.element_type != element:
        fail(op, f"a tile of {element} in a memref of {kind.element_type} is not simulated")
    row, column = np.arange(tile.rows)[:, None], np.arange(tile.cols)

    def by_memref(run: Run, view: View, values: Sequence[Array]) -> tuple[Array, Array | None]:
        spread, wide = view.spread(2), [index[..., None, None] for index in values]
        wide[-2:] = wide[-2] + row, wide[-1] + column
        addresses, inside = spread.elements(wide)
        return addresses, check_window(run, op, np.broadcast_to(inside, addresses.shape), spread, wide)

    def by_stride(run: Run, view: View, values: Sequence[Array]) -> tuple[Array, Array | None]:
        *wide, stride = (value[..., None, None] for value in values)
        spread = view.spread(2)
        behind = stride * row + column
        # With several dimensions the rows go where the stride says, which need not be in the last dimension.
        last = sum((size - 1) * step for size, step in zip(spread.sizes, spread.strides, strict=True))
        flat = View(spread.base, spread.offset, (last + 1,), (1,), spread.size)
        at = [sum(index * step for index, step in zip(wide, spread.strides, strict=True)) + behind]
        addresses, inside = flat.elements(at)
        return addresses, check_window(run, op, np.broadcast_to(inside, addresses.shape), flat, at)

    return by_stride if given else by_memref


@compiled_by(*(f"{dialect}.tile_load" for dialect in _BOTH), host=True)
def tile_load(op: Any, compiling: Compiling) -> Step:
    """`amx.tile_load`: the rows of a tile, from memory."""
    tile, element, dtype = _tile(op, op.res.type), getattr(op.res.type, "element_type", None), dtype_of(op.res.type)
    assert isinstance(element, Attribute)
    rows = _rows(op, tile, element)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        addresses, inside = rows(run, values[0], values[1:])
        return (run.memory.read(run, op, addresses, inside, dtype),)

    return step


@compiled_by(*(f"{dialect}.tile_store" for dialect in _BOTH), host=True)
def tile_store(op: Any, compiling: Compiling) -> Step:
    """`amx.tile_store`: the rows of a tile, to memory, one after the other where they overlap."""
    tile, element = _tile(op, op.val.type), getattr(op.val.type, "element_type", None)
    assert isinstance(element, Attribute)
    rows, count = _rows(op, tile, element), len(op.indices)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        value: Array = values[1 + count]
        addresses, inside = rows(run, values[0], [*values[1 : 1 + count], *values[2 + count :]])
        apart = np.abs(np.diff(addresses[..., 0], axis=-1))
        if apart.size and int(apart.min()) < tile.row_bytes:
            for row in range(tile.rows):
                here = slice(row, row + 1)
                mask = None if inside is None else inside[..., here, :]
                run.memory.write(run, op, addresses[..., here, :], mask, value[..., here, :])
        else:
            run.memory.write(run, op, addresses, inside, value)
        return ()

    return step


def _product(op: Any, compiling: Compiling, lhs_zext: bool = False, rhs_zext: bool = False) -> Step:
    tiles = [_tile(op, operand.type) for operand in op.operands]
    try:
        product = TileProduct.of(tiles[0], tiles[1], tiles[2], lhs_zext, rhs_zext)
    except VerificationError as problem:
        fail(op, str(problem))
    if product.op.removeprefix("amx.") != op.name.rpartition(".")[2]:
        fail(op, f"{op.name} does not multiply {tiles[0]}")
    compiling.costs(op, product.m * product.n * product.k)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        return (product.execute(values[0], values[1], values[2]),)

    return step


@compiled_by(*(f"{dialect}.tile_mulf" for dialect in _BOTH), host=True)
def tile_mulf(op: Any, compiling: Compiling) -> Step:
    """`amx.tile_mulf`: bf16 or f16 onto f32."""
    return _product(op, compiling)


@compiled_by(*(f"{dialect}.tile_muli" for dialect in _BOTH), host=True)
def tile_muli(op: Any, compiling: Compiling) -> Step:
    """`amx.tile_muli`: i8 onto i32; `zext` reads an operand's bytes without sign."""
    return _product(op, compiling, op.is_zext_lhs is not None, op.is_zext_rhs is not None)
