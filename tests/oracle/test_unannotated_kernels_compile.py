"""Kernels without layouts, brought to lanes by one call, become machine code: LLVM 24, then Intel's current compiler.

A build that passes says little: a function that the graphics compiler does not have stays as a call. So what counts is the
listing: no such call, and the products' matrix instructions.
"""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.gemm.listing import compile_kernel
from tests.oracle.toolchains import require_new
from tests.propagation.test_unannotated import LOWERED
from tests.propagation.unannotated import UNANNOTATED


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
