"""Scores of any size: results are those of exact arithmetic where f32 holds the scores, also where they are rounded much."""

from __future__ import annotations

from functools import cache
from math import fsum

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.numerics import model
from tests.gemm.attention_changes import Change, change_is_seen, replaced, swapped
from tests.gemm.attention_runs import Array, same_bits

KINDS = ("mixed", "last", "equal", "negative", "dense", "cancelled")


def arrays_of(kind: str, size: float, element: str, queries: int, keys: int) -> tuple[Array, Array, Array, float]:
    """Q, K, V and a scale, so that scaled scores are about `size`, whatever the type holds."""
    random = np.random.default_rng(1)
    side = min(size**0.5, 1e4 if element == "f16" else 1e15)
    q, k = np.zeros((queries, 64)), np.zeros((keys, 64))
    q[:, 0] = side
    if kind == "equal":  # sums that are rounded, in the same way for every key
        q[:], k[:] = side / 8 * random.uniform(0.5, 1, (2, 1, 64))
    elif kind == "dense":
        q[:] = random.standard_normal(q.shape) * side / 8
        k[:] = random.standard_normal(k.shape) * side / 8
    elif kind == "cancelled":  # partial sums that are much larger than the score
        q[:, 1], k[:, :2] = -side, side
        q[:, 2], k[:, 2] = 1, random.standard_normal(keys)
    else:
        k[:, 0] = random.uniform(0.2, 1, keys) * side
        k[:, 0] *= random.choice([-1, 1], keys) if kind == "mixed" else -1
        if kind == "last":
            k[-1, 0] = side
    v, dtype = random.standard_normal((keys, 64)), numpy_type(element)
    return q.astype(dtype), k.astype(dtype), v.astype(dtype), size / side**2


def exactly(plan: Attention, q: Array, k: Array, v: Array) -> NDArray[np.float64]:
    """Softmax attention with scores that are rounded once, to f64, for keys that every query sees."""
    rows, columns, values = (array.astype(np.float64) for array in (q, k, v))
    scores = np.array([[fsum(row * column) for column in columns] for row in rows])
    weights = np.exp((scores - scores.max(-1, keepdims=True)) * plan.problem.scale)
    return weights @ values / weights.sum(-1, keepdims=True)


def check(kind: str, size: float, element: str, queries: int = 9, keys: int = 70) -> None:
    q, k, v, scale = arrays_of(kind, size, element, queries, keys)
    plan = plan_attention(queries, keys, 64, element, scale=scale, target="bmg")
    found = plan.simulate(q, k, v)
    assert same_bits(found, model(plan, q, k, v))
    assert np.abs(found - exactly(plan, q, k, v)).max() < (1e-3 if element == "f16" else 8e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "element"), [(1e2, "f16"), (1e6, "bf16"), (1e8, "f16"), (1e20, "bf16")])
def test_scores_of_any_size_give_what_exact_arithmetic_gives(kind: str, size: float, element: str) -> None:
    check(kind, size, element)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e4, 1e7, 1e14])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_more_scores_of_any_size_give_what_exact_arithmetic_gives(kind: str, size: float, element: str) -> None:
    check(kind, size, element, 20, 203)


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**100])
def test_the_ends_of_what_a_scale_may_be(scale: float) -> None:
    """With 2^-100 all weights are 1; with 2^100 the largest score takes all, and here it is the last one."""
    plan = plan_attention(8, 40, 32, scale=scale, target="bmg")
    ramp, v = np.arange(1, 41)[:, None] * np.ones((40, 32)) / 64, np.arange(40)[:, None] * np.ones((40, 32))
    assert np.allclose(plan.simulate(ramp[32:], ramp, v), 19.5 if scale < 1 else 39.0, rtol=1e-3)


# Mistakes in the part of the kernel that is for large scores

PLAN = plan_attention(40, 203, 32, heads=2, kv_heads=1, subgroups=2, causal=True, target="bmg")
FIRST = ("xegpu.dpas",)
END = ("%seen_at = ", "} else {", "scf.yield", "scf.yield")
LARGE = ("%large_at = ",)
MISTAKES: dict[str, Change] = {
    "rows with a large m are not marked first": replaced(
        r"(arith.select %\w+, %zeros, )%infinite", r"\1%zeros", behind=FIRST
    ),
    "m may be larger": replaced(r"(%largest_m = arith.constant dense<.*?)e\+04", r"\1e+14"),
    "sums without bound are called sure": replaced(r"cmpf olt, (%\w+), %infinite", r"cmpf oeq, \1, \1", behind=END),
    "nobody is unsure": replaced(r"(%unsure = arith.cmpf )ogt", r"\1olt"),
    "the keys begin later": replaced(r"(%large_at = )%c0_i32", r"\1%c32_i32"),
    "the keys end with the whole steps": replaced(r"(cmpi slt, %large_at, )%end", r"\1%full"),
    "the keys go on too far apart": replaced(r"(arith.addi %large_key, )%c32_i32", r"\1%c64_i32", behind=LARGE),
    "scores begin at m": replaced(r"(%s0x0_\d+ = xegpu.dpas %\w+, %\w+, )%zeros", r"\1%m0", behind=LARGE),
    "two loads of K are swapped": swapped(r"%matrix_k\[(%\d+)", behind=LARGE),
    "a load of K takes other columns": replaced(r"(%matrix_k\[%\d+, )8\]", r"\g<1>0]", behind=LARGE),
    "two cuts of Q are swapped": swapped(r"vector.shuffle %q\w+, %q\w+ (\[.*?\])", behind=LARGE),
    "the mask is one key late": replaced(r"cmpi slt(, %\w+, %rows0)", r"cmpi sle\1", behind=LARGE),
    "a block is not masked": replaced(r"(arith.select %\w+, (%s0x0\w*), )%hidden", r"\1\2", behind=LARGE),
    "the maximum forgets the keys before": replaced(
        r"(%top0 = arith.select )(%\w+), (%\w+), %\w+", r"\1\2, \3, \3", behind=LARGE
    ),
    "the maximum forgets half of the keys": replaced(r"(cmpf ogt, )(%\w+), %\w+", r"\1\2, \2", behind=LARGE),
    "rows have the maximum of others": replaced(r"(vector.from_elements )(%\w+), (%\w+)", r"\1\3, \2", behind=LARGE),
    "the smaller maximum wins": replaced(r"(cmpf )ogt(, %\w+, %m0)", r"\1olt\2", behind=LARGE),
    "scores less the m before": replaced(r"(arith.subf %\w+, )%top1", r"\1%top0", behind=(*LARGE, "%f1")),
    "the change of m has the other sign": replaced(r"arith.subf (%m0\w*), (%top0)", r"arith.subf \2, \1", behind=LARGE),
    "the scale is missing": replaced(r"(arith.mulf %\w+, )%scale", r"\1%ones", behind=(*LARGE, "%f0")),
    "the sums are not rescaled": replaced(r"(%l0_\d+ = arith.mulf %\w+, )%f0\w*", r"\1%ones", behind=LARGE),
    "O is not rescaled": replaced(r"(%o0x1_\d+ = arith.mulf %\w+, )%f0\w*", r"\1%ones", behind=LARGE),
    "O is rescaled for other rows": replaced(r"(%o1x0_\d+ = arith.mulf %\w+, )%f1(\w*)", r"\1%f0\2", behind=LARGE),
    "P goes to other rows": swapped(r"%o\dx0_\d+ = xegpu.dpas (%\w+)", behind=LARGE),
    "two cuts of V are swapped": swapped(r"vector.shuffle %v\w+, %v\w+ (\[.*?\])", behind=LARGE),
    "the sums lose their accumulator": replaced(
        r"(%l1_\d+ = xegpu.dpas %\w+, %\w+, )%l1\w*", r"\1%zeros", behind=LARGE
    ),
    "O is not carried": replaced(r"(scf.yield %\w+, )%o0x0\w*", r"\1%zeros", behind=LARGE),
    "m is not carried": replaced(r"(scf.yield .*?)%top0, %top1", r"\1%top1, %top0", behind=LARGE),
    "the result is that of the loop before": replaced(
        r"(scf.yield )(%o0x0\w*), (%o0x1\w*)", r"\1\3, \2", behind=("%large_at = ", "scf.yield", "}")
    ),
}


@cache
def arrays_and_result() -> tuple[tuple[Array, Array, Array], Array]:
    """Scores that reach 10^5 and rise with the keys, for some heads; what they are differs from row to row."""
    random = np.random.default_rng(3)
    q, v = random.standard_normal((2, 40, 32)), random.standard_normal((1, 203, 32))
    k = random.standard_normal((1, 203, 32)) * 0.1
    q[:, :, 0] = 100 + random.integers(0, 4, (2, 40)) / 16
    k[..., 0] = 6000 + np.arange(203) // 16 / 8
    q, k, v = (array.astype(np.float16) for array in (q, k, v))
    return (q, k, v), model(PLAN, q, k, v)


@pytest.mark.parametrize("mistake", list(MISTAKES)[::3])
def test_mistakes_are_caught(mistake: str) -> None:
    assert change_is_seen(PLAN, MISTAKES[mistake], *arrays_and_result())


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", [name for number, name in enumerate(MISTAKES) if number % 3])
def test_other_mistakes_are_caught(mistake: str) -> None:
    assert change_is_seen(PLAN, MISTAKES[mistake], *arrays_and_result())
