# pyright: reportPrivateUsage=false
"""What a notebook shows of every answer: what `print` gives, escaped, the picture where there is one, a short `repr`."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

import layoutalg as la
from layoutalg.core.limits import MOST_NOTEBOOK_LETTERS
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.memory import bank_picture

ROWS, COLUMNS = "d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg"
KERNEL = """// <script>alert("&")</script>
#columns = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
func.func @f(%p: memref<16x16xf32>) {
  %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32, #columns>
  %x = xegpu.load_nd %t[0, 0] <{layout = #columns}> : !xegpu.tensor_desc<16x16xf32, #columns> -> vector<16x16xf32>
  %y = math.exp %x {layout_result_0 = #columns} : vector<16x16xf32>
  func.return
}"""
RUN = """gpu.module @m { gpu.func @k(%p: memref<16xf32>) kernel
  attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
  %i = gpu.lane_id
  %c = arith.constant 1.0 : f32
  memref.store %c, %p[%i] : memref<16xf32>
  gpu.return
} }"""
DRAWN = """gpu.module @m { gpu.func @k(%p: memref<8x16xf32>) kernel
  attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
  %t = xegpu.create_nd_tdesc %p : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32, #a>
  %c = arith.constant {layout_result_0 = #a} dense<1.0> : vector<8x16xf32>
  xegpu.store_nd %c, %t[0, 0] <{layout = #a}> : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32, #a>
  gpu.return
} }""".replace("#a", "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>")
ANSWERS: dict[str, Any] = {
    "same": lambda: la.same(ROWS, COLUMNS),
    "check": lambda: la.check(KERNEL),
    "module": lambda: la.read(KERNEL),
    "propagated": lambda: la.propagate(KERNEL),
    "lowered": lambda: la.lower(la.read(KERNEL)),
    "migrated": lambda: la.read(KERNEL).migrate(llvm=23),
    "price": lambda: la.price(ROWS, COLUMNS),
    "conflicts": lambda: la.bank_conflicts(ROWS),
    "coalescing": lambda: la.coalescing(ROWS, element_bits=32),
    "swizzle": lambda: la.best_swizzle(ROWS, COLUMNS),
    "finding": lambda: la.read("module {\n  my.op to nowhere\n}").findings[0],
    "kept": lambda: la.keeps_meaning(RUN, RUN),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_shows_what_print_gives_and_its_repr_is_a_line(name: str) -> None:
    answer = ANSWERS[name]()
    shown = answer._repr_html_()
    assert len(repr(answer)) <= 200
    assert "\n" not in repr(answer)
    text = unescape(re.sub("<[^>]*>", "", shown[shown.rindex("<pre") :]))
    assert str(answer) in text
    assert "<script>alert" not in shown


def test_conflicts_are_drawn_as_they_were_counted() -> None:
    asked = {"memory": "d0 = 4@addr:4, d1 = 4@addr", "vector": 1, "banks": 8, "width": 2, "element_bits": 16}
    found = la.bank_conflicts(COLUMNS, **asked)
    assert found.picture().svg() == bank_picture(COLUMNS, **asked).svg()


CONVERTED = """gpu.module @m { gpu.func @k(%p: memref<16x16xf32>) kernel
  attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
  %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32, #a>
  %x = xegpu.load_nd %t[0, 0] <{layout = #a}> : !xegpu.tensor_desc<16x16xf32, #a> -> vector<16x16xf32>
  %c = xegpu.convert_layout %x <{input_layout = #a, target_layout = #b}> : vector<16x16xf32>
  %y = math.exp %c {layout_result_0 = #b} : vector<16x16xf32>
  %d = xegpu.convert_layout %y <{input_layout = #b, target_layout = #a}> : vector<16x16xf32>
  xegpu.store_nd %d, %t[0, 0] <{layout = #a}> : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32, #a>
  gpu.return
} }"""
for name, lanes in (("#a", "1, 16"), ("#b", "16, 1")):
    CONVERTED = CONVERTED.replace(name, f"#xegpu.layout<lane_layout = [{lanes}], lane_data = [1, 1]>")


def test_what_was_lowered_is_drawn() -> None:
    """By hand: 16x16 over [1, 16] lanes is a column of 16 rows in each, over [16, 1] lanes a row."""
    lowered = la.lower(la.read(CONVERTED))
    drawing: Any = lowered.picture()
    assert drawing.title == "k on pvc, 16 lanes: lowered to lanes"
    assert drawing.notes[0] == "each lane works on its own part; 2 exchanges between lanes"
    first, second = (f"exchange: {one.plan.kind}" for one in lowered.exchanges)
    assert [box.subtitle for box in drawing.boxes] == [
        "%x: 16x16xf32, layout A, 16x1 in a lane",
        f"%c: 16x16xf32, layout B, 1x16 in a lane; {first}",
        "%y: 16x16xf32, layout B, 1x16 in a lane",
        f"%d: 16x16xf32, layout A, 16x1 in a lane; {second}",
        "takes %d",
    ]


def test_what_could_not_be_lowered_is_marked() -> None:
    lowered = la.lower(la.read(re.sub(r"(, |<\{layout = | \{layout_result_0 = )#xegpu.*?>(\}>|\})?", "", DRAWN)))
    drawing: Any = lowered.picture()
    assert lowered.module is None
    assert drawing.title.endswith("not lowered")
    assert [box.state for box in drawing.boxes] == ["wrong", "wrong"]
    assert all("without a layout" in box.subtitle for box in drawing.boxes)


def test_a_function_that_stays_as_it_is_is_not_called_lowered() -> None:
    """Only a gpu.func is lowered; this is a func.func."""
    kept = la.lower(la.read(KERNEL))
    drawing: Any = kept.picture()
    assert kept.module is not None
    assert drawing.title.endswith("not lowered")
    assert drawing.notes[0].startswith("func.func works on distributed values and stays as it is")
    assert repr(kept).endswith("not lowered: 1 finding>")


def test_a_comparison_is_drawn_with_the_operation_that_differs() -> None:
    """A store of 2 where 1 was."""
    kept = la.keeps_meaning(DRAWN, DRAWN.replace("dense<1.0>", "dense<2.0>"))
    graph = kept.picture()
    assert graph is not None
    wrong = [(box.title, box.told) for box in graph.boxes if box.state == "wrong"]
    assert [title for title, _ in wrong] == ["arith.constant"]
    assert graph.title.endswith("the first of two versions, which differ")
    assert ["; computes 1, which the second version never has" in box.subtitle for box in graph.boxes] == [True, False]
    same: Any = la.keeps_meaning(DRAWN, DRAWN)
    assert f"in {same.draws} draw" in same.picture().notes[0]
    assert "element (0, 0): 1 before, 2 after" in wrong[0][1]


@pytest.mark.parametrize("plan", [lambda: la.plan_gemm(64, 64, 64), lambda: la.plan_amx(64, 64, 64)])
def test_the_repr_of_a_plan_is_a_line_with_the_product(plan: Any) -> None:
    found = plan()
    assert repr(found) == f"<{type(found).__name__}: {found.problem}: {found.tiling}>"


@pytest.mark.parametrize(
    "plan", [lambda: la.plan_attention(64, 64, 64), lambda: la.plan_decode(4096, 64, heads=8, kv_heads=2, parts=4)]
)
def test_the_repr_of_a_plan_of_attention_is_a_line_with_what_is_computed(plan: Any) -> None:
    found = plan()
    assert repr(found) == f"<{type(found).__name__}: {found.problem}; {found.shares()}>"


def test_a_check_is_shown_as_its_graph_and_one_without_as_text() -> None:
    assert "layoutalg-graph" in la.check(KERNEL)._repr_html_()
    assert "<img" not in la.check("gpu.barrier")._repr_html_()


def test_what_could_not_be_lowered_is_said() -> None:
    lowered = la.lower(la.read(KERNEL.replace("[1, 16]", "[1, 32]")))
    assert lowered.module is None
    assert "not lowered" in lowered._repr_html_()
    assert lowered.findings[0].message.splitlines()[0] in unescape(lowered._repr_html_())


def test_a_long_text_is_cut_and_says_so() -> None:
    class Long(NotebookAnswer):
        def __str__(self) -> str:
            return "x" * (MOST_NOTEBOOK_LETTERS + 5)

    assert "and 5 letters more" in Long()._repr_html_()


@pytest.mark.slow
def test_a_notebook_ends_its_cells_with_them() -> None:
    from typing import cast

    import nbformat
    from nbclient import NotebookClient

    sources = [
        f"import layoutalg as la\nla.same({ROWS!r}, {COLUMNS!r})",
        f"la.check({KERNEL!r})",
        f"la.read({KERNEL!r})",
        f"la.propagate({KERNEL!r})",
        f"la.lower(la.read({KERNEL!r}))",
        f"la.keeps_meaning({RUN!r}, {RUN!r})",
        "la.plan_attention(256, 1000, 64)",
    ]
    made: Any = nbformat.v4
    notebook = made.new_notebook(cells=[made.new_code_cell(source) for source in sources])
    done: Any = NotebookClient(notebook, timeout=120, extra_arguments=["--log-level=ERROR"]).execute()
    for cell in done.cells:
        data = cast("dict[str, str]", cell.outputs[-1]["data"])
        assert "<pre" in data["text/html"] or "<img" in data["text/html"]
        assert len(data["text/plain"]) < 600
