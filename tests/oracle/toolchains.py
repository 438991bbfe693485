"""Finding the compilers that tests ask, and what happens where one is absent.

A test that needs a compiler calls `require("mlir-opt-22")` (a program) or `require_module("triton")` (a Python package).
Where it is absent the test is skipped, and the run says in one closing line how many there were and what installs them. With
LAYOUTALG_REQUIRE_ORACLES=1, as CI sets it, absence fails. A compiler that is there and cannot be called always fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

import pytest

MISSING = "needs a toolchain that is not installed"


def require(program: str) -> str:
    """The path of a program, or a skip (a failure where oracles are required)."""
    path = shutil.which(program)
    return path if path is not None else absent(program)


def require_module(name: str) -> ModuleType:
    """A Python package, or a skip (a failure where oracles are required)."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the package is there, and something that it needs is not
        absent(name)


def absent(name: str) -> NoReturn:
    """Skip the test for want of `name`, or fail it where oracles are required."""
    if os.environ.get("LAYOUTALG_REQUIRE_ORACLES") == "1":
        pytest.fail(f"{name} is not installed, and LAYOUTALG_REQUIRE_ORACLES=1: run `make toolchains`")
    pytest.skip(f"{MISSING}: {name} (make toolchains)")


def run(command: Sequence[str], text: str | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; the caller looks at the return code."""
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout, check=False)
