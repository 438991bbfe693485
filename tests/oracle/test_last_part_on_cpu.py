"""Kernels whose last subgroup adds the parts of k, as work-items of Intel's CPU runtime that come in any order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from layoutalg.gemm import plan_gemm
from layoutalg.gemm.split_k import computed_by, counters
from tests.gemm.random_operands import operands, same_bits
from tests.oracle.kernel_cpu import run_kernel_on_cpu
from tests.oracle.xe_cpu import launch_of, result_of


def test_the_second_launch_finds_the_counters_as_the_first_did(tmp_path: Path) -> None:
    """Both write C; the kernel leaves its counters at 0, and its result is that of one launch."""
    plan = plan_gemm(
        20,
        80,
        224,
        tile=(16, 16),
        k_step=16,
        subgroups=(1, 2),
        split_k=14,
        batch=2,
        reduction="last",
        prefetch="none",
    )
    given = operands(plan)
    launch = launch_of(plan, *given)
    assert counters(plan.problem, plan.tiling) == 2 * 2 * 3 * 2
    after = run_kernel_on_cpu(replace(launch, then=("gemm", plan.grid, plan.workgroup)), tmp_path)
    assert same_bits(result_of(plan, after), computed_by(plan, *given))
    assert after[4].dtype == np.int32
    assert not after[4].any()


def test_runs_that_share_tiles_serve_two_launches(tmp_path: Path) -> None:
    """Stream-K: 12 tiles of 5 steps on 5 workgroups, one tile alone and 7 that are shared out; and 3 tiles of 4 on 5
    workgroups, one of which has nothing to do; and the 12 tiles of a batch."""
    tiling: dict[str, Any] = {"tile": (8, 32), "k_step": 32, "subgroups": (1, 2), "prefetch": "shared", "bias": "row"}
    for size, batch in (((32, 144, 136), 1), ((21, 64, 104), 1), ((16, 144, 136), 2)):
        plan = plan_gemm(*size, **tiling, stream_k=4, batch=batch)
        plan = replace(plan, tiling=replace(plan.tiling, stream_k=5))
        given = operands(plan)
        launch = launch_of(plan, *given)
        after = run_kernel_on_cpu(replace(launch, then=("gemm", plan.grid, plan.workgroup)), tmp_path)
        assert same_bits(result_of(plan, after), computed_by(plan, *given))
        assert len(after[5]) == counters(plan.problem, plan.tiling)
        assert not after[5].any()
