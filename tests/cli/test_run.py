"""`layoutalg run`: arguments from files and numbers, results into files, findings, exit codes."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.cli.arrays import array_summary, as_argument, saved_bytes
from layoutalg.core.progress import progress_bar

Capture = pytest.CaptureFixture[str]

M, N, K = 32, 64, 48
PRODUCT = (Path(__file__).parents[1] / "simulate" / "product.mlir").read_text()
"""Workgroups of one subgroup, which compute 32x32 elements of C."""


@pytest.fixture
def gemm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder with a kernel and its inputs, and the options that run it."""
    monkeypatch.chdir(tmp_path)
    Path("gemm.mlir").write_text(PRODUCT)
    random = np.random.default_rng(0)
    for name, shape in (("A", (M, K)), ("B", (K, N))):
        np.save(f"{name}.npy", random.integers(-4, 5, shape).astype(np.float16))
    arguments = ("A.npy", "B.npy", f"C:{M}x{N}xf32", *map(str, (M, N, K, K, N, N)))
    return [
        "run",
        "gemm.mlir",
        "--grid",
        f"{N // 32}x{M // 32}x1",
        *(part for one in arguments for part in ("--arg", one)),
    ]


def refusal(capsys: Capture, arguments: list[str]) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def exact() -> np.ndarray[Any, Any]:
    return np.load("A.npy").astype(np.float64) @ np.load("B.npy").astype(np.float64)


def test_a_product_is_computed_saved_and_summed_up(gemm: list[str], capsys: Capture) -> None:
    assert main([*gemm, "-o", "out/C.npy"]) == 0
    found = np.load("out/C.npy")
    assert found.dtype == np.float32
    assert (found == exact()).all()
    text = capsys.readouterr().out
    assert (
        f"C         {M}x{N}xf32: min {exact().min():.6g}, max {exact().max():.6g}, mean {exact().mean():.6g};" in text
    )
    assert "saved to out/C.npy" in text


def test_json_has_the_results(gemm: list[str], capsys: Capture) -> None:
    assert main([*gemm, "--json", "-o", "C=x.npy"]) == 0
    found = json.loads(capsys.readouterr().out)
    (result,) = found["results"]
    assert (result["name"], result["shape"], result["element"], result["saved"]) == ("C", [M, N], "f32", "x.npy")
    assert result["max"] == exact().max()
    assert found["findings"] == []


def test_what_a_kernel_does_wrong_is_a_finding_and_nothing_is_saved(gemm: list[str], capsys: Capture) -> None:
    small = [one.replace(f"C:{M}x", f"C:{M // 2}x") for one in gemm]
    assert main([*small, "-o", "C.npy"]) == 1
    text = capsys.readouterr().out
    assert "error: 'xegpu.store_nd' op" in text
    assert "[layoutalg: run.out_of_bounds]" in text
    assert "nothing is saved" in text
    assert not Path("C.npy").exists()


def test_an_input_that_is_written_is_a_finding_unless_it_is_saved(gemm: list[str], capsys: Capture) -> None:
    np.save("C.npy", np.zeros((M, N), np.float32))
    from_file = [one if not one.startswith("C:") else "C.npy" for one in gemm]
    assert main(from_file) == 1
    assert "run.input_written" in capsys.readouterr().out
    assert main([*from_file, "-o", "C.npy"]) == 0
    assert (np.load("C.npy") == exact()).all()


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_findings_in_every_format(form: str, gemm: list[str], capsys: Capture) -> None:
    small = [one.replace(f"C:{M}x", f"C:{M // 2}x") for one in gemm]
    assert main([*small, "--format", form]) == 1
    text = capsys.readouterr().out
    assert "run.out_of_bounds" in text
    if form != "github":
        json.loads(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("--arg", "7"), "it takes 9 arguments, and was given 10"),
        (("--grid", "2x2x2x2"), "expected one to three sizes"),
        (("--grid", "0"), "expected positive sizes"),
        (("--kernel", "nosuch"), "no module in it has a kernel named 'nosuch'"),
        (("--target", "amd"), "expected one of"),
        (("--level", "warp"), "expected one of lane, subgroup, workgroup"),
        (("-o", "D.npy"), "no array is called D; the arrays are A, B, C"),
        (("-o", "A.npy", "--arg", "A.npy"), "several arrays are called A"),
        (("--arg", "C:9999999999x9999999999xf32"), "bytes; arrays of at most"),
        (("--arg", "X:600000000xi8", "--arg", "Y:600000000xi8"), "with those before it"),
        (("--arg", "C:8xf99"), "numpy has no elements of type 'f99'"),
        (("--arg", "bogus"), "expected a number, an array's file"),
        (("--arg", "missing.npy"), "missing.npy: no such file or directory"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(
    change: tuple[str, ...], words: str, gemm: list[str], capsys: Capture
) -> None:
    assert words in refusal(capsys, [*gemm, *change])


def test_files_that_are_not_arrays_are_refused(tmp_path: Path) -> None:
    good = saved_bytes(np.zeros((4, 4), np.float32))
    header = good.replace(b"(4, 4)", b"(9, 9)")
    pickled = tmp_path / "pickled.npy"
    np.save(pickled, np.array([{"a": 1}], object), allow_pickle=True)
    raw = pickle.dumps([1, 2])
    bad = {
        "empty": b"",
        "text": b"hello",
        "cut": good[:-1],
        "header": header,
        "magic": good[:8],
        "pickle": raw,
        "zip": b"PK\3\4",
    }
    for name, data in bad.items():
        (tmp_path / f"{name}.npy").write_bytes(data)
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    np.savez(tmp_path / "several", a=np.zeros(2))
    (tmp_path / "several.npz").rename(tmp_path / "several.npy")
    np.save(tmp_path / "dates.npy", np.zeros(2, "datetime64[s]"))
    for name in (*bad, "pickled", "folder", "pipe", "several", "dates"):
        with pytest.raises(la.LayoutError, match=name):
            as_argument(str(tmp_path / f"{name}.npy"))


def test_a_header_that_promises_much_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "A.npy"
    data = saved_bytes(np.zeros((4, 4), np.float32))
    path.write_bytes(data.replace(b"(4, 4)", b"(99,9)"))
    with pytest.raises(la.LayoutError, match="not an array in numpy's format"):
        as_argument(str(path))


@pytest.mark.parametrize(("element", "dtype"), [("bf16", ml_dtypes.bfloat16), ("f8E4M3FN", ml_dtypes.float8_e4m3fn)])
def test_small_floats_go_through_files_as_whole_numbers(element: str, dtype: Any, tmp_path: Path) -> None:
    values = np.array([1.5, -2.0, 0.25]).astype(dtype)
    path = tmp_path / "A.npy"
    path.write_bytes(saved_bytes(values))
    assert np.load(path).dtype == np.dtype(f"u{values.itemsize}")
    found = as_argument(f"{path}:{element}")
    assert found.value.dtype == dtype
    assert (found.value == values).all()
    np.save(path, values)  # numpy itself writes them without a type
    assert (as_argument(f"{path}:{element}").value == values).all()
    with pytest.raises(la.LayoutError, match="has 8"):
        as_argument(f"{path}:f64")


def test_arrays_arrive_contiguous_in_the_order_of_this_machine(tmp_path: Path) -> None:
    values = np.arange(12, dtype=">i4").reshape(3, 4)
    np.save(tmp_path / "A.npy", np.asfortranarray(values))
    found = as_argument(str(tmp_path / "A.npy")).value
    assert found.flags.c_contiguous
    assert found.flags.writeable
    assert found.dtype.isnative
    assert (found == values).all()


@pytest.mark.parametrize(("text", "value"), [("512", 512), ("-3", -3), ("0x10", 16), ("0.5", 0.5), ("-1e3", -1000.0)])
def test_numbers_are_numbers(text: str, value: float) -> None:
    assert as_argument(text).value == value
    assert type(as_argument(text).value) is type(value)


def test_a_result_without_sizes_is_one_element() -> None:
    assert as_argument("C:f32").value.shape == ()


@pytest.mark.parametrize("value", [np.zeros(0), np.full(3, np.nan), np.array([np.inf, 1.0]), np.array([True, False])])
def test_every_array_has_a_summary(value: np.ndarray[Any, Any]) -> None:
    found = array_summary(value)
    finite = value[~np.isnan(value)] if value.dtype.kind == "f" else value
    if finite.size:
        assert (found["min"], found["max"]) == (finite.min(), finite.max())
    else:
        assert "min" not in found
    assert found.get("nan", 0) == value.size - finite.size


def test_a_dump_with_several_kernels_says_so(gemm: list[str], capsys: Capture) -> None:
    text = Path("gemm.mlir").read_text()
    Path("gemm.mlir").write_text(f"{text}\n// -----\n{text}")
    assert "2 modules have a kernel" in refusal(capsys, gemm)


@pytest.mark.slow
def test_an_interrupt_ends_cleanly(tmp_path: Path) -> None:
    plan = la.plan_gemm(1024, 1024, 1024)
    (tmp_path / "k.mlir").write_text(plan.emit("lane"))
    for name in "AB":
        np.save(tmp_path / f"{name}.npy", np.zeros((1024, 1024), np.float16))
    given = ("A.npy", "B.npy", "C:1024x1024xf32", *map(str, plan.arguments))
    options = [part for one in given for part in ("--arg", one)]
    grid = "x".join(map(str, plan.grid))
    command = [sys.executable, "-m", "layoutalg", "run", "k.mlir", "--grid", grid, *options, "-o", "C.npy"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err
    # 0: it had ended before. A shell reports 130 for SIGINT's own number too: where the interrupt comes while Python executes a
    # text, as dataclasses do when a module is imported, `python -m` ends by the signal, although the program caught it.
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert process.returncode == 0 or (not (tmp_path / "C.npy").exists() and err.strip() == b"layoutalg: interrupted")


WORKGROUP = """\
gpu.module @k {
  gpu.func @add(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) kernel {
    %x = gpu.block_id x
    %c32 = arith.constant 32 : index
    %r = arith.muli %x, %c32 : index
    %0 = xegpu.create_nd_tdesc %a : memref<64x64xf32> -> !xegpu.tensor_desc<32x64xf32>
    %1 = xegpu.create_nd_tdesc %b : memref<64x64xf32> -> !xegpu.tensor_desc<32x64xf32>
    %2 = xegpu.create_nd_tdesc %c : memref<64x64xf32> -> !xegpu.tensor_desc<32x64xf32>
    %3 = xegpu.load_nd %0[%r, 0] : !xegpu.tensor_desc<32x64xf32> -> vector<32x64xf32>
    %4 = xegpu.load_nd %1[%r, 0] : !xegpu.tensor_desc<32x64xf32> -> vector<32x64xf32>
    %7 = arith.addf %3, %4 : vector<32x64xf32>
    xegpu.store_nd %7, %2[%r, 0] : vector<32x64xf32>, !xegpu.tensor_desc<32x64xf32>
    gpu.return
  }
}
"""


@pytest.fixture
def addition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kernel at workgroup level on memrefs, whose text does not say the size of a workgroup."""
    monkeypatch.chdir(tmp_path)
    Path("add.mlir").write_text(WORKGROUP)
    np.save("A.npy", np.arange(4096, dtype=np.float32).reshape(64, 64))
    arguments = ("--arg", "A.npy", "--arg", "A.npy", "--arg", "C:64x64xf32")
    return ["run", "add.mlir", "--grid", "2", *arguments, "--block", "64", "--subgroup-size", "16"]


def test_a_kernel_at_workgroup_level_on_memrefs(addition: list[str]) -> None:
    assert main([*addition, "--level", "workgroup", "-o", "C.npy"]) == 0
    assert (np.load("C.npy") == 2 * np.load("A.npy")).all()


def test_at_lane_level_the_size_of_a_workgroup_has_to_be_known(addition: list[str], capsys: Capture) -> None:
    sizes = addition.index("--block")
    lanes = [*addition[:sizes], "--subgroup-size", "16"]
    assert "known_block_size" in refusal(capsys, [*lanes, "--level", "lane"])


def test_at_workgroup_level_a_kernel_that_asks_for_no_work_item_needs_no_sizes(addition: list[str]) -> None:
    assert main([*addition[: addition.index("--block")], "-o", "C.npy"]) == 0
    assert (np.load("C.npy") == 2 * np.load("A.npy")).all()


def test_what_a_result_holds_is_traced(addition: list[str], capsys: Capture) -> None:
    assert main([*addition, "--level", "workgroup", "--trace", "%7", "--workgroup", "1", "--json"]) == 0
    (traced,) = json.loads(capsys.readouterr().out)["trace"]
    assert (traced["name"], traced["shape"]) == ("%7", [32, 64])
    assert traced["values"] == (2.0 * np.load("A.npy")[32:].reshape(-1)).tolist()


def test_each_time_of_a_loop_is_traced(gemm: list[str], capsys: Capture) -> None:
    assert main([*gemm, "--trace", "%a0", "--lane", "5", "--json"]) == 0
    traced = json.loads(capsys.readouterr().out)["trace"]
    # A lane holds a column of 8 rows: lane 5 holds column 5 of each block of 16.
    rows = np.load("A.npy").astype(float)
    assert [one["values"] for one in traced] == [rows[:8, 16 * step + 5].tolist() for step in range(K // 16)]
    assert main([*gemm, "--trace", "%a0", "--lane", "5"]) == 0
    assert "%a0       (time 2) " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("--trace", "%nosuch"), "trace '%nosuch': no operation has a result of that name"),
        (("--trace", "%a0", "--lane", "16"), "--lane 16: %a0 has 16"),
        (("--trace", "%a0", "--workgroup", "99"), "--workgroup 99: the grid has"),
        (("--block", "16x"), "--block 16x: expected one to three sizes"),
        (("--block", "1x1x1x1"), "--block 1x1x1x1: expected one to three sizes"),
    ],
)
def test_what_cannot_be_traced(change: tuple[str, ...], words: str, gemm: list[str], capsys: Capture) -> None:
    assert words in refusal(capsys, [*gemm, *change])


def test_a_result_that_is_read_first_is_a_finding(gemm: list[str], capsys: Capture) -> None:
    assert main([one.replace("A.npy", f"A:{M}x{K}xf16") for one in gemm]) == 1
    assert "[layoutalg: run.uninitialised]" in capsys.readouterr().out


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_appears_on_a_terminal_after_some_time(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    for patience, shown in ((0.05, terminal), (60.0, False)):
        error = Terminal()
        monkeypatch.setattr("sys.stderr", error)
        monkeypatch.setattr("layoutalg.core.progress._PATIENCE", patience)
        with progress_bar("workgroups") as progress:
            for part in range(1, 11):
                progress(part / 20)
                time.sleep(0.05)
        assert ("workgroups" in error.getvalue()) == shown
        assert ("50%" in error.getvalue()) == shown


def test_a_run_tells_how_far_it_is() -> None:
    plan = la.plan_gemm(1024, 512, 32)
    told: list[float] = []
    plan.simulate(np.zeros((1024, 32)), np.zeros((32, 512)), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_json_has_words_for_numbers_that_it_does_not_have(addition: list[str], capsys: Capture) -> None:
    values = np.full((64, 64), np.inf, np.float32)
    values[0, 0] = np.nan
    np.save("A.npy", values)
    assert main([*addition, "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))["results"]
    assert result["first"][:2] == ["NaN", "Infinity"]
    assert (result["max"], result["nan"]) == ("Infinity", 1)
