"""Mixed ways: executed as compilers lower them, for every chip and version of LLVM, and shorter in their listings by the rates.

The rule is `cost.rank`'s, with the instructions that a listing has in the place of those that the prices say.
"""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import ConversionPlan, SeveralConversions, convert_several, cost_of
from layoutalg.conversion.program.program import Program
from layoutalg.core.layout import Layout
from layoutalg.simulate.launching import launch
from tests.conversion.brute_force import numbers, values
from tests.conversion.test_mixed import LANES, MIXED, pair
from tests.oracle.conversion_cpu import run_on_cpu
from tests.oracle.test_conversions_on_gpus import FORMS, agree
from tests.oracle.toolchains import require, require_module, require_new, run

BENCHMARK: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "prices.py"))
COUNT = 2
PIPELINE = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip={chip} binary-format=isa"


NVIDIA = [
    (
        "d0 = 2@reg:2 2@reg 2@reg:32 2@lane:4 2@lane:2, d1 = 2@reg:4 2@reg:8 2@lane:16 2@lane 2@lane:8 2@reg:16",
        "d0 = 2@lane:8 2@reg 2@reg:32 2@lane:4 2@lane:2, d1 = 2@reg:4 2@reg:8 2@lane:16 2@lane 2@reg:2 2@reg:16",
        8,
    ),
    (
        "d0 = 2@reg:16 2@reg:8 2@lane:16 2@lane:4 2@reg:2 2@reg 2@lane 2@lane:2 2@reg:4 2@lane:8",
        "d0 = 2@reg:16 2@reg:8 2@lane:16 2@lane:4 2@reg:2 2@lane:2 2@lane 2@reg 2@reg:4 2@lane:8",
        16,
    ),
]
"""Two of the random conversions for which a mixed way is taken on sm_80 and on sm_90."""


@cache
def chosen(chip: str, *, portable: bool = False) -> list[ConversionPlan]:
    """Conversions for which a mixed way is taken."""
    if LANES[chip] == 5:
        plans = [la.convert(*texts, element_bits=bits, target=chip) for *texts, bits in NVIDIA]
        return [plan for plan in plans if MIXED in plan.chosen.name]
    rng, found = Random(f"listed {chip}"), list[ConversionPlan]()
    while len(found) < COUNT:
        texts, bits = pair(rng, LANES[chip], 4), rng.choice([16, 32, 32])
        plan = la.convert(*texts, element_bits=bits, target=chip, portable=portable)
        if MIXED in plan.chosen.name:
            found.append(plan)
    return found


@pytest.mark.parametrize("version", [22, 23, 24])
@pytest.mark.parametrize("chip", FORMS)
def test_kernels_do_in_software_what_their_programs_say(chip: str, version: int) -> None:
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    sources: dict[tuple[Program, ...], Layout] = {plan.programs: plan.source for plan in chosen(chip)}
    assert sources
    agree(chip, list(sources), version, simulated=int(version == 22), sources=sources)


def in_one_go(chip: str) -> SeveralConversions:
    """Two random conversions of words that are taken together."""
    rng, found = Random(f"one go {chip}"), list[ConversionPlan]()
    while len(found) < 2:
        texts = pair(rng, LANES[chip], 3 + len(found))
        if "@sg" not in texts[0]:
            found.append(la.convert(*texts, target=chip, portable=True))
    return convert_several(found)


@pytest.mark.parametrize("version", [22, 24])
@pytest.mark.parametrize("chip", ["sm_80", "gfx942"])
def test_two_conversions_in_one_go_do_in_software_what_their_program_says(chip: str, version: int) -> None:
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    agree(chip, [in_one_go(chip).programs], version, simulated=int(version == 22))


@pytest.mark.parametrize("version", [22, 23, 24])
def test_two_conversions_in_one_go_lower_for_intels_chips(version: int) -> None:
    program = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    text = in_one_go("bmg").emit(kernel=True, llvm=version)
    done = run([program, PIPELINE.format(chip="bmg")], text)
    assert done.returncode == 0, done.stderr[:500]


def test_real_work_items_do_two_conversions_in_one_go(tmp_path: Path) -> None:
    both = in_one_go("bmg")
    [program] = both.programs
    shape = program.subgroups, program.lanes, program.source_registers
    given = np.random.default_rng(1).integers(0, 2**32, shape, np.uint32)
    found = run_on_cpu((program,), given, "i32", tmp_path)
    first = both.plans[0].programs[0].source_registers
    parts = both.plans[0].apply(given[..., :first].copy()), both.plans[1].apply(given[..., first:].copy())
    assert np.array_equal(found, np.concatenate(parts, -1))


@pytest.mark.parametrize("version", [22, 23, 24])
@pytest.mark.parametrize("chip", ["bmg", "pvc"])
def test_intels_kernels_lower_and_do_in_the_simulator_what_the_layouts_say(chip: str, version: int) -> None:
    program = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    for number, plan in enumerate(chosen(chip)):
        text = plan.emit(kernel=True, llvm=version)
        done = run([program, PIPELINE.format(chip=chip)], text)
        assert done.returncode == 0, done.stderr[:500]
        data = values(int(np.prod(plan.source.shape)), plan.element_bits, number)
        held, wanted = (data[numbers(layout)] for layout in (plan.source, plan.destination))
        made = np.zeros_like(wanted)
        outcome = launch(text, [np.ascontiguousarray(held), made], (1, 1, 1), target=chip)
        assert outcome.findings == ()
        assert np.array_equal(made, wanted)


def test_real_work_items_do_what_the_layouts_say(tmp_path: Path) -> None:
    """On a CPU, which has no block messages."""
    for number, plan in enumerate(chosen("bmg", portable=True)):
        data = values(int(np.prod(plan.source.shape)), plan.element_bits, number)
        held, wanted = (data[numbers(layout)] for layout in (plan.source, plan.destination))
        (tmp_path / str(number)).mkdir()
        found = run_on_cpu(plan.programs, held, f"i{plan.element_bits}", tmp_path / str(number))
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("chip", ["bmg", "pvc", "sm_80", "gfx942"])
def test_by_their_listings_mixed_ways_are_better_than_the_best_of_the_others(chip: str) -> None:
    require("mlir-opt-22")
    if LANES[chip] == 4:
        require_new("ocloc")
    elif chip == "sm_80":
        require_module("triton")
    plans = chosen(chip)
    assert len(plans) == COUNT
    others = [next(one for one in plan.candidates if MIXED not in one.name) for plan in plans]
    chains = [*[plan.programs for plan in plans], *[one.programs for one in others]]
    counts = BENCHMARK["compilers"]()[chip].count(chains)
    ranks: list[float] = []
    for chain, count in zip(chains, counts, strict=True):
        parts = cost_of(chip).parts(chain)
        assert parts is not None
        assert abs(parts.issued - count) <= max(0.25 * count, 5)
        busy = parts.memory if parts.alu <= parts.issued else max(parts.memory, parts.alu)
        ranks.append(count + max(count, busy))
    assert sum(ranks[:COUNT]) < sum(ranks[COUNT:]), ranks
