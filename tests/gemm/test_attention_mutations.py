"""Mistakes put into attention kernels: the simulator sees every one of them, in the result or by refusing the launch."""

from __future__ import annotations

from functools import cache

import pytest

from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.numerics import model
from tests.gemm.attention_changes import Change, change_is_seen, replaced, swapped
from tests.gemm.attention_runs import Array, random_arrays

CAUSAL = plan_attention(40, 203, 32, heads=2, kv_heads=1, subgroups=2, causal=True, target="bmg")
"""Small, and everything is there: several workgroups, keys that are left over, a head of K for two of Q."""
ALL_SEEN = plan_attention(8, 70, 32, target="bmg")
MASKED, SEEN, END = ("%masked_at = ",), ("%seen_at = ",), ("xegpu.store_nd",)
"""Where the loops begin, and what comes behind them."""
HIGHER, ADDED = (*SEEN, "scf.if"), (*SEEN, "scf.if", "} else {")
"""In the loop without a mask, where rows get another m, and where a step's keys are added."""


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
    "the results of two blocks of O are swapped": replaced(
        r"(scf.yield %\w+, %\w+, )(%\w+), (%\w+)", r"\1\3, \2", behind=ADDED
    ),
    "P goes to other rows": swapped(r"%o\dx0_\d+ = xegpu.dpas (%\w+)", behind=SEEN),
    # m to begin with
    "the first m is that of other keys": replaced(r"(%first_key = )%c0_i32", r"\1%c16_i32"),
    "the first m of a row is that of another": replaced(r"(vector.from_elements )(%\w+), (%\w+)", r"\1\3, \2"),
    "the first m of rows is 0": replaced(r"(arith.select %\w+, )%\w+(, %zeros)", r"\1%zeros\2"),
    "the first m has the other sign": replaced(r"arith.negf (%first0)", r"math.absf \1"),
    "m is not carried from loop to loop": replaced(r"(%m0_\d+ = )%m0\w*", r"\1%zeros", behind=SEEN),
    "scores of some rows begin at the m of others": replaced(
        r"(%s0x1_\d+ = xegpu.dpas %\w+, %\w+, )%m0", r"\1%m1", behind=SEEN
    ),
    # Another m
    "m never changes": replaced(r"(%limit = arith.constant 3.13\d+e\+0)1", r"\g<1>8"),
    "m changes too late": replaced(r"(%limit = arith.constant 3.13\d+e\+0)1", r"\g<1>2"),
    "all rows get another m": replaced(r"cmpf ogt, (%\w+), %limits", r"cmpf oeq, \1, \1", behind=HIGHER),
    "rows get another m too early": replaced(r"(%limits = arith.constant dense<3.13\d+e\+0)1", r"\g<1>0"),
    "m changes by too much": replaced(
        r"(%\d+ = arith.mulf )%\w+, %\w+( : vector<8xf32>)", r"\1%zeros, %zeros\2", behind=(*HIGHER, "math.absf")
    ),
    "m changes the other way": replaced(r"arith.subf (%m0_\w+, %rise)", r"arith.addf \1", behind=HIGHER),
    "the larger score forgets a block of keys": replaced(
        r"cmpf ogt, (%s0x3_\d+), (%\w+)", r"cmpf olt, \1, \1", behind=HIGHER
    ),
    "the smaller score wins": replaced(r"cmpf ogt, (%s1)", r"cmpf olt, \1", behind=HIGHER),
    "the scores are those of other keys": replaced(r"(arith.addi %seen_key, )%nought", r"\1%c16_i32", behind=HIGHER),
    "the scores are those of other rows": replaced(r"(arith.addi %row, )%nought", r"\1%c8_i32", behind=HIGHER),
    "the changes of two rows are swapped": replaced(
        r"(vector.from_elements )(%\w+), (%\w+)", r"\1\3, \2", behind=HIGHER
    ),
    "O is not rescaled": replaced(r"(%o0x1_\d+ = arith.mulf %\w+, )%f0\w*", r"\1%ones", behind=HIGHER),
    "O is rescaled for other rows": replaced(r"(%o1x0_\d+ = arith.mulf %\w+, )%f1(\w*)", r"\1%f0\2", behind=HIGHER),
    "the sums are not rescaled": replaced(r"(%l0_\d+ = arith.mulf %\w+, )%f0\w*", r"\1%ones", behind=HIGHER),
    "the change of m is not scaled": replaced(r"(arith.mulf %\w+, )%scale", r"\1%ones", behind=HIGHER),
    "the step goes on elsewhere": replaced(r"(scf.yield )%seen_key", r"\1%c0_i32", behind=HIGHER),
    "m is that of the rows before": replaced(r"(scf.yield .*?)(%m0\w*), (%m1\w*)", r"\1\3, \2", behind=HIGHER),
    # The scale, the sums
    "the scale has another last digit": replaced(r"(%scale = arith.constant dense<2.55)0", r"\g<1>1"),
    "the scale is missing once": replaced(r"(arith.mulf %\w+, )%scale", r"\1%ones", behind=SEEN),
    "the ones are twos": replaced(r"(%pair_of_ones = arith.constant )1006648320", r"\g<1>1073758208"),
    "every other one is 0": replaced(r"(%pair_of_ones = arith.constant )1006648320", r"\g<1>15360"),
    "what hides numbers changes them": replaced(r"(%nought = arith.shrsi %keys, )%c31_i32", r"\1%c2_i32"),
    "the sums of rows are swapped": swapped(r"%l\d_\d+ = xegpu.dpas (%\w+)", behind=SEEN),
    "the sums lose their accumulator": replaced(
        r"(%l1_\d+ = xegpu.dpas %\w+, %\w+, )%l1\w*", r"\1%zeros", behind=ADDED
    ),
    "the sums are not carried": replaced(r"(%l1_\d+ = )%l1\w*", r"\1%zeros", behind=SEEN),
    # Which keys count
    "the keys that are left over are missing": replaced(r"(%masked_at = )%full", r"\1%end"),
    "the mask is one key late": replaced(r"cmpi slt(, %\w+, %\w+ : vector<8xi32>)", r"cmpi sle\1", behind=MASKED),
    "the mask is one row late": replaced(r"dense<\[0, 1, 2, 3, 4, 5, 6, 7\]>", "dense<[1, 2, 3, 4, 5, 6, 7, 8]>"),
    "hidden scores are 0": replaced(r"(%hidden = arith.constant dense<)0xFF800000", r"\g<1>0.0"),
    "the loop begins a step late": replaced(r"(%seen_at = )%c0_i32", r"\1%c64_i32"),
    "the loop goes a step too far": replaced(r"(cmpi slt, %seen_at, )%full", r"\1%end"),
    "the loop takes keys twice": replaced(r"(arith.addi %seen_key, )%c64_i32", r"\1%c32_i32"),
    "the queries see a key less": replaced(r"(%seen_by_first = arith.addi %\w+, )%c1_i32 ", r"\1%c0_i32 "),
}
MISTAKES_WITHOUT_CAUSALITY: dict[str, Change] = {
    "a key too many counts": replaced(r"cmpi slt, (%own_key\w*), %keys", r"cmpi sle, \1, %keys", behind=MASKED),
    "a key too few counts": replaced(r"cmpi slt, (%own_key\w*), %keys", r"cmpi slt, \1, %c64_i32", behind=MASKED),
    "keys past the end are not masked": replaced(
        r"arith.select %\w+, (%s0x0\w*), %hidden : v", r"arith.addf \1, \1 : v", behind=MASKED
    ),
}
HARMLESS: dict[str, Change] = {
    "hidden scores are the least number": replaced(r"(%hidden = arith.constant dense<)0xFF800000", r"\g<1>0xFF7FFFFF"),
    "a prefetch asks for other keys": replaced(r"prefetch_nd (%\w+)\[%\w+", r"prefetch_nd \1[%row_index", behind=SEEN),
    "rows are looked at for another m too early": replaced(r"(%limit = arith.constant 3.13\d+e\+0)1", r"\g<1>0"),
    "a load asks for other caching": replaced(
        r"l1_hint = #xegpu.cache_hint<cached>", "l1_hint = #xegpu.cache_hint<uncached>"
    ),
}
"""Changes of the text that change no result: what says that the mistakes are caught for what they are."""


@cache
def arrays_and_result(plan: Attention) -> tuple[tuple[Array, Array, Array], Array]:
    """Random arrays; with a causal mask scores that rise twice, so that rows get another m in both loops."""
    q, k, v = random_arrays(plan, spread=2.0)
    if plan is CAUSAL:
        k[..., 64:128, :] *= 3
        k[..., 128:, :] *= 2
    return (q, k, v), model(plan, q, k, v)


def is_caught(plan: Attention, change: Change) -> bool:
    return change_is_seen(plan, change, *arrays_and_result(plan))


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
