"""Words that hold all that one lane has for another: small elements of mixed digits share words."""

from __future__ import annotations

from random import Random

import pytest

from layoutalg.conversion import Shuffle
from layoutalg.conversion.strategies.tables import slot_tables, stays_by_table
from layoutalg.conversion.strategies.words_by_pair import exchange_by_pair
from tests.conversion.brute_force import L, check, check_arrival, must_receive, numbers
from tests.random_layouts import mixed_pair


@pytest.mark.parametrize(
    ("source", "destination", "bits", "shuffles"),
    [
        ("d0 = 63@reg 16@lane", "d0 = 16@lane 63@reg", 8, 15),
        ("d0 = 63@reg 16@lane", "d0 = 16@lane 63@reg", 16, 30),
        ("d0 = 255@reg 16@lane", "d0 = 16@lane 255@reg", 8, 60),
    ],
)
def test_a_lane_fills_words_for_each_other_lane(source: str, destination: str, bits: int, shuffles: int) -> None:
    plan, before, after = check(L(source), L(destination), bits, 0)
    assert plan.shuffles == shuffles == must_receive(before, after, bits)


def _tried(seed: int, count: int) -> None:
    random, made = Random(seed), 0
    while made < count:
        a, b = mixed_pair(random)
        bits = random.choice([8, 16])
        tables = slot_tables(a, b)
        program = exchange_by_pair(*tables, bits) if stays_by_table(*tables) else None
        if program is None:
            continue
        made += 1
        check_arrival(program, a, b, bits, seed)
        if not a.canonical().replicas and not b.canonical().replicas:
            assert program.count(Shuffle) == must_receive(numbers(a), numbers(b), bits)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_put_together_arrives(seed: int) -> None:
    _tried(seed, 15)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_what_is_put_together_arrives_in_all_cases(seed: int) -> None:
    _tried(seed, 200)
