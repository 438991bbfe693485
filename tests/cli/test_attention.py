"""`layoutalg attention`: the table, the kernel, the run, the listing, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from layoutalg.gemm.attention import plan_attention
from tests.oracle.toolchains import require_new


def test_the_table_says_what_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["attention", "1000", "4096", "--d", "128", "--causal", "--heads", "8", "--kv-heads", "2", "--out", "f16"])
        == 0
    )
    shown = capsys.readouterr().out
    assert "8 heads of O[1000, 128] f16 = softmax(0.0883883 Q[1000, 128] K[4096, 128]^T, causal)" in shown
    assert "grid      8x1x8 workgroups of 128x1x1 work-items" in shown
    assert "32 keys: 68 dpas, loads 4 of Q, 16 of K, 4 of V, 20480 bytes" in shown
    assert "nothing moves: both have one layout" in shown
    assert "gpu.func @attention(" not in shown


def test_the_kernel_is_printed_alone_where_a_level_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attention", "64", "64", "--emit", "lane"]) == 0
    assert capsys.readouterr().out == plan_attention(64, 64, target="bmg").emit()


def test_the_kernel_is_written_and_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "kernel.mlir"
    assert main(["attention", "64", "64", "--type", "bf16", "--llvm", "23", "-o", str(target)]) == 0
    assert target.read_text() == plan_attention(64, 64, type="bf16", llvm=23, target="bmg").emit()
    assert "gpu.func" not in capsys.readouterr().out


def test_everything_is_there_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attention", "40", "70", "--d", "32", "--run", "--emit", "lane", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    plan = plan_attention(40, 70, 32)
    assert facts["simulated"]["as_modelled"] is True
    assert facts["simulated"]["largest_difference"] < 1e-3
    assert facts["dpas_total"] == plan.dpas_total
    assert facts["instructions"] == plan.instructions
    assert facts["kernel"] == plan.emit()


def test_the_listing_names_every_instruction_of_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")
    assert main(["attention", "64", "64", "--listing", "--target", "pvc"]) == 0
    shown = capsys.readouterr().out
    assert "no spill, 0 unresolved calls" in shown
    assert shown.count("// load of K") == 16
    assert shown.count("dpas.8x8") == 72


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["0", "64"], "queries = 0: a size is an integer from 1 to 16777216"),
        (["64"], "Missing argument 'KEYS'"),
        (["64", "x"], "'x' is not a valid integer"),
        (["64", "64", "--d", "50"], "zeros up to 56 fit"),
        (["64", "64", "--type", "f32"], "expected one of f16, bf16"),
        (["64", "64", "--target", "dg2"], "no 2D block messages"),
        (["64", "64", "--scale", "nan"], "expected a finite number above 0"),
        (["64", "64", "--llvm", "22"], "LLVM 22 does not lower"),
        (["64", "64", "--emit", "workgroup"], "expected one of lane"),
        (["9999999", "9999999", "--run"], "dpas instructions; at most"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attention", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
