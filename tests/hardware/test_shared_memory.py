"""Lanes served together are those measured on AMD's chips (nod-ai/amd-shark-ai, docs/empirical-lds/lds_summary.md)."""

from __future__ import annotations

import pytest

from layoutalg.hardware.shared_memory import served

FOURS: dict[str, list[tuple[int, ...]]] = {
    "gfx942": [(0, 20), (4, 16), (8, 28), (12, 24)],
    "gfx950": [(0, 12, 20, 24), (4, 8, 16, 28)],
    "gfx1100": [(0, 20), (4, 16), (8, 28), (12, 24)],
}
"""The phases of a read of 16 bytes in the first 32 lanes, each by the first lanes of its fours."""
BANKS = {"gfx942": 32, "gfx950": 64, "gfx1100": 32}
LANES = {"gfx942": 64, "gfx950": 64, "gfx1100": 32}


def phases(chip: str, size: int) -> set[frozenset[int]]:
    """The lanes of each phase, as the table has it."""
    found = served(chip, size, LANES[chip], reading=True)
    order = list(found.order) or list(range(LANES[chip]))
    count = found.together(size)
    return {frozenset(order[first : first + count]) for first in range(0, len(order), count)}


@pytest.mark.parametrize("chip", FOURS)
def test_reads_of_16_bytes_go_in_the_fours_that_were_measured(chip: str) -> None:
    want = {
        frozenset(half + first + lane for first in one for lane in range(4))
        for half in range(0, LANES[chip], 32)
        for one in FOURS[chip]
    }
    assert phases(chip, 16) == want


@pytest.mark.parametrize("chip", FOURS)
@pytest.mark.parametrize("size", [4, 8])
def test_narrower_reads_go_in_the_order_of_lanes(chip: str, size: int) -> None:
    count = BANKS[chip] * 4 // size
    want = {frozenset(range(first, min(first + count, LANES[chip]))) for first in range(0, LANES[chip], count)}
    assert phases(chip, size) == want
