"""Bank conflicts, against a simulation lane by lane."""

from __future__ import annotations

import random
from itertools import product

import pytest

import layoutalg as la
from layoutalg.core import CompositionError, ConversionError, Factor, Layout, Swizzle
from layoutalg.cute import CuteLayout
from layoutalg.memory import bank_conflicts
from tests.memory.simulation import (
    COLUMNS,
    ROW_MAJOR,
    ROWS,
    addresses_of,
    as_cost,
    binary_layout,
    random_memory,
    simulate,
    swizzled,
)
from tests.random_layouts import machine_layout


def swizzled_memory(memory: Layout, swizzle: Swizzle) -> Layout | CuteLayout:
    """Swizzled memory; where it has no factors, CuTe's layout, which has its addresses."""
    try:
        return la.swizzled(memory, swizzle) if "addr" in memory.codomain else memory
    except CompositionError:
        plain = la.to_cute(Layout(memory.dims, codomain=["addr"]))
        how = swizzle.bits, swizzle.base, swizzle.shift
        return CuteLayout(plain.shape, plain.stride, how, memory.offsets.get("addr", 0))


@pytest.mark.parametrize("seed", range(200))
def test_conflicts_are_those_of_lanes_simulated_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    lanes = rng.choice((3, 4, 5, 6))
    layout = (
        binary_layout(rng, (1 << rng.randint(0, 4), 1 << rng.randint(0, 5)), lanes)
        if rng.random() < 0.5
        else machine_layout(rng, most=300, ranks=(1, 3))
    )
    bits = rng.choice((8, 16, 32, 64))
    banks, width = rng.choice(((32, 4), (16, 4), (4, 4), (8, 8), (2, 4), (64, 4), (5, 4), (24, 2), (8, 1)))
    memory = random_memory(rng, layout)
    where = addresses_of(memory)
    expected = simulate(layout, where, bits, banks, width)
    assert as_cost(bank_conflicts(layout, banks=banks, width=width, element_bits=bits, memory=memory)) == expected
    swizzle = Swizzle(rng.randint(1, 3), rng.randint(0, 2), 3 + rng.randint(0, 2))
    found = bank_conflicts(layout, banks=banks, width=width, element_bits=bits, memory=swizzled_memory(memory, swizzle))
    assert as_cost(found) == simulate(layout, swizzled(where, swizzle), bits, banks, width)


@pytest.mark.parametrize(
    "text",
    [
        "d0 = 4@lane:3 2@reg",
        "d0 = 2@lane:8 2@lane:1, d1 = 4@reg:2",
        "d0 = 4@reg, d1 = 6@lane | offset 5@lane",
        "d0 = 4@reg, d1 = 6@lane | offset 2@sg 3@reg",
        "d0 = 4@lane:2 | replicas 2@lane:1 3@reg",
        "d0 = 2@sg 6@reg | replicas 7@lane",
    ],
)
def test_idle_lanes_and_copies_count_as_simulated(text: str) -> None:
    layout = Layout.parse(text)
    sizes = list(layout.shape)
    memory = Layout([[Factor(n, 10**d, "addr")] for d, n in enumerate(sizes)])
    for bits, banks in product((8, 32, 64), (2, 4, 32)):
        found = bank_conflicts(layout, banks=banks, width=4, element_bits=bits, memory=memory)
        assert as_cost(found) == simulate(layout, addresses_of(memory), bits, banks, 4)


def test_row_major_is_the_memory_unless_given() -> None:
    layout = Layout.parse("d0 = 3@reg, d1 = 5@lane, d2 = 4@reg:3")
    rows = Layout.parse("d0 = 3@addr:20, d1 = 5@addr:4, d2 = 4@addr")
    assert bank_conflicts(layout, banks=8) == bank_conflicts(layout, banks=8, memory=rows)


def test_fewer_elements_per_access_can_be_asked_for() -> None:
    layout = Layout.parse("d0 = 32@lane, d1 = 4@reg")
    memory = Layout.parse("d0 = 32@addr:4, d1 = 4@addr")
    for vector in (1, 2, 4):
        found = bank_conflicts(layout, memory=memory, vector=vector)
        assert as_cost(found) == simulate(layout, addresses_of(memory), 32, 32, 4, vector)
    with pytest.raises(ConversionError, match="at most 1 elements at consecutive, aligned addresses"):
        bank_conflicts(layout, memory=Layout.parse("d0 = 32@addr, d1 = 4@addr:32"), vector=4)


def test_wide_accesses_that_share_four_banks_take_a_cycle_per_lane() -> None:
    # NVIDIA developer forum, "Shared memory bank conflict reordering": 32 lanes, 16 bytes each from banks 0 to 3: 32 cycles.
    layout = Layout.parse("d0 = 32@lane, d1 = 4@reg")
    found = bank_conflicts(layout, memory=Layout.parse("d0 = 32@addr:32, d1 = 4@addr"))
    assert (found.vector, found.instructions, found.cycles, found.ideal, found.ways) == (4, 1, 32, 4, 8)


def test_row_major_transpose_has_16_way_conflicts_on_one_side() -> None:
    assert [bank_conflicts(side, memory=ROW_MAJOR).ways for side in (ROWS, COLUMNS)] == [1, 16]


def test_the_textbook_xor_of_column_and_row_has_2_way_conflicts() -> None:
    textbook = la.swizzled(ROW_MAJOR, Swizzle(bits=4, base=0, shift=5))
    assert textbook.owner_map("addr")[3, 17] == 3 * 32 + (17 ^ 3)
    assert [bank_conflicts(side, memory=textbook).ways for side in (ROWS, COLUMNS)] == [1, 2]
