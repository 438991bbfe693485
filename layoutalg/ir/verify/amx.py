"""LLVM's rules of AMX: sizes of tiles, and which products there are. LLVM 22 says `amx`, 23 and 24 say `x86.amx`.

A tile has at most 16 rows of at most 64 bytes, in whole words of 32 bits. In a product, a row of A has as many words as B rows:

    %d = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<8x32xbf16>, !amx.tile<16x16xf32>

is refused with "bad mult shape: 16 x 16 x 16": A is 16 words deep, B has 8 rows.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr

from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, rank_of, shape_of, width_of
from layoutalg.ir.verify.signatures import Subject

__all__: list[str] = []

_ROWS, _BYTES, _WORD = 16, 64, 4
_NAMES = ("amx", "x86.amx")


def _both(*names: str) -> tuple[str, ...]:
    return tuple(f"{dialect}.{name}" for dialect in _NAMES for name in names)


def _size_problem(tile: Any) -> str | None:
    rows, columns = tile.get_shape()
    width = columns * (width_of(tile.element_type) // 8)
    if rows > _ROWS:
        return f"bad row height: {rows}"
    return f"bad column width: {width}" if width > _BYTES or width % _WORD else None


@rule("amx.tile.size", *_both("tile_zero", "tile_load", "tile_store", "tile_mulf", "tile_muli"))
def _sizes(subject: Subject) -> str | None:
    for name in ("lhs", "rhs", "acc", "val", "res"):
        tile = subject.type(name)
        problem = None if tile is None else _size_problem(tile)
        if problem is not None:
            return problem
    return None


@rule("amx.tile.memory", *_both("tile_load", "tile_store"))
def _memory(subject: Subject) -> str | None:
    rank, count = rank_of(subject.type("base")), len(subject.values("indices"))
    return None if rank == count else f"requires {rank} indices"


@rule("amx.tile.rows", *_both("tile_load", "tile_store"))
def _rows(subject: Subject) -> str | None:
    if subject.values("stride"):
        return None  # how far rows are apart is said: the memref only has to begin somewhere
    memory = subject.type("base")
    if rank_of(memory) < 2:
        return "requires at least 2D memref"
    return None if _last_stride(memory) == 1 else "requires memref with unit innermost stride"


def _last_stride(memory: Any) -> int | None:
    """How many elements apart the neighbours of a row are; None where the memref does not say, or they are not evenly apart."""
    layout = memory.layout
    if not isinstance(layout, AffineMapAttr):
        strides = memory.get_strides()
        return None if strides is None else strides[-1]
    if len(layout.data.results) != 1 or not layout.data.results[0].is_pure_affine():
        return None
    if re.search("floordiv|ceildiv|mod", str(layout)):
        return None
    places = [[0] * layout.data.num_dims, [*[0] * (layout.data.num_dims - 1), 1]]
    first, second = (layout.data.results[0].eval(place, [0] * layout.data.num_symbols) for place in places)
    return second - first


@rule("amx.product.shape", *_both("tile_mulf", "tile_muli"))
def _shape(subject: Subject) -> str | None:
    a, b, c = (shape_of(subject.type(name)) for name in ("lhs", "rhs", "acc"))
    words = [32 // width_of(element_of(subject.type(name))) for name in ("lhs", "rhs")]
    depth, columns = a[1] // words[0], b[1] // words[1]
    if c == (a[0], columns) and depth == b[0]:
        return None
    return f"bad mult shape: {c[0]} x {c[1]} x {depth}"


@rule("amx.product.types", *_both("tile_mulf"))
def _types(subject: Subject) -> str | None:
    a, b = (str(element_of(subject.type(name))) for name in ("lhs", "rhs"))
    return None if a == b or (a.startswith("f8") and b.startswith("f8")) else "unsupported type combination"
