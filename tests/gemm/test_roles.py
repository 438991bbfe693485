"""Both operands transposed: the loop computes C^T, and C has the bits that it has otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.split_k import computed_by
from tests.gemm.random_operands import operands, same_bits

BOTH: dict[str, Any] = {"trans_a": True, "trans_b": True}


def roles(m: int, n: int, k: int, a: str = "f16", **options: Any) -> Gemm:
    return plan_gemm(m, n, k, a, **BOTH, transpose="roles", **options)


CASES: tuple[tuple[tuple[int, int, int], dict[str, Any]], ...] = (
    ((64, 64, 64), {}),
    ((72, 200, 136), {"target": "bmg", "tile": (32, 16), "k_step": 32, "subgroups": (2, 2), "prefetch": "shared"}),
    ((136, 40, 72), {"tile": (64, 32), "k_step": 64, "prefetch": "lines", "lda": 160, "ldb": 96}),
    ((40, 48, 80), {"a": "bf16", "c": "bf16", "bias": "row", "alpha": 0.3, "beta": 1.7, "activation": "silu"}),
    ((40, 48, 80), {"c": "f16", "bias": "column", "beta": -1.0, "batch": 3, "activation": "relu"}),
    ((80, 72, 96), {"a": "s8", "b": "u8", "bias": "column", "beta": 1}),
    ((80, 72, 96), {"a": "u8", "c": "f32", "bias": "row", "alpha": 0.25}),
    ((40, 48, 80), {"a": "tf32", "bias": "row", "llvm": 22}),
    ((40, 48, 80), {"a": "bf16", "c": "bf16", "bias": "column", "llvm": 22}),
    ((40, 48, 80), {"a": "f16", "acc": "f16", "c": "f32", "beta": 2.0}),
)


@pytest.mark.parametrize(("size", "options"), CASES, ids=str)
def test_c_has_the_bits_of_the_model_and_of_the_other_way(size: tuple[int, int, int], options: dict[str, Any]) -> None:
    gemm = roles(*size, **options)
    given = operands(gemm)
    found = gemm.simulate(*given)
    assert same_bits(found, computed_by(gemm, *given))
    tiling = replace(gemm.tiling, transpose="registers", prefetch="none")
    if gemm.tile.n % 16 == 0:
        assert same_bits(found, replace(gemm, tiling=tiling).simulate(*given))
    assert same_bits(found, gemm.simulate(*given, text=gemm.emit(static=True)))


def test_the_sums_are_those_of_numpy() -> None:
    gemm = roles(104, 56, 72)
    a, b = np.arange(72 * 104).reshape(72, 104) % 7 - 3, np.arange(56 * 72).reshape(56, 72) % 5 - 2
    assert (gemm.simulate(a, b) == a.T @ b.T).all()


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
def test_a_large_product_changes_roles_by_itself_and_has_the_loop_of_a_plain_one(chip: str) -> None:
    gemm, plain = plan_gemm(4096, 4096, 4096, target=chip, **BOTH), plan_gemm(4096, 4096, 4096, target=chip)
    assert gemm.tiling.transpose == "roles"
    step, other = (counted(one.problem, one.tiling) for one in (gemm, plain))
    assert step == other
    assert (gemm.loop.m, gemm.loop.tile.m) == (gemm.n, gemm.tile.n)
    assert {message.load.transpose for message in gemm.messages} == {False}
    assert [message.operand for message in gemm.messages if message.load.transform] == ["A"] * 4


@pytest.mark.parametrize("options", [{"trans_a": True}, {"trans_b": True}, {}])
def test_other_products_are_planned_as_before(options: dict[str, Any]) -> None:
    gemm: Gemm = plan_gemm(512, 512, 512, **options)
    assert gemm.tiling.transpose == "registers"


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"trans_b": False}, "where both lie transposed"),
    ({"n": 68}, r"n = 68 is no multiple of that; n = 72 would do"),
    ({"k": 50}, "block messages reach all matrices"),
    ({"split_k": 2}, "split_k = 2 with transpose roles"),
    ({"tile": (24, 16)}, "24 is no multiple of 16"),
    ({"transpose": "roles, please"}, "transpose"),
)


@pytest.mark.parametrize(("options", "words"), REFUSED, ids=str)
def test_what_cannot_change_roles_is_refused_with_a_reason(options: dict[str, Any], words: str) -> None:
    chosen: dict[str, Any] = {"m": 64, "n": 64, "k": 128, **BOTH, "transpose": "roles", **options}
    with pytest.raises(PlanError, match=words):
        plan_gemm(**chosen)


@pytest.mark.parametrize("options", [{"n": 68}, {"k": 50}, {"tile": (24, 16)}, {"split_k": 2}])
def test_without_a_choice_they_keep_their_way(options: dict[str, Any]) -> None:
    chosen: dict[str, Any] = {"m": 64, "n": 64, "k": 128, **BOTH, **options}
    gemm: Gemm = plan_gemm(**chosen)
    assert gemm.tiling.transpose == "registers"


def test_the_launch_is_that_of_the_product() -> None:
    gemm = roles(72, 200, 136, tile=(32, 16), subgroups=(2, 1), bias="row")
    assert gemm.grid == (13, 2, 1)
    launch = gemm.launch
    assert [argument.name for argument in launch.arguments][:5] == ["a", "b", "c", "bias", "m"]
    assert launch.arguments[4].value == 72
    assert [argument.memory and argument.memory.columns for argument in launch.arguments[:4]] == [72, 136, 200, 72]


def test_the_report_names_the_matrices_as_they_are_given() -> None:
    from layoutalg.show.gemm import gemm_report

    plan = roles(128, 192, 64, tile=(64, 32), subgroups=(1, 1), k_step=32, registers=256)
    report = gemm_report(plan, runners_up=1).as_json()
    assert json.loads(json.dumps(report))["transpose"] == "roles"
    assert report["fragments"]["A"]["block"] == (16, 16)
    assert {message["operand"] for message in report["messages"] if "transform" in message["name"]} == {"A"}
    assert len(plan.picture().scene().words) > 10
