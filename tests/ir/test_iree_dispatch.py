"""A kernel as IREE hands it to its code generation is read and written as iree-opt has it."""

from __future__ import annotations

import re

import layoutalg as la
from tests.oracle.iree import iree_opt
from tests.oracle.toolchains import run

LAYOUT = "#hal.pipeline.layout<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>"  # noqa: E501
TENSOR = "!iree_tensor_ext.dispatch.tensor"
KERNEL = f"""#pipeline_layout = {LAYOUT}
func.func @dispatch() {{
  %c0 = arith.constant 0 : index
  %id = hal.interface.workgroup.id[0] : index
  %idu = hal.interface.workgroup.id[1] upper_bound 65535 : index
  %n = hal.interface.workgroup.count[0] : index
  %s = hal.interface.workgroup.size[2] : index
  %k = hal.interface.constant.load layout(#pipeline_layout) ordinal(0) : i32
  %k1 = hal.interface.constant.load layout(#pipeline_layout) ordinal(1) alignment(64) values([0 : i32, 1 : i32]) : i32
  %d = arith.index_cast %k : i32 to index
  %m = hal.interface.binding.subspan layout(#pipeline_layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly)
    : memref<?x32xf16>{{%d}}
  %m2 = hal.interface.binding.subspan layout(#pipeline_layout) binding(1) : memref<16x32xf16>
  %t = hal.interface.binding.subspan layout(#pipeline_layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect")
    : {TENSOR}<readonly:tensor<?x32xf16>>{{%d}}
  %o = hal.interface.binding.subspan layout(#pipeline_layout) binding(1) alignment(64) offset(%c0)
    : {TENSOR}<writeonly:tensor<16x32xf16>>
  %v = iree_tensor_ext.dispatch.tensor.load %t, offsets = [%c0, 0], sizes = [16, 32], strides = [1, 1]
    : {TENSOR}<readonly:tensor<?x32xf16>>{{%d}} -> tensor<16x32xf16>
  iree_tensor_ext.dispatch.tensor.store %v, %o, offsets = [0, 0], sizes = [16, 32], strides = [1, 1]
    : tensor<16x32xf16> -> {TENSOR}<writeonly:tensor<16x32xf16>>
  %w = iree_tensor_ext.dispatch.workload.ordinal %d, 0 : index
  %b = iree_codegen.load_from_buffer %m2 : memref<16x32xf16> -> tensor<16x32xf16>
  iree_codegen.store_to_buffer %b, %m2 : tensor<16x32xf16> into memref<16x32xf16>
  %f = iree_codegen.fusion_barrier %b : tensor<16x32xf16>
  return
}}
"""
TRANSFORM = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @f(%arg0: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %arg0 : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  func.func @g() {
    return
  }
}
"""


def generic(text: str) -> str:
    done = run([iree_opt(), "--mlir-print-op-generic"], text)
    assert done.returncode == 0, done.stderr
    return re.sub(r"%\w+", "%", done.stdout)


def test_iree_opt_reads_the_same_kernel_from_what_we_write() -> None:
    module = la.read(KERNEL)
    assert not module.verify()
    written = module.text(24)
    assert la.read(written).text(24) == written
    assert generic(written) == generic(KERNEL)


def test_a_transform_script_is_kept_as_it_stands() -> None:
    module = la.read(TRANSFORM)
    assert not module.verify()
    assert generic(module.text(24)) == generic(TRANSFORM)
