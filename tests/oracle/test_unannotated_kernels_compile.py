"""Kernels without layouts, brought to lanes by one call, become machine code: LLVM 24, then Intel's current compiler.

A build that passes says little: a function that the graphics compiler does not have stays as a call. So what counts is the
listing: no such call, and the products' matrix instructions.
"""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from layoutalg.gemm.attention import plan_attention
from layoutalg.gemm.attention.listing import compiled, usual_path
from layoutalg.gemm.listing import compile_kernel, counts
from tests.oracle.toolchains import require_new
from tests.propagation.test_unannotated import LOWERED, computes
from tests.propagation.unannotated import UNANNOTATED, flash_attention


@pytest.mark.parametrize("chip", ["pvc", "bmg"])
@pytest.mark.parametrize("name", LOWERED)
def test_a_kernel_without_layouts_becomes_machine_code(name: str, chip: str) -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")
    text = UNANNOTATED[name].text
    made = compile_kernel(str(la.lower(text, level="lane", target=chip)), chip, 256, llvm=24)
    assert made.unresolved == 0
    assert ("dpas" in made.assembly) == ("xegpu.dpas" in text)


# The planner's own kernels of 64x64 have 9 instructions for each dpas in their loop on bmg. These are counted whole: their
# loops are unrolled.
@pytest.mark.parametrize("name", ["gemm_batched", "gemm_transposed"])
def test_a_product_takes_at_most_twice_the_instructions_of_a_planned_one(name: str) -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")
    made = compile_kernel(str(la.lower(UNANNOTATED[name].text, level="lane", target="bmg")), "bmg", 256, llvm=24)
    lines = [line.strip() for line in made.assembly.splitlines()]
    instructions = [line for line in lines if line and not line.startswith("//") and not line.endswith(":")]
    products = sum("dpas" in line for line in instructions)
    assert products >= 16
    assert len(instructions) <= 18 * products


def with_hardware_exp(text: str) -> str:
    """The planner says `afn` of its exponentials: the hardware's own. Without it one exponential is 14 instructions more."""
    return re.sub(r"(math\.exp %\w+) :", r"\1 fastmath<afn> :", text)


# The planned loop takes 442 instructions for 64 keys on bmg and 496 on pvc, on the way that a step usually takes. The lowered
# one has 852 and 913 (1.93 and 1.84 times as many): it multiplies the output by a factor in each step, the planner
# only where a row's maximum grew. Where the kernel is unrolled it has 1018 and 1085, because all of it is counted then, its
# loads of Q, its division and its stores too: 166 and 172 more than a step of the loop.
# Without `afn` the loop has 1748 on bmg. Steps of 32 keys have 634 each: they multiply the output by a factor twice as often.
@pytest.mark.parametrize("chip", ["pvc", "bmg"])
@pytest.mark.parametrize("name", ["attention", "flash_attention"])
def test_attention_takes_at_most_twice_the_instructions_of_a_planned_one(name: str, chip: str) -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")
    loops = name == "flash_attention"
    kernel = flash_attention(64) if loops else UNANNOTATED[name]
    plan = plan_attention(64, 128 if loops else 64, 64, target=chip, out="f32")
    planned = counts(usual_path(compiled(plan).program))
    lowered = la.lower(with_hardware_exp(kernel.text), level="lane", target=chip)
    assert lowered.module is not None
    computes(kernel, lowered.module)
    made = compile_kernel(str(lowered), chip, 256, llvm=24)
    assert (made.unresolved, made.spilled) == (0, 0)
    found = counts(made.program.inner_loop if loops else made.program.instructions)
    # 16 queries and 64 keys of each: S = Q K^T and O += P V, 32 products each. The planned one also sums the rows of P by dpas.
    assert plan.keys_per_step == 64
    assert (found.dpas, planned.dpas, plan.useful_dpas) == (64, plan.step.dpas, 64)
    outside = 0 if loops else 160
    assert found.total - outside <= 2 * planned.total
