"""The extension for VS Code: its settings are the command's options, and where npm is installed it compiles and packages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

import layoutalg
from layoutalg.cli.lsp import lsp
from layoutalg.core.llvm_versions import DEFAULT_LLVM, llvm_versions

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "editors" / "vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
SETTINGS = PACKAGE["contributes"]["configuration"]["properties"]


def test_the_extension_has_the_version_of_the_library() -> None:
    assert PACKAGE["version"] == layoutalg.__version__


def test_its_settings_are_options_of_the_command() -> None:
    options = {name.lstrip("-") for parameter in lsp.params for name in parameter.opts}
    assert {name.partition(".")[2] for name in SETTINGS} - {"command"} <= options
    assert SETTINGS["layoutalg.llvm"]["enum"] == list(llvm_versions())
    assert SETTINGS["layoutalg.llvm"]["default"] == DEFAULT_LLVM


def test_it_reads_the_settings_that_it_declares() -> None:
    source = (FOLDER / "src" / "extension.ts").read_text(encoding="utf-8")
    assert {f"layoutalg.{name}" for name in re.findall(r'settings\.get<\w+>\("(\w+)"', source)} == set(SETTINGS)


def test_a_folder_cannot_say_which_program_is_started() -> None:
    assert SETTINGS["layoutalg.command"]["scope"] == "machine"


def test_no_file_of_it_names_a_registry() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert files == {".npmrc", ".vscodeignore", "README.md", "package.json", "src/extension.ts", "tsconfig.json"}
    assert "http" not in json.dumps(PACKAGE)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_it_compiles_strictly_and_packages() -> None:
    done = subprocess.run(["make", "vscode"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(ROOT / "build" / "layoutalg.vsix") as packed:
        assert {"extension/package.json", "extension/out/extension.js"} <= set(packed.namelist())
        assert "layoutalg" in packed.read("extension/out/extension.js").decode()
