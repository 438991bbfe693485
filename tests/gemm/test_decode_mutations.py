"""Mistakes put into kernels of decode: the simulator sees every one of them, in the result or by refusing the launch."""

from __future__ import annotations

from functools import cache

import pytest

import layoutalg as la
from layoutalg.gemm.attention.decode import Decode
from layoutalg.gemm.attention.decode.numerics import model
from layoutalg.simulate import SimulationError
from tests.gemm.attention_runs import Array, same_bits
from tests.gemm.decode_runs import random_arrays
from tests.gemm.test_attention_mutations import Change, replaced, swapped

PARTS = la.plan_decode(150, 32, heads=10, kv_heads=2, batch=3, queries=2, parts=3, target="bmg")
PAGED = la.plan_decode(140, 32, heads=6, kv_heads=2, batch=3, parts=1, page=16, order="nhd", target="bmg")
HEADS = la.plan_decode(150, 32, heads=6, kv_heads=2, batch=3, parts=1, page=64, order="hnd", target="bmg")
"""Small, and together everything is there: parts, padding, both orders, a page of half a step and one of two steps."""
LENGTHS = [71, 64, 140]
SEEN, MASKED = ("%seen_key = ",), ("%masked_key = ",)
"""Where the loops begin."""
KEPT, COMBINED, ADDED = ("%matrix_w = ",), ("@decode_combine",), ("@decode_combine", "%added_part = ")

MISTAKES: dict[str, Change] = {
    # Which rows and keys
    "all groups take the first one's rows": replaced(r"(%first_row = arith.muli %group, )%c10_i32", r"\1%c0_i32"),
    "groups lie further apart": replaced(r"(%first_row = arith.muli %group, )%c10_i32", r"\1%c16_i32"),
    "the lengths are those of groups": replaced(r"(arith.extui )%sequence", r"\1%group"),
    "the lengths are eight bytes apart": replaced(r"(arith.constant )4( : i64)", r"\g<1>8\2"),
    "all sequences are full": replaced(r"(%length = arith.maxsi )%\w+, %c0_i32", r"\1%keys, %c0_i32"),
    "all heads take the first one's keys": replaced(r"arith.remui %group, (%\w+)", r"arith.subi \1, \1"),
    "sequences lie as far apart as heads": replaced(r"(arith.muli %\w+, )%c2_i64", r"\1%c64_i64"),
    "rows of K are further apart": replaced(r"(%matrix_k = .*?strides : \[)16", r"\g<1>32"),
    "V goes on behind the sequence": replaced(r"(%matrix_v = .*?shape : \[)%keys_end", r"\1%rows_end"),
    "Q goes on behind the group": replaced(r"(%rows_end = arith.index_cast )%\w+", r"\1%everything"),
    # Parts
    "all parts begin at the first key": replaced(r"(%begin = arith.muli %part, )%\w+", r"\1%c0_i32"),
    "parts are one step too short": replaced(r"(%\w+ = arith.addi %\w+, )%c2_i32", r"\1%c0_i32"),
    "parts go on to the end": replaced(r"(%end = arith.minsi )%\w+, %length", r"\1%length, %length"),
    "a part ends with half a step": replaced(r"(%begin, )%keys_of_part", r"\1%c16_i32"),
    "a part writes where the first one does": replaced(r"(%first_of_part = arith.muli %part, )%\w+", r"\1%c0_i32"),
    "a part's padding is written": replaced(r"(%part_end = arith.index_cast )%\w+", r"\1%everything"),
    "groups share a workspace": replaced(r"arith.muli (%\w+), (%c7680_i64)", r"arith.subi \2, \2"),
    "two blocks of the workspace are swapped": swapped(r"%matrix_w\[%row_of_part, (\d+)", behind=KEPT),
    "m and l are swapped": replaced(
        r"(%matrix_w\[%row_of_part, )32([\s\S]*?%matrix_w\[%row_of_part, )48", r"\g<1>48\g<2>32", behind=KEPT
    ),
    # The mask
    "the mask is one key late": replaced(r"cmpi slt(, %\w+, %behind0)", r"cmpi sle\1", behind=MASKED),
    "the queries are the other way round": replaced(r"dense<\[-1, 0, -1, 0", "dense<[0, -1, 0, -1"),
    "all queries see the last key": replaced(r"dense<\[-1, 0, -1, 0, -1, 0, -1, 0\]>", "dense<0>"),
    "keys of the last query are not masked": replaced(r"(%\w+ = arith.subi %length, )%c1_i32", r"\1%c0_i32"),
    "the mask begins with other keys": replaced(r"(%own_key = arith.addi %masked_key, )%lane", r"\1%c16_i32"),
    "the masked loop begins late": replaced(r"(%masked_from = arith.maxsi %begin, )%stop", r"\1%end"),
    "the loop begins a step late": replaced(r"(%seen_key = )%begin", r"\1%c32_i32"),
    "the loop takes keys twice": replaced(r"(%seen_key = %begin to %stop step )%c32_i32", r"\1%c16_i32"),
    # The step
    "the keys of two loads of K are swapped": swapped(r"%matrix_k\[(%\d+)", behind=SEEN),
    "a load of K takes other columns": replaced(r"(%matrix_k\[%\d+, )8\]", r"\g<1>0]", behind=SEEN),
    "two cuts of V are swapped": swapped(r"vector.shuffle %v\w+, %v\w+ (\[.*?\])", behind=SEEN),
    "two blocks of rows of Q are swapped": swapped(r"vector.shuffle %q\w+, %q\w+ (\[.*?\])", behind=SEEN),
    "a product of S loses its accumulator": replaced(
        r"(%s0x0_\d+ = xegpu.dpas %\w+, %\w+, )%s\w+", r"\1%zeros", behind=SEEN
    ),
    "the maximum of a row is another's": replaced(r"(vector.from_elements )(%\w+), (%\w+)", r"\1\3, \2", behind=SEEN),
    "a block of keys is not in the maximum": replaced(r"cmpf ogt, %s0x1\w*, (%\w+)", r"cmpf olt, \1, \1", behind=SEEN),
    "the maximum forgets the steps before": replaced(
        r"(%m0_\d+ = arith.select %\w+, %\w+, )%m0\w*", r"\1%lowest", behind=SEEN
    ),
    "O is not rescaled": replaced(r"(%o0x1_\d+ = arith.mulf %\w+, )%f0", r"\1%scale", behind=SEEN),
    "O is rescaled for other rows": replaced(r"(%o1x0_\d+ = arith.mulf %\w+, )%f1", r"\1%f0", behind=SEEN),
    "the sums are not rescaled": replaced(
        r"%l0_\d+ = arith.mulf (%\w+), %f0", r"%l0_2 = arith.addf \1, %zeros", behind=SEEN
    ),
    "m is not scaled": replaced(r"(%\d+ = arith.mulf %\w+, )%scale(.*\n\s*%f0)", r"\1%zeros\2", behind=SEEN),
    "the scale has another last digit": replaced(r"(%scale = arith.constant dense<2.55)0", r"\g<1>1"),
    "the ones are twos": replaced(r"(%pair_of_ones = arith.constant )1006648320", r"\g<1>1073758208"),
    "what hides the ones changes them": replaced(r"(%nought = arith.shrsi %keys, )%c31_i32", r"\1%c2_i32"),
    "the sums of rows are swapped": swapped(r"%l\d_\d+ = xegpu.dpas (%\w+)", behind=SEEN),
    "a product of O loses its accumulator": replaced(
        r"(%o1x1_\d+ = xegpu.dpas %\w+, %\w+, )%o\w+", r"\1%zeros", behind=SEEN
    ),
    "the loop hands over other rows": replaced(r"(scf.yield )(%\w+), (%\w+)", r"\1\3, \2", behind=SEEN),
    # The second kernel
    "the largest m forgets a part": replaced(r"cmpf ogt, %m_2, (%\w+)", r"cmpf olt, \1, \1", behind=COMBINED),
    "a part is added twice": replaced(r"(arith.addi %added_part, )%c2_i32", r"\1%c1_i32", behind=COMBINED),
    "a weight is that of another part": replaced(r"(math.fma )%w_1(, %o)", r"\1%w\2", behind=ADDED),
    "the sums are not weighed": replaced(r"(math.fma )%w(, %l)", r"\1%whole\2", behind=ADDED),
    "m and l are read the other way": replaced(r"(%l = .*?%\w+, )48", r"\g<1>32", behind=ADDED),
    "all rows are the first ones": replaced(r"(%own_row = arith.muli %\w+, )%c8_i32", r"\1%c0_i32", behind=COMBINED),
    "all columns are the first ones": replaced(r"(%column = )arith.muli %\w+, %c16", r"\1arith.subi %c16, %c16"),
    "the result of another group is written over": replaced(
        r"(%rows_end = arith.index_cast )%\w+", r"\1%everything", behind=COMBINED
    ),
    "O is not divided": replaced(r"(%inverse = arith.select %\w+, )%\w+", r"\1%whole", behind=COMBINED),
}
PAGED_MISTAKES: dict[str, Change] = {
    "all sequences have the first one's pages": replaced(r"(%entries = arith.muli %sequence, )%\w+", r"\1%c0_i32"),
    "a sequence has one entry less": replaced(r"(%\w+ = arith.addi %keys, )%c15_i32", r"\1%c0_i32"),
    "entries are two bytes apart": replaced(r"(arith.muli %\w+, )%c4_i64", r"\1%c2_i64", behind=SEEN),
    "both halves of a step are in one page": replaced(r"(arith.addi %seen_key, )%c16_i32", r"\1%c0_i32"),
    "pages lie closer": replaced(r"(%row_of_page = arith.muli %page, )%c16_i32", r"\1%c15_i32"),
    "the page is that of the number": replaced(r"(%row_of_page = arith.muli )%page", r"\1%number_of_page"),
    "a page behind the sequence is looked up": replaced(
        r"(%\w+ = arith.minsi )(%number_of_page_3), %last_page", r"\1\2, \2"
    ),
    "values behind the sequence count": replaced(r"(arith.subi %length, )%masked_key", r"\1%c0_i32", behind=MASKED),
    "the last page has no values": replaced(r"(%values_end = arith.select %\w+, )%\w+", r"\1%c1_i32", behind=MASKED),
    "all heads take the first one's keys": replaced(r"(%k_of_head = )arith.addi %k, %\w+", r"\1arith.ori %k, %k"),
    "a padded row is stored": replaced(r"(%o_end = arith.index_cast )%\w+", r"\1%everything"),
}
MISTAKES_OF_HEADS: dict[str, Change] = {
    "heads of a page are not skipped": replaced(r"(%\w+ = arith.muli %page, )%c2_i32", r"\1%c1_i32", behind=SEEN),
    "the head is another": replaced(r"(%\w+ = arith.addi %\w+, )%head", r"\1%c0_i32", behind=SEEN),
    "the second half of a page is the first": replaced(r"(arith.andi %seen_key, )%c63_i32", r"\1%c0_i32"),
}
HARMLESS: dict[str, Change] = {
    "a load asks for other caching": replaced(
        r"l1_hint = #xegpu.cache_hint<cached>", "l1_hint = #xegpu.cache_hint<uncached>"
    ),
    "a sequence is cut to the room that there is": replaced(
        r"arith.minsi %given_length, %keys", "arith.addi %given_length, %c0_i32"
    ),
}
"""Changes of the text that change no result: what says that the mistakes are caught for what they are."""


@cache
def arrays_and_result(plan: Decode) -> tuple[tuple[Array, ...], Array]:
    """Random arrays with scores that rise and fall from step to step."""
    q, k, v, *table = random_arrays(plan, LENGTHS, spread=2.0)
    return (q, k, v, *table), model(plan, q, k, v, LENGTHS, *table)


def is_caught(plan: Decode, change: Change) -> bool:
    text = plan.emit()
    text = text.replace("%scale = ", "%everything = arith.constant 16777216 : i32\n      %scale = ")
    wrong = change(text)
    assert wrong != text
    (q, k, v, *table), expected = arrays_and_result(plan)
    try:
        return not same_bits(plan.simulate(q, k, v, LENGTHS, *(table or [None]), text=wrong), expected)
    except SimulationError:
        return True


@pytest.mark.parametrize("mistake", list(MISTAKES)[::4])
def test_mistakes_are_caught(mistake: str) -> None:
    assert is_caught(PARTS, MISTAKES[mistake])


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", [name for number, name in enumerate(MISTAKES) if number % 4])
def test_other_mistakes_are_caught(mistake: str) -> None:
    assert is_caught(PARTS, MISTAKES[mistake])


@pytest.mark.parametrize("mistake", PAGED_MISTAKES)
def test_mistakes_of_pages_are_caught(mistake: str) -> None:
    assert is_caught(PAGED, PAGED_MISTAKES[mistake])


@pytest.mark.parametrize("mistake", MISTAKES_OF_HEADS)
def test_mistakes_of_heads_in_pages_are_caught(mistake: str) -> None:
    assert is_caught(HEADS, MISTAKES_OF_HEADS[mistake])


@pytest.mark.parametrize("change", HARMLESS)
def test_changes_that_do_no_harm_are_not_called_mistakes(change: str) -> None:
    assert not is_caught(PARTS, HARMLESS[change])
