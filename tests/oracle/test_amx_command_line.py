"""`layoutalg gemm --target amx` with the installed LLVM: checked, executed, listed and built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from tests.oracle.toolchains import require, require_new


def test_the_command_checks_executes_lists_and_builds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    require_new("llc-24")
    require("cc")
    library = tmp_path / "product.so"
    options = ("--check", "--native", "--listing", "--build", str(library), "--json")
    assert main(("gemm", "64", "64", "64", "--target", "amx", *options)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["llvm_says"] == "accepts the module and compiles it to AMX instructions"
    assert found["executed"]["how"] in ("amx", "scalar")
    assert found["executed"]["as_modelled"] or found["executed"]["how"] == "scalar"
    assert found["executed"]["largest_difference"] < 1e-4
    (function,) = found["listing"]["functions"].values()
    assert (function["loop"]["loads"], function["loop"]["products"]) == (4, 4)
    assert found["listing"]["spills"] == 0
    assert library.stat().st_size > 0
    assert "gemm(const void *a" in library.with_suffix(".h").read_text()
