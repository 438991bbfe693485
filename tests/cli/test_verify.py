"""Findings on their way out: at a terminal with carets, as JSON, SARIF and annotations of GitHub; exit codes of `verify`."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from rich.console import Console

from layoutalg.cli import main
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import Place
from layoutalg.module import Module, read
from layoutalg.show.findings import github_lines, print_findings, sarif, summary

Capture = pytest.CaptureFixture[str]

GOOD = "func.func @f() {\n  xegpu.alloc_nbarrier 3\n  func.return\n}\n"
BAD = """\
func.func @f(%a: vector<8x16xf16>, %b: vector<32x16xf16>) {
  xegpu.alloc_nbarrier -1
  %c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<32x16xf16> -> vector<8x16xf32>
  func.return
}
"""


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD)
    return str(path)


def printed(finding: Finding, module: Module, width: int = 80) -> list[str]:
    text = io.StringIO()
    print_findings([finding], module, Console(file=text, width=width))
    return text.getvalue().splitlines()


def test_llvm_first_in_its_words_then_ours_with_their_rules(bad: str, capsys: Capture) -> None:
    assert main(["verify", bad]) == 1
    lines = capsys.readouterr().out.splitlines()
    # LLVM's words for this module, from mlir-opt-24; mlir-opt-22 says "'xegpu.dpas' op K-dimension mismatch."
    assert lines[0] == f"{bad}:3:8: error: 'xegpu.dpas' op K-dimension mismatch: A has K=16 but B has K=32."
    assert lines[1] == "  %c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<32x16xf16> -> vector<8x16..."
    assert lines[2] == "       ^"
    assert lines[3] == "  note: lhs is 8x16xf16, rhs is 32x16xf16, result is 8x16xf32"
    assert re.match(rf"{re.escape(bad)}:2:3: error: 'xegpu.alloc_nbarrier' op .*-1.* \[layoutalg: [\w.]+\]$", lines[4])
    assert lines[-1] == f"{bad}: 2 errors (1 from LLVM 24, 1 from layoutalg) for LLVM 24"
    assert main(["verify", bad, "--llvm", "22"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{bad}:3:8: error: 'xegpu.dpas' op K-dimension mismatch."
    assert lines[-1] == f"{bad}: 2 errors (1 from LLVM 22, 1 from layoutalg) for LLVM 22"


def test_exit_codes(bad: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    assert main(["verify", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: no findings for LLVM 24\n"
    assert main(["verify", bad, "--llvm", "22"]) == 1
    assert main(["verify", str(tmp_path / "missing.mlir")]) == 2
    assert main(["verify", bad, "--llvm", "19"]) == 2
    assert main(["verify", bad, "--target", "nosuch"]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("func.func @f( {", 2),
        ("%0 = arith.addi %1 %2 : i32\n", 2),
        ("Dear reader,\nthis is a letter.\n", 2),
        ("remark: #xegpu.layout<lane_layout = [16], lane_data = [1]>\n", 2),
        ("module {\n  other.operation with words\n}\n", 0),
        ("module {}\n", 0),
        (BAD + "Dear reader,\n", 1),
    ],
)
def test_a_text_that_cannot_be_read_exits_with_2(text: str, code: int, capsys: Capture) -> None:
    assert main(["verify", text]) == code
    error = capsys.readouterr().err
    assert error.count("\n") == (code == 2)
    assert error.startswith("layoutalg: text: not read as it stands" if code == 2 else "")


def test_json_is_valid_and_has_everything(bad: str, capsys: Capture) -> None:
    assert main(["verify", bad, "--json"]) == 1
    short = capsys.readouterr().out
    assert main(["verify", bad, "--format", "json"]) == 1
    assert capsys.readouterr().out == short
    found: dict[str, Any] = json.loads(short)
    assert (found["files"], found["llvm"], found["target"]) == ([bad], 24, None)
    assert [(one["source"], one["level"], one["line"], one["column"]) for one in found["findings"]] == [
        ("LLVM 24", "error", 3, 8),
        ("layoutalg", "error", 2, 3),
    ]


# What section 3 of SARIF 2.1.0 requires, object by object, of what is written here.
REQUIRED: dict[str, set[str]] = {
    "log": {"version", "runs"},
    "run": {"tool"},
    "driver": {"name"},
    "rule": {"id"},
    "result": {"message"},
}


def test_sarif_has_the_required_fields(bad: str, capsys: Capture) -> None:
    assert main(["verify", bad, "--format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    assert log.keys() >= REQUIRED["log"]
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run.keys() >= REQUIRED["run"]
    driver = run["tool"]["driver"]
    assert driver.keys() >= REQUIRED["driver"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids)) == 2
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    for result in run["results"]:
        assert result.keys() >= REQUIRED["result"]
        assert result["message"]["text"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert ids[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert unquote(physical["artifactLocation"]["uri"]) == f"file://{bad}"
        assert physical["region"]["startLine"] >= 1
        assert physical["region"]["startColumn"] >= 1


@pytest.mark.parametrize(
    ("name", "uri"), [("a b#c.mlir", "a%20b%23c.mlir"), ("-", "stdin"), ("/x/ü.mlir", "file:///x/%C3%BC.mlir")]
)
def test_sarif_names_files_as_addresses(name: str, uri: str) -> None:
    log = sarif([(Finding("a.b", "no", "a.op", None), name)])
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_sarif_of_nothing_has_no_results() -> None:
    assert sarif([])["runs"][0]["results"] == []


# The escapes of GitHub's workflow commands: % first, line ends; in properties the signs that end one.
@pytest.mark.parametrize(
    ("message", "file", "line"),
    [
        ("x", "k.mlir", "::error file=k.mlir,line=2,col=3,title=LLVM 22%3A a.b::'a.op' op x"),
        ("100%", "k.mlir", "::error file=k.mlir,line=2,col=3,title=LLVM 22%3A a.b::'a.op' op 100%25"),
        (
            "a::b, c",
            "a:b,c%.mlir",
            "::error file=a%3Ab%2Cc%25.mlir,line=2,col=3,title=LLVM 22%3A a.b::'a.op' op a::b, c",
        ),
        ("x", "a\nb.mlir", "::error file=a%0Ab.mlir,line=2,col=3,title=LLVM 22%3A a.b::'a.op' op x"),
        ("::error::y\r\n::stop-commands::z", "k", "'a.op' op ::error::y ::stop-commands::z"),
    ],
)
def test_github_annotations_are_escaped(message: str, file: str, line: str) -> None:
    (written,) = github_lines([Finding("a.b", message, "a.op", Place(file, 2, 3), source="LLVM 22")], file)
    assert "\n" not in written
    assert "\r" not in written
    assert written.endswith(line)
    assert written.startswith("::error file=")


def test_github_annotations_have_the_notes_on_further_lines() -> None:
    (written,) = github_lines([Finding("a.b", "no", "a.op", None, level="warning", notes=("one", "two"))], "k.mlir")
    assert written.startswith("::warning file=k.mlir,line=1,col=1,")
    assert written.endswith("[layoutalg: a.b]%0Aone%0Atwo")


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("column", [1, 30, 79, 80, 81, 500, 998, 1000, 5000, 100_000])
def test_the_caret_stands_below_its_column_in_lines_of_any_length(width: int, column: int) -> None:
    line = "".join(chr(ord("a") + i % 26) for i in range(column - 1)) + "X" + "-" * (100_000 - column)
    text = printed(Finding("a.b", "no", "a.op", Place("text", 1, column)), Module(line), width)
    assert len(text) == 3
    assert len(text[1]) <= width
    assert text[1][len(text[2]) - 1] == "X"


def test_signs_that_a_terminal_would_obey_are_not_sent_to_it() -> None:
    module = Module("\tgpu.barrier \x1b[31m \x07")
    text = printed(Finding("a.b", "no\x1b[2J", "a.op", Place("text", 1, 2)), module)
    assert "\x1b" not in "".join(text)
    assert text[1].index("gpu") == text[2].index("^")


def test_a_place_in_another_file_has_no_line_here() -> None:
    assert len(printed(Finding("a.b", "no", "a.op", Place("model.py", 1, 1)), read("gpu.barrier"))) == 1
    assert len(printed(Finding("a.b", "no", "a.op", Place("text", 77, 1)), read("gpu.barrier"))) == 1


def test_the_summary_counts_by_level_and_by_source() -> None:
    ours, theirs = Finding("a.b", "no", "a", None), Finding("a.b", "no", "a", None, source="LLVM 23", level="warning")
    assert summary([]) == "no findings"
    assert summary([ours, ours, theirs]) == "2 errors, 1 warning (1 from LLVM 23, 2 from layoutalg)"


def test_colours_on_a_terminal_alone(bad: str) -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, force_terminal=True, color_system="standard")
    print_findings([Finding("a.b", "no", "a.op", Place("text", 1, 1))], read("gpu.barrier"), console)
    assert "\x1b[" in text.getvalue()
    done = subprocess.run([sys.executable, "-m", "layoutalg", "verify", bad], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"\x1b[" not in done.stdout


def test_a_module_from_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "layoutalg", "verify", "-", "--format", "github"]
    done = subprocess.run(
        command, input=b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode(), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.startswith(b"::error file=-,line=3,col=8,")
