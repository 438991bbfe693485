"""Conversions where only what crosses subgroups goes through shared memory."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.conversion import convert
from tests.conversion.brute_force import (
    L,
    check,
    numbers,
    values,
)


def test_only_what_crosses_goes_through_memory() -> None:
    plan, _, _ = check(L("d0 = 2@sg 4@reg, d1 = 16@lane"), L("d0 = 2@reg:2 2@sg 2@reg, d1 = 16@lane"), 32, 0)
    assert plan.slm_bytes == 2 * 16 * 4 * 4 // 2
    assert (plan.barriers, plan.shuffles) == (1, 0)


def test_a_large_plan_across_subgroups_explains_itself() -> None:
    a, b = L("d0 = 64@sg, d1 = 1024@reg, d2 = 32@lane"), L("d0 = 64@reg:16, d1 = 64@sg 16@reg, d2 = 32@lane")
    plan = convert(a, b, slm_limit=2**24)
    assert f"must receive {plan.lower_bound} words" in str(plan)
    assert plan.lower_bound == 1024 * 63 // 64


def test_registers_that_repeat_an_element_come_and_go_across_subgroups() -> None:
    for replicas in (" | replicas 2@reg:2 16@lane", " | replicas 16@lane"):
        check(L(f"d0 = 2@sg 2@reg{replicas}"), L("d0 = 2@reg 2@sg | replicas 16@lane"), 32, 0)
        check(L("d0 = 2@sg 2@reg | replicas 16@lane"), L(f"d0 = 2@reg 2@sg{replicas}"), 32, 0)


def test_a_small_limit_takes_several_rounds() -> None:
    a, b = L("d0 = 2@sg 8@reg, d1 = 16@lane"), L("d0 = 2@lane:8 8@reg, d1 = 2@sg 8@lane")
    for limit in (512, 256, 128):  # down to what half a register of each subgroup takes
        parts = convert(a, b, slm_limit=limit)
        assert parts.slm_bytes <= limit
        rounds = (parts.barriers + 1) // 2  # one barrier in a round, one between two
        assert rounds * parts.slm_bytes == 512  # what a lane bit and a subgroup bit exchange
        data = values(256, 32, 0)
        assert (parts.apply(data[numbers(a)]) == data[numbers(b)]).all()
    with pytest.raises(la.SizeError, match="exchange needs more than 16"):
        convert(a, b, slm_limit=16)
