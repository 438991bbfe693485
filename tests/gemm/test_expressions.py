"""Epilogues as expressions: what is read, what is refused, what the options are short for, and what kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import Problem, plan_gemm
from layoutalg.gemm.evaluating import evaluated
from layoutalg.gemm.expressions import NAMES, inputs_of, planned, read_epilogue, transposed
from layoutalg.gemm.split_k import computed_by
from layoutalg.gemm.weights import plan_weights, quantise
from layoutalg.gemm.weights.numerics import computed as computed_with_weights
from tests.gemm.mutating import mutants
from tests.gemm.random_operands import operands, same_bits

Array = NDArray[Any]
SMALL: dict[str, Any] = {"tile": (8, 16), "subgroups": (1, 2), "k_step": 32, "prefetch": "none"}


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


MEANINGS: dict[str, Callable[..., Array]] = {
    "acc": lambda acc, **_: acc,
    "relu(acc*scale+bias)": lambda acc, column_scale, column_bias, **_: np.maximum(acc * column_scale + column_bias, 0),
    "gelu(acc * row_scale - row_bias) + residual": lambda acc, row_scale, row_bias, residual, **_: (
        gelu(acc * row_scale - row_bias) + residual
    ),
    "residual - acc * 2 / 4": lambda acc, residual, **_: residual - acc / 2,
    "-(acc - -residual)": lambda acc, residual, **_: -acc - residual,
    "silu(acc) * sigmoid(bias) / 3": lambda acc, column_bias, **_: acc * sigmoid(acc) * sigmoid(column_bias) / 3,
    "clamp(acc, -0.5, residual)": lambda acc, residual, **_: np.minimum(np.maximum(acc, -0.5), residual),
    "max(acc, min(residual, 1e-1)) * tanh(exp(acc))": lambda acc, residual, **_: (
        np.maximum(acc, np.minimum(residual, 0.1)) * np.tanh(np.exp(acc))
    ),
    "acc * 2 - residual * 3 + .5": lambda acc, residual, **_: acc * 2 - residual * 3 + 0.5,
    "acc - (residual - acc) - (1 - 3)": lambda acc, residual, **_: acc - (residual - acc) + 2,
    "2 / acc / (residual / acc)": lambda acc, residual, **_: 2 / acc / (residual / acc),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_an_expression_means_what_python_says(text: str) -> None:
    rng = np.random.default_rng(1)
    values: dict[str, Array] = {name: rng.standard_normal(500) for name in NAMES}
    expected = MEANINGS[text](**values)
    node = planned(text)
    assert np.allclose(evaluated(node, values, np.float64), expected, rtol=1e-12, atol=1e-14)
    found = evaluated(node, {name: one.astype(np.float32) for name, one in values.items()}, np.float32)
    assert found.dtype == np.float32
    assert np.allclose(found, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("text", MEANINGS)
def test_an_expression_is_read_as_it_is_printed(text: str) -> None:
    node = read_epilogue(text)
    assert read_epilogue(str(node)) == node
    assert planned(str(node)) == planned(text)
    assert transposed(transposed(str(node))) == str(node)


@pytest.mark.parametrize(
    "number", ["0.1", "16777217.00001", "3.40282347e38", "1e-45", "1e-400", "123456789.5", ".3333333333"]
)
def test_a_number_is_printed_with_all_that_counts(number: str) -> None:
    """16777217.00001 is nearer to the f32 16777218; with 9 digits it would be halfway to 16777216, and round there."""
    made = plan_gemm(8, 16, 16, epilogue=f"acc + {number}").problem.epilogue
    assert made is not None
    assert float(made.removeprefix("acc + ")) == float(number)


REFUSED = {
    "": "has the end",
    "acc +": "column 6 has the end; expected a number, a name or a parenthesis",
    "acc bias": "column 5 has 'bias'; expected + - * / or the end",
    "relu acc": "column 6 has 'acc'; expected ( behind relu",
    "relu(acc, 1)": "relu of 2; expected relu of 1 number",
    "clamp(acc, 1)": "clamp of 2; expected clamp of 3 numbers",
    "min(acc,)": "column 9 has ')'",
    "gelu(acc": "expected )",
    "acc + beta": "has 'beta'; expected acc, acc2, residual",
    "acc ** 2": "column 6 has '*'",
    "acc.real": "column 4 has '.'",
    "__import__('os') + acc": "column 12 has",
    "acc if acc else 1": "column 5 has 'if'",
    "bias": "has no acc",
    "acc + bias + row_bias": "has row_bias and column_bias",
    "acc * 1e40": "has 1e40",
    "acc * 3.4028236e38": "whose largest is 3.4028235e38",
    "acc * (1 / 0)": "is no number of f32",
    "acc * (3e38 * 2)": "is no number of f32",
    "(" * 60 + "acc" + ")" * 60: "at most 24 parentheses",
    "gelu(" * 12 + "acc" + ")" * 12: "more than 1000 steps",
    "acc" + " + 1" * 400: "at most 400",
    "acc + ٣": "column 7",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_other_texts_are_refused_with_the_place(text: str) -> None:
    with pytest.raises(PlanError) as refused:
        plan_gemm(64, 64, 64, epilogue=text)
    assert REFUSED[text] in str(refused.value), str(refused.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"alpha": 2.0}, "alpha = 2.0 with an epilogue"),
        ({"beta": 1.0}, "beta = 1.0 with an epilogue"),
        ({"bias": "row"}, "write row_bias"),
        ({"activation": "relu"}, "activation = 'relu' with an epilogue"),
        ({"a": "s8"}, "c = 's32' with epilogue"),
        ({"target": "spr"}, "expressions are for GPUs"),
        ({"epilogue": 3}, "epilogue is of type int"),
    ],
)
def test_what_does_not_go_with_an_expression_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        plan_gemm(64, 64, 64, **{"epilogue": "acc * 2", **more})


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"activation": "relu"}, "relu(acc)"),
    ({"alpha": 0.3, "bias": "row", "activation": "gelu"}, "gelu(0.3 * acc + row_bias)"),
    ({"scale": "both", "bias": "column", "activation": "silu"}, "silu(acc * row_scale * scale + bias)"),
    ({"beta": 0.5, "bias": "column"}, "0.5 * residual + (acc + bias)"),
    ({"scale": "row", "beta": 1}, "acc * row_scale + residual"),
]


@pytest.mark.parametrize(("options", "text"), OPTIONS)
def test_options_are_short_for_an_expression(options: dict[str, Any], text: str) -> None:
    """The same numbers are read, and the same bits come out."""
    short, said = (plan_gemm(24, 32, 48, c="bf16", **SMALL, **more) for more in (options, {"epilogue": text}))
    given = operands(short)
    assert short.parameters == said.parameters
    assert same_bits(short.simulate(*given), said.simulate(*given))


def random_text(rng: np.random.Generator, deep: int = 4) -> str:
    """A random expression with all names, signs and functions."""
    kind = rng.integers(0, 10) if deep else 0
    more = [random_text(rng, deep - 1) for _ in range(3 if deep else 0)]
    if kind < 3:
        names = ("acc", "acc", "residual", "row_bias", "row_scale", "scale", "0.5", "3", "-2.25")
        return str(rng.choice(names))
    if kind < 7:
        return f"({more[0]} {rng.choice(list('+-*/'))} {more[1]})"
    if kind < 8:
        return f"-{more[0]}"
    if kind < 9:
        return f"{rng.choice(['relu', 'gelu', 'silu', 'sigmoid', 'tanh', 'exp'])}({more[0]})"
    return str(rng.choice([f"min({more[0]}, {more[1]})", f"max({more[0]}, {more[1]})", f"clamp({', '.join(more)})"]))


def test_random_expressions_compute_what_the_model_says() -> None:
    rng = np.random.default_rng(5)
    done = 0
    while done < 40:
        text = f"acc + {random_text(rng)}" if done % 2 else random_text(rng)
        try:
            c = ("f32", "f16", "bf16")[done % 3]
            m, n, k = (int(size) for size in rng.integers(1, 40, 3))
            plan = plan_gemm(m, n, k, c=c, epilogue=text, tile=(8, 16), subgroups=(1, 1))
        except PlanError as refused:  # only for what the grammar does not have
            assert any(
                said in str(refused) for said in ("has no acc", "is no number of f32", "1000 steps", "characters")
            ), refused
            continue
        given = operands(plan)
        found = plan.simulate(*given)
        assert same_bits(found, computed_by(plan, *given)), plan.problem
        done += 1


def test_weights_and_split_and_exchanged_products_take_expressions() -> None:
    text = "silu(acc + row_bias) * 2"
    roles = plan_gemm(32, 32, 64, trans_a=True, trans_b=True, lda=32, ldb=64, transpose="roles", epilogue=text)
    split = plan_gemm(24, 32, 96, tile=(8, 16), k_step=16, split_k=2, epilogue=text)
    for plan in (roles, split):
        given = operands(plan)
        assert same_bits(plan.simulate(*given), computed_by(plan, *given))
    rng = np.random.default_rng(0)
    weighed = plan_weights(8, 32, 64, group=32, epilogue=text)
    a, weights, bias = rng.standard_normal((8, 64)), quantise(rng.standard_normal((64, 32)), group=32), np.arange(8)
    wanted = computed_with_weights(weighed.problem, a, weights, bias=bias)
    assert same_bits(weighed.simulate(a, weights, bias=bias), wanted)


@pytest.mark.parametrize("level", ["subgroup", "workgroup"])
def test_other_levels_have_expressions_without_scales(level: str) -> None:
    plan = plan_gemm(32, 64, 64, tile=(16, 32), subgroups=(1, 1), k_step=32, epilogue="tanh(acc) * residual + bias")
    given = operands(plan)
    assert same_bits(plan.simulate(*given, level=level), computed_by(plan, *given))
    with pytest.raises(PlanError, match="level 'lane' has scales"):
        plan_gemm(64, 64, 64, epilogue="acc * scale").emit(level)


@pytest.mark.parametrize("most", [10, pytest.param(44, marks=pytest.mark.exhaustive)])
def test_mistakes_are_caught(most: int) -> None:
    text = "silu(acc * scale + bias) * row_scale + clamp(residual, -1, 0.5)"
    plan = plan_gemm(24, 40, 72, lda=96, ldb=96, ldc=48, c="f16", epilogue=text, **SMALL)
    given = operands(plan)
    wanted = plan.simulate(*given)
    missed: list[str] = []
    some = mutants(plan.emit(), most)
    assert len(some) == most
    for mutant in some:
        try:
            if same_bits(plan.simulate(*given, text=mutant.text), wanted):
                missed.append(mutant.mistake)
        except LayoutError:
            pass
    assert not missed


def test_a_problem_says_what_its_expression_reads() -> None:
    problem = Problem.of(8, 16, 32, c="f16", epilogue="acc*scale + residual")
    assert (problem.scale, problem.bias, problem.beta) == ("column", None, 1)
    assert inputs_of(read_epilogue(problem.epilogue)) == {"acc", "column_scale", "residual"}
    assert str(problem).startswith(
        "C[8, 16] f16 = acc * column_scale + residual with acc = A[8, 32] f16 * B[32, 16] f16"
    )
