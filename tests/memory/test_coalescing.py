"""Cache lines, against a simulation lane by lane."""

from __future__ import annotations

import random

import pytest

from layoutalg.core import Layout
from layoutalg.memory import coalescing
from tests.memory.simulation import (
    addresses_of,
    lines_of,
    random_memory,
)
from tests.random_layouts import machine_layout


@pytest.mark.parametrize("seed", range(100))
def test_cache_lines_are_those_of_lanes_simulated_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    layout = machine_layout(rng, rng.choice(((2,), (2, 3, 4, 5))), most=256, ranks=(1, 3))
    memory = random_memory(rng, layout)
    bits, line = rng.choice((8, 16, 32, 64)), rng.choice((16, 32, 64, 128))
    found = coalescing(layout, element_bits=bits, memory=memory, line=line)
    expected = lines_of(layout, addresses_of(memory), bits, line)
    assert (found.lines, found.instructions, found.vector, found.used, found.moved) == expected


def test_a_stride_of_two_uses_half_of_every_line() -> None:
    # VTune Profiler User Guide, "Untyped Writes Coalescence": 16 lanes read integers with a stride of 2: 50 %.
    found = coalescing(Layout.parse("d0 = 16@lane"), element_bits=32, memory=Layout.parse("d0 = 16@addr:2"))
    assert (found.efficiency, found.lines) == (0.5, 2)


def test_a_row_takes_four_sectors_and_a_column_one_for_every_lane() -> None:
    row = coalescing(Layout.parse("d0 = 32@lane"), element_bits=32, line=32)
    column = coalescing(Layout.parse("d0 = 32@lane"), element_bits=32, line=32, memory=Layout.parse("d0 = 32@addr:32"))
    assert (row.lines, row.efficiency, column.lines, column.efficiency) == (4, 1.0, 32, 0.125)
