"""Mixed ways: right on random conversions, made of their parts' steps, and weighed only where a chip has two busy units."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from layoutalg import Layout
from layoutalg.conversion import convert
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.program.steps import Barrier, Load, Shuffle, Store
from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
from layoutalg.conversion.strategies.bit_exchange.ways import ways
from layoutalg.conversion.strategies.mixed import Parts, mixed, parts_of
from layoutalg.conversion.strategies.through_memory import through_memory
from layoutalg.memory.machine_bits import view
from tests.conversion.brute_force import numbers, values

LANES = {"pvc": 4, "bmg": 4, "sm_80": 5, "sm_90": 5, "gfx942": 6, "gfx950": 6}
"""The bits of a lane's number."""
MIXED = "while the rest is shuffled"
ROWS, BLOCKS = "d0 = 16@reg, d1 = 16@lane", "d0 = 4@reg:4 4@lane, d1 = 4@lane:4 4@reg"


def pair(rng: Random, lanes: int, registers: int) -> tuple[str, str]:
    """Two layouts whose bits lie anywhere; some lane bits change places with register bits, or with each other."""
    places = [*[f"2@lane:{1 << i}" for i in range(lanes)], *[f"2@reg:{1 << i}" for i in range(registers)]]
    places += ["2@sg"] * rng.choice([0, 0, 1])
    rng.shuffle(places)
    other = list(places)
    for _ in range(rng.choice([1, 1, 2])):
        one = rng.choice([i for i, place in enumerate(other) if "lane" in place])
        two = rng.choice([i for i, place in enumerate(other) if "sg" not in place])
        other[one], other[two] = other[two], other[one]
    return "d0 = " + " ".join(places), "d0 = " + " ".join(other)


def executed(programs: Any, held: Any) -> Any:
    for program in programs:
        held = program.run(held)
    return held


@pytest.mark.parametrize("chip", LANES)
def test_every_mixed_way_brings_every_element_where_it_is_wanted(chip: str) -> None:
    rng, found, chosen = Random(f"mixed {chip}"), 0, 0
    for _ in range(400):
        few = chip == "sm_90"  # where these ways are offered for narrow elements and many registers alone
        texts = pair(rng, LANES[chip], rng.choice([5, 6] if few else [4, 5, 6]))
        bits = 16 if few else rng.choice([16, 16, 32, 64])
        limit, portable = rng.choice([None, None, 4096]), rng.random() < 0.3
        plan = convert(*texts, element_bits=bits, target=chip, slm_limit=limit, portable=portable)
        for way in [one for one in plan.candidates if MIXED in one.name]:
            data = values(int(np.prod(plan.source.shape)), bits, found)
            held, wanted = (data[numbers(layout)] for layout in (plan.source, plan.destination))
            assert np.array_equal(executed(way.programs, held), wanted), (texts, bits, way.name)
            assert way.slm_bytes <= (limit or cost_of(chip).slm_bytes)
            found += 1
        chosen += MIXED in plan.chosen.name
        assert plan.chosen == plan.candidates[0], (texts, bits)
        if found >= 4 and chosen >= 2:
            break
    assert found >= 4
    assert chosen >= 2


def halves_of(source: str, destination: str, bits: int, count: int) -> Parts:
    views = [view(Layout.parse(text)) for text in (source, destination)]
    found = None if views[0] is None or views[1] is None else parts_of(views[0], views[1], bits, count)
    assert found is not None
    return found


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize(("count", "shuffled"), [(2, 1), (4, 1), (4, 2), (4, 3)])
def test_a_mixed_way_has_the_steps_of_its_parts(bits: int, count: int, shuffled: int) -> None:
    rows, columns = "d0 = 64@reg, d1 = 4@lane", "d0 = 16@reg:4 4@lane, d1 = 4@reg"
    parts = halves_of(rows, columns, bits, count)
    pattern = pattern_of(parts.source, parts.destination, bits)
    assert pattern is not None
    inside, outside = ways(pattern)[0].make(), through_memory(parts.source, parts.destination, bits)
    way = mixed(inside, outside, parts, shuffled, 65536)
    for kind in (Shuffle, Store, Load):
        assert way.count(kind) == shuffled * inside.count(kind) + (count - shuffled) * outside.count(kind)
    order = [type(step) for step in way.steps]
    first = [order.index(kind) for kind in (Store, Shuffle, Barrier, Load)]
    assert first == sorted(first)
    assert order.index(Shuffle) > max(i for i, kind in enumerate(order[: order.index(Barrier)]) if kind is Store)
    data = values(256, bits, count)
    held, wanted = (data[numbers(Layout.parse(text))] for text in (rows, columns))
    assert np.array_equal(way.run(held), wanted)


def test_less_memory_than_all_parts_need_takes_rounds() -> None:
    parts = halves_of("d0 = 16@reg, d1 = 4@lane", "d0 = 4@reg:4 4@lane, d1 = 4@reg", 32, 4)
    pattern = pattern_of(parts.source, parts.destination, 32)
    assert pattern is not None
    inside, outside = ways(pattern)[0].make(), through_memory(parts.source, parts.destination, 32)
    whole, spared = (mixed(inside, outside, parts, 1, limit) for limit in (4096, outside.slm_bytes))
    assert (whole.slm_bytes, spared.slm_bytes) == (3 * outside.slm_bytes, outside.slm_bytes)
    assert (whole.count(Barrier), spared.count(Barrier)) == (1, 5)
    data = values(64, 32, 1)
    held, wanted = (
        data[numbers(Layout.parse(text))] for text in ("d0 = 16@reg, d1 = 4@lane", "d0 = 4@reg:4 4@lane, d1 = 4@reg")
    )
    assert np.array_equal(whole.run(held), wanted)
    assert np.array_equal(spared.run(held), wanted)


def test_two_bits_of_16_registers_go_both_ways_on_bmg() -> None:
    """By the rates: 8 slots a word of memory, and 16 words. Half of them leave 64, and the engine has as many instructions."""
    plan = convert(ROWS, BLOCKS, target="bmg")
    assert plan.chosen.name == "half goes through shared memory while the rest is shuffled"
    busy = cost_of("bmg").parts(plan.programs)
    assert busy is not None
    assert busy.memory == 64
    for other in [one for one in plan.candidates if MIXED not in one.name]:
        parts = cost_of("bmg").parts(other.programs)
        assert parts is not None
        assert parts.slots + parts.issued > busy.slots + busy.issued
    assert str(plan).count(MIXED) == 1
    assert "shuffles 1 to 8" in plan.svg()
    assert "shared memory" in plan.svg()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"pressure": "alone"}, "memory is free while others compute"),
        ({"level": "subgroup"}, "no memory may be used"),
        ({"slm_limit": 0}, "none is left"),
        ({"target": "generic"}, "no rate is known"),
        ({"target": "gfx1100"}, "no rate is known"),
    ],
)
def test_nothing_is_mixed_where_one_unit_alone_is_busy_or_known(settings: dict[str, Any], why: str) -> None:
    plan = convert(ROWS, BLOCKS, **{"target": "bmg", **settings})
    assert not any(MIXED in one.name for one in plan.candidates), why


def test_a_transpose_of_all_lane_bits_is_not_split() -> None:
    """Shuffles of four bits take more instructions than memory has slots: of 32 words, or 64, none goes by them."""
    for registers in (32, 64):
        texts = f"d0 = {registers}@reg, d1 = 16@lane", f"d0 = {registers // 16}@reg:16 16@lane, d1 = 16@reg"
        for chip in ("bmg", "pvc"):
            found = Counter(MIXED in one.name for one in convert(*texts, target=chip).candidates)
            assert not found[True]
