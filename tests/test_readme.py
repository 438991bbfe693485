"""The README tells the truth: its Python sessions and its console sessions are run, and so are its claims about files."""

from __future__ import annotations

import doctest
import html
import re
import shlex
from pathlib import Path

import pytest

from layoutalg.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
CONSOLE = re.findall(r"```console\n\$ layoutalg (.*?)\n(.*?)```", README, re.DOTALL)


def test_python_sessions_print_what_they_show() -> None:
    sessions = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(sessions, {}, "README.md", "README.md", 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    assert result.attempted > 20
    assert not result.failed, "".join(report)


@pytest.mark.parametrize(("arguments", "shown"), CONSOLE)
def test_console_sessions_print_what_they_show(
    arguments: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(shlex.split(arguments)) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in printed if line and not set(line[0]) <= {"─"}] == [
        line.split() for line in shown.splitlines() if line.strip() and not set(line.strip()) <= {"─"}
    ]


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


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
