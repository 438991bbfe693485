"""All-gathers of small elements: words are filled first."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from layoutalg.conversion.strategies.exchange import stays_in_subgroup
from layoutalg.conversion.strategies.gathers import gathered_first
from layoutalg.memory.machine_bits import view
from tests.conversion.brute_force import L, check, fewest_planned, numbers, values
from tests.random_layouts import bits_pair


@pytest.mark.parametrize(("bits", "shuffles"), [(8, 5), (16, 8)])
def test_sixteen_lanes_gather_in_full_words(bits: int, shuffles: int) -> None:
    plan, _, _ = check(L("d0 = 16@lane"), L("d0 = 16@reg | replicas 16@lane"), bits, 0)
    assert fewest_planned(plan) == plan.lower_bound == shuffles


@pytest.mark.parametrize("seed", range(3))
def test_what_is_gathered_first_is_right(seed: int) -> None:
    random, made = Random(seed), 0
    while made < 20:
        a, b = bits_pair(random)
        bits = random.choice([8, 16])
        views = view(a), view(b)
        assert views[0] is not None
        assert views[1] is not None
        for programs in gathered_first(*views, bits) if stays_in_subgroup(*views) else []:
            made += 1
            data = values(int(np.prod(a.shape)), bits, seed)
            found = data[numbers(a)]
            for program in programs:
                found = program.run(found)
            assert np.array_equal(found, data[numbers(b)])
