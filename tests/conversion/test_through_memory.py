"""Conversions through shared memory, all at once and in rounds."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.conversion import convert
from layoutalg.conversion.strategies.through_memory import through_memory
from layoutalg.memory.machine_bits import view
from tests.conversion.brute_force import (
    L,
    numbers,
    values,
)


@pytest.mark.parametrize(("registers", "bits", "limit"), [(8, 16, 256), (4, 32, 256), (8, 32, 512), (8, 64, 512)])
def test_rounds_take_registers_that_vectors_would_take(registers: int, bits: int, limit: int) -> None:
    a, b = L(f"d0 = 2@sg {registers}@reg, d1 = 16@lane"), L(f"d0 = 2@lane:8 {registers}@reg, d1 = 2@sg 8@lane")
    plan = convert(a, b, element_bits=bits, slm_limit=limit)
    assert 0 < plan.slm_bytes <= limit
    data = values(32 * registers, bits, 3)
    assert (plan.apply(data[numbers(a)]) == data[numbers(b)]).all()


def test_a_limit_that_one_way_keeps_is_enough() -> None:
    plan = convert(L("d0 = 2@sg 2@reg, d1 = 16@lane"), L("d0 = 2@reg 2@sg, d1 = 16@lane"), slm_limit=128)
    assert plan.slm_bytes == 128


@pytest.mark.parametrize("shape", [(8, 16), (8, 32)])
def test_a_round_trip_through_memory_keeps_every_element(shape: tuple[int, int]) -> None:
    """LLVM 22's store_matrix and load_matrix of these keep 23 of 128, and take the wrong columns."""
    layout = la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>").layout(shape)
    bits = view(layout)
    assert bits is not None
    held = numbers(layout)
    data = values(shape[0] * shape[1], 32, 0)
    assert (through_memory(bits, bits, 32).run(data[held]) == data[held]).all()
