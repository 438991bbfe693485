"""The kernels that LLVM 22 distributes to lanes, as work-items on Intel's CPU runtime: the simulator computes the same.

The text that the simulator runs is lowered to SPIR-V, all kernels in one module. Block messages and DPAS are the plain loops of
`builtins`. Kernels that LLVM 22 refuses (see `test_levels`) are not here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.oracle.distribution import kernels_at
from tests.oracle.kernel_cpu import Launch, module_of, run_kernels
from tests.simulate.levels.comparing import computed, matches
from tests.simulate.levels.kernels import KERNELS

Array = NDArray[Any]

NAMES = ("add_f32", "sub_f16", "multiply_i32", "chain_f32", "exponential_f32", "divide_f32", "widen_f16", "rows_by_workgroup",
         "sum_of_tiles", "branch_by_workgroup", "gemm_once", "gemm_once_bf16", "gemm_once_relu", "select_smaller",
         "convert_to_itself", "gather_backwards", "gather_in_pairs")  # fmt: skip


@cache
def executed(directory: Path) -> dict[str, Array]:
    """What the CPU writes, by the kernel's name."""
    texts = kernels_at(22, "lane")
    functions = [texts[name][texts[name].index("gpu.func") : texts[name].rstrip().rindex("}", 0, -1)] for name in NAMES]
    launches = [
        Launch(name, tuple(KERNELS[name].operands()), KERNELS[name].grid, (KERNELS[name].subgroups * 16, 1, 1))
        for name in NAMES
    ]
    after = run_kernels(module_of(functions), launches, directory)
    return {name: arrays[-1] for name, arrays in after.items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_lanes_of_llvm_22_compute_the_same_on_the_cpu_and_in_the_simulator(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    theirs = executed(tmp_path_factory.getbasetemp())[name]
    mine, _ = computed(KERNELS[name], kernels_at(22, "lane")[name], "lane")
    assert matches(KERNELS[name], theirs)
    if name == "exponential_f32":
        # OpenCL allows exp three units of the last place.
        assert (np.abs(mine - theirs) <= np.spacing(np.abs(mine)) * 3).all()
    else:
        assert np.array_equal(mine.view(np.uint8), theirs.view(np.uint8))
