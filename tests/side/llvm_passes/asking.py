"""Asking the compilers: what `--xegpu-propagate-layout` makes of many modules in one run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from layoutalg.ir import write_module
from tests.oracle import toolchains

SEPARATOR = "\n// -----\n"
KINDS = {"workgroup": "subgroup", "inst": "inst", "lane": "lane"}
_TARGETS = re.compile(r" \[#xevm\.target<[^\]]*\]")


def compiler(llvm: int) -> str:
    """The path of mlir-opt of a version."""
    name = f"mlir-opt-{llvm}"
    return toolchains.require(name) if llvm == 22 else toolchains.require_new(name)


def propagated_by(llvm: int, level: str, texts: Sequence[str]) -> list[str | None]:
    """What the compiler writes for each module; None where it refuses or crashes."""
    options = ["--xevm-attach-target=chip=pvc", f"--xegpu-propagate-layout=layout-kind={KINDS[level]}"]
    found = _run([compiler(llvm), *options], texts)
    return [None if text is None else _TARGETS.sub("", text) for text in found]


def plain(module: ModuleOp) -> str:
    """The text of a module with numbers for names and attributes in the order of their names."""
    for op in module.walk():
        for held in (op.properties, op.attributes):
            ordered = dict(sorted(held.items()))
            held.clear()
            held.update(ordered)
        for value in (*op.results, *(argument for region in op.regions for b in region.blocks for argument in b.args)):
            value.name_hint = None
    return write_module(module)


def printed_by(llvm: int, texts: Sequence[str]) -> list[str | None]:
    """Each module as the compiler prints it."""
    return _run([compiler(llvm)], texts)


def _run(command: Sequence[str], texts: Sequence[str]) -> list[str | None]:
    """One run for all; where the compiler crashes, the modules are asked in halves."""
    if not texts:
        return []
    done = subprocess.run(
        [*command, "--split-input-file", "--mlir-disable-threading"],
        input=SEPARATOR.join(texts), capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "LLVM_DISABLE_SYMBOLIZATION": "1"},
    )  # fmt: skip
    if done.returncode in (0, 1):
        parts = done.stdout.split("// -----\n")
        if len(parts) == len(texts):
            return [part.strip() or None for part in parts]
    if len(texts) == 1:
        return [None]
    middle = len(texts) // 2
    return _run(command, texts[:middle]) + _run(command, texts[middle:])
