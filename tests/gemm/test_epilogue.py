"""Epilogues against the problem's formula in f64, on numbers for which every step is exact up to the rounding to C's type."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.numerics import computed
from layoutalg.gemm.split_k import computed_by
from tests.gemm.random_operands import Operands, operands, same_bits
from tests.gemm.running import DTYPES, exactly, inputs, reals, run

RAGGED: dict[str, Any] = {"m": 37, "n": 40, "k": 48, "ldc": 48}
SMALL: dict[str, Any] = {"tile": (16, 32), "subgroups": (1, 2), "k_step": 32, "registers": 128, "prefetch": "none"}


@pytest.mark.parametrize("bias", [None, "row", "column"])
@pytest.mark.parametrize(("alpha", "beta"), [(1, 0), (0.5, 0), (1, 1), (-2, 1), (1, 0.25), (0.5, -2)])
@pytest.mark.parametrize("activation", [None, "relu"])
def test_sums_and_products_are_those_of_the_formula(
    bias: str | None, alpha: float, beta: float, activation: str | None
) -> None:
    gemm = plan_gemm(**RAGGED, alpha=alpha, beta=beta, bias=bias, activation=activation, **SMALL)
    given = inputs(gemm)
    assert np.array_equal(run(gemm, given)[0], exactly(gemm, given)[0])


@pytest.mark.parametrize("activation", ["gelu", "silu"])
@pytest.mark.parametrize("bias", ["row", "column"])
def test_activations_are_within_the_error_of_exp_and_a_division(activation: str, bias: str) -> None:
    gemm = plan_gemm(**RAGGED, alpha=0.125, beta=0.5, bias=bias, activation=activation, **SMALL)
    given = inputs(gemm)
    found, expected = run(gemm, given), exactly(gemm, given)
    assert np.allclose(found, expected, rtol=2e-6, atol=1e-9)
    assert np.ptp(expected) > 3  # both sides of the curve are there


CONVERSIONS = [
    ("f16", "f32", "f16"), ("f16", "f32", "bf16"), ("bf16", "f32", "bf16"), ("bf16", "f32", "f32"), ("f16", "f16", "f32"),
    ("f16", "f16", "f16"),
]  # fmt: skip


@pytest.mark.parametrize(("element", "acc", "c"), CONVERSIONS)
@pytest.mark.parametrize(("bias", "llvm"), [("row", 22), ("row", 24), ("column", 22), (None, 22), (None, 24)])
def test_the_result_is_rounded_once_to_the_type_of_c(
    element: str, acc: str, c: str, bias: str | None, llvm: int
) -> None:
    alpha, beta = (1, 0) if bias is None else (1 + 2**-12, 1)
    gemm = plan_gemm(**RAGGED, a=element, acc=acc, c=c, bias=bias, beta=beta, alpha=alpha, llvm=llvm, **SMALL)
    given = inputs(gemm, seed=3)
    exact = exactly(gemm, given)
    expected = exact.astype(np.float32).astype(DTYPES[c])
    assert np.array_equal(run(gemm, given), expected)
    assert (expected != exact).any() == (bias is not None and c != "f32")


@pytest.mark.parametrize("alpha", [1.0, 1.2345678])
def test_bf16_by_integers_for_llvm_22_rounds_to_even_and_keeps_nan_and_infinity(alpha: float) -> None:
    """Products of two f16 with the halves between two bf16, large ones that become infinite, and both infinities."""
    gemm = plan_gemm(8, 512, 32, c="bf16", alpha=alpha, llvm=22, tile=(8, 16), subgroups=(1, 1), k_step=16)
    assert "bf16" not in gemm.emit("lane")
    given = inputs(gemm)
    a, b = np.zeros_like(given.a), np.zeros_like(given.b)
    a[0, :, 0] = [1, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-7, np.inf, -np.inf, np.nan, 2**-14]
    b[0, 0, :] = np.random.default_rng(0).uniform(0.5, 2, 512)
    b[0, 0, ::2] = 1
    with np.errstate(invalid="ignore"):
        expected = np.float32(alpha) * (a[0, :, :1].astype(np.float32) * b[0, :1, :].astype(np.float32))
    found = run(gemm, type(given)(a, b, given.c, None))[0]
    assert np.array_equal(found.astype(np.float32), expected.astype(DTYPES["bf16"]).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("bias", [None, "row", "column"])
def test_integers_stay_integers(bias: str | None) -> None:
    gemm = plan_gemm(37, 80, 64, "s8", bias=bias, beta=1, activation="relu", tile=(16, 16), k_step=32)
    given = inputs(gemm)
    assert np.array_equal(run(gemm, given)[0], exactly(gemm, given)[0])


@pytest.mark.parametrize(("alpha", "beta", "activation"), [(0.5, 0, None), (1, 0.5, None), (1, 0, "gelu")])
def test_fractions_in_integers_are_refused_with_what_would_fit(alpha: float, beta: float, activation: Any) -> None:
    with pytest.raises(PlanError, match="c = 'f32', 'f16' or 'bf16' takes the others"):
        plan_gemm(64, 64, 64, "s8", alpha=alpha, beta=beta, activation=activation)


@pytest.mark.parametrize("scale", ["row", "column", "both"])
def test_scales_of_integers_are_refused_with_what_would_fit(scale: str) -> None:
    with pytest.raises(
        PlanError, match=f"c = 's32' with scale = '{scale}'.*c = 'f32', 'f16' or 'bf16' takes the others"
    ):
        plan_gemm(64, 64, 64, "s8", scale=scale)


def test_every_matrix_of_a_batch_has_its_own_place() -> None:
    gemm = plan_gemm(24, 48, 40, batch=3, bias="column", beta=1, lda=48, ldc=56, tile=(16, 16), k_step=16)
    given = inputs(gemm)
    assert np.array_equal(run(gemm, given), exactly(gemm, given))


def test_no_product_feeds_a_sum_that_a_compiler_could_contract() -> None:
    """A sum or difference whose operand is a product may become one fma, with other bits."""
    ends = (
        ("relu", None),
        ("gelu", None),
        ("silu", None),
        (None, None),
        ("gelu", "both"),
        ("silu", "row"),
        (None, "column"),
        ("relu", "both"),
    )
    for bias, alpha, beta, (activation, scale) in product((None, "row"), (1, 0.3), (0, 1, 0.7), ends):
        choices: dict[str, Any] = {"bias": bias, "alpha": alpha, "beta": beta, "activation": activation, "scale": scale}
        gemm = plan_gemm(64, 64, 64, **choices, tile=(8, 16))
        products: set[str] = set()
        for line in gemm.emit("lane").splitlines():
            result, _, operation = line.strip().partition(" = ")
            if operation.startswith("arith.mulf"):
                products.add(result)
            if operation.startswith(("arith.addf", "arith.subf")):
                used = set(operation.partition(" ")[2].partition(" :")[0].split(", "))
                assert not used & products


def test_factors_that_f32_cannot_hold_are_refused() -> None:
    with pytest.raises(PlanError, match="f32"):
        plan_gemm(64, 64, 64, alpha=1e300)


MODELLED: list[dict[str, Any]] = [
    {"alpha": 0.3, "beta": 1.7, "bias": "row", "activation": "gelu"},
    {"alpha": 0.3, "beta": 1, "bias": "column", "activation": "silu", "c": "f16"},
    {"alpha": -1.1, "beta": 0.7, "c": "bf16", "a": "bf16", "activation": "relu"},
    {"alpha": -1.1, "beta": 0.7, "bias": "row", "c": "bf16", "a": "bf16", "llvm": 22},
    {"acc": "f16", "beta": 0.3, "c": "f32", "bias": "column"},
]


@pytest.mark.parametrize("choices", MODELLED, ids=str)
def test_the_bits_are_those_of_the_stated_numerics(choices: dict[str, Any]) -> None:
    """Random reals: every product, sum and conversion rounds."""
    more: dict[str, Any] = RAGGED | SMALL | choices
    gemm = plan_gemm(**more)
    given = reals(gemm)
    model = computed(gemm.problem, given.a[0], given.b[0], given.c[0] if gemm.problem.beta else None, given.bias)
    assert np.array_equal(run(gemm, given)[0], model)


def scaled_reference(gemm: Gemm, given: Operands) -> Any:
    """What the documentation says, step by step in numpy's f32; an fma is a sum of an exact product in long double."""

    def fma(x: Any, y: Any, z: Any) -> Any:
        wide = x.astype(np.longdouble) * y.astype(np.longdouble) + z.astype(np.longdouble)
        return wide.astype(np.float32)

    problem, one = gemm.problem, np.float32
    x = (given.a.astype(np.int64) @ given.b.astype(np.int64)).astype(one)
    scales = [
        scale.reshape(shape)
        for scale, shape in ((given.row_scale, (-1, 1)), (given.column_scale, (1, -1)))
        if scale is not None
    ]
    last = scales.pop() if problem.alpha == 1 and (problem.bias or problem.beta == 1) else None
    for scale in scales:
        x = x * scale
    bias = given.bias
    if bias is not None:
        added = bias.astype(one).reshape((-1, 1) if problem.bias == "row" else (1, -1))
        x = fma(one(problem.alpha) if last is None else last, x, added)
    if problem.beta:
        assert given.c is not None
        before = given.c.astype(one)
        x = fma(last, x, before) if last is not None and bias is None else fma(one(problem.beta), before, x)
    x = np.where(x < 0, one(0), x) if problem.activation == "relu" else x
    return x.astype(DTYPES[problem.c])


SCALED: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((37, 40, 64), {"scale": "both", "c": "f16", "bias": "column", "activation": "relu"}),
    ((37, 40, 64), {"scale": "both", "c": "bf16", "b": "u8", "ldc": 48}),
    ((9, 17, 33), {"scale": "both", "bias": "row", "beta": 1}),
    ((24, 48, 64), {"scale": "row", "beta": 1, "llvm": 22}),
    ((24, 48, 64), {"scale": "column", "alpha": 0.3, "bias": "column", "beta": 0.7, "c": "bf16", "llvm": 22}),
    ((20, 64, 256), {"scale": "both", "c": "f16", "bias": "row", "split_k": 2, "tile": (8, 16)}),
]


@pytest.mark.parametrize(("size", "choices"), SCALED, ids=str)
def test_scales_have_the_bits_of_the_steps_in_numpy(size: tuple[int, int, int], choices: dict[str, Any]) -> None:
    m, n, k = size
    more: dict[str, Any] = {"a": "s8", "c": "f32", **SMALL, **choices}
    gemm = plan_gemm(m, n, k, **more)
    given = operands(gemm)
    found, expected = gemm.simulate(*given), scaled_reference(gemm, given)
    assert same_bits(found, expected)
    assert same_bits(computed_by(gemm, *given), expected)


def test_scales_belong_to_every_matrix_of_a_batch_and_follow_the_bias_among_the_arguments() -> None:
    gemm = plan_gemm(24, 48, 64, "s8", c="f16", batch=2, scale="both", bias="row", **SMALL)
    names = [argument.name for argument in gemm.launch.arguments if argument.kind == "pointer"]
    assert names == ["a", "b", "c", "bias", "row_scale", "column_scale"]
    rows, columns = (argument.memory for argument in gemm.launch.arguments[4:6])
    assert rows is not None
    assert columns is not None
    assert (rows.element, rows.columns, rows.bytes, rows.alignment) == ("f32", 24, 96, 4)
    assert (columns.element, columns.columns, columns.bytes, columns.use) == ("f32", 48, 192, "in")
    given = operands(gemm)
    both = gemm.simulate(*given)
    for z in range(2):
        one = plan_gemm(24, 48, 64, "s8", c="f16", scale="both", bias="row", **SMALL)
        assert same_bits(one.simulate(given.a[z], given.b[z], *given[2:]), both[z])


def test_a_scale_that_is_missing_or_not_planned_is_said() -> None:
    ones = np.ones((64, 64))
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "row_scale: the plan has one for every row of C; an array of 64 numbers is needed"),
        ({"row_scale": np.ones(63)}, "row_scale is planned as 64, and the array is 63"),
        (
            {"row_scale": np.ones(64), "column_scale": np.ones(64)},
            "column_scale: the plan has none; plan with scale='column' or",
        ),
    )
    for given, words in cases:
        with pytest.raises(PlanError, match=words):
            plan_gemm(64, 64, 64, scale="row").simulate(ones, ones, **given)
    for level in ("workgroup", "subgroup"):
        with pytest.raises(PlanError, match="level 'lane' has scales"):
            plan_gemm(64, 64, 64, scale="row").emit(level)
    with pytest.raises(PlanError, match="scale 'all': expected 'row', 'column' or 'both'"):
        plan_gemm(64, 64, 64, scale="all", target="amx")
