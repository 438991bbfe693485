"""Elements that lanes pass on: in the fewest shuffles, and every one arrives, against enumeration."""

from __future__ import annotations

from random import Random

import pytest

import layoutalg as la
from layoutalg.conversion import convert
from tests.conversion.brute_force import check_arrival, crosses, fewest_planned, numbers
from tests.random_layouts import bits_pair, mixed_pair


@pytest.mark.parametrize(
    ("source", "destination", "bits", "shuffles"),
    [
        ("d0 = 2@reg, d1 = 4@lane", "d0 = 2@lane:2, d1 = 4@reg | replicas 2@lane", 16, 2),
        ("d0 = 1, d1 = 4@lane | replicas 2@lane:4", "d0 = 1, d1 = 4@reg | replicas 8@lane", 16, 2),
        ("d0 = 5@lane 3@reg", "d0 = 3@reg 5@lane", 8, 2),
    ],
)
def test_copies_are_passed_on(source: str, destination: str, bits: int, shuffles: int) -> None:
    plan = convert(source, destination, element_bits=bits)
    assert fewest_planned(plan) == plan.lower_bound == shuffles


def _arrives(seed: int, count: int) -> int:
    """Random pairs: how many ways that pass elements on were executed."""
    rng, tried = Random(seed), 0
    for number in range(count):
        a, b = (bits_pair, mixed_pair)[number % 2](rng)
        if crosses(numbers(a), numbers(b)):
            continue
        for bits in (8, 16):
            for way in convert(a, b, element_bits=bits).candidates:
                if "passed on" in way.name:
                    assert len(way.programs) == 1
                    check_arrival(way.programs[0], la.Layout(a.dims, a.replicas), b, bits, seed + number)
                    tried += 1
    return tried


def test_what_is_passed_on_arrives() -> None:
    assert _arrives(0, 60) > 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 7))
def test_what_is_passed_on_arrives_in_all_cases(seed: int) -> None:
    assert _arrives(seed, 400) > 10
