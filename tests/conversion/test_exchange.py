"""Exchanges within a subgroup: the shuffles that were counted by hand."""

from __future__ import annotations

import pytest

from tests.conversion.brute_force import (
    L,
    check,
)


def test_a_transposed_tile_takes_a_word_from_every_other_lane() -> None:
    plan, _, _ = check(L("d0 = 16@reg, d1 = 16@lane"), L("d0 = 16@lane, d1 = 16@reg"), 32, 0)
    assert (plan.shuffles, plan.lower_bound, plan.slm_bytes) == (15, 15, 0)


def test_four_exchanged_bits_of_thirty_two_lanes() -> None:
    plan, _, _ = check(L("d0 = 16@reg, d1 = 2@lane:16 16@lane"), L("d0 = 16@lane, d1 = 2@lane:16 16@reg"), 32, 0)
    assert (plan.shuffles, plan.slm_bytes) == (15, 0)


@pytest.mark.parametrize(
    ("a", "b", "bits", "shuffles"),
    [
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 32, 8),  # lanes permuted: every register
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 16, 4),  # two elements of 16 bits at once
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 8, 2),
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 64, 16),
        (
            "d0 = 2@reg:4 4@reg, d1 = 2@lane:8 8@lane",
            "d0 = 2@lane:8 4@reg, d1 = 2@reg:4 8@lane",
            32,
            4,
        ),  # one bit: half
        ("d0 = 4@reg, d1 = 16@lane", "d0 = 4@reg, d1 = 16@lane", 32, 0),
    ],
)
def test_the_number_of_shuffles_by_hand(a: str, b: str, bits: int, shuffles: int) -> None:
    plan, _, _ = check(L(a), L(b), bits, 1)
    assert plan.shuffles == shuffles


def test_replicas_are_read_from_the_own_lane_and_the_own_subgroup() -> None:
    everywhere = L("d0 = 4@reg | replicas 2@sg 16@lane")
    for wanted in (
        "d0 = 4@lane | replicas 2@sg 4@lane:4",
        "d0 = 2@sg 2@lane | replicas 8@lane:2",
        "d0 = 4@reg | replicas 2@sg 16@lane",
    ):
        plan, _, _ = check(everywhere, L(wanted), 32, 0)
        assert plan.shuffles == 0
