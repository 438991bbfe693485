"""`layoutalg show` of whole modules: files, dumps, pipes, lines of logs; as text and as JSON."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from layoutalg.cli import main
from tests.cli.printed import Capture, answer, out

A = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
T = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
KERNEL = f"""\
#a = {A}
func.func @f(%x: vector<16x16xf32>, %p: memref<16x16xf32>) -> vector<16x16xf32> {{
  %0 = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<8x16xf32, #a>
  %7 = xegpu.convert_layout %x <{{input_layout = #a, target_layout = {T}}}> : vector<16x16xf32>
  %8 = xegpu.convert_layout %7 <{{input_layout = {T}, target_layout = {T}}}> : vector<16x16xf32>
  %9 = "foo.bar"(%8) {{layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>}}
    : (vector<16x16xf32>) -> vector<16x24xf32>
  func.return %7 : vector<16x16xf32>
}}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "kernel.mlir"
    path.write_text(KERNEL)
    return str(path)


def words(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_every_layout_has_a_line(width: int, kernel: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = out(capsys, "show", kernel)
    assert all(len(line) <= width for line in text.splitlines()[1:])
    joined = " ".join(text.split())
    for part in (
        "#a = layout<lane_layout=[1,16], lane_data=[1,1]>",
        "3 %0 = xegpu.create_nd_tdesc descriptor 8x16xf32 #a 16 lanes, 8x1 each",
        "4 %7 = xegpu.convert_layout input_layout 16x16xf32 #a 16 lanes, 16x1 each",
        "target_layout 16x16xf32 #2 16 lanes, 1x16 each",
        "element (0, 1) is in lane 1, register 0 in the first and in lane 0, register 1 in the second",
        "0 shuffles, 1,504 bytes of shared memory, 1 barrier, 128 issue slots on pvc; 16 lanes in a",
        "5 %8 = xegpu.convert_layout 16x16xf32, #2 to #2 the same map",
        "LLVM 24 refuses: 'xegpu.convert_layout' op invalid input layout, data cannot be evenly distributed.",
    ):
        assert part in joined
    assert "LLVM 22 refuses: cannot distribute [16, 24]" in " ".join(
        out(capsys, "show", kernel, "--llvm", "22").split()
    )


def test_who_holds_an_element_is_asked_of_every_layout_that_has_it(kernel: str, capsys: Capture) -> None:
    lines = words(out(capsys, "show", kernel, "--at", "12,3"))
    assert not [line for line in lines if "create_nd_tdesc" in line]  # 8 rows
    assert any(line.endswith("input_layout 16x16xf32 #a lane 3, register 12") for line in lines)
    assert any(line.endswith("target_layout 16x16xf32 #2 lane 12, register 3") for line in lines)
    assert out(capsys, "show", kernel, "--at", "99,99").endswith(
        "no layout has this element; their shapes are 8x16, 16x16, 16x24\n"
    )


def test_what_a_lane_holds_is_asked_of_every_layout(kernel: str, capsys: Capture) -> None:
    lines = words(out(capsys, "show", kernel, "--lane", "3"))
    assert any(line.endswith("descriptor 8x16xf32 #a d0 0-7; d1 3") for line in lines)
    assert any(line.endswith("target_layout 16x16xf32 #2 d0 3; d1 0-15") for line in lines)


@pytest.mark.parametrize("name", ["%7", "4"])
def test_one_operation_is_shown_in_full(name: str, kernel: str, capsys: Capture) -> None:
    text = out(capsys, "show", kernel, "--op", name, "--lane", "3")
    assert f"{kernel}:4:8: %7 = xegpu.convert_layout input_layout" in text
    assert text.count("\nowners    lane of d0 x d1") == 2
    assert "holds     (3, 0) (3, 1) (3, 2)" in text


def test_an_operation_that_is_not_there_is_an_error_that_lists_what_is(kernel: str, capsys: Capture) -> None:
    assert main(["show", kernel, "--op", "%17"]) == 2
    assert "it has %0, %7, %8, %9" in capsys.readouterr().err


def test_json_has_every_layout_and_conversion(kernel: str, capsys: Capture) -> None:
    found = answer(capsys, "show", kernel, "--target", "pvc", "--at", "1,2")
    first = found["layouts"][0]
    assert {name: first[name] for name in ("line", "column", "name", "operand", "shape", "element", "text")} == {
        "line": 3,
        "column": 8,
        "name": "%0",
        "operand": "descriptor",
        "shape": [8, 16],
        "element": "f32",
        "text": A,
    }
    assert first["owners"] == [{"sg": 0, "lane": 2, "reg": 1}]
    moved, kept = found["conversions"]
    assert (moved["same"], moved["element"], moved["shuffles"], moved["slm_bytes"] > 0) == (False, [0, 1], 0, True)
    assert kept["same"]
    assert "shuffles" not in kept
    one = answer(capsys, "show", kernel, "--op", "%0")
    assert one["layouts"][0]["axes"] == {"lane": 16, "reg": 8}


def test_strict_exits_with_1_where_a_layout_is_refused(kernel: str, capsys: Capture) -> None:
    out(capsys, "show", kernel, "--strict", code=1)
    out(capsys, "show", KERNEL.replace("16x24", "16x32"), "--strict")


def test_a_real_pipe(kernel: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "layoutalg", "show", "-", "--json"],
        input=KERNEL.encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["file"] == "-"
    program = f"{sys.executable} -m layoutalg show <(cat {kernel}) | head -1"
    done = subprocess.run(["bash", "-c", program], capture_output=True, check=True)
    assert b"6 layouts, 2 conversions" in done.stdout
    assert done.stderr == b""


def test_an_attribute_may_be_in_a_file(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "layout"
    path.write_text(f"// a comment\n#l = {A}\n#xegpu.slice<#l, dims = [0]>\n")
    assert "layout    d0 = 16@lane" in out(capsys, "show", str(path), "16")
    assert main(["same", str(path), "d0 = 16@lane", "16"]) == 0


def test_a_module_where_one_layout_is_wanted(kernel: str, capsys: Capture) -> None:
    assert main(["same", kernel, "d0 = 16@lane"]) == 2
    assert "a module; expected an attribute, a type or a layout" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("8x16",), "the values of a module have shapes of their own"),
        (("--blocks",), "name the operation with --op"),
        (("--at", "x"), "expected an element, such as 21,50"),
    ],
)
def test_options_that_do_not_fit_a_module(arguments: tuple[str, ...], said: str, kernel: str, capsys: Capture) -> None:
    assert main(["show", kernel, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_operation_of_a_value_is_an_error(capsys: Capture) -> None:
    assert main(["show", "d0 = 4@lane", "--op", "%7"]) == 2
    assert "is one value" in capsys.readouterr().err


def test_the_text_of_one_operation(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'%3 = "foo.bar"() {{layout_result_0 = {A}}} : () -> vector<8x16xf16>'
    assert answer(capsys, "show", text)["layouts"][0]["name"] == "%3"
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert answer(capsys, "show", "-")["layouts"][0]["layout"] == "d0 = 8@reg, d1 = 16@lane"


@pytest.mark.parametrize("text", ["#xegpu.layout<lane_layout = [1, 16", "bogus", "#xegpu.layuot<a = [1]>", "d0 = 4@"])
def test_a_damaged_attribute_is_still_reported_as_one(text: str, capsys: Capture) -> None:
    assert main(["show", text]) == 2
    assert "line 1, column" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "check", "propagate"])
def test_a_module_of_triton_without_a_chip_says_what_it_is_priced_for(
    command: str, tmp_path: Path, capsys: Capture
) -> None:
    a = "#ttg.linear<{register = [], lane = [[1], [2]], warp = [], block = []}>"
    text = f"%y = ttg.convert_layout %x : tensor<4xf32, {a}> -> tensor<4xf32, {a}>"
    file = tmp_path / "k.ttgir"
    function = f"tt.func public @k(%x: tensor<4xf32, {a}>) {{ {text} tt.return }}"
    for attributes, options, said in (
        ("", [], True),
        ("", ["--target", "sm_80"], False),
        ('attributes {ttg.target = "cuda:80"} ', [], False),
        ('attributes {ttg.target = "cuda:1"} ', [], True),
    ):
        file.write_text(f"module {attributes}{{ {function} }}")
        main([command, str(file), *options])
        assert ("priced for pvc" in capsys.readouterr().err) is said


def test_other_modules_are_priced_without_a_word(kernel: str, capsys: Capture) -> None:
    main(["show", kernel])
    assert capsys.readouterr().err == ""
