"""Asking mlir-opt 22, 23 and 24 (and iree-opt) whether they accept modules: many modules in one process.

Every module is a piece of one `--split-input-file` input. Its verdict is the first error on the module's lines, None where
there is no error. Where the compiler crashes, the pieces are halved until the one that does it stands alone: `CRASHED`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from tests.oracle.llvm_xegpu import mlir_opt
from tests.oracle.toolchains import run

CRASHED = "the compiler crashed"
SEPARATOR = "// -----\n"
_ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)


def verdicts(modules: Sequence[str], llvm: int) -> list[str | None]:
    """The first error of one version of LLVM on each module."""
    return verdicts_of([mlir_opt(llvm), "--split-input-file", "--mlir-print-op-on-diagnostic=false"], modules)


def verdicts_of(command: Sequence[str], modules: Sequence[str]) -> list[str | None]:
    """The first error of a compiler on each module."""
    pieces = [module.rstrip("\n") + "\n" for module in modules]
    done = run([*command, "-o", "/dev/null", "-"], SEPARATOR.join(pieces))
    if done.returncode < 0 or done.returncode > 128 or "PLEASE submit a bug report" in done.stderr:
        if len(pieces) == 1:
            return [CRASHED]
        half = len(pieces) // 2
        return [*verdicts_of(command, pieces[:half]), *verdicts_of(command, pieces[half:])]
    # A separator is one line, in front of all pieces but the first.
    starts = [1, *accumulate((piece.count("\n") + 1 for piece in pieces[:-1]), initial=1)][1:]
    found: list[str | None] = [None] * len(pieces)
    for line, message in _ERROR.findall(done.stderr):
        number = bisect_right(starts, int(line)) - 1
        if found[number] is None:
            found[number] = message
    assert (done.returncode == 0) == all(verdict is None for verdict in found), done.stderr[:2000]
    return found
