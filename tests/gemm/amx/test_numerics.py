"""The stated numerics, against exact fractions element by element, numpy's integers and f64."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import AmxProblem
from layoutalg.gemm.amx.numerics import accumulated, computed, exact, finished, stated
from layoutalg.gemm.amx.operands import memory_type, random_operands
from tests.simulate.test_amx import manual

Array = NDArray[Any]


def oriented(problem: AmxProblem, given: dict[str, Array]) -> tuple[Array, Array]:
    """A [m, k] and B [k, n]."""
    return given["a"].T if problem.trans_a else given["a"], given["b"].T if problem.trans_b else given["b"]


@pytest.mark.parametrize("scale", [1.0, 2.0**-63])
@pytest.mark.parametrize(("kind", "k"), [("bf16", 70), ("bf16", 33), ("f16", 35)])
def test_sums_are_those_of_one_tile_product_after_the_other(kind: str, k: int, scale: float) -> None:
    """32 of k at a time, each by the manual's loops in exact fractions."""
    problem = AmxProblem.of(3, 2, k, kind, trans_a=k == 33, trans_b=k == 70)
    given = random_operands(problem, 6)
    if kind == "bf16":
        given = {name: (array.astype(np.float32) * scale).astype(array.dtype) for name, array in given.items()}
    a, b = oriented(problem, given)
    a, b = np.pad(a, ((0, 0), (0, k % 2))), np.pad(b, ((0, k % 2), (0, 0)))
    expected = np.zeros((3, 2), np.float32)
    for first in range(0, k, 32):
        expected = manual(a[:, first : first + 32], b[first : first + 32], expected)
    assert (accumulated(problem, given["a"], given["b"]) == expected).all()
    assert expected.any()


@pytest.mark.parametrize("types", [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")])
def test_integers_wrap_at_32_bits(types: tuple[str, str]) -> None:
    problem = AmxProblem.of(2, 3, 40_001, *types, trans_a=True)
    given = random_operands(problem, 7)
    given["a"][:, 0], given["b"][:, 0] = (-128 if types[0] == "s8" else 255), (-128 if types[1] == "s8" else 255)
    a, b = oriented(problem, given)
    total = a.astype(np.int64) @ b.astype(np.int64)
    assert (accumulated(problem, given["a"], given["b"]) == (total & 0xFFFFFFFF).astype(np.uint32).view(np.int32)).all()
    if types == ("u8", "u8"):
        assert total[0, 0] > 2**31


EPILOGUES: tuple[dict[str, Any], ...] = (
    {"a": "bf16", "c": "bf16", "alpha": 0.3, "bias": "row", "activation": "relu"},
    {"a": "bf16", "c": "f16", "beta": -1.5, "bias": "column", "activation": "gelu"},
    {"a": "f16", "c": "f32", "scale": "row", "alpha": 3, "activation": "silu"},
    {"a": "s8", "c": "f32", "scale": "column", "beta": 1, "bias": "row"},
    {"a": "u8", "b": "s8", "c": "s8", "scale": "column", "bias": "column", "activation": "relu"},
    {"a": "s8", "b": "u8", "c": "u8", "scale": "row", "beta": 0.5, "alpha": 2},
)


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_epilogues_are_the_definition_rounded(epilogue: dict[str, Any]) -> None:
    problem = AmxProblem.of(9, 14, 20, **epilogue)
    given = random_operands(problem, 8)
    if problem.c in ("s8", "u8"):
        given["scale"] = given["scale"] / np.float32(256)  # most sums are not clamped
    found, definition = computed(problem, **given), exact(problem, **given)
    assert found.dtype == memory_type(problem.c)
    if problem.c in ("s8", "u8"):
        limits = np.iinfo(found.dtype)
        # A sum that f32 holds inexactly may round to the other of two neighbours.
        assert (np.abs(found.astype(np.float64) - np.clip(definition, limits.min, limits.max)) <= 0.5 + 1e-4).all()
        assert np.unique(found).size > 5
        return
    size = np.abs(definition) + 8
    assert (
        np.abs(found.astype(np.float64) - definition) <= size * {"f32": 2e-6, "bf16": 2**-8, "f16": 2**-10}[problem.c]
    ).all()


def test_bytes_are_rounded_to_even_and_clamped() -> None:
    problem = AmxProblem.of(1, 8, 4, "s8", c="s8", scale="row")
    sums = np.array([[1, 3, 5, -1, -3, 300, -300, 255]], np.int32)
    assert finished(problem, sums, scale=[0.5]).tolist() == [[0, 2, 2, 0, -2, 127, -128, 127]]
    unsigned = AmxProblem.of(1, 8, 4, "s8", c="u8", scale="row")
    assert finished(unsigned, sums, scale=[0.5]).tolist() == [[0, 2, 2, 0, 0, 150, 0, 128]]
    assert finished(unsigned, sums, scale=[np.nan]).tolist() == [[0] * 8]
    assert finished(unsigned, sums * 1000, scale=[1]).tolist() == [[255, 255, 255, 0, 0, 255, 0, 255]]


def test_alpha_and_beta_are_fused() -> None:
    """fma(alpha, x, bias) is rounded once: in exact fractions."""
    problem = AmxProblem.of(1, 50, 4, "bf16", alpha=1 / 3, bias="column")
    random = np.random.default_rng(9)
    sums, bias = random.standard_normal((1, 50)).astype(np.float32), random.standard_normal(50).astype(np.float32)
    alpha = Fraction(float(np.float32(1 / 3)))
    found = finished(problem, sums, bias=bias)
    for column in range(50):
        value = alpha * Fraction(float(sums[0, column])) + Fraction(float(bias[column]))
        nearest = min(
            (np.nextafter(found[0, column], np.float32(end), dtype=np.float32) for end in (-np.inf, np.inf)),
            key=lambda number: abs(Fraction(float(number)) - value),
        )
        assert abs(Fraction(float(found[0, column])) - value) <= abs(Fraction(float(nearest)) - value)


def test_the_order_is_said() -> None:
    assert stated(AmxProblem.of(8, 8, 8)) == (
        "even = fma(a[k], b[k], even), odd = fma(a[k+1], b[k+1], odd) over 32 k; acc = f32(acc + f32(even + odd)); "
        "below 2^-126 is 0",
        "C = acc",
    )
    assert stated(AmxProblem.of(8, 8, 8, "u8", c="u8"))[1] == "x = f32(acc); C = u8(nearest integer of x, clamped)"


def test_what_the_problem_does_not_read_is_refused() -> None:
    problem, ones = AmxProblem.of(4, 4, 4, scale="row"), np.ones((4, 4))
    with pytest.raises(PlanError, match="scale: the plan has one for every row of C; an array of 4 numbers is needed"):
        computed(problem, ones, ones)
    with pytest.raises(PlanError, match="scale is planned as 4"):
        computed(problem, ones, ones, scale=[1, 2])
    with pytest.raises(PlanError, match="problem"):
        computed("4x4x4", ones, ones)  # pyright: ignore[reportArgumentType]
