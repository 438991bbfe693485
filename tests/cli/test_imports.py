"""What a command imports: itself, and nothing that only others need."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = "('multiprocessing', 'layoutalg.triton.encodings', 'layoutalg.cli.attention', 'layoutalg.cli.sweep', 'sympy', 'xdsl')"


@pytest.mark.parametrize(
    "line", [["convert", "d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg"], ["same", "d0 = 4@lane", "d0 = 4@lane"]]
)
def test_a_command_waits_for_no_other(line: list[str]) -> None:
    code = (
        f"import sys; from layoutalg.cli import main; main({line!r}); print([m for m in {OTHERS} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
