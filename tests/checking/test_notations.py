"""Layouts as LLVM 22, 23 and 24, IREE and Triton write them; values whose layout nobody says; what cannot be checked."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.checking import check
from layoutalg.core.errors import LayoutError
from layoutalg.flow.graph import flows_of
from layoutalg.flow.values import solved
from tests.checking import modules


def rules(text: str, llvm: int = 22) -> list[tuple[str, str]]:
    return [(finding.rule, finding.operation) for finding in check(la.read(text), llvm=llvm).findings]


NESTED = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], "
    "thread_tile = [{0}], element_tile = [{1}], subgroup_strides = [0, 0], thread_strides = [{2}]>"
)
ROWS, COLUMNS = NESTED.format("8, 1", "1, 8", "1, 0"), NESTED.format("1, 8", "8, 1", "0, 1")


def test_iree_gives_layouts_with_to_layout() -> None:
    text = f"""func.func @f(%x: vector<8x8xf16>) {{
      %a = iree_vector_ext.to_layout %x to layout({ROWS}) : vector<8x8xf16>
      %b = arith.addf %a, %a : vector<8x8xf16>
      %c = iree_vector_ext.to_layout %b to layout({COLUMNS}) : vector<8x8xf16>
      %d = vector.transpose %b, [1, 0] : vector<8x8xf16> to vector<8x8xf16>
      %e = iree_vector_ext.to_layout %d to layout({COLUMNS}) : vector<8x8xf16>
      func.return
    }}"""
    found = check(la.read(text))
    assert found.is_right, found.findings
    assert [(one.name, one.is_redundant) for one in found.conversions] == [("%c", False), ("%e", True)]
    assert found.conversions[0].cost


def test_a_layout_of_64_threads_is_on_a_machine_of_64_lanes() -> None:
    wide = NESTED.format("4, 16", "4, 1", "16, 1")
    text = f"""func.func @f(%x: vector<16x16xf32>) {{
      %a = iree_vector_ext.to_layout %x to layout({wide}) : vector<16x16xf32>
      %b = arith.negf %a : vector<16x16xf32>
      func.return
    }}"""
    found = check(la.read(text))
    assert found.findings == ()
    assert found.operations == 2


def test_triton_says_layouts_in_types() -> None:
    text = """
    #rows = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0]], warp = [], block = []}>
    #columns = #ttg.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2]], warp = [], block = []}>
    func.func @f(%x: tensor<4x4xf32, #rows>, %w: tensor<4x4xf32, #columns>) {
      %y = "ttg.convert_layout"(%x) : (tensor<4x4xf32, #rows>) -> tensor<4x4xf32, #columns>
      %z = arith.addf %y, %w : tensor<4x4xf32, #columns>
      func.return
    }"""
    found = check(la.read(text))
    assert found.is_right, found.findings
    [conversion] = found.conversions
    assert (conversion.operation, conversion.is_redundant) == ("ttg.convert_layout", False)
    assert conversion.cost


@pytest.mark.parametrize("llvm", [22, 24])
def test_a_dpas_says_its_layouts_in_either_bracket(llvm: int) -> None:
    text = modules.DPAS_ROWS
    if llvm == 24:
        text = text.replace("{layout_a", "<{layout_a").replace("} : vector<64x32xf16>", "}> : vector<64x32xf16>")
    assert ("layouts.operand", "xegpu.dpas") in rules(text, llvm)


def test_layout_operand_is_about_the_operand() -> None:
    text = (
        f"func.func @f() {{\n%x = arith.constant {{layout_result_0 = {modules.COLUMNS}}} dense<1.0> : vector<16x16xf32>\n"
        f"%y = math.exp %x {{layout_operand_0 = {modules.ROWS}}} : vector<16x16xf32>\nfunc.return\n}}"
    )
    assert rules(text) == [("layouts.operand", "math.exp")]


def test_a_scatter_says_the_layout_of_what_it_stores() -> None:
    text = (
        "func.func @f(%p: i64) {\n"
        "%mask = arith.constant dense<true> : vector<16xi1>\n%at = vector.step : vector<16xindex>\n"
        f"%x = arith.constant {{layout_result_0 = {modules.lanes('8', '1')}}} dense<1.0> : vector<16xf32>\n"
        f"xegpu.store %x, %p[%at], %mask <{{layout = {modules.lanes('16', '1')}}}> : "
        "vector<16xf32>, i64, vector<16xindex>, vector<16xi1>\nfunc.return\n}"
    )
    found = [one for one in check(la.read(text), llvm=24).mistakes if one.finding.rule == "layouts.operand"]
    # Lane 8 of 16 holds what lane 0 of 8 does: elements 0 and 8.
    assert [(one.finding.operation, one.operand, one.element) for one in found] == []
    narrow = text.replace(modules.lanes("8", "1"), modules.lanes("8", "2"))
    [mistake] = [one for one in check(la.read(narrow), llvm=24).mistakes if one.finding.rule == "layouts.operand"]
    assert (mistake.finding.operation, mistake.operand) == ("xegpu.store", "%x")


def test_a_constant_that_nobody_speaks_of_is_made_where_it_is_needed() -> None:
    text = (
        f"func.func @f() {{\n%c = arith.constant dense<1.0> : vector<16x16xf32>\n"
        f"%x = math.exp %c {{layout_result_0 = {modules.COLUMNS}}} : vector<16x16xf32>\n"
        f"%y = math.exp %c {{layout_result_0 = {modules.ROWS}}} : vector<16x16xf32>\nfunc.return\n}}"
    )
    assert rules(text) == []


def test_an_argument_that_two_uses_want_otherwise_is_wrong_for_one_of_them() -> None:
    text = (
        f"func.func @f(%c: vector<16x16xf32>) {{\n"
        f"%x = math.exp %c {{layout_result_0 = {modules.COLUMNS}}} : vector<16x16xf32>\n"
        f"%y = math.exp %c {{layout_result_0 = {modules.ROWS}}} : vector<16x16xf32>\nfunc.return\n}}"
    )
    [mistake] = check(la.read(text)).mistakes
    assert mistake.finding.place is not None
    assert (mistake.finding.place.line, mistake.operand) == (3, "%c")
    assert "from layout_result_0 of math.exp at line 2" in mistake.finding.notes[0]


def test_what_a_loop_carries_has_one_layout() -> None:
    text = f"""func.func @f(%n: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %z = arith.constant dense<0.0> : vector<16x16xf32>
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> (vector<16x16xf32>) {{
        %b = math.exp %a {{layout_result_0 = {modules.COLUMNS}}} : vector<16x16xf32>
        scf.yield %b : vector<16x16xf32>
      }}
      %e = math.exp %r {{layout_result_0 = {modules.ROWS}}} : vector<16x16xf32>
      func.return
    }}"""
    module = la.read(text)
    [flow] = flows_of(module.parts[0].module)
    carried = next(value for value in flow.values if len(value.members) == 2)
    assert solved(flow, la.Machine(lanes=16)).stated[carried.number].attribute == la.parse(modules.COLUMNS)
    assert rules(text) == [("layouts.operand", "math.exp")]


def test_values_are_named_as_the_text_names_them() -> None:
    text = (
        f"func.func @f(%arg0: vector<16x16xf32>) {{\n%0 = math.exp %arg0 {{layout_result_0 = {modules.COLUMNS}}} : "
        f"vector<16x16xf32>\n%1 = math.exp %0 {{layout_result_0 = {modules.ROWS}}} : vector<16x16xf32>\nfunc.return\n}}"
    )
    assert [mistake.operand for mistake in check(la.read(text)).mistakes] == ["%0"]


@pytest.mark.parametrize("given", [5, None, b"gpu.barrier", ["gpu.barrier"]])
def test_what_is_no_module_is_refused_in_words(given: object) -> None:
    with pytest.raises(LayoutError, match="check of"):
        check(given)  # type: ignore[arg-type]


def test_a_layout_of_another_rank_is_a_finding_and_no_traceback() -> None:
    flat = modules.lanes("16", "1")
    text = (
        f"func.func @f() {{\n%x = arith.constant {{layout_result_0 = {flat}}} dense<1.0> : vector<16x16xf32>\n"
        f"%y = math.exp %x {{layout_result_0 = {modules.COLUMNS}}} : vector<16x16xf32>\nfunc.return\n}}"
    )
    assert [rule for rule, _ in rules(text)] == ["layouts.fit"]


def test_several_modules_of_one_text_are_all_checked() -> None:
    text = modules.broadcast("1") + "\n// -----\n" + modules.broadcast("1")
    lines = [finding.place.line for finding in check(la.read(text)).findings if finding.place is not None]
    assert len(lines) == 2
    assert lines[1] > lines[0]
