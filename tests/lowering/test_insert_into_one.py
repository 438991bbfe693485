"""A row put into a matrix of one row: the matrix is that row. (tests/propagation/test_fragments.py has an element so.)"""

from __future__ import annotations

import numpy as np

import layoutalg as la

SUBGROUP = """gpu.module @m {
  gpu.func @k(%p: memref<128xf32>, %q: memref<128xf32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
    %step = vector.step : vector<16xindex>
    %mask = arith.constant dense<true> : vector<16xi1>
    %x = xegpu.load %p[%step], %mask : memref<128xf32>, vector<16xindex>, vector<16xi1> -> vector<16xf32>
    %z = arith.constant dense<0.0> : vector<1x16xf32>
    %y = vector.insert %x, %z[0] : vector<16xf32> into vector<1x16xf32>
    %w = vector.extract %y[0] : vector<16xf32> from vector<1x16xf32>
    xegpu.store %w, %q[%step], %mask : vector<16xf32>, memref<128xf32>, vector<16xindex>, vector<16xi1>
    gpu.return
  }
}
"""


def test_a_row_put_into_a_matrix_of_one_row_is_lowered() -> None:
    lowered = la.lower(la.propagate(la.read(SUBGROUP)).module)
    result = np.zeros(128, np.float32)
    assert not la.read(str(lowered.module)).run([np.arange(128, dtype=np.float32), result], [1]).findings
    assert result.tolist() == [*range(16), *[0.0] * 112]
