"""The schedule of an exchange: as many rounds as the busiest lane has words."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from layoutalg.conversion.program.schedule import matchings


@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_has_as_many_rounds_as_the_busiest_lane_has_words(seed: int) -> None:
    random = Random(seed)
    lanes = random.randint(1, 12)
    edges = Counter((random.randrange(lanes), random.randrange(lanes)) for _ in range(random.randint(0, 80)))
    found = matchings(lanes, dict(edges))
    ends = [Counter[int](), Counter[int]()]
    for pair, count in edges.items():
        for end, lane in zip(ends, pair, strict=True):
            end[lane] += count
    assert len(found) == max((count for end in ends for count in end.values()), default=0)
    assert Counter(pair for round_ in found for pair in round_) == edges
    for round_ in found:
        for i in (0, 1):
            assert len({pair[i] for pair in round_}) == len(round_)
