"""An attribute of another kind than the operation asks for: refused where LLVM refuses it, in its words."""

from __future__ import annotations

import pytest

import layoutalg as la
from tests.oracle.llvm_xegpu import mlir_opt
from tests.oracle.toolchains import run

VALUES = ("#vector.kind<add>", "#arith.fastmath<nnan>", "#arith.overflow<nsw>", "#vector.punctuation<comma>", "3 : i64")
OPERATIONS = {
    "scan": '%r:2 = "vector.scan"(%v, %x) <{{inclusive = true, kind = {}, reduction_dim = 0 : i64}}>'
    " : (vector<4xf32>, vector<f32>) -> (vector<4xf32>, vector<f32>)",
    "multi_reduction": '%r = "vector.multi_reduction"(%v, %s) <{{kind = {}, reduction_dims = array<i64: 0>}}>'
    " : (vector<4xf32>, f32) -> f32",
    "addf": '%r = "arith.addf"(%v, %v) <{{fastmath = {}}}> : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>',
    "addi": '%r = "arith.addi"(%i, %i) <{{overflowFlags = {}}}> : (i32, i32) -> i32',
    "print": '"vector.print"(%v) <{{punctuation = {}}}> : (vector<4xf32>) -> ()',
}


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_another_kind_is_refused_as_llvm_refuses_it(operation: str, value: str, llvm: int) -> None:
    text = (
        f"func.func @f(%v: vector<4xf32>, %x: vector<f32>, %s: f32, %i: i32) {{\n{operation.format(value)}\nreturn }}"
    )
    found = run([mlir_opt(llvm)], text)
    ours = " ".join(map(str, la.read(text).verify(llvm=llvm)))
    assert bool(ours) == bool(found.returncode), found.stderr or ours
    if "Invalid attribute" in found.stderr:
        words = found.stderr.splitlines()[0].partition("Invalid attribute")[2]
        assert f"Invalid attribute{words.rstrip()}" in ours


LAYOUTS = ("[16, 1]", "[1, 16]", "[8, 2]")


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("lanes", LAYOUTS)
@pytest.mark.parametrize("given", ["", "input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, "])
def test_an_input_layout_that_is_left_out_is_asked_as_the_target_is(given: str, lanes: str, llvm: int) -> None:
    target = f"target_layout = #xegpu.layout<lane_layout = {lanes}, lane_data = [1, 1]>"
    text = (
        f'func.func @f(%v: vector<8x16xf16>) {{\n%r = "xegpu.convert_layout"(%v) <{{{given}{target}}}>'
        " : (vector<8x16xf16>) -> vector<8x16xf16>\nreturn }"
    )
    found = run([mlir_opt(llvm)], text)
    ours = la.read(text).verify(llvm=llvm)
    assert bool(ours) == bool(found.returncode), found.stderr
    for one in ours:
        assert one.message.rstrip(".") in found.stderr
