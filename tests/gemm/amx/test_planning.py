"""`plan_gemm` for CPUs: the plan of `plan_amx`, and words for what only GPUs have."""

from __future__ import annotations

from typing import Any

import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.amx import plan_amx


@pytest.mark.parametrize("target", ["amx", "spr", "gnr"])
def test_a_cpu_is_a_target_of_plan_gemm(target: Any) -> None:
    options: dict[str, Any] = {
        "trans_b": True,
        "alpha": 0.5,
        "bias": "row",
        "activation": "relu",
        "lda": 210,
        "batch": 3,
        "llvm": 22,
    }
    assert plan_gemm(100, 60, 200, "s8", "u8", "f32", target, acc="s32", **options) == plan_amx(
        100, 60, 200, "s8", "u8", "f32", target, **options
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"tile": (32, 32)},
            "for target 'amx' plan_amx takes blocking, blocks, order and pack_a",
        ),
        ({"registers": 256}, "registers = 256: a choice for GPUs"),
        ({"prefetch": "none"}, "prefetch = 'none': a choice for GPUs"),
        ({"acc": "f16"}, "acc = 'f16': AMX adds products of bf16 in f32"),
    ],
)
def test_what_only_gpus_have_is_refused_in_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_gemm(64, 64, 64, target="amx", **options)
