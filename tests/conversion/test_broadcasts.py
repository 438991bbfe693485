"""All-gathers: a shuffle from one lane for each word, and nothing to choose."""

from __future__ import annotations

from random import Random

import pytest

from layoutalg.conversion import Select, Shuffle
from layoutalg.conversion.strategies.broadcasts import broadcasts
from layoutalg.conversion.strategies.tables import slot_tables, stays_by_table
from tests.conversion.brute_force import L, check, check_arrival
from tests.random_layouts import bits_pair, mixed_pair


@pytest.mark.parametrize(
    ("source", "destination", "bits", "shuffles"),
    [
        ("d0 = 16@lane", "d0 = 16@reg | replicas 16@lane", 32, 16),
        ("d0 = 16@lane", "d0 = 16@reg | replicas 16@lane", 64, 32),
        ("d0 = 15@lane", "d0 = 15@reg | replicas 15@lane", 16, 15),
        ("d0 = 4@reg 16@lane", "d0 = 64@reg | replicas 16@lane", 8, 16),  # four elements a word
        ("d0 = 16@lane | replicas 2@lane:16", "d0 = 16@reg | replicas 32@lane", 32, 16),  # one of the copies
    ],
)
def test_an_all_gather_is_a_broadcast_from_each_lane(source: str, destination: str, bits: int, shuffles: int) -> None:
    plan, _, _ = check(L(source), L(destination), bits, 0)
    steps = plan.programs[0].steps
    assert (len(steps), plan.shuffles, plan.selects) == (shuffles, shuffles, 0)
    assert all(isinstance(step, Shuffle) and len(set(step.lanes)) == 1 for step in steps)


@pytest.mark.parametrize("group", [1, 4])
def test_groups_of_lanes_gather_without_selects(group: int) -> None:
    source = L(f"d0 = 4@lane:{4 // group}, d1 = 4@lane:{group}")
    plan, _, _ = check(source, L(f"d0 = 4@reg, d1 = 4@lane:{group} | replicas 4@lane:{4 // group}"), 32, 0)
    [program] = next(one.programs for one in plan.candidates if one.name.endswith("by broadcasts"))
    assert (program.count(Shuffle), program.count(Select)) == (4, 0)


@pytest.mark.parametrize("seed", range(4))
def test_broadcasts_bring_what_is_wanted(seed: int) -> None:
    random, made = Random(seed), 0
    while made < 25:
        a, b = random.choice((bits_pair, mixed_pair))(random)
        bits = random.choice([8, 16, 32, 64])
        tables = slot_tables(a, b)
        program = broadcasts(*tables, bits) if stays_by_table(*tables) else None
        if program is None:
            continue
        made += 1
        check_arrival(program, a, b, bits, seed)
        given = len(program.pack) // program.parts
        assert all(step.word < given for step in program.steps if isinstance(step, Shuffle))
