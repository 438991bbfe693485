"""The picture of what propagation gives: layouts and prices are those of its decisions, and a module has one too."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import layoutalg as la
from tests.viz.reading import smallest_text

KERNEL = """
#columns = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
#rows = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
func.func @f(%p: memref<64x64xf32>) {
  %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>
  %x = xegpu.load_nd %t[0, 0] <{layout = #columns}> : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
  %e = math.exp %x : vector<16x16xf32>
  %s = arith.addf %e, %e {layout_result_0 = #rows} : vector<16x16xf32>
  func.return
}"""
ENDS = [
    "gpu.barrier",
    "%x = arith.constant dense<0.0> : vector<8xf32> my.op %x : vector<8xf32>",
    "func.func @f(%x: vector<?xf32>) { func.return }",
    "func.func @f(%x: vector<0xf32>) { %y = math.exp %x : vector<0xf32> func.return }",
    "func.func @f(%x: vector<8x16xf32>) { %y = vector.transpose %x, [0, 7] : vector<8x16xf32> to vector<8x16xf32> "
    "func.return }",
    "func.func @<script>(",
    "func.func @f(%x: vector<16x16xf32>) { %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16]>, "
    "target_layout = #xegpu.layout<lane_layout = [3, 5]>}> : vector<16x16xf32> func.return }",
]


def numbers(texts: list[str]) -> int:
    return sum(int(found[1]) for text in texts if (found := re.search(r"(\d+) slots?$", text)))


def test_what_operations_and_lines_cost_is_what_propagation_says_in_all() -> None:
    done = la.propagate(KERNEL)
    graph = done.picture()
    assert numbers([box.title for box in graph.boxes]) + numbers([line.label for line in graph.lines]) == done.cost > 0
    assert numbers([line.label for line in graph.lines]) == sum(one.cost for one in done.conversions) > 0
    moved = sum(one.cost for one in done.conversions)
    told = f"elements move on 1 of 4 lines: {moved} issue slots of a subgroup; operations take {done.cost - moved}"
    assert graph.notes == (told,)


def test_an_operation_without_a_result_says_what_it_takes() -> None:
    store = "  xegpu.store_nd %e, %t[0, 0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>\n  func.return"
    *_, last = la.read(KERNEL.replace("  func.return", store)).picture().boxes
    assert (last.title, last.subtitle) == ("xegpu.store_nd", "takes %e")


def test_a_box_has_the_layout_that_was_decided() -> None:
    done = la.propagate(KERNEL)
    graph = done.picture()
    letters = dict(name.removeprefix("layout ").split(": ", 1) for name in graph.key)
    drawn = {box.subtitle.split(":")[0]: letters[box.subtitle[-1]] for box in graph.boxes if box.colour}
    decided = {one.name: str(one.attribute) for one in done.decisions}
    assert decided.items() <= drawn.items()


def test_a_line_says_how_a_value_is_held_how_it_is_needed_and_the_price_of_the_exchange() -> None:
    graph = la.propagate(KERNEL).picture()
    rows = next(name[7] for name in graph.key if "[16, 1]" in name)
    columns = next(name[7] for name in graph.key if "lane_layout = [1, 16]" in name)
    [moved] = [line for line in graph.lines if line.state == "moves"]
    cost = la.price(
        *(f"#xegpu.layout<lane_layout = {one}, lane_data = [1, 1]>" for one in ("[1, 16]", "[16, 1]")),
        (16, 16),
        "f32",
        target="pvc",
    )
    assert moved.label == f"%e: layout {columns} to {rows}, {cost.slots} slots"


@pytest.mark.parametrize("value", ["module", "propagated", "check"])
def test_a_cell_of_a_notebook_ends_with_the_graph_and_the_text(value: str) -> None:
    module = la.read(KERNEL)
    answer = {"module": lambda: module, "propagated": lambda: la.propagate(module), "check": lambda: la.check(module)}[
        value
    ]()
    shown = answer._repr_html_()
    assert shown.startswith('<div class="layoutalg-graph"')
    assert "<pre" in shown
    svg = answer.picture().svg()
    ElementTree.fromstring(svg)
    assert smallest_text(svg, 400) >= 7


@pytest.mark.parametrize("text", ENDS)
def test_a_module_without_a_picture_ends_a_cell_with_its_text(text: str) -> None:
    shown = la.read(text + "\n")._repr_html_()
    assert shown.startswith(("<pre", '<div class="layoutalg-graph"'))
    assert "<script>(" not in shown


def test_the_picture_is_of_the_function_that_is_named() -> None:
    text = KERNEL + KERNEL.split("lane_data = [1, 1]>", 2)[2].replace("@f", "@g").replace("math.exp", "math.log")
    assert any(box.title == "math.log" for box in la.read(text).picture("g").boxes)
    with pytest.raises(la.LayoutError, match="no function named 'h' with distributed values"):
        la.read(text).picture("h")


def test_each_kernel_of_a_plan_can_be_drawn(tmp_path: Path) -> None:
    for level in ("lane", "subgroup", "workgroup"):
        module = la.read(la.plan_gemm(64, 64, 64, tile=(32, 32), k_step=32, subgroups=(1, 1)).emit(level))
        graph = module.picture()
        assert any("dpas" in box.title for box in graph.boxes)
        (tmp_path / f"{level}.svg").write_text(graph.svg(), encoding="utf-8")
        assert smallest_text(graph.svg(), 620) >= 7


def test_the_picture_of_a_check_says_the_first_error_and_how_many_more() -> None:
    wrong = KERNEL.replace("lane_layout = [1, 16]", "lane_layout = [4, 2]").replace(
        "addf %e, %e {layout_result_0 = #rows}", "addf %e, %e"
    )
    found = la.check(wrong)
    errors = [
        f"{one.finding.operation} {one.finding.message}" for one in found.mistakes if one.finding.level == "error"
    ]
    (said,) = (note for note in found.picture().notes if note.startswith("wrong: "))
    assert any(said.startswith(f"wrong: {message[:90]}") for message in errors)
    assert ("more error" in said) == (len(errors) > 1)


def test_a_graph_without_layouts_says_nothing_about_moves() -> None:
    graph = la.Module(
        "func.func @f(%x: vector<16x16xf32>) { %y = math.exp %x : vector<16x16xf32> func.return }"
    ).picture()
    assert graph.title.endswith(": its values")
    assert graph.notes == ()
