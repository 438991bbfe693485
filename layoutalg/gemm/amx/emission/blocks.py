"""A cache block of C with all of k: the functions with tiles are called for every pair of strips, then the epilogue.

Blocks are counted by `i` and `j`, and independent of one another. A strip of C that the block doesn't have is an empty range.

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
from layoutalg.gemm.amx.emission.writer import AmxFunction, call, kinds
from layoutalg.gemm.amx.strips import Strip

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["BLOCK", "block_arguments", "block_function"]

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
    function = AmxFunction(plan, BLOCK, {name: name for name in names} | {"i": "index", "j": "index"})
    given = function.arguments
    sides = (("row", "i", problem.m, tiling.m_block), ("col", "j", problem.n, tiling.n_block))
    corner: dict[str, tuple[Value, Value]] = {}
    for name, counted, size, block in sides:
        first = function.named(name, function.times(given[counted], block))
        end = function.named(f"{name}_end", function.op("minui", function.plus(first, block), function.constant(size)))
        corner[name] = (first, end)
    ranges = [
        [(strip, _inside(function, strip, *corner[name])) for strip in strips]
        for strips, (name, *_) in zip(plan.strips, sides, strict=True)
    ]
    for phase in phases(plan):
        _phase(function, phase, ranges[0], ranges[1], corner["row"][0], corner["col"][0])
    if not problem.direct:
        call(function, FINISH, [*(given[name] for name in finish_arguments(plan)), *corner["row"], *corner["col"]])
    return function.text()


def _inside(function: AmxFunction, strip: Strip, first: Value, end: Value) -> tuple[Value, Value]:
    """The part of a strip that is in the block."""
    if strip.first:
        first = function.op("maxui", first, function.constant(strip.first))
    return first, function.op("minui", end, function.constant(strip.end))


def _phase(
    function: AmxFunction,
    phase: Phase,
    rows: Sequence[tuple[Strip, tuple[Value, Value]]],
    columns: Sequence[tuple[Strip, tuple[Value, Value]]],
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
