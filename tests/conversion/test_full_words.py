"""Schedules that send full words directly, against enumeration: what lanes show they know, and what they miss arrives."""

from __future__ import annotations

from random import Random

import pytest

from layoutalg.conversion.strategies.full_words import in_full_words, routed
from tests.conversion.brute_force import carry_out


def _exchange(random: Random) -> tuple[list[set[int]], list[set[int]]]:
    """Elements in kinds of one to seven, which some lanes hold and some others miss."""
    lanes = range(random.randint(2, 6))
    held, missing = ([set[int]() for _ in lanes] for _ in range(2))
    first = 0
    for _ in range(random.randint(1, 8)):
        elements = set(range(first, first := first + random.randint(1, 7)))
        order = random.sample(lanes, len(lanes))
        holders = random.randint(1, len(lanes) - 1)
        for lane in order[:holders]:
            held[lane] |= elements
        for lane in order[holders : holders + random.randint(1, len(lanes))]:
            missing[lane] |= elements
    return held, missing


def _found(seed: int, count: int) -> tuple[int, int]:
    random, split, whole = Random(seed), 0, 0
    for _ in range(count):
        held, missing = _exchange(random)
        room = random.choice([2, 4])
        rounds = -(-max(map(len, missing)) // room) + random.randint(0, 3)
        for number, way in enumerate((in_full_words, routed)):
            schedule, left = way(held, missing, rounds, room, 2000)
            assert 0 <= left <= 2000
            if schedule is not None:
                assert len(schedule.heard) == len(schedule.shown) == rounds
                carry_out(schedule, held, missing, room)
                split, whole = split + (not number), whole + number
    return split, whole


def test_what_full_words_and_others_bring_arrives() -> None:
    assert min(_found(0, 60)) > 15


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 7))
def test_what_full_words_and_others_bring_arrives_in_all_cases(seed: int) -> None:
    assert min(_found(seed, 1000)) > 250
