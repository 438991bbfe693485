"""The report and the JSON object of a plan come from the same rows."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

import layoutalg as la
from layoutalg.cli import main
from layoutalg.show.plan_report import PlanReport, columns, row

Capture = pytest.CaptureFixture[str]


def text_of(report: PlanReport) -> list[str]:
    console = Console(file=io.StringIO(), width=200)
    report.print(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_row_without_cells_is_for_json_alone() -> None:
    report = PlanReport("", [[row(tile=[8, 16]), row("tile", "{tile:x}")]])
    assert report.as_json() == {"tile": [8, 16]}
    assert text_of(report) == ["  tile          8x16"]


def test_a_table_of_which_nothing_is_shown_leaves_no_blank_line() -> None:
    assert text_of(PlanReport("plan", [[row(a=1)], [row("b", "{b}", b=2)], []])) == ["plan", "", "  b             2"]


def test_rows_state_objects_in_objects_and_in_lists() -> None:
    rows = [row(list=[]), row(at="a.b", x=1), row(at="a.b", y=2), row(at="list[]", x=1), row(at="list[]", x=2)]
    assert PlanReport("", [rows]).as_json() == {"list": [{"x": 1}, {"x": 2}], "a": {"b": {"x": 1, "y": 2}}}


def test_a_row_sees_its_own_facts_first_and_then_the_whole_object() -> None:
    rows = [row("own", "{x} of {all[0]}", at="in", x=1), row("whole", "{x}, {in[x]}", x=2, all=[3])]
    assert text_of(PlanReport("", [rows])) == ["  own           1 of 3", "  whole         2, 1"]


def test_texts_are_shown_as_they_are() -> None:
    assert text_of(PlanReport("", [[columns("{a}", "{0}")]])) == ["  {a}           {0}"]


def test_a_plan_is_not_among_the_tilings_that_lost(capsys: Capture) -> None:
    plan = la.plan_gemm(64, 128, 64, trans_a=True, target="bmg", tile=(16, 32))
    asked = [
        "gemm",
        "64",
        "128",
        "64",
        "--trans-a",
        "--target",
        "bmg",
        "--tile",
        "16x32",
        "--runners-up",
        "50",
        "--json",
    ]
    assert main(asked) == 0
    others = [one["tiling"] for one in json.loads(capsys.readouterr().out)["runners_up"]]
    assert str(plan.tiling) not in others
    assert len(others) == len(set(others)) > 5


@pytest.mark.parametrize("asked", [["--tile", "8x16"], ["--target", "spr", "--blocking", "1x4"]])
def test_json_says_of_the_best_tiling_why_it_lost_in_the_reports_words(asked: list[str], capsys: Capture) -> None:
    command = ["gemm", "512", "512", "512", *asked, "--runners-up", "1"]
    assert main(command) == 0
    report = capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    [best] = json.loads(capsys.readouterr().out)["runners_up"]
    assert best["reason"] == "predicted to be the best; the plan was asked for otherwise"
    assert f"{best['tiling']}  {best['reason']}" in report
