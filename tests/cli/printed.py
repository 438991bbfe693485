"""What a command prints, as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from layoutalg.cli import main

Capture = pytest.CaptureFixture[str]


def out(capsys: Capture, *arguments: str, code: int = 0) -> str:
    """What the command prints, without a word on standard error."""
    found = main(arguments)
    captured = capsys.readouterr()
    assert found == code, captured.err
    assert captured.err == ""
    return captured.out


def answer(capsys: Capture, *arguments: str) -> Any:
    """The JSON object that the command prints."""
    return json.loads(out(capsys, *arguments, "--json"))
