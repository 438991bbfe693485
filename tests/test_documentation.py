"""The site tells the truth: every code block is run, every page is in the navigation, every link leads somewhere."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from os.path import normpath
from pathlib import Path

import pytest

import layoutalg
from layoutalg.cli import cli
from tests.documentation import (
    DOCS,
    NOTEBOOKS,
    ROOT,
    UNEXECUTED,
    Block,
    Page,
    commands,
    mistakes,
    pages,
    read_mlir,
    run_command,
    run_sessions,
    words,
)

CONFIGURATION = (ROOT / "mkdocs.yml").read_text()
PAGES = pages()
NAMES = [page.path.relative_to(DOCS).as_posix() for page in PAGES]
API = [page for page in PAGES if page.path.parent.name == "api"]
CONSOLE = [pytest.param(block, id=f"{page.name}:{block.line}") for page in PAGES for block in page.blocks("console")]
MLIR = [pytest.param(block, id=f"{page.name}:{block.line}") for page in PAGES for block in page.blocks("mlir")]
LINKS = [pytest.param(page, link, id=f"{page.name}: {link}") for page in PAGES for link in page.links()]


def a_page(tmp_path: Path, text: str) -> Page:
    """A page of its own, inside the repository as far as the machinery can see."""
    path = tmp_path / "page.md"
    path.write_text(text)
    return Page(path)


# Code


@pytest.mark.parametrize("page", [p for p in PAGES if p.blocks("python")], ids=lambda page: page.name)
def test_python_sessions_print_what_they_show(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attempted, report = run_sessions(page)
    assert attempted
    assert not report, report


@pytest.mark.parametrize("block", CONSOLE)
def test_console_sessions_print_what_they_show(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    for command in commands(block):
        assert words(run_command(command)) == words(command.shown)


@pytest.mark.parametrize("block", MLIR)
def test_attributes_and_types_are_read_and_printed(block: Block) -> None:
    assert list(read_mlir(block))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_is_left_out(page: Page) -> None:
    assert not mistakes(page)


def test_the_blocks_that_are_not_run_only_install_things() -> None:
    shown = {(block.language, block.text) for page in PAGES for block in page.blocks()}
    assert shown >= UNEXECUTED
    for language, text in UNEXECUTED:
        assert language == "sh"
        assert all(line.split()[0] in ("git", "pip", "make", "code") for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "```\nx = 1\n```\n",
        "```text\nanything\n```\n",
        "```sh\nrm -r build\n```\n",
        "```python\nx = 1\n```\n",
        "```python\n>>> 1\n1\n\nx = 1\n```\n",
        "```python\n>>> 1  # doctest: +SKIP\n```\n",
        "```console\n$ ls\n```\n",
        "```console\n$ layoutalg show 'd0 = 4@lane'\n$ ls\n```\n",
        "~~~yaml\nx: 1\n~~~\n",
        "- item\n  ```python\n  >>> 1\n  1\n  ```\n",
        "words\n\n    x = 1\n",
        "<pre>x = 1</pre>\n",
        "1*16 and 3*16\n",
        "```mlir\n```\n",
        "```python title='no'\n>>> 1\n1\n```\n",
        "never closed\n\n```ini\nx = 1\n",
    ],
)
def test_a_block_that_nothing_runs_is_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.documentation.ROOT", tmp_path)
    assert mistakes(a_page(tmp_path, text))


def test_a_session_that_prints_something_else_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.documentation.ROOT", tmp_path)
    page = a_page(tmp_path, "# One\n\n```python\n>>> x = 2\n```\n\nwords\n\n```python\n>>> x + 2\n5\n```\n")
    assert not mistakes(page)
    attempted, report = run_sessions(page)
    assert attempted == 2
    assert 'File "page.md", line 10' in report


def test_a_command_that_prints_something_else_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.documentation.ROOT", tmp_path)
    page = a_page(tmp_path, "```console\n$ layoutalg show 'd0 = 4@lane' --json\n{}\n```\n")
    (command,) = commands(page.blocks()[0])
    assert words(run_command(command)) != words(command.shown)


# Pages


def navigation() -> list[str]:
    """The files that the navigation names."""
    after = CONFIGURATION.split("\nnav:\n")[1]
    return re.findall(r": (\S+\.(?:md|ipynb))$", after.split("\ntheme:\n")[0], re.MULTILINE)


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(name for name in navigation() if name.endswith(".md")) == sorted(NAMES)


def test_every_notebook_is_in_the_navigation_once() -> None:
    notebooks = sorted(f"notebooks/{path.name}" for path in NOTEBOOKS.glob("*.ipynb"))
    assert sorted(name for name in navigation() if name.endswith(".ipynb")) == notebooks


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_links_lead_somewhere(page: Page, link: str) -> None:
    name, _, anchor = link.partition("#")
    target = Path(normpath(page.path.parent / name)) if name else page.path
    # A directory is not a page; what is outside docs/ is not on the site, except the notebooks (docs/site_hooks.py).
    assert DOCS in target.parents
    if DOCS / "notebooks" in target.parents:
        target = NOTEBOOKS / target.name
        assert target.suffix == ".ipynb"
    assert target.is_file()
    if anchor:
        assert anchor in Page(target).anchors()


def test_the_site_loads_nothing_from_other_hosts() -> None:
    assert "://" not in CONFIGURATION
    assert "font: false" in CONFIGURATION
    assert "execute: false" in CONFIGURATION


@pytest.mark.parametrize("name", ["docstring_examples", "site_hooks"])
def test_what_builds_the_site_does_what_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocstrings", reason="the documentation's tools are not installed (make docs)")
    monkeypatch.syspath_prepend(DOCS)
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed


# API


def documented() -> set[object]:
    """What the API pages document: the values, and the modules that are documented whole."""
    found: list[object] = []
    for page in API:
        for module, options in re.findall(r"^::: (\S+)\n((?:    .*\n)*)", page.text, re.MULTILINE):
            names = re.findall(r"^ +- (\w+)$", options, re.MULTILINE)
            if not names and "members: false" not in options:
                names = importlib.import_module(module).__all__
            found += [getattr(importlib.import_module(module), name) for name in names]
    return {id(value) for value in found}


ROOMS = sorted(
    module.name
    for module in pkgutil.walk_packages(layoutalg.__path__, "layoutalg.")
    if module.ispkg and not module.name.startswith("layoutalg.ir")  # modules inside, not to be imported
)


@pytest.mark.parametrize("room", ["layoutalg", *ROOMS])
def test_every_public_name_is_on_an_api_page(room: str) -> None:
    module = importlib.import_module(room)
    here = documented()
    assert not [name for name in module.__all__ if id(getattr(module, name)) not in here]


def test_every_command_is_on_its_page() -> None:
    text = (DOCS / "api" / "command_line.md").read_text()
    assert not [name for name in cli.commands if f"layoutalg {name}" not in text]
