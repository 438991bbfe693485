"""`layoutalg gemm` for CPUs with AMX: what it prints and writes, and what it refuses in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.cli import main
from tests.cli.printed import Capture, answer, out
from tests.refusals import wrong_refusal

AMX = ("gemm", "64", "64", "64", "--target", "amx")


def test_edges_say_where_no_block_is_whole(capsys: Capture) -> None:
    small = out(capsys, "gemm", "13", "10", "33", "--target", "amx", "--blocking", "2x2", "--runners-up", "0")
    assert "C is smaller than a block: 13 rows from 0, 10 columns from 0; 3 registers at most" in small
    large = out(capsys, "gemm", "100", "60", "64", "--target", "amx", "--blocking", "2x2", "--runners-up", "0")
    assert "blocks of 4 rows from 96, 16+12 columns from 32; 8 registers at most" in large


def test_the_plan_is_a_table_of_choices_operands_predictions_and_runners_up(capsys: Capture) -> None:
    text = out(
        capsys, "gemm", "512", "512", "512", "--target", "spr", "--blocking", "2x2", "--explain", "--runners-up", "2"
    )
    for words in (
        "2x2 tiles of 16x16, 32x32 of C in registers",
        "7 of 8: C in tmm0 to tmm3; A is held in tmm4, tmm5; B passes through tmm6",
        "4 tile loads of 1024 bytes, 4 products (tdpbf16ps): 1.00 loads per product",
        "packed, 32x256x32",
        "d0 = 256@addr:32 2@addr, d1 = 32@addr:8192 16@addr:2",
        "operations per byte of memory",
        "C11 += A1 * B1",
        "even = fma(a[k], b[k], even)",
        "others        tiling",
    ):
        assert words in text


def test_the_facts_are_those_of_the_plan(capsys: Capture) -> None:
    facts = answer(capsys, "gemm", "100", "60", "201", "--a", "s8", "--b", "u8", "--target", "gnr", "--blocking", "1x4")
    plan = la.plan_amx(100, 60, 201, "s8", "u8", "s32", "gnr", blocking=(1, 4))
    assert facts["instruction"] == "tdpbsud"
    assert facts["step"] == {"depth": 64, "loads": 5, "products": 4}
    assert facts["k_steps"] == 4
    assert facts["k_rest"] == 12
    assert facts["packed"]["B"] == [4, 51, 64]
    assert facts["packed"]["why_a"] == "k = 201 is not a multiple of 4, the elements of a word"
    assert facts["blocks"] == [plan.tiling.m_block, plan.tiling.n_block, plan.tiling.k_block]
    assert facts["roofline"][0]["cores"] == 1
    assert sorted(set(facts["registers"].values())) == list(range(6))


def test_what_is_chosen_stays(capsys: Capture) -> None:
    options = (
        "--blocking",
        "1x3",
        "--blocks",
        "32x48x64",
        "--order",
        "rows",
        "--pack-a",
        "--scale",
        "row",
        "--llvm",
        "22",
    )
    facts = answer(capsys, "gemm", "64", "96", "128", "--target", "spr", "--a", "u8", "--c", "s8", *options)
    assert (facts["blocking"], facts["blocks"], facts["order"]) == ([1, 3], [32, 48, 64], "rows")
    assert facts["packed"]["A"] == [4, 2, 16, 64]
    assert (facts["problem"]["scale"], facts["llvm"], facts["target"]) == ("row", 22, "spr")


@pytest.mark.parametrize("llvm", [22, 24])
def test_emit_prints_the_module_alone_in_the_spelling_of_its_version(llvm: int, capsys: Capture) -> None:
    plan = la.plan_amx(64, 64, 64, llvm=llvm)
    assert out(capsys, *AMX, "--llvm", str(llvm), "--emit", "whole") == plan.emit()
    assert out(capsys, *AMX, "--llvm", str(llvm), "--emit", "parts") == plan.emit(part="parts")
    prepacked = out(capsys, *AMX, "--llvm", str(llvm), "--emit", "whole", "--prepacked-b")
    assert prepacked == plan.emit(prepacked_b=True) != plan.emit()
    assert (" amx.tile_load" in prepacked) == (llvm == 22)
    assert ("x86.amx.tile_load" in prepacked) == (llvm == 24)


def test_a_run_simulates_against_the_model_and_writes_the_module(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "new" / "gemm.mlir"
    shape = ("gemm", "20", "40", "33", "--target", "amx", "--a", "u8", "--c", "s8", "--scale", "column", "--trans-b")
    found = answer(capsys, *shape, "--run", "-o", str(path))
    assert found["simulated"]["as_modelled"]
    assert found["simulated"]["largest_difference"] <= 1
    plan = la.plan_amx(20, 40, 33, "u8", c="s8", scale="column", trans_b=True)
    assert path.read_text() == plan.emit()
    text = out(capsys, *AMX, "--run")
    assert "simulated     bit for bit what the model says; largest difference from numpy" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*AMX, "--tile", "32x32"), "--tile: target amx has no such option; it is for GPUs"),
        ((*AMX, "--static"), "--static: target amx has no such option; it is for GPUs"),
        ((*AMX, "--groups", "2"), "--groups: target amx has no such option"),
        (("gemm", "64", "64", "64", "--blocking", "2x2"), "--blocking: target pvc has no such option; it is for CPUs"),
        (("gemm", "64", "64", "64", "--no-pack-a"), "--pack-a: target pvc has no such option"),
        (("gemm", "64", "64", "64", "--native"), "--native: target pvc has no such option"),
        ((*AMX, "--emit", "lane"), "--emit lane: target amx has whole, parts; lane is for GPUs"),
        (("gemm", "64", "64", "64", "--emit", "whole"), "--emit whole: target pvc has lane, subgroup, workgroup"),
        ((*AMX, "--emit", "block"), "'block': expected one of lane, subgroup, workgroup, whole, parts"),
        ((*AMX, "--a", "tf32"), "a = 'tf32'"),
        (("gemm", "64", "64", "64", "--target", "spr", "--a", "f16"), "Sapphire Rapids has no amx-fp16"),
        ((*AMX, "--blocking", "3x3"), "a blocking of 3x3 tiles takes 13 of 8 tile registers"),
        ((*AMX, "--blocking", "2"), "blocking of 1 numbers"),
        ((*AMX, "--blocking", "two"), "expected a shape"),
        ((*AMX, "--blocks", "30x32x64"), "expected rows in multiples of 16"),
        ((*AMX, "--trans-a", "--no-pack-a"), "A must be packed"),
        ((*AMX, "--run", "--prepacked-b"), "--run with --prepacked-b"),
        ((*AMX, "--run", "--emit", "parts"), "--run with --emit parts"),
        ((*AMX, "--emit", "parts", "--prepacked-b"), "the parts take packed B always"),
        ((*AMX, "--build", "a.so", "-o", "a.mlir"), "ask for one"),
        (("gemm", "65536", "65536", "65536", "--target", "amx", "--run"), "are simulated"),
        (("gemm", "65536", "65536", "65536", "--target", "amx", "--native"), "are executed with --native"),
        (("gemm", "0", "64", "64", "--target", "amx"), "m = 0"),
        (("gemm", "64", "64", str(10**30), "--target", "amx"), "k = 1000000"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], says: str, capsys: Capture, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert wrong_refusal(captured.err) is None
    assert says in captured.err
    assert sorted(tmp_path.iterdir()) == before


def test_the_help_lists_the_options_by_target(capsys: Capture) -> None:
    text = out(capsys, "gemm", "--help")
    shared, rest = text.split("Options for GPUs:")
    gpus, cpus = rest.split("Options for CPUs with AMX (targets amx, spr, gnr):")
    for part, options in (
        (shared, ("--target", "--trans-a", "--emit", "--llvm", "--run", "--build")),
        (gpus, ("--tile", "--subgroups", "--prefetch", "--static", "--host", "--chip")),
        (cpus, ("--blocking", "--blocks", "--order", "--pack-a / --no-pack-a", "--native", "--time")),
    ):
        for option in options:
            assert f"  {option}" in part
            assert text.count(f"  {option} ") + text.count(f"  {option}\n") == 1
