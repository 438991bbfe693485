"""The bound of conversions by tables, against a search of all schedules of a few lanes."""

from __future__ import annotations

from itertools import combinations, product
from random import Random

import numpy as np
import pytest

from layoutalg.conversion.strategies.table_bounds import fewest_by_table


def _known_after(knows: list[frozenset[int]], room: int) -> list[list[frozenset[int]]]:
    """For each lane the words that it can show: as many elements as there is room for."""
    return [[frozenset(word) for word in combinations(sorted(one), min(room, len(one)))] for one in knows]


def _enough(knows: list[frozenset[int]], wants: list[frozenset[int]], room: int, shuffles: int) -> bool:
    """Whether so many shuffles bring every lane what it wants."""
    lanes = range(len(knows))
    missing = [want - know for want, know in zip(wants, knows, strict=True)]
    if not any(missing):
        return True
    if not shuffles or any(len(one) > shuffles * room for one in missing):
        return False
    if (
        shuffles == 1
    ):  # every lane hears one that knows all it misses, and what a lane shows is what those want who hear it
        for heard in product(lanes, repeat=len(knows)):
            shown = [
                frozenset[int]().union(*(missing[lane] for lane in lanes if heard[lane] == other)) for other in lanes
            ]
            if all(len(word) <= room and word <= know for word, know in zip(shown, knows, strict=True)):
                return True
        return False
    for words in product(*_known_after(knows, room)):
        for heard in product(lanes, repeat=len(knows)):
            after = [know | words[other] for know, other in zip(knows, heard, strict=True)]
            if _enough(after, wants, room, shuffles - 1):
                return True
    return False


def _tried(seed: int, count: int, lanes: int, most: int) -> int:
    """Random holdings and wishes: how often one shuffle less than the bound was tried, and was not enough."""
    random, tried = Random(seed), 0
    for _ in range(count):
        room, elements = random.choice([1, 2, 4]), random.randint(2, most)
        holders = [random.sample(range(lanes), random.choice([1, 1, 1, 2])) for _ in range(elements)]
        knows = [frozenset(e for e in range(elements) if lane in holders[e]) for lane in range(lanes)]
        wants = [frozenset(random.sample(range(elements), random.randint(0, elements))) for _ in range(lanes)]
        before, after = (
            np.array([[sorted(one)[i] if i < len(one) else -1 for i in range(elements)] for one in side], np.int64)[
                None
            ]
            for side in (knows, wants)
        )
        bound = fewest_by_table(before, after, 32 // room)
        assert bound <= elements * 2
        if 0 < bound <= 3:
            tried += 1
            assert not _enough(knows, wants, room, bound - 1)
    return tried


def test_no_schedule_of_three_lanes_is_below_the_bound() -> None:
    assert _tried(0, 60, 3, 4) > 20


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(6))
def test_no_schedule_of_a_few_lanes_is_below_the_bound(seed: int) -> None:
    assert _tried(seed, 400, 3 + seed % 2, 6 - seed % 2) > 100
