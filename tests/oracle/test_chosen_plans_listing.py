"""Machine code of the plans that are chosen for random problems: loops as long as the model says, within 15 %.

`make exhaustive` compiles 60 of them: all types, both storages, groups, gated pairs, prefetched lines, rows that no message
reaches, one row to thousands.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.listing import compile_kernel
from tests.oracle.toolchains import require_new

WITHIN = 0.15


def random_problem(draw: random.Random) -> Gemm:
    """The chosen plan of any problem."""
    options: dict[str, Any] = {"a": draw.choice(["f16", "bf16", "tf32", "s8"])}
    m = draw.choice([1, 4, 8, 16, 32, 64, 128, 300, 512, 1024, 2048, 4096, 4095])
    n, k = draw.choice([64, 512, 1024, 4096, 11008, 14336]), draw.choice([512, 1024, 2048, 4096, 11008])
    more: tuple[dict[str, Any], ...] = (
        {}, {}, {}, {"trans_b": True}, {"trans_b": True}, {"trans_a": True}, {"trans_a": True}, {"prefetch": "lines"},
        {"groups": draw.choice([8, 16, 64])}, {"lda": k + 8}, {} if options["a"] == "s8" else {"gated": "silu"},
    )  # fmt: skip
    return plan_gemm(m, n, k, target=draw.choice(["bmg", "pvc"]), **options, **draw.choice(more))


def deviation(plan: Gemm) -> float:
    """How far the predicted instructions of a step are from those of the loop, as a part of these."""
    require_new("mlir-opt-24")
    require_new("ocloc")
    made = compile_kernel(plan.emit(), plan.target, plan.tiling.registers)
    assert made.fits, (plan.problem, plan.tiling)
    return counted(plan.problem, plan.tiling).total / len(made.program.inner_loop) - 1


@pytest.mark.parametrize("seed", range(2))
def test_the_chosen_plan_is_as_predicted(seed: int) -> None:
    plan = random_problem(random.Random(seed))
    assert abs(deviation(plan)) <= WITHIN, (plan.problem, plan.tiling)


@pytest.mark.exhaustive
def test_sixty_chosen_plans_are_as_predicted() -> None:
    draw = random.Random(1)
    found = {f"{plan.problem}, {plan.tiling}": deviation(plan) for plan in (random_problem(draw) for _ in range(60))}
    assert not {text: share for text, share in found.items() if abs(share) > WITHIN}
