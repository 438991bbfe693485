"""Every way that a plan weighs is executed, not the chosen one alone: fresh pairs of layouts, on every chip that has the lanes.

Which element each slot must hold is enumerated from both layouts' `fragment_map`; what a way does is executed step by step.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from layoutalg.conversion import convert
from tests.conversion.brute_force import numbers, values
from tests.random_layouts import bits_pair, filled_pair, mixed_pair

CHIPS = {16: ("pvc", "bmg"), 32: ("pvc", "bmg", "sm_80", "sm_90"), 64: ("gfx942", "gfx950")}


def executed(random: Random, pairs: int) -> int:
    """Execute all ways of so many pairs; how many ways there were."""
    ways = 0
    for _ in range(pairs):
        a, b = random.choice([bits_pair, bits_pair, mixed_pair, filled_pair])(random)
        bits = random.choice([8, 16, 32, 64])
        lanes = max(a.axes.get("lane", 1), b.axes.get("lane", 1))
        target = random.choice((*CHIPS.get(lanes, ()), None, "generic"))
        plan = convert(a, b, element_bits=bits, target=target)
        data = values(int(np.prod(a.shape)), bits, ways)
        held, wanted = data[numbers(a)], data[numbers(b)]
        for way in plan.candidates:
            found = held
            for program in way.programs:
                found = program.run(found)
            assert np.array_equal(found, wanted), (str(a), str(b), bits, target, way.name)
            ways += 1
        assert plan.programs == plan.candidates[0].programs
    return ways


@pytest.mark.parametrize("seed", range(4))
def test_every_way_of_40_pairs_brings_every_element(seed: int) -> None:
    assert executed(Random(f"every way {seed}"), 10) >= 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(40))
def test_every_way_of_10_000_pairs_brings_every_element(seed: int) -> None:
    assert executed(Random(f"every way of many {seed}"), 250) >= 250
