"""The language server in a real editor: Neovim attaches it, hovers, shows a finding, takes a repair, edits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import layoutalg as la
from tests.editor.test_server import place
from tests.editor.texts import KERNEL
from tests.oracle.toolchains import require

SCRIPT = Path(__file__).parent / "neovim.lua"


def position(words: str) -> dict[str, int]:
    line, character = place(KERNEL, words)
    return {"line": line, "character": character}


def driven(tmp_path: Path) -> dict[str, Any]:
    """What Neovim says of the kernel of the editor's tests."""
    file, answers = tmp_path / "kernel.mlir", tmp_path / "answers.json"
    file.write_text(KERNEL, encoding="utf-8")
    last = KERNEL.count("\n", 0, KERNEL.rindex("  func.return"))
    arguments = {
        "file": str(file),
        "answers": str(answers),
        "command": [sys.executable, "-m", "layoutalg", "lsp"],
        "hover": position("math.exp"),
        "action": position("arith.addf %r"),
        "title": "Make",
        "edit": {"line": last, "text": '  "test.op"() {a = "\N{GRINNING FACE}"} : () -> () xegpu.alloc_nbarrier -1'},
    }
    command = [require("nvim"), "--headless", "--clean", "-n", "-c", f"luafile {SCRIPT}"]
    environment = {**os.environ, "LAYOUTALG_NEOVIM": json.dumps(arguments), "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert answers.exists(), done.stderr
    return json.loads(answers.read_text(encoding="utf-8"))


def test_neovim_hovers_shows_a_finding_takes_a_repair_and_edits(tmp_path: Path) -> None:
    found = driven(tmp_path)
    assert "problem" not in found, found
    first, last = found["first"], found["last"]
    # Neovim counts bytes.
    assert [(one["line"], one["column"]) for one in first] == [place(KERNEL, "arith.addf %r")]
    assert "lane 1 needs element (0, 1) of %s" in first[0]["message"]
    assert "d0 = 16@reg, d1 = 16@lane" in found["hover"]
    repaired = "\n".join(found["text"]) + "\n"
    assert repaired != KERNEL
    assert la.check(repaired).is_right
    assert [one["column"] for one in last] == [len('  "test.op"() {a = "\N{GRINNING FACE}"} : () -> () '.encode())]
