"""Conversions that are no `xegpu.convert_layout`, and values that change their rank."""

from __future__ import annotations

import layoutalg as la

LEVELS = "subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1]"
IREE = f"""
#a = #iree_vector_ext.nested_layout<{LEVELS}, thread_tile = [4, 16], element_tile = [4, 1],
  subgroup_strides = [0, 0], thread_strides = [16, 1]>
#b = #iree_vector_ext.nested_layout<{LEVELS}, thread_tile = [16, 4], element_tile = [1, 4],
  subgroup_strides = [0, 0], thread_strides = [1, 16]>
func.func @f(%x: vector<16x16xf16>) -> vector<16x16xf16> {{
  %a = iree_vector_ext.to_layout %x to layout(#a) : vector<16x16xf16>
  %t = vector.transpose %a, [1, 0] : vector<16x16xf16> to vector<16x16xf16>
  %b = iree_vector_ext.to_layout %t to layout(#b) : vector<16x16xf16>
  %c = iree_vector_ext.to_layout %t to layout(#a) : vector<16x16xf16>
  func.return %b : vector<16x16xf16>
}}
"""


def test_a_to_layout_is_a_conversion_from_what_the_value_is_held_in() -> None:
    found = la.check(IREE)
    assert found.is_right
    assert [(one.name, one.is_redundant, bool(one.cost)) for one in found.conversions] == [
        ("%b", True, False),
        ("%c", False, True),
    ]


def test_a_dimension_of_one_element_that_comes_and_goes_is_compared() -> None:
    found = la.check("""
func.func @f(%x: vector<16x16xf32>, %z: vector<16xf32>) {
  %m = vector.multi_reduction <maximumf>, %x, %z [1] : vector<16x16xf32> to vector<16xf32>
  %n = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
  %b = vector.broadcast %n : vector<16x1xf32> to vector<16x16xf32>
  %d = arith.subf %x, %b {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
  func.return
}""")
    assert found.findings == ()
