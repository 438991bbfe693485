"""Operations that lack operands or results, as the generic form may have them, and text too large to read: words, no crash."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.show.modules import describe_module
from tests.checking.modules import kernel

COLUMNS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
ROWS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
BOTH = f"<{{input_layout = {COLUMNS}, target_layout = {ROWS}}}>"
DPAS = f"<{{layout_a = {COLUMNS}, layout_b = {COLUMNS}, layout_cd = {COLUMNS}}}>"
SPLAT = "%a = arith.constant dense<1.0> : vector<16x16xf32>"


@pytest.mark.parametrize(
    "lines",
    [
        f'%b = "xegpu.convert_layout"() {BOTH} : () -> vector<16x16xf32>',
        f'{SPLAT}\n"xegpu.convert_layout"(%a) {BOTH} : (vector<16x16xf32>) -> ()',
        f'%b = "xegpu.dpas"() {DPAS} : () -> vector<8x16xf32>',
        f'{SPLAT}\n%b = "xegpu.dpas"(%a) {DPAS} : (vector<16x16xf32>) -> vector<8x16xf32>',
        '"xegpu.store_nd"() : () -> ()',
        '%b = "xegpu.load_nd"() : () -> vector<8x16xf32>',
    ],
)
def test_an_operation_without_its_operands_is_an_error_and_shown(lines: str) -> None:
    module = la.read(kernel(lines))
    assert not la.check(module).is_right
    assert la.lower(module).module is None
    assert len(describe_module(module).conversions) == lines.count(
        "convert_layout"
    )  # what it says is priced all the same
    try:
        lowered = la.lower(module, level="lane").module
    except la.LayoutError:
        return
    assert lowered is None


def test_a_text_with_values_too_large_to_read_is_not_lowered() -> None:
    kind = "vector<65536x65536xf32>"
    module = la.read(kernel(f"%a = arith.constant dense<1.0> : {kind}", f"%b = arith.addf %a, %a : {kind}"))
    lowered = la.lower(module, level="lane")
    assert lowered.module is None
    assert "read.operation" in {one.rule for one in lowered.findings}
