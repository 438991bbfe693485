"""Conversions through shared memory row by row."""

from __future__ import annotations

import numpy as np

from layoutalg.conversion import Load, Store, convert
from tests.conversion.brute_force import L, check, numbers


def test_what_registers_repeat_goes_through_memory_once() -> None:
    repeated = " | replicas 3@reg:4"
    for a, b in (("d0 = 3@sg 4@reg" + repeated, "d0 = 4@reg 3@sg"), ("d0 = 3@sg 4@reg", "d0 = 4@reg 3@sg" + repeated)):
        plan, _, _ = check(L(a), L(b), 32, 0)
        moved = [step for program in plan.programs for step in program.steps if isinstance(step, (Store, Load))]
        assert sum(len(step.words if isinstance(step, Store) else step.to) for step in moved) == 8


def test_a_limit_that_rows_without_padding_keep_is_enough() -> None:
    a, b = L("d0 = 3@sg 8@reg, d1 = 32@lane"), L("d0 = 8@lane:4 3@sg, d1 = 4@lane 8@reg")
    for limit in (3072, 3436):
        assert convert(a, b, slm_limit=limit).slm_bytes <= limit


def test_what_is_too_much_to_schedule_goes_through_memory() -> None:
    a, b = L("d0 = 97@reg, d1 = 97@lane"), L("d0 = 97@lane, d1 = 97@reg")
    plan = convert(a, b, slm_limit=2**20)
    data = np.arange(97 * 97, dtype=np.int32)
    assert (plan.kind, plan.barriers) == ("shared memory", 1)
    assert np.array_equal(plan.apply(data[numbers(a)]), data[numbers(b)])
