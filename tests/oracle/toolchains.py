"""Finding the compilers that tests ask, and what happens where one is absent.

A test that needs a compiler calls `require("mlir-opt-22")` (a program) or `require_module("triton")` (a Python package).
Where it is absent the test is skipped, and the run says in one closing line how many there were and what installs them. With
LAYOUTALG_REQUIRE_ORACLES=1, as CI sets it, absence fails. A compiler that is there and cannot be called always fails.

Newer compilers than the system's are unpacked beside it (`tools/newtools.sh`), from Debian suites that move on:
`require_new("mlir-opt-24")` finds those, and where the suites no longer have the version the test is skipped, always.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

MISSING = "needs a toolchain that is not installed"
GONE = "needs a toolchain that Debian's suites no longer have"
NEWTOOLS = Path(__file__).parents[2] / ".venv" / "newtools"
"""Where `make toolchains` unpacks the newer compilers; LAYOUTALG_NEWTOOLS names another folder."""
_PACKAGES = {"ocloc": "igc"}


def require(program: str) -> str:
    """The path of a program, or a skip (a failure where oracles are required)."""
    path = shutil.which(program)
    return path if path is not None else absent(program)


def _folders() -> list[Path]:
    given = os.environ.get("LAYOUTALG_NEWTOOLS")
    return [*([Path(given)] if given else []), NEWTOOLS]


def require_unpacked(name: str, file: str) -> Path:
    """The folder that packages of newer suites are unpacked into, such as `ze` for Level Zero, if it has a file."""
    for folder in _folders():
        if (folder / name / file).exists():
            return folder / name
    _skip_if_gone(name, name)
    return absent(f"{name} of tools/newtools.sh")


def _skip_if_gone(package: str, program: str) -> None:
    for folder in _folders():
        missing = folder / "missing"
        if missing.is_file() and package in missing.read_text(encoding="utf-8").split():
            pytest.skip(f"{GONE}: {program}")


def require_new(program: str) -> str:
    """The path of one of the newer compilers, such as `mlir-opt-24`, or of `ocloc` as it is today.

    It is looked for in LAYOUTALG_NEWTOOLS, then where `make toolchains` unpacks, then on the PATH (`ocloc` not there: the
    PATH has the system's). A line of the file `missing` beside them, such as `llvm24`, says that no suite has the version now.
    """
    for folder in _folders():
        path = shutil.which(program, path=str(folder / "bin"))
        if path is not None:
            return path
    package = _PACKAGES.get(program) or f"llvm{program.rpartition('-')[2]}"
    path = None if program in _PACKAGES else shutil.which(program)
    if path is not None:
        return path
    _skip_if_gone(package, program)
    return absent(program)


def require_module(name: str) -> ModuleType:
    """A Python package, or a skip (a failure where oracles are required)."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the package is there, and something that it needs is not
        absent(name)


def opened_chromium(patience: float | None = None) -> Iterator[Any]:
    """Chromium without a window, until the caller is done; what a test expects of a page may take `patience` milliseconds."""
    program = require("chromium")
    playwright = require_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        if patience is not None:
            playwright.expect.set_options(timeout=patience)
        found = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


def absent(name: str) -> NoReturn:
    """Skip the test for want of `name`, or fail it where oracles are required."""
    if os.environ.get("LAYOUTALG_REQUIRE_ORACLES") == "1":
        pytest.fail(f"{name} is not installed, and LAYOUTALG_REQUIRE_ORACLES=1: run `make toolchains`")
    pytest.skip(f"{MISSING}: {name} (make toolchains)")


def run(command: Sequence[str], text: str | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; the caller looks at the return code."""
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout, check=False)
