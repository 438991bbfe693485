"""Renumberings of lanes that leave an exchange as it is, and the schedules found for one lane of many, by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from layoutalg.conversion.strategies.rerouting import rerouted
from layoutalg.conversion.strategies.symmetries import Symmetry, symmetries
from tests.conversion.brute_force import carry_out, crosses, numbers
from tests.random_layouts import bits_pair, mixed_pair

Exchange = tuple[list[set[int]], list[set[int]]]


def _exchanges(seed: str, count: int, most_lanes: int) -> list[Exchange]:
    """What lanes hold and miss in the first subgroup of random pairs of layouts, elements numbered from 0."""
    random, found = Random(seed), list[Exchange]()
    while len(found) < count:
        a, b = random.choice((bits_pair, mixed_pair))(random)
        before, after = numbers(a), numbers(b)
        if crosses(before, after) or before.shape[1] > most_lanes:
            continue
        held = [set(row) for row in before[0].tolist()]
        missing = [set(row) - has for row, has in zip(after[0].tolist(), held, strict=True)]
        if any(missing):
            found.append((held, missing))
    return found


def _is_unchanged(held: list[set[int]], missing: list[set[int]], group: Symmetry) -> bool:
    needed = set[int]().union(*missing)
    for lanes, elements in zip(group.lanes, group.elements, strict=True):
        if sorted(elements[e] for e in needed) != sorted(needed):
            return False
        for lane, other in enumerate(lanes):
            if {elements[e] for e in held[lane] & needed} != held[other] & needed:
                return False
            if {elements[e] for e in missing[lane]} != missing[other]:
                return False
    return True


def _after(one: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """What two renumberings do, of lanes and of elements (-1: those that nobody misses)."""
    return tuple(tuple(ours[i] if i >= 0 else -1 for i in theirs) for ours, theirs in zip(one, other, strict=True))


def test_groups_leave_what_lanes_hold_and_miss_as_it_is() -> None:
    larger = 0
    for held, missing in _exchanges("groups", 60, 64):
        groups = symmetries(held, missing)
        assert groups[-1].lanes == [list(range(len(held)))]
        for group in groups:
            assert _is_unchanged(held, missing, group)
            # They are closed, and divide the lanes into orbits of their number.
            members = {(tuple(one), tuple(other)) for one, other in zip(group.lanes, group.elements, strict=True)}
            some = [*members][:8]
            assert {_after(one, other) for one in some for other in some} <= members
            assert len(group.first) * len(members) == len(held)
            for lane, (orbit, member) in enumerate(zip(group.orbit, group.member, strict=True)):
                assert group.lanes[member][group.first[orbit]] == lane
            larger += len(members) > 1
    assert larger > 60


def _arrives(held: Sequence[set[int]], missing: Sequence[set[int]], room: int, rounds: int, group: Symmetry) -> bool:
    """Whether a schedule is found."""
    start = [[(lane + turn + 1) % len(held) for lane in group.first] for turn in range(rounds)]
    schedule, left = rerouted(held, missing, room, start, 1000, group)
    assert 0 <= left <= 1000
    if schedule is not None:
        carry_out(schedule, held, missing, room)
    return schedule is not None


def _found(seed: str, count: int) -> int:
    random, found = Random(seed), 0
    for held, missing in _exchanges(seed, count, 32):
        room = random.choice([1, 2, 4])
        rounds = -(-max(map(len, missing)) // room) + random.randint(0, 2)
        found += sum(_arrives(held, missing, room, rounds, group) for group in symmetries(held, missing))
    return found


def test_what_one_lane_does_is_right_for_its_orbit() -> None:
    assert _found("one lane of many", 40) > 40


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(6))
def test_what_one_lane_does_is_right_for_its_orbit_in_all_cases(seed: int) -> None:
    assert _found(str(seed), 300) > 200
