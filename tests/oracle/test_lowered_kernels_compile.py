"""Every lowered kernel goes through the compilers of LLVM 22, 23 and 24 to SPIR-V."""

from __future__ import annotations

import pytest

from layoutalg.module import Module
from layoutalg.propagation.lowering import lower
from tests.oracle.toolchains import require, require_new, run
from tests.propagation.lowering.more_kernels import MORE
from tests.simulate.levels.comparing import computed, matches
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


@pytest.mark.parametrize("llvm", [22, 24])
def test_what_llvm_distributes_to_subgroups_is_lowered_right(llvm: int) -> None:
    """Kernels that LLVM's passes bring to subgroup level, and 24's propagation completes for lanes."""
    compiler = require("mlir-opt-22") if llvm == 22 else require_new("mlir-opt-24")
    passes = ["--xevm-attach-target=chip=pvc", "--xegpu-wg-to-sg-distribute", "--cse"]
    if llvm == 24:
        passes.insert(1, "--xegpu-propagate-layout=layout-kind=subgroup")
        passes.append("--xegpu-propagate-layout=layout-kind=lane")
    refused: list[str] = []
    for name, kernel in KERNELS.items():
        outcome = run([compiler, *passes], kernel.spelled_for(llvm))
        if outcome.returncode:
            refused.append(name)
            continue
        lowered = lower(Module(outcome.stdout))
        assert [str(finding) for finding in lowered.findings if finding.level == "error"] == []
        result, rules = computed(kernel, str(lowered), "lane")
        assert not rules
        assert matches(kernel, result), name
    assert len(refused) <= 6, refused  # what LLVM itself refuses


def test_more_operations_become_spirv_with_llvm_24() -> None:
    compiler = require_new("mlir-opt-24")
    texts = [str(lower(Module(kernel.text))) for kernel in MORE.values()]
    pipeline = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format=isa"
    outcome = run([compiler, "--split-input-file", pipeline], "// -----\n".join(texts))
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.count("gpu.binary") == len(MORE)
