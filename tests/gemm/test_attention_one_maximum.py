"""Attention with one maximum: rows keep the m of their first keys, and what overflows is computed once more, exactly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.numerics import model
from layoutalg.gemm.attention.run import execute
from layoutalg.gemm.attention.timing import times_of
from tests.gemm.attention_changes import Change, change_is_seen, replaced
from tests.gemm.attention_runs import Array, defined, random_arrays, same_bits
from tests.gemm.test_attention_large_scores import KINDS, arrays_of, exactly
from tests.gemm.test_attention_mutations import MISTAKES as ONLINE

FORMS: list[dict[str, Any]] = [
    {"queries": 40, "keys": 203, "d": 32, "heads": 2, "kv_heads": 1, "subgroups": 2, "causal": True},
    {"queries": 20, "keys": 100, "d": 128, "type": "bf16", "out": "bf16", "causal": True, "prefetch": "none"},
    {"queries": 9, "keys": 300, "d": 64, "causal": True, "window": 70, "heads": 2, "order": "bshd"},
    {"queries": 20, "keys": 90, "d": 136, "out": "f16", "ldk": 192},
    {
        "queries": 45,
        "keys": 100,
        "d": 32,
        "heads": 2,
        "order": "bshd",
        "causal": True,
        "starts_q": (0, 20, 20, 45),
        "starts_k": (0, 40, 57, 100),
    },
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("size", [1, 30])
def test_the_kernel_gives_the_models_bits_and_is_near_exact_arithmetic(form: dict[str, Any], size: int) -> None:
    plan = plan_attention(**form, maximum="first")
    q, k, v = random_arrays(plan)
    q = (q * size).astype(q.dtype)
    found = plan.simulate(q, k, v)
    assert same_bits(found, model(plan, q, k, v))
    error = np.abs(found.astype(np.float64) - defined(plan.problem, q, k, v)).max()
    assert error < (2e-2 if plan.problem.type == "bf16" else 2e-3)


SIZES = [(1e2, "f16"), (1e6, "bf16"), (1e8, "f16"), (1e20, "bf16")]


@pytest.mark.parametrize(
    ("kind", "size", "element"), [("mixed", *SIZES[0]), ("cancelled", *SIZES[1]), ("last", *SIZES[3])]
)
def test_scores_of_any_size_give_what_exact_arithmetic_gives(kind: str, size: float, element: str) -> None:
    check_size(kind, size, element)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "element"), SIZES)
def test_more_scores_of_any_size_give_what_exact_arithmetic_gives(kind: str, size: float, element: str) -> None:
    check_size(kind, size, element)


def check_size(kind: str, size: float, element: str) -> None:
    q, k, v, scale = arrays_of(kind, size, element, 9, 70)
    plan = plan_attention(9, 70, 64, element, scale=scale, maximum="first", target="bmg")
    found = plan.simulate(q, k, v)
    assert same_bits(found, model(plan, q, k, v))
    assert np.abs(found - exactly(plan, q, k, v)).max() < (1e-3 if element == "f16" else 8e-3)


def one_high_key(
    above: float, element: str = "f16", value: float = 1.0
) -> tuple[Attention, tuple[Array, Array, Array]]:
    """32 queries with scores of 0; but for the first 16, key 50 is `above` (in powers of 2), and its V is `value`."""
    plan = plan_attention(32, 70, 32, element, maximum="first", scale=float(np.log(2.0)), target="bmg")
    q, k, v = np.zeros((32, 32)), np.zeros((70, 32)), np.zeros((70, 32))
    q[:16, 0], k[50, 0] = 1, above
    v[:, 16:] = np.arange(16) / 16
    v[50, 16:] = value
    kind = numpy_type(element)
    return plan, (q.astype(kind), k.astype(kind), v.astype(kind))


@pytest.mark.parametrize(
    ("above", "element", "value", "again"),
    [
        (15.0, "f16", 1.0, False),  # 2^15 is a number of f16
        (15.9375, "f16", 1.0, False),
        (16.0, "f16", 1.0, True),  # 2^16 isn't
        (120.0, "f16", 1.0, True),
        (100.0, "bf16", 1.0, False),  # bf16 has the range of f32
        (128.0, "bf16", 1.0, True),
        (100.0, "bf16", 2.0**40, True),  # l is finite, O isn't
        (3000.0, "bf16", 1.0, True),
    ],
)
def test_a_subgroup_takes_its_keys_once_more_where_a_weight_a_sum_or_o_overflows(
    above: float, element: str, value: float, again: bool
) -> None:
    """Two subgroups of 16 queries, both with the keys of one step and of one masked step; the first has the high key."""
    plan, arrays = one_high_key(above, element, value)
    found, executed = execute(plan, *arrays, counted="messages")
    assert executed is not None
    assert executed.dpas == plan.dpas_total + (3 * plan.masked_step.dpas if again else 0)
    assert same_bits(found, model(plan, *arrays))
    expected = defined(plan.problem, *arrays)
    assert np.allclose(found, expected, rtol=1e-2 if element == "bf16" else 1e-3, atol=1e-6)


def test_rows_that_see_no_key_give_0() -> None:
    plan = plan_attention(40, 20, 32, causal=True, maximum="first", target="bmg")
    q, k, v = random_arrays(plan)
    found = plan.simulate(q, k, v)
    assert not found[:20].any()
    assert np.allclose(found, defined(plan.problem, q, k, v), atol=2e-3)


def test_nan_and_infinity_stay_with_the_rows_that_take_them() -> None:
    plan = plan_attention(20, 100, 32, causal=True, maximum="first", target="bmg")
    q, k, v = random_arrays(plan)
    q[3, 5], v[0, 7] = np.nan, np.inf
    found = plan.simulate(q, k, v)
    assert same_bits(found, model(plan, q, k, v))
    assert np.isnan(found[3]).all()
    others = np.delete(found, 3, axis=0)
    assert np.isposinf(others[:, 7]).all()
    expected = np.delete(defined(plan.problem, q, k, np.where(np.isinf(v), 0, v)), 3, axis=0)
    assert np.allclose(np.delete(others, 7, axis=1), np.delete(expected, 7, axis=1), atol=2e-3)


def test_the_form_has_a_name() -> None:
    assert plan_attention(64, 64, target="bmg").maximum == "online"
    with pytest.raises(PlanError, match="maximum 'last': expected 'online' or 'first'"):
        plan_attention(64, 64, maximum="last", target="bmg")


def test_predicted_times_say_what_a_rerun_costs() -> None:
    """A rerun is longer than the short loop; so with all subgroups in it, the form is slower than the other one."""
    for target in ("bmg", "pvc"):
        for d in (64, 128):
            online, first = (
                times_of(plan_attention(4096, 4096, d, target=target, heads=16, maximum=form))
                for form in ("online", "first")
            )
            assert first.seconds < online.seconds < first.seconds + first.rerun
            assert first.break_even is not None
            assert first.seconds + first.break_even * first.rerun == pytest.approx(online.seconds)


# Mistakes in the text

PLAN = plan_attention(40, 203, 32, heads=2, kv_heads=1, subgroups=2, causal=True, maximum="first", target="bmg")
WIDE = plan_attention(16, 70, 112, maximum="first", target="bmg")
"""A head so wide that P is made behind a jump."""
LARGE = plan_attention(16, 203, 32, maximum="first", target="bmg")
SEEN, END = ("%seen_at = ",), ("%seen_at = ", "scf.yield", "}")
OTHER_TEXT = (
    "the results of two blocks of O are swapped",
    "the sums lose their accumulator",
    "m is not carried from loop to loop",
    "scores of some rows begin at the m of others",
)
OF_ANOTHER_M = range(list(ONLINE).index("m never changes"), list(ONLINE).index("m is that of the rows before") + 1)
MISTAKES: dict[str, Change] = {
    name: change
    for number, (name, change) in enumerate(ONLINE.items())
    if number not in OF_ANOTHER_M and name not in OTHER_TEXT
} | {
    "the results of two blocks of O are swapped": replaced(
        r"(scf.yield %\w+, )(%o0x0\w*), (%o0x1\w*)", r"\1\3, \2", behind=SEEN
    ),
    "the sums lose their accumulator": replaced(r"(%l1_\d+ = xegpu.dpas %\w+, %\w+, )%l1\w*", r"\1%zeros", behind=SEEN),
    "scores begin at 0": replaced(r"(%s1x3\w* = xegpu.dpas %\w+, %\w+, )%m1", r"\1%zeros", behind=SEEN),
    "scores of some rows begin at the m of others": replaced(
        r"(%s0x1_\d+ = xegpu.dpas %\w+, %\w+, )%m0", r"\1%m1", behind=SEEN
    ),
    "nobody is unsure": replaced(r"(%unsure = arith.cmpf )ogt", r"\1olt"),
    "everybody is unsure": replaced(r"(%unsure = arith.cmpf )ogt", r"\1oge"),
    "only some rows are asked": replaced(
        r"(arith.select %\w+, )(%\d+), %\d+( : vector<8xi1>)", r"\1\2, \2\3", behind=END
    ),
    "rows with no large weight are unsure": replaced(r"(cmpf )oge(, %\w+, %least_sum)", r"\1olt\2", behind=END),
    "the rerun begins later": replaced(r"(%large_at = )%c0_i32", r"\1%c32_i32"),
    "the rerun ends with the whole steps": replaced(r"(cmpi slt, %large_at, )%end", r"\1%full"),
    "the result is that of the short loop": replaced(
        r"(scf.yield )(%o0x0\w*), (%o0x1\w*)", r"\1\3, \2", behind=("%large_at = ", "scf.yield", "}")
    ),
}
MISTAKES_OF_LARGE_SCORES: dict[str, Change] = {
    "rows with a large m are not marked": replaced(r"(arith.select %\w+, %zeros, )%infinite", r"\1%zeros"),
    "sums without bound are called sure": replaced(r"cmpf olt, (%\w+), %infinite", r"cmpf oeq, \1, \1", behind=END),
}
MISTAKES_OF_BF16: dict[str, Change] = {
    "an infinite O is called finite": replaced(r"(%finite = arith.cmpf )oeq", r"\1ueq"),
    "finite rows are called infinite": replaced(r"(%finite = arith.cmpf )oeq", r"\1une"),
    "a block of O is not looked at": replaced(r"(arith.mulf )%o0x1\w*(, %zeros)", r"\1%zeros\2", behind=END),
    "whether O is finite is not asked": replaced(r"(arith.andi )(%\d+), %finite", r"\1\2, \2", behind=END),
    "O is multiplied by 1": replaced(r"(arith.mulf %o0x0\w*, )%zeros", r"\1%ones", behind=END),
}
MISTAKES_OF_WIDE_HEADS: dict[str, Change] = {
    "the jump is never taken": replaced(r"(%always\w* = arith.cmpi )eq", r"\1ne", behind=SEEN),
    "what the jump gives is swapped": replaced(
        r"(scf.yield )(%o0x0\w*), (%o0x1\w*)", r"\1\3, \2", behind=(*SEEN, "%always")
    ),
    "a wide head's sums lose their accumulator": replaced(
        r"(%l1_\d+ = xegpu.dpas %\w+, %\w+, )%l1\w*", r"\1%zeros", behind=(*SEEN, "%always")
    ),
}
HARMLESS: dict[str, Change] = {
    "the exact maximum begins at another low number": replaced(
        r"(%least = arith.constant dense<)0xFF7FFFFF", r"\g<1>-1.0e+30"
    ),
    "a prefetch asks for other keys": replaced(r"prefetch_nd (%\w+)\[%\w+", r"prefetch_nd \1[%row_index", behind=SEEN),
}


@cache
def arrays_and_result(plan: Attention) -> tuple[tuple[Array, Array, Array], Array]:
    """Random arrays; of one head the first 16 rows have some that overflow, and the others none."""
    q, k, v = random_arrays(plan)
    if plan is PLAN:
        q[1, 3:6] *= 32
    if plan is LARGE:  # the m of the first rows is near 10^5 for all keys, so nothing overflows
        q[:8, 0], q[8:, 0], k[:, 0] = 100, 0, 6000
    return (q, k, v), model(plan, q, k, v)


@cache
def of_bf16() -> tuple[Attention, tuple[Array, Array, Array], Array]:
    """Only O overflows, in one row, and there in the second of its blocks."""
    plan, (q, k, v) = one_high_key(110.0, "bf16", 2.0**40)
    q[:, 1:], k[:, 1:], v[:, :16] = (
        one[:, :count] for one, count in zip(random_arrays(plan, spread=0.5), (31, 31, 16), strict=True)
    )
    q[:3, 0], q[4:16, 0] = 0, 0
    return plan, (q, k, v), model(plan, q, k, v)


def test_the_arrays_have_both_rows_that_overflow_and_others() -> None:
    (q, k, v), _ = arrays_and_result(PLAN)
    executed = execute(PLAN, q, k, v, counted="messages")[1]
    assert executed is not None
    once_more = executed.dpas - PLAN.dpas_total
    steps = sum(steps.masked + 2 * steps.seen for row in (0, 16, 32) for steps in [PLAN.steps_of(row)])
    assert 0 < once_more < steps * PLAN.masked_step.dpas


@pytest.mark.parametrize("mistake", list(MISTAKES)[::4])
def test_mistakes_are_caught(mistake: str) -> None:
    assert change_is_seen(PLAN, MISTAKES[mistake], *arrays_and_result(PLAN))


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", [name for number, name in enumerate(MISTAKES) if number % 4])
def test_other_mistakes_are_caught(mistake: str) -> None:
    assert change_is_seen(PLAN, MISTAKES[mistake], *arrays_and_result(PLAN))


@pytest.mark.parametrize("mistake", MISTAKES_OF_BF16)
def test_mistakes_about_an_infinite_o_are_caught(mistake: str) -> None:
    plan, arrays, expected = of_bf16()
    assert change_is_seen(plan, MISTAKES_OF_BF16[mistake], arrays, expected)


@pytest.mark.parametrize("mistake", MISTAKES_OF_LARGE_SCORES)
def test_mistakes_about_a_large_m_are_caught(mistake: str) -> None:
    assert change_is_seen(LARGE, MISTAKES_OF_LARGE_SCORES[mistake], *arrays_and_result(LARGE))


@pytest.mark.parametrize("mistake", MISTAKES_OF_WIDE_HEADS)
def test_mistakes_of_wide_heads_are_caught(mistake: str) -> None:
    assert change_is_seen(WIDE, MISTAKES_OF_WIDE_HEADS[mistake], *arrays_and_result(WIDE))


@pytest.mark.parametrize("change", HARMLESS)
def test_changes_that_do_no_harm_are_not_called_mistakes(change: str) -> None:
    assert not change_is_seen(PLAN, HARMLESS[change], *arrays_and_result(PLAN))
