"""`layoutalg decode`: the table, the kernels, the run, the listing, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.cli import main
from tests.oracle.toolchains import require_new


def test_the_table_says_what_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--heads", "32", "--kv-heads", "8", "--batch", "4", "--parts", "4", "--out", "f16"]
    assert main(["decode", "8192", *options]) == 0
    shown = capsys.readouterr().out
    assert "4 sequences of up to 8192 keys, 1 query each: 32 heads of O[128] f16" in shown
    assert "parts     4, 64 steps each at most; a second kernel combines them" in shown
    assert "grid      4x1x32 workgroups of 16x1x1 work-items" in shown
    assert "what memory allows" in shown
    assert "gpu.func" not in shown


def test_the_kernels_are_printed_alone_where_a_level_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "64", "--d", "64", "--page", "16", "--emit", "lane"]) == 0
    assert capsys.readouterr().out == la.plan_decode(64, 64, page=16, target="bmg").emit()


def test_everything_is_there_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "kernel.mlir"
    options = ["--d", "64", "--page", "32", "--parts", "2", "--queries", "2", "--order", "nhd"]
    assert main(["decode", "70", *options, "--run", "-o", str(target), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    plan = la.plan_decode(70, 64, page=32, parts=2, queries=2, order="nhd")
    assert target.read_text() == plan.emit()
    assert facts["simulated"]["as_modelled"] is True
    assert facts["simulated"]["largest_difference"] < 1e-3
    assert facts["instructions"] == plan.instructions
    assert facts["time"]["share"] == plan.times.share


def test_a_folder_has_kernels_and_a_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "70", "--d", "64", "--parts", "2", "--host", "pyopencl", "-o", str(tmp_path / "made")]) == 0
    assert "host.py" in capsys.readouterr().out
    assert "'decode_combine'" in (tmp_path / "made" / "host.py").read_text()


def test_the_listing_counts_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")
    assert main(["decode", "640", "--d", "64", "--listing", "--target", "pvc"]) == 0
    shown = capsys.readouterr().out
    assert "18 dpas, 12 loads, no spill, 0 unresolved calls" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["0"], "keys = 0: a size is an integer from 1 to 16777216"),
        (["x"], "'x' is not a valid integer"),
        (["64", "--d", "50"], "zeros up to 56 fit"),
        (["64", "--page", "48"], "pages of 16, 32, 64, 128 keys"),
        (["64", "--pages", "4"], "needs page"),
        (["64", "--order", "bshd"], "expected one of hnd, nhd"),
        (["64", "--llvm", "22"], "LLVM 22 does not lower"),
        (["9999999", "--heads", "64", "--run"], "dpas instructions; at most"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
