"""Machine code of kernels whose last subgroup adds the parts of k: two fences, one atomic addition, no spill."""

from __future__ import annotations

import re
from typing import Any

import pytest

from layoutalg.gemm import plan_gemm
from tests.oracle.toolchains import require_new

DEEP: tuple[tuple[tuple[int, int, int], dict[str, Any]], ...] = (
    ((64, 64, 65536), {}),
    ((128, 128, 4096), {"split_k": 8, "c": "f16", "bias": "column", "activation": "gelu", "beta": 1.0}),
    ((64, 64, 4096), {"tile": (32, 64), "k_step": 64, "subgroups": (1, 1), "split_k": 16, "reduction": "last"}),
)


@pytest.fixture(autouse=True)
def _compilers() -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
@pytest.mark.parametrize(("size", "choices"), DEEP)
def test_the_last_subgroup_is_found_by_one_atomic_addition_between_two_fences(
    size: tuple[int, int, int], choices: dict[str, Any], chip: str
) -> None:
    plan = plan_gemm(*size, target=chip, **choices)
    assert plan.tiling.reduction == "last"
    listing = plan.listing()
    made, seen, said = listing.compiled, listing.loop.counts, listing.predicted
    assert (made.spilled, made.private, made.unresolved, made.registers) == (0, 0, 0, plan.tiling.registers)
    assert (seen.dpas, seen.loads, seen.prefetches) == (said.dpas, said.loads, said.prefetches)
    assert abs(seen.total - said.total) <= 0.15 * seen.total
    sent = re.findall(r"fence\.ugm\.\w+\.gpu|atomic_\w+|store_block2d|load_block2d", made.assembly)
    before, behind = sent.index("fence.ugm.none.gpu"), sent.index("fence.ugm.invalidate.gpu")
    assert [one for one in sent if one.startswith(("fence", "atomic"))] == [
        "fence.ugm.none.gpu", "atomic_iadd", "fence.ugm.invalidate.gpu",
    ]  # fmt: skip
    blocks = plan.blocks[0] * plan.blocks[1]
    assert sent[before - blocks : before] == ["store_block2d"] * blocks  # the sums of this part
    assert sent[behind + 1] == "load_block2d"
    assert sent[-1] == "store_block2d"
