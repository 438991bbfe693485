"""Conversions through shared memory, all at once and in rounds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import convert
from layoutalg.conversion.program.steps import Barrier
from layoutalg.conversion.strategies.through_memory import through_memory
from layoutalg.memory.machine_bits import view
from tests.conversion.brute_force import (
    L,
    numbers,
    values,
)
from tests.random_layouts import bits_pair, mixed_pair


@pytest.mark.parametrize(("registers", "bits", "limit"), [(8, 16, 256), (4, 32, 256), (8, 32, 512), (8, 64, 512)])
def test_rounds_take_registers_that_vectors_would_take(registers: int, bits: int, limit: int) -> None:
    a, b = L(f"d0 = 2@sg {registers}@reg, d1 = 16@lane"), L(f"d0 = 2@lane:8 {registers}@reg, d1 = 2@sg 8@lane")
    plan = convert(a, b, element_bits=bits, slm_limit=limit)
    assert 0 < plan.slm_bytes <= limit
    data = values(32 * registers, bits, 3)
    assert np.array_equal(plan.apply(data[numbers(a)]), data[numbers(b)])


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
    assert np.array_equal(through_memory(bits, bits, 32).run(data[held]), data[held])


@pytest.mark.parametrize("seed", range(4))
def test_every_way_is_right_and_takes_no_more_memory_than_the_tensor(seed: int) -> None:
    random = Random(seed)
    for make in [bits_pair, mixed_pair] * 20:
        a, b = make(random)
        bits = random.choice([8, 8, 16, 32, 64])
        size = int(np.prod(a.shape))
        data, before, after = values(size, bits, seed), numbers(a), numbers(b)
        for way in convert(a, b, element_bits=bits).candidates:
            found = data[before]
            for program in way.programs:
                found = program.run(found)
            assert np.array_equal(found, data[after]), f"{a} -> {b}, {bits} bits: {way.name}"
            assert way.slm_bytes <= max(size * bits // 8, 4)


@pytest.mark.parametrize(
    ("source", "destination", "bits", "most"),
    [
        ("d0 = 2@sg 16@lane", "d0 = 2@lane:8 2@sg 8@lane", 8, 32),
        ("d0 = 2@sg 16@lane", "d0 = 2@lane:8 2@sg 8@lane", 16, 64),
        ("d0 = 2@sg:4 2@reg 16@lane | replicas 4@sg", "d0 = 2@reg 2@sg:4 16@lane | replicas 4@sg", 32, 128),
        ("d0 = 3@sg 5@reg, d1 = 16@lane", "d0 = 5@reg 3@sg, d1 = 16@lane", 8, 240),
    ],
)
def test_elements_below_words_are_packed_and_one_copy_is_stored(
    source: str, destination: str, bits: int, most: int
) -> None:
    assert 0 < convert(L(source), L(destination), element_bits=bits).slm_bytes <= most


def test_without_a_limit_memory_is_used_again_and_a_limit_allows_more() -> None:
    a, b = L("d0 = 2@sg 16@lane, d1 = 16@reg"), L("d0 = 2@lane:8 2@sg 8@lane, d1 = 16@reg")
    for bits in (8, 16, 32, 64):  # 32 lanes with 32 bytes each
        assert convert(a, b, element_bits=bits, target="pvc", portable=True).slm_bytes <= 1024
    whole = [way for way in convert(a, b, target="pvc", slm_limit=2048).candidates if way.name.startswith("everything")]
    assert {way.slm_bytes for way in whole} == {2048}


def test_inside_a_subgroup_memory_is_a_way_and_waits_for_no_other_subgroup() -> None:
    plan = convert(L("d0 = 2@sg, d1 = 16@reg, d2 = 16@lane"), L("d0 = 2@sg, d1 = 16@lane, d2 = 16@reg"))
    assert plan.slm_bytes == 0
    [program] = next(way.programs for way in plan.candidates if way.slm_bytes)
    assert [step.scope for step in program.steps if isinstance(step, Barrier)] == ["subgroup"]
