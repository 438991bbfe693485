"""Exchanges that are scheduled from tables."""

from __future__ import annotations

import pytest

from tests.conversion.brute_force import (
    L,
    check,
    fewest_planned,
    must_receive,
)


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
