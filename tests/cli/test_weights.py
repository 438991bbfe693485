"""`layoutalg weights`: the table, the kernel, the run, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from layoutalg.gemm.weights import plan_weights


def test_the_table_says_what_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "1", "4096", "4096", "--target", "bmg", "--zeros"]) == 0
    shown = capsys.readouterr().out
    assert "A[1, 4096] f16 * W[4096, 4096] u4 and zero points in groups of 128 on bmg" in shown
    assert "100 % of the bandwidth\n" in shown
    assert "memory: it moves bytes all the time" in shown
    assert "group_zeros  pointer: in, 32x4096 f32" in shown


def test_the_kernel_is_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "8", "64", "128", "--emit", "lane", "--tile", "8x16", "--subgroups", "1x2"]) == 0
    plan = plan_weights(8, 64, 128, tile=(8, 16), subgroups=(1, 2))
    assert capsys.readouterr().out == plan.emit()
    target = tmp_path / "kernel.mlir"
    assert main(["weights", "8", "64", "128", "--tile", "8x16", "--subgroups", "1x2", "-o", str(target)]) == 0
    assert target.read_text() == plan.emit()


def test_it_is_run_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--b", "u8", "--group", "256", "--scale", "row", "--bias", "column", "--activation", "silu", "--json"]
    assert main(["weights", "5", "64", "512", *options, "--run", "--beta", "1"]) == 0
    facts = json.loads(capsys.readouterr().out)
    plan = plan_weights(5, 64, 512, b="u8", group=256, scale="row", bias="column", activation="silu", beta=1.0)
    assert facts["simulated"]["as_modelled"] is True
    assert facts["step"]["dpas"] == plan.dpas_per_step
    assert facts["part_of_bandwidth"] == plan.part_of_bandwidth


@pytest.mark.parametrize(("a", "element"), [("f16", "f8E4M3FN"), ("bf16", "f8E5M2")])
def test_floats_of_8_bits_are_run_and_compared(a: str, element: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--a", a, "--b", element, "--group", "64", "--tile", "8x16", "--split-k", "1"]
    assert main(["weights", "5", "32", "128", *options, "--run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["simulated"]["as_modelled"] is True
    assert facts["problem"] == f"C[5, 32] f32 = A[5, 128] {a} * W[128, 32] {element} in groups of 64 on pvc"
    assert facts["step"]["more_dpas"] == 0


def test_an_expression_is_computed_by_the_kernel_that_adds_parts_of_k(capsys: pytest.CaptureFixture[str]) -> None:
    text = "gelu(acc * scale + bias) * row_scale + residual"
    assert main(["weights", "7", "20", "384", "--split-k", "2", "--epilogue", text, "--run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["simulated"]["as_modelled"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["8", "64", "100"], "k = 100 with groups of 128: k is a multiple of the group; 128 would fit"),
        (["8", "64", "128", "--group", "100"], "group = 100: 32, 64 or a multiple of 128"),
        (["8", "64", "128", "--a", "bf16", "--b", "f8E5M2", "--zeros"], "floats have no zero points; leave it out"),
        (["8", "64", "128", "--prefetch", "lines"], "'lines': expected one of none, shared"),
        (["8", "64", "128", "--tile", "8"], "8"),
        (["8", "64", "128", "--target", "dg2"], "dg2"),
        (["8", "64", "128", "--host", "sycl"], "--host: needs -o FOLDER"),
    ],
)
def test_what_is_not_planned_is_said(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", *arguments]) == 2
    assert words in capsys.readouterr().err
