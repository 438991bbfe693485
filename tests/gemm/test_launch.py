"""The value that a host asks: against the kernel's text, by hand, and the texts of hosts and folders."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from layoutalg.cli import main
from layoutalg.core.errors import PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.hosts import ROUTES
from layoutalg.gemm.hosts.folder import folder_files, write_folder

PLANS: list[Gemm | Attention] = [
    plan_gemm(7, 64, 40, batch=3, bias="column", beta=2.0),
    plan_gemm(64, 64, 64, "s8", "u8", trans_b=True, target="bmg"),
    plan_attention(40, 100, 64, heads=4, kv_heads=2, batch=2, causal=True),
]


@pytest.mark.parametrize("plan", PLANS, ids=["batch", "integers", "attention"])
def test_arguments_are_those_of_the_kernel(plan: Gemm | Attention) -> None:
    launch, text = plan.launch, plan.emit()
    found = re.search(r"gpu\.func @(\w+)\((.*)\) kernel", text)
    assert found is not None
    assert found[1] == launch.kernel
    taken = [argument.partition(": ") for argument in found[2].split(", ")]
    kinds = {"pointer": "!llvm.ptr<1>"}
    assert [kind for _, _, kind in taken] == [kinds.get(one.kind, one.kind) for one in launch.arguments]
    assert [name.removeprefix("%").removeprefix("pointer_") for name, _, _ in taken] == [
        one.name for one in launch.arguments
    ]
    assert f"known_block_size = array<i32: {launch.workgroup[0]}, 1, 1>" in text
    assert f"intel_reqd_sub_group_size = {launch.subgroup_size} : i32" in text
    assert json.loads(launch.json()) == json.loads(json.dumps(launch.as_json()))


def test_memory_by_hand() -> None:
    """A row of 40 f16 is 80 bytes, so every fourth row begins at a multiple of 64: 7 rows take 8, 320 elements."""
    a, b, c, bias = (one.memory for one in PLANS[0].launch.arguments[:4])
    assert a is not None
    assert (a.stride, a.bytes, a.count, a.use) == (320, 3 * 640, 3, "in")
    assert b is not None
    assert (b.stride, b.bytes) == (40 * 64, 3 * 5120)
    assert c is not None
    assert (c.element, c.stride, c.use) == ("f32", 7 * 64, "in and out")
    assert bias is not None
    assert (bias.element, bias.columns, bias.bytes) == ("f32", 64, 256)
    signed, unsigned, sums = (one.memory for one in PLANS[1].launch.arguments[:3])
    assert signed is not None
    assert unsigned is not None
    assert sums is not None
    assert (signed.element, unsigned.element, sums.element) == ("s8", "u8", "s32")
    _, keys, _, _ = (one.memory for one in PLANS[2].launch.arguments[:4])
    assert keys is not None
    assert (keys.count, keys.stride, keys.bytes) == (4, 6400, 4 * 12800)


@pytest.mark.parametrize("level", ["subgroup", "workgroup"])
def test_other_levels_take_numbers(level: str) -> None:
    gemm = plan_gemm(64, 64, 64)
    assert "%a: i64" in gemm.emit(level)
    with pytest.raises(PlanError, match="pointers at level"):
        gemm.emit(level, pointers=True)
    assert gemm.emit(pointers=False).count("\n") == gemm.emit().count("\n") - 3


@pytest.mark.parametrize("route", ROUTES)
def test_hosts_have_no_placeholder_left_and_are_ascii(route: str) -> None:
    for plan in PLANS:
        text = plan.host(route)
        assert text.isascii()
        assert not re.search(r"@[A-Z]+@", text)
        if route == "pyopencl":
            compile(text, "host.py", "exec")


@pytest.mark.parametrize("wrong", ["opencl", "", None, 3, ["sycl"]])
def test_other_routes_are_refused(wrong: Any) -> None:
    with pytest.raises(PlanError, match="expected"):
        PLANS[0].host(wrong)


@pytest.mark.parametrize("path", ["@file", "@file.spv", "-o.spv"])
def test_a_path_is_a_path(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is given the name, so nothing reads options from a file, or takes the name for an option."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("--help")
    (tmp_path / "file.spv").write_text("--help")
    try:
        made = PLANS[0].build(path)
    except PlanError as problem:
        assert "ends with .spv" in str(problem) or "is not installed" in str(problem)
    else:
        assert (tmp_path / path).read_bytes()[:4] == b"\x03\x02\x23\x07"
        assert made.bytes == (tmp_path / path).stat().st_size


def test_what_is_another_s_is_not_overwritten(tmp_path: Path) -> None:
    notes = tmp_path / "notes.spv"
    notes.write_text("my notes")
    with pytest.raises(PlanError, match="is not a kernel"):
        PLANS[0].build(notes)
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(PlanError, match="not written by layoutalg"):
        write_folder(PLANS[0], "pyopencl", tmp_path)
    assert (tmp_path / "Makefile").read_text() == "all:\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["Makefile", "notes.spv"]


def test_a_folder_is_written_twice(tmp_path: Path) -> None:
    for _ in range(2):
        names, _ = write_folder(PLANS[2], "opencl-c", tmp_path / "made")
        assert set(folder_files(PLANS[2], "opencl-c")) <= set(names)
    assert len((tmp_path / "made" / "README.md").read_text().splitlines()) <= 12


def test_the_command_line_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["gemm", "64", "64", "64", "--runners-up", "0"]
    assert main([*sizes, "--host", "pyopencl"]) == 2
    assert "needs -o FOLDER" in capsys.readouterr().err
    assert main([*sizes, "--host", "pyopencl", "-o", str(tmp_path), "--emit", "workgroup"]) == 2
    assert "level 'lane'" in capsys.readouterr().err
    assert main([*sizes, "--host", "pyopencl", "-o", str(tmp_path / "f"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["launch"]["arguments"][0]["memory"]["element"] == "f16"
    assert said["files"][:2] == ["gemm.mlir", "host.py"]
