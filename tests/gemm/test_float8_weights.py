"""Weights stored as floats of 8 bits: every byte becomes the f16 that the format says, NaN and infinities too.

The formats' numbers are worked out here from the OCP specification (exponent, bias, fraction), not with a library.
"""

from __future__ import annotations

import math
import random
import re
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2
from numpy.typing import NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm.weights import Float8Weights, plan_weights, quantise, quantise_float8
from layoutalg.gemm.weights.numerics import computed, exact
from tests.gemm.random_operands import same_bits
from tests.gemm.test_weights import others, random_weights

FLOATS = ("f8E4M3FN", "f8E5M2")


def number(byte: int, element: str) -> float:
    """The number of a byte, by the specification."""
    fraction_bits, bias = (3, 7) if element == "f8E4M3FN" else (2, 15)
    sign = -1.0 if byte & 0x80 else 1.0
    exponent, fraction = (byte & 0x7F) >> fraction_bits, byte & (1 << fraction_bits) - 1
    if element == "f8E4M3FN" and byte & 0x7F == 0x7F:
        return math.nan
    if element == "f8E5M2" and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - fraction_bits)
    return sign * (1 + fraction / (1 << fraction_bits)) * 2.0 ** (exponent - bias)


def every(element: str) -> NDArray[np.float64]:
    return np.array([number(byte, element) for byte in range(256)])


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("activations", ["f16", "bf16"])
@pytest.mark.parametrize("element", FLOATS)
def test_the_kernel_makes_every_byte_the_number_of_the_format(element: str, activations: str, place: int) -> None:
    """In each of the four places of a word: a row of A that has a one there, and zeros elsewhere."""
    plan = plan_weights(8, 256, 32, activations, element, group=32, tile=(8, 64), subgroups=(1, 1))
    values = np.zeros((32, 256), np.uint8)
    values[4 + place] = np.arange(256)
    left = np.zeros((8, 32))
    left[0, 4 + place] = 1
    found = plan.simulate(left, Float8Weights(values, np.ones((1, 256)), element))[0]
    assert np.array_equal(found, every(element), equal_nan=True)


@pytest.mark.parametrize("element", FLOATS)
def test_the_arrays_have_the_numbers_of_the_format(element: str) -> None:
    values = np.resize(np.arange(256, dtype=np.uint8)[:, None], (256, 1))
    weights = Float8Weights(values, np.full((2, 1), 2.0), element)
    assert np.array_equal(weights.numbers[:, 0], every(element), equal_nan=True)
    assert np.array_equal(weights.dequantised[:, 0], 2 * every(element), equal_nan=True)
    assert weights.group == 128
    again = Float8Weights(values.view("V1").view(np.uint8), np.full((2, 1), 2.0), element)
    assert (again.words == weights.words).all()


@pytest.mark.parametrize("element", FLOATS)
def test_each_weight_is_the_nearest_number_of_its_group(element: str) -> None:
    given = np.random.default_rng(1).standard_normal((128, 3))
    given[:, 2] = 0
    weights = quantise_float8(given, element, group=32)
    finite = every(element)[np.isfinite(every(element))]
    scaled = given.reshape(4, 32, 3) / weights.scales[:, None].astype(np.float64)
    nearest = np.abs(scaled[..., None] - finite).min(-1)
    error = np.abs(scaled - weights.numbers.astype(np.float64).reshape(4, 32, 3))
    assert (error <= nearest * (1 + 1e-12)).all()
    assert np.abs(weights.numbers[:, :2].reshape(4, 32, 2)).max() == finite.max()


@pytest.mark.parametrize("element", FLOATS)
def test_a_number_beside_a_middle_goes_to_the_nearer_side_and_a_middle_to_the_even_byte(element: str) -> None:
    """Rounded to f32 first, all three would be the middle. The largest number is in the group, so that the scale is 1."""
    finite = np.unique(every(element)[np.isfinite(every(element))])
    middles = (finite[1:] + finite[:-1]) / 2
    given = np.full((32, 3 * len(middles)), finite[-1])
    given[0] = np.concatenate([np.nextafter(middles, -np.inf), middles, np.nextafter(middles, np.inf)])
    weights = quantise_float8(given, element, group=32)
    assert (weights.scales == 1).all()
    below, between, above = np.split(weights.numbers[0], 3)
    assert np.array_equal(below, finite[:-1])
    assert np.array_equal(above, finite[1:])
    assert not (np.split(weights.values[0], 3)[1] & 1).any()
    assert np.isin(between, finite).all()


CASES: list[dict[str, Any]] = [
    {"b": "f8E4M3FN", "tile": (8, 32), "group": 32},
    {"b": "f8E5M2", "tile": (16, 32), "group": 64, "c": "f16", "bias": "column", "activation": "silu", "scale": "both"},
    {"b": "f8E4M3FN", "tile": (8, 16), "group": 64, "split_k": 2, "c": "bf16", "target": "bmg", "llvm": 23},
    {"a": "bf16", "b": "f8E4M3FN", "tile": (8, 32), "group": 32, "bias": "row", "c": "bf16"},
    {
        "a": "bf16",
        "b": "f8E5M2",
        "tile": (16, 16),
        "group": 64,
        "split_k": 2,
        "reduction": "last",
        "prefetch": "shared",
    },
]


@pytest.mark.parametrize("choices", CASES, ids=str)
def test_the_bits_are_the_models_and_near_the_definition(choices: dict[str, Any]) -> None:
    plan = plan_weights(13, 48, 128, **choices)
    left = np.random.default_rng(3).standard_normal((13, 128)).astype(numpy_type(plan.problem.product.a))
    weights, given = random_weights(plan.problem), others(plan.problem)
    found = plan.simulate(left, weights, **given)
    assert same_bits(found, computed(plan.problem, left, weights, **given, parts=plan.tiling.split_k))
    wanted = exact(plan.problem, left, weights, **given)
    tolerance = {"f32": 1e-6, "f16": 2e-3, "bf16": 1e-2}[plan.problem.product.c]
    assert np.abs(found.astype(np.float64) - wanted).max() <= tolerance * np.abs(wanted).max()


def test_an_infinite_element_of_a_stays_infinite() -> None:
    """Where whole numbers give NaN, because a bias is taken away."""
    left = np.ones((8, 128))
    left[2, 5] = np.inf
    plan = plan_weights(8, 64, 128, b="f8E5M2")
    found = plan.simulate(left, quantise_float8(np.ones((128, 64)), "f8E5M2"))
    assert np.isinf(found[2]).all()
    assert np.isfinite(found[[0, 1, 3]]).all()


MISTAKES = (
    (r"constant 1065369472 :", "constant 1065353088 :"),
    (r"constant -2139062144 :", "constant -2139095040 :"),
    (r"constant 8388736 :", "constant 128 :"),
    (r"constant 1073758208 :", "constant 16384 :"),
    (r"constant -16711936 :", "constant -16712192 :"),
    (r"arith\.shrui", "arith.shli"),
    (r"arith\.shli", "arith.shrui"),
    (r"arith\.ori (%\S+), (%\S+)", r"arith.ori \1, \1"),
    (r"arith\.andi (%\S+), (%\S+)", r"arith.ori \1, \2"),
    (r"arith\.addi (%\S+), (%\S+) : i32", r"arith.addi \1, \1 : i32"),
    (r"vector\.extract (%\S+)\[(\d)\] : i32", lambda found: f"vector.extract {found[1]}[{int(found[2]) ^ 1}] : i32"),
    (r"math\.fma (%\S+), (%\S+), (%\S+)", r"math.fma \1, \1, \3"),
    (r"math\.fma (%\S+), (%\S+), (%\S+)", r"math.fma \1, \2, \2"),
    (r"xegpu\.dpas (%\S+), (%\S+), (%\S+)", r"xegpu.dpas \1, \2, %zeros"),
    (r"arith\.mulf (%\S+), (%\S+)", r"arith.mulf \1, \1"),
    (r"arith\.trunci (%\S+) :", r"arith.trunci %c16_i32 :"),
    (r"arith\.bitcast (%\S+) : i16 to f16", r"arith.uitofp \1 : i16 to f16"),
    (r"arith\.bitcast (%\S+) : f32 to i32", r"arith.fptosi \1 : f32 to i32"),
)


@pytest.mark.parametrize("activations", ["f16", "bf16"])
@pytest.mark.parametrize("element", FLOATS)
def test_one_wrong_place_in_the_text_is_seen(element: str, activations: str) -> None:
    """40 mistakes, one at a time; the weights have every byte, so that NaN of E4M3 depends on all of its operations."""
    plan = plan_weights(8, 32, 64, activations, element, group=32, tile=(8, 32), subgroups=(1, 1), prefetch="none")
    rng, text = np.random.default_rng(6), plan.emit()
    values = rng.permutation(np.resize(np.arange(256, dtype=np.uint8), 64 * 32)).reshape(64, 32)
    values[~np.isfinite(every(element))[values]] = 0x38
    with_nan = values.copy()  # a NaN in each column: in each of the pairs of a group, in one half or the other
    with_nan[2 * (np.arange(32) % 16) + np.arange(32) // 16, np.arange(32)] = 0x7F
    scales = 2.0 ** rng.integers(1, 4, (2, 32))
    both = [Float8Weights(one, scales, element) for one in (values, with_nan)]
    left = rng.integers(1, 4, (8, 64))

    def computed_by(kernel: str) -> NDArray[Any]:
        return np.stack([plan.simulate(left, weights, text=kernel) for weights in both])

    right, lines = computed_by(text), text.splitlines()
    assert np.isfinite(right[0]).all()
    assert np.isnan(right[1]).all()
    mutants: list[str] = []
    for place, line in enumerate(lines):
        for pattern, new in MISTAKES:
            if (found := re.sub(pattern, new, line, count=1)) != line:
                mutants.append("\n".join([*lines[:place], found, *lines[place + 1 :]]))
    assert len(mutants) >= 40
    for mutant in random.Random(0).sample(mutants, 40):
        try:
            assert not np.array_equal(computed_by(mutant), right, equal_nan=True), [
                (one, other) for one, other in zip(lines, mutant.splitlines(), strict=True) if one != other
            ]
        except LayoutError:
            continue


def test_what_is_not_planned_is_said() -> None:
    for choices, words in (
        ({"zeros": True}, "floats have no zero points"),
        ({"b": "f8E4M3"}, "b 'f8E4M3': expected"),
    ):
        more: dict[str, Any] = {"b": "f8E4M3FN", **choices}
        with pytest.raises(PlanError, match=words):
            plan_weights(8, 64, 128, **more)
    plan = plan_weights(8, 64, 128, b="f8E5M2")
    for given, words in (
        (quantise(np.ones((128, 64)), 8), "expected Float8Weights, such as quantise_float8 makes"),
        (quantise_float8(np.ones((128, 64))), "weights with element = f8E4M3FN: the plan has f8E5M2"),
        (quantise_float8(np.ones((128, 64)), "f8E5M2", group=64), "weights with group = 64: the plan has 128"),
    ):
        with pytest.raises(PlanError, match=words):
            plan.simulate(np.ones((8, 128)), given)
    with pytest.raises(PlanError, match="element 'f8': expected 'f8E4M3FN' or 'f8E5M2'"):
        quantise_float8(np.ones((128, 64)), "f8")
    for other in (np.float32, float8_e5m2, bfloat16):  # ones, and not bytes of 1
        with pytest.raises(PlanError, match="expected bytes, or an array of float8_e4m3fn"):
            Float8Weights(np.ones((32, 16), other), np.ones((1, 16)))
    assert (Float8Weights(np.ones((32, 16), float8_e4m3fn), np.ones((1, 16))).numbers == 1).all()
    with pytest.raises(PlanError, match="expected whole numbers from 0 to 255"):
        Float8Weights(np.full((32, 16), 256), np.ones((1, 16)))  # pyright: ignore[reportArgumentType]
