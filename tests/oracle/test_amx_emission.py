"""The emitted AMX modules, read by the mlir-opt of each version of LLVM in its spelling, and lowered to LLVM's dialect."""

from __future__ import annotations

import pytest

from tests.gemm.amx.test_emission import random_plan
from tests.oracle.toolchains import require, require_new, run

LOWERING = (
    "--convert-scf-to-cf",
    "--arith-expand=include-bf16=true",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-func-to-llvm=use-bare-ptr-memref-call-conv=1",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
)


def lowered(text: str, llvm: int) -> str:
    """The module in LLVM's dialect, or the compiler's message."""
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    done = run([program, *LOWERING], text)
    return done.stdout if done.returncode == 0 else done.stderr


def check(seeds: range, llvm: int) -> None:
    """Several modules in one run of the compiler: nothing is left that LLVM's dialect doesn't have."""
    texts = [random_plan(seed).emit(llvm) for seed in seeds]
    nested = "\n".join(text.replace("builtin.module {", f"builtin.module @m{i} {{", 1) for i, text in enumerate(texts))
    found = lowered(f"builtin.module {{\n{nested}\n}}\n", llvm)
    assert found.count("module @m") == len(texts), found[:2000]
    for dialect in ("unrealized_conversion_cast", "memref.", "vector.load", "arith.", "math.", "scf.", "func.func"):
        assert f" {dialect}" not in found, dialect
    assert found.count("tdp") > 0


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_llvm_takes_the_modules(llvm: int) -> None:
    check(range(llvm, llvm + 8), llvm)


@pytest.mark.exhaustive
@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("first", range(0, 500, 50))
def test_llvm_takes_500_modules(first: int, llvm: int) -> None:
    check(range(first, first + 50), llvm)
