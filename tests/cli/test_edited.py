"""`--check` and `--text`: a kernel with one number changed, which LLVM accepts, is found; one that is whole is not blamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.core.errors import ParseError, PlanError
from tests.gemm.amx.mutating import mutants
from tests.gemm.forms import Form
from tests.gemm.test_mutations_of_forms import EACH, judged

Capture = pytest.CaptureFixture[str]
KERNELS = {
    "gemm 2048 2048 2048 --tile 32x64 --subgroups 2x2": ("arith.constant 32 : index", "arith.constant 16 : index"),
    "gemm 8 4096 4096": ("arith.constant 32 : index", "arith.constant 48 : index"),
    "attention 1000 2000 --causal": ("arith.constant -64 : i32", "arith.constant -32 : i32"),
    "decode 4000 --d 64 --heads 8 --kv-heads 2 --target bmg": ("arith.constant -32 : i32", "arith.constant -16 : i32"),
    "weights 8 512 1024": ("arith.constant 96 : index", "arith.constant 64 : index"),
    "gemm 100 60 200 --target amx": ("arith.constant 32 : index", "arith.constant 16 : index"),
    "gemm 4096 512 512 --target amx --dynamic-m": ("arith.constant 32 : index", "arith.constant 16 : index"),
}


@pytest.fixture(autouse=True)
def _without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What LLVM says is asked in tests/oracle."""
    monkeypatch.setattr("layoutalg.ir.installed.llvm_verdict", lambda *_, **__: None)
    monkeypatch.setattr("layoutalg.gemm.amx.compiling.programs", _missing)


def _missing(llvm: int) -> None:
    raise PlanError(f"mlir-opt-{llvm} is not installed")


@pytest.mark.parametrize("command", KERNELS)
def test_a_changed_number_is_found(command: str, capsys: Capture, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.mlir"
    assert main([*command.split(), "-o", str(kernel)]) == 0
    capsys.readouterr()
    assert main([*command.split(), "--text", str(kernel), "--check", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["checked"]
    assert all(one["as_modelled"] for one in whole["checked"])
    text = kernel.read_text()
    old, new = KERNELS[command]
    assert old in text
    kernel.write_text(text.replace(old, new, 1))
    assert main([*command.split(), "--text", str(kernel), "--check"]) == 1
    said = capsys.readouterr().out
    assert "NOT what the model says" in said or "line " in said


def test_what_a_text_goes_with(capsys: Capture, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.mlir"
    kernel.write_text("gpu.module @m { gpu.func @gemm( }")
    for options, said in (
        ("", "--text: say what to do with the kernel; --check and --run take it"),
        ("--check --listing", "--text with --listing: that takes the plan's own kernel"),
        ("--check --emit lane", "--text with --emit: that takes the plan's own kernel"),
        ("--check", "kernel.mlir: line 1"),
    ):
        assert main(["gemm", "64", "64", "64", "--text", str(kernel), *options.split()]) == 2
        assert said in capsys.readouterr().err


def test_sizes_as_constants_are_said(capsys: Capture) -> None:
    assert main(["gemm", "64", "64", "64", "--static", "--check"]) == 0
    assert "simulator     not asked: no small problem has this text" in capsys.readouterr().out


# AMX

PRODUCTS: dict[str, tuple[str, tuple[int, int, int], dict[str, Any]]] = {
    "any m": ("50 48 100 --dynamic-m --blocks 32x32x64", (50, 48, 100), {"dynamic_m": True, "blocks": (32, 32, 64)}),
    "bytes": (
        "20 72 130 --a u8 --b s8 --c s8 --scale column --bias row --blocking 1x1 --blocks 32x32x128",
        (20, 72, 130),
        {
            "a": "u8",
            "b": "s8",
            "c": "s8",
            "scale": "column",
            "bias": "row",
            "blocking": (1, 1),
            "blocks": (32, 32, 128),
        },
    ),
}


@pytest.mark.parametrize(
    ("name", "most"), [("bytes", 3), *(pytest.param(name, EACH, marks=pytest.mark.exhaustive) for name in PRODUCTS)]
)
def test_changes_of_meaning_of_a_module_for_amx_are_caught(
    name: str, most: int, capsys: Capture, tmp_path: Path
) -> None:
    command, sizes, options = PRODUCTS[name]
    module = tmp_path / "module.mlir"

    def passes(text: str) -> bool:
        module.write_text(text)
        code = main(["gemm", *command.split(), "--target", "amx", "--text", str(module), "--check"])
        said = capsys.readouterr()
        if code == 2:
            raise ParseError(text, 0, said.err)
        assert code == ("NOT what the model says" in said.out or "line " in said.out or "not written" in said.out)
        return code == 0

    form = Form(la.plan_amx(*sizes, **options).emit(), (passes,), mutants)
    assert passes(form.text)
    counted, survivors = judged(form, f"{name} by --check", most)
    assert not survivors
    assert counted["wrong"] >= most // 2


def test_what_was_not_asked_is_said(capsys: Capture, tmp_path: Path) -> None:
    module, product = tmp_path / "module.mlir", ("gemm", "64", "64", "64", "--target", "amx")
    module.write_text("func.func @other() { return }")
    assert main([*product, "--check", "--text", str(module)]) == 1
    said = capsys.readouterr().out
    assert "LLVM 24       not asked: mlir-opt-24 is not installed" in said
    assert "expected a function named gemm in the text" in said
    module.write_text("func.func @gemm(%a: index, %b: index, %c: index) { return }")
    assert main([*product, "--check", "--text", str(module)]) == 1
    assert "on amx: func.func: 4096 elements of C are not written" in capsys.readouterr().out
    assert main([*product, "--check", "--emit", "parts", "-o", str(module)]) == 0
    assert "simulator     not asked: it runs the whole module" in capsys.readouterr().out
    assert main(["gemm", "4096", "4096", "4096", "--target", "amx", "--check"]) == 0
    assert "simulator     not asked: more than 65536 tile products" in capsys.readouterr().out
    assert main([*product, "--check", "--text", str(module), "--native"]) == 2
    assert "--text with --native: that takes the plan's own kernel" in capsys.readouterr().err
