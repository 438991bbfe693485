"""A kernel that is at lane level already has no layouts to complete: what `lower` then makes of it is the kernel itself."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la

KERNEL = """gpu.module @m {
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
}"""


@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
def test_every_lane_stores_after_propagation_too(level: str) -> None:
    done = la.propagate(KERNEL, level=level)
    assert [finding.rule for finding in done.findings] == ["propagate.fragments"]
    lowered = la.lower(done.module).module
    assert lowered is not None
    out = np.zeros(128, np.float32)
    assert lowered.run([np.zeros(128, np.float32), out], (1, 1, 1)).findings == ()
    assert out.tolist() == [2.0] * 16 + [0.0] * 112
