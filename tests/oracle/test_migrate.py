"""Migrated kernels, asked of the compilers: LLVM 22 reads the old text, 23 and 24 do not, and both read the migrated one."""

from __future__ import annotations

import subprocess

import pytest

from layoutalg.ir import read_module, write_module
from layoutalg.ir.migrate import migrate_module
from tests.ir.migrate.kernels import AMX, KERNELS, LEVELS
from tests.oracle.toolchains import require, require_new

ALL = {**KERNELS, **LEVELS, "amx": AMX}
READ_BY_23 = ("chunks_of_eight",)
"""Kernels in a language that 23 still reads."""


def refusal(llvm: int, text: str) -> str:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    done = subprocess.run([program, "-"], input=text, capture_output=True, text=True, timeout=60, check=False)
    return "" if done.returncode == 0 else done.stderr or f"code {done.returncode}"


@pytest.mark.parametrize("name", ALL)
def test_the_old_text_is_read_by_22_and_not_by_the_version_that_it_is_migrated_to(name: str) -> None:
    assert refusal(22, ALL[name]) == ""
    assert refusal(24, ALL[name]) != ""
    assert (refusal(23, ALL[name]) == "") is (name in READ_BY_23)


@pytest.mark.parametrize("llvm", [23, 24])
@pytest.mark.parametrize("name", ALL)
def test_the_migrated_text_is_read(name: str, llvm: int) -> None:
    made = migrate_module(read_module(ALL[name]), to=llvm)
    assert made.findings == ()
    assert refusal(llvm, write_module(made.module, llvm=llvm)) == ""
