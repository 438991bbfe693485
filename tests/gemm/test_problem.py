"""A problem is checked however it was made: by `Problem.of`, from its fields, or as another one with some of them replaced."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.problem import Problem
from tests.gemm.random_products import large_product, random_product

PLAIN: dict[str, Any] = {
    "m": 64, "n": 96, "k": 32, "a": "f16", "b": "f16", "c": "f32", "acc": "f32", "target": "pvc",
    "lda": 32, "ldb": 96, "ldc": 96,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_the_fields_of_a_problem_make_the_same_problem(seed: int) -> None:
    sizes, options = (random_product if seed % 2 else large_product)(seed)
    options.pop("split_k", None)
    one = Problem.of(*sizes, **options)
    assert Problem(**{field.name: getattr(one, field.name) for field in fields(one)}) == one


def test_an_expression_is_among_the_fields() -> None:
    one = Problem.of(64, 96, 32, epilogue="silu(acc) * acc2 + bias")
    assert replace(one, m=40) == Problem.of(40, 96, 32, epilogue="silu(acc) * acc2 + bias")


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"m": 0}, "m = 0: a size is an integer from 1"),
    ({"k": 2.5}, "k = 2.5: a size"),
    ({"a": "f64"}, "a = 'f64': products are planned for A and B of"),
    ({"b": "bf16"}, "bf16"),
    ({"acc": "s32"}, "s32"),
    ({"c": "s8"}, "c = 's8'"),
    ({"c": "bf16", "acc": "f16"}, "c = 'bf16': accumulators of f16 are stored as f16, f32"),
    ({"lda": 31}, "A is 64x32 f16 with 31 elements from row to row"),
    ({"trans_a": 2}, "trans_a = 2"),
    ({"trans_a": True}, "lda|A is 32x64"),
    ({"batch": 0}, "batch = 0"),
    ({"alpha": float("nan")}, "alpha"),
    ({"bias": "diagonal"}, "bias"),
    ({"activation": "tanh"}, "activation"),
    ({"gated": True}, "gated = True without an epilogue"),
    ({"gated": "silu"}, "gated"),
    ({"halves": 3}, "halves"),
    ({"groups": -1}, "groups = -1"),
    ({"groups": 2, "batch": 3}, "a batch of grouped products"),
    ({"epilogue": "acc + residual"}, "beta = 0.0 with epilogue = 'acc .* expected 1.0"),
    ({"epilogue": "acc +"}, "epilogue"),
    ({"a": "s8", "b": "s8", "acc": "s32", "c": "s32", "alpha": 0.5}, "c = 's32' with alpha = 0.5"),
)


@pytest.mark.parametrize(("change", "said"), WRONG, ids=lambda one: str(one)[:40])
def test_what_of_refuses_the_fields_refuse(change: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        Problem(**(PLAIN | change))
    with pytest.raises(PlanError, match=said):
        replace(Problem(**PLAIN), **change)


def test_a_target_without_a_matrix_instruction_is_refused() -> None:
    with pytest.raises(ValueError, match="sm_80"):
        replace(Problem(**PLAIN), target="sm_80")


def test_factors_reach_to_the_largest_number_of_f32() -> None:
    largest = float(np.finfo(np.float32).max)
    assert Problem.of(64, 64, 64, alpha=-largest, beta=largest).beta == largest
    with pytest.raises(
        PlanError,
        match=r"alpha = 3.402823\d*e\+38: the epilogue computes in f32, whose largest number is 3.4028235e\+38",
    ):
        Problem.of(64, 64, 64, alpha=float(np.nextafter(largest, np.inf)))
