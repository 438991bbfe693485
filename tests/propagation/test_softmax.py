"""Softmax of rows whose load and store say columns: two conversions cost less than two sums across the lanes."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la

COLUMNS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
ROWS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"


def softmax(load: str, store: str) -> str:
    at_load, at_store = (f" <{{layout = {layout}}}>" if layout else "" for layout in (load, store))
    return f"""gpu.module @m {{ gpu.func @softmax(%p: memref<16x16xf32>, %q: memref<16x16xf32>) kernel
      attributes {{known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
    %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
    %u = xegpu.create_nd_tdesc %q : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
    %low = arith.constant dense<-3.0e38> : vector<16xf32>
    %zero = arith.constant dense<0.0> : vector<16xf32>
    %x = xegpu.load_nd %t[0, 0]{at_load} : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %x, %low [1] : vector<16x16xf32> to vector<16xf32>
    %n = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %b = vector.broadcast %n : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %x, %b : vector<16x16xf32>
    %e = math.exp %d : vector<16x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<16x16xf32> to vector<16xf32>
    %w = vector.shape_cast %s : vector<16xf32> to vector<16x1xf32>
    %v = vector.broadcast %w : vector<16x1xf32> to vector<16x16xf32>
    %y = arith.divf %e, %v : vector<16x16xf32>
    xegpu.store_nd %y, %u[0, 0]{at_store} : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>
    gpu.return }} }}"""


@pytest.mark.parametrize(
    ("load", "store", "moving"), [("", "", 1), ("", COLUMNS, 1), (COLUMNS, COLUMNS, 2), (ROWS, COLUMNS, 1)]
)
def test_rows_are_added_inside_lanes_whatever_is_written(load: str, store: str, moving: int) -> None:
    text = softmax(load, store)
    found = la.propagate(text, level="lane", target="pvc", llvm=24)
    assert found.is_optimal
    assert sum(one.cost > 0 for one in found.conversions) == moving
    theirs = la.propagate(text, like="llvm24", level="lane")
    assert found.cost < theirs.cost or (found.cost == theirs.cost and load == ROWS)
    assert la.check(found.module, llvm=24).is_right
    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    y = np.zeros_like(x)
    assert not la.lower(found.module).module.run([x, y], (1, 1, 1)).findings
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, weights / weights.sum(axis=1, keepdims=True), rtol=1e-5)
