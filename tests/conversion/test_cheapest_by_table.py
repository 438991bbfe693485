"""What is not made since it cannot be cheaper: the plan is the same, and work that decides nothing is left out."""

from __future__ import annotations

from random import Random

import pytest

from layoutalg import Layout, convert
from layoutalg.conversion import ways_by_bits
from layoutalg.conversion.candidates import candidates_of
from layoutalg.conversion.cheapest import cheapest_of
from layoutalg.conversion.cheapest_by_table import cheapest_by_table
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.strategies.tables import Unwritten
from layoutalg.conversion.ways_by_bits import Memory
from tests.random_layouts import mixed_pair

CHIPS = ("pvc", "bmg", "dg2", "sm_80", "sm_90", "gfx942", "gfx950")


@pytest.mark.parametrize("chip", CHIPS)
def test_it_is_the_first_of_all_ways(chip: str) -> None:
    rng, found = Random(f"by table {chip}"), 0
    memory = Memory.of_chip(cost_of(chip), None, "workgroup", 1, portable=False)
    while found < 3:
        source, destination = mixed_pair(rng)
        bits = rng.choice([32, 64])
        one = cheapest_by_table(source, destination, bits, memory)
        if one is not None:
            assert one == candidates_of(source, destination, bits, chip)[0], (str(source), str(destination))
            found += 1


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The shuffles of each exchange whose program is written."""
    found: list[int] = []
    write = Unwritten.program

    def counted(one: Unwritten) -> object:
        found.append(one.counts[0])
        return write(one)

    monkeypatch.setattr(Unwritten, "program", counted)
    cheapest_of.cache_clear()
    return found


def test_an_exchange_that_loses_by_its_selects_is_not_written(written: list[int]) -> None:
    plan = convert("d0 = 16@lane 255@reg", "d0 = 255@reg 16@lane", target="pvc")
    assert (plan.kind, written) == ("shared memory", [])


def test_an_exchange_that_may_win_is_written(written: list[int]) -> None:
    plan = convert("d0 = 3@reg, d1 = 3@lane", "d0 = 3@lane, d1 = 3@reg", target="pvc")
    assert written == [2]
    assert plan.chosen == plan.candidates[0]


@pytest.mark.parametrize(("chip", "lanes"), [("sm_80", 32), ("sm_90", 32), ("bmg", 16)])
def test_ways_through_memory_that_lose_by_their_accesses_get_no_places(
    chip: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_into: list[object] = []
    monkeypatch.setattr(ways_by_bits, "foreseen", lambda *given, **_: looked_into.append(given))
    cheapest_of.cache_clear()
    rows, columns = (
        Layout.parse(f"d0 = {lanes}@{one}, d1 = {lanes}@{other}") for one, other in (("reg", "lane"), ("lane", "reg"))
    )
    assert convert(rows, columns, target=chip).kind == "shared memory"
    assert not looked_into
