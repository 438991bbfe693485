"""Attributes that LLVM's pass to lanes leaves on fragments are said for what they are."""

from __future__ import annotations

import layoutalg as la
from layoutalg.show.modules import describe_module
from tests.oracle.toolchains import require, run

KERNEL = """gpu.module @m {
  gpu.func @k(%p: memref<16x16xf32>, %q: memref<16x16xf32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
    %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
    %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
    %e = math.exp %x : vector<16x16xf32>
    %u = xegpu.create_nd_tdesc %q : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
    xegpu.store_nd %e, %u[0, 0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>
    gpu.return
  }
}
"""
LAYOUT = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"


def test_nothing_of_what_llvms_pass_leaves_is_refused() -> None:
    passes = [
        "--xevm-attach-target=chip=pvc",
        "--xegpu-propagate-layout=layout-kind=lane",
        "--xegpu-subgroup-distribute",
    ]
    done = run([require("mlir-opt-22"), *passes, "--cse", "--mlir-print-ir-after-all"], KERNEL)
    module = la.read(done.stderr + done.stdout)
    left = [row for row in describe_module(module).rows if row.meaning.startswith("left by a pass")]
    assert {row.meaning for row in left} == {"left by a pass: of 16x16, 16 lanes, 16x1 each"}
    assert {row.use.shape for row in left} == {(16, 1)}
    assert not describe_module(module).refused


def test_a_lane_of_a_layout_that_was_left_holds_what_it_held() -> None:
    fragment = KERNEL.replace("vector<16x16xf32>", "vector<16xf32>").replace(
        "%e = math.exp %x : vector<16xf32>",
        f"%y = vector.shape_cast %x : vector<16xf32> to vector<16x1xf32>\n%z = math.exp %y {{layout_result_0 = {LAYOUT}}} : "
        "vector<16x1xf32>\n%e = vector.shape_cast %z : vector<16x1xf32> to vector<16xf32>",
    )
    [row] = describe_module(la.read(fragment), holder={"lane": 5}).rows
    assert row.answer == "d0 0-15; d1 5"


def test_a_layout_that_does_not_fit_a_tensor_is_still_refused() -> None:
    exp = f"%e = math.exp %x {{layout_result_0 = {LAYOUT}}} : vector<16x1xf32>"
    text = f"func.func @f(%x: vector<16x1xf32>) {{\n{exp}\nreturn }}"
    assert describe_module(la.read(text)).refused
