"""What is known of ways through memory before they are made: no more than their programs are charged for, and take."""

from __future__ import annotations

import random

import pytest

from layoutalg import Layout
from layoutalg.conversion.charges import charges_of
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.exchange_bounds import ROUNDING, least_busy
from layoutalg.conversion.program.access_conflicts import access_cycles, program_cycles
from layoutalg.conversion.program.steps import Permute, Select, Shuffle
from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
from layoutalg.conversion.strategies.bit_exchange.ways import ways
from layoutalg.conversion.ways_by_bits import Memory, memory_ways
from layoutalg.memory.machine_bits import View, view

LANES = {"pvc": 16, "bmg": 32, "sm_80": 32, "sm_90": 32, "gfx942": 64, "gfx950": 64}


def drawn(rng: random.Random, lanes: int) -> tuple[View, View]:
    """Two layouts of one tensor whose bits lie anywhere."""
    registers, subgroups = rng.randrange(1, 6), rng.choice([0, 0, 1, 2])
    places = [("lane", 1 << bit) for bit in range(lanes.bit_length() - 1)]
    places += [("sg", 1 << bit) for bit in range(subgroups)] + [("reg", 1 << bit) for bit in range(registers)]
    sides: list[View] = []
    for _ in range(2):
        copies = rng.random() < 0.1
        kept = rng.sample(places, len(places))
        if rng.random() < 0.5:
            kept.sort(key=lambda place: (place[0], -place[1]))
        text = "d0 = " + " ".join(
            f"2@{axis}:{weight}" for axis, weight in kept[copies:] + [("reg", 1 << registers)] * copies
        )
        if copies:
            text += " | replicas 2@{}:{}".format(*kept[0])
        found = view(Layout.parse(text))
        if found is None:
            return drawn(rng, lanes)
        sides.append(found)
    return sides[0], sides[1]


@pytest.mark.parametrize("chip", LANES)
def test_programs_are_charged_for_what_was_foreseen(chip: str) -> None:
    rng, compared = random.Random(f"foreseen {chip}"), 0
    cost = cost_of(chip)
    for _ in range(12):
        source, destination = drawn(rng, LANES[chip])
        bits = rng.choice([8, 16, 32, 32, 64])
        memory = Memory.of_chip(cost, rng.choice([None, None, 2048]), "workgroup", 1, rng.random() < 0.2)
        limit = memory.by_bits(source, destination, bits)
        if limit < bits // 8 << sum(
            not a[0] == b[0] == "reg" for a, b in zip(source.places, destination.places, strict=True)
        ):
            continue
        for way in [one for group in memory_ways(source, destination, bits, memory) for one in group]:
            programs = way.make()
            charges = charges_of(programs)
            cycles = sum(program_cycles(program, chip) for program in programs)
            for stage in way.foreseen:
                several = stage()
                charged = [all(charges[name] >= count for name, count in one.charges.items()) for one in several]
                assert any(charged), (way.name, several)
                found = several[0]
                assert all(one.cycles <= cycles for one in several), way.name
                if found.accesses is not None:
                    steps = [step for step, _ in found.accesses]
                    each = access_cycles(steps, programs[0].subgroups, programs[0].lanes, chip)
                    known = sum(one * times for one, (_, times) in zip(each, found.accesses, strict=True))
                    assert known == cycles, way.name
                    compared += 1
    assert compared > 20


def test_exchanges_have_the_steps_that_were_foreseen() -> None:
    rng, exact = random.Random("exchanges"), 0
    for _ in range(250):
        source, destination = drawn(rng, rng.choice([8, 16]))
        if source.widths["sg"]:
            continue
        pattern = pattern_of(source, destination, rng.choice([8, 16, 32, 64]))
        for way in [] if pattern is None else ways(pattern):
            program = way.make()
            counts = [program.count(kind) for kind in (Shuffle, Select, Permute)]
            foreseen = [way.shuffles, way.selects, way.permutes]
            assert all(count >= least for count, least in zip(counts, foreseen, strict=True)), way.name
            exact += counts[1] == way.selects > 0
    assert exact > 20


@pytest.mark.parametrize("chip", LANES)
def test_exchanges_keep_everything_busy_for_what_was_foreseen(chip: str) -> None:
    rng, cost, tight = random.Random(f"busy {chip}"), cost_of(chip), 0
    for _ in range(40):
        source, destination = drawn(rng, LANES[chip])
        pattern = pattern_of(source, destination, rng.choice([8, 16, 32, 32, 64]))
        for way in [] if pattern is None else ways(pattern):
            assert pattern is not None
            least, busy = least_busy(way, pattern, cost), cost.parts([way.make()])
            assert least is not None
            assert busy is not None
            assert all(one <= other + ROUNDING for one, other in zip(least, busy, strict=True)), (way.name, least, busy)
            tight += least.issued > 0.5 * busy.issued > 0
    assert tight > 2
