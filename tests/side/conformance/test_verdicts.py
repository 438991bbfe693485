"""What a distributed kernel's text is judged to be, without a compiler."""

from __future__ import annotations

import pytest

from layoutalg.side.conformance.kernel import GeneratedKernel
from layoutalg.side.conformance.verdicts import simulated

PRODUCT = """
gpu.module @k {{
  gpu.func @k(%p0: i64) kernel attributes {{intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>}} {{
    %a = arith.constant dense<1> : vector<{a}xi8>
    %b = arith.constant dense<1> : vector<{b}xi8>
    %c = arith.constant dense<0> : vector<8xi32>
    %d = xevm.mma %a, %b, %c {{shape = <m = 8, n = 16, k = 32>, types = <d = s32, a = s8, b = s8, c = s32>}} :
      (vector<{a}xi8>, vector<{b}xi8>, vector<8xi32>) -> vector<8xi32>
    gpu.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (8, 16, "xevm.mma: A has 8 elements per lane; its 8x32 block over 16 lanes has 16"),
        (16, 16, "xevm.mma: B has 16 elements per lane; its 32x16 block over 16 lanes has 32"),
    ],
)
def test_an_instruction_whose_operands_do_not_have_its_shape_is_wrong(a: int, b: int, words: str) -> None:
    kernel = GeneratedKernel("k", "", (("i32", (8, 16)),))
    verdict = simulated(kernel, PRODUCT.format(a=a, b=b), "memory", "lane", None)
    assert (verdict.kind, words in verdict.words) == ("wrong", True), verdict.words


def test_what_the_simulator_does_not_know_is_no_mistake() -> None:
    kernel = GeneratedKernel("k", "", (("i32", (8, 16)),))
    verdict = simulated(kernel, PRODUCT.format(a=16, b=32).replace("xevm.mma", "xevm.nothing"), "memory", "lane", None)
    assert verdict.kind == "not simulated"
