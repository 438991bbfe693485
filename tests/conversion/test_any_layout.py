"""Conversions of any layout onto the machine: offsets, gaps, slots for several elements, against owners element by element."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion.program.steps import Load, Store
from layoutalg.core import Factor, Layout
from tests.conversion.brute_force import L
from tests.random_layouts import mixed_pair


def holds(source: Layout, destination: Layout, bits: int) -> la.ConversionPlan:
    """The plan, after a check that every owner of an element of the destination gets what an owner in the source has."""
    plan = la.convert(source, destination, element_bits=bits)
    first, last = plan.programs[0], plan.programs[-1]
    given = np.random.default_rng(bits).integers(1, 255, (first.subgroups, first.lanes, first.source_registers))
    given = given.astype(f"u{bits // 8}")
    pairs = [(source.owners(one), destination.owners(one)) for one in product(*map(range, source.shape))]
    for before, _ in pairs:  # copies are equal
        for owner in before:
            given[owner] = given[before[0]]
    found = plan.apply(given)
    assert found.shape == (last.subgroups, last.lanes, last.registers)
    for before, after in pairs:
        assert {found[owner] for owner in after} == {given[before[0]]}, (source, destination, before)
    return plan


def spread(random: Random, layout: Layout) -> Layout:
    """The layout with gaps along one axis, and a start above 0 along another."""
    axis, other = random.sample(["sg", "lane", "reg"], 2)
    step = random.choice([1, 2, 3])
    dims, copies = (
        [
            [factor._replace(stride=factor.stride * step) if factor.axis == axis else factor for factor in factors]
            for factors in rows
        ]
        for rows in (layout.dims, (layout.replicas,))
    )
    start = {other: random.choice([0, 1, 4])}
    return Layout(dims, copies[0], {axis: n for axis, n in start.items() if n})


@pytest.mark.parametrize("seed", range(3))
def test_layouts_with_gaps_and_offsets(seed: int) -> None:
    random = Random(seed)
    planned = 0
    for _ in range(12):
        a, b = mixed_pair(random)
        if np.prod(a.shape) > 128:
            continue
        a, b = (spread(random, one) if random.random() < 0.7 else one for one in (a, b))
        try:
            holds(a, b, random.choice([8, 16, 32, 64]))
            planned += 1
        except la.ConversionError as error:
            assert "the machine must be the same" in str(error)
    assert planned > 3


@pytest.mark.parametrize("seed", range(3))
def test_both_start_anywhere_and_elements_go_through_memory(seed: int) -> None:
    random = Random(seed)
    added = 0
    for _ in range(12):
        pair: list[Layout] = []
        for one in mixed_pair(random):
            layout = spread(random, one) if random.random() < 0.5 else one
            starts = {axis: random.randint(1, 8) for axis in ("sg", "lane", "reg") if random.random() < 0.5}
            pair.append(Layout(layout.dims, layout.replicas, starts))
        if np.prod(pair[0].shape) <= 128:
            plan = holds(pair[0], pair[1], random.choice([8, 16, 32, 64]))
            steps = [step for program in plan.programs for step in program.steps]
            added += any(isinstance(step, (Store, Load)) and step.address.plus for step in steps)
    assert added > 1


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_offsets_through_memory(bits: int) -> None:
    for a, b in (
        ("d0 = 2@sg 4@lane | offset 4@lane", "d0 = 4@lane 2@sg"),
        ("d0 = 4@lane 2@sg", "d0 = 2@sg 4@lane | offset 4@lane"),
        ("d0 = 2@sg 3@lane | offset 5@lane", "d0 = 3@lane 2@sg | offset 1@sg"),
        ("d0 = 2@sg 3@lane:2, d1 = 2@reg | offset 5@lane", "d0 = 3@lane 2@sg, d1 = 2@lane:6 | offset 1@sg 2@lane"),
    ):
        assert holds(L(a), L(b), bits).kind == "shared memory"


@pytest.mark.parametrize("seed", range(2))
def test_what_the_source_has_once_for_several_elements(seed: int) -> None:
    random = Random(seed)
    for _ in range(12):
        _, b = mixed_pair(random)
        # The source has one value for all digits of some factors; its others are spread over registers.
        dims: list[list[Factor]] = []
        place = 1
        for factors in b.dims:
            dims.append([])
            for factor in reversed(factors):
                kept = random.random() < 0.6
                dims[-1].insert(0, Factor(factor.extent, place, "reg") if kept else Factor(factor.extent))
                place *= factor.extent if kept else 1
        axes = b.axes
        copies = [Factor(int(axes[axis]), 1, axis) for axis in ("sg", "lane") if axes.get(axis, 1) > 1]
        if place <= 128 and np.prod(b.shape) <= 128:
            holds(Layout(dims, copies), b, random.choice([8, 32]))


def test_a_tensor_without_dimensions_has_gaps_too() -> None:
    plan = holds(L("() | replicas 2@lane:3"), L("() | replicas 4@lane"), 32)
    assert plan.shuffles == 1
    assert "1 element of 32 bits" in str(plan)


def test_a_slot_holds_one_element() -> None:
    with pytest.raises(la.ConversionError, match="d0 % 2: 2@lane becomes 2@_, which is one slot for 2 elements"):
        la.convert("d0 = 2@reg 4@lane", "d0 = 4@lane 2@_")
    with pytest.raises(la.LayoutError, match="one slot holds 2 elements"):
        la.convert("d0 = 4@reg, d1 = 3@reg:2", "d0 = 4@reg, d1 = 3@reg:4")
    with pytest.raises(la.ConversionError, match="lane counts from 0"):
        la.convert("d0 = 4@lane | offset -1@lane", "d0 = 4@lane")


def test_levels_say_what_crosses() -> None:
    rows, columns = L("d0 = 2@sg 4@reg, d1 = 16@lane"), L("d0 = 2@reg:2 2@sg 2@reg, d1 = 16@lane")
    for options in ({"level": "subgroup"}, {"slm_limit": 0}):
        with pytest.raises(
            la.ConversionError, match="d0 // 4: 2@sg becomes 2@reg:2, so elements go to other subgroups"
        ):
            la.convert(rows, columns, **options)  # pyright: ignore[reportArgumentType]
    inside = la.convert("d0 = 2@sg 4@reg, d1 = 4@lane", "d0 = 2@sg 4@lane, d1 = 4@reg", level="subgroup")
    assert {one.kind for one in inside.candidates} == {"shuffles"}
    cluster = la.convert(rows, columns, target="sm_90", level="cluster", workgroups=2)
    assert cluster.barriers == la.convert(rows, columns, target="sm_90").barriers + 1  # before stores, or behind loads
    data = np.arange(128, dtype=np.int32).reshape(8, 16)
    assert np.array_equal(cluster.apply(la.distribute(rows, data)), la.distribute(columns, data))
    generic = la.convert(rows, columns, target="generic", level="cluster", workgroups=2)
    with pytest.raises(
        la.ConversionError, match="a cluster of workgroups on generic: NVIDIA's chips have instructions for it"
    ):
        generic.emit()
    with pytest.raises(la.ConversionError, match="expected sm_90 or generic"):
        la.convert(rows, columns, target="pvc", level="cluster", workgroups=2)
