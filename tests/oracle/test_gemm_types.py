"""Types and storages in machine code: the loops that the current graphics compiler makes of the emitted kernels.

A limit is the number of instructions per dpas that a loop may have, with a shared prefetch, messages, waits and the jump
included. Transposed A of 8 bits has no message that delivers it, so its loop is long: pairs of bytes are put together.
"""

from __future__ import annotations

from typing import Any

import pytest

from layoutalg.gemm import plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.listing import compile_kernel, counts
from tests.oracle.toolchains import require, require_new, run

BOTH: dict[str, Any] = {"trans_a": True, "trans_b": True}
ROLES: dict[str, Any] = {"transpose": "roles", "tile": (64, 32), "subgroups": (4, 8)}
SLM: dict[str, Any] = {"transpose": "slm"}
CASES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "s8": ({"a": "s8", "k_step": 128}, {"bmg": 1.5, "pvc": 1.55}),
    "u8 x s8": ({"a": "u8", "b": "s8", "k_step": 128}, {"bmg": 1.5, "pvc": 1.55}),
    "tf32": ({"a": "tf32", "k_step": 32}, {"bmg": 1.6, "pvc": 1.7}),
    "bf16 accumulators": ({"a": "bf16", "acc": "bf16", "tile": (64, 64)}, {"bmg": 1.4, "pvc": 1.5}),
    "f16, B transposed": ({"trans_b": True}, {"bmg": 1.75, "pvc": 2.0}),
    "s8, B transposed": ({"a": "s8", "trans_b": True, "k_step": 128}, {"bmg": 1.75, "pvc": 2.0}),
    "tf32, B transposed": ({"a": "tf32", "trans_b": True, "k_step": 32}, {"bmg": 1.75, "pvc": 2.0}),
    "f16, A transposed": ({"trans_a": True, "transpose": "registers", "k_step": 32}, {"bmg": 4.2, "pvc": 4.9}),
    "s8, A transposed": (
        {"a": "s8", "trans_a": True, "transpose": "registers", "k_step": 64},
        {"bmg": 9.0, "pvc": 9.5},
    ),
    "tf32, A transposed": ({"a": "tf32", "trans_a": True, "k_step": 32}, {"bmg": 1.9, "pvc": 2.2}),
    "s8, both transposed": ({**BOTH, "a": "s8", "k_step": 64, "transpose": "registers"}, {"bmg": 9.0, "pvc": 9.8}),
    "f16, roles": ({**BOTH, **ROLES}, {"bmg": 1.4, "pvc": 1.45}),
    "bf16, roles, epilogue": (
        {**BOTH, **ROLES, "a": "bf16", "c": "bf16", "beta": 1.0, "bias": "row"},
        {"bmg": 1.4, "pvc": 1.45},
    ),
    "s8, roles": ({**BOTH, **ROLES, "a": "s8", "k_step": 128}, {"bmg": 1.5, "pvc": 1.55}),
    "f16, shared memory": ({"trans_a": True, **SLM}, {"bmg": 2.2, "pvc": 3.25}),
    "bf16, shared memory": ({"trans_a": True, **SLM, "a": "bf16", "prefetch": "none"}, {"bmg": 2.1, "pvc": 3.1}),
    "s8, shared memory": ({"trans_a": True, **SLM, "a": "s8", "k_step": 128}, {"bmg": 2.35, "pvc": 3.3}),
    "f16, scratch": ({"trans_a": True, "transpose": "scratch"}, {"bmg": 1.8, "pvc": 2.15}),
    "s8, scratch": ({"trans_a": True, "transpose": "scratch", "a": "s8", "k_step": 128}, {"bmg": 1.8, "pvc": 2.1}),
    "tf32, roles": ({**BOTH, **ROLES, "a": "tf32", "k_step": 32}, {"bmg": 1.5, "pvc": 1.6}),
}
QUICK = [
    ("s8", "bmg", 24),
    ("bf16, roles, epilogue", "bmg", 24),
    ("f16, roles", "pvc", 23),
    ("f16, shared memory", "bmg", 24),
    ("f16, scratch", "pvc", 24),
    ("s8, shared memory", "pvc", 23),
    ("tf32", "pvc", 23),
    ("f16, B transposed", "pvc", 24),
    ("f16, A transposed", "bmg", 24),
]
ALL = [(name, target, llvm) for name in CASES for target in ("bmg", "pvc") for llvm in (23, 24)]


def check(name: str, target: str, llvm: int) -> None:
    require_new(f"mlir-opt-{llvm}")
    require_new("ocloc")
    options, limits = CASES[name]
    chosen: dict[str, Any] = {
        "tile": (32, 64),
        "k_step": 64,
        "registers": 256,
        "subgroups": (8, 4),
        "prefetch": "shared",
    } | options
    gemm = plan_gemm(4096, 4096, 4096, target=target, llvm=llvm, **chosen)
    found = compile_kernel(gemm.emit("lane"), target, 256, llvm=llvm)
    assert (found.spilled, found.private, found.unresolved) == (0, 0, 0)
    assert (found.registers, found.lanes) == (256, 16)
    loop = counts(found.program.inner_loop)
    assert loop.dpas == gemm.dpas_per_step
    said = counted(gemm.problem, gemm.tiling, llvm)
    assert (loop.loads, loop.stores) == (said.loads, said.stores)
    assert "transpose" in options or loop.loads == len(gemm.messages)
    assert loop.per_dpas <= limits[target]
    within = {"roles": 0.05, "slm": 0.15, "scratch": 0.1}.get(options.get("transpose", ""), 1.0)
    assert abs(loop.total - said.total) <= within * loop.total


@pytest.mark.parametrize(("name", "target", "llvm"), QUICK)
def test_the_loop_is_as_short_as_planned(name: str, target: str, llvm: int) -> None:
    check(name, target, llvm)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "target", "llvm"), [case for case in ALL if case not in QUICK])
def test_the_loops_of_all_types_and_storages(name: str, target: str, llvm: int) -> None:
    check(name, target, llvm)


BUILTINS = {
    "s8": ("intel_sub_group_i8_i8_matrix_mad_k32", "8b"),
    "tf32": ("intel_sub_group_tf32_tf32_matrix_mad_k8", "32b"),
}


@pytest.mark.parametrize(
    "stored", [{}, {"trans_a": True}, {"trans_b": True}], ids=lambda stored: "-".join(stored) or "plain"
)
@pytest.mark.parametrize("a", BUILTINS)
def test_llvm_22_names_functions_that_the_graphics_compiler_has(a: str, stored: dict[str, Any]) -> None:
    program = require("mlir-opt-22")
    gemm = plan_gemm(512, 512, 512, a, tile=(16, 32), registers=128, prefetch="none", llvm=22, **stored)
    pipeline = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format=isa"
    lowered = run([program, pipeline], gemm.emit("lane"))
    assert lowered.returncode == 0, lowered.stderr
    assert BUILTINS[a][0] in lowered.stdout

    for message in gemm.messages:
        assert f"intel_sub_group_2d_block_{message.load.name}" in lowered.stdout
