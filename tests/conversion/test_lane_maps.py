"""Maps of lanes: through whatever is given, and found wherever there is one."""

from __future__ import annotations

from itertools import product

import layoutalg as la
from layoutalg.conversion import Shuffle
from layoutalg.conversion.strategies.lane_maps import affine_through


def every_map(lanes: int) -> list[tuple[int, ...]]:
    """All affine maps of the numbers of lanes: a constant, and what each bit brings in."""
    bits = lanes.bit_length() - 1
    found: list[tuple[int, ...]] = []
    for constant, *terms in product(range(lanes), repeat=bits + 1):
        numbers = [constant]
        for term in terms:
            numbers += [number ^ term for number in numbers]
        found.append(tuple(numbers))
    return found


def test_a_map_is_found_where_one_of_all_maps_goes_through_the_given_lanes() -> None:
    maps = every_map(4)
    for pattern in product(range(-1, 4), repeat=4):
        through = [one for one in maps if all(read in (-1, to) for read, to in zip(pattern, one, strict=True))]
        found = affine_through(pattern)
        assert found in through if through else found is None, pattern


def test_shuffles_for_copies_are_maps_of_the_lanes_number() -> None:
    """Lane 32 has element 0 itself; if it read itself, lanes would look up what they read (48 instructions, not 15)."""
    halves, quarters = "d0 = 32@lane 2@reg | replicas 2@lane:32", "d0 = 16@lane 4@reg | replicas 4@lane:16"
    plan = la.convert(halves, quarters, element_bits=64, target="gfx942")
    maps = {step.lanes for program in plan.programs for step in program.steps if isinstance(step, Shuffle)}
    assert len(maps) == 2
    assert all(affine_through(one) == one for one in maps)
