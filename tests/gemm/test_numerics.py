"""The stated model of a product against exact arithmetic, one element at a time, and against the kernels that run.

Exact arithmetic is that of Python's fractions, rounded to a binary format by the definition: the nearest number, of two the one
with an even last place.
"""

from fractions import Fraction
from math import floor, log2

import ml_dtypes
import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.numerics import accumulated, computed, finished
from layoutalg.gemm.problem import Problem

FORMATS = {"f32": (24, -149, 128), "f16": (11, -24, 16), "bf16": (8, -133, 128)}
"""Bits of the significand, exponent of the smallest number, exponent that is too large."""
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32}


def nearest(value: Fraction, kind: str) -> Fraction:
    bits, smallest, largest = FORMATS[kind]
    if not value:
        return value
    exponent = floor(log2(abs(value))) if abs(value) > Fraction(1, 10**300) else -1000
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - bits + 1, smallest)
    rounded = round(value / unit) * unit  # Python rounds halves to even
    assert abs(rounded) < Fraction(2) ** largest, "no infinities in these tests"
    return rounded


def exact(value) -> Fraction:
    return Fraction(float(value))


def element(a, b, kind: str, acc: str) -> Fraction:
    """One element of C: the chain of links as the module says it, in fractions."""
    each, depth = {"tf32": (1, 8)}.get(kind, (2, 16))
    total = Fraction(0)
    for k in range(0, len(a), each):
        link = nearest(sum(exact(x) * exact(y) for x, y in zip(a[k : k + each], b[k : k + each], strict=True)), "f32")
        total = nearest(total + link, "f32")
        if acc != "f32" and ((k + each) % depth == 0 or k + each >= len(a)):
            total = nearest(total, acc)
    return total


def numbers(rng, shape, kind):
    """Numbers of very different sizes, so that the order of the sums shows in the result."""
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6, shape)).astype(TYPES[kind])


@pytest.mark.parametrize(
    ("kind", "acc"), [("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("bf16", "bf16"), ("tf32", "f32")]
)
def test_accumulators_are_the_chain_of_links_in_the_order_of_k(kind, acc):
    problem = Problem.of(8, 32, 56, kind, acc=acc)
    rng = np.random.default_rng(56)
    a, b = numbers(rng, (8, 56), kind), numbers(rng, (56, 32), kind)
    found = accumulated(problem, a, b)
    cut = [np.asarray(x, np.float32).view(np.uint32) & 0xFFFFE000 for x in (a, b)] if kind == "tf32" else ()
    left, right = [x.view(np.float32) for x in cut] if cut else (a, b)
    for m, n in rng.integers(0, (8, 32), (24, 2)):
        assert exact(found[m, n]) == element(left[m], right[:, n], kind, acc)
    one_by_one = np.einsum("mk,kn->mn", left.astype(np.float64), right.astype(np.float64)).astype(found.dtype)
    assert (found != one_by_one).any(), "data whose order of sums does not show tests nothing"


def test_infinities_and_overflow_of_narrow_accumulators_stay():
    problem = Problem.of(8, 32, 64, acc="f16")
    a, b = np.zeros((8, 64), np.float16), np.ones((64, 32), np.float16)
    a[0, :16], a[0, 16:32], a[1, :16] = 60000, -60000, 65504 / 16
    found = accumulated(problem, a, b)
    # 16 * 60000 is rounded to infinity behind the first instruction; what comes later can't undo it.
    assert np.isposinf(found[0, 0])
    assert found[1, 0] == np.float16(65504)
    with np.errstate(invalid="ignore"):
        assert np.isnan(accumulated(Problem.of(8, 32, 64), np.full((8, 64), np.nan), b)).all()


@pytest.mark.parametrize(("a", "b"), [("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")])
def test_integers_are_exact_modulo_2_to_the_32(a, b):
    rng = np.random.default_rng(8)
    limits = {"s8": (-128, 128), "u8": (0, 256)}
    left, right = rng.integers(*limits[a], (16, 96)), rng.integers(*limits[b], (96, 64))
    problem = Problem.of(16, 64, 96, a, b)
    assert (accumulated(problem, left, right) == left @ right).all()
    before = np.full((16, 64), 2**31 - 1)
    wrapped = computed(Problem.of(16, 64, 96, a, b, beta=1, bias="row"), left, right, before, np.arange(16))
    exact_sum = left @ right + before + np.arange(16)[:, None]
    assert (wrapped.astype(np.int64) == (exact_sum + 2**31) % 2**32 - 2**31).all()


@pytest.mark.parametrize(
    ("alpha", "beta", "bias"), [(0.3, 0.7, "row"), (1, -1.1, None), (1e-3, 1, "column"), (1, 0, "row")]
)
@pytest.mark.parametrize("c", ["f32", "f16", "bf16"])
def test_the_epilogue_rounds_once_for_each_step(alpha, beta, bias, c):
    problem = Problem.of(64, 64, 64, "f16", c=c, alpha=alpha, beta=beta, bias=bias)
    rng = np.random.default_rng(7)
    x = numbers(rng, (64, 64), "f32")
    before = numbers(rng, (64, 64), c) if beta else None
    added = numbers(rng, 64, c) if bias else None
    found = finished(problem, x, before, added)
    first, second = exact(np.float32(alpha)), exact(np.float32(beta))
    for m, n in rng.integers(0, 64, (40, 2)):
        value = exact(x[m, n])
        more = Fraction(0) if added is None else exact(added[m if bias == "row" else n])
        value = nearest(first * value + more, "f32")
        if before is not None:
            value = nearest(second * exact(before[m, n]) + value, "f32")
        assert exact(found[m, n]) == nearest(value, c)


def test_activations_are_what_their_names_say():
    x = np.linspace(-6, 6, 64 * 64, dtype=np.float32).reshape(64, 64)
    relu, silu, gelu = (finished(Problem.of(64, 64, 64, activation=name), x) for name in ("relu", "silu", "gelu"))
    wide = x.astype(np.float64)
    assert (relu == np.maximum(x, 0)).all()
    assert np.allclose(silu, wide / (1 + np.exp(-wide)), rtol=5e-7, atol=0)
    tanh = 0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))
    assert np.allclose(gelu, tanh, rtol=2e-6, atol=1e-9)
    special = np.array([[np.nan, np.inf, -np.inf, -0.0]], np.float32)
    found = [finished(Problem.of(64, 64, 64, activation=name), special)[0] for name in ("relu", "silu", "gelu")]
    assert all(np.isnan(values[0]) and values[1] == np.inf for values in found)
    assert found[0][2] == 0


def test_what_the_problem_does_not_read_is_refused_and_what_it_reads_is_asked_for():
    a = np.zeros((64, 64))
    with pytest.raises(PlanError, match="beta = 2, so C is read, and needed"):
        computed(Problem.of(64, 64, 64, beta=2), a, a)
    with pytest.raises(PlanError, match="beta = 0, so C is not read; leave it out"):
        computed(Problem.of(64, 64, 64), a, a, a)
    with pytest.raises(PlanError, match="one for every column of C; an array of 32 numbers is needed"):
        computed(Problem.of(64, 32, 64, bias="column"), a, a[:, :32])
    with pytest.raises(PlanError, match="plan with bias='row' or bias='column'"):
        computed(Problem.of(64, 64, 64), a, a, bias=a[0])


def test_arrays_of_other_shapes_are_refused_in_words():
    problem, a = Problem.of(64, 64, 64, batch=2), np.zeros((2, 64, 64))
    for arrays, said in (
        ((a[0], a), "A is planned as 2x64x64, and the array is 64x64"),
        ((a, a[..., :32]), "B is planned as 2x64x64, and the array is 2x64x32"),
        ((a, np.full(a.shape, "x")), "B is an array of <U1; numbers are needed"),
        ((a, None), "B is planned as 2x64x64, and the array is a scalar"),
    ):
        with pytest.raises(PlanError) as found:
            computed(problem, *arrays)
        assert said in str(found.value)
