"""Quantised weights: packed words, kernels that compute what is stated and what the definition says, and what is refused."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.weights import Float8Weights, QuantisedWeights, WeightsGemm, WeightsProblem, plan_weights, quantise
from layoutalg.gemm.weights.numerics import computed, exact
from layoutalg.gemm.weights.run import arrays_of
from layoutalg.simulate import Memory, run_kernel
from tests.gemm.random_operands import random_numbers, same_bits

Array = NDArray[Any]

KINDS = (("f16", "u4"), ("f16", "u8"), ("bf16", "u4"), ("bf16", "u8"))


def random_weights(problem: WeightsProblem, seed: int = 0, *, whole: bool = False) -> Any:
    """Every number of the bits; scales (powers of two if `whole`) and zero points for every group."""
    rng, product = np.random.default_rng(seed), problem.product
    groups = (product.k // problem.group, product.n)
    if problem.floats:
        below = {"f8E4M3FN": 11 * 8, "f8E5M2": 19 * 4}[problem.b]  # 16: sums fit into f16
        values = rng.integers(0, below, (product.k, product.n)) + 128 * rng.integers(0, 2, (product.k, product.n))
        return Float8Weights(values, rng.random(groups) + 0.1, problem.b)
    values = rng.integers(0, 1 << problem.bits, (product.k, product.n))
    scales = 2.0 ** rng.integers(-3, 2, groups) if whole else rng.random(groups) + 0.1
    zeros = rng.integers(0, 1 << problem.bits, groups) if problem.zeros else None
    return QuantisedWeights(values, scales, zeros, problem.bits)


def others(problem: WeightsProblem, seed: int = 0) -> dict[str, Array]:
    """What the epilogue reads besides."""
    product, rng = problem.product, np.random.default_rng(seed)
    found: dict[str, Array] = {}
    if product.beta:
        found["c"] = random_numbers(product.c, (product.m, product.n), rng)
    if product.bias:
        found["bias"] = random_numbers(product.c, (product.count(product.bias),), rng)
    for side in product.scaled:
        found[f"{side}_scale"] = random_numbers("f32", (product.count(side),), rng)
    return found


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_words_have_every_value_where_the_page_says(bits: int, zeros: bool) -> None:
    """By a loop over all weights: pair i of a word's neighbours in nibble or byte i of both halves."""
    rng = np.random.default_rng(bits)
    weights = quantise(rng.standard_normal((96, 5)), bits, group=32, zeros=zeros)
    each = 32 // bits
    for k in range(96):
        for n in range(5):
            word, within = int(weights.words[k // each, n]), k % each
            assert word >> (within // 2 * bits + within % 2 * 16) & ((1 << bits) - 1) == weights.values[k, n]


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_no_weight_is_further_than_half_a_step_from_what_it_was(bits: int, zeros: bool) -> None:
    given = np.random.default_rng(1).standard_normal((256, 7)) + 0.3
    given[:128, 2] = 0
    given[:128, 3] = 1.5
    weights = quantise(given, bits, group=128, zeros=zeros)
    error = np.abs(weights.dequantised - given)
    # a rounded zero point moves the range by up to half a step, and the largest or least number is cut there
    assert (error <= np.repeat(weights.scales, 128, axis=0) * (1.001 if zeros else 0.501)).all()
    assert (weights.dequantised[:128, 2] == 0).all()


DEEP: dict[str, Any] = {"tile": (8, 64), "subgroups": (1, 1), "target": "bmg"}
WIDE: dict[str, Any] = {"tile": (32, 32), "group": 64, "subgroups": (1, 2), "lda": 200, "ldc": 88}
SHORT: dict[str, Any] = {"tile": (16, 32), "group": 32}
CASES: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((8, 64, 256), {**DEEP, "group": 64}),
    ((5, 64, 128), {**DEEP, "b": "u8", "zeros": True}),
    ((37, 80, 192), {**WIDE, "zeros": True}),
    ((37, 80, 192), {**WIDE, "b": "u8"}),
    ((37, 80, 192), {**WIDE, "a": "bf16"}),
    ((13, 48, 96), {**SHORT, "a": "bf16", "zeros": True}),
    ((13, 48, 96), {**SHORT, "b": "u8", "zeros": True}),
    ((13, 48, 96), {**SHORT, "a": "bf16", "b": "u8"}),
    ((13, 48, 96), {**SHORT, "a": "bf16", "b": "u8", "zeros": True}),
    ((5, 64, 768), {**DEEP, "group": 256, "zeros": True}),
    ((19, 48, 384), {"tile": (16, 32), "group": 384, "a": "bf16"}),
]


@pytest.mark.parametrize(("size", "choices"), CASES, ids=str)
def test_whole_numbers_give_the_exact_product(size: tuple[int, int, int], choices: dict[str, Any]) -> None:
    plan = plan_weights(*size, **choices)
    weights = random_weights(plan.problem, whole=True)
    left = np.random.default_rng(2).integers(-3, 4, size[::2])
    groups = np.repeat(weights.scales, plan.problem.group, axis=0).astype(np.float64)
    points = 1 << plan.problem.bits - 1 if weights.zeros is None else np.repeat(weights.zeros, weights.group, axis=0)
    wanted = left @ ((weights.values - np.asarray(points, np.float64)) * groups)
    assert np.array_equal(plan.simulate(left, weights).astype(np.float64), wanted)


EPILOGUES: list[dict[str, Any]] = [
    {"c": "f16", "bias": "column", "activation": "silu"},
    {"c": "bf16", "scale": "row", "beta": 1.0, "alpha": 0.5},
    {"bias": "row", "scale": "both", "activation": "relu", "ldc": 72},
]


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("kind", "more"), list(zip(KINDS, (*EPILOGUES, {"c": "bf16"}), strict=True)), ids=str)
def test_random_reals_have_the_stated_bits_and_are_near_the_definition(
    kind: tuple[str, str], more: dict[str, Any], zeros: bool
) -> None:
    plan = plan_weights(21, 64, 128, *kind, group=64, zeros=zeros, tile=(16, 32), **more)
    problem = plan.problem
    left = np.random.default_rng(3).standard_normal((21, 128)).astype(numpy_type(problem.product.a))
    weights, given = random_weights(problem), others(problem)
    found = plan.simulate(left, weights, **given)
    assert same_bits(found, computed(problem, left, weights, **given))
    wanted = exact(problem, left, weights, **given)
    tolerance = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}[problem.product.c]
    assert np.abs(found.astype(np.float64) - wanted).max() <= tolerance * np.abs(wanted).max()


@pytest.mark.parametrize("reduction", ["kernel", "last"])
@pytest.mark.parametrize(
    ("parts", "more"),
    [
        (2, {"group": 32}),
        (3, {"group": 128, "zeros": True, "c": "f16", "bias": "column", "activation": "silu", "scale": "row"}),
        (5, {"group": 64, "b": "u8", "beta": 1.0, "target": "bmg"}),
    ],
)
def test_k_in_parts_is_added_in_the_order_of_k(parts: int, more: dict[str, Any], reduction: str) -> None:
    plan = plan_weights(5, 64, 640, tile=(8, 32), split_k=parts, reduction=reduction, **more)
    assert [one.kernel for one in plan.launch.in_order] == ["gemm", "gemm_reduce"][: 1 + (reduction == "kernel")]
    names = [one.name for one in plan.launch.arguments]
    assert ("counters" in names) == (reduction == "last")
    left = np.random.default_rng(6).standard_normal((5, 640)).astype(np.float16)
    weights, given = random_weights(plan.problem), others(plan.problem)
    found = plan.simulate(left, weights, **given)
    assert same_bits(found, computed(plan.problem, left, weights, **given, parts=parts))
    wanted = exact(plan.problem, left, weights, **given)
    assert np.abs(found.astype(np.float64) - wanted).max() <= 2e-3 * np.abs(wanted).max()
    # whole numbers have no order
    left, weights = np.round(left), random_weights(plan.problem, whole=True)
    if "activation" not in more and "beta" not in more:
        one = plan_weights(5, 64, 640, tile=(8, 32), split_k=1, **more)
        assert same_bits(plan.simulate(left, weights), one.simulate(left, weights))


def test_two_launches_find_the_counters_alike_and_host_zeros_are_needed() -> None:
    """Rows behind C, two workgroups of two subgroups, five parts: C of a second launch, and a launch that finds sevens."""
    plan = plan_weights(5, 80, 640, tile=(8, 16), subgroups=(1, 2), split_k=5, reduction="last", zeros=True)
    left = np.random.default_rng(7).standard_normal((5, 640)).astype(np.float16)
    weights = random_weights(plan.problem)
    arrays = arrays_of(plan, left, weights)
    arrays["workspace"] = np.full(plan.workspace_bytes // 4, np.nan, np.float32)
    arrays["counters"] = np.zeros(6, np.int32)
    memory = Memory()
    pointers = [one.name for one in plan.launch.arguments if one.memory is not None]
    addresses = [memory.bind(name, arrays[name]) for name in pointers]
    for _ in range(2):
        arrays["c"][:] = np.nan
        run_kernel(plan.emit(), [*addresses, *plan.arguments], plan.grid, memory, target=plan.target)
        assert same_bits(arrays["c"], computed(plan.problem, left, weights, parts=5))
        assert not arrays["counters"].any()
    arrays["c"][:], arrays["counters"][:] = np.nan, 7
    run_kernel(plan.emit(), [*addresses, *plan.arguments], plan.grid, memory, target=plan.target)
    assert np.isnan(arrays["c"]).all()


def test_few_columns_are_split_and_many_are_not() -> None:
    few, more = (plan_weights(1, n, 4096, prefetch="none").tiling.split_k for n in (1024, 4096))
    assert few > more > 1
    assert plan_weights(1, 1024, 4096).tiling.split_k > 1
    assert plan_weights(1, 1024, 4096).tiling.reduction == "last"
    assert plan_weights(1, 64, 896).tiling.split_k == 1  # less deep than products that are split unasked
    assert plan_weights(1, 14336, 4096).tiling.split_k == 1
    split, alone = (plan_weights(1, 4096, 4096, prefetch="none", split_k=parts) for parts in (None, 1))
    assert split.predicted < alone.predicted / 2


def test_the_tile_and_the_version_change_no_bit() -> None:
    plans = [plan_weights(24, 64, 128, tile=tile, zeros=True) for tile in ((8, 16), (8, 64), (16, 64), (32, 32))]
    plans.append(plan_weights(24, 64, 128, zeros=True, llvm=23, target="bmg"))
    left = np.random.default_rng(4).standard_normal((24, 128)).astype(np.float16)
    first, *rest = (plan.simulate(left, random_weights(plan.problem)) for plan in plans)
    assert all(same_bits(first, other) for other in rest)


def test_the_launch_has_the_arguments_of_the_kernel_in_its_order() -> None:
    plan = plan_weights(8, 64, 256, zeros=True, bias="row", scale="column")
    launch = plan.launch
    head = plan.emit().split("kernel attributes")[0].rpartition("(")[2]
    names = [one.partition(":")[0].strip(" %").removeprefix("pointer_") for one in head.rstrip(") ").split(",")]
    assert [one.name for one in launch.arguments] == names
    assert names[:7] == ["a", "b", "c", "bias", "column_scale", "group_scales", "group_zeros"]
    assert [one.value for one in launch.arguments if one.memory is None] == [8, 64, 256, 256, 64]
    words = launch.arguments[1].memory
    assert words is not None
    assert (words.element, words.rows, words.columns, words.bytes) == ("u32", 32, 64, 32 * 64 * 4)
    assert launch.global_size == (plan.grid[0] * plan.workgroup[0], plan.grid[1], 1)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"b": "u2"}, "b 'u2': expected 'u4', 'u8', 'f8E4M3FN' or 'f8E5M2'"),
    ({"a": "s8"}, "a 's8': expected 'f16' or 'bf16'"),
    ({"group": 100}, "group = 100: 32, 64 or a multiple of 128 neighbours along k"),
    ({"k": 200}, "k = 200 with groups of 128: k is a multiple of the group; 256 would fit"),
    ({"n": 70}, "n = 70: rows of words are 64 bytes at least and a multiple of 16.*; 72 would fit"),
    ({"n": 72, "ldc": 73}, "C is 64x72 f32.*a leading dimension ldc = 76 would fit"),
    ({"lda": 257}, "A is 64x256 f16.*a leading dimension lda = 264 would fit"),
    ({"tile": (64, 64)}, "tile 64x64: weights are planned with tiles of 8x16"),
    ({"subgroups": (8, 8)}, "a core runs 32 at once"),
    ({"split_k": 3}, r"split_k = 3: k = 256 is 2 steps of 128, and parts of 1 step are 2; split_k = 2 would do"),
    ({"k": 128, "split_k": 2}, r"k = 128 is 1 step of 128, and parts of 1 step are 1; split_k = 1 would do"),
    ({"split_k": 65}, "split_k"),
    ({"split_k": 2, "reduction": "atomics"}, "reduction 'atomics': expected 'kernel' or 'last'"),
    ({"llvm": 22}, "weights are planned for LLVM 23 and 24"),
    ({"target": "dg2"}, "has no 2D block messages"),
]


@pytest.mark.parametrize(("choices", "words"), REFUSED, ids=str)
def test_what_is_not_planned_is_said(choices: dict[str, Any], words: str) -> None:
    more: dict[str, Any] = {"m": 64, "n": 64, "k": 256, **choices}
    with pytest.raises(PlanError, match=words):
        plan_weights(**more)


def test_options_that_products_have_and_weights_have_not_are_refused() -> None:
    for name, value in (("gated", "silu"), ("trans_b", True), ("acc", "f16")):
        for refusing in (plan_weights, WeightsProblem.of):
            with pytest.raises(
                TypeError, match=f"unexpected keyword argument '{name}'; its options are alpha, beta, bias"
            ):
                refusing(8, 64, 128, **{name: value})


def test_a_large_group_is_the_group_of_128_with_its_scale_repeated() -> None:
    """The same weights in groups of 128 and of 384, whose three parts have one scale: the same bits."""
    small, large = (plan_weights(9, 64, 384, group=group, zeros=True, tile=(16, 32)) for group in (128, 384))
    weights = random_weights(large.problem)
    repeated = QuantisedWeights(weights.values, np.repeat(weights.scales, 3, 0), np.repeat(weights.zeros, 3, 0), 4)
    left = np.random.default_rng(4).standard_normal((9, 384)).astype(np.float16)
    assert same_bits(large.simulate(left, weights), small.simulate(left, repeated))
    assert large.instructions == small.instructions
    assert large.problem.bytes < small.problem.bytes


def test_weights_of_another_plan_and_arrays_that_do_not_fit_are_refused() -> None:
    plan: WeightsGemm = plan_weights(8, 64, 128)
    left, weights = np.ones((8, 128)), quantise(np.ones((128, 64)))
    cases: tuple[tuple[Any, str], ...] = (
        (quantise(np.ones((128, 64)), 8), "weights with bits = 8: the plan has 4"),
        (quantise(np.ones((128, 64)), group=64), "weights with group = 64: the plan has 128"),
        (quantise(np.ones((128, 64)), zeros=True), "weights with zeros = True: the plan has False"),
        (quantise(np.ones((256, 64))), "weights with shape"),
        (np.ones((128, 64)), "expected QuantisedWeights, such as quantise makes"),
    )
    for given, words in cases:
        with pytest.raises(PlanError, match=words):
            plan.simulate(left, given)
    with pytest.raises(PlanError, match="bias: the plan has none"):
        plan.simulate(left, weights, bias=np.ones(64))
    with pytest.raises(PlanError, match="A is planned as 8x128"):
        plan.simulate(np.ones((8, 64)), weights)
    with pytest.raises(PlanError, match="expected whole numbers from 0 to 15"):
        QuantisedWeights(np.full((32, 16), 16), np.ones((1, 16)))  # pyright: ignore[reportArgumentType]
    with pytest.raises(PlanError, match="not all numbers are finite"):
        quantise(np.full((128, 16), np.nan))
    with pytest.raises(PlanError, match="quantised weights, which plan_weights and `layoutalg weights` plan"):
        plan_gemm(8, 64, 128, "f16", "u4")


MISTAKES = (
    (r"constant 983055 :", "constant 983047 :"),
    (r"constant 15728880 :", "constant 15728752 :"),
    (r"arith\.shrui", "arith.shli"),
    (r"arith\.ori (%\S+), (%\S+)", r"arith.ori \1, \1"),
    (r"arith\.divui (%\S+), (%\S+)", r"arith.divui \1, \1"),
    (r"vector\.extract (%\S+)\[(\d)\] : i32", lambda found: f"vector.extract {found[1]}[{int(found[2]) ^ 1}] : i32"),
    (r"math\.fma (%\S+), (%\S+), (%\S+)", r"math.fma \1, \1, \3"),
    (r"math\.fma (%\S+), (%\S+), (%\S+)", r"math.fma \1, \2, \2"),
    (r"xegpu\.dpas (%\S+), (%\S+), (%\S+)", r"xegpu.dpas \1, \2, %zeros"),
    (r"arith\.mulf (%\S+), (%\S+)", r"arith.mulf \1, \1"),
)
"""What goes wrong in a line: pattern and replacement."""


def test_one_wrong_place_in_the_text_is_seen() -> None:
    """40 mistakes, one at a time: masks, shifts, exponents, rows of words, places, operands of products and sums."""
    plan = plan_weights(8, 32, 64, group=32, zeros=True, tile=(8, 32), subgroups=(1, 1), prefetch="none")
    weights, text = random_weights(plan.problem, whole=True), plan.emit()
    left = np.random.default_rng(5).integers(-3, 4, (8, 64))
    right, lines = plan.simulate(left, weights), text.splitlines()
    mutants: list[str] = []
    for number, line in enumerate(lines):
        for pattern, new in MISTAKES:
            if (found := re.sub(pattern, new, line, count=1)) != line:
                mutants.append("\n".join([*lines[:number], found, *lines[number + 1 :]]))
    assert len(mutants) >= 60
    for mutant in random.Random(0).sample(mutants, 40):
        try:
            assert not same_bits(plan.simulate(left, weights, text=mutant), right), [
                (one, other) for one, other in zip(lines, mutant.splitlines(), strict=True) if one != other
            ]
        except LayoutError:
            continue  # it reads outside, divides by 0, or has a value that was not written
