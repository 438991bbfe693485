"""A planned product as a row of a table: plain numbers and texts, for pandas, JSON and comparisons.

>>> row = row_of({"m": 4096, "n": 4096, "k": 4096, "target": "bmg"})
>>> row["tile"], row["subgroups"], row["prefetch"], row["limit"], row["error"]
('32x64x64', '8x4', 'shared', 'issue', '')

A product that cannot be planned has a row too: `error` says why, and what would be planned is None.

>>> row_of({"m": 64, "n": 64, "k": 50, "lda": 40})["error"][51:]
'row has 50 elements, so the leading dimension is 50 at least'
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, cast

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import number_text, shown
from layoutalg.core.whole_numbers import found_whole, listed
from layoutalg.gemm.amx.plan import AmxGemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.options import TilingOptions
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.planning import plan_gemm
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.roofline import roofline

__all__ = ["ARGUMENTS", "COLUMNS", "Arguments", "Row", "arguments_of", "key_of", "lost_row", "row_of"]

Row: TypeAlias = dict[str, float | int | str | bool | None]
"""A row: every column, in the order of `COLUMNS`."""
Arguments: TypeAlias = dict[str, Any]
"""Arguments of `plan_gemm` by name, as JSON has them."""

_OF_PROBLEM = tuple(field.name for field in fields(Problem) if field.name != "halves")
_SAID_BY_EPILOGUE = ("alpha", "beta", "bias", "scale", "activation", "gated")
"""The fields of a problem that follow from its expression."""
ARGUMENTS = (*_OF_PROBLEM, *TilingOptions.__annotations__)
"""What a problem of a sweep can say: sizes, types, storage, and what is chosen already."""
_OF_PLAN = (
    "tile",
    "subgroups",
    "registers",
    "prefetch",
    "distance",
    "split_k",
    "reduction",
    "stream_k",
    "transpose",
    "workgroups",
    "waves",
    "dpas",
    "instructions_per_dpas",
    "l1_bytes",
    "l3_bytes",
    "memory_bytes",
    "intensity",
    "limit",
    "microseconds",
    "tflops",
    "part_of_peak",
)
COLUMNS = (*_OF_PROBLEM, *_OF_PLAN, "error")
"""The columns of a row: the problem, its plan, and why there is no plan."""


def arguments_of(given: object) -> Arguments:
    """A problem of a sweep as arguments of `plan_gemm`: a `Problem`, sizes (m, n, k), or a mapping of arguments.

    Raises `PlanError`: for anything else, and for a mapping with other names.

    >>> arguments_of((64, 128, 32))
    {'m': 64, 'n': 128, 'k': 32}
    >>> arguments_of({"m": 64, "n": 64, "k": 64, "colour": "red"})
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: problem with 'colour': expected m, n, k, a, b, c, acc, target, lda, ldb, ldc, trans_a,
    trans_b, batch, alpha, beta, bias, scale, activation, epilogue, gated, groups, tile, subgroups, k_step, registers, prefetch,
    distance, split_k, reduction, stream_k, transpose
    """
    if isinstance(given, Problem):
        said = _SAID_BY_EPILOGUE if given.epilogue is not None else ("gated",)
        left_out = (*said, *["groups"] * (given.groups == 0))
        return {name: getattr(given, name) for name in _OF_PROBLEM if name not in left_out}
    if isinstance(given, Mapping):
        named = cast("Mapping[object, object]", given)
        for name in named:
            if name not in ARGUMENTS:
                raise PlanError(f"problem with {shown(name)}: expected {', '.join(ARGUMENTS)}")
        return {str(name): _plain(value) for name, value in named.items()}
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        sizes = listed(cast("object", given), "problem", 2**16, PlanError)
        if len(sizes) == 3:
            return dict(zip(("m", "n", "k"), map(_plain, sizes), strict=True))
    what = shown(cast("object", given))
    raise PlanError(f"problem {what}: expected three sizes (m, n, k), a Problem, or a mapping of arguments")


def _plain(value: object, deep: int = 2) -> object:
    """A value as JSON has it: numpy's whole numbers as int, tuples as lists."""
    whole = found_whole(value)
    if whole is not None:
        return whole if abs(whole) < 2**63 else number_text(whole)
    if isinstance(value, (tuple, list)) and deep:
        some = cast("Sequence[object]", value)[
            :16
        ]  # nothing has more than two: what is longer is refused when it's planned
        return [_plain(one, deep - 1) for one in some]
    return value if isinstance(value, (str, float, bool, type(None))) else shown(cast("object", value))


def key_of(arguments: Arguments, llvm: int) -> str:
    """What tells problems of a sweep apart, as a text."""
    return json.dumps({**arguments, "llvm": llvm}, sort_keys=True)


def row_of(arguments: Arguments, llvm: int = DEFAULT_LLVM) -> Row:
    """Plan one product; what cannot be planned is said in the row."""
    try:
        missing = [name for name in ("m", "n", "k") if name not in arguments]
        if missing:
            raise PlanError(f"no {', '.join(missing)}: a problem has m, n and k")
        plan = cast("Gemm | AmxGemm", plan_gemm(**arguments, llvm=llvm))
        if isinstance(plan, AmxGemm):
            raise PlanError(
                f"target {plan.problem.target}: a sweep plans for GPUs; plan_amx plans one product for a CPU"
            )
        step = counted(plan.problem, plan.tiling, llvm)
        line = roofline(plan.problem, plan.tiling, step.total)
    except LayoutError as error:
        return _unplanned(arguments, str(error))
    tiling = plan.tiling
    row: Row = {name: getattr(plan.problem, name) for name in _OF_PROBLEM}
    return row | {
        "tile": str(tiling.tile),
        "subgroups": f"{tiling.subgroups[0]}x{tiling.subgroups[1]}",
        "registers": tiling.registers,
        "prefetch": tiling.prefetch,
        "distance": tiling.distance,
        "split_k": tiling.split_k,
        "reduction": tiling.reduction if tiling.split_k > 1 or tiling.stream_k else "none",
        "stream_k": tiling.stream_k,
        "transpose": tiling.transpose,
        "workgroups": line.workgroups,
        "waves": line.waves,
        "dpas": plan.dpas_total,
        "instructions_per_dpas": step.per_dpas,
        "l1_bytes": line.l1_bytes,
        "l3_bytes": line.l3_bytes,
        "memory_bytes": line.memory_bytes,
        "intensity": line.intensity,
        "limit": line.limit,
        "microseconds": line.seconds * 1e6,
        "tflops": line.flops / line.seconds / 1e12,
        "part_of_peak": line.part_of_peak,
        "error": "",
    }


def lost_row(arguments: Arguments, why: object) -> Row:
    """The row of a problem that no worker planned."""
    return _unplanned(arguments, f"not planned: {why}")


def _unplanned(arguments: Arguments, why: str) -> Row:
    row: Row = dict.fromkeys(COLUMNS)
    for name in _OF_PROBLEM:
        value = arguments.get(name)
        row[name] = value if isinstance(value, (int, float, str, bool, type(None))) else shown(value)
    row["error"] = why
    return row
