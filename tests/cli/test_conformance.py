"""`layoutalg conformance`: exit codes, the table, JSON; compilers that are not there, do nothing, or die."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main

Capture = pytest.CaptureFixture[str]

VERSION = '#!/bin/sh\nif [ "$1" = --version ]; then echo "LLVM version 24.0.0"; exit 0; fi\n'


def program(folder: Path, rest: str) -> str:
    """A compiler that says it is LLVM 24, and then does this."""
    path = folder / "opt"
    path.write_text(VERSION + rest)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--compiler", "no-such-opt"], "'no-such-opt': no such program"),
        (["--compiler", "sh"], "says neither LLVM nor IREE"),
        (["--compiler", "{opt}", "--only", "vector.nothing"], "no kernels are generated for it"),
        (["--compiler", "{opt}", "--kind", "nothing"], "expected one of rows"),
        (["--compiler", "{opt}", "--seeds", "0"], "expected a whole number from 1"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_2(
    arguments: list[str], words: str, tmp_path: Path, capsys: Capture
) -> None:
    opt = program(tmp_path, "cat\n")
    assert main(["conformance", *(argument.replace("{opt}", opt) for argument in arguments)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_compiler_that_does_nothing_leaves_everything_undistributed(tmp_path: Path, capsys: Capture) -> None:
    opt = program(tmp_path, "cat\n")
    assert main(["conformance", "--compiler", opt, "--seeds", "2", "--only", "math.exp", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kernels"] == 6
    assert {verdict for row in facts["matrix"] for verdict in row} == {"operation", "layout_kind", "left"}
    assert facts["mistakes"] == []


def test_a_compiler_that_dies_crashes_and_nothing_is_wrong(tmp_path: Path, capsys: Capture) -> None:
    opt = program(tmp_path, "kill -SEGV $$\n")
    arguments = ["--seeds", "1", "--only", "math.exp", "--level", "plain", "--no-reduce"]
    assert main(["conformance", "--compiler", opt, *arguments]) == 0
    printed = capsys.readouterr().out
    assert "1. elementwise, rows: crash at alone (1 kernel)" in printed
    assert "SIGSEGV" in printed
    assert "math.exp %v0" in printed


def test_a_compiler_that_refuses_is_quoted_in_the_table_alone(tmp_path: Path, capsys: Capture) -> None:
    opt = program(tmp_path, 'echo "<stdin>:1:1: error: never" >&2; exit 1\n')
    arguments = ["--seeds", "1", "--only", "math.exp", "--level", "workgroup", "--markdown"]
    assert main(["conformance", "--compiler", opt, *arguments]) == 0
    assert "| elementwise | 1 refused (rows) |" in capsys.readouterr().out
