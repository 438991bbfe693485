"""Prefetches of quantised weights: the same bits, every line of the loop is asked for once and in time, mistakes show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm.weights import WeightsGemm, plan_weights
from layoutalg.gemm.weights.numerics import computed
from layoutalg.gemm.weights.run import execute
from layoutalg.simulate import Executed
from tests.gemm.mutating import prefetches
from tests.gemm.random_operands import same_bits
from tests.gemm.test_weights import random_weights

Array = NDArray[Any]

CASES: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((13, 96, 512), {"group": 64, "tile": (8, 16), "subgroups": (1, 4), "distance": 1}),
    ((61, 64, 640), {"zeros": True, "tile": (8, 32), "subgroups": (4, 2), "distance": 2}),
    ((21, 96, 320), {"b": "u8", "group": 32, "tile": (8, 16), "subgroups": (3, 3), "distance": 4}),
    ((1, 64, 1024), {"group": 256, "tile": (8, 64), "subgroups": (1, 1), "distance": 2, "zeros": True}),
    ((40, 64, 640), {"a": "bf16", "b": "u8", "tile": (32, 32), "subgroups": (2, 1), "distance": 1, "target": "bmg"}),
    ((13, 64, 896), {"tile": (8, 16), "subgroups": (1, 2), "distance": 2, "split_k": 2, "reduction": "last"}),
]


def run(plan: WeightsGemm, text: str | None = None) -> Executed:
    """The plan's kernel, or another, run on random arrays: the bits are those of the stated model."""
    product = plan.problem.product
    left = np.random.default_rng(0).standard_normal((product.m, product.k)).astype(np.float32)
    weights = random_weights(plan.problem)
    found, executed = execute(plan, left, weights, text=text, counted="lines")
    assert same_bits(found, computed(plan.problem, left, weights, parts=plan.tiling.split_k))
    assert executed is not None
    return executed


def rules(plan: WeightsGemm, text: str | None = None) -> set[str]:
    """What is wrong with the prefetches; a subgroup without a share asks outside of the matrix, for nothing."""
    lines = run(plan, text).lines
    assert lines is not None
    return {finding.rule for finding in lines.findings(1)} - {"prefetch.outside"}


@pytest.mark.parametrize(("size", "choices"), CASES, ids=str)
def test_what_the_loop_loads_is_asked_for_once_and_in_time(size: tuple[int, int, int], choices: dict[str, Any]) -> None:
    plan = plan_weights(*size, **{"prefetch": "shared", "split_k": 1, **choices})
    assert rules(plan) == set()
    sent = run(plan).total("prefetch").messages
    steps, distance = size[2] // plan.problem.step, plan.tiling.distance
    parts = [range(steps)[begin : begin + plan.k_steps] for begin in range(0, steps, plan.k_steps)]
    asked = sum(len(part) + min(distance, len(part)) - 1 for part in parts)
    assert sent == plan.prefetches_per_step * plan.grid[0] * plan.grid[1] * plan.tiling.count * asked


def test_a_wrong_prefetch_changes_no_result_and_is_said() -> None:
    plan = plan_weights(16, 96, 320, group=64, tile=(8, 32), subgroups=(2, 2), prefetch="shared", split_k=1, zeros=True)
    text = plan.emit()
    made = prefetches(text, 16)
    assert len(made) == 16
    for mutant in made:
        try:
            assert rules(plan, mutant.text), mutant.mistake
        except LayoutError:
            continue  # rows of words that no message takes


def test_few_subgroups_ask_ahead_and_many_do_not() -> None:
    """By hand for 1x4096x4096 on pvc: 8x16 tiles are 256 subgroups for 512 engines (64 cores of 8), one each, so nothing hides
    the wait of a step; 16 cores' worth of rows later there are instructions enough."""
    few, many = plan_weights(1, 4096, 4096), plan_weights(512, 4096, 4096)
    assert (few.tiling.prefetch, few.tiling.split_k, many.tiling.prefetch) == ("shared", 1, "none")
    assert few.predicted < 0.9 * plan_weights(1, 4096, 4096, prefetch="none").predicted
    assert plan_weights(1, 64, 128).tiling.prefetch == "none"  # one step


def test_the_wait_of_a_step_by_hand() -> None:
    """One subgroup on an engine of pvc, memory 2 * 400 clocks away: 31 of 32 steps wait 800 - 0, or what is left of 800 / 2."""
    plans = [
        plan_weights(1, 4096, 4096, tile=(8, 16), split_k=1, prefetch="none"),
        plan_weights(1, 4096, 4096, tile=(8, 16), split_k=1, prefetch="shared", distance=2),
    ]
    for plan, wait in zip(plans, (800, max(0.0, 400 - plans[1].instructions)), strict=True):
        assert plan.seconds["waiting"] * 1.6e9 == pytest.approx(800 + 31 * wait + 32 * plan.instructions)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"prefetch": "lines"}, "prefetch = 'lines': weights are prefetched with block messages; 'shared' would do"),
        ({"prefetch": "all"}, "prefetch 'all': expected 'none' or 'shared'"),
        ({"prefetch": "shared", "distance": 65}, "distance"),
        ({"distance": 0}, "distance"),
    ],
)
def test_what_is_not_planned_is_said(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_weights(8, 64, 256, **choices)
