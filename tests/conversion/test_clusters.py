"""Conversions across workgroups of a cluster: where memory lies, what emitted kernels do, and barriers none can miss."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.conversion import ConversionPlan
from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.cluster_places import divided, in_cluster, place_of, placement
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Load, Store
from layoutalg.core.layout import Layout
from layoutalg.simulate.launching import launch
from tests.conversion.brute_force import numbers, values
from tests.random_layouts import bits_pair, mixed_pair

Array = NDArray[Any]
ELEMENTS = {8: "i8", 16: "f16", 32: "f32", 64: "i64"}
ARRIVE, WAIT = (f"llvm.nvvm.barrier.cluster.{half}.aligned" for half in ("arrive", "wait"))
NAMED = [
    ("d0 = 4@sg 8@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 4@sg 8@reg", 2, 32),
    ("d0 = 8@sg 4@reg, d1 = 32@lane", "d0 = 4@reg 8@sg, d1 = 32@lane", 8, 16),
    ("d0 = 4@sg 8@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 8@reg 4@sg", 4, 8),
    ("d0 = 6@sg 5@reg, d1 = 32@lane", "d0 = 5@reg 6@sg, d1 = 32@lane", 2, 16),
    ("d0 = 6@sg 4@reg, d1 = 32@lane", "d0 = 4@reg 6@sg, d1 = 32@lane", 6, 32),
    ("d0 = 4@reg, d1 = 32@lane | replicas 2@sg", "d0 = 2@reg 2@sg, d1 = 32@lane", 2, 32),
    ("d0 = 2@reg 2@sg, d1 = 32@lane", "d0 = 4@reg, d1 = 32@lane | replicas 2@sg", 2, 32),
]


@cache
def plans(seed: int, count: int) -> list[ConversionPlan]:
    """Plans of random pairs for 2 to 8 workgroups of whole warps, of powers of two and others."""
    rng, found = random.Random(f"clusters {seed}"), list[ConversionPlan]()
    while len(found) < count:
        source, target = bits_pair(rng, 4) if rng.random() < 0.7 else mixed_pair(rng)
        subgroups, lanes = source.axes.get("sg", 1), source.axes.get("lane", 1)
        fitting = [
            n for n in (2, 3, 4, 8) if subgroups % n == 0 and 32 % lanes == 0 and subgroups // n * lanes % 32 == 0
        ]
        if fitting:
            settings: Any = {"level": "cluster", "workgroups": rng.choice(fitting)}
            found.append(
                la.convert(source, target, element_bits=rng.choice([8, 16, 32, 64]), target="sm_90", **settings)
            )
    return found


def named(case: tuple[str, str, int, int]) -> ConversionPlan:
    source, target, workgroups, bits = case
    return la.convert(source, target, element_bits=bits, target="sm_90", level="cluster", workgroups=workgroups)


def fragments_of(layout: Layout, bits: int, clusters: int = 2) -> Array:
    """The same element in all places that hold it: `[cluster, sg, lane, reg]`."""
    return np.stack([values(int(np.prod(layout.shape)), bits, i)[numbers(layout)] for i in range(clusters)])


def executed(plan: ConversionPlan, text: str) -> tuple[Array, tuple[Any, ...]]:
    given = np.ascontiguousarray(fragments_of(plan.source, plan.element_bits))
    shape = *given.shape[:3], plan.programs[-1].registers
    made = np.zeros(shape, given.dtype)
    outcome = launch(text, [given, made], (len(given) * plan.workgroups, 1, 1), target="sm_90")
    return made, outcome.findings


def moved(plan: ConversionPlan) -> Array:
    """What brute force says: every place of the destination has its element."""
    return fragments_of(plan.destination, plan.element_bits)


@pytest.mark.parametrize("case", NAMED, ids=lambda case: f"{case[0]} to {case[1]}, {case[2]} workgroups")
def test_every_way_of_named_conversions_is_emitted_and_executed(case: tuple[str, str, int, int]) -> None:
    plan = named(case)
    for llvm in (22, 23, 24):
        found, findings = executed(plan, plan.emit(ELEMENTS[plan.element_bits], kernel=True, llvm=llvm))
        assert not findings
        assert np.array_equal(found, moved(plan))
    for way in plan.candidates[1:]:
        text = emit_kernel(way.programs, f"i{plan.element_bits}", "k", "sm_90", workgroups=plan.workgroups)
        found, findings = executed(plan, text)
        assert not findings, way.name
        assert np.array_equal(found, moved(plan)), way.name


def check(plan: ConversionPlan) -> None:
    found, findings = executed(plan, plan.emit(kernel=True, name="k"))
    assert not findings, (str(plan.source), str(plan.destination), findings[0].message)
    assert np.array_equal(found, moved(plan)), (str(plan.source), str(plan.destination))
    for fragments, wanted in zip(fragments_of(plan.source, plan.element_bits), moved(plan), strict=True):
        assert np.array_equal(plan.apply(fragments), wanted)


def test_random_conversions_in_clusters_move_every_element() -> None:
    found = plans(0, 14)
    assert {plan.workgroups for plan in found} >= {2, 4}
    for plan in found:
        check(plan)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 9))
def test_hundreds_of_random_conversions_in_clusters(seed: int) -> None:
    for plan in plans(seed, 50):
        check(plan)


def without_barrier(text: str, number: int) -> str:
    """The text without one of its barriers: both halves."""
    lines = text.splitlines()
    gone = [[i for i, line in enumerate(lines) if half in line][number] for half in (ARRIVE, WAIT)]
    return "\n".join(line for i, line in enumerate(lines) if i not in gone)


def test_no_barrier_of_the_cluster_can_be_left_out() -> None:
    """Each is needed: the simulator finds what goes wrong without it, whatever the order of execution happens to give."""
    rules: set[str] = set()
    for plan in [*map(named, NAMED[:3]), named(NAMED[-1]), *plans(0, 4)]:
        text = plan.emit(kernel=True, name="k")
        for number in range(text.count(ARRIVE)):
            _, findings = executed(plan, without_barrier(text, number))
            assert findings, (str(plan.source), str(plan.destination), number)
            rules |= {finding.rule for finding in findings}
    assert rules >= {"run.not_started", "run.race", "run.ended"}


def test_every_byte_has_one_place_in_one_workgroup() -> None:
    """By enumeration: no two bytes share a place, and none is beyond what a workgroup has."""
    placed = 0
    for plan in [*map(named, NAMED), *plans(0, 12)]:
        for program in [one for way in plan.candidates for one in way.programs if one.slm_bytes]:
            found = placement(program, plan.workgroups)
            assert found is not None
            used = np.unique(bytes_of(program))
            workgroups, at = divided(used, found.digits)
            assert len({*zip(workgroups.tolist(), at.tolist(), strict=True)}) == len(used)
            assert workgroups.max() < plan.workgroups
            assert at.max() < found.bytes
            placed += 1
    assert placed > 40


def bytes_of(program: Program) -> Array:
    """Every byte that plain accesses touch, one by one."""
    found: set[int] = set()
    for step in program.steps:
        if isinstance(step, (Store, Load)) and not step.matrix:
            size = step.bits // 8
            starts = step.address.of(np.arange(program.subgroups), np.arange(program.lanes)) * size
            found |= {start + i for start in starts.ravel().tolist() for i in range(len(step[0]) * size)}
    return np.array(sorted(found or {0}))


def test_what_reaches_others_says_which_barriers_there_are() -> None:
    for plan in [*map(named, NAMED), *plans(0, 12)]:
        for way in plan.candidates:
            for program in [one for one in way.programs if one.slm_bytes]:
                found = placement(program, plan.workgroups)
                assert found is not None
                own = dict.fromkeys((Store, Load), True)
                for step in program.steps:
                    if isinstance(step, (Store, Load)):
                        own[type(step)] &= place_of(step, program, found, plan.workgroups).own
                wanted = ("both" if not own[Load] else "stores") if not own[Store] else "" if own[Load] else "loads"
                assert found.reaching == wanted
                clusters = [step.scope for step in program.steps if isinstance(step, Barrier)].count("cluster")
                assert bool(clusters) == bool(found.reaching)


def test_barriers_that_are_there_are_not_doubled() -> None:
    for plan in [*map(named, NAMED), *plans(0, 8)]:
        assert in_cluster(plan.programs, plan.workgroups) == plan.programs


def test_a_function_is_for_workgroups_too() -> None:
    text = named(NAMED[0]).emit("f32")
    assert "known_cluster_size" not in text
    assert text.count("llvm.nvvm.mapa.shared.cluster") == 1
    assert text.count(ARRIVE) == text.count(WAIT) == 2


def test_a_workgroup_of_less_than_a_warp_is_refused() -> None:
    plan = la.convert("d0 = 2@sg 2@reg, d1 = 16@lane", "d0 = 2@reg 2@sg, d1 = 16@lane", target="sm_90", level="cluster",
                      workgroups=2)  # fmt: skip
    with pytest.raises(
        la.ConversionError, match="a workgroup of 16 work-items on sm_90: expected a multiple of the 32"
    ):
        plan.emit(kernel=True)


def test_memory_is_that_of_each_workgroup() -> None:
    """What four workgroups share is four times what one has."""
    pair = "d0 = 8@sg 4@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 8@sg 4@reg"
    settings: Any = {"element_bits": 32, "target": "sm_90", "slm_limit": 1024}
    assert la.convert(*pair, **settings, level="cluster", workgroups=4).slm_bytes <= 4096
    with pytest.raises(la.LayoutError):
        la.convert(*pair, **settings | {"slm_limit": 4}, level="cluster", workgroups=4)
