"""Several conversions in one go: each brings what its own plan brings, behind one barrier, and none is dearer than in turn."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import ConversionPlan, SeveralConversions, convert_several, cost_of
from layoutalg.conversion.cost import Cost, rank
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Shuffle, Store
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.simulate.launching import launch
from tests.conversion.brute_force import numbers, values
from tests.conversion.test_mixed import LANES, pair
from tests.random_layouts import bits_pair, mixed_pair

TRANSPOSED = "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg"
DEALT = "d0 = 16@reg, d1 = 16@lane", "d0 = 4@reg:4 4@lane, d1 = 4@lane:4 4@reg"
ACROSS = "d0 = 2@sg 4@reg, d1 = 16@lane", "d0 = 2@reg:2 2@sg 2@reg, d1 = 16@lane"


def brings_all(several: SeveralConversions, seed: int) -> None:
    """What each result must hold is enumerated from its layouts."""
    held: list[Any] = []
    wanted: list[Any] = []
    for number, plan in enumerate(several.plans):
        data = values(int(np.prod(plan.source.shape)), plan.element_bits, seed + number)
        held.append(data[numbers(plan.source)])
        wanted.append(data[numbers(plan.destination)])
    for found, expected in zip(several.apply(held), wanted, strict=True):
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected), str(several)


@pytest.mark.parametrize("chip", [*LANES, "generic"])
def test_random_conversions_in_one_go_bring_every_element(chip: str) -> None:
    rng = Random(f"several {chip}")
    for seed in range(4):
        bits = rng.choice([8, 16, 32, 64])
        plans: list[ConversionPlan] = []
        while len(plans) < rng.choice([1, 2, 3]):
            texts = pair(rng, LANES.get(chip, 4), rng.choice([1, 2, 3]))
            if not plans or plans[0].programs[0].subgroups == 1 + ("@sg" in texts[0]):
                plans.append(
                    la.convert(*texts, element_bits=bits, target=chip, slm_limit=rng.choice([None, 0, 1024, 4096]))
                )
        several = convert_several(plans)
        brings_all(several, seed)
        limits = [cost_of(chip).slm_bytes if plan.slm_limit is None else plan.slm_limit for plan in plans]
        assert several.slm_bytes <= max(limits)
        assert all(way.slm_bytes <= most for way, most in zip(several.chosen, limits, strict=True))


def machine(texts: tuple[Layout, Layout]) -> tuple[int, int]:
    return max(one.axes.get("sg", 1) for one in texts), max(one.axes.get("lane", 1) for one in texts)


def test_any_two_conversions_of_a_machine_go_together() -> None:
    rng, found = Random("any two"), 0
    waiting: dict[tuple[int, int], tuple[Layout, Layout]] = {}
    while found < 6:
        texts = rng.choice([bits_pair, mixed_pair])(rng)
        other = waiting.pop(machine(texts), None)
        if other is None:
            waiting[machine(texts)] = texts
        elif max(machine(texts)) <= 16:
            bits = rng.choice([8, 16, 32, 64])
            brings_all(convert_several([la.convert(*one, element_bits=bits) for one in (texts, other)]), found)
            found += 1


def test_two_conversions_between_subgroups_wait_once() -> None:
    plans = [la.convert(*ACROSS, target="pvc", slm_limit=limit) for limit in (None, 65536)]
    both = convert_several(plans)
    assert both.barriers == 1
    assert both.barriers < sum(plan.barriers for plan in plans)
    kinds = [type(step) for step in both.programs[0].steps]
    assert max(i for i, kind in enumerate(kinds) if kind is Store) < kinds.index(Barrier)
    assert min(i for i, kind in enumerate(kinds) if kind is Load) > kinds.index(Barrier)
    brings_all(both, 0)


def test_bytes_for_one_are_used_by_one_after_the_other() -> None:
    alone = la.convert(*ACROSS, target="pvc")
    limit = max(one.slm_bytes for one in alone.candidates)
    plans = [la.convert(*ACROSS, target="pvc", slm_limit=limit) for _ in range(3)]
    several = convert_several(plans)
    assert several.slm_bytes <= limit
    assert several.barriers > 1
    brings_all(several, 3)


def test_bytes_of_one_subgroup_are_anothers_in_the_next_conversion() -> None:
    """Each conversion keeps to the bytes of each subgroup, so its own barriers are a subgroup's; between them all wait."""
    blocks = "d0 = 2@sg 8@reg 64@lane", "d0 = 2@sg 8@lane:8 8@lane 8@reg"
    dealt = "d0 = 8@reg 2@sg 64@lane", "d0 = 8@lane 2@sg 8@lane:8 8@reg"
    plans = [la.convert(*texts, target="gfx942", slm_limit=8192) for texts in (blocks, dealt)]
    several = convert_several(plans)
    scopes = [step.scope for step in several.programs[0].steps if isinstance(step, Barrier)]
    assert scopes == ["subgroup", "workgroup", "subgroup"]
    data = [values(1024, 32, seed)[numbers(plan.source)] for seed, plan in enumerate(plans)]
    wanted = [values(1024, 32, seed)[numbers(plan.destination)] for seed, plan in enumerate(plans)]
    made = np.zeros((2, 64, 16), np.int32)
    given = np.concatenate(data, -1).view(np.int32)
    outcome = launch(several.emit(kernel=True), [given, made], (1, 1, 1), target="gfx942")
    assert outcome.findings == ()
    assert np.array_equal(made, np.concatenate(wanted, -1).view(np.int32))


def test_one_shuffles_while_memory_works_for_the_other() -> None:
    """On bmg a transpose of 16x16 words takes 128 slots of memory; the other's 70 instructions fit in there."""
    plans = [la.convert(*pair_, target="bmg") for pair_ in (TRANSPOSED, DEALT)]
    both = convert_several(plans)
    busy = cost_of("bmg").parts(both.programs)
    assert busy is not None
    assert busy.memory == both.cost == 128
    assert busy.issued < 128
    assert [one.count(Shuffle) > 0 for one in both.chosen] == [False, True]
    assert both.in_turn > 190


@pytest.mark.parametrize("chip", LANES)
def test_together_they_rank_no_higher_than_in_turn(chip: str) -> None:
    rng, cost = Random(f"ranks {chip}"), cost_of(chip)
    for _ in range(3):
        plans: list[ConversionPlan] = []
        while len(plans) < 2:
            texts = pair(rng, LANES[chip], 4)
            if "@sg" not in texts[0]:
                plans.append(la.convert(*texts, target=chip))
        both = convert_several(plans)
        assert exact(cost, both.programs) <= sum(exact(cost, plan.programs) for plan in plans) + 1e-6, str(both)


def exact(cost: Cost, programs: Sequence[Program]) -> float:
    """What ways are ordered by (`rank`), before slots and instructions are rounded, once for each plan."""
    busy = cost.parts(programs)
    assert busy is not None
    assert round(max(busy[:3])) + round(busy.issued) == rank(*cost.priced(programs))[0]
    return max(busy[:3]) + busy.issued


@pytest.mark.parametrize(
    ("chip", "bits", "texts"),
    [
        (
            "pvc",
            8,
            (
                (
                    "d0 = 2@lane:4 2@reg 2@lane 2@lane:8 2@reg:2 2@lane:2",
                    "d0 = 2@lane:4 2@reg 2@lane:2 2@lane:8 2@reg:2 2@lane",
                ),
                (
                    "d0 = 2@reg:4 2@lane:2 2@reg:2 2@lane 2@lane:4 2@lane:8 2@reg",
                    "d0 = 2@reg:4 2@lane 2@lane:8 2@lane:2 2@lane:4 2@reg:2 2@reg",
                ),
            ),
        ),
        (
            "gfx950",
            16,
            (
                (
                    "d0 = 2@lane:16 2@lane:32 2@lane 2@lane:8 2@reg 2@lane:2 2@lane:4",
                    "d0 = 2@lane:16 2@lane:4 2@lane 2@lane:8 2@reg 2@lane:2 2@lane:32",
                ),
                (
                    "d0 = 2@lane:16 2@lane 2@lane:8 2@lane:32 2@reg 2@lane:2 2@lane:4",
                    "d0 = 2@reg 2@lane:32 2@lane 2@lane:4 2@lane:16 2@lane:8 2@lane:2",
                ),
            ),
        ),
    ],
)
def test_where_together_is_dearer_they_are_done_in_turn(chip: str, bits: int, texts: Any) -> None:
    """Shared bytes at other places, or a way of two programs, which cannot stand beside another's."""
    plans = [la.convert(*pair_, element_bits=bits, target=chip) for pair_ in texts]
    both, cost = convert_several(plans), cost_of(chip)
    brings_all(both, 1)
    assert exact(cost, both.programs) <= sum(exact(cost, plan.programs) for plan in plans) + 1e-6
    assert both.is_in_turn
    assert [way.programs for way in both.chosen] == [plan.programs for plan in plans]
    assert len(both.programs) == sum(len(plan.programs) for plan in plans)
    assert both.emit(kernel=True).count("gpu.func") == 1
    assert "in turn" in str(both)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([{}, {"element_bits": 16}], "element_bits is 32 and 16"),
        ([{"target": "bmg"}, {"target": "pvc"}], "target is bmg and pvc"),
        ([{"target": "bmg"}, {"target": "bmg", "pressure": "alone"}], "pressure is all and alone"),
        ([], "0 plans: expected 1 to 64"),
        ([{}] * 65, "65 plans: expected 1 to 64"),
    ],
)
def test_what_cannot_go_together_is_said(settings: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        convert_several([la.convert(*TRANSPOSED, **one) for one in settings])


def test_other_machines_and_symbols_and_fragments_are_refused() -> None:
    plan = la.convert(*TRANSPOSED)
    with pytest.raises(LayoutError, match="1 and 2 subgroups"):
        convert_several([plan, la.convert(*ACROSS)])
    with pytest.raises(LayoutError, match="16 and 4 lanes"):
        convert_several([plan, la.convert("d0 = 4@lane", "d0 = 4@lane")])
    with pytest.raises(LayoutError, match="symbols"):
        convert_several([la.convert("d0 = R@reg 4@lane", "d0 = R@reg 2@lane 2@lane:2")])
    with pytest.raises(LayoutError, match="1 fragments for 2"):
        convert_several([plan, plan]).apply([np.zeros((1, 16, 16), np.int32)])
    with pytest.raises(LayoutError, match="expected \\[sg, lane, reg\\] = \\[1, 16, 16\\] of 32 bits"):
        convert_several([plan]).apply([np.zeros((1, 16, 15), np.int32)])
