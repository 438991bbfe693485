"""Errors of the command line: the text with a caret where its column is known, and as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from tests.cli.printed import Capture
from tests.refusals import wrong_refusal

WRONG = {
    "attribute": ("show", "#xegpu.layout<lane_layuot = [1, 16]>"),
    "layout": ("draw", "d0 = 4@lane, d1 = ?", "-o", "never.svg"),
    "cute": ("same", "4:1", "(4,?):(1,4)"),
    "algebra": ("cute", "composition(8:1, ?)"),
    "triton": ("show", "#ttg.blocked<{sizePerThread = [1], ? = 1}>", "32"),
    "memory": ("banks", "d0 = 4@lane", "--memory", "d0 = 4@addr ?"),
    "module": ("check", "builtin.module { ? }"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_caret_stands_below_what_is_wrong(name: str, capsys: Capture) -> None:
    sign = "layuot" if name == "attribute" else "?"
    assert main(WRONG[name]) == 2
    err = capsys.readouterr().err
    assert wrong_refusal(err) is None
    _, text, caret = err.splitlines()
    assert text in WRONG[name]
    assert text[len(caret) - 1 :].startswith(sign) or text[len(caret) - 1 :].startswith(f"lane_{sign}")
    assert main([*WRONG[name], "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["line"], error["column"]) == (1, len(caret))
    assert error["message"] == err.splitlines()[0].removeprefix("layoutalg: ")


def test_a_file_and_standard_input_are_named(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "layout.txt"
    path.write_text("// a layout\nd0 = 4@lane,\n  d1 = ?\n")
    assert main(["show", str(path), "--json"]) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert (error["file"], error["line"], error["column"]) == (str(path), 3, 8)
    assert captured.err.splitlines()[1:] == ["  d1 = ?", "       ^"]
    monkeypatch.setattr("sys.stdin", io.StringIO("d0 = ?"))
    assert main(["show", "-", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["file"] == "-"


@pytest.mark.parametrize("arguments", [("show", "d0 = 8@lane", "16"), ("show",), ("bogus",), ("gemm", "0", "1", "1")])
def test_what_has_no_column_has_no_caret(arguments: tuple[str, ...], capsys: Capture) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main([*arguments, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["message"]
    assert error["line"] is error["column"] is error["file"] is None


def test_a_long_line_is_cut_around_the_caret(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = "d0 = " + "1@reg " * 40 + "?" + " " * 500
    assert main(["show", text]) == 2
    _, shown, caret = capsys.readouterr().err.splitlines()
    assert len(shown) <= 60
    assert shown[len(caret) - 1] == "?"
