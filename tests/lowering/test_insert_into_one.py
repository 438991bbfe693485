"""An element put into a vector of one element: the vector is that element."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la

FOUND = """gpu.module @m {
  gpu.func @k(%p: memref<128xf32>, %q: memref<128xf32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
    %t = gpu.thread_id x
    %mask = arith.constant 1 : i1
    %f = arith.constant 2.0 : f32
    %x = xegpu.load %p[%t], %mask : memref<128xf32>, index, i1 -> vector<1xf32>
    %y = vector.insert %f, %x[0] : f32 into vector<1xf32>
    xegpu.store %y, %q[%t], %mask : vector<1xf32>, memref<128xf32>, index, i1
    gpu.return
  }
}
"""
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


@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
def test_the_kernel_that_was_found_is_lowered_after_propagate(level: str) -> None:
    lowered = la.lower(la.propagate(la.read(FOUND), level=level).module)  # pyright: ignore[reportArgumentType]
    result = np.zeros(128, np.float32)
    assert not la.read(str(lowered.module)).run([np.zeros(128, np.float32), result], [1]).findings
    assert result.tolist() == [2.0] * 16 + [0.0] * 112


def test_a_row_put_into_a_matrix_of_one_row_is_lowered() -> None:
    lowered = la.lower(la.propagate(la.read(SUBGROUP)).module)
    result = np.zeros(128, np.float32)
    assert not la.read(str(lowered.module)).run([np.arange(128, dtype=np.float32), result], [1]).findings
    assert result.tolist() == [*range(16), *[0.0] * 112]
