"""Products, and attention, as work-items on Intel's CPU runtime: the same bits as the simulator and as the stated model.

LLVM 24 (and 22, 23 for some) lowers the emitted text to SPIR-V; the runtime has no DPAS and no block messages, so those are the
loops of `builtins`. All launches of a test share one process. `make oracle-full` runs all types, both transposes and all sizes.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.attention import plan_attention
from layoutalg.gemm.grouped import random_starts
from layoutalg.gemm.numerics import random_inputs
from layoutalg.gemm.split_k import computed_by, counters
from layoutalg.gemm.weights import WeightsGemm, plan_weights
from layoutalg.gemm.weights.numerics import computed
from layoutalg.gemm.weights.run import arrays_of
from tests.gemm.attention_runs import random_arrays
from tests.gemm.random_operands import operands, random_numbers, same_bits
from tests.gemm.random_products import random_product
from tests.gemm.test_weights import others, random_weights
from tests.oracle.kernel_cpu import CpuLaunch, run_kernels_on_cpu
from tests.oracle.xe_cpu import attention_launch, launch_of, result_of, rounded_once

Array = NDArray[Any]
Size = tuple[int, int, int]

TYPES = (("f16", "f16"), ("bf16", "bf16"), ("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8"), ("tf32", "tf32"))
STORED: tuple[dict[str, bool], ...] = ({}, {"trans_a": True}, {"trans_b": True})
SIZES = ((64, 64, 64), (40, 80, 160), (256, 256, 128), (256, 256, 256), (8, 256, 64), (200, 144, 240))
WIDE: dict[str, Any] = {"tile": (32, 64), "subgroups": (2, 2), "registers": 256, "prefetch": "shared", "distance": 1}


def check(plans: list[Gemm], directory: Path, level: str = "lane") -> None:
    """Run all plans in one process and compare bits with the model, and with the simulator, which runs the same text."""
    given = [operands(gemm) for gemm in plans]
    launches = [launch_of(gemm, *arrays, level=level) for gemm, arrays in zip(plans, given, strict=True)]
    for gemm, arrays, after in zip(plans, given, run_kernels_on_cpu(launches, directory), strict=True):
        found, model = result_of(gemm, after), computed_by(gemm, *arrays)
        assert same_bits(found, model), f"{gemm.problem}, {gemm.tiling}: {where(found, model)}"
        assert same_bits(gemm.simulate(*arrays, level=level), found), f"{gemm.problem}, {gemm.tiling}: the simulator"


def where(found: Array, expected: Array) -> str:
    wrong = np.argwhere(found != expected)
    return f"{len(wrong)} elements differ, first at {wrong[:1].tolist()}" if len(wrong) else "types or signs differ"


WEIGHTS: tuple[tuple[str, str, int, bool, tuple[int, int], dict[str, Any]], ...] = (
    ("f16", "u4", 32, False, (8, 32), {}),
    ("f16", "u4", 64, True, (32, 16), {"c": "f16", "bias": "column", "activation": "silu"}),
    ("f16", "u8", 32, True, (8, 16), {"scale": "both", "beta": 1.0, "llvm": 23}),
    ("bf16", "u4", 32, True, (16, 16), {"target": "bmg"}),
    ("f16", "u4", 32, True, (8, 32), {"split_k": 2, "bias": "row", "reduction": "kernel"}),
    ("bf16", "u4", 32, False, (8, 16), {"split_k": 2, "reduction": "last", "c": "f16", "batch": 2}),
    ("bf16", "u8", 32, True, (8, 16), {"prefetch": "shared", "distance": 1}),
    ("f16", "f8E4M3FN", 32, False, (8, 32), {"c": "f16", "bias": "column"}),
    ("f16", "f8E5M2", 64, False, (16, 16), {"split_k": 1, "scale": "row"}),
    ("bf16", "f8E4M3FN", 64, False, (8, 16), {"split_k": 1, "scale": "row"}),
    ("bf16", "f8E5M2", 32, False, (8, 16), {"split_k": 1, "c": "bf16"}),
)

SMALL: dict[str, Any] = {"tile": (16, 32), "k_step": 32, "subgroups": (1, 2), "prefetch": "none"}
FEW: tuple[tuple[Size, dict[str, Any]], ...] = (
    ((64, 128, 96), {**SMALL, "subgroups": (2, 2), "prefetch": "shared"}),
    ((40, 80, 160), {**SMALL, "a": "s8", "b": "u8", "trans_b": True}),
    ((40, 80, 48), {**SMALL, "a": "bf16", "c": "bf16", "trans_a": True, "bias": "column"}),
    ((37, 40, 64), {**SMALL, "a": "s8", "c": "f16", "scale": "both", "bias": "column", "activation": "silu"}),
    ((40, 80, 48), {**SMALL, "a": "tf32", "tile": (8, 32), "k_step": 16, "batch": 2, "alpha": 0.5, "beta": 1.5}),
)  # fmt: skip
"""One of each kind of kernel, in small tiles where that shows as much: a dpas costs the CPU's compiler 30 ms."""


def test_real_work_items_compute_what_the_model_says(tmp_path: Path) -> None:
    check([plan_gemm(*size, **choices) for size, choices in FEW], tmp_path)


EXPRESSIONS: tuple[tuple[Size, dict[str, Any]], ...] = (
    ((37, 40, 64), {"a": "s8", "c": "f16", "epilogue": "silu(acc * scale + bias) * row_scale + residual"}),
    ((40, 80, 48), {"c": "bf16", "epilogue": "clamp(tanh(acc), -0.5, 0.75) / (1 + exp(-row_bias)) - min(acc, 2)"}),
    ((9, 17, 20), {"epilogue": "gelu(acc) - sigmoid(residual) * max(acc, scale)", "target": "bmg"}),
)


def test_expressions_behind_the_sums_compute_what_the_model_says(tmp_path: Path) -> None:
    small = {**SMALL, "tile": (8, 16)}
    check([plan_gemm(*size, **small, **choices) for size, choices in EXPRESSIONS], tmp_path)


PAIRS_AND_GROUPS: tuple[tuple[Size, dict[str, Any]], ...] = (
    (
        (20, 40, 64),
        {"gated": "silu", "c": "f16", "tile": (8, 16), "k_step": 32, "subgroups": (1, 2), "prefetch": "shared"},
    ),
    ((9, 17, 20), {"gated": "gelu", "a": "bf16", "trans_b": True, "target": "bmg", "ldb": 64}),
    ((50, 40, 64), {"groups": 7, "tile": (8, 16), "k_step": 32, "subgroups": (2, 1), "bias": "column"}),
    ((30, 24, 40), {"groups": 4, "gated": "silu", "a": "bf16", "c": "bf16", "target": "bmg"}),
)


def test_gated_pairs_and_groups_compute_what_the_model_says(tmp_path: Path) -> None:
    """Rows of a group, and nothing of rows that no group has; sizes of groups are odd, some are empty."""
    plans = [plan_gemm(*size, **choices) for size, choices in PAIRS_AND_GROUPS]
    rng = np.random.default_rng(0)
    given = [random_inputs(plan.problem, rng) for plan in plans]
    some: list[Array | None] = [random_starts(plan.problem, rng) if plan.problem.groups else None for plan in plans]
    launches = [
        launch_of(plan, *arrays, starts=starts) for plan, arrays, starts in zip(plans, given, some, strict=True)
    ]
    for plan, arrays, starts, after in zip(plans, given, some, run_kernels_on_cpu(launches, tmp_path), strict=True):
        found, model = result_of(plan, after), computed_by(plan, *arrays, starts=starts)
        assert same_bits(found, model), f"{plan.problem}, {plan.tiling}: {where(found, model)}"
        assert same_bits(plan.simulate(*arrays, starts=starts), found), plan.problem


@pytest.mark.parametrize("reduction", ["kernel", "last"])
def test_work_split_over_k_and_its_reduction_compute_what_the_model_says(reduction: str, tmp_path: Path) -> None:
    few: tuple[tuple[Size, dict[str, Any]], ...] = (
        ((8, 64, 328), {"tile": (8, 16), "split_k": 3, "prefetch": "shared"}),
        ((20, 80, 160), {"tile": (8, 32), "split_k": 5, "c": "f16", "bias": "row", "beta": 0.5, "activation": "relu"}),
        (
            (12, 64, 256),
            {"tile": (8, 16), "split_k": 2, "a": "s8", "c": "bf16", "scale": "both", "beta": 1, "batch": 2},
        ),
    )
    shape: dict[str, Any] = {"k_step": 32, "subgroups": (1, 2), "reduction": reduction}
    check([plan_gemm(*size, **shape, **choices) for size, choices in few], tmp_path)


@pytest.mark.parametrize("llvm", [24, *(pytest.param(version, marks=pytest.mark.exhaustive) for version in (22, 23))])
def test_products_with_both_transposed_compute_what_the_model_says(llvm: int, tmp_path: Path) -> None:
    """The loop computes C^T; lanes store rows of C, and none outside of it."""
    few: tuple[tuple[Size, dict[str, Any]], ...] = (
        ((40, 72, 96), {"tile": (16, 16), "subgroups": (2, 1), "prefetch": "shared"}),
        ((40, 80, 48), {"tile": (32, 16), "a": "bf16", "c": "bf16", "bias": "row", "beta": 0.5, "batch": 2}),
        ((72, 40, 64), {"tile": (16, 8), "a": "s8", "b": "u8", "bias": "column", "beta": 1}),
    )
    both: dict[str, Any] = {"trans_a": True, "trans_b": True, "transpose": "roles", "llvm": llvm}
    padded = {"lda": 80, "ldb": 96}
    check([plan_gemm(*size, **both, **choices, **padded) for size, choices in few], tmp_path)


@pytest.mark.parametrize("llvm", [24, pytest.param(23, marks=pytest.mark.exhaustive)])
def test_workgroups_that_transpose_a_compute_what_the_model_says(llvm: int, tmp_path: Path) -> None:
    """Real subgroups meet at the barrier: one that reads before another has stored would be seen."""
    few: tuple[tuple[Size, dict[str, Any]], ...] = (
        ((40, 72, 136), {"tile": (16, 16), "subgroups": (1, 2), "k_step": 64, "prefetch": "shared", "bias": "row"}),
        ((96, 80, 100), {"tile": (16, 16), "subgroups": (1, 2), "k_step": 64, "a": "s8", "batch": 2}),
    )
    turned: dict[str, Any] = {"trans_a": True, "llvm": llvm, "lda": 128, "ldb": 128, "ldc": 96}
    ways = ("slm", "scratch") if llvm == 24 else ("scratch", "slm")
    pairs = zip(ways, few, strict=True)
    check([plan_gemm(*size, **turned, **choices, transpose=way) for way, (size, choices) in pairs], tmp_path)


@pytest.mark.parametrize("llvm", [22, 23])
def test_kernels_for_other_versions_compute_the_same(llvm: int, tmp_path: Path) -> None:
    check([plan_gemm(40, 80, 96, "bf16", c="bf16", bias="row", llvm=llvm, **SMALL)], tmp_path)


EDGES: tuple[tuple[Size, dict[str, Any]], ...] = (
    ((9, 17, 20), {}),
    ((33, 1, 40), {"a": "bf16", "c": "bf16", "target": "bmg", "scale": "column", "bias": "row"}),
    ((5, 70, 33), {"a": "tf32", "trans_b": True, "batch": 3, "bias": "column", "beta": 0.5}),
)  # fmt: skip


@pytest.mark.parametrize("llvm", [24, *(pytest.param(version, marks=pytest.mark.exhaustive) for version in (22, 23))])
def test_matrices_that_lanes_move_are_contiguous_and_right(llvm: int, tmp_path: Path) -> None:
    """No row is padded, and matrices of a batch follow each other, as numpy's do."""
    check([plan_gemm(*size, **choices, llvm=llvm) for size, choices in EDGES], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_contiguous_products_compute_what_the_model_says(first: int, tmp_path: Path) -> None:
    check([random_product(seed, contiguous=True).plan() for seed in range(first, first + 10)], tmp_path)


OTHERS = ((24, "subgroup"), (23, "workgroup"), (23, "subgroup"), (22, "workgroup"), (22, "subgroup"))
LEVELS = [(24, "workgroup"), *(pytest.param(*other, marks=pytest.mark.exhaustive) for other in OTHERS)]


@pytest.mark.parametrize(("llvm", "level"), LEVELS)
def test_what_llvm_distributes_itself_computes_the_same(llvm: int, level: str, tmp_path: Path) -> None:
    """Its own pipeline takes the tiles of a workgroup, or of a subgroup, to lanes."""
    more: dict[str, Any] = {**SMALL, "subgroups": (2, 2), "llvm": llvm}
    plans = [plan_gemm(40, 80, 96, **more)]
    if llvm == 23:
        plans += [plan_gemm(40, 80, 96, "bf16", c="bf16", bias="column", batch=2, **more)]
    check(plans, tmp_path, level)


def check_attention(shapes: list[tuple[int, int, int, dict[str, Any]]], directory: Path) -> None:
    plans = [plan_attention(queries, keys, d, **more) for queries, keys, d, more in shapes]
    given = [random_arrays(plan) for plan in plans]
    launches = [attention_launch(plan, *arrays) for plan, arrays in zip(plans, given, strict=True)]
    for plan, arrays, after in zip(plans, given, run_kernels_on_cpu(launches, directory), strict=True):
        assert same_bits(after[3], plan.simulate(*arrays)), plan.problem


def of_weights(plan: WeightsGemm) -> tuple[Array, Any]:
    """A and weights of a product of 13 rows, 64 deep; of a batch one behind the other."""
    product, many = plan.problem.product, plan.problem.product.batch
    shape = (13, 64) if many == 1 else (many, 13, 64)
    weights = [random_weights(plan.problem, seed) for seed in range(many)]
    return random_numbers(product.a, shape, np.random.default_rng(1)), weights[0] if many == 1 else weights


def test_quantised_weights_compute_what_the_model_says(tmp_path: Path) -> None:
    """Words as operands of the matrix instruction, with and without zero points; small tiles, one group or two."""
    plans = [
        plan_weights(13, 32, 64, a, b, group=group, zeros=zeros, tile=tile, subgroups=(1, 1), **more)
        for a, b, group, zeros, tile, more in WEIGHTS
    ]
    launches: list[CpuLaunch] = []
    for plan in plans:
        left, weights = of_weights(plan)
        arrays = arrays_of(plan, left, weights, **others(plan.problem))
        arrays["workspace"] = np.full(plan.workspace_bytes // 4, np.nan, np.float32)
        arrays["counters"] = np.zeros(counters(plan.problem.product, plan.tiling), np.int32)
        given = [arrays[one.name] for one in plan.launch.arguments if one.memory is not None]
        numbers = [one for one in plan.launch.arguments if one.memory is None]
        sizes = [(np.int64 if one.kind == "i64" else np.int32)(one.value) for one in numbers]  # type: ignore[arg-type]
        then = [(one.kernel, one.grid, one.workgroup) for one in plan.launch.then]
        text = rounded_once(plan.emit())
        launches.append(
            CpuLaunch(text, (*given, *sizes), plan.grid, plan.workgroup, plan.llvm, then=then[0] if then else None)
        )
    for plan, after in zip(plans, run_kernels_on_cpu(launches, tmp_path), strict=True):
        (left, weights), more = of_weights(plan), others(plan.problem)
        model = computed(plan.problem, left, weights, **more, parts=plan.tiling.split_k)
        found = after[2].reshape(model.shape)
        assert same_bits(found, model), f"{plan.problem}, {plan.tiling}: {where(found, model)}"
        assert same_bits(plan.simulate(left, weights, **more), found), plan.problem


def plannable(size: Size, **choices: Any) -> list[Gemm]:
    """The plan, with rows padded as messages need them; nothing where the tile is too large."""
    m, n, k = size
    padded = [-(-row // 64) * 64 for row in (m if choices.get("trans_a") else k, k if choices.get("trans_b") else n, n)]
    try:
        return [plan_gemm(*size, **dict(zip(("lda", "ldb", "ldc"), padded, strict=True)), **choices)]
    except PlanError as problem:
        assert "tile" in choices, problem
        return []


@pytest.mark.exhaustive
@pytest.mark.parametrize("stored", STORED, ids=lambda stored: "-".join(stored) or "plain")
@pytest.mark.parametrize(("a", "b"), TYPES)
def test_every_type_and_storage_at_every_size(a: str, b: str, stored: dict[str, bool], tmp_path: Path) -> None:
    plans = [plan for size in SIZES for plan in plannable(size, a=a, b=b, **stored)]
    plans += [plan for size in SIZES[:2] for plan in plannable(size, a=a, b=b, **stored, **WIDE)]
    assert len(plans) >= 4
    check(plans, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("acc", "c"), [("f32", "f16"), ("f32", "bf16"), ("f16", "f16"), ("f16", "f32")])
def test_accumulators_and_results_of_f16(acc: str, c: str, tmp_path: Path) -> None:
    more: dict[str, Any] = {**SMALL, "acc": acc, "c": c}
    check([plan_gemm(*size, **more, bias=bias) for size in SIZES[:2] for bias in (None, "row", "column")], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_activations_have_the_bits_of_the_model(activation: str, tmp_path: Path) -> None:
    more: dict[str, Any] = {**SMALL, "activation": activation}
    check([plan_gemm(40, 80, 96, alpha=0.3, beta=1.7, bias=bias, **more) for bias in ("row", "column")], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("d", "element"), list(product((64, 128), ("f16", "bf16"))))
def test_attention_of_both_depths_and_types(d: int, element: str, tmp_path: Path) -> None:
    sizes = ((64, 256), (64, 1000), (256, 256))
    shapes = [(*size, d, {"type": element, "causal": causal}) for size in sizes for causal in (False, True)]
    check_attention(shapes, tmp_path)
