"""Planning a matrix product: what is asked goes to the planner of its target, GPUs of the Xe family or CPUs with AMX.

>>> plan_gemm(64, 64, 64, "bf16", target="bmg").grid, plan_gemm(64, 64, 64, "bf16", target="amx").products_per_step
((4, 4, 1), 4)
"""

from __future__ import annotations

import os
from typing import Literal, Unpack, overload

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.amx.plan import AmxGemm, plan_amx
from layoutalg.gemm.choices import Choices
from layoutalg.gemm.options import (
    AmxProductOptions,
    AnyTargetOptions,
    GemmOptions,
    GpuProductOptions,
    TilingOptions,
    check_names,
    part,
)
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.search import search
from layoutalg.gemm.split_k import check_split
from layoutalg.gemm.stream_k import check_stream
from layoutalg.gemm.versions import checked_version
from layoutalg.hardware import XeChip
from layoutalg.hardware.amx_chips import AMX_TARGETS
from layoutalg.hardware.chip_names import chip_name

__all__ = ["plan_gemm"]


@overload
def plan_gemm(  # pyright: ignore[reportOverlappingOverload]  a literal is a str too
    m: int,
    n: int,
    k: int,
    a: str | None = ...,
    b: str | None = ...,
    c: str | None = ...,
    *,
    target: Literal["amx", "spr", "gnr"],
    acc: str | None = ...,
    llvm: int = ...,
    **options: Unpack[AmxProductOptions],
) -> AmxGemm: ...
@overload
def plan_gemm(
    m: int,
    n: int,
    k: int,
    a: str | None = ...,
    b: str | None = ...,
    c: str | None = ...,
    target: str = ...,
    *,
    llvm: int = ...,
    chip: XeChip | None = ...,
    measured: str | os.PathLike[str] | None = ...,
    **options: Unpack[GemmOptions],
) -> Gemm: ...
def plan_gemm(
    m: int,
    n: int,
    k: int,
    a: str | None = None,
    b: str | None = None,
    c: str | None = None,
    target: str = "pvc",
    *,
    llvm: int = DEFAULT_LLVM,
    chip: XeChip | None = None,
    measured: str | os.PathLike[str] | None = None,
    **options: Unpack[AnyTargetOptions],
) -> Gemm | AmxGemm:
    """Plan C = activation(alpha * scale * A B + beta * C + bias) for row-major matrices, or what `epilogue` says.

    A is m x k (in memory k x m with `trans_a`), B is k x n (n x k with `trans_b`). `tile` is (m, n) of the block of C that one
    subgroup computes, `k_step` the depth of a step, `subgroups` (rows, columns) of a workgroup; `registers`, `prefetch`,
    `distance`, `split_k`, `stream_k` and `transpose` are those of `Tiling`. What is not given is chosen. `lda`, `ldb`, `ldc`
    are the elements from one row to the next in memory. `epilogue` is an expression of the sums `acc`, instead of alpha to
    activation: `gelu(acc * scale + bias) + residual` (`layoutalg.gemm.expressions` has its names and functions). Where a
    matrix doesn't suit block messages, lanes move its elements (`problem.edges` says why, and what would fit). Targets `amx`,
    `spr` and `gnr` are CPUs: their plan is that of `plan_amx`, which has options of its own. `a` is f16 unless given, and
    bf16 for CPUs. A target may be a product: `"b570"`. `chip` is a board of your own (`la.hardware.read_chip`), whose target
    is then the plan's. `measured` is a file of times (`layoutalg.gemm.measuring`): the fastest tiling that was measured for
    this problem is taken, where there is one.

    With `gated` ("silu", ...) B has two matrices side by side, k x 2n, and C is silu(A B1) * (A B2) (`layoutalg.gemm.gated`).
    With `groups` the m rows of A belong to so many groups, by an array of starts that the kernel reads, and B has a matrix for
    each (`layoutalg.gemm.grouped`).

    Raises:
        PlanError: for types, targets, tiles and sizes that are not planned; says what would fit.
        LayoutError: `measured` cannot be read, or is not a file of times.

    >>> plan_gemm(64, 64, 64, tile=(8, 16), k_step=16).dpas_per_step
    1
    >>> plan_gemm(64, 64, 64, groups=8, gated="silu").grid[1]  # 64 rows in blocks of 8, and one block for every group
    16
    >>> plan_gemm(64, 64, 64).problem.a, plan_gemm(64, 64, 64, target="spr").problem.a
    ('f16', 'bf16')
    >>> plan_gemm(64, 64, 50).problem.edges["A"]
    'its rows are 100 bytes apart, which is not a multiple of 16 bytes, as a 2D block message needs; a leading dimension \
lda = 56 would fit'
    """
    check_names("plan_gemm", options, AnyTargetOptions)
    target = _target_of(target, chip)
    chosen = part(TilingOptions, options)
    if isinstance(target, str) and chip_name(target) in AMX_TARGETS:  # pyright: ignore[reportUnnecessaryIsInstance]
        for name, given in chosen.items():
            if given is not None:
                raise PlanError(
                    f"{name} = {shown(given)}: a choice for GPUs; for target {target!r} plan_amx takes blocking, blocks, order "
                    "and pack_a"
                )
        if measured is not None:
            raise PlanError(f"measured: times are kept for GPUs; target {target!r} has a model fitted to measurements")
        if options.get("epilogue") is not None:
            raise PlanError(
                f"epilogue: expressions are for GPUs; target {target!r} has alpha, beta, bias, scale, activation"
            )
        for name, given in (("gated", options.get("gated")), ("groups", options.get("groups"))):
            if given is not None:
                raise PlanError(f"{name} = {shown(given)}: planned for GPUs; target {target!r} has plain products")
        shared = part(AmxProductOptions, options)
        plan = plan_amx(m, n, k, "bf16" if a is None else a, b, c, target, llvm=llvm, **shared)
        if (acc := options.get("acc")) not in (None, plan.problem.acc):
            raise PlanError(f"acc = {shown(acc)}: AMX adds products of {plan.problem.a} in {plan.problem.acc}")
        return plan
    if str(b) in ("u4", "u8") and str(a) in ("None", "f16", "bf16"):  # as texts: an array is not compared with one
        raise PlanError(
            f"b = {shown(b)} with A of {a or 'f16'}: quantised weights, which plan_weights and `layoutalg weights` plan"
        )
    if options.get("dynamic_m", False) is not False:
        raise PlanError(
            f"dynamic_m = {shown(options.get('dynamic_m'))}: planned for CPUs with AMX; a kernel for {shown(target)} takes "
            "m among its arguments always"
        )
    problem = Problem.of(m, n, k, "f16" if a is None else a, b, c, target, **part(GpuProductOptions, options))
    if problem.dpas.target.surface is None:
        raise PlanError(
            f"target {problem.target} has no 2D block messages: its A and B must be packed, fragment by fragment; "
            "plan_packed plans that, with the order in memory and a kernel"
        )
    choices = Choices(**chosen)  # pyright: ignore[reportArgumentType]  it makes pairs of any sequences
    version = checked_version(llvm)
    if measured is not None:
        from layoutalg.gemm.measuring import fastest, read_measured

        best = fastest(read_measured(measured), problem, choices, llvm=version)
        choices = choices if best is None else Choices.of(best.tiling)
        try:
            tiling = search(problem, choices, version, chip).best.tiling
        except PlanError as refused:
            raise PlanError(
                f"measured = {shown(str(measured))}: its fastest tiling is not planned: {refused}"
            ) from None
    else:
        tiling = search(problem, choices, version, chip).best.tiling
    check_split(problem, tiling)
    check_stream(problem, tiling)
    return Gemm(problem, tiling, version, chip)


def _target_of(target: str, chip: XeChip | None) -> str:
    """The target that a board's kernels are for, where a board is given."""
    if chip is None:
        return target
    instance_of(chip, XeChip, "chip", PlanError)
    if target not in ("pvc", chip.target):  # "pvc" is the default
        raise PlanError(f"target {shown(target)}: chip is {chip.product}, whose kernels are those of {chip.target}")
    return chip.target
