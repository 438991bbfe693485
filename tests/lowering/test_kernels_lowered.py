"""Kernels at workgroup level, lowered and run as work-items, compute what they do at workgroup level."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.lowering import Lowered, lower
from layoutalg.module import Module
from tests.simulate.levels.comparing import computed, matches
from tests.simulate.levels.kernels import KERNELS

ORDERED = set(KERNELS) - {"softmax", "layer_norm", "attention"}
"""Kernels whose sums are exact in any order, or whose order stays: they give the same bits at every level."""


def lowered(text: str, llvm: int = 24) -> Lowered:
    found = lower(Module(text), llvm=llvm)
    assert not [finding for finding in found.findings if finding.level == "error"]
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_a_lowered_kernel_computes_what_it_does_at_workgroup_level(name: str) -> None:
    kernel = KERNELS[name]
    result, rules = computed(kernel, str(lowered(kernel.text)), "lane")
    assert not rules
    assert matches(kernel, result)
    if name in ORDERED:
        whole, _ = computed(kernel, kernel.text, "workgroup")
        np.testing.assert_array_equal(result, whole)


@pytest.mark.parametrize("name", KERNELS)
def test_no_layout_and_no_conversion_is_left(name: str) -> None:
    text = str(lowered(KERNELS[name].text))
    assert "#xegpu.layout" not in text
    assert "xegpu.convert_layout" not in text


def test_a_transpose_that_nobody_converted_for_says_that_it_exchanges() -> None:
    [exchange] = lowered(KERNELS["transpose"].text).exchanges
    [warning] = lowered(KERNELS["transpose"].text).findings
    assert not exchange.written
    assert (warning.rule, warning.level) == ("lower.exchange", "warning")


def test_rows_of_a_that_another_subgroup_has_are_exchanged() -> None:
    """The mistake of LLVM 22 to 24: A and C give different rows to a subgroup; here A is exchanged, and the product right."""
    kernel = KERNELS["gemm_once"]
    right = "sg_data = [32, 32], inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]"
    lines = kernel.text.splitlines()
    of_a = [line for line in lines if line.startswith(("%t0", "  : i64 -> !xegpu.tensor_desc<64x32xf16", "%a"))]
    of_dpas = next(line for line in lines if line.startswith("%c = xegpu.dpas"))
    turned = {line: line.replace(right, f"{right}, order = [0, 1]") for line in of_a}
    turned[of_dpas] = of_dpas.replace(right, f"{right}, order = [0, 1]", 1)  # layout_a is the first
    text = "\n".join([turned.get(line, line) for line in lines])
    assert text.count("order = [0, 1]") == 3
    found = lowered(text)
    assert [exchange.operation for exchange in found.exchanges] == ["xegpu.dpas"]
    result, rules = computed(kernel, str(found), "lane")
    assert not rules
    assert matches(kernel, result)
