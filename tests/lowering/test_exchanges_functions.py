"""Functions for the conversions of Triton's and IREE's modules: which there are, what they do, and what has none."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.lowering.functions import ConversionFunction, conversion_functions

LINEAR = """
#a = #ttg.linear<{register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8]], warp = [], block = []}>
#b = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>
#c = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 16], warpsPerCTA = [1, 1], order = [1, 0]}>
module {
  tt.func @f(%x: tensor<16x16xf16, #a>) {
    %y = ttg.convert_layout %x : tensor<16x16xf16, #a> -> tensor<16x16xf16, #b>
    %z = ttg.convert_layout %y : tensor<16x16xf16, #b> -> tensor<16x16xf16, #c>
    %w = ttg.convert_layout %y : tensor<16x16xf16, #b> -> tensor<16x16xf16, #a>
    tt.return
  }
}
"""
NESTED = """
#n = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [4, 16],
  element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>
#m = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 4],
  element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [1, 16]>
func.func @f(%x: vector<16x16xf16>) -> vector<16x16xf16> {
  %a = iree_vector_ext.to_layout %x to layout(#n) : vector<16x16xf16>
  %e = arith.addf %a, %a : vector<16x16xf16>
  %b = iree_vector_ext.to_layout %e to layout(#m) : vector<16x16xf16>
  func.return %b : vector<16x16xf16>
}
"""


def functions_of(text: str) -> tuple[tuple[ConversionFunction, ...], list[str]]:
    found, findings = conversion_functions(la.read(text).parts[0].module)
    return found, [str(finding) for finding in findings]


def test_linear_layouts_of_triton_become_functions_and_others_are_findings() -> None:
    functions, findings = functions_of(LINEAR)
    assert [(one.name, str(one.place), one.element) for one in functions] == [
        ("convert_y", "text:7:10", "f16"),
        ("convert_w", "text:9:10", "f16"),
    ]
    assert len(findings) == 1
    assert "text:8:10" in findings[0]
    assert "layouts #ttg.blocked<...> are not read" in findings[0]
    tile = np.arange(256, dtype=np.float16).reshape(16, 16)
    assert (
        functions[0].plan.apply(tile.T[None]) == tile[None]
    ).all()  # a row per register becomes a column per register
    assert "vector<16xf16>" in functions[0].text()


def test_a_pair_of_to_layout_becomes_one_function() -> None:
    """Lane 16 b + c holds rows 4 b to 4 b + 3 of column c; then row r of lane 16 b + r holds columns 4 b to 4 b + 3."""
    [function], findings = functions_of(NESTED)
    assert findings == []
    assert (function.name, str(function.place)) == ("convert_b", "text:9:8")
    tile = np.arange(256, dtype=np.float16).reshape(16, 16)
    lanes = [divmod(lane, 16) for lane in range(64)]
    before = np.array([[tile[4 * b + i, c] for i in range(4)] for b, c in lanes])[None]
    after = np.array([[tile[r, 4 * b + i] for i in range(4)] for b, r in lanes])[None]
    assert (function.plan.apply(before) == after).all()


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("tensor<4xf32, #l> -> tensor<8xf32, #m>", "a tensor of 4 and one of 8"),
        ("tensor<4xf32> -> tensor<4xf32, #l>", "expected a tensor with a layout before and one after, found 1"),
        ("tensor<4xi1000, #l> -> tensor<4xi1000, #l>", "element type 'i1000'"),
    ],
)
def test_what_is_no_conversion_is_a_finding_in_words(types: str, message: str) -> None:
    aliases = "#l = #ttg.linear<{lane = [[1], [2]]}>\n#m = #ttg.linear<{lane = [[1], [2], [4]]}>\n"
    functions, findings = functions_of(f"{aliases}module {{\n  %y = ttg.convert_layout %x : {types}\n}}")
    assert functions == ()
    assert len(findings) == 1
    assert message in findings[0]
