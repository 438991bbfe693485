"""The function behind the sums: what the epilogue makes of a cache block in the scratch is stored in C.

Vectors of 16 columns of a row are computed as `layoutalg.gemm.emission.arithmetic` says, the last ones of a row with as many
as are left.

>>> from layoutalg.gemm.amx import plan_amx
>>> text = finish_function(plan_amx(64, 20, 64, c="bf16", bias="column"))
>>> [text.count(name) for name in ("scf.parallel", "vector<16xbf16>, vector<16xbf16>", "vector<4xbf16>")]
[2, 0, 4]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.amx.emission.exponential import exponential
from layoutalg.gemm.amx.emission.writer import AmxFunction, kinds
from layoutalg.gemm.amx.tiling import TILE
from layoutalg.gemm.emission.arithmetic import arithmetic, as_computed
from layoutalg.gemm.emission.elementwise import binary
from layoutalg.gemm.product import mlir_type

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["FINISH", "finish_arguments", "finish_function"]

FINISH = "gemm_finish"
"""The name of the function."""


def finish_arguments(plan: AmxGemm) -> list[str]:
    """What the function takes in memory, by the names of `kinds`."""
    taken = ("c", "scratch", *(name for name, _, _ in plan.problem.vectors))
    return [name for name in kinds(plan) if name in taken]


def finish_function(plan: AmxGemm) -> str:
    """The text of the function for rows `row` to before `row_end`, columns `col` to before `col_end` of C."""
    places = dict.fromkeys(("row", "row_end", "col", "col_end"), "index")
    function = AmxFunction(plan, FINISH, {name: name for name in finish_arguments(plan)} | places, private=True)
    given = function.arguments
    full, rest = divmod(plan.problem.n, TILE)
    whole = function.constant(full * TILE) if full and rest else None
    ranges: list[tuple[Value, Value, int]] = []
    if full:
        end = given["col_end"] if whole is None else function.op("minui", given["col_end"], whole)
        ranges.append((given["col"], end, TILE))
    if rest:
        first = given["col"] if whole is None else function.op("maxui", given["col"], whole)
        ranges.append((first, given["col_end"], rest))
    for first, end, width in ranges:
        with function.every(("i", "j"), (given["row"], first), (given["row_end"], end), (1, TILE)) as (i, j):
            _finished(function, i, j, width)
    return function.text()


def _finished(function: AmxFunction, i: Value, j: Value, width: int) -> None:
    """Some columns of a row."""
    problem, given = function.plan.problem, function.arguments
    place = (function.op("subi", i, given["row"]), function.op("subi", j, given["col"]))
    total = _loaded(function, given["scratch"], place, function.plan.accumulator, width, "total")
    element = mlir_type(problem.c)
    before = _loaded(function, given["c"], (i, j), element, width, "before") if problem.beta else None
    found: dict[str, Value] = {}
    for name, over, kind in problem.vectors:
        stored = mlir_type(kind)
        if over == "column":
            value = _loaded(function, given[name], (j,), stored, width, name)
            found[name] = as_computed(function, problem, value)
        else:
            form = f"memref.load %s[%s] : {given[name].kind}"
            number = as_computed(function, problem, function.writer.value(form, (given[name], i), stored))
            form = f"vector.broadcast %s : {number.kind} to vector<{width}x{number.element}>"
            found[name] = function.writer.value(form, (number,), number.element, width)
    scales = [found[name] for name, _, _ in problem.vectors if name != "bias"]
    if len(scales) > 1:  # the rows' scale is a product of its own, the columns' follows
        total = binary(function, "mulf", as_computed(function, problem, total), scales[0])
    scale = scales[-1] if scales else None
    result = arithmetic(function, problem, total, found.get("bias"), before, scale=scale, exp=exponential)
    form = f"vector.store %s, %s[%s, %s] : {given['c'].kind}, {result.kind}"
    function.writer.do(form, (result, given["c"], i, j))


def _loaded(
    function: AmxFunction, source: Value, place: tuple[Value, ...], element: str, width: int, name: str
) -> Value:
    made = Value(element, width, name)
    form = f"vector.load %s[{', '.join(['%s'] * len(place))}] : {source.kind}, {made.kind}"
    function.writer.values(form, (source, *place), (made,))
    return made
