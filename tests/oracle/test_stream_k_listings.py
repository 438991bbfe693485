"""Machine code of stream-K kernels: the loop over k is the plain one, no spill, one atomic addition between two fences."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from layoutalg.gemm import plan_gemm
from tests.oracle.toolchains import require_new

SIZE = 1792, 768, 8192
TILINGS: tuple[dict[str, Any], ...] = (
    {"tile": (32, 64), "k_step": 64, "subgroups": (8, 4), "registers": 256, "prefetch": "shared"},
    {"tile": (32, 48), "k_step": 64, "subgroups": (8, 4), "registers": 256, "prefetch": "shared"},
    {"tile": (32, 32), "k_step": 32, "subgroups": (8, 4), "registers": 128, "prefetch": "shared"},
    {"tile": (16, 32), "k_step": 64, "subgroups": (4, 4), "registers": 128, "prefetch": "shared", "distance": 2},
    {"tile": (8, 16), "k_step": 64, "subgroups": (2, 2), "registers": 128, "prefetch": "none"},
    {
        "tile": (32, 64),
        "k_step": 64,
        "subgroups": (8, 4),
        "prefetch": "shared",
        "c": "f16",
        "bias": "column",
        "beta": 1.0,
    },
    {"tile": (32, 32), "k_step": 64, "subgroups": (4, 4), "prefetch": "shared", "a": "s8", "c": "s32"},
    {"tile": (32, 32), "k_step": 64, "subgroups": (4, 4), "registers": 256, "prefetch": "shared", "trans_b": True},
)


@pytest.fixture(autouse=True)
def _compilers() -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
@pytest.mark.parametrize("choices", TILINGS)
def test_the_loop_over_k_is_as_predicted_and_nothing_spills(choices: dict[str, Any], chip: str) -> None:
    plan = plan_gemm(*SIZE, target=chip, **choices, stream_k=20)
    listing = plan.listing()
    made, seen, said = listing.compiled, listing.loop.counts, listing.predicted
    assert (made.spilled, made.private, made.unresolved, made.registers) == (0, 0, 0, plan.tiling.registers)
    assert (seen.dpas, seen.loads, seen.prefetches) == (said.dpas, said.loads, said.prefetches)
    assert abs(seen.total - said.total) <= 0.15 * seen.total
    sent = re.findall(r"fence\.ugm\.\w+\.gpu|atomic_\w+", made.assembly)
    assert sent == ["fence.ugm.none.gpu", "atomic_iadd", "fence.ugm.invalidate.gpu"]


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
def test_the_loop_is_hardly_longer_than_the_plain_one(chip: str) -> None:
    plan = plan_gemm(*SIZE, target=chip, **TILINGS[0], stream_k=20)
    plain = replace(plan, tiling=replace(plan.tiling, stream_k=0, reduction="kernel"))
    loops = [one.listing().loop.counts.total for one in (plan, plain)]
    assert loops[1] <= loops[0] <= 1.07 * loops[1]
