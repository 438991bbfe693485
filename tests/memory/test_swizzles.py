"""The best swizzle, against all bit matrices of small tensors and against simulated costs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from layoutalg.core import Layout, SizeError
from layoutalg.memory import ElementBit, bank_conflicts, best_swizzle
from tests.memory.simulation import (
    COLUMNS,
    ROWS,
    Element,
    addresses_of,
    as_cost,
    binary_layout,
    check_against_every_matrix,
    simulate,
)
from tests.random_layouts import machine_layout


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_best_swizzle_of_the_transpose_is_free_of_conflicts(bits: int) -> None:
    best = best_swizzle(ROWS, COLUMNS, element_bits=bits)
    assert (best.write.ways, best.read.ways) == (1, 1)
    numbers = best.address(np.ogrid[:16, :32])

    def where(element: Element) -> int:
        return int(numbers[element])

    for side, found in ((ROWS, best.write), (COLUMNS, best.read)):
        assert as_cost(found) == simulate(side, where, bits, 32, 4)


@pytest.mark.parametrize("seed", range(30))
def test_no_bit_matrix_of_three_bits_is_better(seed: int) -> None:
    rng = random.Random(seed)
    check_against_every_matrix(rng, rng.choice(((8,), (2, 4), (4, 2), (2, 2, 2))))


@pytest.mark.slow
def test_no_bit_matrix_of_four_bits_is_better() -> None:
    check_against_every_matrix(random.Random(0), (4, 4))


@pytest.mark.parametrize("seed", range(100))
def test_both_sides_are_free_of_conflicts_where_elements_fill_words_and_lanes_fill_banks(seed: int) -> None:
    # Two subspaces of the same dimension have a common complement, and a phase never has more lanes than there are banks for.
    rng = random.Random(seed)
    bits, banks = rng.choice(((32, 4), (32, 8), (64, 8), (64, 16)))
    layouts: list[Layout] = []
    shape = (1 << rng.randint(2, 5), 1 << rng.randint(2, 5))
    while len(layouts) < 2:
        layout = binary_layout(rng, shape, rng.randint(3, 6), copies=False)
        if layout.axes.get("lane", 1) >= banks * 32 // bits:
            layouts.append(layout)
    best = best_swizzle(*layouts, element_bits=bits, banks=banks)
    assert (best.write.ways, best.read.ways) == (1, 1)
    numbers = best.address(np.ogrid[: shape[0], : shape[1]])
    assert sorted(numbers.ravel().tolist()) == list(range(shape[0] * shape[1])), "every address once"


@pytest.mark.parametrize("seed", range(60))
def test_costs_of_the_best_swizzle_are_those_of_the_simulation(seed: int) -> None:
    rng = random.Random(seed)
    mixed = rng.random() < 0.4
    if mixed:
        first = machine_layout(rng, (2, 3, 4, 5), most=200, ranks=(1, 3))
        layouts = first, Layout(first.dims[:1], names=["d0"]) if first.rank == 1 else first
    else:
        shape = (1 << rng.randint(0, 4), 1 << rng.randint(0, 4))
        layouts = binary_layout(rng, shape, 5), binary_layout(rng, shape, 5)
    bits = rng.choice((8, 16, 32, 64))
    banks = rng.choice((4, 16, 32, 6))
    best = best_swizzle(*layouts, element_bits=bits, banks=banks)
    numbers = best.address(np.meshgrid(*map(np.arange, best.shape), indexing="ij", sparse=True))
    assert len(set(numbers.ravel().tolist())) == numbers.size, "no two elements share an address"
    assert int(numbers.max()) < best.size
    for layout, found in zip(layouts, (best.write, best.read), strict=True):
        assert as_cost(found) == simulate(layout, lambda element: int(numbers[element]), bits, banks, 4)
        assert bank_conflicts(layout, banks=banks, element_bits=bits, memory=best) == found


def test_padding_is_the_cheapest_of_its_candidates() -> None:
    write, read = Layout.parse("d0 = 12@reg, d1 = 24@lane"), Layout.parse("d0 = 12@lane, d1 = 12@reg 2@lane:12")
    best = best_swizzle(write, read)
    costs: dict[int, int] = {}
    for padding in range(9):
        where = addresses_of(Layout([[(12, 24 + padding, "addr")], [(24, 1, "addr")]]))
        costs[padding] = sum(simulate(side, where, 32, 32, 4).cycles for side in (write, read))
    assert (best.padding, costs[best.padding]) == (min(costs, key=lambda p: costs[p]), min(costs.values()))
    assert costs[0] > costs[best.padding]
    assert best.matrix == ()
    assert "2 elements of padding after each row of 24" in best.text
    assert best.size == 11 * 26 + 24


def test_rows_that_need_no_swizzle_stay_rows() -> None:
    tile = Layout.parse("d0 = 16@lane, d1 = 4@reg")
    assert best_swizzle(tile, tile).address(np.ogrid[:16, :4]).tolist() == np.arange(64).reshape(16, 4).tolist()


def test_what_both_sides_hold_in_registers_becomes_a_vector() -> None:
    write, read = (
        Layout.parse("d0 = 8@lane, d1 = 2@lane:8 8@reg"),
        Layout.parse("d0 = 2@lane:2 4@reg:8, d1 = 2@lane 8@reg"),
    )
    best = best_swizzle(write, read, element_bits=16)
    assert (best.vector, best.write.vector, best.read.vector) == (8, 8, 8)
    assert best.matrix[:3] == tuple((ElementBit("d1", i),) for i in range(3))


def test_names_of_dimensions_are_kept() -> None:
    write = Layout([[(4, 1, "reg")], [(4, 1, "lane")]], names=["m", "n"])
    read = Layout([[(4, 1, "lane")], [(4, 1, "reg")]], names=["m", "n"])
    assert {bit.dim for row in best_swizzle(write, read, banks=4).matrix for bit in row} == {"m", "n"}


def test_coordinates_are_counted_before_they_are_looked_at() -> None:
    best = best_swizzle("d0 = 16@reg, d1 = 32@lane", "d0 = 16@lane, d1 = 16@reg 2@lane:16")
    with pytest.raises(SizeError, match="ask for a part at a time"):
        best.address((np.broadcast_to(np.int64(0), 2**40), 0))


def test_the_picture_of_a_best_swizzle_says_what_its_bits_do_and_counts_no_other_access() -> None:
    """It is read 4 elements at a time: how lanes that read one each would meet is not asked."""
    told = " ".join(one.text for one in best_swizzle(ROWS, COLUMNS).picture().scene().words)
    assert "XOR" in told
    assert "outlined" not in told
    assert "conflict" not in told
