"""Kernels as users write them, without layouts, compute their definition after `propagate` and `lower`."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.lowering import Lowered, lower
from layoutalg.module import Module
from tests.lowering.real_kernels import KERNELS, RealKernel


def lowered(kernel: RealKernel, llvm: int = 24) -> Lowered:
    stated = la.propagate(la.read(kernel.text), level="lane").module
    assert stated is not None
    return lower(stated, llvm=llvm)


@pytest.mark.parametrize("name", KERNELS)
def test_it_computes_its_definition_at_both_levels(name: str) -> None:
    kernel = KERNELS[name]
    made = [lowered(kernel, llvm) for llvm in (22, 24)]
    assert [str(finding) for one in made for finding in one.findings if finding.level == "error"] == []
    for text in (kernel.text, *map(str, made)):
        arrays = kernel.arrays()
        assert la.read(text).run(arrays, (1, 1, 1)).findings == ()
        inputs = arrays[: len(arrays) - 1 - len(kernel.numbers)]
        np.testing.assert_array_equal(arrays[len(inputs)], kernel.define(inputs))


def test_integers_start_from_zeros_and_their_accumulator_is_typed() -> None:
    text = str(lowered(KERNELS["integers_without_an_accumulator"]))
    # What the graphics compiler has; an `xevm.mma` of bytes becomes a call of a function that it does not have.
    function = "@_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_("
    products = [line for line in text.splitlines() if f"llvm.call spir_funccc {function}" in line]
    assert products
    assert all(line.count("%") == 4 and line.endswith("-> vector<8xi32>") for line in products)
    assert text.count(f"llvm.func spir_funccc {function}") == 1


def test_products_take_whole_tiles_of_registers_in_rows() -> None:
    """A layout that says lanes alone has its registers row by row: 32x32 of D is eight tiles of 8x16, two steps deep."""
    text = str(lowered(KERNELS["sizes_known_when_it_runs"]))
    assert text.count("xegpu.dpas") == 16


def test_called_functions_are_gone() -> None:
    text = str(lowered(KERNELS["functions_that_call_functions"]))
    assert "func.call" not in text
    assert "func.func" not in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "func.func private @f(%x: vector<16x16xf32>) -> vector<16x16xf32> { "
            "%y = func.call @f(%x) : (vector<16x16xf32>) -> vector<16x16xf32> func.return %y : vector<16x16xf32> }",
            "calls itself",
        ),
        ("func.func private @f(vector<16x16xf32>) -> vector<16x16xf32>", "not in this module"),
        (
            "func.func private @f(%x: vector<16x16xf32>) -> vector<16x16xf32> { cf.br ^a ^a: "
            "func.return %x : vector<16x16xf32> }",
            "branches between blocks",
        ),
    ],
)
def test_a_call_that_cannot_be_put_in_is_refused_in_words(text: str, words: str) -> None:
    layout = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    kind = f"!xegpu.tensor_desc<16x16xf32, {layout}>"
    made = lower(
        Module(f"""gpu.module @m {{ {text}
        gpu.func @k(%p: i64) kernel attributes {{known_block_size = array<i32: 16, 1, 1>}} {{
          %t = xegpu.create_nd_tdesc %p, shape : [16, 16], strides : [16, 1] : i64 -> {kind}
          %x = xegpu.load_nd %t[0, 0] : {kind} -> vector<16x16xf32>
          %y = func.call @f(%x) : (vector<16x16xf32>) -> vector<16x16xf32>
          xegpu.store_nd %y, %t[0, 0] : vector<16x16xf32>, {kind}
          gpu.return }} }}""")
    )
    assert made.module is None
    assert any(finding.rule == "lower.call" and words in finding.message for finding in made.findings)


@pytest.mark.parametrize("element", ["f16", "i8"])
@pytest.mark.parametrize("rows", [16, 32])
@pytest.mark.parametrize("columns", [16, 32])
def test_transposes_are_lowered_whatever_message_delivers_them(element: str, rows: int, columns: int) -> None:
    whole, turned = f"vector<{rows}x{columns}x{element}>", f"vector<{columns}x{rows}x{element}>"
    text = f"""gpu.module @m {{ gpu.func @k(%p: memref<{rows}x{columns}x{element}>, %q: memref<{columns}x{rows}x{element}>)
        kernel attributes {{known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
      %t = xegpu.create_nd_tdesc %p : memref<{rows}x{columns}x{element}> -> !xegpu.tensor_desc<{rows}x{columns}x{element}>
      %u = xegpu.create_nd_tdesc %q : memref<{columns}x{rows}x{element}> -> !xegpu.tensor_desc<{columns}x{rows}x{element}>
      %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<{rows}x{columns}x{element}> -> {whole}
      %y = vector.transpose %x, [1, 0] : {whole} to {turned}
      xegpu.store_nd %y, %u[0, 0] : {turned}, !xegpu.tensor_desc<{columns}x{rows}x{element}>
      gpu.return }} }}"""
    made = la.lower(text, level="lane").module
    assert made is not None
    x = np.arange(rows * columns).reshape(rows, columns).astype(np.float16 if element == "f16" else np.int8)
    out = np.zeros((columns, rows), x.dtype)
    assert made.run([x, out], (1, 1, 1)).findings == ()
    np.testing.assert_array_equal(out, x.T)
