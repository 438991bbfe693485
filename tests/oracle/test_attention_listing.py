"""Attention in machine code: the current graphics compiler makes of a kernel the loop that was planned, and spills nothing.

The loop is counted on the way where no row gets another m: a uniform jump skips the rest of it. The form with one maximum has
no other way.
"""

from __future__ import annotations

from typing import Any

import pytest

from layoutalg.gemm.attention import plan_attention
from layoutalg.gemm.attention.counting import other_instructions
from layoutalg.gemm.attention.listing import annotated, compiled, usual_path
from layoutalg.gemm.listing import counts
from tests.oracle.toolchains import require_new

LIMITS = {("bmg", 64): 6.9, ("pvc", 64): 7.8, ("bmg", 128): 4.9, ("pvc", 128): 5.5}
"""The bar: instructions that a loop may have for each DPAS of the two products, pitches or none."""

LABORATORY = {
    ("bmg", 64): (5.23, 0.13),
    ("pvc", 64): (5.73, 0.39),
    ("bmg", 128): (3.78, 0.13),
    ("pvc", 128): (4.55, 0.39),
}
"""What the form with one maximum reached by hand in the same compiler, and what a shared prefetch adds; 5 % more is the bar."""


def check_listing(target: str, d: int, **more: Any) -> None:
    plan = plan_attention(1024, 1024, d, target=target, **more)
    require_new(f"mlir-opt-{plan.llvm}")
    require_new("ocloc")
    found = compiled(plan)
    assert (found.spilled, found.private, found.unresolved) == (0, 0, 0)
    assert (found.registers, found.lanes) == (256, 16)
    rounds = 0 if plan.share is None else plan.share.rounds
    loop = counts(usual_path(found.program))
    assert (loop.dpas, loop.loads, loop.prefetches) == (plan.step.dpas, plan.step.messages, rounds)
    assert abs(sum(plan.instructions.values()) - loop.total) < 0.05 * loop.total
    if (target, d) in LIMITS and plan.maximum == "online":
        assert loop.total / plan.useful_dpas <= LIMITS[target, d]
    elif (target, d) in LABORATORY:
        reached, ahead = LABORATORY[target, d]
        assert loop.total / plan.useful_dpas <= 1.05 * (reached + ahead * rounds)
    named = [line.rpartition("// ")[2] for line in annotated(found)]
    assert {f"load of {name}": named.count(f"load of {name}") for name in "QKV"} == {
        f"load of {name}": count for name, count in plan.step.loads.items()
    }
    rows = plan.rows * plan.keys_per_step // 16
    for name in ("P = exp2(..), one row", "P rounded, one row", "scale * (S - m), one row"):
        assert named.count(name) == rows


@pytest.mark.parametrize(
    ("target", "d", "more"),
    [
        ("bmg", 64, {}),
        ("pvc", 64, {"llvm": 23, "causal": True, "type": "bf16", "out": "bf16", "heads": 4, "kv_heads": 2}),
        ("bmg", 128, {"llvm": 23, "causal": True, "heads": 4}),
        ("pvc", 128, {"causal": True, "out": "f16"}),
        ("bmg", 128, {"prefetch": "none"}),
        ("pvc", 80, {"subgroups": 2, "prefetch": "shared"}),
        ("bmg", 224, {"causal": True}),
        ("bmg", 64, {"causal": True, "window": 200, "heads": 4, "order": "bshd"}),
        ("bmg", 128, {"heads": 4, "ldq": 192, "ldk": 160, "ldv": 256, "ldo": 160}),
        ("pvc", 64, {"heads": 4, "order": "bshd", "type": "bf16"}),
        ("pvc", 128, {"heads": 4, "order": "bshd", "starts_q": (0, 24, 1024), "starts_k": (0, 300, 1024)}),
        ("pvc", 256, {"type": "bf16"}),
        ("bmg", 64, {"maximum": "first", "prefetch": "none"}),
        (
            "pvc",
            64,
            {"maximum": "first", "prefetch": "none", "llvm": 23, "type": "bf16", "causal": True, "window": 200},
        ),
        ("bmg", 128, {"maximum": "first", "heads": 4, "order": "bshd", "causal": True}),
        ("pvc", 128, {"maximum": "first", "type": "bf16"}),
    ],
    ids=str,
)
def test_the_loop_is_what_was_planned(target: str, d: int, more: dict[str, Any]) -> None:
    check_listing(target, d, **more)


@pytest.mark.parametrize(
    ("target", "d", "maximum"), [("bmg", 64, "first"), ("pvc", 128, "online"), ("bmg", 192, "first")]
)
def test_other_loops_have_the_instructions_that_times_are_predicted_from(target: str, d: int, maximum: str) -> None:
    """The loop with a mask and the one with the exact maximum, by the usual way through each."""
    plan = plan_attention(1024, 1024, d, target=target, maximum=maximum)
    require_new(f"mlir-opt-{plan.llvm}")
    require_new("ocloc")
    program = compiled(plan).program
    exact = program.loops[-1]
    masked, anew = other_instructions(plan)
    assert abs(anew - (exact.stop - exact.start)) < 0.15 * anew
    if maximum == "first":  # the loop of the other form has a second way, for another m
        with_mask = program.loops[1]
        assert abs(masked - (with_mask.stop - with_mask.start)) < 0.15 * masked


@pytest.mark.exhaustive
@pytest.mark.parametrize("maximum", ["online", "first"])
@pytest.mark.parametrize("llvm", [23, 24])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("d", [32, 40, 64, 80, 96, 128, 136, 192, 224, 256])
@pytest.mark.parametrize("target", ["bmg", "pvc"])
def test_every_head_size_fits_the_registers(
    target: str, d: int, element: str, causal: bool, llvm: int, maximum: str
) -> None:
    check_listing(target, d, type=element, causal=causal, llvm=llvm, maximum=maximum)
