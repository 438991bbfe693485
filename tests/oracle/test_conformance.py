"""The modules of docs/conformance.md, judged again: a test fails when a verdict is another one than the page says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from layoutalg.show.conformance import said
from layoutalg.side.conformance.asking import verdict_of
from layoutalg.side.conformance.kernel import kernel_of
from tests.oracle.iree import iree_opt
from tests.oracle.toolchains import require, require_new

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
MODULE = re.compile(r"### ([^\n]+)\n\n(\| [^\n]*-opt[^\n]*)\n\|[-|]+\n(\| [^\n]*)\n(.*?)```mlir\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """A section of the page: its title, a compiler, that compiler's verdict, and the module."""

    title: str
    compiler: str
    verdict: str
    text: str


def entries() -> list[Entry]:
    found: list[Entry] = []
    for title, names, verdicts, _, text in MODULE.findall(PAGE.read_text(encoding="utf-8")):
        compilers, cells = ([cell.strip() for cell in row.strip("| ").split("|")] for row in (names, verdicts))
        assert len(compilers) == len(cells), title
        found += [Entry(title, name, cell, text) for name, cell in zip(compilers, cells, strict=True)]
    return found


ENTRIES = entries()


def program(compiler: str) -> str:
    if compiler == "iree-opt":
        return iree_opt()
    return require(compiler) if compiler == "mlir-opt-22" else require_new(compiler)


def test_every_module_of_the_page_has_verdicts() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("```mlir") == len({entry.text for entry in ENTRIES})
    assert {entry.compiler for entry in ENTRIES} == {"mlir-opt-22", "mlir-opt-23", "mlir-opt-24", "iree-opt"}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.compiler}: {entry.title}")
def test_a_compiler_does_with_a_module_what_the_page_says(entry: Entry) -> None:
    verdict = verdict_of(kernel_of(entry.text), program(entry.compiler))
    assert said(verdict) == entry.verdict, verdict.words


def test_each_module_is_wrong_for_someone() -> None:
    for title in {entry.title for entry in ENTRIES}:
        assert any(entry.verdict.split()[0] in ("wrong", "crash") for entry in ENTRIES if entry.title == title), title
