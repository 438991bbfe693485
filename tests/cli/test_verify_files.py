"""`layoutalg verify` of many files: one report, one closing line, one exit code; as a hook and as a GitHub Action."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import layoutalg as la
from layoutalg.cli import main
from tests.cli.printed import Capture
from tests.documentation import DOCS, Page
from tests.refusals import wrong_refusal

ROOT = Path(__file__).parents[2]
GOOD = "func.func @f() {\n  xegpu.alloc_nbarrier 3\n  func.return\n}\n"
BAD = GOOD.replace("3", "-1")
UNREAD = "func.func @f( {"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files that are right, one in a folder below; what is hidden or of another kind is wrong and not looked at."""
    for name, text in (("a.mlir", GOOD), ("sub/b.ttgir", GOOD), (".git/c.mlir", BAD), (".d.mlir", BAD), ("e.txt", BAD)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_folder_has_one_summary(folder: Path, capsys: Capture) -> None:
    assert main(["verify", str(folder)]) == 0
    assert capsys.readouterr().out == "2 files: no findings for LLVM 24\n"


def test_files_that_are_named_twice_are_looked_at_once(folder: Path, capsys: Capture) -> None:
    assert main(["verify", str(folder / "a.mlir"), str(folder), str(folder / "sub")]) == 0
    assert capsys.readouterr().out.startswith("2 files:")


def test_one_wrong_file_is_enough_for_1(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "wrong.mlir").write_text(BAD)
    monkeypatch.setattr("sys.stdin", io.StringIO(BAD))
    assert main(["verify", str(folder), "-"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{folder}/wrong.mlir:2:3: error: ")
    assert sum(line.startswith("-:2:3: error: ") for line in lines) == 1
    assert lines[-1] == "4 files: 2 errors (2 from layoutalg) for LLVM 24"


def test_what_cannot_be_read_comes_last(folder: Path, capsys: Capture) -> None:
    (folder / "sub" / "unread.mlir").write_text(UNREAD)
    (folder / "wrong.mlir").write_text(BAD)
    assert main(["verify", str(folder / "missing.mlir"), str(folder)]) == 2
    captured = capsys.readouterr()
    assert wrong_refusal(captured.err) is None
    assert "missing.mlir: no such file or directory; 1 more file cannot be read" in captured.err
    assert f"{folder}/wrong.mlir:2:3: error: " in captured.out
    assert captured.out.splitlines()[-1].startswith("4 files: ")


def test_a_folder_without_modules_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert main(["verify", str(tmp_path)]) == 2
    assert "a folder without .mlir or .ttgir files" in capsys.readouterr().err


def test_json_is_one_object_for_all_files(folder: Path, capsys: Capture) -> None:
    (folder / "wrong.mlir").write_text(BAD)
    assert main(["verify", str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["files"] == [f"{folder}/{name}" for name in ("a.mlir", "wrong.mlir", "sub/b.ttgir")]
    assert [one["file"] for one in found["findings"]] == [f"{folder}/wrong.mlir"]
    assert "error" not in found
    assert main(["verify", str(folder), "missing.mlir", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert len(found["findings"]) == 1
    assert found["error"]["message"] == "missing.mlir: no such file or directory"


def test_sarif_is_one_run_for_all_files(folder: Path, capsys: Capture) -> None:
    (folder / "wrong.mlir").write_text(BAD)
    (folder / "wrong_too.mlir").write_text(BAD)
    assert main(["verify", str(folder), "missing.mlir", "--format", "sarif"]) == 2
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert len(run["tool"]["driver"]["rules"]) == 1
    assert len(run["results"]) == 2
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "missing.mlir" in invocation["toolExecutionNotifications"][0]["message"]["text"]


# The hook and the action


def started(folder: Path) -> dict[str, str]:
    """The environment of a shell where `layoutalg` is this one."""
    program = folder / "bin" / "layoutalg"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m layoutalg "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def test_the_hook_says_what_is_wrong_with_the_files_that_it_is_given(folder: Path, tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python"
    assert all(re.search(hook["files"], name) for name in ("kernels/a.mlir", "a.ttgir"))
    assert not re.search(hook["files"], "a.mlir.txt")
    (folder / "wrong.mlir").write_text(BAD)
    environment = started(tmp_path)
    for names, code in ((["a.mlir"], 0), (["a.mlir", "wrong.mlir"], 1)):
        command = [*hook["entry"].split(), *names]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert ("wrong.mlir:2:3: error" in done.stdout) == bool(code)


def test_the_documentation_uses_the_hook_and_the_action_as_they_are() -> None:
    hook, workflow = (yaml.safe_load(block.text) for block in Page(DOCS / "verifying.md").blocks("yaml"))
    [given] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["repos"][0]["hooks"][0]["id"] == given["id"]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert workflow["jobs"]["layouts"]["steps"][1]["with"].keys() <= inputs.keys()
    assert "permissions" in workflow
    assert hook["repos"][0]["rev"] == f"v{la.__version__}"


def test_the_action_writes_sarif_and_keeps_the_exit_code(folder: Path, tmp_path: Path) -> None:
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    [script] = [step["run"] for step in steps if step.get("id") == "verify"]
    assert "${{" not in script, "an input that is pasted into a script is a way in"
    (folder / "wrong.mlir").write_text(BAD)
    said, environment = folder / "said", started(tmp_path)
    for files, code, found in (("a.mlir sub", 0, 0), (". ", 1, 1), ("nothing", 2, 0)):
        said.write_text("")
        given = {"FILES": files, "LLVM": "23", "TARGET": "", "RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(said)}
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=folder, env=environment | given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs = dict(line.split("=", 1) for line in said.read_text().splitlines())
        assert outputs["code"] == str(code), done.stdout + done.stderr
        results: list[Any] = json.loads(Path(outputs["sarif"]).read_text())["runs"][0]["results"] if found else []
        assert len(results) == found
