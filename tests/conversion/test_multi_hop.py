"""Small elements of mixed digits that take two hops."""

from __future__ import annotations

from random import Random

import pytest

from layoutalg.conversion import Shuffle
from layoutalg.conversion.strategies.multi_hop import relayed
from layoutalg.conversion.strategies.table_bounds import fewest_by_table
from layoutalg.conversion.strategies.tables import slot_tables
from layoutalg.conversion.strategies.words_by_pair import exchange_by_pair
from tests.conversion.brute_force import L, check, check_arrival, hops, numbers
from tests.random_layouts import filled_pair


@pytest.mark.parametrize(("lanes", "bits", "shuffles"), [(12, 8, 5), (12, 16, 8), (15, 16, 10), (9, 16, 6)])
def test_transposes_of_mixed_digits_meet_the_bound(lanes: int, bits: int, shuffles: int) -> None:
    rows, columns = L(f"d0 = {lanes}@reg, d1 = {lanes}@lane"), L(f"d0 = {lanes}@lane, d1 = {lanes}@reg")
    plan, before, after = check(rows, columns, bits, 0)
    assert plan.shuffles == plan.lower_bound == hops(before, after, bits) == shuffles


def _tried(seed: int, count: int) -> None:
    random, made = Random(seed), 0
    while made < count:
        a, b = filled_pair(random)
        bits = random.choice([8, 16])
        tables = slot_tables(a, b)
        direct, least = exchange_by_pair(*tables, bits), fewest_by_table(*tables, bits)
        assert direct is not None
        assert hops(numbers(a), numbers(b), bits) <= least <= direct.count(Shuffle)
        program = relayed(*tables, bits, least, direct.count(Shuffle))
        if program is not None:
            made += 1
            check_arrival(program, a, b, bits, seed)
            assert least <= program.count(Shuffle) < direct.count(Shuffle)


def test_what_other_lanes_pass_on_arrives() -> None:
    _tried(0, 8)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_what_other_lanes_pass_on_arrives_in_all_cases(seed: int) -> None:
    _tried(seed, 60)
