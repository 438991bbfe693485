"""Conversions whose copies are told apart: executed as compilers lower them, for every chip and LLVM, without a race.

Who holds what is enumerated from both layouts. The simulator finds a load that no barrier puts behind another lane's store.
"""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import ConversionPlan
from layoutalg.conversion.candidates import Settings, held
from layoutalg.conversion.cost import cost_of, rank
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier
from layoutalg.core.layout import Layout
from layoutalg.simulate.launching import launch
from tests.conversion.brute_force import numbers, values
from tests.conversion.test_copies import LANES, pair
from tests.oracle.conversion_cpu import run_on_cpu
from tests.oracle.test_conversions_on_gpus import agree
from tests.oracle.toolchains import require, require_new, run

PIPELINE = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip={chip} binary-format=isa"
KINDS = "shuffles", "shared memory"


@cache
def chosen(chip: str, *, portable: bool = False) -> list[ConversionPlan]:
    """Conversions whose best way there is only where copies are told apart: by shuffles, and through memory."""
    rng, found = Random(f"told apart {chip}"), dict[str, ConversionPlan]()
    while len(found) < len(KINDS):
        texts, bits = pair(rng, LANES[chip], 3), rng.choice([8, 16, 32])
        plan = la.convert(*texts, element_bits=bits, target=chip, portable=portable)
        ways = held(plan.source, plan.destination, bits, chip, Settings(portable=portable))
        if rank(*cost_of(chip).priced(plan.programs)) < min(order for _, order in ways.values()):
            found.setdefault(plan.kind, plan)
    return [found[kind] for kind in KINDS]


@pytest.mark.parametrize("version", [22, 23, 24])
@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "gfx942", "gfx950"])
def test_kernels_do_in_software_what_their_programs_say(chip: str, version: int) -> None:
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    sources: dict[tuple[Program, ...], Layout] = {plan.programs: plan.source for plan in chosen(chip)}
    agree(chip, list(sources), version, simulated=2 if version == 22 else 0, sources=sources)


@pytest.mark.parametrize("version", [22, 23, 24])
@pytest.mark.parametrize("chip", ["bmg", "pvc"])
def test_intels_kernels_lower_and_do_in_the_simulator_what_the_layouts_say(chip: str, version: int) -> None:
    program = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    for number, plan in enumerate(chosen(chip)):
        text = plan.emit(kernel=True, llvm=version)
        done = run([program, PIPELINE.format(chip=chip)], text)
        assert done.returncode == 0, done.stderr[:500]
        data = values(int(np.prod(plan.source.shape)), plan.element_bits, number)
        given, wanted = (data[numbers(layout)] for layout in (plan.source, plan.destination))
        made = np.zeros_like(wanted)
        outcome = launch(text, [np.ascontiguousarray(given), made], (1, 1, 1), target=chip)
        assert outcome.findings == ()
        assert np.array_equal(made, wanted)


@pytest.mark.parametrize("chip", ["bmg", "gfx942"])
def test_a_barrier_that_is_missing_is_found(chip: str) -> None:
    plan = chosen(chip)[1]
    assert any(isinstance(step, Barrier) for program in plan.programs for step in program.steps)
    text = plan.emit(kernel=True)
    lines = [line for line in text.split("\n") if "barrier" not in line.lower() and "fence" not in line]
    assert len(lines) < len(text.split("\n"))
    data = values(int(np.prod(plan.source.shape)), plan.element_bits, 1)
    given, wanted = (data[numbers(layout)] for layout in (plan.source, plan.destination))
    outcome = launch("\n".join(lines), [np.ascontiguousarray(given), np.zeros_like(wanted)], (1, 1, 1), target=chip)
    assert outcome.findings


def test_real_work_items_do_what_the_layouts_say(tmp_path_factory: pytest.TempPathFactory) -> None:
    """On a CPU, which has no block messages."""
    for number, plan in enumerate(chosen("bmg", portable=True)):
        data = values(int(np.prod(plan.source.shape)), plan.element_bits, number)
        given, wanted = (data[numbers(layout)] for layout in (plan.source, plan.destination))
        folder = tmp_path_factory.mktemp("kernel")
        found = run_on_cpu(plan.programs, given, f"i{plan.element_bits}", folder)
        assert np.array_equal(found, wanted)
