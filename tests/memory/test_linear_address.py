"""Addresses bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.core import Layout, Swizzle, swizzled
from layoutalg.memory import bank_conflicts
from layoutalg.memory.linear_address import address_bits, by_bits
from tests.memory.simulation import COLUMNS, ROW_MAJOR
from tests.memory.simulation import swizzled as moved


@pytest.mark.parametrize(("bits", "base", "shift"), [(4, 0, 5), (3, 0, 3), (2, 2, 4), (1, 0, 8)])
def test_a_swizzled_layout_is_its_bits(bits: int, base: int, shift: int) -> None:
    swizzle = Swizzle(bits, base, shift)
    memory = swizzled(ROW_MAJOR, swizzle)
    where = moved(lambda element: element[0] * 32 + element[1], swizzle)
    assert memory.owner_map("addr").tolist() == [[where((i, j)) for j in range(32)] for i in range(16)]
    elements = np.ogrid[:16, :32]
    for k, row in enumerate(address_bits(memory)):
        bit = sum(elements[int(dim[1:])] >> i & 1 for dim, i in row) % 2
        assert np.array_equal(np.broadcast_to(bit, (16, 32)), memory.owner_map("addr") >> k & 1)
    assert bank_conflicts(COLUMNS, memory=memory).ways <= bank_conflicts(COLUMNS, memory=ROW_MAJOR).ways


def test_a_matrix_becomes_a_layout_and_comes_back() -> None:
    tile = by_bits(Layout.parse("d0 = 4@reg, d1 = 1"), [0b11, 0b10])
    assert tile.owner_map("addr").tolist() == [[0], [1], [3], [2]]
    assert [[bit.bit for bit in row] for row in address_bits(tile)] == [[0, 1], [1]]


@pytest.mark.parametrize(
    "text",
    ["d0 = 3@addr", "d0 = 4@addr:3", "d0 = 4@addr:2", "d0 = 2@addr 2@addr", "d0 = 2@addr 2@_", "d0 = 2@a, d1 = 2@b:2"],
)
def test_what_is_not_one_to_one_in_powers_of_two_has_no_bits(text: str) -> None:
    assert address_bits(Layout.parse(text)) == ()
