"""Decode: what is planned, what is refused, and kernels that compute what is stated."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import LayoutError, PlanError, SizeError
from layoutalg.gemm.attention.decode import Decode
from layoutalg.gemm.attention.decode.numerics import exact, model
from layoutalg.gemm.attention.decode.run import execute
from tests.gemm.attention_runs import same_bits
from tests.gemm.decode_runs import defined, random_arrays, random_plan

TOLERANCE = {"f32": 3e-3, "f16": 3e-3, "bf16": 3e-2}


def run_and_compare(plan: Decode, lengths: list[int], seed: int = 0, spread: float = 1.0) -> None:
    """The kernels give the model's bits, and both are near the exact result (P has 11 or 8 bits)."""
    q, k, v, *table = random_arrays(plan, lengths, seed, spread)
    found = plan.simulate(q, k, v, lengths, *table)
    assert same_bits(found, model(plan, q, k, v, lengths, *table)), plan.problem
    tolerance = TOLERANCE["bf16" if plan.problem.type == "bf16" else plan.problem.out] * spread
    assert np.abs(found.astype(np.float64) - defined(plan.problem, q, k, v, lengths, *table)).max() < tolerance


def test_random_problems_give_the_models_bits() -> None:
    draw = random.Random(28)
    for seed in range(4):
        run_and_compare(*random_plan(draw), seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_more_random_problems_give_the_models_bits(first: int) -> None:
    draw = random.Random(first)
    for seed in range(first, first + 20):
        run_and_compare(*random_plan(draw), seed)


@pytest.mark.parametrize(
    ("case", "lengths"),
    [
        ({"keys": 1, "d": 64}, [1]),
        ({"keys": 1, "d": 64, "parts": 2}, [0]),
        ({"keys": 200, "d": 256, "heads": 9, "kv_heads": 1, "parts": 2}, [199]),  # 16 rows do not fit: 2 subgroups of 8
        ({"keys": 100, "d": 64, "heads": 8, "kv_heads": 1, "queries": 16, "parts": 3}, [50]),  # 8 subgroups
        ({"keys": 100, "d": 64, "heads": 3, "kv_heads": 1, "queries": 16, "parts": 2}, [7]),  # fewer keys than queries
        ({"keys": 2100, "d": 32, "parts": 64, "heads": 2, "kv_heads": 1}, [2100]),  # the second kernel's loop
        ({"keys": 70, "d": 40, "scale": 3.0, "parts": 3, "out": "bf16"}, [70]),
    ],
    ids=str,
)
def test_sizes_of_any_kind_give_the_models_bits(case: dict[str, Any], lengths: list[int]) -> None:
    run_and_compare(la.plan_decode(**case), lengths)


def test_exact_is_the_definition() -> None:
    plan = la.plan_decode(50, 64, heads=4, kv_heads=2, batch=2, queries=3, order="nhd", target="bmg")
    given = random_arrays(plan, [50, 2])
    assert np.allclose(exact(plan, *given, [50, 2]), defined(plan.problem, *given, [50, 2]), rtol=1e-12)


@pytest.mark.parametrize("parts", [1, 5])
def test_an_empty_sequence_gives_0(parts: int) -> None:
    plan = la.plan_decode(100, 64, heads=4, kv_heads=2, batch=2, parts=parts, target="bmg")
    found = plan.simulate(*random_arrays(plan, [0, 33]), [0, 33])
    assert (found[0] == 0).all()
    assert (found[1] != 0).any()


@pytest.mark.parametrize("parts", [1, 3])
def test_scores_far_beyond_2_to_20_are_weighed_by_their_distance(parts: int) -> None:
    """Scores rise by 2^24 and more; what is exact in f32 stays exact: the largest weight is 1, and equal ones are equal."""
    plan = la.plan_decode(96, 64, parts=parts, scale=1.0, target="bmg")
    q, k = np.zeros((1, 1, 1, 64), np.float16), np.zeros((1, 1, 96, 64), np.float16)
    q[..., 0] = 2.0**15
    k[..., 0] = np.arange(96) // 32 * 2.0**10  # scores of 0, 2^25, 2^26
    v = np.broadcast_to(np.arange(96, dtype=np.float16)[:, None], k.shape)
    assert (plan.simulate(q, k, v) == np.arange(64, 96).mean()).all()
    falling = plan.simulate(q, k[:, :, ::-1], v)
    assert (falling == np.arange(32).mean()).all()
    assert (plan.simulate(q, -k, v, [64]) == np.arange(32).mean()).all()


def test_scores_of_minus_infinity_have_no_weight() -> None:
    plan = la.plan_decode(96, 64, parts=3, target="bmg")
    q, k = np.ones((1, 1, 1, 64), np.float16), np.zeros((1, 1, 96, 64), np.float16)
    k[:, :, :50] = -np.inf
    v = np.broadcast_to(np.arange(96, dtype=np.float16)[:, None], k.shape)
    assert np.allclose(plan.simulate(q, k, v), np.arange(50, 96).mean())
    k[...] = -np.inf
    assert (plan.simulate(q, k, v) == 0).all()


def test_a_nan_is_not_hidden() -> None:
    plan = la.plan_decode(96, 64, heads=2, kv_heads=1, parts=2, target="bmg")
    given = random_arrays(plan, [96])
    given[0][0, 1, 0, 3] = np.nan
    found = plan.simulate(*given)
    assert np.isnan(found[0, 1]).all()
    assert np.isfinite(found[0, 0]).all()


def test_the_number_of_parts_changes_rounding_alone() -> None:
    one = la.plan_decode(500, 64, heads=8, kv_heads=2, parts=1, target="bmg")
    given = random_arrays(one, [500])
    found = [replace(one, parts=parts).simulate(*given) for parts in (1, 2, 9, 16)]
    for more in found[1:]:
        assert np.abs(more - found[0]).max() < 1e-3


def test_parts_by_hand() -> None:
    """330 keys are 11 steps; 4 parts have 3, 3, 3 and 2 of them."""
    plan = la.plan_decode(4096, 64, parts=4, target="bmg")
    assert plan.steps_of(330) == (3, 3, 3, 2)
    assert plan.steps_of(33) == (1, 1, 0, 0)
    assert plan.steps_of(4096) == (32, 32, 32, 32)


@pytest.mark.parametrize("parts", [1, 4])
def test_the_simulator_executes_what_is_planned(parts: int) -> None:
    plan = la.plan_decode(200, 96, heads=12, kv_heads=2, batch=2, parts=parts, target="bmg")
    executed = execute(plan, *random_arrays(plan, [200, 200]), counted="messages")[1]
    assert executed is not None
    steps = sum(plan.steps_of(200)) * plan.problem.groups * plan.subgroups
    assert executed.dpas == plan.dpas_total == steps * plan.step.dpas
    loaded = executed.total("load")
    alone = parts * plan.problem.groups * plan.subgroups  # each subgroup reads a length, in every lane
    assert loaded.messages == steps * plan.step.messages + alone
    assert loaded.bytes == steps * plan.step.bytes + alone * 64


def test_more_parts_are_planned_where_the_chip_would_be_idle() -> None:
    alone = la.plan_decode(131072, 128, heads=32, kv_heads=8, target="pvc")
    full = la.plan_decode(131072, 128, heads=32, kv_heads=8, batch=256, target="pvc")
    assert alone.parts > 16 > full.parts
    assert la.plan_decode(64, 128, target="bmg").parts == 1


@pytest.mark.parametrize("target", ["bmg", "pvc"])
@pytest.mark.parametrize("case", [
    {"keys": 32768, "heads": 32, "kv_heads": 8},
    {"keys": 131072, "heads": 8, "kv_heads": 1},
    {"keys": 8192, "heads": 32, "kv_heads": 8, "batch": 16},
    {"keys": 4096, "heads": 16, "batch": 8, "d": 64},
])  # fmt: skip
def test_long_keys_reach_most_of_the_models_bandwidth(case: dict[str, Any], target: str) -> None:
    times = la.plan_decode(**case, target=target).times
    assert times.share >= 0.8
    assert times.bound <= times.seconds


def test_the_bound_is_the_bytes_of_the_matrices_by_hand() -> None:
    """B580 moves 456 GB/s: K and V of 1024 keys, 2 heads of 128, and 8 rows of Q in f16 and O in f32."""
    times = la.plan_decode(1024, 128, heads=8, kv_heads=2, target="bmg").times
    assert times.bound == pytest.approx((2 * 2 * 1024 * 128 * 2 + 8 * 128 * 6) / 456e9)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"keys": 0}, "keys = 0: a size is an integer from 1"),
        ({"keys": 64, "d": 50}, "zeros up to 56 fit"),
        ({"keys": 64, "queries": 17}, "1 to 16 queries"),
        ({"keys": 64, "order": "bhsd"}, "order"),
        ({"keys": 64, "heads": 8, "kv_heads": 3}, "kv_heads of 1, 2, 4, 8 would fit"),
        ({"keys": 64, "target": "dg2"}, "no 2D block messages"),
        ({"keys": 64, "parts": 33}, "64 would fit"),
        ({"keys": 64, "parts": 0}, "parts = 0"),
        ({"keys": 64, "heads": 1024, "kv_heads": 1}, "1024 rows share keys"),
        ({"keys": 101, "d": 40, "heads": 2}, "keys = 104"),
        ({"keys": 101, "d": 40, "heads": 2, "order": "nhd"}, "so would order 'hnd'"),
        ({"keys": 64, "llvm": 22}, "LLVM 23 and 24"),
        ({"keys": 2**24, "batch": 2048, "page": 16, "pages": 9}, "2147483648 entries; kernels count up to 2147483647"),
    ],
    ids=str,
)
def test_what_is_not_planned_is_refused_in_words(case: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=re.escape(words)):
        la.plan_decode(**case)


def test_arrays_and_lengths_are_checked() -> None:
    plan, ones = la.plan_decode(64, 64, batch=2, target="bmg"), np.ones((2, 1, 64, 64))
    q = ones[:, :, :1]
    for lengths, words in (
        ([1, 65], "sequence 1 has 65"),
        ([0.5, 1], "sequence 0 has 0.5"),
        ([-1, 1], "has -1"),
        ([1], "lengths"),
    ):
        with pytest.raises(LayoutError, match=re.escape(words)):
            plan.simulate(q, ones, ones, lengths)
    with pytest.raises(PlanError, match="K is planned as 2x1x64x64"):
        plan.simulate(q, ones[:1], ones)
    with pytest.raises(PlanError, match="V has the value"):
        plan.simulate(q, ones, ones * 1e6)
    with pytest.raises(SizeError, match="dpas"):
        la.plan_decode(2**24, 128, heads=64, target="bmg").simulate(q, ones, ones)


def test_arguments_are_those_of_both_kernels() -> None:
    plan = la.plan_decode(500, 64, heads=8, kv_heads=2, batch=3, parts=4, target="bmg")
    launch = plan.launch
    kernels = re.findall(r"gpu\.func @(\w+)\((.*)\) kernel attributes \{(.*)\} \{", plan.emit())
    assert [name for name, _, _ in kernels] == [one.kernel for one in launch.in_order] == ["decode", "decode_combine"]
    for (_, arguments, attributes), one in zip(kernels, launch.in_order, strict=True):
        names = [
            argument.partition(": ")[0].removeprefix("%").removeprefix("pointer_") for argument in arguments.split(", ")
        ]
        assert names == [argument.name for argument in launch.arguments]
        assert f"known_block_size = array<i32: {one.workgroup[0]}, 1, 1>" in attributes
    assert json.loads(launch.json())["then"][0]["kernel"] == "decode_combine"


def test_the_layouts_agree_and_are_drawn() -> None:
    plan = la.plan_decode(500, 64, target="bmg")
    assert plan.layouts["S"] == plan.layouts["P"]
    assert len(plan.operands()) == 6
