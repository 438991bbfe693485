"""Texts of the tests of the editor, with marks where the pointer is."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

ROWS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
COLUMNS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"

KERNEL = f"""\
// A kernel. \N{GRINNING FACE}
#columns = {COLUMNS}
#rows = {ROWS}
func.func @first(%p: memref<64x64xf32>, %q: memref<64x64xf32>) {{
  %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32, #columns>
  %x = xegpu.load_nd %t[0, 0] <{{layout = #columns}}> : !xegpu.tensor_desc<16x16xf32, #columns> -> vector<16x16xf32>
  %y = math.exp %x : vector<16x16xf32>
  %c = xegpu.convert_layout %y <{{input_layout = #columns, target_layout = #rows}}> : vector<16x16xf32>
  %d = xegpu.convert_layout %c <{{input_layout = #rows, target_layout = #rows}}> : vector<16x16xf32>
  %e = arith.addf %d, %d : vector<16x16xf32>
  func.return
}}

// Wrong: lane 1 adds element (0, 1), which lane 0 has of %s.
func.func @second(%p: memref<16x16xf32>) {{
  %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
  %r = xegpu.load_nd %t[0, 0] <{{layout = #columns}}> : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
  %s = arith.constant {{layout_result_0 = #rows}} dense<1.0> : vector<16x16xf32>
  %z = arith.addf %r, %s {{layout_result_0 = #columns}} : vector<16x16xf32>
  func.return
}}
"""

MODULES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/ir/modules").glob("*.mlir"))}
TTGIR = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests/oracle/data/ttgir").glob("*.ttgir"))[:6]
}
