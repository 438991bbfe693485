"""What a shell completes: commands, options, every choice of an option, names of instructions, files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from layoutalg.cli import cli
from layoutalg.cli.arguments import OneOf
from tests.documentation import COMPLETION, DOCS, ROOT, Page


def completed(line: str) -> list[tuple[str, str]]:
    """What a shell is offered for the last word of a line, each with its type."""
    *words, last = line.split(" ")
    found = ShellComplete(cli, {}, "layoutalg", "_LAYOUTALG_COMPLETE").get_completions(words, last)
    return [(one.value, one.type) for one in found]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ver", ["verify"]),
        ("convert a b --target p", ["pvc", "ptl"]),
        ("gemm 8 8 8 --target s", ["spr"]),
        ("attention --target bm", ["bmg"]),
        ("verify --llvm 2", ["22", "23", "24"]),
        ("verify --format s", ["sarif"]),
        ("gemm --emit lan", ["lane"]),
        ("show --element bf", ["bf16"]),
        ("draw x --direction h", ["hardware"]),
        ("show v_mfma_f64_16", ["v_mfma_f64_16x16x4_f64"]),
        ("list ldmatrix.sync.aligned.m8n8.x4", ["ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"]),
    ],
)
def test_names_are_completed(line: str, offered: list[str]) -> None:
    assert {value for value, kind in completed(line) if kind == "plain"} >= set(offered)
    last = line.rpartition(" ")[2]
    assert all(value.startswith(last) for value, _ in completed(line))


@pytest.mark.parametrize(
    "line", ["verify ker", "show ker", "same a ker", "banks ker", "run ker", "sweep pro", "draw x -o out"]
)
def test_files_are_completed(line: str) -> None:
    assert completed(line) == [(line.rpartition(" ")[2], "file")]


def test_every_option_that_names_its_choices_completes_them() -> None:
    for command in cli.commands.values():
        context = click.Context(command)
        for option in command.params:
            kind: Any = option.type
            for choice in map(str, kind.names() if isinstance(kind, OneOf) else getattr(kind, "choices", ())):
                offered = [one.value for one in kind.shell_complete(context, option, choice[:1])]
                assert choice in offered, f"{command.name} {option.opts}: {choice}"


def test_the_lines_of_the_documentation_are_what_click_asks_for() -> None:
    blocks = Page(DOCS / "api" / "command_line.md").blocks("sh")
    assert (blocks[0].language, blocks[0].text) == COMPLETION
    for line, shell in zip(COMPLETION[1].splitlines(), ("bash", "zsh", "fish"), strict=True):
        assert f"_LAYOUTALG_COMPLETE={shell}_source layoutalg" in line


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_a_chip(tmp_path: Path) -> None:
    program = tmp_path / "layoutalg"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from layoutalg.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    line = COMPLETION[1].splitlines()[0]
    script = f"""{line}
COMP_WORDS=(layoutalg convert a b --target pv); COMP_CWORD=5
_layoutalg_completion layoutalg
echo "${{COMPREPLY[@]}}"
"""
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["pvc"], done.stderr
