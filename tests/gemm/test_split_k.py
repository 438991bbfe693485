"""Work split over k: parts that cover k, sums in the order that is stated, and plans that split where it pays."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.roofline import roofline
from layoutalg.gemm.run import execute

Array = NDArray[Any]


def small_numbers(gemm: Gemm, seed: int) -> tuple[Array, Array, Array | None, Array | None]:
    """Whole numbers so small that every sum is exact in f32."""
    numbers, problem = np.random.default_rng(seed), gemm.problem
    batch = (problem.batch,) if problem.batch > 1 else ()
    of_a, of_b, of_c = ((*batch, one.rows, one.columns) for one in problem.matrices)

    def drawn(shape: tuple[int, ...]) -> Array:
        return numbers.integers(0 if "u8" in (problem.a, problem.b) else -3, 4, shape)

    return (
        drawn(of_a),
        drawn(of_b),
        drawn(of_c) if problem.beta else None,
        drawn((problem.count(problem.bias),)) if problem.bias else None,
    )


def by_numpy(gemm: Gemm, a: Array, b: Array, c: Array | None, bias: Array | None) -> Array:
    """C by its definition, in whole numbers and halves."""
    problem = gemm.problem
    left, right = (a.swapaxes(-1, -2) if problem.trans_a else a), (b.swapaxes(-1, -2) if problem.trans_b else b)
    x = problem.alpha * np.matmul(left, right).astype(np.float64)
    if c is not None:
        x = x + problem.beta * c
    if bias is not None:
        x = x + (bias[:, None] if problem.bias == "row" else bias)
    return np.maximum(x, 0) if problem.activation == "relu" else x


def random_plan(draw: random.Random) -> Gemm | None:
    """A split plan of any size, type and storage; nothing where messages or the number of parts don't fit."""
    a = draw.choice(["f16", "bf16", "tf32", "s8", "u8"])
    whole = a in ("s8", "u8")
    try:
        return plan_gemm(
            draw.randint(1, 40), 64 * draw.randint(1, 2), 64 * draw.randint(1, 6), a,
            trans_b=draw.random() < 0.3, batch=draw.choice([1, 1, 2]),
            alpha=1.0 if whole else draw.choice([1.0, 0.5]), beta=draw.choice([0.0, 1.0]),
            bias=draw.choice([None, "row", "column"]), activation=draw.choice([None, "relu"]),
            tile=draw.choice([(8, 16), (16, 32), (24, 16)]), subgroups=draw.choice([(1, 1), (1, 2), (2, 1)]), k_step=32,
            prefetch=draw.choice(["none", "shared", "lines"]), distance=draw.randint(1, 3),
            split_k=draw.randint(2, 9), reduction=draw.choice(["kernel", "last"]), target=draw.choice(["pvc", "bmg"]),
        )  # fmt: skip
    except PlanError:
        return None


def test_random_products_in_parts_are_those_of_numpy() -> None:
    draw, done = random.Random(28), 0
    while done < 8:
        gemm = random_plan(draw)
        if gemm is None:
            continue
        given = small_numbers(gemm, done)
        found = gemm.simulate(*given)
        assert np.array_equal(found.astype(np.float64), by_numpy(gemm, *given)), f"{gemm.problem}, {gemm.tiling}"
        done += 1


def in_the_order_of_parts(gemm: Gemm, a: Array, b: Array) -> Array:
    """f32 sums as they are stated: a chain for each part, two products of f16 in a link, then the parts in their order."""
    step, steps = gemm.tile.k, -(-gemm.k // gemm.tile.k)
    each = -(-steps // gemm.tiling.split_k) * step
    left, right = a.astype(np.float32), b.astype(np.float32)
    total: Array | None = None
    for begin in range(0, gemm.k, each):
        sums = np.zeros((gemm.m, gemm.n), np.float32)
        for k in range(begin, min(gemm.k, begin + each), 2):
            link = np.multiply.outer(left[:, k], right[k])
            if k + 1 < gemm.k:
                link = link + np.multiply.outer(left[:, k + 1], right[k + 1])
            sums = sums + link
        total = sums if total is None else total + sums
    assert total is not None
    return total


@pytest.mark.parametrize(("k", "parts"), [(256, 2), (328, 3), (336, 11), (200, 4)])
def test_parts_are_added_in_their_order_bit_for_bit(k: int, parts: int) -> None:
    gemm = plan_gemm(8, 64, k, tile=(8, 16), k_step=32, subgroups=(1, 2), split_k=parts, prefetch="shared")
    numbers = np.random.default_rng(k)
    a, b = (numbers.standard_normal(shape).astype(np.float16) for shape in ((8, k), (k, 64)))
    found, executed = execute(gemm, a, b, counted="messages")
    assert found.tobytes() == in_the_order_of_parts(gemm, a, b).tobytes()
    assert executed is not None
    assert executed.dpas == gemm.dpas_total


def test_one_binary_serves_a_k_that_leaves_parts_empty() -> None:
    """Sizes are arguments: launched for 64 of k, five of eight parts begin behind it and add 0."""
    long = plan_gemm(8, 64, 512, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=8, prefetch="shared")
    short = replace(long, problem=replace(long.problem, k=96, lda=96))
    a, b = np.arange(8 * 96).reshape(8, 96) % 5, np.arange(96 * 64).reshape(96, 64) % 7
    assert np.array_equal(short.simulate(a, b, text=long.emit()), a @ b)


def test_sizes_as_constants_compute_the_same() -> None:
    gemm = plan_gemm(8, 64, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=4)
    a, b = np.arange(8 * 256).reshape(8, 256) % 5, np.arange(256 * 64).reshape(256, 64) % 7
    assert np.array_equal(gemm.simulate(a, b, text=gemm.emit(static=True)), a @ b)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("arith.minsi", "arith.maxsi"),  # a part runs to the end of k
        ("%begin = arith.muli", "%begin = arith.addi"),
        ("arith.remui %z, ", "arith.divui %z, "),
        ("%sum = arith.addf %part, %part_1", "%sum = arith.addf %part, %part"),
        ("%pitch = arith.andi", "%pitch = arith.ori"),
        ("%length = arith.subi %end, %begin", "%length = arith.addi %end, %begin"),
    ],
)
def test_a_mistake_in_the_split_shows(right: str, wrong: str) -> None:
    gemm = plan_gemm(
        8,
        64,
        256,
        tile=(8, 16),
        k_step=32,
        subgroups=(1, 1),
        split_k=4,
        prefetch="shared",
        distance=2,
        reduction="kernel",
    )
    text = gemm.emit()
    assert text.count(right) >= 1, right
    a, b = np.arange(8 * 256).reshape(8, 256) % 5, np.arange(256 * 64).reshape(256, 64) % 7
    try:
        found = gemm.simulate(a, b, text=text.replace(right, wrong, 1))
    except LayoutError:
        return
    assert not np.array_equal(found, a @ b)


@pytest.mark.parametrize(("target", "least"), [("bmg", 0.95), ("pvc", 0.8)])
def test_a_deep_product_of_a_small_c_is_split_and_near_the_bound_of_memory(target: str, least: float) -> None:
    gemm = plan_gemm(64, 64, 65536, target=target)
    assert gemm.tiling.split_k > 1
    best = gemm.candidates.best
    alone = la.plan_gemm(64, 64, 65536, target=target, split_k=1)
    assert alone.tiling.split_k == 1
    matrices = 2 * (64 + 64) * 65536 + 4 * 64 * 64
    line = roofline(gemm.problem, gemm.tiling, best.instructions)
    seconds = matrices / (line.chip.memory_bandwidth * 1e9)
    assert least < seconds / line.seconds < 1


@pytest.mark.parametrize("target", ["bmg", "pvc"])
def test_one_token_through_a_large_matrix_is_near_the_bound_of_memory(target: str) -> None:
    for m in (1, 16):
        gemm = plan_gemm(m, 4096, 4096, target=target)
        best = gemm.candidates.best
        line = roofline(gemm.problem, gemm.tiling, best.instructions)
        least = 2 * (m * 4096 + 4096 * 4096) + 4 * m * 4096
        assert least / (line.chip.memory_bandwidth * 1e9) > 0.8 * line.seconds


def test_large_products_are_not_split() -> None:
    for size in ((4096, 4096, 4096), (2048, 2048, 2048), (4096, 14336, 4096)):
        for target in ("bmg", "pvc"):
            assert plan_gemm(*size, target=target).tiling.split_k == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"split_k": 0}, "split_k"),
        ({"split_k": 65}, "from 1 to 64"),
        ({"split_k": 3, "k_step": 32}, "split_k = 2 would do"),
        ({"split_k": 2, "acc": "f16", "c": "f16"}, "accumulators are f16"),
    ],
)
def test_a_split_that_does_not_fit_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        plan_gemm(64, 64, 128, **given)


def test_other_levels_are_refused_with_what_has_them() -> None:
    with pytest.raises(PlanError, match="level 'lane' has it; split_k = 1 has every level"):
        plan_gemm(64, 64, 4096, split_k=4).emit("workgroup")


def test_steps_are_chosen_that_make_the_parts_asked_for() -> None:
    """4096 is 64 steps of 64, of which 3 a part are 22 parts; of 128 steps of 32 5 a part are 26."""
    gemm = plan_gemm(8, 64, 4096, "bf16", target="ptl", split_k=26)
    assert gemm.tile.k == 32
    assert gemm.grid[2] == 26
