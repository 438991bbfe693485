"""Conversions of blocks that registers have on both sides."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import convert
from layoutalg.memory.machine_bits import view
from tests.conversion.brute_force import (
    L,
    check,
    numbers,
    values,
)
from tests.random_layouts import mixed_pair


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("d0 = 3@reg:16 4@reg, d1 = 4@reg:4 2@lane:8 8@lane", "d0 = 3@reg 4@lane, d1 = 4@lane:4 2@reg:3 8@reg:6"),
        ("d0 = 2@sg 5@reg, d1 = 16@lane, d2 = 2@reg:5", "d0 = 2@lane:8 5@reg:2, d1 = 2@sg 8@lane, d2 = 2@reg"),
        ("d0 = 3@sg 5@reg, d1 = 4@reg:5, d2 = 4@reg:20", "d0 = 5@reg:16 3@sg, d1 = 4@reg:4, d2 = 4@reg"),
        ("d0 = 6@reg 12@lane", "d0 = 2@reg:3 3@reg 12@lane"),
        ("d0 = 6@reg 4@lane | replicas 2@reg:6", "d0 = 2@lane 3@reg 4@reg:3 | replicas 2@lane:2"),
    ],
)
def test_blocks_in_registers_are_converted_each(source: str, destination: str, bits: int) -> None:
    for a, b in ((source, destination), (destination, source)):
        plan, _, _ = check(L(a), L(b), bits, 1)
        if plan.slm_bytes > 64:
            less = convert(L(a), L(b), element_bits=bits, slm_limit=plan.slm_bytes // 2)
            data = values(int(np.prod(L(a).shape)), bits, 2)
            assert less.slm_bytes <= plan.slm_bytes // 2
            assert np.array_equal(less.apply(data[numbers(L(a))]), data[numbers(L(b))])


def test_blocks_use_all_of_a_limit() -> None:
    a, b = L("d0 = 3@reg:2, d1 = 2@sg 2@reg"), L("d0 = 3@reg:2, d1 = 2@reg 2@sg")
    assert [convert(a, b, slm_limit=limit).slm_bytes for limit in (8, 12, 24)] == [8, 8, 24]


def test_blocks_of_more_slots_than_tables_have_explain_themselves() -> None:
    a = L("d0 = 3@reg:4, d1 = 1024@sg, d2 = 256@lane, d3 = 4@reg")
    plan = convert(a, L("d0 = 3@reg:4, d1 = 1024@sg, d2 = 64@lane 4@reg, d3 = 4@lane:64"))
    assert plan.shuffles == plan.lower_bound == 12
    assert "12 shuffles" in str(plan)


@pytest.mark.slow
def test_blocks_take_rounds_under_a_limit() -> None:
    rng = Random(3)
    turned = refused = 0
    while turned < 20:
        a, b = mixed_pair(rng)
        bits = rng.choice((8, 16, 32, 64))
        whole = convert(a, b, element_bits=bits)
        if whole.kind != "shared memory" or (view(a) is not None and view(b) is not None):
            continue
        limit = max(4, whole.slm_bytes // rng.choice((2, 3, 4)))
        try:
            plan = convert(a, b, element_bits=bits, slm_limit=limit)
        except la.SizeError as error:
            refused += 1
            assert "convert a part of the tensor at a time" in str(error)
            continue
        turned += 1
        assert plan.slm_bytes <= limit < whole.slm_bytes
        assert plan.barriers >= whole.barriers
        data = values(int(np.prod(a.shape)), bits, turned)
        assert np.array_equal(plan.apply(data[numbers(a)])[numbers(b) >= 0], data[numbers(b)][numbers(b) >= 0])
    assert refused
