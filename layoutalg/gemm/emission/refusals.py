"""What LLVM's own passes cannot lower from a workgroup's or subgroup's kernel, in LLVM's words, and what can instead.

The table was measured: mlir-opt of each version was given the kernels, and the tests give them again. A kernel that the version
asked for would refuse is not written; the message says which level and which version can.

>>> from layoutalg.gemm import plan_gemm
>>> check_level(plan_gemm(64, 64, 64), "workgroup")
>>> check_level(plan_gemm(64, 64, 64, "s8"), "workgroup")
Traceback (most recent call last):
layoutalg.core.errors.PlanError: level 'workgroup' with operands of s8: LLVM 24 says "failed to legalize operation \
'xegpu.dpas' that was explicitly marked illegal"; LLVM 22 lowers it, and level 'lane' has it for every version
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.gemm.layouts import layouts_of_c
from layoutalg.gemm.problem import Problem

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["REFUSALS", "Refusal", "check_level", "check_plain"]

DPAS = "failed to legalize operation 'xegpu.dpas' that was explicitly marked illegal"
LOAD = "failed to legalize operation 'xegpu.load' that was explicitly marked illegal"


@dataclass(frozen=True)
class Refusal:
    """Kernels that some versions refuse: what they have, which they are, and each version's words at the two levels."""

    feature: str
    concerns: Callable[[Problem], bool]
    words: dict[int, tuple[str, str]]
    """By version: at workgroup level, at subgroup level."""


def _both(words: str) -> tuple[str, str]:
    return words, words


SIGNED = "(nothing: xegpu.dpas takes i8 for signed, and the result is wrong)"
REFUSALS = (
    Refusal(
        "operands of u8",
        lambda problem: "u8" in (problem.a, problem.b),
        {22: _both(SIGNED), 23: _both(SIGNED), 24: _both(SIGNED)},
    ),
    Refusal(
        "operands of s8",
        lambda problem: problem.a == problem.b == "s8",
        {23: _both("TensorDesc shape is not distributable with the layout"), 24: _both(DPAS)},
    ),
    Refusal(
        "operands of tf32",
        lambda problem: problem.a == "tf32",
        {
            22: _both("'xevm.blockload2d' op result size of 2048 bits does not match the expected size of 128 bits"),
            23: ("Failed to identify lane layouts for the specified inst_data.", DPAS),
            24: ("Failed to identify lane layouts for the specified inst_data.", DPAS),
        },
    ),
    Refusal(
        "accumulators of 16 bits",
        lambda problem: problem.acc in ("f16", "bf16"),
        {22: _both("Failed to update operation with the layout.")},
    ),
    Refusal(
        "transposed matrices",
        lambda problem: problem.trans_a or problem.trans_b,
        {
            22: (
                "failed to legalize operation 'vector.transpose' that was explicitly marked illegal",
                "'xevm.blockload2d' op transpose is only supported for 32 and 64 bit elements",
            )
        },
    ),
    Refusal("a bias by column", lambda problem: problem.bias == "column", {22: _both(LOAD)}),
    Refusal(
        "a bias by row",
        lambda problem: problem.bias == "row",
        {
            22: (
                "failed to legalize unresolved materialization",
                "'vector.insert_strided_slice' op operand #0 must be vector of any type values, but got 'vector<index>'",
            )
        },
    ),
)
"""Measured with mlir-opt 22.1.8, 23.1.4 and 24 (2026-10-25)."""


def check_level(gemm: Gemm, level: str) -> None:
    """Refuse a kernel at workgroup or subgroup level that the plan's version of LLVM would refuse.

    Raises `PlanError`: says in LLVM's words why, and what can.

    >>> from layoutalg.gemm import plan_gemm
    >>> check_level(plan_gemm(512, 512, 512, tile=(24, 16), subgroups=(3, 2), k_step=32, llvm=22), "workgroup")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: level 'workgroup' with 3x2 subgroups: LLVM 22 says "cannot distribute [32, 32] using \
    #xegpu.layout<sg_layout = [3, 2], sg_data = [32, 16], inst_data = [16, 16]>"; level 'lane' has it for every version
    """
    if level == "lane":
        return
    if gemm.dpas.subgroup_size != 16:
        raise PlanError(
            f"level {level!r}: LLVM knows subgroups of 16 lanes alone, and {gemm.target} has {gemm.dpas.subgroup_size}; "
            "level 'lane' is planned for it"
        )
    for name, why in gemm.problem.edges.items():
        raise PlanError(f"level {level!r}: lanes move {name} element by element, at level 'lane' alone: {why}")
    for refusal in REFUSALS:
        if gemm.llvm in refusal.words and refusal.concerns(gemm.problem):
            words = refusal.words[gemm.llvm][("workgroup", "subgroup").index(level)]
            able = [str(version) for version in (22, 23, 24) if version not in refusal.words]
            others = f"LLVM {' and '.join(able)} lower{'s' * (len(able) == 1)} it, and " if able else ""
            raise PlanError(
                f'level {level!r} with {refusal.feature}: LLVM {gemm.llvm} says "{words}"; '
                f"{others}level 'lane' has it for every version"
            )
    for words in _undistributed(gemm) if level == "workgroup" else ():
        rows, columns = gemm.tiling.subgroups
        raise PlanError(
            f'level {level!r} with {rows}x{columns} subgroups: LLVM {gemm.llvm} says "{words}"; '
            "level 'lane' has it for every version"
        )


def _undistributed(gemm: Gemm) -> Iterator[str]:
    """What the version says of operands that it cannot give to the subgroups."""
    whole, found = gemm.tiling.workgroup_tile, layouts_of_c(gemm).workgroup
    shapes = {"A": (whole.m, whole.k), "B": (whole.k, whole.n), "C": (whole.m, whole.n)}
    for name, shape in shapes.items():
        words = found[name].check(shape, llvm=gemm.llvm)
        if words is not None:
            yield words


def check_plain(gemm: Gemm, level: str) -> None:
    """Refuse what only kernels at lane level have: k in parts, runs, scales, a scratch, tiles of C^T that no block of C fits.

    >>> from layoutalg.gemm import plan_gemm
    >>> check_plain(plan_gemm(64, 64, 64, trans_a=True, trans_b=True), "subgroup")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: level 'subgroup' with a tile of 16x8: it computes C in blocks of 8x16; level 'lane' \
computes C^T
    """
    if level == "lane":
        return
    tiling, unit = gemm.tiling, gemm.dpas
    if tiling.split_k > 1:
        raise PlanError(
            f"level {level!r} with k in {tiling.split_k} parts: level 'lane' has it; split_k = 1 has every level"
        )
    if tiling.stream_k:
        raise PlanError(
            f"level {level!r} with stream-K on {tiling.stream_k} workgroups: level 'lane' has it; stream_k = 0 has every level"
        )
    if gemm.problem.gated or gemm.problem.groups:
        kind = "a gated pair" if gemm.problem.gated else "groups"
        raise PlanError(f"level {level!r} with {kind}: level 'lane' has it")
    if gemm.problem.scaled:
        raise PlanError(f"level {level!r} with scale = {gemm.problem.scale!r}: level 'lane' has scales")
    if tiling.transpose == "scratch":
        raise PlanError(
            f"level {level!r} with transpose scratch: level 'lane' has it; transpose registers has every level"
        )
    if tiling.tile.m % unit.m or tiling.tile.n % unit.n:
        raise PlanError(
            f"level {level!r} with a tile of {tiling.tile.m}x{tiling.tile.n}: it computes C in blocks of {unit.m}x{unit.n}; "
            "level 'lane' computes C^T"
        )
