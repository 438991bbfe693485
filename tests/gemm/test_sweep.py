"""Sweeps: rows in order whatever executor there is, nothing planned twice, nothing lost when a worker dies."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.executor import Lost, done_by
from layoutalg.gemm.plan_row import COLUMNS
from layoutalg.gemm.problem import Problem
from tests.oracle.toolchains import require_module

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # Python 3.12 and later, under xdist

SHAPES: list[Any] = [(64 * i, 32 * j, 64) for i in (1, 3, 16) for j in (2, 5)]
MIXED: list[Any] = [
    *SHAPES,
    {"m": 64, "n": 64, "k": 50, "lda": 40},
    {"m": 128, "n": 128, "k": 128, "a": "s8", "target": "bmg"},
    Problem.of(256, 256, 256, "bf16", target="lnl"),
    {"m": 128, "n": 128},
    {"m": 64, "n": 64, "k": 64, "tile": (8, 16), "subgroups": [2, 2], "registers": 128},
]


def fork() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=get_context("fork"))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return la.sweep(MIXED)


@pytest.mark.parametrize(
    "more", [{}, {"gated": "silu"}, {"groups": 4}, {"epilogue": "relu(acc + column_bias)"}, {"beta": 1.0}]
)
def test_a_problem_is_planned_as_its_arguments_are(more: dict[str, Any]) -> None:
    made, named = la.sweep([Problem.of(64, 64, 64, **more), {"m": 64, "n": 64, "k": 64, **more}])
    assert (made["error"], made) == ("", named)


def test_rows_are_numbers_and_texts_in_the_order_of_the_problems(rows: list[dict[str, Any]]) -> None:
    assert [row["m"] for row in rows[:7]] == [64, 64, 192, 192, 1024, 1024, 64]
    for row in rows:
        assert list(row) == list(COLUMNS)
        assert all(value is None or type(value) in (int, float, str, bool) for value in row.values())
        json.dumps(row)
    assert [bool(row["error"]) for row in rows] == [False] * 6 + [True, False, False, True, False]
    assert "the leading dimension is 50 at least" in rows[6]["error"]
    assert rows[9]["error"] == "no k: a problem has m, n and k"
    assert (rows[10]["tile"].rpartition("x")[0], rows[10]["subgroups"], rows[10]["registers"]) == ("8x16", "2x2", 128)


def test_a_row_says_what_the_plan_says(rows: list[dict[str, Any]]) -> None:
    plan = plan_gemm(1024, 160, 64)
    row = rows[5]
    assert (row["m"], row["n"], row["k"]) == (1024, 160, 64)
    assert row["tile"] == str(plan.tile)
    assert row["dpas"] == plan.dpas_total
    assert row["workgroups"] == plan.grid[0] * plan.grid[1]
    assert row["tflops"] == pytest.approx(2 * 1024 * 160 * 64 / (row["microseconds"] * 1e6))


@pytest.mark.parametrize("pool", [fork, lambda: ThreadPoolExecutor(3)], ids=["processes", "threads"])
def test_every_executor_gives_the_same_rows(pool: Callable[[], Executor], rows: list[dict[str, Any]]) -> None:
    told: list[float] = []
    with pool() as executor:
        assert la.sweep(MIXED, executor, progress=told.append) == rows
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) == len(MIXED)


def test_a_sweep_goes_on_where_it_was(tmp_path: Path, rows: list[dict[str, Any]], monkeypatch: Any) -> None:
    file = tmp_path / "made" / "rows.jsonl"
    assert la.sweep(MIXED[:4], file=file) == rows[:4]
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 5
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])  # the machine stopped in the middle of a row
    planned: list[int] = []
    real = plan_gemm

    def counted(*arguments: Any, **named: Any) -> Any:
        planned.append(1)
        return real(*arguments, **named)

    monkeypatch.setattr("layoutalg.gemm.plan_row.plan_gemm", counted)
    assert la.sweep(MIXED[:6] + MIXED[:1], file=file) == rows[:6] + rows[:1]
    assert len(planned) == 3  # the torn one, and two more
    assert la.sweep(MIXED[:6], file=file) == rows[:6]
    assert len(planned) == 3
    assert file.read_bytes().splitlines(keepends=True)[:4] == lines[:4]
    assert len(file.read_bytes().splitlines()) == 7
    assert la.sweep(MIXED[:1], file=file, llvm=23)[0]["m"] == 64
    assert len(planned) == 4  # another version is another row


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello\n", "not a file of `layoutalg sweep`"),
        (b'{"format": "layoutalg sweep", "version": 1}\n{"key": 3}\n', "line 2: not a row"),
        (b'{"format": "layoutalg sweep", "version": 1}\n' + b"[" * 50000 + b"\n", "line 2: not a row"),
        (b'{"format": "layoutalg sweep", "version": 1}\n\xff\xfe\n', "line 2: not a row"),
        (b"x" * 70000, "a line of over 65536 bytes"),
    ],
)
def test_a_file_that_no_sweep_wrote_is_refused_and_kept(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    with pytest.raises(la.LayoutError, match=message):
        la.sweep(SHAPES, file=file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("problems", "named", "message"),
    [
        ("4096", {}, "problems of type str: expected a list of problems"),
        (7, {}, "problems of type int: expected a list of problems"),
        ([7], {}, "problem 7: expected three sizes"),
        ([(1, 2)], {}, "expected three sizes"),
        ([{"m": 1, "colour": 2}], {}, "problem with 'colour': expected m, n, k"),
        ([], {"executor": 3}, "executor 3: expected an executor of concurrent.futures"),
        ([], {"llvm": 19}, "llvm = 19: kernels are written for"),
    ],
)
def test_bad_input_is_refused_in_words(problems: Any, named: Any, message: str) -> None:
    with pytest.raises(la.PlanError, match=message):
        la.sweep(problems, **named)


def test_hostile_values_have_a_row_each() -> None:
    wrong = [
        {"m": "x", "n": [1, [2]], "k": None},
        {"m": 10**400, "n": 64, "k": 64},
        {"m": -1, "n": 64, "k": 64},
        {"m": 64, "n": 64, "k": 64, "a": "f64"},
        {"m": 64, "n": 64, "k": 64, "target": 7},
        {"m": 64, "n": 64, "k": 64, "tile": "big"},
        {"m": 64, "n": 64, "k": 64, "alpha": float("nan")},
        {"m": 10**9, "n": 10**9, "k": 10**9},
    ]
    found = la.sweep(wrong)
    assert [bool(row["error"]) for row in found] == [True] * len(wrong)
    assert max(len(row["error"]) for row in found) < 2000


# Workers that die. The functions are here so that processes can import them.


def dies_once(task: tuple[int, str]) -> int:
    """Kills its process the first time it is given number 13 and every time it is given 99."""
    number, folder = task
    mark = Path(folder) / "died"
    if number == 99 or (number == 13 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


@pytest.mark.parametrize("fatal", [None, 99])
def test_nothing_is_lost_when_a_worker_dies(fatal: int | None, tmp_path: Path) -> None:
    numbers = [*range(40), *([fatal] if fatal else [])]
    with fork() as pool:
        found = dict(done_by(pool, dies_once, [(number, str(tmp_path)) for number in numbers], batch=4))
    assert sorted(found) == list(range(len(numbers)))
    for place, number in enumerate(numbers):
        if number == 99:
            assert isinstance(found[place], Lost)
            assert "terminated abruptly" in str(found[place])
            assert "(3 tries)" in str(found[place])
        else:
            assert found[place] == number * number


def test_a_worker_that_dies_in_a_sweep_is_said_in_the_row(tmp_path: Path, monkeypatch: Any) -> None:
    real = plan_gemm

    def fatal(m: int, *arguments: Any, **named: Any) -> Any:
        if m == 192:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(m, *arguments, **named)

    monkeypatch.setattr("layoutalg.gemm.plan_row.plan_gemm", fatal)  # forked workers have it too
    file = tmp_path / "rows.jsonl"
    with fork() as pool:
        found = la.sweep(SHAPES, pool, file=file)
    assert [row["error"][:12] for row in found] == ["", "", "not planned:", "not planned:", "", ""]
    monkeypatch.undo()
    assert [row["error"] for row in la.sweep(SHAPES, file=file)] == [""] * 6  # what was lost is tried again


class Refusing(Executor):
    """Takes two batches, and then no more."""

    def __init__(self) -> None:
        self.taken = 0

    def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        if self.taken == 2:
            raise RuntimeError("the cluster is gone")
        self.taken += 1
        future: Future[Any] = Future()
        future.set_result(fn(*arguments, **named))
        return future


def test_an_executor_that_takes_no_work_ends_nothing() -> None:
    found = dict(done_by(Refusing(), str, range(20), batch=5))
    assert [found[number] for number in range(10)] == [str(number) for number in range(10)]
    assert {str(found[number]) for number in range(10, 20)} == {
        "the executor took no work: RuntimeError: the cluster is gone (1 try)"
    }


def test_problems_may_be_a_stream_and_results_come_as_they_are_ready() -> None:
    asked = 0

    def stream() -> Iterator[int]:
        nonlocal asked
        for number in range(100_000):
            asked += 1
            yield number

    with ThreadPoolExecutor(2) as pool:
        results = done_by(pool, str, stream(), batch=1)
        for _ in range(10):
            next(results)
        assert asked < 1000
        with suppress(AttributeError):
            results.close()  # type: ignore[attr-defined]
    assert issubclass(BrokenExecutor, RuntimeError)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_plans_and_survives_the_loss_of_a_worker(rows: list[dict[str, Any]]) -> None:
    distributed = require_module("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        executor = client.get_executor()
        assert la.sweep(MIXED, executor) == rows

        shapes = [(64 * i, 64 * j, 128) for i in range(1, 9) for j in range(1, 9)]
        victim = next(iter(client.run(os.getpid).values()))
        killed: list[float] = []

        def kill_one(part: float) -> None:
            if part > 0.1 and not killed:
                killed.append(time.monotonic())
                os.kill(victim, signal.SIGKILL)

        found = la.sweep(shapes, executor, progress=kill_one)
        assert killed
        assert [(row["m"], row["n"]) for row in found] == [shape[:2] for shape in shapes]
        assert not any(row["error"] for row in found)


def test_the_command_prints_rows_and_says_what_cannot_be_planned(tmp_path: Path, capsys: Any) -> None:
    file, output = tmp_path / "problems.txt", tmp_path / "rows.jsonl"
    file.write_text(
        '# sizes\n4096 4096 4096\n\n{"m": 64, "n": 64, "k": 64, "target": "pvc"}\n{"m": 64, "n": 64, "k": 50, "lda": 40}\n'
    )
    assert main(["sweep", str(file), "--target", "bmg", "-o", str(output), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["rows"]
    assert [row["target"] for row in found] == ["bmg", "pvc", "bmg"]
    assert found[0]["tile"] == "32x64x64"
    assert len(output.read_text().splitlines()) == 4
    assert main(["sweep", str(file), "--target", "bmg", "-o", str(output)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[:3] == ["m", "n", "k"]
    assert "32x64x64" in printed[1]
    assert "the leading dimension is 50 at least" in printed[3]
    file.write_text("64 64 64\n128 128 128\n")
    assert main(["sweep", str(file), "--jobs", "2"]) == 0
    assert capsys.readouterr().out.count("f16 f16 f32") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("64 64\n", "line 1: '64 64': expected three sizes"),
        ("64 64 64\n{broken\n", "line 2: '{broken': not a JSON object"),
        ('{"m": 1, "colour": 2}\n', "line 1: problem with 'colour'"),
        ("# nothing\n", "no problems; expected lines such as 4096 4096 4096"),
        ("64 64 9999999999999999999999\n", "expected three sizes"),
    ],
)
def test_the_command_refuses_other_files_in_one_line(text: str, message: str, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "problems.txt"
    file.write_text(text)
    assert main(["sweep", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err
