"""The verdict depends on what a module says, not on the order in which it says it, nor on what could not be looked at."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.checking import check
from tests.checking.modules import COLUMNS, ROWS, kernel, lanes, load

EVERYWHERE = "#xegpu.slice<#xegpu.layout<lane_layout = [1, 1, 16], lane_data = [1, 1, 1]>, dims = [2]>"


@pytest.mark.parametrize("operands", ["%a, %b", "%b, %a"])
def test_operands_of_an_addition_may_be_swapped(operands: str) -> None:
    # Every lane holds all of %a, so the sum can be made in columns, as its use wants it.
    text = kernel(
        *load("b", "16x16", COLUMNS),
        f"%a = arith.constant {{layout_result_0 = {EVERYWHERE}}} dense<1.0> : vector<16x16xf32>",
        f"%d = arith.addf {operands} : vector<16x16xf32>",
        f"%y = math.exp %d {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>",
    )
    assert check(la.read(text), llvm=24).is_right


def test_a_contraction_whose_result_is_wanted_over_the_subgroups_that_have_parts_is_right() -> None:
    said = "{layout_result_0 = #xegpu.layout<sg_layout = [2, 2], sg_data = [16, 16]>}"
    text = f"""func.func @f(%x: vector<32x16xf32>, %y: vector<16x32xf32>) {{
      %a = math.exp %x {said} : vector<32x16xf32>
      %b = math.exp %y {said} : vector<16x32xf32>
      %z = arith.constant dense<0.0> : vector<32x32xf32>
      %d = vector.contract {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"],
        kind = #vector.kind<add>}} %a, %b, %z : vector<32x16xf32>, vector<16x32xf32> into vector<32x32xf32>
      %e = math.exp %d {said} : vector<32x32xf32>
      func.return }}"""
    assert check(la.read(text), llvm=24).is_right


def calls(inner: str, back: str) -> str:
    """%c is in columns, the function works in `inner`, and what it returns is used in `back`."""
    return f"""func.func private @g(%a: vector<16x16xf32>) -> vector<16x16xf32> {{
      %b = math.exp %a {{layout_result_0 = {inner}}} : vector<16x16xf32>
      func.return %b : vector<16x16xf32>
    }}
    func.func @f(%x: vector<16x16xf32>) {{
      %c = math.exp %x {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>
      %d = func.call @g(%c) : (vector<16x16xf32>) -> vector<16x16xf32>
      %e = math.exp %d {{layout_result_0 = {back}}} : vector<16x16xf32>
      func.return
    }}"""


@pytest.mark.parametrize(
    ("inner", "back", "wrong"),
    [
        (COLUMNS, COLUMNS, []),
        (ROWS, ROWS, [("func.call", "%c")]),
        (ROWS, COLUMNS, [("func.call", "%c"), ("math.exp", "%d")]),
        (COLUMNS, ROWS, [("math.exp", "%d")]),
    ],
)
def test_what_is_passed_to_a_function_is_an_edge(inner: str, back: str, wrong: list[tuple[str, str]]) -> None:
    found = check(la.read(calls(inner, back)), llvm=24)
    assert [(one.finding.operation, one.operand) for one in found.mistakes] == wrong


def test_functions_that_call_one_another_end() -> None:
    text = f"""func.func @f(%x: vector<16x16xf32>) -> vector<16x16xf32> {{
      %y = func.call @g(%x) : (vector<16x16xf32>) -> vector<16x16xf32>
      func.return %y : vector<16x16xf32> }}
    func.func @g(%x: vector<16x16xf32>) -> vector<16x16xf32> {{
      %z = math.exp %x {{layout_result_0 = {ROWS}}} : vector<16x16xf32>
      %y = func.call @f(%z) : (vector<16x16xf32>) -> vector<16x16xf32>
      func.return %y : vector<16x16xf32> }}"""
    assert check(la.read(text), llvm=24).is_right


UNKNOWN = {
    "an operation of a dialect that nobody knows": kernel(
        *load("x", "16x16", ROWS), "%e = mydial.foo %x : vector<16x16xf32>"
    ),
    "a function without a body": """func.func private @g(vector<8xf32>)
      func.func @f(%x: vector<8xf32>) { func.call @g(%x) : (vector<8xf32>) -> () func.return }""",
    "sizes that are known only when the program runs": f"""func.func @f(%x: tensor<?x16xf32>) {{
      %y = math.exp %x {{layout_result_0 = {COLUMNS}}} : tensor<?x16xf32>
      %z = math.exp %y {{layout_operand_0 = {ROWS}, layout_result_0 = {ROWS}}} : tensor<?x16xf32>
      func.return }}""",
    "a file of operations that nobody knows": """
      #blocked = #ttg.linear<{register = [], lane = [[1], [2]], warp = [], block = []}>
      tt.func @f(%x: tensor<4xf32, #blocked>) { %y = my.op %x : tensor<4xf32, #blocked> }""",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_could_not_be_looked_at_is_not_right(name: str) -> None:
    found = check(la.read(UNKNOWN[name]), llvm=24)
    assert (found.verdict, found.is_right) == ("unknown", False)
    assert found.unknown
    assert str(found).endswith(": unknown")


def test_a_mistake_beside_something_unknown_is_a_mistake() -> None:
    text = kernel(
        *load("x", "16x16", ROWS),
        "%e = mydial.foo %x : vector<16x16xf32>",
        f"%y = math.exp %x {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>",
    )
    assert check(la.read(text), llvm=24).verdict == "wrong"


def test_what_a_verifier_refuses_is_not_right() -> None:
    text = """gpu.module @m { gpu.func @k(%p: memref<?x?xf16>) kernel
        attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.dim %p, %c0 : memref<?x?xf16>
      %t = xegpu.create_nd_tdesc %p, shape : [%m, %m], strides : [%m, %c1] : memref<?x?xf16> -> !xegpu.tensor_desc<8x16xf16>
      %x = xegpu.load_nd %t[%c0, %c0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
      gpu.return } }"""
    module = la.read(text)
    refused = [one for one in module.verify(llvm=24) if one.level == "error"]
    assert refused
    found = check(module, llvm=24)
    assert (found.verdict, list(found.findings)) == ("wrong", refused)


def test_of_two_uses_the_finding_names_the_other_one() -> None:
    text = f"""func.func @f(%x: vector<16x16xf32>) {{
      %y = math.exp %x : vector<16x16xf32>
      %a = math.exp %y {{layout_result_0 = {lanes("1, 16", "1, 1")}}} : vector<16x16xf32>
      %b = math.exp %y {{layout_result_0 = {lanes("16, 1", "1, 1")}}} : vector<16x16xf32>
      func.return }}"""
    [finding] = check(la.read(text), llvm=24).findings
    assert finding.place is not None
    assert finding.place.line == 4
    assert "or convert %y for math.exp (line 3) instead" in finding.notes


@pytest.mark.parametrize("said", [f"{{layout_result_0 = {COLUMNS}}}", ""])
def test_a_store_takes_what_every_lane_can_make_of_a_row(said: str) -> None:
    """The maxima of the rows are in all lanes; what is made of them may be in columns, as the store takes it."""
    text = kernel(
        *load("x", "16x16", COLUMNS),
        "%z = arith.constant dense<0.0> : vector<16xf32>",
        "%r = vector.multi_reduction <maximumf>, %x, %z [1] : vector<16x16xf32> to vector<16xf32>",
        f"%v = vector.broadcast %r {said} : vector<16xf32> to vector<16x16xf32>",
        "%u = xegpu.create_nd_tdesc %q : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>",
        "xegpu.store_nd %v, %u[%c0, %c0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>",
    )
    assert check(la.read(text), llvm=24).is_right
    assert not [one for one in la.lower(la.read(text)).findings if one.rule == "lower.exchange"]
