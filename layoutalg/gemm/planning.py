"""Planning a matrix product: what is asked goes to the planner of its target, GPUs of the Xe family or CPUs with AMX.

>>> plan_gemm(64, 64, 64, "bf16", target="bmg").grid, plan_gemm(64, 64, 64, "bf16", target="amx").products_per_step
((4, 4, 1), 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.gemm.amx.plan import AmxGemm, plan_amx
from layoutalg.gemm.amx.problem import TARGETS as AMX_TARGETS
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.search import Choices, search
from layoutalg.gemm.versions import checked_version

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
    trans_a: bool = ...,
    trans_b: bool = ...,
    alpha: float = ...,
    beta: float = ...,
    bias: str | None = ...,
    activation: str | None = ...,
    lda: int | None = ...,
    ldb: int | None = ...,
    ldc: int | None = ...,
    llvm: int = ...,
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
    acc: str | None = ...,
    trans_a: bool = ...,
    trans_b: bool = ...,
    batch: int = ...,
    alpha: float = ...,
    beta: float = ...,
    bias: str | None = ...,
    activation: str | None = ...,
    tile: Sequence[int] | None = ...,
    subgroups: Sequence[int] | None = ...,
    k_step: int | None = ...,
    registers: int | None = ...,
    prefetch: str | None = ...,
    distance: int | None = ...,
    lda: int | None = ...,
    ldb: int | None = ...,
    ldc: int | None = ...,
    llvm: int = ...,
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
    acc: str | None = None,
    trans_a: bool = False,
    trans_b: bool = False,
    batch: int = 1,
    alpha: float = 1.0,
    beta: float = 0.0,
    bias: str | None = None,
    activation: str | None = None,
    tile: Sequence[int] | None = None,
    subgroups: Sequence[int] | None = None,
    k_step: int | None = None,
    registers: int | None = None,
    prefetch: str | None = None,
    distance: int | None = None,
    lda: int | None = None,
    ldb: int | None = None,
    ldc: int | None = None,
    llvm: int = DEFAULT_LLVM,
) -> Gemm | AmxGemm:
    """Plan C = activation(alpha * A B + beta * C + bias) for row-major matrices.

    A is m x k (in memory k x m with `trans_a`), B is k x n (n x k with `trans_b`). `tile` is (m, n) of the block of C that one
    subgroup computes, `k_step` the depth of a step, `subgroups` (rows, columns) of a workgroup; `registers`, `prefetch` and
    `distance` are those of `Tiling`. What is not given is chosen. `lda`, `ldb`, `ldc` are the elements from one row to the next
    in memory: where a row's bytes don't suit the hardware, padding the rows in memory does. Targets `amx`, `spr` and `gnr` are
    CPUs: their plan is that of `plan_amx`, which has options of its own. `a` is f16 unless given, and bf16 for CPUs.

    Raises:
        PlanError: for types, targets, tiles and sizes that are not planned; says what would fit.

    >>> plan_gemm(64, 64, 64, tile=(8, 16), k_step=16).dpas_per_step
    1
    >>> plan_gemm(64, 64, 64).problem.a, plan_gemm(64, 64, 64, target="spr").problem.a
    ('f16', 'bf16')
    >>> plan_gemm(64, 64, 50)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: A is 64x50 f16: its rows are 100 bytes apart, which is not a multiple of 16 bytes, \
as a 2D block message needs; a leading dimension lda = 56 would fit
    """
    if isinstance(target, str) and target in AMX_TARGETS:  # pyright: ignore[reportUnnecessaryIsInstance]
        theirs = {
            "tile": tile, "subgroups": subgroups, "k_step": k_step, "registers": registers, "prefetch": prefetch,
            "distance": distance,
        }  # fmt: skip
        for name, given in theirs.items():
            if given is not None:
                raise PlanError(
                    f"{name} = {shown(given)}: a choice for GPUs; for target {target!r} plan_amx takes blocking, blocks, order "
                    "and pack_a"
                )
        if batch != 1:
            raise PlanError(f"batch = {shown(batch)}: for target {target!r} one product is planned at a time")
        plan = plan_amx(
            m, n, k, "bf16" if a is None else a, b, c, target, trans_a=trans_a, trans_b=trans_b, alpha=alpha, beta=beta,
            bias=bias, activation=activation, lda=lda, ldb=ldb, ldc=ldc, llvm=llvm,
        )  # fmt: skip
        if acc not in (None, plan.problem.acc):
            raise PlanError(f"acc = {shown(acc)}: AMX adds products of {plan.problem.a} in {plan.problem.acc}")
        return plan
    problem = Problem.of(
        m, n, k, "f16" if a is None else a, b, c, target, acc=acc, trans_a=trans_a, trans_b=trans_b, batch=batch,
        alpha=alpha, beta=beta, bias=bias, activation=activation, lda=lda, ldb=ldb, ldc=ldc,
    )  # fmt: skip
    if problem.dpas.target.surface is None:
        raise PlanError(
            f"target {problem.target} has no 2D block messages: its A and B must be packed, fragment by fragment; "
            "plan_packed plans that, with the order in memory and a kernel"
        )
    choices = Choices(tile, subgroups, k_step, registers, prefetch, distance)  # pyright: ignore[reportArgumentType]
    version = checked_version(llvm)
    return Gemm(problem, search(problem, choices, version).best.tiling, version)
