"""The version stands in three places, and they agree; the sdist has what the tests and the site need."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import layoutalg

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
INCLUDED = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_the_package_and_the_project_have_one_version() -> None:
    assert layoutalg.__version__ == PROJECT["project"]["version"]


def test_the_changelog_has_the_version_with_its_date() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    newest = re.fullmatch(r"(\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d", headings[1])
    assert newest is not None
    assert newest[1] == layoutalg.__version__


@pytest.mark.parametrize("name", INCLUDED)
def test_what_the_sdist_includes_is_there(name: str) -> None:
    assert (ROOT / name.removeprefix("/")).exists()
