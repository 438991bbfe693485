"""Swaps of lane bits 4 and 5 with register bits: right on random conversions, and half an instruction a word and bit."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from layoutalg import Layout
from layoutalg.conversion import convert
from layoutalg.conversion.program.dpp import dpp_control
from layoutalg.conversion.program.steps import LaneSwap, Shuffle
from layoutalg.conversion.strategies.lane_swaps import by_lane_swaps
from layoutalg.memory.machine_bits import view
from tests.conversion.brute_force import numbers, values


def pair(rng: Random) -> tuple[str, str]:
    """Two layouts of 64 lanes without copies, whose bits are permuted."""
    places = [*[f"2@lane:{1 << i}" for i in range(6)], *[f"2@reg:{1 << i}" for i in range(rng.randint(1, 4))]]
    places += ["2@sg"] * rng.choice([0, 0, 1])
    rng.shuffle(places)
    other, changed = list(places), rng.sample(range(len(places)), rng.choice([2, 3, 4]))
    moved = [one for one in changed if places[one] != "2@sg"]
    for one, two in zip(moved, [*moved[1:], *moved[:1]], strict=True):
        other[one] = places[two]
    return "d0 = " + " ".join(places), "d0 = " + " ".join(other)


@pytest.mark.parametrize("seed", range(4))
def test_every_way_that_swaps_brings_every_element_where_it_is_wanted(seed: int) -> None:
    rng, swapped = Random(f"swaps {seed}"), 0
    while swapped < 25:
        texts, bits = pair(rng), rng.choice([8, 16, 32, 64])
        source, destination = map(Layout.parse, texts)
        data = values(int(np.prod(source.shape)), bits, seed)
        held, wanted = data[numbers(source)], data[numbers(destination)]
        for way in convert(*texts, element_bits=bits, target="gfx950").candidates:
            if not way.count(LaneSwap):
                continue
            swapped += 1
            found = held
            for program in way.programs:
                found = program.run(found)
            assert np.array_equal(found, wanted), (texts, bits, way.name)


def test_two_bits_of_four_registers_are_four_swaps_and_the_default() -> None:
    texts = "d0 = 4@reg, d1 = 64@lane", "d0 = 4@lane:16, d1 = 4@reg 16@lane"
    plan = convert(*texts, target="gfx950")
    assert plan.candidates[0].work == "4 lane swaps"
    assert plan.kind == "shuffles"
    assert all(one.count(LaneSwap) == 0 for one in convert(*texts, target="gfx942").candidates)


def test_what_no_register_bit_is_wanted_for_is_not_swapped() -> None:
    source, destination = (
        view(Layout.parse(text)) for text in ("d0 = 2@reg, d1 = 64@lane", "d0 = 2@lane, d1 = 32@lane:2 2@reg")
    )
    assert source is not None
    assert destination is not None
    assert by_lane_swaps(source, destination, 32) is None


@pytest.mark.parametrize("lanes", [8, 16, 32, 64])
def test_shuffles_among_neighbours_are_found_for_every_number_of_lanes(lanes: int) -> None:
    """Patterns by their definitions: a quad's own, a row turned, mirrored, or one of its lanes."""
    controls = {dpp_control(tuple(lane ^ distance for lane in range(lanes))) for distance in (1, 2, 3)}
    assert controls == {0xB1, 0x4E, 0x1B}
    assert dpp_control(tuple(lane & ~3 for lane in range(lanes))) == 0
    rows = {8: (), 16: (1, 5, 15)}.get(lanes, (1, 5, 15))
    for turn in rows:
        assert dpp_control(tuple(lane & ~15 | (lane - turn) & 15 for lane in range(lanes))) == 0x120 + turn
    assert dpp_control(tuple((lane + 1) % lanes for lane in range(lanes))) == (0x12F if lanes == 16 else None)


def test_a_shuffle_among_neighbours_costs_no_cycle_of_shared_memory() -> None:
    plan = convert("d0 = 2@reg, d1 = 64@lane", "d0 = 2@lane, d1 = 32@lane:2 2@reg", target="gfx942")
    assert plan.candidates[0].count(Shuffle) > 0
