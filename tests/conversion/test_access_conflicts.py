"""Small subgroups' accesses are counted lane by lane: as often as `memory.conflicts` counts for accesses of any size."""

from __future__ import annotations

import random

from layoutalg.conversion.program import access_conflicts
from layoutalg.conversion.program.steps import Address
from layoutalg.hardware.shared_memory import Served, served


def drawn(rng: random.Random, subgroups: int, lanes: int) -> Address:
    """An address of each kind, at distances that are aligned or not."""
    step = rng.choice([1, 2, 4, 8])
    bits, of_subgroups = (lanes - 1).bit_length(), (subgroups - 1).bit_length()
    if rng.random() < 0.5:
        columns = [rng.choice([0, 1 << rng.randrange(8), rng.randrange(256)]) * step for _ in range(bits)]
        more = [rng.randrange(256) * step for _ in range(of_subgroups)]
        return Address(rng.choice([0, rng.randrange(16)]), xor=True, lane=tuple(columns), sg=tuple(more))
    factors = [
        ("lane", 1 << rng.randrange(4), rng.choice([2, 3, 8, 16]), rng.choice([1, 4, 5, 36, 132]) * step)
        for _ in range(rng.randrange(4))
    ]
    factors += [("sg", 1, subgroups, rng.randrange(1, 300) * step)] * rng.randrange(2)
    plus = (("lane", rng.randrange(1, 5)),) * rng.randrange(2)
    return Address(rng.randrange(4), factors=tuple(factors), plus=plus)


def test_lane_by_lane_is_as_by_arrays() -> None:
    rng, compared = random.Random(27), 0
    for _ in range(900):
        lanes, subgroups = rng.choice([8, 12, 16, 24, 32, 64]), rng.choice([1, 1, 2, 3, 4])
        count, bits = rng.choice([1, 2, 4, 8]), rng.choice([8, 16, 32, 32])
        address = drawn(rng, subgroups, lanes)
        everyone = (1 << lanes) - 1
        masks = tuple(rng.choice([0, everyone, rng.getrandbits(lanes)]) for _ in range(subgroups))
        where = None if rng.random() < 0.6 else masks
        chip = served(rng.choice(["gfx942", "gfx950", "sm_80"]), rng.choice([4, 8, 16]), lanes, reading=True)
        together = rng.choice([Served(32, ()), Served(32, (), 16), chip])
        given = address, count, subgroups, lanes, where, bits, together
        one = access_conflicts._counted_lane_by_lane(*given)  # pyright: ignore[reportPrivateUsage]
        if one is not None:
            compared += 1
            whole = access_conflicts._counted(*given)  # pyright: ignore[reportPrivateUsage]
            assert one == whole, given
    assert compared > 600
