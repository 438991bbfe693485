"""One kernel at workgroup, subgroup and lane level: mlir-opt 22, 23 and 24 make the lower ones, and all compute the same.

Sums of small integers are exact, so every level has the same bits whatever the order of accumulation; where rounding depends on
the order (softmax, layer norm, attention) the kernel has a tolerance. A kernel that a version can't distribute is in REFUSED
with the version's words: when a new version can, the test says so.
"""

from __future__ import annotations

import pytest

from tests.oracle.distribution import LEVELS, VERSIONS, kernels_at, refusal
from tests.simulate.levels.comparing import check
from tests.simulate.levels.kernels import KERNELS

LOOPS = "Failed to update operation with the layout"
ROWS = "'vector.insert' op expected position attribute rank"
COLUMNS = "failed to legalize operation 'vector.multi_reduction'"

SCALAR = "'arith.mulf' op requires the same type for all operands and results"
CONVERT = "failed to legalize operation 'xegpu.convert_layout'"
TRANSPOSE = "failed to legalize operation 'vector.transpose'"

REFUSED: dict[tuple[int, str, str], str] = {
    **{(version, level, "times_scalar"): SCALAR for version in VERSIONS for level in LEVELS},
    **{(22, level, "convert_layout"): CONVERT for level in LEVELS},
    **{(22, level, "transpose"): TRANSPOSE for level in LEVELS},
    **{(22, "lane", name): LOOPS for name in ("gemm_f16", "gemm_bf16", "gemm_deep", "gemm_i8", "gemm_accumulate", "gemm_relu",
                                              "gemm_to_f16", "gemm_scaled")},
    **{(22, "lane", name): ROWS for name in ("sum_of_rows", "largest_of_rows", "smallest_of_rows", "softmax", "layer_norm",
                                             "attention")},
    **{(22, "lane", name): COLUMNS for name in ("sum_of_columns", "largest_of_columns")},
    (23, "lane", "gemm_i8"): "TensorDesc shape is not distributable with the layout",
    (24, "lane", "attention"): "failed to legalize operation 'vector.insert_strided_slice'",
}  # fmt: skip
LEFT = {
    (22, "lane", name): "gpu.warp_execute_on_lane_0"
    for name in ("through_shared_memory", "through_shared_memory_to_strips")
}
"""Kernels that come back half distributed: the subgroup's operation stands inside this one."""


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_distributed_kernel_computes_what_the_workgroup_computes(version: int, level: str, name: str) -> None:
    kernel, found = KERNELS[name], kernels_at(version, level)
    refused = REFUSED.get((version, level, name))
    if refused is not None:
        assert name not in found, f"LLVM {version} distributes {name} to {level}s now: take it out of REFUSED"
        assert refused in refusal(kernel.spelled_for(version), version, level)
        return
    assert name in found, refusal(kernel.spelled_for(version), version, level)[:600]
    if (version, level, name) in LEFT:
        assert LEFT[version, level, name] in found[name], f"LLVM {version} distributes {name} now: take it out of LEFT"
        return
    check(kernel, found[name], level)
