"""The module: functions with tiles, the epilogue, the packing, a cache block, and the whole product.

`@gemm` allocates what it needs, packs, and computes the cache blocks one after the other. Others can share them out: blocks
write to different parts of C, and each of the other functions takes a range of panels.

>>> from layoutalg.gemm.amx import plan_amx
>>> text = emit_module(plan_amx(64, 64, 64, c="bf16", blocking=(2, 2)), prepacked_b=False, part="whole")
>>> [line.split("(")[0].split("@")[1] for line in text.splitlines() if "func.func" in line]
['gemm_tiles_32x32', 'gemm_finish', 'gemm_pack_b', 'gemm_block', 'gemm']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.llvm_versions import rules
from layoutalg.gemm.amx.emission.blocks import BLOCK, block_arguments, block_function
from layoutalg.gemm.amx.emission.finishing import finish_function
from layoutalg.gemm.amx.emission.packing import PACK_A, PACK_B, pack_a_function, pack_b_function
from layoutalg.gemm.amx.emission.tiles import tile_functions
from layoutalg.gemm.amx.emission.writer import ROWS, AmxFunction, call, kinds, rows_argument
from layoutalg.gemm.amx.tiling import TILE

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["WHOLE", "emit_module", "whole_arguments"]

WHOLE = "gemm"
"""The name of the function that computes everything."""


def emit_module(plan: AmxGemm, *, prepacked_b: bool, part: str) -> str:
    """The module of a plan as MLIR text.

    With `prepacked_b`, `@gemm` takes B as `@gemm_pack_b` leaves it, so that it can be packed once for many products. The part
    "parts" is everything but `@gemm`.
    """
    functions = list(tile_functions(plan).values())
    if not plan.problem.direct:
        functions.append(finish_function(plan))
    if plan.tiling.pack_a:
        functions.append(pack_a_function(plan))
    functions += [pack_b_function(plan), block_function(plan)]
    if part == "whole":
        functions.append(_whole(plan, prepacked_b))
    body = "\n".join(functions)
    return "builtin.module {\n" + "\n".join(f"  {line}" for line in body.splitlines()) + "\n}\n"


def whole_arguments(plan: AmxGemm, *, prepacked_b: bool = False) -> list[str]:
    """What `@gemm` takes, in order."""
    left_out = {"packed_a", "scratch", "b" if prepacked_b else "packed_b"}
    return [name for name in kinds(plan) if name not in left_out]


def _whole(plan: AmxGemm, prepacked_b: bool) -> str:
    types = kinds(plan)
    arguments = {("b" if name == "packed_b" else name): name for name in whole_arguments(plan, prepacked_b=prepacked_b)}
    function = AmxFunction(plan, WHOLE, arguments | rows_argument(plan))
    given = dict(function.arguments)
    rows = given.get(ROWS)
    if prepacked_b:
        given["packed_b"] = given["b"]
    zero = function.constant(0)
    aligned = "alignment = 64" if rules(plan.llvm).strict_properties else "{alignment = 64 : i64}"
    made: list[Value] = []
    for name in ("packed_a", "packed_b", "scratch"):
        if name in types and name not in given:
            given[name] = Value(types[name], name=name)
            function.writer.values(f"memref.alloc() {aligned} : {types[name]}", (), (given[name],))
            made.append(given[name])
    more = () if rows is None else (rows,)
    if plan.packed_a_shape is not None:
        panels = function.constant(plan.packed_a_shape[0]) if rows is None else _blocks(function, rows, TILE)
        call(function, PACK_A, (given["a"], given["packed_a"], zero, panels, *more))
    if not prepacked_b:
        call(function, PACK_B, (given["b"], given["packed_b"], zero, function.constant(plan.packed_b_shape[0])))
    down, across = plan.cache_blocks
    blocks_down = function.constant(down) if rows is None else _blocks(function, rows, plan.tiling.m_block)
    sides = [("i", blocks_down), ("j", function.constant(across))]
    (outer, outer_count), (inner, inner_count) = sides if plan.tiling.order == "rows" else sides[::-1]
    with (
        function.each(outer, zero, outer_count, 1) as first,
        function.each(inner, zero, inner_count, 1) as second,
    ):
        place = {outer: first, inner: second}
        call(function, BLOCK, (*(given[name] for name in block_arguments(plan)), place["i"], place["j"], *more))
    for buffer in made:
        function.writer.do(f"memref.dealloc %s : {buffer.kind}", (buffer,))
    return function.text()


def _blocks(function: AmxFunction, rows: Value, size: int) -> Value:
    """How many blocks of so many rows there are, the last one included."""
    return function.over(function.plus(rows, size - 1), size)
