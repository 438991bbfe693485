"""What the commands share: how they end, what they take, what they say at the shell."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.cli import cli, main
from layoutalg.cli.arguments import machine_said
from tests.refusals import wrong_refusal

Capture = pytest.CaptureFixture[str]
ROWS, COLUMNS = "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg"
LANES = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"


def run(*arguments: str, stdin: Any = subprocess.DEVNULL, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "layoutalg", *arguments], stdin=stdin, capture_output=True, check=False, **more
    )


def refusal(capsys: Capture, *arguments: str) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert wrong_refusal(captured.err) is None
    return captured.err


def test_bare_layoutalg_prints_its_help_as_lines(capsys: Capture) -> None:
    assert main([]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Usage: layoutalg [OPTIONS] COMMAND [ARGS]..." or lines[0].startswith("Usage: layoutalg")
    assert sum(line.split()[:1] == [name] for line in lines for name in cli.commands) == len(cli.commands)


def test_every_command_has_json_but_the_server_whose_protocol_it_is() -> None:
    without = [
        name for name, command in cli.commands.items() if not any("--json" in option.opts for option in command.params)
    ]
    assert without == ["lsp"]


def test_python_m_runs_it() -> None:
    done = run("show", "d0 = 4@lane", "--json")
    assert (done.returncode, json.loads(done.stdout)["shape"]) == (0, [4])


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("layoutalg.show.describe", interrupted)
    assert main(["show", "d0 = 4@lane"]) == 130
    assert "layoutalg: interrupted" in capsys.readouterr().err


# same, banks


def test_same_answers_and_exits_with_it(capsys: Capture) -> None:
    assert main(["same", LANES, "d0 = 8@reg, d1 = 16@lane", "8x16"]) == 0
    assert capsys.readouterr().out == "the same map\n"
    assert main(["same", ROWS, COLUMNS]) == 1
    assert "element (0, 1) is in lane 1, register 0 in the first" in capsys.readouterr().out
    assert main(["same", ROWS, COLUMNS, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["same"], found["element"], found["first"], found["second"]) == (False, [0, 1], [[1, 0]], [[0, 1]])


def test_same_takes_a_machine_and_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>"))
    assert main(["same", "-", "d0 = 8@lane, d1 = 2@reg | replicas 2@lane:8", "8x2", "--subgroup-size", "16"]) == 0
    capsys.readouterr()
    assert "only one" in refusal(capsys, "same", "-", "-")
    assert "needs a shape" in refusal(capsys, "same", LANES, LANES)


def test_a_layout_of_one_subgroup_has_subgroup_0_alone(capsys: Capture) -> None:
    assert main(["show", "d0 = 4@reg, d1 = 8@lane", "--warp", "0", "--lane", "5"]) == 0
    assert "holds     (0, 5) (1, 5) (2, 5) (3, 5)" in capsys.readouterr().out
    assert "subgroup 1: this layout has lane, reg" in refusal(capsys, "show", "d0 = 4@reg, d1 = 8@lane", "--warp", "1")
    assert "subgroup 9: this layout has 0 to 3 (" in refusal(capsys, "show", "d0 = 4@sg 8@lane", "--warp", "9")


def test_banks_takes_the_elements_of_the_memory_and_says_what_it_wrote(capsys: Capture, tmp_path: Path) -> None:
    memory = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    held, path = "d0 = 8@lane:4 8@reg, d1 = 4@lane 16@reg:8", tmp_path / "banks.svg"
    for more, bits in (((), 16), (("--element", "f32"), 32)):
        assert main(["banks", held, "64x64", "--memory", memory, *more, "-o", str(path)]) == 0
        said = capsys.readouterr().out
        assert f" x {bits} bits per lane" in said
        assert said.endswith(f"\nwritten to {path}\n")


def test_convert_says_which_chip_it_assumes_of_tritons_encodings_and_what_generic_is(capsys: Capture) -> None:
    rows, columns = (
        f"#ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = {warp}, warpsPerCTA = [1, 1], order = [1, 0]}}>"
        for warp in ("[4, 8]", "[8, 4]")
    )
    assert main(["convert", rows, columns, "8x8"]) == 0
    assert capsys.readouterr().err == (
        "layoutalg: priced for pvc: Triton's encodings name no chip; --target names one\n"
    )
    assert main(["convert", rows, columns, "8x8", "--target", "generic"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "no price" not in said.out
    assert "issue slots on generic, estimated" in said.out
    assert "generic is not a chip: its issue slots only rank the ways" in said.out


def test_banks_prints_the_conflicts(capsys: Capture) -> None:
    transposed = "d0 = 16@lane, d1 = 16@reg 2@lane:16"
    assert main(["banks", transposed]) == 0
    assert capsys.readouterr().out.endswith("16-way conflicts\n")
    assert main(["banks", "d0 = 32@lane, d1 = 32@reg", "--memory", "Sw<5,0,5> o 0 o (32,32):(32,1)", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ways"], found["element_bits"]) == (1, 32)  # XOR with the row: a column is in 32 banks
    assert (
        main(["banks", "d0 = 32@lane, d1 = 32@reg", "--memory", "d0 = 32@addr:32, d1 = 32@addr", "--vector", "1"]) == 0
    )
    assert "32-way conflicts" in capsys.readouterr().out
    refusal(capsys, "banks", "d0 = 4@addr")
    refusal(capsys, "banks", "-", "--memory", "-")


# Machines


@pytest.mark.parametrize("option", [("--subgroups", "4"), ("--workgroup-size", "32")])
def test_a_machine_is_said_alike_for_all_notations(option: tuple[str, str], capsys: Capture) -> None:
    lanes = "#xegpu.layout<lane_layout = [8], lane_data = [1]>"
    nested = (
        "#iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [2], outer_tile = [1], thread_tile = [8], "
        "element_tile = [1], subgroup_strides = [0], thread_strides = [1]>"
    )
    for text in (lanes, nested, "#xegpu.slice<#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>, dims = [1]>"):
        assert main(["show", text, "16", "--subgroup-size", "8", *option, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["axes"] == {"sg": 4, "lane": 8, "reg": 2}
        assert found["replicas"] == ["4@sg"]


def test_a_machine_that_is_said_twice_is_refused() -> None:
    with pytest.raises(la.LayoutError, match="give one of them"):
        machine_said(16, 2, 32)


# show


def test_show_says_who_holds_an_element(capsys: Capture) -> None:
    assert main(["show", LANES, "32x64", "--at", "21,50"]) == 0
    assert "at (21, 50) subgroup 0, lane 2, register 87" in capsys.readouterr().out
    layout = la.parse(LANES).layout((32, 64))
    assert layout.owners((21, 50)) == [(0, 2, 87)]
    assert main(["show", LANES, "32x64", "--at", "21,50", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["owners"] == [{"sg": 0, "lane": 2, "reg": 87}]
    assert "d1 goes from 0 to 63" in refusal(capsys, "show", LANES, "32x64", "--at", "21,64")
    assert "expected an element" in refusal(capsys, "show", LANES, "32x64", "--at", "x")
    assert "3 operands" in refusal(capsys, "show", "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>", "--at", "0,0")


def test_strict_turns_a_refusal_into_exit_code_1(capsys: Capture) -> None:
    # One round of 2 x 2 blocks of 8x8 does not fit: mlir-opt-22 refuses, though the meaning is clear.
    refused = ("#xegpu.layout<sg_layout = [2, 2], sg_data = [8, 8]>", "8x32", "--llvm", "22")
    assert main(["show", *refused]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        "LLVM 22   refuses: cannot distribute [8, 32] using #xegpu.layout<sg_layout = [2, 2], sg_data = [8, 8]>"
        in lines
    )
    assert "layout    d0 = 8@reg:8, d1 = 2@reg:64 2@sg 8@reg | replicas 2@sg:2" in lines
    assert main(["show", *refused, "--strict"]) == 1
    assert main(["show", *refused, "--strict", "--json"]) == 1
    assert main(["show", LANES, "8x16", "--strict"]) == 0
    assert main(["show", *refused[:2], "--strict"]) == 0  # LLVM 24 takes it
    assert main(["show", LANES, "1x8", "--strict"]) == 1  # which it does not


def test_the_version_of_llvm_is_one_of_the_rules(capsys: Capture) -> None:
    assert main(["show", LANES, "8x16", "--llvm", "23", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["llvm"] == "accepts"
    assert "expected one of 22, 23" in refusal(capsys, "show", LANES, "8x16", "--llvm", "19")


def test_of_very_many_elements_the_first_are_listed(capsys: Capture) -> None:
    assert main(["show", LANES, "100000x160000", "--lane", "3"]) == 0
    out = capsys.readouterr().out
    assert "holds     (0, 3) (0, 19) (0, 35)" in out
    assert "and 999,999,936 more" in out
    assert "2^31" in refusal(capsys, "show", LANES, "16777216x16777216", "--lane", "0")


def test_a_lane_without_a_subgroup_is_said_to_be_of_subgroup_0(capsys: Capture) -> None:
    assert main(["show", "d0 = 4@sg 4@lane 2@reg", "--lane", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "holder    subgroup 0, lane 3 (--sg names another of 4 subgroups)" in lines
    assert "holds     (6) (7)" in lines
    assert main(["show", "d0 = 4@sg 4@lane 2@reg", "--sg", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] == [[n] for n in range(8, 16)]


def test_swizzled_memory_shows_its_grid(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["show", "Sw<3,3,3> o 0 o (8,64):(64,1)"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "swizzle   addr ^ ((addr >> 3) & 0x38)" in lines
    assert lines[-7].split() == ["1", "72-79", "64-71", "88-95", "80-87", "104-111", "96-103", "120-127", "112-119"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gemm.mlir", "gemm.mlir: no such file or directory"),
        ("/etc/passwd", "/etc/passwd: line 1, column 1: expected a text of a notation that is read"),
        ("#ttg.bloked<{sizePerThread = [1, 4]}>", "did you mean #ttg.blocked?"),
        ("vector<8x16xf16>", "give a layout, and the shape 8x16"),
        ("()", "lane 0: this layout has no axes"),
    ],
)
def test_a_text_that_is_not_read_is_told_what_is(text: str, words: str, capsys: Capture) -> None:
    assert words in refusal(capsys, "show", text, "--lane", "0")


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("99999999999999999999999999x16", "is too large; sizes go up to 2147483648"),
        ("8y16", "expected a shape"),
        ("", "expected a shape"),
        ("-8x16", "expected a shape"),
        ("\N{SUPERSCRIPT TWO}x16", "expected a shape"),
    ],
)
def test_a_shape_that_is_not_one_says_what_is(shape: str, words: str, capsys: Capture) -> None:
    assert words in refusal(capsys, "show", LANES, "--", shape)


# Streams and encodings


def test_input_that_is_not_utf_8_is_refused() -> None:
    for settings in ({"PYTHONUTF8": "1"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "utf-8:strict"}):
        done = subprocess.run(
            [sys.executable, "-m", "layoutalg", "show", "-"],
            input=b"\xe9",
            capture_output=True,
            check=False,
            env={**os.environ, **settings},
        )
        assert done.returncode == 2
        assert b"not UTF-8" in done.stderr
        assert done.stderr.count(b"\n") == 1


def test_closed_streams_and_a_full_output_are_answered_in_one_line() -> None:
    command = f"'{sys.executable}' -m layoutalg show"
    for rest, words in (("- <&-", b"standard input is closed"), ("'d0 = 4@lane' >/dev/full", b"No space left")):
        done = subprocess.run(["sh", "-c", f"{command} {rest}"], capture_output=True, check=False)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count(b"\n") == 1


def test_a_name_that_is_not_utf_8_can_be_written(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xe9.svg")
    done = run("draw", "d0 = 4@lane", "-o", name, cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / name).exists()


def test_figures_that_cannot_be_drawn_say_why(tmp_path: Path) -> None:
    without = (
        "import sys; sys.modules['matplotlib'] = None\nfrom layoutalg.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    cases = (
        (without, {}, b"figures need matplotlib: pip install 'layoutalg[viz]'"),
        ("import sys\nfrom layoutalg.cli import main\nsys.exit(main(sys.argv[1:]))", {"MPLBACKEND": "bogus"}, b"bogus"),
    )
    for script, settings, words in cases:
        done = subprocess.run(
            [sys.executable, "-c", script, "draw", "d0 = 4@lane", "-o", "x.png"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            env={**os.environ, **settings},
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert not [*tmp_path.iterdir()]


def test_a_run_that_fails_leaves_no_kernel(tmp_path: Path, capsys: Capture) -> None:
    refusal(capsys, "gemm", "65536", "65536", "65536", "--run", "-o", str(tmp_path / "big.mlir"))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gemm", "64", "64", "64", "--target", "h100"), "expected one of pvc"),
        (("gemm", "64", "64", "64", "--emit", "wave"), "expected one of lane, subgroup"),
        (("convert", ROWS, COLUMNS, "--target", "i486"), "expected one of pvc"),
    ],
)
def test_names_come_out_of_a_table(arguments: tuple[str, ...], words: str, capsys: Capture) -> None:
    assert words in refusal(capsys, *arguments)
