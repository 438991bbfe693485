"""Conversions through shared memory row by row."""

from __future__ import annotations

from layoutalg.conversion import Load, Store, convert
from tests.conversion.brute_force import (
    L,
    check,
)


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
