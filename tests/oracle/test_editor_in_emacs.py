"""The language server in Emacs: eglot, set up by the lines of docs/editors.md, shows a finding, hovers and takes a repair."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import layoutalg as la
from tests.editor.texts import KERNEL
from tests.oracle.toolchains import absent, require

SCRIPT = Path(__file__).parent / "emacs.el"
PAGE = Path(__file__).parents[2] / "docs" / "editors.md"


def test_emacs_shows_a_finding_hovers_and_takes_a_repair(tmp_path: Path) -> None:
    file, answers, program = (tmp_path / name for name in ("kernel.ttgir", "answers.json", "layoutalg"))
    file.write_text(KERNEL, encoding="utf-8")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m layoutalg "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    setup = re.search("```elisp\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert setup is not None
    asked = {
        "file": str(file),
        "answers": str(answers),
        "setup": setup[1],
        "hover": "math.exp",
        "action": "arith.addf %r",
        "title": "Make",
    }
    environment = {**os.environ, "LAYOUTALG_EMACS": json.dumps(asked), "HOME": str(tmp_path)}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    command = [require("emacs"), "--batch", "--no-init-file", "--load", str(SCRIPT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    if re.search("cannot open load file.*eglot", done.stderr, re.I | re.S):  # Emacs 28 has it in a package of its own
        absent("eglot of Emacs")
    assert answers.exists(), done.stderr
    found = json.loads(answers.read_text(encoding="utf-8"))
    assert (found["mode"], found["at"]) == ("mlir-mode", "arith.addf")
    assert "lane 1 needs element (0, 1) of %s" in found["finding"]
    assert "d0 = 16@reg, d1 = 16@lane" in found["hover"]
    assert found["text"] != KERNEL
    assert la.check(found["text"]).is_right
