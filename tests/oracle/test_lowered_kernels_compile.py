"""Every lowered kernel goes through the compilers of LLVM 22, 23 and 24 to SPIR-V."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.lowering import exchanges, lower
from layoutalg.module import Module
from tests.lowering.more_kernels import MORE
from tests.lowering.real_kernels import KERNELS as REAL
from tests.lowering.test_what_is_written import conversion, copied
from tests.oracle.toolchains import require, require_new, run
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


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_real_kernels_become_spirv(llvm: int) -> None:
    """Integers without an accumulator, several blocks, packed rows, branches, calls, sizes known when it runs."""
    compiler = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    texts: list[str] = []
    for kernel in REAL.values():
        stated = la.propagate(Module(kernel.text), level="lane").module
        assert stated is not None
        texts.append(str(lower(stated, llvm=llvm)))
    kind = "bin" if llvm == 22 else "isa"
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format={kind}"
    outcome = run([compiler, "--split-input-file", pipeline], "// -----\n".join(texts))
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.count("gpu.binary") == len(REAL)


@pytest.mark.parametrize("llvm", [23, 24])
def test_called_conversions_become_machine_code(llvm: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "_MOST_INLINE", 256)
    compiler, graphics = require_new(f"mlir-opt-{llvm}"), require_new("ocloc")
    text = copied(32, conversion("y", "x", True, 32) + "\n" + conversion("z", "y", False, 32), "%z")
    size = "known_block_size = array<i32: 16, 1, 1>, "  # who shares memory is not known without it: shuffles, then
    made = str(lower(Module(text.replace(size, "")), llvm=llvm)).replace("attributes {", f"attributes {{{size}", 1)
    assert made.count("func.call") == 2
    pipeline = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format=bin"
    outcome = run(["env", f"PATH={Path(graphics).parent}:{os.environ['PATH']}", compiler, pipeline], made)
    assert outcome.returncode == 0, outcome.stderr
    assert "ELF" in outcome.stdout
