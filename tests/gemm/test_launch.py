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
from layoutalg.gemm.attention.decode import plan_decode
from layoutalg.gemm.hosts import ROUTES
from layoutalg.gemm.hosts.folder import folder_files, write_folder
from layoutalg.gemm.weights import plan_weights

PLANS: list[Gemm | Attention] = [
    plan_gemm(7, 64, 40, batch=3, bias="column", beta=2.0),
    plan_gemm(64, 64, 64, "s8", "u8", trans_b=True, target="bmg"),
    plan_attention(40, 100, 64, heads=4, kv_heads=2, batch=2, causal=True, target="bmg"),
    plan_gemm(
        8,
        40,
        256,
        tile=(8, 16),
        k_step=32,
        subgroups=(1, 1),
        split_k=3,
        batch=2,
        bias="row",
        beta=0.5,
        reduction="kernel",
    ),
    plan_gemm(37, 29, 51, batch=3, bias="column"),
    plan_gemm(8, 40, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=3, batch=2, bias="row", reduction="last"),
]
NAMES = ["batch", "integers", "attention", "split", "edges", "last"]


@pytest.mark.parametrize("plan", PLANS, ids=NAMES)
def test_arguments_are_those_of_the_kernel(plan: Gemm | Attention) -> None:
    launch, text = plan.launch, plan.emit()
    kernels = re.findall(r"gpu\.func @(\w+)\((.*)\) kernel attributes \{(.*)\} \{", text)
    assert [name for name, _, _ in kernels] == [one.kernel for one in launch.in_order]
    assert launch.in_order[0].kernel == launch.kernel
    kinds = {"pointer": "!llvm.ptr<1>"}
    for (_, arguments, attributes), one in zip(kernels, launch.in_order, strict=True):
        taken = [argument.partition(": ") for argument in arguments.split(", ")]
        assert [kind for _, _, kind in taken] == [kinds.get(one.kind, one.kind) for one in launch.arguments]
        assert [name.removeprefix("%").removeprefix("pointer_") for name, _, _ in taken] == [
            one.name for one in launch.arguments
        ]
        assert f"known_block_size = array<i32: {one.workgroup[0]}, 1, 1>" in attributes
        assert f"intel_reqd_sub_group_size = {launch.subgroup_size} : i32" in attributes
    assert json.loads(launch.json()) == json.loads(json.dumps(launch.as_json()))


def test_memory_by_hand() -> None:
    """Matrices follow each other without a gap; 7 rows of 80 bytes are no multiple of 64, so lanes move A."""
    a, b, c, bias = (one.memory for one in PLANS[0].launch.arguments[:4])
    assert a is not None
    assert (a.stride, a.bytes, a.count, a.use, a.alignment) == (280, 3 * 560, 3, "in", 2)
    assert b is not None
    assert (b.stride, b.bytes, b.alignment) == (40 * 64, 3 * 5120, 64)
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


def test_two_kernels_by_hand() -> None:
    """8 steps of 32 in 3 parts of 2 matrices: 6 matrices of sums of 8 rows of 48 f32. A subgroup adds 8x16 of C."""
    launch = PLANS[3].launch
    assert [one.name for one in launch.arguments[:5]] == ["a", "b", "c", "bias", "workspace"]
    workspace = launch.arguments[4].memory
    assert workspace is not None
    assert (workspace.element, workspace.rows, workspace.columns, workspace.pitch) == ("f32", 8, 40, 48)
    assert (workspace.stride, workspace.count, workspace.bytes) == (8 * 48, 6, 6 * 8 * 48 * 4)
    assert (workspace.use, workspace.alignment) == ("scratch", 64)
    assert (launch.grid, launch.global_size) == ((3, 1, 6), (48, 1, 6))
    assert launch.as_json()["then"] == [
        {"kernel": "gemm_reduce", "grid": (3, 1, 2), "workgroup": (16, 1, 1), "global_size": (48, 1, 2)}
    ]
    assert all(plan.launch.then == () and plan.launch.as_json()["then"] == [] for plan in (*PLANS[:3], PLANS[4]))


def test_the_printed_plan_has_the_second_launch(capsys: pytest.CaptureFixture[str]) -> None:
    """Two parts of 8 x 48 f32 are 3072 bytes."""
    assert main(["gemm", "8", "40", "256", "--split-k", "2", "--reduction", "kernel", "--runners-up", "0"]) == 0
    text = capsys.readouterr().out
    assert re.search(
        r"^ +then +gemm_reduce: 48x1x1 work-items, 16x1x1 in a workgroup, with the same arguments$", text, re.M
    )
    assert re.search(r"^ +workspace +pointer: scratch, 2 x 8x40 f32, pitch 48, stride 384, 3072 bytes", text, re.M)


def test_edges_by_hand() -> None:
    """No row of 51 f16, 29 f16 or 29 f32 is for block messages: matrices lie at any element, one behind the other."""
    a, b, c, bias = (one.memory for one in plan_gemm(37, 29, 51, batch=3, bias="column").launch.arguments[:4])
    assert a is not None
    assert (a.rows, a.columns, a.pitch, a.stride, a.bytes, a.alignment) == (37, 51, 51, 1887, 3 * 1887 * 2, 2)
    assert b is not None
    assert (b.rows, b.columns, b.pitch, b.stride, b.bytes, b.alignment) == (51, 29, 29, 1479, 3 * 1479 * 2, 2)
    assert c is not None
    assert (c.rows, c.columns, c.pitch, c.stride, c.bytes, c.alignment) == (37, 29, 29, 1073, 3 * 1073 * 4, 4)
    assert bias is not None
    assert (bias.columns, bias.bytes, bias.alignment) == (29, 29 * 4, 4)


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


OTHERS: dict[str, Any] = {
    "decode": plan_decode(100, 64, heads=8, kv_heads=2, batch=3, parts=3, target="bmg"),
    "pages": plan_decode(90, 64, heads=8, kv_heads=2, batch=3, order="nhd", page=16, parts=2, target="bmg"),
    "weights": plan_weights(8, 48, 128, group=64, zeros=True),
    "groups": plan_gemm(50, 48, 64, groups=5),
    "gated": plan_gemm(40, 80, 96, gated="silu"),
    "sequences": plan_attention(8, 9, 64, order="bshd", starts_q=(0, 3, 8), starts_k=(0, 9, 9), target="bmg"),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", OTHERS)
def test_every_kind_of_plan_has_every_host(name: str, route: str) -> None:
    text = OTHERS[name].host(route)
    assert all(f'"{one.name}"' in text or f"'{one.name}'" in text for one in OTHERS[name].launch.arguments[:3])
    assert not re.search(r"@[A-Z]+@", text)
    if route == "pyopencl":
        compile(text, "host.py", "exec")


@pytest.mark.parametrize("route", ROUTES)
def test_hosts_launch_both_kernels_and_do_not_look_at_the_workspace(route: str) -> None:
    """The name and the sizes of each kernel in order; the workspace of 6 * 8 * 48 * 4 bytes is no matrix of the host."""
    text = PLANS[3].host(route)
    assert 0 < text.index('"gemm"' if route != "pyopencl" else "'gemm'") < text.index("gemm_reduce")
    first, second = {
        "opencl-c": ("{48, 1, 6}", "{48, 1, 2}"),
        "pyopencl": ("(48, 1, 6)", "(48, 1, 2)"),
        "sycl": ("{6, 1, 48}", "{2, 1, 48}"),
        "level-zero": ("{3, 1, 6}", "{3, 1, 2}"),
    }[route]
    assert 0 < text.index(first) < text.index(second)
    matrices = text[text.index("MATRICES") :]
    names = re.findall(r"""^ +(?:\{"|')(\w+)["'](?:, [A-Z]|: \()""", matrices, re.MULTILINE)
    assert names == ["a", "b", "c", "bias"]
    assert "9216" in text
    assert "gemm_reduce" not in PLANS[0].host(route)
    assert "workspace" not in PLANS[0].host(route)
    result = "RESULT = 2," if route != "pyopencl" else "numbers('c', after)"
    assert result in text
    edges = PLANS[4].host(route)
    assert ("37, 51, 51, 1887, 3, 11322" in edges, "37, 29, 29, 1073, 3, 12876" in edges) == (True, True)


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
    assert "then gemm_reduce: 48x1x2 work-items" in folder_files(PLANS[3], "sycl")["README.md"]


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
