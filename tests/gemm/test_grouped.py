"""Grouped products: several products of any heights in one launch, against each of them alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.grouped import place, random_starts
from layoutalg.gemm.numerics import computed, random_inputs
from tests.gemm.mutating import made, mutants, named, setting, skipping
from tests.gemm.random_operands import same_bits

Array = NDArray[Any]
SMALL: dict[str, Any] = {"tile": (8, 16), "subgroups": (2, 1), "k_step": 32, "prefetch": "none"}


@pytest.mark.parametrize("tall", [8, 32, 256])
def test_every_row_of_every_group_has_one_place_of_the_grid(tall: int) -> None:
    rng = np.random.default_rng(tall)
    for groups in (1, 2, 7, 40):
        starts = np.sort(rng.integers(0, 500, groups + 1))
        starts[groups // 2] = starts[groups // 2 + 1]  # an empty group
        rows: list[int] = []
        for y in range(500 // tall + groups):
            group, first = place(y, starts.tolist(), tall)
            if first is not None:
                rows += range(first, min(first + tall, starts[group + 1]))
        assert rows == list(range(starts[0], starts[-1]))


def alone(plan: Gemm, starts: list[int], a: Array, b: Array, bias: Array, scale: Array) -> list[Array]:
    """Each group as a plan of its own, of the same arithmetic."""
    found: list[Array] = []
    n = plan.n
    for group, (first, end) in enumerate(pairwise(starts)):
        if first == end:
            continue
        one = plan_gemm(end - first, n, plan.k, epilogue=plan.problem.epilogue)
        mine = slice(group * n, (group + 1) * n)
        found.append(one.simulate(a[first:end], b[group], None, bias[mine], None, scale[mine]))
    return found


@pytest.mark.parametrize("starts", [[0, 13, 13, 14, 50], [3, 3, 40, 45, 47], [0, 0, 0, 0, 50], [0, 50, 50, 50, 50]])
def test_groups_are_the_same_products_alone_and_other_rows_are_not_touched(starts: list[int]) -> None:
    plan = plan_gemm(50, 24, 40, groups=4, epilogue="relu(acc * scale + bias)", **SMALL)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((50, 40)), rng.standard_normal((4, 40, 24))
    bias, scale = rng.standard_normal(96), rng.standard_normal(96)
    found = plan.simulate(a, b, None, bias, None, scale, starts=starts)
    expected = alone(plan, starts, a.astype(np.float16), b.astype(np.float16), bias, scale)
    assert same_bits(found[starts[0] : starts[-1]], np.concatenate(expected))
    assert np.isnan(found[: starts[0]]).all()
    assert np.isnan(found[starts[-1] :]).all()


def check(plan: Gemm, seed: int, starts: list[int] | None = None) -> None:
    rng = np.random.default_rng(seed)
    given = random_inputs(plan.problem, rng)
    some = random_starts(plan.problem, rng) if starts is None else np.array(starts)
    found, model = plan.simulate(*given, starts=some), computed(plan.problem, *given, starts=some)
    assert same_bits(found, model), f"{plan.problem}, {plan.tiling}, {some.tolist()}"


PLANS: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((100, 64, 64), {"groups": 5, "tile": (16, 32), "subgroups": (2, 2), "k_step": 32, "prefetch": "shared"}),
    ((100, 64, 96), {"groups": 3, "tile": (16, 16), "subgroups": (2, 2), "k_step": 32, "prefetch": "lines"}),
    ((77, 50, 49), {"groups": 7, "gated": "silu", "target": "bmg"}),
    ((64, 48, 64), {"groups": 8, "trans_b": True, "gated": "gelu", "a": "bf16", "c": "bf16", "beta": 0.0}),
    ((40, 32, 64), {"groups": 6, "a": "s8", "c": "f16", "scale": "both", "bias": "column"}),
    ((40, 32, 64), {"groups": 1, "bias": "row", "beta": 1.0}),
    ((9, 32, 32), {"groups": 33, "llvm": 22}),
]


@pytest.mark.parametrize(("size", "more"), PLANS, ids=str)
def test_kernels_compute_what_the_model_says(size: tuple[int, int, int], more: dict[str, Any]) -> None:
    check(plan_gemm(*size, **more), 7)


def test_random_groups_compute_what_the_model_says() -> None:
    rng = np.random.default_rng(11)
    for number in range(24):
        m, n, k, groups = (int(size) for size in rng.integers(1, (90, 60, 60, 14)))
        more: dict[str, Any] = {"trans_b": bool(number % 2), "target": ("pvc", "bmg")[number // 2 % 2]}
        if number % 3 == 0:
            more |= {"lda": -(-k // 64) * 64, "ldb": -(-max(n, k) // 64) * 64, "ldc": -(-n // 64) * 64}
        more |= ({}, {"bias": "column", "activation": "relu"}, {"gated": "silu", "ldb": None})[number % 3]
        check(plan_gemm(m, n, k, ("f16", "bf16", "tf32")[number // 3 % 3], groups=groups, **more), number)


def test_one_plan_serves_every_distribution() -> None:
    """Empty groups at both ends, everything in one group, nothing at all, one row each."""
    plan = plan_gemm(32, 32, 32, groups=4, **SMALL)
    for starts in ([0, 0, 0, 32, 32], [0, 32, 32, 32, 32], [5, 5, 5, 5, 5], [0, 0, 0, 0, 0], [28, 29, 30, 31, 32]):
        check(plan, 1, starts)


def test_launch_and_grid() -> None:
    plan = plan_gemm(1000, 64, 64, groups=5, tile=(16, 32), subgroups=(2, 1), bias="column")
    assert plan.grid == (2, 1000 // 32 + 5, 1)
    named_ = {one.name: one.memory for one in plan.launch.arguments if one.memory is not None}
    assert list(named_) == ["a", "b", "c", "bias", "starts"]
    assert (named_["b"].count, named_["b"].stride, named_["b"].bytes) == (5, 4096, 5 * 8192)
    assert (named_["starts"].element, named_["starts"].columns, named_["bias"].columns) == ("s32", 6, 5 * 64)
    assert [one.name for one in plan.launch.arguments if one.memory is None][-1] == "stride_b"
    assert plan.launch.as_json()["arguments"][4]["memory"]["bytes"] == 24


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        (None, "the plan has 4 groups; 5 numbers are needed"),
        ([0, 1, 2], "starts is planned as 5"),
        ([0, 3, 2, 4, 5], "none below the one before"),
        ([0, 1, 2, 3, 99], "from 0 to m = 32"),
        ([-1, 1, 2, 3, 4], "from 0 to m = 32"),
        ([0, 1.5, 2, 3, 4], "from 0 to m = 32"),
        ("abcde", "numbers are needed|starts"),
    ],
)
def test_other_starts_are_refused(starts: Any, said: str) -> None:
    plan = plan_gemm(32, 32, 32, groups=4)
    with pytest.raises(LayoutError, match=said):
        plan.simulate(np.zeros((32, 32)), np.zeros((4, 32, 32)), starts=starts)
    with pytest.raises(LayoutError, match="the plan has no groups"):
        plan_gemm(8, 32, 32).simulate(np.zeros((8, 32)), np.zeros((32, 32)), starts=[0, 8])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"batch": 2}, "planned as one of 8 groups"),
        ({"trans_a": True}, "trans_a with groups"),
        ({"split_k": 2}, "gated and grouped products are not split"),
        ({"groups": 0}, "groups = 0"),
        ({"groups": 5000}, "groups = 5000"),
        ({"groups": "8"}, "groups"),
        ({"target": "gnr"}, "groups = 4: planned for GPUs"),
        ({"transpose": "roles"}, "transpose roles"),
    ],
)
def test_what_is_not_planned_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        plan_gemm(64, 64, 256, **{"groups": 4, **more})


def test_other_levels_refuse_groups() -> None:
    with pytest.raises(PlanError, match="groups: level 'lane' has it"):
        plan_gemm(64, 64, 64, groups=2).emit("workgroup")


def _of_search(operations: list[Any]) -> Any:
    """Mistakes in the search for a group: a start of another, nothing added, a choice that is always the same.

    Some change no meaning and are left out: a start is read that a minsi leaves out here, of six groups; a workgroup without
    rows goes through all of k, where it reads and stores nothing (the rows it has are compared with the end of the group).
    """
    end = next(number for number, one in enumerate(operations) if one.name == "scf.for")
    before = operations[:end]
    for which, load in enumerate(loads := named(before, "llvm.load")):
        for other in loads[:which]:
            if load.operands[0] is not other.operands[0]:
                yield f"start {which}: another one's", setting(load, 0, other.operands[0])
    for name in ("arith.addi", "arith.muli", "arith.subi", "arith.divui"):
        for which, one in enumerate(named(before, name)):
            if str(one.results[0].type) == "i32":
                if not all("start" in (value.name_hint or "") for value in one.operands):
                    yield f"{name} {which}: the first alone", skipping(one, 0)
                yield f"{name} {which}: the second alone", skipping(one, 1)
    for which, one in enumerate(named(before, "arith.select")):
        if one.operands[1].name_hint != "k":
            yield f"choice {which}: always the second", skipping(one, 2)
            yield f"choice {which}: always the first", skipping(one, 1)


def caught(plan: Gemm, text: str, runs: list[tuple[tuple[Any, ...], list[int], Array]]) -> bool:
    for given, starts, wanted in runs:
        try:
            if not same_bits(plan.simulate(*given, starts=starts, text=text), wanted):
                return True
        except LayoutError:
            return True
    return False


@pytest.mark.parametrize(
    ("of_kernels", "of_search"), [(4, 8), pytest.param(24, 40, marks=pytest.mark.exhaustive)], ids=str
)
def test_mistakes_are_caught(of_kernels: int, of_search: int) -> None:
    """With several distributions: an error in the search may not show where all groups are alike."""
    plan = plan_gemm(60, 40, 72, groups=6, lda=96, ldb=96, ldc=48, c="f16", bias="column", **SMALL)
    given = random_inputs(plan.problem, np.random.default_rng(0))
    runs: list[tuple[tuple[Any, ...], list[int], Array]] = []
    for starts in ([0, 17, 17, 18, 40, 59, 60], [0, 0, 0, 33, 33, 60, 60], [9, 9, 10, 20, 31, 31, 31], [0] * 7):
        runs.append((given, starts, computed(plan.problem, *given, starts=starts)))
        assert same_bits(plan.simulate(*given, starts=starts), runs[-1][2])
    some = [*mutants(plan.emit(), of_kernels), *made(plan.emit(), _of_search, of_search)]
    assert len(some) > of_search
    assert [one.mistake for one in some if not caught(plan, one.text, runs)] == []
