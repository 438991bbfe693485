"""`layoutalg check` on the command line: what it prints, in every format, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from tests.checking import modules
from tests.refusals import wrong_refusal

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.mlir"
    path.write_text(modules.broadcast("1"))
    return str(path)


def test_a_finding_is_printed_with_its_line_and_what_repairs_it(wrong: str, capsys: Capture) -> None:
    assert main(["check", wrong]) == 1
    lines = capsys.readouterr().out.splitlines()
    # Subgroup 2 has column 0 of rows 8 to 15; the slice that drops columns has element 0 in the subgroups of row 0.
    needs = "'vector.broadcast' op subgroup 2 needs element (0,) of %row, which is in subgroups 0 and 1"
    assert lines[0] == f"{wrong}:5:6: error: {needs} [layoutalg: layouts.operand]"
    assert lines[1].startswith("%x = vector.broadcast %row")
    assert lines[2] == "     ^"
    assert lines[3].startswith("  note: %row is #xegpu.slice<")
    assert any(line.startswith("  note: repair: make %row (line 4) in #xegpu.slice<") for line in lines)
    assert lines[-1] == f"{wrong}: 1 error (1 from layoutalg); 2 operations, 0 conversions"


def test_exit_codes(wrong: str, tmp_path: Path, capsys: Capture) -> None:
    right = tmp_path / "right.mlir"
    right.write_text(modules.broadcast("0"))
    assert main(["check", str(right)]) == 0
    assert main(["check", wrong]) == 1
    assert main(["check", str(tmp_path / "none.mlir")]) == 2
    assert main(["check", wrong, "--llvm", "19"]) == 2
    assert main(["check", wrong, "--target", "i486"]) == 2
    capsys.readouterr()
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @f( {")
    assert main(["check", str(broken)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert wrong_refusal(captured.err) is None


def test_json_has_both_layouts_the_element_and_the_repairs(wrong: str, capsys: Capture) -> None:
    assert main(["check", wrong, "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert (facts["right"], facts["operations"], facts["llvm"], facts["target"]) == (False, 2, 24, "pvc")
    [mistake] = facts["mistakes"]
    assert mistake["operand"] == "%row"
    assert mistake["axes"] == ["sg"]
    assert mistake["needed_by"] == [2]
    assert mistake["holders"] == [[0], [1]]
    assert {"state", "convert"} == {repair["kind"] for repair in mistake["repairs"]}
    costs = [repair["cost"] for repair in mistake["repairs"]]
    assert costs == sorted(costs), "the cheapest first"
    assert facts["findings"][0]["rule"] == mistake["rule"] == "layouts.operand"


def test_sarif_and_github(wrong: str, capsys: Capture) -> None:
    assert main(["check", wrong, "--format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    assert log["runs"][0]["results"][0]["ruleId"] == "layouts.operand"
    assert main(["check", wrong, "--format", "github"]) == 1
    assert capsys.readouterr().out.startswith("::error file=")


def test_conversions_are_listed_with_their_prices(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "kernel.mlir"
    vnni = modules.lanes("1, 16", "2, 1")
    path.write_text(
        modules.kernel(
            *modules.load("x", "16x16", modules.COLUMNS),
            f"%y = xegpu.convert_layout %x <{{input_layout = {modules.COLUMNS}, target_layout = {vnni}}}> : vector<16x16xf32>",
            f"%z = xegpu.convert_layout %y <{{input_layout = {vnni}, target_layout = {modules.ROWS}}}> : vector<16x16xf32>",
        )
    )
    assert main(["check", str(path), "--target", "bmg"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "conversions"
    redundant = "redundant: the same work-items hold the same elements"
    assert " ".join(lines[1].split()) == f"6 %y = xegpu.convert_layout 16x16 {redundant}"
    assert " ".join(lines[2].split()).startswith("7 %z = xegpu.convert_layout 16x16 ")
    assert " issue slots on bmg; 16 lanes in a subgroup; a lane holds " in lines[2]
    assert "2 conversions (1 redundant) for " in lines[-1]
