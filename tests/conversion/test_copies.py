"""Layouts that hold copies: told apart, every way is right, none is left out that layouts without copies have."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from layoutalg import Layout
from layoutalg.conversion import convert
from layoutalg.conversion.candidates import held
from layoutalg.conversion.cost import cost_of, rank
from layoutalg.conversion.program.steps import Barrier, Store
from layoutalg.conversion.strategies.copies import told_apart
from layoutalg.conversion.ways_by_bits import Memory
from layoutalg.conversion.ways_of_copies import ways_of_copies
from layoutalg.memory.machine_bits import View, view
from tests.conversion.brute_force import numbers, values

LANES = {"pvc": 4, "bmg": 4, "sm_80": 5, "sm_90": 5, "gfx942": 6, "gfx950": 6}
MIXED = "while the rest is shuffled"


def pair(rng: Random, lanes: int, registers: int) -> tuple[str, str]:
    """Two layouts with bits in random places; each side holds one bit or two of copies, in random places too."""
    places = [*[f"2@lane:{1 << i}" for i in range(lanes)], *[f"2@reg:{1 << i}" for i in range(registers)]]
    places += [["2@sg"], ["2@sg", "2@sg:2"], []][rng.randrange(3)]
    rng.shuffle(places)
    other = list(places)
    for _ in range(rng.choice([1, 1, 2, 4])):
        one, two = rng.sample(range(len(other)), 2)
        if rng.random() < 0.3 or "sg" not in other[one] + other[two]:
            other[one], other[two] = other[two], other[one]
    copied = rng.sample([i for i, place in enumerate(places) if "reg" not in place], rng.choice([1, 2]))

    def text(side: list[str]) -> str:
        kept = " ".join([place for i, place in enumerate(side) if i not in copied])
        return f"d0 = {kept} | replicas {' '.join([side[i] for i in copied])}"

    return text(places), text(other)


def views_of(texts: tuple[str, str]) -> tuple[View, View]:
    one, other = (view(Layout.parse(text)) for text in texts)
    assert one is not None
    assert other is not None
    return one, other


def executed(programs: Any, data: Any) -> Any:
    for program in programs:
        data = program.run(data)
    return data


@pytest.mark.parametrize("chip", [*LANES, "generic"])
def test_every_way_of_copies_that_are_told_apart_brings_every_element(chip: str) -> None:
    rng, found = Random(f"apart {chip}"), 0
    for _ in range(8):
        texts, bits = pair(rng, LANES.get(chip, 4), rng.choice([1, 2, 3, 4])), rng.choice([8, 16, 32, 64])
        limit = rng.choice([None, 2048, 0])
        source, destination = (Layout.parse(text) for text in texts)
        data = values(int(np.prod(source.shape)), bits, found)
        given, wanted = data[numbers(source)], data[numbers(destination)]
        memory = Memory.of_chip(cost_of(chip), limit, "workgroup", 1, False)
        for one in ways_of_copies(*views_of(texts), bits, memory):
            way = one.make()
            assert np.array_equal(executed(way, given), wanted), (texts, bits, one.name)
            assert memory.most or not any(program.slm_bytes for program in way)
            found += 1
    assert found >= 4


@pytest.mark.parametrize("seed", range(3))
def test_each_place_of_the_destination_gets_one_holder_that_has_its_element(seed: int) -> None:
    """By enumeration: the slots of both sides by the digits that are told apart, which are the element's and the copy's."""
    rng = Random(seed)
    for _ in range(40):
        texts = pair(rng, 3, 2)
        views = views_of(texts)
        apart = told_apart(*views)
        if apart is None:
            continue
        sides = [numbers(Layout.parse(text)) for text in texts]
        elements = len(views[0].places)
        for given, side, slots in zip(views, apart, sides, strict=True):
            assert side.places[:elements] == given.places
            assert len(set(side.places)) == len(side.places)
            assert set(side.widths.items()) == set(given.widths.items())
            for number in range(1 << len(side.places)):
                at = {"sg": 0, "lane": 0, "reg": 0}
                for bit, (axis, weight) in enumerate(side.places):
                    at[axis] += (number >> bit & 1) << weight
                assert slots[at["sg"], at["lane"], at["reg"]] == number & (1 << elements) - 1


@pytest.mark.parametrize("chip", ["pvc", "bmg", "sm_80", "gfx942"])
def test_copies_take_no_more_than_the_same_conversion_of_elements_that_are_told_apart(chip: str) -> None:
    """Layouts whose copies are digits of one more dimension: by the prices, and by the best of all ways of both."""
    rng, compared = Random(f"no more {chip}"), 0
    for _ in range(8):
        texts, bits = pair(rng, LANES[chip], rng.choice([2, 3])), rng.choice([8, 16, 32])
        apart = told_apart(*views_of(texts))
        assert apart is not None
        plan = convert(*texts, element_bits=bits, target=chip)
        sides: list[Layout] = []
        for side in apart:
            free = [(a, i) for a, width in side.widths.items() for i in range(width) if (a, i) not in side.places]
            digits = [(2, 1 << bit, axis) for axis, bit in reversed(side.places)]
            sides.append(Layout([digits], [(2, 1 << bit, axis) for axis, bit in free]))
        other = convert(*sides, element_bits=bits, target=chip)
        if plan.kind in ("identity", "registers"):  # nothing leaves a lane, and no other way is looked for
            continue
        ranks = [rank(*cost_of(chip).priced(one.programs))[0] for one in (plan, other)]
        assert ranks[0] <= ranks[1], texts
        assert plan.chosen == plan.candidates[0], texts
        compared += 1
    assert compared


def test_subgroups_that_hold_the_same_exchange_bytes_as_those_that_do_not() -> None:
    rows, columns = "4@reg, d1 = 16@lane", "4@lane, d1 = 4@lane:4 4@reg"
    others = convert(f"d0 = 2@sg {rows}", f"d0 = 2@sg {columns}", element_bits=8, target="bmg")
    same = convert(f"d0 = {rows} | replicas 2@sg", f"d0 = {columns} | replicas 2@sg", element_bits=8, target="bmg")
    assert same.programs == others.programs


def test_bytes_that_half_of_the_lanes_hold_twice_take_less_than_half_as_long_where_copies_are_told_apart() -> None:
    """22 instructions of 50: a register's bit becomes a lane's, and each copy keeps its own lanes."""
    source = "d0 = 2@reg:4 2@lane:2 2@reg:2 2@lane 2@sg 2@reg 2@lane:4 | replicas 2@lane:8 2@sg:2"
    destination = "d0 = 2@reg:4 2@lane:2 2@reg:2 2@lane 2@sg 2@lane:4 2@reg | replicas 2@lane:8 2@sg:2"
    plan = convert(source, destination, element_bits=8, target="bmg")
    as_held = min(one.cost for one, _ in held(plan.source, plan.destination, 8, "bmg").values())
    assert 2 * plan.cost < as_held
    assert plan.chosen == plan.candidates[0]


def test_lanes_that_hold_the_same_all_store_where_each_copy_has_a_place() -> None:
    """So block messages can store, which have no mask; a subgroup then waits for no other one."""
    texts = "d0 = 16@reg, d1 = 16@lane | replicas 4@sg", "d0 = 16@lane, d1 = 16@reg | replicas 4@sg"
    plan = convert(*texts, target="pvc")
    stores = [step for step in plan.programs[0].steps if isinstance(step, Store)]
    assert stores
    assert all(step.where is None for step in stores)
    barriers = [step.scope for step in plan.programs[0].steps if isinstance(step, Barrier)]
    assert barriers == ["subgroup"]
    limited = convert(*texts, target="pvc", slm_limit=1024)
    assert limited.slm_bytes <= 1024


@pytest.mark.parametrize("chip", ["bmg", "gfx942"])
def test_mixed_ways_of_layouts_with_copies_are_right(chip: str) -> None:
    rng, found = Random(f"mixed copies {chip}"), 0
    for _ in range(100):
        texts, bits = pair(rng, LANES[chip], rng.choice([4, 5])), rng.choice([16, 32, 32, 64])
        plan = convert(*texts, element_bits=bits, target=chip)
        for way in [one for one in plan.candidates if MIXED in one.name]:
            data = values(int(np.prod(plan.source.shape)), bits, found)
            given, wanted = (data[numbers(layout)] for layout in (plan.source, plan.destination))
            assert np.array_equal(executed(way.programs, given), wanted), (texts, bits, way.name)
            assert way == plan.chosen == plan.candidates[0]
            found += 1
        if found >= 2:
            break
    assert found >= 2
