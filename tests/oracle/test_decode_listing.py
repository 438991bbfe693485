"""Decode in machine code: the current graphics compiler makes of both kernels what was planned, and spills nothing."""

from __future__ import annotations

from typing import Any

import pytest

import layoutalg as la
from layoutalg.gemm.listing import compile_kernel, counts
from tests.oracle.toolchains import require_new


def check_listing(target: str, d: int, **more: Any) -> None:
    plan = la.plan_decode(8192, d, target=target, **more)
    require_new(f"mlir-opt-{plan.llvm}")
    require_new("ocloc")
    found = compile_kernel(plan.emit(), target, plan.registers, llvm=plan.llvm)
    assert found.kernel == "decode"
    assert (found.spilled, found.private, found.unresolved) == (0, 0, 0)
    assert (found.registers, found.lanes) == (256, 16)
    seen, masked = (counts(found.program.instructions[loop.start : loop.stop]) for loop in found.program.loops)
    for loop in (seen, masked):
        assert (loop.dpas, loop.loads) == (plan.step.dpas, plan.step.messages)
    assert abs(sum(plan.instructions.values()) - seen.total) < 0.15 * seen.total
    assert seen.total < masked.total


@pytest.mark.parametrize(
    ("target", "d", "more"),
    [
        ("bmg", 128, {"heads": 32, "kv_heads": 8, "parts": 32}),
        ("pvc", 128, {"heads": 32, "kv_heads": 8, "batch": 4, "parts": 64, "type": "bf16", "out": "bf16", "page": 64}),
        ("bmg", 64, {"heads": 12, "kv_heads": 1, "queries": 1, "llvm": 23, "parts": 1}),
        ("pvc", 96, {"heads": 5, "kv_heads": 1, "queries": 5, "order": "nhd", "out": "f16", "parts": 3}),
        ("bmg", 256, {"heads": 9, "kv_heads": 1, "parts": 8, "page": 16}),
    ],
    ids=str,
)
def test_the_loop_is_what_was_planned(target: str, d: int, more: dict[str, Any]) -> None:
    check_listing(target, d, **more)


@pytest.mark.exhaustive
@pytest.mark.parametrize("llvm", [23, 24])
@pytest.mark.parametrize("heads", [1, 8, 12])
@pytest.mark.parametrize("page", [None, 16, 32, 128])
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("d", [32, 40, 64, 72, 96, 128, 192, 256])
@pytest.mark.parametrize("target", ["bmg", "pvc"])
def test_every_head_size_fits_the_registers(
    target: str, d: int, element: str, page: int | None, heads: int, llvm: int
) -> None:
    check_listing(target, d, type=element, heads=heads, kv_heads=1, llvm=llvm, parts=16, page=page)
