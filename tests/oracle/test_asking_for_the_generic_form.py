"""What mlir-opt reads and we do not is read in its generic form, with the places of the text."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from layoutalg.ir import place_of, read_file_text
from tests.oracle.toolchains import require

TEXT = """// a comment first
#map = affine_map<(d0) -> (d0)>
func.func @f(%t: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %a, %b = "test.two"(%n) : (index) -> (index, index)
  %c = shape.add %a, %b : index, index -> index
    %d = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%t : tensor<8xf32>) outs(%t : tensor<8xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
  } -> tensor<8xf32>
  return %d : tensor<8xf32>
}
"""


def at(operation: Operation) -> tuple[int, int]:
    place = place_of(operation)
    assert place is not None
    return place.line, place.column


@pytest.mark.parametrize("before", ["", "module {}\n// -----\n"])
def test_operations_of_the_generic_form_stand_where_they_stood(before: str) -> None:
    require("mlir-opt-22")
    alone = read_file_text(before + TEXT)
    assert any(finding.rule == "read.operation" for finding in alone.findings)
    asked = read_file_text(before + TEXT, ask=True)
    assert asked.findings == ()
    lines = before.count("\n")
    module = asked.modules[-1].module
    found = [at(operation) for operation in module.walk() if operation is not module]
    wanted = [(3, 1), (4, 12), (5, 8), (6, 10), (9, 12), (10, 7), (12, 3)]
    assert found == [(line + lines, column) for line, column in wanted]
