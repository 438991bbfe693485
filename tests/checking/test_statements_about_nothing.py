"""A statement about a result or an operand that an operation does not have is told, by check and by lower."""

from __future__ import annotations

import pytest

import layoutalg as la

LANES = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
TILE = f"!xegpu.tensor_desc<8x16xf32, {LANES}>"


def kernel(added: str, stored: str = "") -> str:
    return f"""gpu.module @m {{ gpu.func @k(%p: i64) kernel attributes {{known_block_size = array<i32: 16, 1, 1>,
      intel_reqd_sub_group_size = 16 : i32}} {{
      %t = xegpu.create_nd_tdesc %p, shape : [8, 16], strides : [16, 1] : i64 -> {TILE}
      %x = xegpu.load_nd %t[0, 0] : {TILE} -> vector<8x16xf32>
      %y = arith.addf %x, %x {{{added}}} : vector<8x16xf32>
      xegpu.store_nd %y, %t[0, 0] {{{stored}}} : vector<8x16xf32>, {TILE}
      gpu.return }} }}"""


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("layout_result_7", "there is 1 result, layout_result_0"),
        ("layout_result_1", "there is 1 result, layout_result_0"),
        ("layout_operand_2", "there are 2 operands, layout_operand_0 to layout_operand_1"),
        ("layout_operand_9", "there are 2 operands, layout_operand_0 to layout_operand_1"),
        ("layout_result_123456789", "there is 1 result, layout_result_0"),
    ],
)
def test_a_number_without_a_value_is_a_warning(name: str, there: str) -> None:
    module = la.read(kernel(f"{name} = {LANES}"))
    checked, lowered = la.check(module), la.lower(module)
    for found in (checked.findings, lowered.findings):
        [finding] = [one for one in found if one.rule == "layouts.number"]
        assert (finding.level, finding.operation) == ("warning", "arith.addf")
        assert finding.message == f"{name} is about nothing: {there}"
        assert finding.place is not None
        assert finding.place.line == 5
    assert checked.is_right
    assert lowered.module is not None


def test_an_operation_without_results_says_so() -> None:
    [finding] = la.check(kernel("", f"layout_result_0 = {LANES}")).findings
    assert finding.message == "layout_result_0 is about nothing: there are no results"


def test_numbers_that_have_a_value_are_not_told_of() -> None:
    stated = f"layout_result_0 = {LANES}, layout_operand_0 = {LANES}, layout_operand_1 = {LANES}"
    module = la.read(kernel(stated))
    assert la.check(module).findings == ()
    assert la.lower(module).findings == ()
