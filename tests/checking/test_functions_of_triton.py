"""A Triton module's functions are checked one by one; those that call one another together."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.flow.graph import flows_of
from layoutalg.ir import read_module

LAYOUTS = """
#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
"""
MODULE = (
    LAYOUTS
    + """
module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
  tt.func private @moved(%x: tensor<64xf32, #a>) -> tensor<64xf32, #b> {
    %y = ttg.convert_layout %x : tensor<64xf32, #a> -> tensor<64xf32, #b>
    tt.return %y : tensor<64xf32, #b>
  }
  tt.func public @first(%p: tensor<64x!tt.ptr<f32>, #a>, %q: tensor<64x!tt.ptr<f32>, #b>) {
    %x = tt.load %p : tensor<64x!tt.ptr<f32>, #a>
    %y = tt.call @moved(%x) : (tensor<64xf32, #a>) -> tensor<64xf32, #b>
    tt.store %q, %y : tensor<64x!tt.ptr<f32>, #b>
    tt.return
  }
  tt.func public @second(%p: tensor<64x!tt.ptr<f32>, #b>) {
    %x = tt.load %p : tensor<64x!tt.ptr<f32>, #b>
    tt.store %p, %x : tensor<64x!tt.ptr<f32>, #b>
    tt.return
  }
}
"""
)


def test_functions_that_call_one_another_are_one_flow() -> None:
    names = [[one.sym_name.data for one in flow.functions] for flow in flows_of(read_module(MODULE))]  # pyright: ignore
    assert names == [["moved", "first"], ["second"]]


def test_arguments_and_results_of_a_call_are_tied() -> None:
    [together, _] = flows_of(read_module(MODULE))
    tied = [(tie.user.name, tie.number) for tie in together.ties if tie.user.name in ("tt.call", "tt.return")]
    assert tied == [("tt.call", 0), ("tt.return", 0)]


def test_the_picture_is_of_the_function_that_is_named() -> None:
    checked = la.check(MODULE)
    assert checked.verdict == "right"
    assert checked.picture("second").title.startswith("second on sm_80, 32 lanes")
    assert checked.picture("first").title.startswith("moved, first on sm_80")
    with pytest.raises(la.LayoutError, match="no function named 'third'"):
        checked.picture("third")


def test_arguments_of_functions_are_shown() -> None:
    shown = [
        (use.place.line, use.name, use.text[:3])
        for use in la.read(MODULE).layouts
        if use.operation == "tt.func" and use.place
    ]
    assert [line for line, _, _ in shown] == [6, 10, 10, 16]


def test_a_call_with_a_value_that_lies_otherwise_is_wrong() -> None:
    """The types agree with the call alone: Triton's verifier refuses it, and the meaning is wrong too."""
    checked = la.check(
        MODULE.replace("(%x: tensor<64xf32, #a>)", "(%x: tensor<64xf32, #b>)", 1).replace(
            "%x : tensor<64xf32, #a> -> tensor<64xf32, #b>", "%x : tensor<64xf32, #b> -> tensor<64xf32, #b>"
        )
    )
    assert checked.verdict == "wrong"
    assert {(one.operation, one.message.partition(":")[0]) for one in checked.findings} >= {
        ("tt.call", "lane 0 needs element (1,) of %x, which is in lane 1")
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("tt.func @f() -> f32 { tt.return }", "has 0 operands, but enclosing function (@f) returns 1"),
        (
            "tt.func @f(%x: i32) -> f32 { tt.return %x : i32 }",
            "type of return operand 0 ('i32') doesn't match function result type ('f32') in function @f",
        ),
        ("tt.func @f() { tt.call @g() : () -> () tt.return }", "'g' does not reference a valid function"),
        (
            "tt.func private @g(i32) tt.func @f() { tt.call @g() : () -> () tt.return }",
            "incorrect number of operands for callee",
        ),
        (
            "tt.func private @g() -> i32 tt.func @f() { %x = tt.call @g() : () -> f32 tt.return }",
            "result type mismatch at index 0",
        ),
    ],
)
def test_calls_and_returns_follow_the_rules_of_functions(body: str, words: str) -> None:
    assert [one.message for one in la.read(body).verify()] == [words]


@pytest.mark.parametrize("shape", ["?x32", "0x32"])
def test_arguments_without_elements_or_of_open_sizes_are_not_looked_at(shape: str) -> None:
    layout = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>"
    checked = la.check(f"tt.func @f(%x: tensor<{shape}xf32, {layout}>) {{ tt.return }}")
    assert not checked.mistakes
