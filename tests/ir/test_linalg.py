"""The named operations of linalg are read and written as mlir-opt has them."""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from layoutalg.ir.dialects.linalg import NAMED
from layoutalg.ir.verify.versions import absent
from tests.oracle.toolchains import require, require_new, run

T, M = "tensor<8x8xf32>", "memref<8x8xf32>"
MAPS = (
    "indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, "
    "affine_map<(d0, d1, d2) -> (d0, d1)>]"
)
CASES = {
    "a product": f"%0 = linalg.matmul ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}",
    "a product of memrefs": f"linalg.matmul ins(%m, %n : {M}, {M}) outs(%o : {M})",
    "a product with maps": f"%0 = linalg.matmul {MAPS} ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}",
    "a product with a note": f"%0 = linalg.matmul {{note = 1 : i32}} ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}",
    "a contraction": f"%0 = linalg.contract {MAPS} ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}",
    "a convolution": "%0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} "
    "ins(%i, %w : tensor<1x9x9x4xf32>, tensor<3x3x4x8xf32>) outs(%j : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>",
    "pooling": "%0 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} "
    "ins(%i, %x : tensor<1x9x9x4xf32>, tensor<3x3xf32>) outs(%k : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>",
    "a fill": f"%0 = linalg.fill ins(%s : f32) outs(%c : {T}) -> {T}",
    "a fill of complex numbers": "%0 = linalg.fill ins(%z : complex<f32>) outs(%y : tensor<4xcomplex<f32>>) -> "
    "tensor<4xcomplex<f32>>",
    "a sum": f"%0 = linalg.add ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}",
    "a copy": f"%0 = linalg.copy ins(%a : {T}) outs(%c : {T}) -> {T}",
    "a transpose": f"%0 = linalg.transpose ins(%a : {T}) outs(%c : {T}) permutation = [1, 0]",
    "a broadcast": f"%0 = linalg.broadcast ins(%v : tensor<8xf32>) outs(%c : {T}) dimensions = [1]",
    "a reduction": f"%0 = linalg.reduce {{ arith.addf }} ins(%a : {T}) outs(%v : tensor<8xf32>) dimensions = [1]",
    "a reduction that is written out": f"%0 = linalg.reduce ins(%a : {T}) outs(%v : tensor<8xf32>) dimensions = [1] "
    "(%in: f32, %init: f32) {\n%p = arith.mulf %in, %in : f32\n%g = arith.addf %p, %init : f32\nlinalg.yield %g : f32\n}",
    "a map": f"%0 = linalg.map {{ math.exp {{fastmath = #arith.fastmath<fast>}} }} ins(%a : {T}) outs(%c : {T})",
    "a map of two": f"%0 = linalg.map {{ arith.addf }} ins(%a, %b : {T}, {T}) outs(%c : {T})",
    "softmax": f"%0 = linalg.softmax dimension(1) ins(%a : {T}) outs(%c : {T}) -> {T}",
    "packing": f"%0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %t : {T} -> tensor<2x2x4x4xf32>",
    "packing with padding": "%0 = linalg.pack %u padding_value(%s : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] "
    "inner_tiles = [%q] into %r : tensor<?x?xf32> -> tensor<?x?x?xf32>",
    "unpacking": f"%0 = linalg.unpack %t inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %c : tensor<2x2x4x4xf32> -> {T}",
}
ARGUMENTS = (
    f"%a: {T}, %b: {T}, %c: {T}, %m: {M}, %n: {M}, %o: {M}, %i: tensor<1x9x9x4xf32>, %w: tensor<3x3x4x8xf32>, "
    "%j: tensor<1x4x4x8xf32>, %k: tensor<1x4x4x4xf32>, %x: tensor<3x3xf32>, %s: f32, %z: complex<f32>, "
    "%y: tensor<4xcomplex<f32>>, %v: tensor<8xf32>, %t: tensor<2x2x4x4xf32>, %u: tensor<?x?xf32>, "
    "%r: tensor<?x?x?xf32>, %q: index"
)


def kernel(body: str) -> str:
    return f"func.func @f({ARGUMENTS}) {{\n{body}\nreturn\n}}\n"


def plain(generic: str) -> str:
    """Generic form without the names of values, which are the writer's."""
    return re.sub(r"%\w+", "%", generic)


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_mlir_opt_reads_the_same_operation_from_what_we_write(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    both = [[body for name, body in CASES.items() if llvm < 24 or name != "a sum"], list[str]()]
    for body in both[0]:
        module = la.read(kernel(body))
        assert not module.findings, body
        assert la.read(module.text(llvm)).text(llvm) == module.text(llvm)
        both[1].append(module.text(llvm))
    theirs = run([program, "--split-input-file", "--mlir-print-op-generic"], "// -----\n".join(map(kernel, both[0])))
    ours = run([program, "--split-input-file", "--mlir-print-op-generic"], "// -----\n".join(both[1]))
    assert (theirs.returncode, ours.returncode) == (0, 0), theirs.stderr + ours.stderr
    assert plain(ours.stdout) == plain(theirs.stdout)


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_a_named_operation_has_no_findings(body: str) -> None:
    assert not la.read(kernel(body)).verify(llvm=22)


def test_every_named_operation_is_known_to_the_versions_of_llvm_that_we_say() -> None:
    for llvm in (22, 23, 24):
        program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
        texts = [f"func.func @f() {{\nlinalg.{name} ins() outs()\nreturn }}\n" for name in NAMED]
        told = run([program, "--split-input-file"], "// -----\n".join(texts)).stderr
        unknown = set(re.findall(r"custom op 'linalg\.(\w+)' is unknown", told))
        assert unknown == {name for name in NAMED if absent(f"linalg.{name}", llvm) is not None}
