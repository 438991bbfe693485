"""Edge kernels: products whose matrices no block message reaches have the bits of the stated arithmetic, at any size."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.counting import counted
from layoutalg.gemm.numerics import computed
from layoutalg.gemm.problem import Problem
from layoutalg.show.gemm import gemm_report
from tests.gemm.random_operands import operands, same_bits
from tests.gemm.random_products import random_product


def check(seed: int) -> None:
    product = random_product(seed)
    gemm = product.plan()
    given = operands(gemm)
    assert same_bits(gemm.simulate(*given), computed(gemm.problem, *given)), product


@pytest.mark.parametrize("seed", range(12))
def test_random_products_have_the_bits_of_the_model(seed: int) -> None:
    check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(12, 500))
def test_hundreds_of_random_products_have_the_bits_of_the_model(seed: int) -> None:
    check(seed)


NAMED: tuple[tuple[tuple[int, int, int], dict[str, Any], list[str]], ...] = (
    ((4095, 1000, 333), {}, ["A"]),
    ((64, 1, 64), {}, ["B", "C"]),
    ((64, 8, 64), {}, ["B", "C"]),
    ((64, 64, 8), {}, ["A"]),
    ((64, 64, 64), {"ldb": 65}, ["B"]),
    ((64, 64, 64), {"ldc": 65}, ["C"]),
    ((1, 1, 1), {}, ["A", "B", "C"]),
)  # fmt: skip


@pytest.mark.parametrize(("sizes", "options", "edges"), NAMED)
def test_only_matrices_that_need_it_are_moved_by_lanes(
    sizes: tuple[int, int, int], options: dict[str, Any], edges: list[str]
) -> None:
    gemm = plan_gemm(*sizes, **options)
    assert list(gemm.problem.edges) == edges
    text = gemm.emit()
    assert {message.operand for message in gemm.messages} == set("AB") - set(edges)
    assert ("xegpu.store_nd" in text) == ("C" not in edges)
    assert ("xegpu.load_nd" in text) == bool(gemm.messages)


def test_a_batch_of_contiguous_matrices_is_multiplied_as_numpy_does() -> None:
    """G1: the second matrix of 72 elements begins 288 bytes behind the first."""
    gemm = plan_gemm(1, 64, 72, "tf32", batch=3)
    assert gemm.problem.strides == gemm.arguments[-3:] == (72, 72 * 64, 64)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((3, 1, 72), (3, 72, 64)))
    assert np.array_equal(gemm.simulate(a, b), a @ b)


def test_text_and_json_say_why_and_how_far_matrices_are_apart() -> None:
    facts = gemm_report(plan_gemm(1, 64, 72, "tf32", batch=3), runners_up=0).as_json()
    assert list(facts["edges"]) == ["A"]
    assert "lda = 80 would fit" in facts["edges"]["A"]
    assert facts["strides"] == {"A": 72, "B": 4608, "C": 64}
    assert facts["alignments"] == {"A": 4, "B": 64, "C": 64}
    assert facts["padded_seconds"] < facts["roofline"]["seconds"]
    assert gemm_report(plan_gemm(64, 64, 64), runners_up=0).as_json()["edges"] == {}


def test_a_refused_prefetch_names_the_pitch() -> None:
    """G8: nobody asked for a tile; the rows of B are 96 bytes apart."""
    with pytest.raises(PlanError, match=r"prefetch lines: B is 160x48 bf16: its rows are 96 bytes apart.*ldb = 64"):
        plan_gemm(40, 48, 160, "bf16", prefetch="lines")
    with pytest.raises(PlanError, match=r"prefetch shared: lanes load A, .* prefetch none would do.*lda = 56"):
        plan_gemm(64, 64, 50, prefetch="shared")


def test_other_levels_say_which_matrix_lanes_move() -> None:
    with pytest.raises(PlanError, match=r"level 'workgroup': lanes move A element by element.*lda = 56 would fit"):
        plan_gemm(64, 64, 50).emit("workgroup")


def test_the_model_prices_the_loads_of_lanes() -> None:
    fine, slow = (
        plan_gemm(512, 512, 512, tile=(16, 32), k_step=16, prefetch="none", lda=pitch) for pitch in (512, 513)
    )
    steps = [counted(gemm.problem, gemm.tiling) for gemm in (fine, slow)]
    assert steps[1].loads == steps[0].loads - 1 + 16
    assert steps[1].total > 3 * steps[0].total
    assert slow.emit().count("xegpu.load %") == 16


SAID_TO_FIT: tuple[tuple[tuple[int, int, int], dict[str, Any], str], ...] = (
    ((79, 81, 32), {"batch": 2}, "C"),
    ((89, 105, 45), {"a": "s8", "batch": 2}, "B"),
    ((64, 65, 100), {"batch": 7}, "A"),
    ((8, 8, 3), {"batch": 3}, "B"),
    ((64, 64, 64), {"lda": 2**24 - 1}, "A"),
    ((2**24 - 1, 64, 64), {"a": "s8", "trans_a": True}, "A"),
    ((64, 64, 64), {"a": "s8", "trans_a": True, "lda": 2**24 - 1}, "A"),
)  # fmt: skip


@pytest.mark.parametrize(("sizes", "options", "name"), SAID_TO_FIT)
def test_what_is_said_to_fit_does(sizes: tuple[int, int, int], options: dict[str, Any], name: str) -> None:
    why = Problem.of(*sizes, **options).edges[name]
    number = int(re.findall(r"(\d+)(?: columns)? would fit", why)[0])
    m, n, k = sizes
    if "columns would fit" not in why:
        options = options | {f"ld{name.lower()}": number}
    elif name == "A":
        m, k = (number, k) if options.get("trans_a") else (m, number)
    else:
        n = number
    assert name not in Problem.of(m, n, k, **options).edges, why
