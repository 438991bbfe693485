"""Exchanges that are scheduled from tables."""

from __future__ import annotations

from random import Random

import pytest

from tests.conversion.brute_force import (
    L,
    check,
    fewest_planned,
    must_receive,
    must_send,
)
from tests.random_layouts import bits_pair, filled_pair, mixed_pair


@pytest.mark.parametrize(
    ("source", "destination", "most"),
    [
        ("d0 = 15@lane | replicas 15@sg", "d0 = 15@sg | replicas 15@lane", 15),  # one word to all lanes at once
        ("d0 = 12@lane | replicas 3@sg", "d0 = 3@sg 4@lane | replicas 3@lane:4", 6),
        ("d0 = 15@lane", "d0 = 15@reg | replicas 15@lane", 14),
    ],
)
def test_a_word_that_several_lanes_want_is_sent_once(source: str, destination: str, most: int) -> None:
    plan, _, _ = check(L(source), L(destination), 32, 0)
    assert fewest_planned(plan) <= most


def test_copies_in_registers_of_the_source_cost_no_shuffles() -> None:
    wanted = L("d0 = 3@reg:6 3@reg:2 2@reg 2@lane | replicas 3@lane:2")
    for source in (
        "d0 = 3@reg:4 2@reg:2 2@reg 3@lane:2 | replicas 2@lane",
        "d0 = 3@reg:12 2@reg:6 2@reg:3 3@lane:2 | replicas 2@lane 3@reg",
    ):
        plan, _, _ = check(L(source), wanted, 32, 0)
        assert fewest_planned(plan) == plan.lower_bound == 12


def test_subgroups_that_want_different_words_share_shuffles() -> None:
    a, b = L("d0 = 3@reg 2@lane, d1 = 4@lane:2 | replicas 2@sg"), L("d0 = 2@sg 3@reg, d1 = 4@lane | replicas 2@lane:4")
    plan, before, after = check(a, b, 32, 0)
    assert plan.shuffles == plan.lower_bound == must_receive(before, after, 32)


def _meet_the_bound(seed: int, count: int) -> None:
    random = Random(seed)
    bits = 32 << seed % 2
    for _ in range(count):
        plan, before, after = check(*filled_pair(random), bits, seed)
        assert (
            fewest_planned(plan) == plan.lower_bound == max(f(before, after, bits) for f in (must_receive, must_send))
        )


def test_words_of_mixed_digits_go_in_the_fewest_shuffles() -> None:
    _meet_the_bound(0, 15)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_words_of_mixed_digits_go_in_the_fewest_shuffles_in_all_cases(seed: int) -> None:
    _meet_the_bound(seed, 100)


def _copies_meet_the_bound(seed: int, count: int) -> int:
    """Random pairs with copies: how many plans are above their bound."""
    random, above, tried = Random(seed), 0, 0
    while tried < count:
        a, b = random.choice((bits_pair, mixed_pair))(random)
        if not a.canonical().replicas and not b.canonical().replicas:
            continue
        plan, before, after = check(a, b, 32, seed)
        if any(one.slm_bytes == 0 for one in plan.candidates):
            tried += 1
            assert plan.lower_bound >= must_receive(before, after, 32)
            above += fewest_planned(plan) > plan.lower_bound
    return above


def test_words_that_have_copies_go_in_the_fewest_shuffles() -> None:
    assert not _copies_meet_the_bound(1, 40)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_words_that_have_copies_go_in_the_fewest_shuffles_in_nearly_all_cases(seed: int) -> None:
    assert _copies_meet_the_bound(seed, 200) <= 2
