"""`layoutalg gemm --target amx` with the installed LLVM: checked, executed, listed and built."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from layoutalg import plan_amx
from layoutalg.cli import main
from tests.documentation import Block, pages
from tests.oracle.toolchains import require, require_new


def test_the_command_checks_executes_lists_and_builds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    require_new("llc-24")
    require("cc")
    library = tmp_path / "product.so"
    options = ("--check", "--native", "--listing", "--build", str(library), "--json")
    assert main(("gemm", "64", "64", "64", "--target", "amx", *options)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["llvm_says"] == "accepts the module and compiles it to AMX instructions"
    assert found["executed"]["how"] in ("amx", "scalar", "soft")
    assert found["executed"]["as_modelled"] or found["executed"]["how"] == "scalar"
    assert found["executed"]["largest_difference"] < 1e-4
    (function,) = found["listing"]["functions"].values()
    assert (function["loop"]["loads"], function["loop"]["products"]) == (4, 4)
    assert found["listing"]["spills"] == 0
    assert library.stat().st_size > 0
    assert "gemm(const void *a" in library.with_suffix(".h").read_text()


def test_a_module_without_a_product_is_not_called_one_of_amx(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    require_new("llc-24")
    module = tmp_path / "module.mlir"
    module.write_text("func.func @gemm(%a: index, %b: index, %c: index) { return }")
    assert main(("gemm", "64", "64", "64", "--target", "amx", "--check", "--text", str(module), "--json")) == 1
    said = json.loads(capsys.readouterr().out)["llvm_says"]
    assert said == "accepts the module and compiles it to code without a product of AMX"


PROGRAMS = [pytest.param(block, id=f"{page.name}:{block.line}") for page in pages() for block in page.blocks("c")]


@pytest.mark.parametrize("block", PROGRAMS)
def test_a_program_of_the_documentation_prints_what_it_says(block: Block, tmp_path: Path) -> None:
    require_new("llc-24")
    compiler = require("cc")
    plan_amx(64, 64, 64, blocking=(2, 2)).build(tmp_path / "gemm.so", how="soft")
    (tmp_path / "program.c").write_text(block.text)
    subprocess.run([compiler, "-Wall", "-Werror", "program.c", "./gemm.so", "-o", "program"], cwd=tmp_path, check=True)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    said = block.text.partition("printf(")[2].partition("/* ")[2].partition(" */")[0]
    assert said
    assert done.stdout == f"{said}\n"


def test_there_is_a_program_in_the_documentation() -> None:
    assert PROGRAMS
