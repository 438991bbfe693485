"""Attention over packed sequences of different lengths, and mistakes in kernels with pitches, windows and sequences."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from layoutalg.cli import main
from layoutalg.core.errors import PlanError
from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.numerics import model
from layoutalg.gemm.attention.run import execute
from layoutalg.gemm.hosts import ROUTES
from tests.gemm.attention_changes import Change, change_is_seen, replaced
from tests.gemm.attention_runs import Array, defined, random_arrays, same_bits


def packed(lengths_q: list[int], lengths_k: list[int], d: int = 64, **more: Any) -> Attention:
    starts_q, starts_k = (tuple(np.cumsum([0, *lengths]).tolist()) for lengths in (lengths_q, lengths_k))
    more = {"order": "bshd", "starts_q": starts_q, "starts_k": starts_k, **more}
    return plan_attention(starts_q[-1], starts_k[-1], d, **more)


def check(plan: Attention, seed: int = 0) -> None:
    arrays = random_arrays(plan, seed)
    found, executed = execute(plan, *arrays, counted="messages")
    assert same_bits(found, model(plan, *arrays))
    assert np.abs(found - defined(plan.problem, *arrays)).max() < (3e-2 if plan.problem.type == "bf16" else 3e-3)
    assert executed is not None
    loaded = executed.total("load")
    assert (executed.dpas, loaded.messages, loaded.bytes) == (plan.dpas_total, plan.messages_total, plan.bytes_total)
    assert executed.total("prefetch").messages == plan.prefetches_total


@pytest.mark.parametrize(
    ("lengths_q", "lengths_k", "more"),
    [
        ([5], [7], {}),
        ([1, 40, 0, 17], [30, 0, 12, 101], {"heads": 2, "kv_heads": 1, "causal": True}),
        ([33, 1, 1], [33, 1, 90], {"d": 128, "type": "bf16", "causal": True, "window": 9, "heads": 2}),
        ([20, 3], [0, 70], {"d": 144, "ldq": 160, "ldk": 160, "ldv": 160, "ldo": 192, "out": "f16"}),
        ([0, 0, 8], [3, 0, 64], {"heads": 3, "d": 32, "subgroups": 2}),
    ],
    ids=str,
)
def test_sequences_of_any_length_give_the_models_bits(
    lengths_q: list[int], lengths_k: list[int], more: dict[str, Any]
) -> None:
    check(packed(lengths_q, lengths_k, **more))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(40))
def test_random_sequences_give_the_models_bits(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, causal = int(random.integers(1, 7)), bool(random.integers(2))
    lengths_q, lengths_k = (random.integers(0, most, count) * random.integers(0, 2, count) for most in (90, 200))
    lengths_q[0] += 1
    lengths_k[-1] += 1
    window = int(random.integers(1, 120)) if causal and random.integers(2) else None
    more: dict[str, Any] = {"d": 32 * int(random.integers(1, 9)), "causal": causal, "window": window}
    group, subgroups = int(random.integers(1, 4)), int(random.integers(1, 9))
    check(
        packed(lengths_q.tolist(), lengths_k.tolist(), **more, heads=group * 2, kv_heads=2, subgroups=subgroups), seed
    )


def test_a_sequence_reads_and_writes_nothing_of_its_neighbours() -> None:
    """What is not a number in the other sequences shows nowhere, and the results are those of the sequence alone."""
    plan = packed([20, 33, 9], [40, 50, 70], heads=2, causal=True)
    q, k, v = random_arrays(plan)
    alone = plan_attention(33, 50, 64, heads=2, causal=True, order="bshd", target="bmg")
    expected = alone.simulate(q[20:53], k[40:90], v[40:90])
    for array, (low, high) in ((q, (20, 53)), (k, (40, 90)), (v, (40, 90))):
        array[:low], array[high:] = np.nan, np.nan
    found = plan.simulate(q, k, v)
    assert same_bits(found[20:53], expected)
    assert np.isnan(found[:20]).all()
    assert np.isnan(found[53:]).all()


def test_the_text_does_not_depend_on_where_sequences_begin() -> None:
    one, other = packed([20, 33], [40, 50], subgroups=2), packed([3, 17], [1, 200], subgroups=2)
    assert one.emit() == other.emit()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"starts_q": (0, 5)}, "starts_q goes from 0 to 5: the first sequence begins at 0, and the last one ends at 8"),
        ({"starts_q": (0, 5, 3, 8)}, "starts_q[2] = 3: a sequence does not end before it begins, at 5"),
        ({"starts_q": (0, 9)}, "starts_q[1] = 9: expected a whole number from 0 to 8, the number of rows"),
        ({"starts_q": (0, 2.5, 8)}, "starts_q[1] = 2.5: expected a whole number"),
        ({"starts_q": "08"}, "starts_q = '08': expected where sequences begin, such as (0, 8)"),
        ({"starts_q": np.array(8)}, "starts_q = array(8): expected where sequences begin"),
        ({"starts_q": ()}, "starts_q goes from nothing"),
        ({"starts_k": None}, "starts_k = None: expected where sequences begin"),
        ({"starts_k": (0, 1, 8)}, "starts_q has 1 sequences, and starts_k has 2"),
        ({"order": "bhsd"}, "packed sequences have one batch in the order 'bshd'"),
        ({"batch": 2}, "packed sequences have one batch in the order 'bshd'"),
        (
            {"ldk": 72},
            "a sequence begins at any row, so not at a multiple of 64 bytes, as a 2D block message needs; ldk = 96",
        ),
    ],
    ids=str,
)
def test_sequences_that_cannot_be_planned_are_refused_in_words(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"order": "bshd", "starts_q": (0, 8), "starts_k": (0, 8), **arguments}
    with pytest.raises(PlanError) as refused:
        plan_attention(8, 8, 64, **given)
    assert words in str(refused.value)


def test_launch_and_command_line_have_where_sequences_begin(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_attention(8, 9, 64, order="bshd", starts_q=(0, 3, 8), starts_k=(0, 9, 9), target="bmg")
    assert [one.get("numbers") for one in plan.launch.as_json()["arguments"][3:6]] == [None, (0, 3, 8), (0, 9, 9)]
    sizes = ["attention", "8", "9", "--target", "bmg", "--order", "bshd", "--starts-q"]
    assert main([*sizes, "0,3,8", "--starts-k", "0,9,9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["launch"] == json.loads(plan.launch.json())
    for starts, words in (("0,3", "first sequence begins at 0"), ("0;8", "expected --starts-q: whole numbers")):
        assert main([*sizes, starts, "--starts-k", "0,9"]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("route", ROUTES)
def test_hosts_write_where_sequences_begin(route: str) -> None:
    """Two sequences of 3 and 5 queries; 9 and no keys. A host that allocates 3 numbers each fills them with these."""
    text = plan_attention(8, 9, 64, order="bshd", starts_q=(0, 3, 8), starts_k=(0, 9, 9), target="bmg").host(route)
    for name, numbers in (("starts_q", "0, 3, 8"), ("starts_k", "0, 9, 9")):
        assert (f"'{name}': [{numbers}]" if route == "pyopencl" else f"{name}[3] = {{{numbers}}};") in text


# Mistakes

MASKED, SEEN, END = ("%masked_at = ",), ("%seen_at = ",), ("xegpu.store_nd",)
ROWS = plan_attention(
    20,
    70,
    32,
    heads=4,
    kv_heads=2,
    batch=2,
    order="bshd",
    causal=True,
    ldq=160,
    ldk=96,
    ldv=128,
    ldo=144,
    subgroups=2,
    target="bmg",
)
WITH_PITCHES: dict[str, Change] = {
    "the pitch of Q is that of K": replaced(r"(%pitch_q = arith.index_cast )%ldq", r"\1%ldk"),
    "the pitch of V is that of K": replaced(r"(%pitch_v = arith.index_cast )%ldv", r"\1%ldk"),
    "the pitch of O is that of Q": replaced(r"(%pitch_o = arith.index_cast )%ldo", r"\1%ldq"),
    "K has its pitch in elements": replaced(r"arith.divui (%ldk), %\w+", r"arith.maxui \1, \1"),
    "rows of K follow one another": replaced(r"(%matrix_k = .*?strides : \[)%\w+", r"\g<1>16"),
    "rows of V follow one another": replaced(r"(%matrix_v = .*?strides : \[)%\w+", r"\g<1>32"),
    "all heads are the first": replaced(r"arith.remui (%\w+), (%c4)\b", r"arith.subi \1, \1"),
    "all batches are the first": replaced(r"arith.divui (%\w+), (%c4)\b", r"arith.subi \1, \1"),
    "heads are rows": replaced(r"arith.muli (%\w+), %c32_i64", r"arith.muli \1, %stride_q"),
    "heads of K are as many as of Q": replaced(r"arith.divui (%\w+), %c2\b", r"arith.maxui \1, \1"),
    "batches of Q have the stride of K": replaced(r"(arith.muli %\w+, )%stride_q", r"\1%stride_k"),
    "batches of O have the stride of V": replaced(r"(arith.muli %\w+, )%stride_o", r"\1%stride_v"),
    "elements of O have 2 bytes": replaced(r"(arith.muli %\w+, )%c4_i64", r"\1%c2_i64"),
}
WINDOW = plan_attention(40, 300, 32, causal=True, window=110, subgroups=1, target="bmg")
WITH_A_WINDOW: dict[str, Change] = {
    "the window is as wide as there are queries": replaced(r"(arith.addi %\w+, )%window", r"\1%queries", behind=MASKED),
    "the window begins a key later": replaced(
        r"arith.cmpi slt, (%\w+), (%rows0)", r"arith.cmpi sle, \1, \2", behind=(*MASKED, "%reached", "arith.select")
    ),
    "the window has no beginning": replaced(
        r"(arith.select %\w+, )%hidden, (%\w+)", r"\1\2, \2", behind=(*MASKED, "%reached")
    ),
    "the window hides what it shows": replaced(
        r"(arith.select %\w+, )%hidden, (%\w+)", r"\1\2, %hidden", behind=(*MASKED, "%reached")
    ),
    "the window of the last row is that of the first": replaced(
        r"(%window_of_last = arith.addi %\w+, )%c15_i32", r"\1%c0_i32"
    ),
    "the first row's window begins later": replaced(r"(%lowest = arith.maxsi )%window_of_first", r"\1%window_of_last"),
    "whole steps begin a step late": replaced(
        r"(%inner = arith.minsi )%\w+, %full_in_window", r"\1%full_in_window, %full_in_window"
    ),
    "whole steps begin at key 0": replaced(r"(%seen_at = )%inner", r"\1%c0_i32"),
    "steps with a mask go on behind the first": replaced(
        r"(%behind = arith.select %\w+, )%full_in_window, (%\w+)", r"\1\2, \2"
    ),
    "steps with a mask are the last ones alone": replaced(r"(%masked_at = )%masked_from", r"\1%full_in_window"),
    "steps with a mask are the first ones alone": replaced(
        r"(%behind = arith.select %\w+, )%full_in_window", r"\1%end"
    ),
    "the first m is that of key 0": replaced(r"(%first_key = )%lowest", r"\1%c0_i32"),
    "a window is as wide as the matrix": replaced(r"(%window_of_first = arith.subi %\w+, )%window", r"\1%keys"),
}
SEQUENCES = packed([20, 3, 33], [40, 70, 50], 32, heads=2, kv_heads=1, subgroups=2)
WITH_SEQUENCES: dict[str, Change] = {
    "all sequences are the first": replaced(r"arith.divui (%\w+), (%c2)\b", r"arith.subi \1, \1"),
    "all heads are the first": replaced(r"(%head = arith.)remui (%\w+), %\w+", r"\1subi \2, \2"),
    "a sequence ends with the next one": replaced(r"(arith.addi %sequence, )%c1_i32", r"\1%c2_i32"),
    "queries begin where keys do": replaced(r"arith.addi %starts_q,", "arith.addi %starts_k,"),
    "keys begin where queries do": replaced(r"arith.addi %starts_k,", "arith.addi %starts_q,"),
    "numbers are 2 bytes apart": replaced(r"arith.muli (%\w+), %c4_i64", r"arith.addi \1, \1"),
    "a sequence has the queries of all before": replaced(r"(%queries = arith.subi %end_q, )%begin_q", r"\1%c0_i32"),
    "a sequence has the keys of all before": replaced(r"(%keys = arith.subi %end_k, )%begin_k", r"\1%c0_i32"),
    "Q is that of the first sequence": replaced(r"arith.extui %begin_q", "arith.extui %c0_i32"),
    "K is that of the first sequence": replaced(r"arith.extui %begin_k", "arith.extui %c0_i32"),
    "K has the pitch of Q": replaced(r"arith.extui %ldk", "arith.extui %ldq"),
    "O has the first rows of Q alone": replaced(r"(%matrix_o = .*?shape : \[)%queries_index", r"\1%keys_index"),
    "V is as high as Q": replaced(r"(%matrix_v = .*?shape : \[)%keys_index", r"\1%queries_index"),
    "K is as high as Q": replaced(r"(%matrix_k = .*?shape : \[)%keys_index", r"\1%queries_index"),
    "subgroups with rows leave": replaced(r"(cmpi )slt(, %row, %queries)", r"\1sgt\2"),
    "keys are masked by the queries": replaced(r"(cmpi slt, %own_key\w*, )%keys", r"\1%queries", behind=MASKED),
}
FORMS = {"pitches": (ROWS, WITH_PITCHES), "window": (WINDOW, WITH_A_WINDOW), "sequences": (SEQUENCES, WITH_SEQUENCES)}
CHANGES = [(form, mistake) for form, (_, mistakes) in FORMS.items() for mistake in mistakes]


@cache
def arrays_and_result(form: str) -> tuple[tuple[Array, Array, Array], Array]:
    plan = FORMS[form][0]
    arrays = random_arrays(plan, spread=2.0)
    return arrays, model(plan, *arrays)


@pytest.mark.parametrize(("form", "mistake"), CHANGES[::5])
def test_mistakes_are_caught(form: str, mistake: str) -> None:
    plan, mistakes = FORMS[form]
    assert change_is_seen(plan, mistakes[mistake], *arrays_and_result(form))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("form", "mistake"), [one for place, one in enumerate(CHANGES) if place % 5])
def test_other_mistakes_are_caught(form: str, mistake: str) -> None:
    plan, mistakes = FORMS[form]
    assert change_is_seen(plan, mistakes[mistake], *arrays_and_result(form))
