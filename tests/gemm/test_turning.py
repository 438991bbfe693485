"""A transposed A that workgroups transpose in shared memory: places, plans, and C with the bits of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.split_k import computed_by
from layoutalg.gemm.tiling import Tile, Tiling
from layoutalg.gemm.turning import turned_by
from tests.gemm.random_operands import operands, same_bits


def turned(m: int, n: int, k: int, a: str = "f16", transpose: str = "slm", **options: Any) -> Gemm:
    return plan_gemm(m, n, k, a, trans_a=True, transpose=transpose, **options)


CASES: tuple[tuple[tuple[int, int, int], dict[str, Any]], ...] = (
    ((64, 64, 64), {"tile": (32, 16), "subgroups": (1, 1), "k_step": 32}),
    ((72, 200, 136), {"target": "bmg", "tile": (32, 32), "k_step": 64, "subgroups": (2, 2), "prefetch": "shared"}),
    ((72, 200, 136), {"tile": (24, 16), "k_step": 64, "subgroups": (2, 3), "prefetch": "none", "lda": 96}),
    ((32, 48, 4), {"a": "bf16", "c": "bf16", "tile": (8, 16), "k_step": 64, "subgroups": (2, 1)}),
    ((40, 48, 80), {"a": "bf16", "c": "bf16", "bias": "row", "alpha": 0.3, "beta": 1.7, "activation": "silu"}),
    ((112, 208, 144), {"a": "s8", "b": "u8", "bias": "column", "beta": 1, "tile": (32, 32), "subgroups": (2, 4)}),
    ((96, 80, 200), {"a": "u8", "batch": 2, "tile": (16, 16), "subgroups": (2, 1), "k_step": 64, "ldb": 128}),
    ((64, 48, 96), {"acc": "f16", "c": "f32", "prefetch": "shared", "distance": 2, "llvm": 23}),
)


@pytest.mark.parametrize("way", ["slm", "scratch"])
@pytest.mark.parametrize(("size", "options"), CASES, ids=str)
def test_c_has_the_bits_of_the_model(size: tuple[int, int, int], options: dict[str, Any], way: str) -> None:
    gemm = turned(*size, transpose=way, **options)
    assert gemm.tiling.transpose == way
    given = operands(gemm)
    found = gemm.simulate(*given)
    assert same_bits(found, computed_by(gemm, *given))
    assert same_bits(found, gemm.simulate(*given, text=gemm.emit(static=True)))


@pytest.mark.parametrize("way", ["slm", "scratch"])
@pytest.mark.parametrize("size", [(72, 40, 33), (40, 136, 200), (200, 72, 64)])
def test_the_sums_are_those_of_numpy(size: tuple[int, int, int], way: str) -> None:
    gemm = turned(*size, transpose=way, tile=(16, 32), subgroups=(2, 2), k_step=64)
    m, n, k = size
    a, b = np.arange(k * m).reshape(k, m) % 7 - 3, np.arange(k * n).reshape(k, n) % 5 - 2
    assert (gemm.simulate(a, b) == a.T @ b).all()


SHARES = [
    ("f16", Tile(32, 64, 64), (8, 4)),
    ("s8", Tile(32, 64, 128), (8, 4)),
    ("s8", Tile(32, 64, 128), (4, 8)),
    ("f16", Tile(24, 16, 64), (2, 3)),
]


@pytest.mark.parametrize(("kind", "tile", "grid"), SHARES)
def test_every_row_of_every_operand_has_a_place_of_its_own(kind: str, tile: Tile, grid: tuple[int, int]) -> None:
    problem = Problem.of(4096, 4096, 4096, kind, trans_a=True)
    share = turned_by(problem, Tiling(tile, grid, 256, transpose="slm"))
    blocks = tile.m * grid[0] // 8
    places = {share.place((i, d), r) for i in range(blocks) for d in range(share.deep) for r in range(8)}
    assert places == set(range(0, share.buffer_bytes, 32))
    bits = 16 if kind == "f16" else 8
    assert share.buffer_bytes == tile.m * grid[0] * tile.k * bits // 8
    assert grid[0] * grid[1] * share.abreast * 512 == tile.m * grid[0] * tile.k


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "s8"])
def test_large_products_take_this_way_by_themselves(kind: str, chip: str) -> None:
    gemm: Gemm = plan_gemm(4096, 4096, 4096, kind, trans_a=True, target=chip)
    step = counted(gemm.problem, gemm.tiling)
    assert gemm.tiling.transpose == "slm"
    assert step.per_dpas < (2.3 if chip == "bmg" else 3.4)
    assert {message.operand for message in gemm.messages} == {"B"}
    assert gemm.candidates.best.instructions == step.total
    assert [argument.name for argument in gemm.launch.arguments][:4] == ["a", "b", "c", "m"]


@pytest.mark.parametrize("options", [{"a": "tf32"}, {"m": 68}, {"m": 16, "n": 16}, {"trans_b": True, "n": 68}])
def test_others_keep_their_way(options: dict[str, Any]) -> None:
    chosen: dict[str, Any] = {"m": 64, "n": 64, "k": 64, "trans_a": True, **options}
    gemm: Gemm = plan_gemm(**chosen)
    assert gemm.tiling.transpose == "registers"


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"trans_a": False}, "where A alone lies transposed"),
    ({"a": "tf32"}, "operands of 16 and of 8 bits"),
    ({"m": 68}, "lanes move A element by element"),
    ({"tile": (32, 64), "registers": 128}, "registers"),
    ({"tile": (32, 32), "subgroups": (8, 1), "k_step": 64}, "would transpose 4 blocks"),
    ({"tile": (32, 64), "subgroups": (32, 1), "k_step": 16}, "two operands along k"),
    ({"tile": (8, 64), "subgroups": (1, 1), "k_step": 32}, "no whole number"),
    ({"tile": (32, 64), "prefetch": "lines"}, "blocks of B"),
    ({"split_k": 2}, "split_k = 2 with transpose slm"),
    ({"llvm": 22}, "LLVM 22 lowers no message as large"),
)


@pytest.mark.parametrize(("options", "words"), REFUSED, ids=str)
def test_what_workgroups_cannot_transpose_is_refused_with_a_reason(options: dict[str, Any], words: str) -> None:
    chosen: dict[str, Any] = {"m": 512, "n": 512, "k": 512, "trans_a": True, "transpose": "slm", **options}
    with pytest.raises(PlanError, match=words):
        plan_gemm(**chosen)


def test_another_version_of_llvm_refuses_what_it_cannot_lower() -> None:
    assert plan_gemm(4096, 4096, 4096, trans_a=True, llvm=22).tiling.transpose == "registers"
    with pytest.raises(PlanError, match="LLVM 22 lowers no message"):
        turned(512, 512, 512).emit(llvm=22)


def test_a_scratch_is_one_more_pointer() -> None:
    gemm = turned(512, 512, 64, transpose="scratch", tile=(32, 64), subgroups=(8, 4), k_step=64, batch=3)
    [workspace] = [one.memory for one in gemm.launch.arguments if one.name == "workspace"]
    assert workspace is not None
    assert (workspace.count, workspace.rows, workspace.columns) == (12, 512, 64)
    assert workspace.bytes == gemm.workspace_bytes == 12 * 65536
    assert (gemm.launch.then, gemm.reduction_grid) == ((), (0, 0, 0))
    assert "workspace" in gemm.host("opencl-c")


def test_the_report_says_what_it_takes() -> None:
    from layoutalg.show.gemm import gemm_report

    plan = turned(512, 512, 512, tile=(32, 64), subgroups=(8, 4), k_step=64)
    report = gemm_report(plan, runners_up=1).as_json()
    assert (report["transpose"], report["shared_bytes"]) == ("slm", 65536)
    assert plan.bytes_per_step == 4 * 2048 + 1024
    assert "memref<65536xi8, 3 : i64>" in plan.emit()
    assert len(plan.picture().scene().words) > 10
    other = replace(plan, tiling=replace(plan.tiling, transpose="registers"))
    assert other.bytes_per_step == 4 * 2048 + 4096
