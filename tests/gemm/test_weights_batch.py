"""Batches of products with quantised weights: each matrix has the bits that it has alone, and what does not fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.gemm.weights import WeightsProblem, plan_weights, quantise
from layoutalg.gemm.weights.numerics import computed, exact
from tests.gemm.random_operands import random_numbers, same_bits
from tests.gemm.test_weights import others, random_weights

LAST: dict[str, Any] = {"split_k": 2, "reduction": "last", "prefetch": "shared", "distance": 1}
CASES: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((13, 48, 256), {"batch": 3, "group": 64, "subgroups": (1, 2), "prefetch": "none", "split_k": 1, "lda": 288}),
    ((5, 48, 256), {"batch": 2, "group": 64, "zeros": True, "bias": "row", "beta": 0.5, "c": "f16", "ldc": 64, **LAST}),
    ((5, 32, 256), {"batch": 2, "group": 64, "b": "u8", "subgroups": (1, 1), "split_k": 2, "reduction": "kernel"}),
    ((1, 32, 64), {"batch": 4, "group": 32, "a": "bf16", "b": "f8E5M2", "scale": "column", "prefetch": "shared"}),
]


@pytest.mark.parametrize(("size", "choices"), CASES, ids=str)
def test_each_matrix_has_the_bits_that_it_has_alone(size: tuple[int, int, int], choices: dict[str, Any]) -> None:
    plan = plan_weights(*size, tile=(8, 16), **choices)
    problem, count = plan.problem, plan.problem.product.batch
    rng = np.random.default_rng(3)
    left = rng.standard_normal((count, size[0], size[2])).astype(numpy_type(problem.product.a))
    weights, given = [random_weights(problem, seed) for seed in range(count)], others(problem)
    if "c" in given:
        given["c"] = random_numbers(problem.product.c, (count, *size[:2]), rng)
    found = plan.simulate(left, weights, **given)
    assert same_bits(found, computed(problem, left, weights, **given, parts=plan.tiling.split_k))
    wanted = exact(problem, left, weights, **given)
    assert np.abs(found.astype(np.float64) - wanted).max() <= 1e-3 * np.abs(wanted).max()
    for number in range(count):
        mine = {name: array[number] if name == "c" else array for name, array in given.items()}
        alone = computed(problem.of_one, left[number], weights[number], **mine, parts=plan.tiling.split_k)
        assert same_bits(found[number], alone)


def test_the_launch_says_where_matrices_begin() -> None:
    """By hand: 5x256 of A, 256/8 x 48 words, 5x48 of C, 256/64 x 48 scales; two parts of two matrices are four of the grid."""
    plan = plan_weights(5, 48, 256, batch=2, group=64, tile=(8, 16), ldc=64, **LAST)
    launch = plan.launch
    held = {one.name: one.memory for one in launch.arguments if one.memory is not None}
    assert [(held[name].count, held[name].stride) for name in ("a", "b", "c", "group_scales")] == [  # type: ignore[union-attr]
        (2, 5 * 256), (2, 32 * 48), (2, 5 * 64), (2, 4 * 48)
    ]  # fmt: skip
    assert launch.grid[2] == 4
    numbers = {one.name: (one.kind, one.value) for one in launch.arguments if one.memory is None}
    assert numbers["stride_b"] == ("i64", 32 * 48)
    assert numbers["stride_groups"] == ("i64", 4 * 48)
    head = plan.emit().split("kernel attributes")[0].rpartition("(")[2]
    names = [one.partition(":")[0].strip(" %").removeprefix("pointer_") for one in head.rstrip(") ").split(",")]
    assert [one.name for one in launch.arguments] == names
    one = plan_weights(5, 48, 256, group=64, tile=(8, 16), ldc=64, **LAST)
    assert (plan.dpas_total, plan.problem.bytes) == (2 * one.dpas_total, 2 * one.problem.bytes)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (
            {"m": 1, "k": 160, "n": 64, "lda": 168},
            "A is 1x160 f16 .*begins 336 bytes.*leading dimension lda = 192 would fit",
        ),
        ({"n": 40}, "C is 5x40 f32, and each begins 800 bytes behind.*leading dimension ldc = 48 would fit"),
        (
            {"n": 36, "k": 192, "group": 64, "ldc": 48},
            "group_scales is 3x36 f32, and each begins 432 bytes.*n = 48 would fit",
        ),
        ({"batch": 0}, "batch"),
        ({"batch": 40000, "split_k": 2}, "80000 workgroups along z of the grid, at most 65535 are launched"),
    ],
)
def test_what_is_not_planned_is_said(choices: dict[str, Any], words: str) -> None:
    more: dict[str, Any] = {"m": 5, "n": 48, "k": 256, "group": 32, "batch": 3, **choices}
    with pytest.raises(PlanError, match=words):
        plan_weights(**more)


def test_rows_of_words_need_not_be_whole_lines() -> None:
    """By hand: 4 rows of scales, 36 columns of 4 bytes, are 576 bytes, nine times 64; C's 5 rows of 192 bytes are 960."""
    assert plan_weights(5, 36, 256, group=64, batch=3, ldc=48).problem.strides["stride_groups"] == 144


def test_weights_are_a_list_of_as_many() -> None:
    plan = plan_weights(8, 64, 128, batch=2)
    one, left = quantise(np.ones((128, 64))), np.ones((2, 8, 128))
    for given, words in (
        (one, "expected a list of 2, one for each matrix of the batch"),
        ([one], "a list of 1; the batch has 2 matrices"),
        ([one, quantise(np.ones((128, 64)), 8)], "weights with bits = 8: the plan has 4"),
    ):
        with pytest.raises(PlanError, match=words):
            plan.simulate(left, given)
    with pytest.raises(PlanError, match="A"):
        plan.simulate(left[0], [one, one])
    assert WeightsProblem.of(8, 64, 128, batch=2).of_one.product.batch == 1
