"""Measured times: kept in a file, asked by later plans, and refused where the file is something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import measuring, plan_gemm
from layoutalg.gemm.choices import Choices
from layoutalg.gemm.measuring import (
    Measured,
    Timing,
    fastest,
    measured_by,
    read_measured,
    this_machine,
    top_plans,
    write_measured,
)
from layoutalg.gemm.problem import Problem

_PROBLEM = Problem.of(512, 512, 512, target="bmg")


def stand_in(plan):
    """A chip on which small tiles are fast."""
    return Timing(1e-6 * plan.tiling.tile.m * plan.tiling.tile.n, "stand-in")


def test_a_later_plan_takes_what_was_fastest_on_the_device(tmp_path):
    file = tmp_path / "times.json"
    rows = measured_by(stand_in, top_plans(_PROBLEM, 8))
    write_measured(file, rows)
    assert read_measured(file) == rows
    least = min(rows, key=lambda row: row.seconds)
    assert least.tiling != top_plans(_PROBLEM, 1)[0].tiling
    assert plan_gemm(512, 512, 512, target="bmg", measured=file).tiling == least.tiling
    # another problem, chip or version of LLVM was not measured: the model chooses
    for other in ({"target": "pvc"}, {"llvm": 23}, {"trans_b": True}, {"alpha": 0.5}, {"ldc": 520}):
        options = {"target": "bmg"} | other
        assert plan_gemm(512, 512, 512, **options, measured=file) == plan_gemm(512, 512, 512, **options)
    # what the caller chooses stays
    fixed = plan_gemm(512, 512, 512, target="bmg", registers=256, tile=(32, 64), measured=file)
    assert (fixed.tiling.registers, fixed.tiling.tile.m, fixed.tiling.tile.n) == (256, 32, 64)


def test_times_are_added_and_replaced(tmp_path):
    file = tmp_path / "times.json"
    first, second = measured_by(stand_in, top_plans(_PROBLEM, 2))
    write_measured(file, [first])
    write_measured(file, [second])
    assert read_measured(file) == (first, second)
    slower = Measured(first.problem, first.llvm, first.tiling, 1.0, first.device)
    write_measured(file, [slower])
    assert read_measured(file) == (slower, second)
    elsewhere = Measured(first.problem, first.llvm, first.tiling, 2.0, "another device")
    with pytest.raises(PlanError, match="times of 'stand-in' and 'another device'; keep a file for each device"):
        write_measured(file, [elsewhere])
    assert read_measured(file) == (slower, second)
    with pytest.raises(PlanError, match="keep a file for each device"):
        fastest([slower, elsewhere], _PROBLEM)
    assert fastest(read_measured(file), _PROBLEM) == second
    assert fastest(read_measured(file), _PROBLEM, Choices(split_k=3)) is None


def test_a_gpu_of_another_target_is_refused(tmp_path, monkeypatch):
    row = measured_by(lambda plan: Timing(1e-6, "Intel(R) Data Center GPU Max 1100", "25.1"), top_plans(_PROBLEM, 1))[0]
    file = tmp_path / "times.json"
    write_measured(file, [row])
    assert read_measured(file)[0].driver == "25.1"
    with pytest.raises(
        PlanError, match="Max 1100 runs kernels for pvc, and the plan is for bmg; target 'pvc' is planned"
    ):
        plan_gemm(512, 512, 512, target="bmg", measured=file)
    monkeypatch.setattr(measuring, "_output", lambda *given: "Intel(R) Arc(TM) A770 Graphics\n25.1")
    with pytest.raises(PlanError, match="A770 Graphics runs kernels for dg2"):
        this_machine(top_plans(_PROBLEM, 1)[0])


def test_a_file_without_a_driver_is_of_an_earlier_version(tmp_path):
    file = tmp_path / "times.json"
    write_measured(file, measured_by(stand_in, top_plans(_PROBLEM, 1)))
    held = json.loads(file.read_text())
    del held["rows"][0]["driver"]
    file.write_text(json.dumps(held))
    assert read_measured(file)[0].driver == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "not json",
        "[" * 100_000,
        '{"layoutalg_measured": 2, "rows": []}',
        '{"layoutalg_measured": 1, "rows": {}}',
        '{"layoutalg_measured": 1, "rows": [3]}',
        '{"layoutalg_measured": 1, "rows": [{}]}',
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, text):
    file = tmp_path / "times.json"
    file.write_text(text)
    with pytest.raises(LayoutError, match=r"times\.json"):
        read_measured(file)
    with pytest.raises(LayoutError):
        plan_gemm(64, 64, 64, measured=file)
    with pytest.raises(LayoutError):
        write_measured(file, measured_by(stand_in, top_plans(_PROBLEM, 1)))
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tile", [0, 16, 16]),
        ("tile", [8, 16]),
        ("tile", "8x16"),
        ("tile", [10**9, 16, 16]),
        ("subgroups", [1, 2, 3]),
        ("registers", 64),
        ("prefetch", "all"),
        ("split_k", 10**30),
        ("seconds", -1),
        ("seconds", "1"),
        ("seconds", True),
        ("seconds", float("nan")),
        ("device", 3),
        ("problem", [1]),
        ("llvm", None),
    ],
)
def test_a_wrong_row_is_named(tmp_path, field, value):
    file = tmp_path / "times.json"
    write_measured(file, measured_by(stand_in, top_plans(_PROBLEM, 2)))
    held = json.loads(file.read_text())
    held["rows"][1][field] = value
    file.write_text(json.dumps(held))
    with pytest.raises(LayoutError, match="row 2"):
        read_measured(file)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_device_that_says_nonsense_is_named(seconds):
    with pytest.raises(PlanError, match="broken says"):
        measured_by(lambda plan: Timing(seconds, "broken"), top_plans(_PROBLEM, 1))


def test_the_host_program_is_what_is_asked(monkeypatch):
    """The program prints what is read here; a stand-in takes the place of Python with pyopencl."""
    plan, said = top_plans(_PROBLEM, 1)[0], {"gpu": "Arc B580\n25.2\n", "host": ""}
    monkeypatch.setattr(plan.__class__, "build", lambda self, path: Path(path).write_bytes(b"spv"))

    def run(command, **options):
        program = "gpu" if command[1] == "-c" else "host"
        text = said[program]
        return type("Done", (), {"returncode": 0 if text else 1, "stdout": text, "stderr": "no GPU with OpenCL found"})

    monkeypatch.setattr(measuring.subprocess, "run", run)
    right = "largest error 0 (largest element 3), 64 of 64 elements checked: all right"
    said["host"] = f"Arc B580\n{right}\n0.1250 ms a launch, mean of 10"
    assert this_machine(plan) == Timing(0.000125, "Arc B580", "25.2")
    for wrong in (right, "0.1250 ms a launch, mean of 10", said["host"].replace("all right", "3 WRONG")):
        said["host"] = wrong
        with pytest.raises(PlanError, match="Arc B580 says"):
            this_machine(plan)
    said["gpu"] = ""
    with pytest.raises(PlanError, match="no GPU with OpenCL"):
        this_machine(plan)


def test_the_host_program_prints_what_is_read():
    host = plan_gemm(64, 64, 64).host("pyopencl")
    assert '"all right"' in host
    assert ' ms a launch, mean of {LAUNCHES}"' in host


def test_the_command_line_measures_and_plans(tmp_path, monkeypatch, capsys):
    file = str(tmp_path / "times.json")
    sizes = ["gemm", "512", "512", "512", "--target", "bmg"]
    monkeypatch.setattr(measuring, "this_machine", stand_in)
    assert main([*sizes, "--measure", "5"]) == 2
    assert "--measured FILE" in capsys.readouterr().err
    assert main([*sizes, "--measured", file]) == 2
    capsys.readouterr()
    assert main([*sizes, "--measure", "5", "--measured", file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    least = min(read_measured(file), key=lambda row: row.seconds)
    assert found["measured_seconds"] == least.seconds
    assert found["tile"] == [least.tiling.tile.m, least.tiling.tile.n, least.tiling.tile.k]
    assert main([*sizes, "--measured", file]) == 0
    assert "stand-in" in capsys.readouterr().out
    assert main([*sizes[:-1], "pvc", "--measured", file]) == 0
    assert "has no time for pvc, only for bmg; the model chose" in capsys.readouterr().out
    assert main(["gemm", "64", "64", "64", "--target", "spr", "--measured", file]) == 2


def test_without_a_gpu_the_reason_is_said(capsys, tmp_path):
    """Where a machine has one, it is measured; elsewhere the reason is pyopencl's absence, or the device's."""
    code = main(["gemm", "64", "64", "64", "--measure", "1", "--measured", str(tmp_path / "times.json")])
    said = capsys.readouterr().err
    reasons = ("pyopencl is not installed", "no GPU with OpenCL found", "PLATFORM_NOT_FOUND")
    assert code == (2 if any(reason in said for reason in reasons) else 0)
