"""The README tells the truth: its Python sessions and its console sessions are run, and so are its claims about files."""

from __future__ import annotations

import html
import runpy
from pathlib import Path

import pytest

from tests.documentation import DOCS, ROOT, Block, Page, commands, run_command, run_sessions, words

README, TOUR = Page(ROOT / "README.md"), Page(DOCS / "tour.md")


def test_python_sessions_print_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attempted, report = run_sessions(README)
    assert attempted > 10
    assert not report, report


def test_the_tour_writes_the_files_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attempted, report = run_sessions(TOUR)
    assert attempted > 20
    assert not report, report
    assert (tmp_path / "registers.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "dpas.pdf").read_bytes().startswith(b"%PDF")


def test_it_can_be_read_in_two_minutes() -> None:
    assert len(README.text) < 14_000


@pytest.mark.parametrize("block", README.blocks("console"), ids=lambda block: f"line {block.line}")
def test_console_sessions_print_what_they_show(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    assert commands(block)
    for command in commands(block):
        assert words(run_command(command)) == words(command.shown)


def test_every_fenced_block_is_run() -> None:
    assert {block.language for block in README.blocks()} == {"python", "console"}


@pytest.mark.parametrize(("page", "name"), [(README, "tile.svg"), (TOUR, "mfma.svg")], ids=["tile", "mfma"])
def test_the_picture_is_what_the_command_beside_it_writes(
    page: Page, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (command,) = [one for block in page.blocks("console") for one in commands(block) if f"-o {name}" in one.arguments]
    run_command(command)
    assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text()
    assert f"{name})" in page.text


def test_the_picture_is_what_the_command_prints() -> None:
    svg = (ROOT / "docs" / "show.svg").read_text()
    svg = html.unescape(svg).replace("\u00a0", " ")
    for text in (
        "d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane",
        "d1 = lane + 16*(sg % 4)",
        "per lane: vector<16xf32>",
        " 7:0-15 ",
    ):
        assert text in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("link", README.links())
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_table_of_speeds_is_the_last_row_of_the_history() -> None:
    benchmark = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))
    shown = Page(DOCS / "speed.md").text.partition(benchmark["START"])[2].partition(benchmark["END"])[0]
    assert shown.strip() == benchmark["table"](benchmark["last_row"]())
