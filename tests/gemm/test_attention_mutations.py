"""Mistakes put into attention kernels: the simulator sees every one of them, in the result or by refusing the launch."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.numerics import model
from layoutalg.simulate import SimulationError
from tests.gemm.attention_runs import Array, random_arrays, same_bits

Change = Callable[[str], str]

CAUSAL = plan_attention(40, 203, 32, heads=2, kv_heads=1, subgroups=2, causal=True)
"""Small, and everything is there: several workgroups, keys that are left over, a head of K for two of Q."""
ALL_SEEN = plan_attention(8, 70, 32)
MASKED, SEEN, END = "%masked_at = ", "%seen_at = ", "xegpu.store_nd"
"""Where the loops begin, and what comes behind them."""


def replaced(pattern: str, by: str, *, behind: str = "") -> Change:
    """Other text for the first place that a pattern matches, behind a mark."""

    def change(text: str) -> str:
        start = text.index(behind) if behind else 0
        made, found = re.subn(pattern, by, text[start:], count=1)
        assert found, pattern
        return text[:start] + made

    return change


def swapped(pattern: str, *, behind: str = "") -> Change:
    """What the first two matches of a pattern have in their group, exchanged."""

    def change(text: str) -> str:
        one, other, *_ = re.compile(pattern).finditer(text, text.index(behind) if behind else 0)
        assert one[1] != other[1]
        between = text[one.end(1) : other.start(1)]
        return text[: one.start(1)] + other[1] + between + one[1] + text[other.end(1) :]

    return change


MISTAKES: dict[str, Change] = {
    # Addresses
    "the keys of two loads of K are swapped": swapped(r"%matrix_k\[(%\d+)", behind=SEEN),
    "a load of K takes other columns": replaced(r"(%matrix_k\[%\d+, )8\]", r"\g<1>0]", behind=SEEN),
    "the keys of two loads of V are swapped": swapped(r"%matrix_v\[(%\d+)", behind=SEEN),
    "a load of V takes other columns": replaced(r"(%matrix_v\[%\d+, )0\]", r"\g<1>16]", behind=SEEN),
    "two stores are swapped": swapped(r"%matrix_o\[%\w+, (\d+)", behind=END),
    "all subgroups take the first one's rows": replaced(r"(%row = arith.addi %\w+, )%\w+", r"\g<1>%c0_i32"),
    "all workgroups take the first one's rows": replaced(r"(arith.muli %block, )%c32_i32", r"\1%c0_i32"),
    "all heads take the first one's Q": replaced(r"arith.muli %\w+, (%stride_q)", r"arith.subi \1, \1"),
    "heads of Q do not share a head of K": replaced(r"arith.divui (%\w+), %\w+", r"arith.maxui \1, \1"),
    "the matrix of V has rows past its end": replaced(r"(%matrix_v = .*?\[%keys)_index, 32", r"\1_index, 64"),
    "rows of K are further apart": replaced(r"(%matrix_k = .*?strides : \[)16", r"\g<1>32"),
    # Cuts of messages
    "two blocks of rows of Q are swapped": swapped(r"vector.shuffle %q\w+, %q\w+ (\[.*?\])", behind=SEEN),
    "two cuts of V are swapped": swapped(r"vector.shuffle %v\w+, %v\w+ (\[.*?\])", behind=SEEN),
    # Products
    "a product of S loses its accumulator": replaced(
        r"(%s1x2_\d+ = xegpu.dpas %\w+, %\w+, )%s\w+", r"\1%zeros", behind=SEEN
    ),
    "a product of O loses its accumulator": replaced(
        r"(%o1x1_\d+ = xegpu.dpas %\w+, %\w+, )%o\w+", r"\1%zeros", behind=SEEN
    ),
    "O is not carried from loop to loop": replaced(r"(%o0x0_\d+ = )%o0x0", r"\1%zeros", behind=SEEN),
    "the results of two blocks of O are swapped": replaced(r"(scf.yield )(%\w+), (%\w+)", r"\1\3, \2", behind=SEEN),
    "P goes to other rows": swapped(r"%o\dx0_\d+ = xegpu.dpas (%\w+)", behind=SEEN),
    # The running maximum, the sums, the scale
    "O is not rescaled": replaced(r"(%o0x1_\d+ = arith.mulf %\w+, )%f0_1", r"\1%ones", behind=SEEN),
    "O is rescaled for other rows": replaced(r"(%o1x0_\d+ = arith.mulf %\w+, )%f1_1", r"\1%f0_1", behind=SEEN),
    "the maximum is not carried": replaced(r"(%m0_\d+ = )%m0", r"\1%least", behind=SEEN),
    "the maximum forgets a block of keys": replaced(r"cmpf ogt, (%\w+), %s0x3_\d+", r"cmpf oge, \1, \1", behind=SEEN),
    "the smaller maximum wins": replaced(r"cmpf ogt, (%m1_\d+)", r"cmpf olt, \1", behind=SEEN),
    "the maxima of two rows are swapped": replaced(r"(vector.from_elements )(%\w+), (%\w+)", r"\1\3, \2", behind=SEEN),
    "the scale has another last digit": replaced(r"(%scale = arith.constant dense<2.55)0", r"\g<1>1"),
    "the scale is missing once": replaced(r"(math.fma %s\w+, )%scale", r"\1%ones", behind=SEEN),
    "the maximum is not scaled": replaced(r"(arith.mulf %\w+, )%scale", r"\1%ones", behind=SEEN),
    "the sums are not rescaled": replaced(r"(%l0_\d+ = math.fma %\w+, )%f0_1", r"\1%ones", behind=SEEN),
    "the sums forget a block of keys": replaced(r"(%l1_\d+ = arith.addf %\w+, )%p1x2", r"\1%zeros", behind=SEEN),
    "the sums are not carried": replaced(r"(%l1_\d+ = )%l1", r"\1%zeros", behind=SEEN),
    "lanes are added to themselves": replaced(r"(gpu.shuffle xor %\w+, )%\w+", r"\1%c0_i32", behind=END),
    "sums of rounded weights": replaced(r"(%l0_\d+ = arith.addf %\w+, )%p0x1_1", r"\1%p0x0_1", behind=SEEN),
    # Which keys count
    "the keys that are left over are missing": replaced(r"(%masked_key = %full to )%end", r"\1%full"),
    "the mask is one key late": replaced(r"cmpi slt(, %\w+, %\w+ : vector<8xi32>)", r"cmpi sle\1", behind=MASKED),
    "the mask is one row late": replaced(r"dense<\[0, 1, 2, 3, 4, 5, 6, 7\]>", "dense<[1, 2, 3, 4, 5, 6, 7, 8]>"),
    "hidden scores are 0": replaced(r"(%hidden = arith.constant dense<)0xFF800000", r"\g<1>0.0"),
    "the loop begins a step late": replaced(r"(%seen_key = )%c0_i32", r"\1%c64_i32"),
    "the loop goes a step too far": replaced(r"(%seen_key = %c0_i32 to )%full", r"\1%end"),
    "the loop takes keys twice": replaced(r"(%seen_key = %c0_i32 to %full step )%c64_i32", r"\1%c32_i32"),
    "the queries see a key less": replaced(r"(%seen_by_first = arith.addi %\w+, )%c1_i32 ", r"\1%c0_i32 "),
}
MISTAKES_WITHOUT_CAUSALITY: dict[str, Change] = {
    "a key too many counts": replaced(r"cmpi slt, (%\w+), %keys", r"cmpi sle, \1, %keys", behind=MASKED),
    "a key too few counts": replaced(r"cmpi slt, (%\w+), %keys", r"cmpi slt, \1, %c64_i32", behind=MASKED),
    "keys past the end are not masked": replaced(
        r"arith.select %\w+, (%s0x0\w*), %hidden : v", r"arith.addf \1, \1 : v"
    ),
}
HARMLESS: dict[str, Change] = {
    "hidden scores are the least number": replaced(r"(%hidden = arith.constant dense<)0xFF800000", r"\g<1>0xFF7FFFFF"),
    "a prefetch asks for other keys": replaced(r"prefetch_nd (%\w+)\[%\w+", r"prefetch_nd \1[%row_index", behind=SEEN),
    "a load asks for other caching": replaced(
        r"l1_hint = #xegpu.cache_hint<cached>", "l1_hint = #xegpu.cache_hint<uncached>"
    ),
}
"""Changes of the text that change no result: what says that the mistakes are caught for what they are."""


@cache
def arrays_and_result(plan: Attention) -> tuple[tuple[Array, Array, Array], Array]:
    arrays = random_arrays(plan, spread=2.0)
    return arrays, model(plan, *arrays)


def is_caught(plan: Attention, change: Change) -> bool:
    text = plan.emit()
    wrong = change(text)
    assert wrong != text
    arrays, expected = arrays_and_result(plan)
    try:
        return not same_bits(plan.simulate(*arrays, wrong), expected)
    except SimulationError:
        return True


@pytest.mark.parametrize("mistake", list(MISTAKES)[::2])
def test_mistakes_are_caught(mistake: str) -> None:
    assert is_caught(CAUSAL, MISTAKES[mistake])


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", list(MISTAKES)[1::2])
def test_other_mistakes_are_caught(mistake: str) -> None:
    assert is_caught(CAUSAL, MISTAKES[mistake])


@pytest.mark.parametrize("mistake", MISTAKES_WITHOUT_CAUSALITY)
def test_mistakes_of_the_mask_for_keys_that_do_not_exist_are_caught(mistake: str) -> None:
    assert is_caught(ALL_SEEN, MISTAKES_WITHOUT_CAUSALITY[mistake])


@pytest.mark.parametrize("change", HARMLESS)
def test_changes_that_do_no_harm_are_not_called_mistakes(change: str) -> None:
    assert not is_caught(CAUSAL, HARMLESS[change])
