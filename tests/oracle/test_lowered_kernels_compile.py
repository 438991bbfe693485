"""Every lowered kernel goes through the compilers of LLVM 22, 23 and 24 to SPIR-V."""

from __future__ import annotations

import pytest

from layoutalg.module import Module
from layoutalg.propagation.lowering import lower
from tests.oracle.toolchains import require, require_new, run
from tests.simulate.levels.kernels import KERNELS


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_all_kernels_become_spirv(llvm: int) -> None:
    compiler = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    texts = [str(lower(Module(kernel.text), llvm=llvm)) for kernel in KERNELS.values()]
    kind = "bin" if llvm == 22 else "isa"  # 22 leaves SPIR-V in the binary; 23 and 24 would start Intel's compiler
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format={kind}"
    outcome = run([compiler, "--split-input-file", pipeline], "// -----\n".join(texts))
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.count("gpu.binary") == len(KERNELS)
