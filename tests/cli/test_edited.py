"""`--check` and `--text`: a kernel with one number changed, which LLVM accepts, is found; one that is whole is not blamed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main

Capture = pytest.CaptureFixture[str]
KERNELS = {
    "gemm 2048 2048 2048 --tile 32x64 --subgroups 2x2": ("arith.constant 32 : index", "arith.constant 16 : index"),
    "gemm 8 4096 4096": ("arith.constant 32 : index", "arith.constant 48 : index"),
    "attention 1000 2000 --causal": ("arith.constant -64 : i32", "arith.constant -32 : i32"),
    "decode 4000 --d 64 --heads 8 --kv-heads 2 --target bmg": ("arith.constant -32 : i32", "arith.constant -16 : i32"),
    "weights 8 512 1024": ("arith.constant 96 : index", "arith.constant 64 : index"),
}


@pytest.fixture(autouse=True)
def _without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What LLVM says is asked in tests/oracle."""
    monkeypatch.setattr("layoutalg.ir.installed.llvm_verdict", lambda *_, **__: None)


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
    assert "not simulated: no small problem has this text" in capsys.readouterr().out
