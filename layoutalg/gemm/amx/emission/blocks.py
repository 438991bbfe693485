"""A cache block of C with all of k: the functions with tiles are called for every pair of strips, then the epilogue.

Blocks are counted by `i` and `j`, and independent of one another. A strip of C that the block doesn't have is an empty range.
Where the number of rows is an argument, tiles compute all 16 rows of the last one, and the epilogue stores those that C has.

>>> from layoutalg.gemm.amx import plan_amx
>>> text = block_function(plan_amx(100, 32, 64, blocking=(2, 2), blocks=(64, 32, 64), pack_a=False))
>>> [line.split("(")[0].strip() for line in text.splitlines() if "call" in line]
['func.call @gemm_tiles_32x32', 'func.call @gemm_tiles_4x32']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.amx.emission.finishing import FINISH, finish_arguments
from layoutalg.gemm.amx.emission.tiles import Phase, phases, tile_name
from layoutalg.gemm.amx.emission.writer import ROWS, AmxFunction, call, kinds, rows_argument
from layoutalg.gemm.amx.strips import Strip
from layoutalg.gemm.amx.tiling import TILE

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["BLOCK", "block_arguments", "block_function"]

Ranges = list[tuple[Strip, tuple[Value, Value]]]
"""Strips, each with the place where it begins and the one behind its end."""

BLOCK = "gemm_block"
"""The name of the function."""


def block_arguments(plan: AmxGemm) -> list[str]:
    """What the function takes in memory, by the names of `kinds`."""
    left_out = {"b", "a" if plan.tiling.pack_a else "packed_a"}
    return [name for name in kinds(plan) if name not in left_out]


def block_function(plan: AmxGemm) -> str:
    """The text of the function."""
    problem, tiling = plan.problem, plan.tiling
    names = block_arguments(plan)
    function = AmxFunction(
        plan, BLOCK, {name: name for name in names} | {"i": "index", "j": "index"} | rows_argument(plan)
    )
    given = function.arguments
    rows = given.get(ROWS) or function.constant(problem.m)
    sides = (("row", "i", rows, tiling.m_block), ("col", "j", function.constant(problem.n), tiling.n_block))
    corner: dict[str, tuple[Value, Value]] = {}
    for name, counted, size, block in sides:
        first = function.named(name, function.times(given[counted], block))
        corner[name] = (first, function.named(f"{name}_end", function.op("minui", function.plus(first, block), size)))
    inside = _inside_any if problem.dynamic_m else _inside
    of_rows, of_columns = (
        inside(function, plan.strips[0], *corner["row"]),
        _inside(function, plan.strips[1], *corner["col"]),
    )
    for phase in phases(plan):
        _phase(function, phase, of_rows, of_columns, corner["row"][0], corner["col"][0])
    if not problem.direct:
        call(function, FINISH, [*(given[name] for name in finish_arguments(plan)), *corner["row"], *corner["col"]])
    return function.text()


def _inside(function: AmxFunction, strips: Sequence[Strip], first: Value, end: Value) -> Ranges:
    """The part of each strip that is in the block."""
    found: Ranges = []
    for strip in strips:
        begin = function.op("maxui", first, function.constant(strip.first)) if strip.first else first
        found.append((strip, (begin, function.op("minui", end, function.constant(strip.end)))))
    return found


def _inside_any(function: AmxFunction, strips: Sequence[Strip], first: Value, end: Value) -> Ranges:
    """The strips of `any_rows` in the block: its whole blocks, and behind them the one that is as high as the rest."""
    tiles = function.over(function.plus(end, TILE - 1), TILE)
    high = TILE * function.plan.tiling.blocking.rows
    padded = function.named("padded", function.times(tiles, TILE))
    whole = function.named("whole", function.times(function.over(padded, high), high))
    rest = function.named("rest", function.op("subi", padded, whole))
    found: Ranges = []
    for strip in strips:
        if strip.size == high:
            found.append((strip, (first, whole)))
            continue
        form = "arith.cmpi eq, %s, %s : index"
        fits = function.writer.value(form, (rest, function.constant(strip.size)), "i1")
        last = function.writer.value("arith.select %s, %s, %s : index", (fits, padded, whole), "index")
        found.append((strip, (whole, last)))
    return found


def _phase(
    function: AmxFunction,
    phase: Phase,
    rows: Ranges,
    columns: Ranges,
    row: Value,
    col: Value,
) -> None:
    """Every pair of strips, for a part of k; a part that is longer than its step is a loop."""
    plan, given = function.plan, function.arguments
    buffers = (given["packed_a" if plan.tiling.pack_a else "a"], given["packed_b"])
    out = given["c" if plan.problem.direct else "scratch"]

    def calls(k0: Value, k1: Value) -> None:
        for strip, of_rows in rows:
            for other, of_columns in columns:
                name = tile_name(strip, other, phase)
                call(function, name, (*buffers, out, *of_rows, *of_columns, k0, k1, row, col))

    last = function.constant(phase.last)
    if phase.last - phase.first <= phase.step:
        calls(function.constant(phase.first), last)
        return
    with function.each("k0", function.constant(phase.first), last, phase.step) as k0:
        calls(k0, function.named("k1", function.op("minui", function.plus(k0, phase.step), last)))
