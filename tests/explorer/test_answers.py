"""The explorer's answers: what the library says, and what can be counted by hand."""

from __future__ import annotations

import base64
import itertools
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.explorer.answers import KINDS, answer
from layoutalg.show.report import describe
from layoutalg.viz.colours import DARK_PALE, PALE, PALE_INK

ROWS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
COLUMNS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
KERNEL = f"""func.func @f(%x: vector<16x16xf32>) {{
  %y = xegpu.convert_layout %x <{{input_layout = {ROWS}, target_layout = {COLUMNS}}}> : vector<16x16xf32>
  func.return }}"""

TEXTS = [
    (ROWS, "8x16", "XeGPU"),
    ("#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>", "32x64", "XeGPU"),
    ("#xegpu.slice<#xegpu.layout<lane_layout = [4, 4], lane_data = [1, 1]>, dims = [0]>", "16", "XeGPU"),
    ("!x86.amx.tile<16x64xi8>", None, "AMX"),
    ("(8,4):(4,1)", None, "CuTe"),
    ("Sw<3,3,3> o 0 o (8,64):(64,1)", None, "CuTe"),
    ("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane", None, "layout"),
    ("#ttg.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2]], warp = [], block = []}>", None, "Triton"),
    (
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>",
        "16x32",
        "Triton encoding",
    ),
]  # fmt: skip


def sizes(shape: str | None) -> tuple[int, ...] | None:
    return None if shape is None else tuple(map(int, shape.split("x")))


@pytest.mark.parametrize(("text", "shape", "notation"), TEXTS)
def test_a_layout_is_answered_as_show_and_picture_say_it(text: str, shape: str | None, notation: str) -> None:
    found = answer({"kind": "layout", "text": text, "shape": shape})
    value = la.parse(text)
    described, picture = describe(value, sizes(shape)), la.picture(value, sizes(shape))
    assert found["notation"] == notation
    assert found["report"] == [*map(list, described.lines())]
    outlined = picture.by == "bank"  # what lanes read at once; the lane that is chosen, the page outlines
    picture = replace(picture, paged=False, example=outlined)  # the page scrolls
    assert found["svg"] == picture.svg()
    assert (found["colourings"], found["directions"]) == ([*picture.colourings], [*picture.directions])
    cells = found["scene"]["cells"]
    assert [one["sentence"] for one in cells] == [one.sentence for one in picture.scene().cells]
    assert all(one["sentence"].startswith(f"element ({', '.join(map(str, one['element']))})") for one in cells)


@pytest.mark.parametrize(("text", "shape", "notation"), TEXTS)
def test_the_other_texts_of_a_layout_mean_the_same(text: str, shape: str | None, notation: str) -> None:
    layout = describe(text, sizes(shape)).layout
    assert layout is not None
    for one in answer({"kind": "layout", "text": text, "shape": shape})["texts"]:
        assert "text" in one or one["refused"]
        if "text" in one and one["notation"] != "CuTe":
            assert la.same(la.parse(one["text"]), layout, layout.shape), one


def test_cells_are_marked_with_those_of_their_lane() -> None:
    """A 4x8 tile in eight lanes, two columns each: lane = 4 * (row // 2) + column // 2."""
    text = "#xegpu.layout<lane_layout = [2, 4], lane_data = [1, 2]>"
    found = answer({"kind": "layout", "text": text, "shape": "4x8"})["scene"]
    lanes = [4 * (row % 2) + column // 2 for row, column in itertools.product(range(4), range(8))]
    for lane, cell in zip(lanes, found["cells"], strict=True):
        assert sorted(found["members"][cell["group"]]) == [i for i, other in enumerate(lanes) if other == lane]


def test_owners_and_holders_are_those_of_the_rule_of_xegpu() -> None:
    """lane_layout = [2, 8], lane_data = [1, 2] on 4x32: lane (row % 2, column // 2 % 8), in blocks of 2x16."""
    text = "#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 2]>"
    held: dict[int, set[tuple[int, int]]] = {}
    for row, column in itertools.product(range(4), range(32)):
        lane = row % 2 * 8 + column // 2 % 8
        held.setdefault(lane, set()).add((row, column))
        found = answer({"kind": "owner", "text": text, "shape": "4x32", "at": [row, column]})
        assert [one["lane"] for one in found["owners"]] == [lane]
    for lane, elements in held.items():
        found = answer({"kind": "holds", "text": text, "shape": "4x32", "place": {"lane": lane}})
        assert {tuple(one) for one in found["elements"]} == elements


def test_one_operand_of_a_product_can_be_asked() -> None:
    """PTX ISA, mma.m16n8k16: row of A is lane / 4, or that plus 8."""
    text = "mma.m16n8k16.f32.f16.f16.f32"
    assert [one["role"] for one in answer({"kind": "layout", "text": text})["candidates"]] == ["A", "B", "C"]
    found = answer({"kind": "holds", "text": text, "operand": "A", "place": {"lane": 5}})
    assert {row for row, _ in found["elements"]} == {1, 9}


@pytest.mark.parametrize(
    "text", ["MFMA_F32_16x16x16_F16", "v_smfmac_f32_16x16x32_f16", "v_mfma_scale_f32_16x16x128_f8f6f4"]
)
def test_every_operand_that_is_offered_can_be_asked(text: str) -> None:
    """Each answer is that of the operand's layout alone, and the picture has that operand under its number."""
    shown = answer({"kind": "layout", "text": text})
    cells = shown["scene"]["cells"]
    for number, one in enumerate(shown["candidates"]):
        found = answer({"kind": "holds", "text": text, "operand": one["role"], "place": {"lane": 5}})
        assert found == answer({"kind": "holds", "text": one["layout"], "place": {"lane": 5}})
        drawn = [tuple(cell["element"]) for cell in cells if cell["operand"] == number]
        assert drawn
        assert all(0 <= at < size for cell in drawn for at, size in zip(cell, one["shape"], strict=True))


def test_the_smallest_shape_is_taken_where_none_is_said() -> None:
    assert answer({"kind": "layout", "text": ROWS})["shape"] == [1, 16]


def test_a_value_without_a_picture_says_why() -> None:
    found = answer({"kind": "layout", "text": "d0 = M@reg"})
    assert found["svg"] is None
    assert "symbols" in found["no_picture"]


def test_the_colour_and_the_direction_are_those_that_are_asked_for() -> None:
    found = answer({"kind": "layout", "text": ROWS, "shape": "8x16", "colour": "lane", "direction": "hardware"})
    assert (found["colour"], found["direction"]) == ("lane", "hardware")
    assert found["svg"] == la.picture(ROWS, (8, 16), colour="lane", direction="hardware").svg()


def test_a_picture_fits_a_phone_when_it_is_asked_to() -> None:
    asked = {"kind": "layout", "text": "MFMA_F32_16x16x16_F16"}
    wide, phone = answer(asked)["scene"], answer(asked | {"fits": "phone"})["scene"]
    assert phone["width"] < 0.6 * wide["width"]
    assert (len(wide["cells"]), len({cell["operand"] for cell in phone["cells"]})) == (3 * 256, 3)
    known = {(one["operand"], *one["element"]): one["sentence"] for one in wide["cells"]}
    assert all(known[one["operand"], *one["element"]] == one["sentence"] for one in phone["cells"])


@pytest.mark.parametrize(
    ("first", "second", "shape", "equal"),
    [(ROWS, COLUMNS, "16x16", False), (ROWS, ROWS.replace("lane_data = [1, 1]", "lane_data = [2, 1]"), "16x16", True)],
)
def test_same_says_what_same_says(first: str, second: str, shape: str, equal: bool) -> None:
    found = answer({"kind": "same", "first": first, "second": second, "shape": shape})
    assert found["same"] is equal
    assert found["sentence"] == str(la.same(la.parse(first), la.parse(second), sizes(shape)))
    assert found["svg"].startswith("<svg")


def test_what_becomes_of_each_element_is_counted() -> None:
    """Rows and columns of 16x16 agree on the diagonal alone: element (i, i) is in lane i, register i in both."""
    found = answer({"kind": "same", "first": ROWS, "second": COLUMNS, "shape": "16x16"})
    assert {name: count for name, count in found["counts"].items() if count} == {"same": 16, "moved": 240}


PAIRS = [
    (ROWS, COLUMNS, (16, 16), "f32", "sm_90", 32),
    (ROWS, COLUMNS, (16, 16), "f16", "gfx942", 64),
    (ROWS, COLUMNS, (32, 32), "i8", "pvc", 16),
    ("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg", (4, 4), "f32", "sm_90", 4),
    ("d0 = 2@sg 2@reg, d1 = 16@lane", "d0 = 2@reg 2@sg, d1 = 16@lane", (4, 16), "f32", "bmg", 16),
    ("d0 = 3@reg 5@lane", "d0 = 5@lane 3@reg", (15,), "f32", "sm_80", 5),
]


def places(text: str, shape: tuple[int, ...], lanes: int) -> dict[tuple[int, int, int], tuple[int, ...]]:
    """The element in each place (sg, lane, reg), counted through."""
    layout = la.parse(text).layout(shape, la.Machine(lanes=lanes))
    found: dict[tuple[int, int, int], tuple[int, ...]] = {}
    for at in itertools.product(*map(range, shape)):
        for owner in layout.owners(at):
            place = dict(zip(layout.codomain, owner, strict=True))
            found[place.get("sg", 0), place.get("lane", 0), place.get("reg", 0)] = at
    return found


@pytest.mark.parametrize(("first", "second", "shape", "element", "target", "lanes"), PAIRS)
def test_the_moves_of_a_conversion_bring_every_element_where_it_belongs(
    first: str, second: str, shape: tuple[int, ...], element: str, target: str, lanes: int
) -> None:
    """What subgroup 0 holds afterwards is moved from a place that had it, or stays where it is."""
    asked = {"first": first, "second": second, "shape": [*shape], "element": element, "target": target, "lanes": lanes}
    found = answer({"kind": "convert", **asked})
    before, after = (places(text, shape, lanes) for text in (first, second))
    moved = {
        (to_lane, to_reg): before[sg, lane, reg]
        for step in found["steps"]
        for lane, reg, to_lane, to_reg, sg in step["moves"]
    }
    for (sg, lane, reg), at in after.items():
        assert sg or moved.get((lane, reg), before.get((0, lane, reg))) == at
    assert [one["chosen"] for one in found["candidates"]].count(True) == 1


@pytest.mark.parametrize("target", ["bmg", "spr"])
def test_a_product_is_planned_as_the_command_line_says(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    from layoutalg.cli import main

    asked = {"kind": "gemm", "m": 96, "n": 80, "k": 64, "a": "bf16", "target": target}
    found = answer(asked)
    assert main(["gemm", "96", "80", "64", "--a", "bf16", "--target", target, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    others = [(one["tiling"], one["reason"]) for one in facts["runners_up"]]
    assert [(one["tiling"], one["why"]) for one in found["candidates"]] == others
    text = base64.b64decode(answer({"kind": "export", "of": asked, "format": "text"})["base64"]).decode()
    assert text.startswith(found["title"])
    cells = [cell for table in found["tables"] for row in table for cell in row]
    assert all(word in text for cell in cells for word in cell.split())
    assert found["svg"] == la.plan_gemm(96, 80, 64, "bf16", target=target).picture().svg()


def test_a_product_that_is_not_planned_says_why() -> None:
    refused = answer({"kind": "gemm", "m": 8, "n": 8, "k": 8, "a": "f64"})["error"]
    assert "f64" in refused["message"]
    assert answer({"kind": "gemm", "m": 8, "n": 8})["error"] == {"message": "k: missing", "field": "k"}


def test_an_expression_has_inputs_steps_and_a_result() -> None:
    """CuTe's documentation: logical_divide of (4,2,3):(2,1,8) by 4:2 is ((2,2),(2,3)):((4,1),(2,8))."""
    found = answer({"kind": "algebra", "expression": "logical_divide((4,2,3):(2,1,8), 4:2)"})
    assert found["result"] == "((2,2),(2,3)):((4,1),(2,8))"
    assert [one["text"] for one in found["inputs"]] == ["(4,2,3):(2,1,8)", "4:2"]
    assert all(one["svg"].startswith("<svg") for one in (*found["inputs"], found))
    assert answer({"kind": "algebra", "expression": "size((4,2))"})["svg"] is None


def test_conflicts_of_banks_are_counted() -> None:
    """64 halves a row: each of 8 rows of 16 bytes begins in bank 0; CUTLASS's swizzle 3,3,3 moves them apart."""
    plain = answer({"kind": "banks", "memory": "d0 = 16@addr:64, d1 = 64@addr", "layout": "ldmatrix.x4.trans"})
    swizzled = answer({"kind": "banks", "memory": "Sw<3,3,3> o 0 o (16,64):(64,1)", "layout": "ldmatrix.x4.trans"})
    assert (plain["conflicts"], swizzled["conflicts"]) == (8, 1)
    transposed = {"kind": "banks", "memory": "row-major", "layout": "d0 = 16@lane, d1 = 16@reg 2@lane:16"}
    assert answer(transposed)["conflicts"] == 16


def test_the_memory_of_an_access_is_memory_however_its_layout_is_read() -> None:
    """32 lanes, a value each, down the rows of 32 x 32 words: all in one bank, but for CUTLASS's swizzle 5,0,5."""
    asked = {"kind": "banks", "layout": "(32,32):(1,32)", "shape": "32x32", "vector": 1}
    for reading in (None, "tv"):
        plain, swizzled = (
            answer({**asked, "memory": memory, "as": reading})["conflicts"]
            for memory in ("(32,32):(32,1)", "Sw<5,0,5> o 0 o (32,32):(32,1)")
        )
        assert (plain, swizzled) == (32, 1)


def test_instructions_are_found_by_words() -> None:
    found = answer({"kind": "instructions", "query": "gfx942 f64"})
    assert [row["name"] for row in found["rows"]] == ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"]
    assert found["rows"][0]["types"] == "f64 x f64 + f64"
    everything = answer({"kind": "instructions"})
    assert len(everything["rows"]) + everything["more"] == len(la.known_instructions())


def test_a_module_has_values_findings_and_functions() -> None:
    found = answer({"kind": "file", "text": KERNEL})
    assert [(one["name"], one["operand"], one["line"], one["shape"]) for one in found["values"]] == [
        ("%y", "input_layout", 2, [16, 16]),
        ("%y", "target_layout", 2, [16, 16]),
    ]
    assert (found["verdict"], found["findings"], found["functions"]) == ("right", [], [{"name": "f", "line": 1}])
    broken = answer({"kind": "file", "text": "func.func @f() {\n  xegpu.alloc_nbarrier -1\n  func.return\n}"})
    assert [(one["line"], one["severity"]) for one in broken["findings"]] == [(2, "error")]


def test_a_spelling_that_llvm_refuses_does_not_hide_what_is_wrong_by_meaning() -> None:
    text = """
      #a = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
      #rows = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
      func.func @f(%x: vector<8x16xf16>, %t: !xegpu.tensor_desc<16x16xf16>) {
        %y = xegpu.load_nd %t[0, 0] <{layout = #rows}> : !xegpu.tensor_desc<16x16xf16> -> vector<16x16xf16>
        %z = xegpu.dpas %x, %y {layout_a = #a, layout_b = #a, layout_cd = #a}
          : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>
        func.return
      }"""
    found = answer({"kind": "file", "text": text, "llvm": 24})
    assert found["verdict"] == "wrong"
    said = [one["message"] for one in found["findings"]]
    assert ["strict properties" in one for one in said] == [True, False]
    assert "wants %y as its layout_b says" in said[1]


def test_a_module_is_no_layout_and_says_so() -> None:
    found = answer({"kind": "layout", "text": KERNEL})["error"]
    assert (found["field"], found["file"]) == ("text", True)


BEGINNINGS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>", "text": b"input: #xegpu"}


@pytest.mark.parametrize("format_", BEGINNINGS)
def test_a_picture_is_exported_in_each_format(format_: str) -> None:
    of = {"kind": "layout", "text": ROWS, "shape": "8x16"}
    found = answer({"kind": "export", "of": of, "format": format_})
    assert base64.b64decode(found["base64"]).startswith(BEGINNINGS[format_])
    assert found["name"].startswith("layout.")


@pytest.mark.parametrize(
    "of",
    [
        {"kind": "convert", "first": ROWS, "second": COLUMNS, "shape": "16x16"},
        {"kind": "algebra", "expression": "coalesce((2,(1,6)):(1,(6,2)))"},
        {"kind": "same", "first": ROWS, "second": COLUMNS, "shape": "16x16"},
        {"kind": "banks", "memory": "row-major", "layout": "d0 = 16@lane, d1 = 16@reg 2@lane:16"},
    ],
)
def test_other_pictures_and_reports_are_exported(of: dict[str, Any]) -> None:
    for format_, beginning in (BEGINNINGS | {"text": b""}).items():
        found = answer({"kind": "export", "of": of, "format": format_})
        assert base64.b64decode(found["base64"]).startswith(beginning)
    same = {"kind": "same", "first": ROWS, "second": ROWS, "shape": "16x16"}
    found = answer({"kind": "export", "of": same, "format": "text"})
    assert base64.b64decode(found["base64"]) == b"the same map\n"


@pytest.mark.parametrize(
    ("question", "field", "words"),
    [
        ({"kind": "layout"}, "text", "missing"),
        ({"kind": "layout", "text": 7}, "text", "expected a str"),
        ({"kind": "layout", "text": " "}, "text", "empty"),
        ({"kind": "layout", "text": ROWS, "shape": "8y16"}, "shape", "32x64"),
        ({"kind": "layout", "text": ROWS, "shape": [8, True]}, "shape", "whole number"),
        ({"kind": "layout", "text": ROWS, "shape": "7x7"}, "shape", "lane_layout"),
        ({"kind": "layout", "text": ROWS, "shape": [10**30, 16]}, "shape", "2147483648"),
        ({"kind": "layout", "text": ROWS, "colour": "sound"}, "colour", "subgroup"),
        ({"kind": "layout", "text": ROWS, "direction": "up"}, "direction", "hardware"),
        ({"kind": "layout", "text": ROWS, "fits": "tablet"}, "fits", "phone"),
        ({"kind": "layout", "text": ROWS, "llvm": 3}, "llvm", "22"),
        ({"kind": "layout", "text": ROWS, "llvm": 22.0}, "llvm", "22"),
        ({"kind": "layout", "text": ROWS, "lanes": 0}, "lanes", "from 1"),
        ({"kind": "gemm", "m": "9" * 20}, "m", "'99999999999999999999': expected a whole number from 1 to"),
        ({"kind": "gemm", "m": "1e3"}, "m", "m = '1e3': expected a whole number from 1 to"),
        ({"kind": "layout", "text": ROWS, "element": "f31"}, "element", "float"),
        ({"kind": "layout", "text": "x" * 2**21}, "text", "at most 1,048,576"),
        ({"kind": "owner", "text": ROWS, "at": [9, 99]}, "at", "goes from"),
        ({"kind": "owner", "text": ROWS, "at": "0,0"}, "at", "expected a list"),
        ({"kind": "holds", "text": ROWS, "place": {"lane": "5"}}, "place", "whole number"),
        ({"kind": "holds", "text": ROWS, "place": {}}, "place", "axes"),
        ({"kind": "holds", "text": ROWS, "place": {"warp": 1}}, "place", "warp"),
        ({"kind": "owner", "text": "dpas.f16.f16.f32", "operand": "D", "at": [0, 0]}, "operand", "A, B, C"),
        ({"kind": "same", "first": ROWS}, "second", "missing"),
        ({"kind": "convert", "first": ROWS, "second": COLUMNS, "shape": "16x16", "target": "c64"}, "target", "pvc"),
        ({"kind": "convert", "first": ROWS, "second": COLUMNS, "pressure": "low"}, "pressure", "alone"),
        ({"kind": "algebra", "expression": "4:"}, "expression", "line 1, column 3"),
        ({"kind": "instructions", "query": "mma sound"}, "query", "sound"),
        ({"kind": "export", "of": {"kind": "layout", "text": ROWS}, "format": "gif"}, "format", "svg"),
        ({"kind": "export", "of": 7, "format": "svg"}, "of", "question"),
        ({"kind": "why"}, "kind", "layout"),
        ([], "kind", "JSON object"),
    ],
)  # fmt: skip
def test_a_bad_field_is_named_and_what_is_expected_is_said(question: Any, field: str, words: str) -> None:
    found = answer(question)["error"]
    assert found["field"] == field
    assert words in found["message"]


def test_where_a_text_cannot_be_read_is_said() -> None:
    found = answer({"kind": "same", "first": ROWS, "second": "#xegpu.layout<lane_layout = [1, 16>"})["error"]
    assert (found["field"], found["line"], found["column"]) == ("second", 1, 35)


def test_every_kind_is_answered_as_json() -> None:
    examples: dict[str, dict[str, Any]] = {
        "layout": {"text": ROWS},
        "owner": {"text": ROWS, "at": [0, 3]},
        "holds": {"text": ROWS, "place": {"lane": 3}},
        "same": {"first": ROWS, "second": COLUMNS, "shape": "16x16"},
        "convert": {"first": ROWS, "second": COLUMNS, "shape": "16x16"},
        "banks": {"memory": "row-major", "layout": "d0 = 16@lane, d1 = 16@reg"},
        "gemm": {"m": 64, "n": 64, "k": 64},
        "algebra": {"expression": "coalesce((2,4):(1,2))"},
        "instructions": {"query": "dpas"},
        "file": {"text": KERNEL},
        "export": {"of": {"text": ROWS}, "format": "svg"},
        "choices": {},
    }
    assert examples.keys() == KINDS.keys()
    for kind, fields in examples.items():
        found = answer({"kind": kind, **fields})
        assert "error" not in found
        assert json.loads(json.dumps(found)) == found


def test_every_kind_stands_in_the_table_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == [*KINDS]


def test_what_an_installation_lacks_is_said() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None; from layoutalg.explorer import answer;"
        f"print(answer({{'kind': 'convert', 'first': {ROWS!r}, 'second': {COLUMNS!r}, 'shape': '16x16'}})['error']['message'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "this needs numpy: run `layoutalg serve`\n"


def test_the_page_has_the_pale_colours_of_pictures() -> None:
    """On a dark page a picture's own style is not read: the page's is."""
    text = (Path(la.__file__).parent / "explorer" / "page" / "explorer.css").read_text(encoding="utf-8")
    assert re.findall(r"--pale: (#\w+)", text) == [PALE, DARK_PALE]
    assert f'[fill="{PALE}"]' in text
    assert f'[fill="{PALE_INK}"]' in text


def test_an_operation_of_the_algebra_says_nothing_of_banks() -> None:
    found = answer({"kind": "algebra", "expression": "zipped_divide((8,6):(1,8), (2,3))"})
    for one in (found, *found["inputs"]):
        words = re.findall(r'<g class="words".*?</g>', one["svg"], re.DOTALL)[0]
        assert "address" in words
        assert "bank" not in words
