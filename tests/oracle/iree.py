"""Asking iree-opt: the newest version, from the package's own environment, and 3.2.0 beside it.

`make toolchains` installs both: `iree-base-compiler`, and version 3.2.0 of it into `iree-3.2` of the environment. The programs
are called directly, many attributes or operations per process.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.oracle.toolchains import require, require_module, run

OLD = str(Path(sys.prefix) / "iree-3.2" / "iree" / "compiler" / "_mlir_libs" / "iree-opt")


def iree_opt(dialect: str | None = None) -> str:
    """The path of iree-opt of a version, or a skip (a failure where oracles are required)."""
    if dialect == "iree-3.2":
        return require(OLD)
    module = require_module("iree.compiler")
    return require(str(Path(module.__path__[0]) / "_mlir_libs" / "iree-opt"))


def reprinted(attributes: Sequence[str], dialect: str | None = None) -> list[str | None]:
    """Each attribute as iree-opt prints it again, None where it refuses it; all in one process."""
    modules = [f"module attributes {{t.a = {text}}} {{}}" for text in attributes]
    found: list[str | None] = []
    for part in _each(modules, iree_opt(dialect)):
        match = re.search(r"t\.a = (.*)} \{", part, re.S)
        found.append(None if match is None else re.sub(r"=  +", "= ", match[1]))
    return found


def diagnostics(functions: Sequence[str], dialect: str | None = None) -> list[str | None]:
    """The first error of each module, None where iree-opt accepts it; all in one process."""
    text = "\n// -----\n".join(functions)
    done = run([iree_opt(dialect), "--split-input-file", "-o", "/dev/null"], text)
    starts = [1]
    for one in functions:
        starts.append(starts[-1] + one.count("\n") + 2)
    found: list[str | None] = [None] * len(functions)
    for match in re.finditer(
        r"^(?:<stdin>|within split at <stdin>:(\d+) offset ):(\d+):\d+: error: (.*)$", done.stderr, re.M
    ):
        line = int(match[2]) + (int(match[1]) - 1 if match[1] else 0)
        index = max(i for i, start in enumerate(starts[:-1]) if start <= line)
        found[index] = found[index] or match[3]
    return found


def _each(modules: Sequence[str], program: str) -> list[str]:
    """The output of each module; a refused one leaves an empty part."""
    done = run([program, "--split-input-file"], "\n// -----\n".join(modules))
    parts = done.stdout.split("// -----")
    if len(parts) == len(modules) and done.returncode == 0:
        return parts
    return [run([program], one).stdout for one in modules]
