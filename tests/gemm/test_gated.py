"""Gated pairs: two products of one A in one loop, against the definition in f64 and against the stated model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.numerics import exact
from layoutalg.gemm.run import execute
from layoutalg.gemm.sampling import run_sample
from layoutalg.gemm.split_k import computed_by
from layoutalg.gemm.weights import plan_weights
from tests.gemm.mutating import mutants
from tests.gemm.random_operands import operands, same_bits

SMALL: dict[str, Any] = {"tile": (16, 16), "subgroups": (1, 2), "k_step": 32, "prefetch": "none"}
GATES = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


def check(plan: Gemm) -> None:
    given = operands(plan)
    found = plan.simulate(*given)
    assert same_bits(found, computed_by(plan, *given)), f"{plan.problem}, {plan.tiling}"


@pytest.mark.parametrize("gate", GATES)
def test_c_is_the_gate_of_one_product_times_the_other(gate: str) -> None:
    """B has the first matrix in its first n columns, the second behind them; transposed, in its first n rows."""
    rng = np.random.default_rng(0)
    a, one, two = rng.standard_normal((24, 48)), rng.standard_normal((48, 40)), rng.standard_normal((48, 40))
    expected = GATES[gate](a @ one) * (a @ two)
    for transposed in (False, True):
        plan = plan_gemm(24, 40, 48, gated=gate, trans_b=transposed)
        assert [(matrix.rows, matrix.columns) for matrix in plan.matrices] == [
            (24, 48), (80, 48) if transposed else (48, 80), (24, 40)
        ]  # fmt: skip
        b = np.concatenate((one, two), axis=1)
        b = b.T if transposed else b
        assert np.allclose(exact(plan.problem, a, b), expected, rtol=1e-12)
        assert np.allclose(plan.simulate(a, b), expected, rtol=2e-2, atol=5e-2)  # a and b are rounded to f16


PLANS: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((40, 80, 96), {"tile": (16, 32), "subgroups": (1, 2), "k_step": 32, "prefetch": "shared", "llvm": 23}),
    ((40, 80, 96), {**SMALL, "trans_b": True, "ldb": 128, "prefetch": "shared", "subgroups": (2, 2), "target": "bmg"}),
    ((40, 96, 64), {**SMALL, "prefetch": "lines", "subgroups": (2, 2), "distance": 2}),
    ((40, 80, 96), {**SMALL, "llvm": 22, "k_step": 16, "c": "bf16"}),
    ((33, 29, 50), {"a": "bf16", "c": "bf16"}),
    ((20, 64, 128), {"a": "s8", "c": "f16", "k_step": 64, "subgroups": (1, 2), "prefetch": "shared"}),
    ((20, 48, 40), {"a": "tf32", "batch": 3}),
    ((8, 32, 64), {"acc": "f16", "c": "f16"}),
]


@pytest.mark.parametrize(("size", "more"), PLANS, ids=str)
def test_kernels_compute_what_the_model_says(size: tuple[int, int, int], more: dict[str, Any]) -> None:
    check(plan_gemm(*size, gated="silu", **more))
    check(plan_gemm(*size, epilogue="acc2 * sigmoid(acc + bias) - residual / 4 + row_scale", **more))


def test_random_pairs_compute_what_the_model_says() -> None:
    rng = np.random.default_rng(3)
    for number in range(24):
        m, n, k = (int(size) for size in rng.integers(1, 70, 3))
        more: dict[str, Any] = {"trans_b": bool(number % 2), "target": ("pvc", "bmg")[number // 2 % 2]}
        if number % 3 == 0:
            more |= {"lda": -(-k // 64) * 64, "ldb": -(-max(2 * n, k) // 64) * 64, "ldc": -(-n // 64) * 64}
        check(plan_gemm(m, n, k, ("f16", "bf16", "tf32")[number % 3], gated="silu", **more))


def test_a_is_loaded_once_and_both_parts_of_b_in_a_step() -> None:
    plain = plan_gemm(64, 128, 128, tile=(16, 64), subgroups=(1, 1), k_step=32, prefetch="none")
    pair = plan_gemm(64, 64, 128, tile=(16, 32), subgroups=(1, 1), k_step=32, prefetch="none", gated="silu")
    assert pair.dpas_per_step == plain.dpas_per_step == 16
    assert len(pair.messages) == len(plain.messages)
    assert counted(pair.problem, pair.tiling).loads == counted(plain.problem, plain.tiling).loads
    assert pair.registers.c == plain.registers.c
    given = operands(pair)
    _, executed = execute(pair, *given, counted="messages")
    assert executed is not None
    assert executed.dpas == pair.dpas_total == plain.dpas_total
    assert pair.problem.flops == 2 * 64 * 64 * 128 * 2


def test_a_sample_of_tiles_is_the_model() -> None:
    plan = plan_gemm(64, 96, 64, gated="silu", **SMALL)
    found = run_sample(plan, (0, 3, 5), *operands(plan))
    assert found.as_modelled
    assert found.untouched


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"trans_a": True}, "trans_a with acc2"),
        ({"gated": "tanh"}, "gated 'tanh': expected 'relu', 'gelu', 'silu' or 'sigmoid'"),
        ({"epilogue": "acc * 2"}, r"write silu\(acc\) \* acc2 in it"),
        ({"activation": "relu"}, "activation = 'relu' with an epilogue"),
        ({"split_k": 2}, "split_k = 2: gated and grouped products are not split"),
        ({"tile": (8, 24)}, "tile 8x24: 24 is no multiple of 16"),
        ({"transpose": "slm"}, "transpose slm"),
        ({"target": "spr"}, "gated = 'silu': planned for GPUs"),
        ({"a": "s8"}, "c = 's32' with"),
        ({"ldb": 64}, "ldb = 64|B "),
    ],
)
def test_what_is_not_planned_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        plan_gemm(64, 64, 64, **{"gated": "silu", **more})


def test_other_levels_and_weights_refuse_pairs() -> None:
    for level in ("workgroup", "subgroup"):
        with pytest.raises(PlanError, match="a gated pair: level 'lane' has it"):
            plan_gemm(64, 64, 64, gated="silu").emit(level)
    with pytest.raises(PlanError, match="epilogue with acc2"):
        plan_weights(8, 64, 128, epilogue="acc * acc2")


@pytest.mark.parametrize("most", [10, pytest.param(46, marks=pytest.mark.exhaustive)])
def test_mistakes_are_caught(most: int) -> None:
    plan = plan_gemm(24, 40, 72, lda=96, ldb=96, ldc=48, c="f16", gated="silu", **SMALL)
    given = operands(plan)
    wanted = plan.simulate(*given)
    some = mutants(plan.emit(), most)
    assert len(some) == most
    missed: list[str] = []
    for mutant in some:
        try:
            if same_bits(plan.simulate(*given, text=mutant.text), wanted):
                missed.append(mutant.mistake)
        except LayoutError:
            pass
    assert not missed
