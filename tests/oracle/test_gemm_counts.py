"""What LLVM makes of a planned kernel executes what the plan's text executes: the same products, messages and cache lines.

XeVM's messages say their surface in bytes, their block and its place one by one, so these counts come from LLVM's numbers and
not from the descriptors that the text has.
"""

import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm.run import execute
from tests.oracle.llvm_xegpu import mlir_opt
from tests.oracle.toolchains import run

PASSES = "builtin.module(xevm-attach-target{chip=pvc},gpu.module(convert-xegpu-to-xevm,canonicalize,cse))"
PLANS = [
    {
        "a": "f16",
        "tile": (32, 32),
        "subgroups": (2, 2),
        "k_step": 32,
        "registers": 256,
        "prefetch": "shared",
        "lda": 168,
    },
    {"a": "bf16", "trans_b": True, "tile": (16, 32), "subgroups": (1, 2), "k_step": 32, "beta": 1, "prefetch": "none"},
    {"a": "f16", "trans_a": True, "tile": (32, 32), "k_step": 32, "bias": "column", "prefetch": "none"},
]


@pytest.mark.parametrize("llvm", [23, 24])
@pytest.mark.parametrize("options", PLANS, ids=lambda options: "-".join(map(str, options)))
def test_lowered_kernels_execute_the_same(llvm, options):
    gemm = la.plan_gemm(40, 80, 160, llvm=llvm, **options)
    text = gemm.emit()
    done = run([mlir_opt(llvm), f"--pass-pipeline={PASSES}", "-"], text)
    assert done.returncode == 0, done.stderr[:2000]
    assert "xevm.blockload2d" in done.stdout
    assert "xegpu" not in done.stdout
    rng = np.random.default_rng(40)
    a, b, c = (rng.standard_normal((matrix.rows, matrix.columns)) for matrix in gemm.matrices)
    arrays = a, b, c if gemm.problem.beta else None, np.arange(80) if gemm.problem.bias else None
    (ours, counted), (theirs, executed) = (
        execute(gemm, *arrays, text=each, counted="lines") for each in (text, done.stdout)
    )
    assert np.array_equal(ours, theirs)
    assert executed.dpas == counted.dpas == gemm.dpas_total
    assert executed.by_name == counted.by_name
    for name in ("workgroup", "line", "asked", "asked_at", "loaded_at", "ahead", "missed_at"):
        assert np.array_equal(getattr(executed.lines, name), getattr(counted.lines, name))
