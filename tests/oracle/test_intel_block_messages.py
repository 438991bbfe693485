"""Block messages of Intel's chips in emitted conversions: few instructions, no calls left, and run as real work-items on a CPU.

Instructions are those of Intel's current compiler, beyond the same loads and stores without a conversion. On the CPU, which has
no block messages, software definitions stand for them (`conversion_cpu.block_messages`).
"""

from __future__ import annotations

import runpy
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Load, Store
from layoutalg.conversion.strategies.memory_forms import through_forms
from layoutalg.memory.machine_bits import view
from layoutalg.simulate.launching import launch
from tests.conversion.brute_force import numbers, values
from tests.oracle.conversion_cpu import Job, run_batch
from tests.oracle.toolchains import require, require_new, run
from tests.random_layouts import bits_pair

Form = tuple[str, Program, la.Layout, la.Layout]
BENCHMARK: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "prices.py"))
CHIPS = ("bmg", "pvc")
TRANSPOSES = {
    "16x16": ("d0 = {}16@reg, d1 = 16@lane", "d0 = {}16@lane, d1 = 16@reg"),
    "32x16": ("d0 = {}32@reg, d1 = 16@lane", "d0 = {}2@reg:16 16@lane, d1 = 16@reg"),
}
BARS = (("16x16", 32, 31), ("32x16", 32, 49), ("16x16", 16, 37), ("16x16", 8, 40))
"""Transposes, the bits of their elements, and the most instructions of the shortest form, with a barrier of two subgroups."""
ALL_GATHER = "d0 = 16@lane", "d0 = 16@reg | replicas 16@lane"


def forms(source: la.Layout, destination: la.Layout, bits: int, chip: str = "bmg") -> list[Form]:
    """The forms with block messages."""
    a, b = view(source), view(destination)
    assert a is not None
    assert b is not None
    return [
        (name, program, source, destination)
        for name, program in through_forms(a, b, bits, chip)
        if any(isinstance(step, (Store, Load)) and step.matrix == "block" for step in program.steps)
    ]


def transposes(name: str, bits: int, subgroups: int, chip: str) -> list[Form]:
    each = f"{subgroups}@sg " if subgroups > 1 else ""
    pair = [la.Layout.parse(text.format(each)) for text in TRANSPOSES[name]]
    return forms(pair[0], pair[1], bits, chip)


@cache
def cases() -> list[tuple[int, Form]]:
    """Transposes of 1 and 4 subgroups, and random conversions: some cross subgroups, some hold copies."""
    found = [
        (bits, form)
        for name in TRANSPOSES
        for bits in (8, 16, 32, 64)
        for subgroups in (1, 4)
        for form in transposes(name, bits, subgroups, "bmg")
    ]
    rng = Random("block messages")

    def drawn() -> Any:
        while True:
            source, destination = bits_pair(rng, 5)
            bits = rng.choice([8, 16, 32, 64])
            if source.axes.get("lane") == destination.axes.get("lane") == 16:
                yield from [(bits, form) for form in forms(source, destination, bits)]

    return [*found, *islice(drawn(), 60)]


def run_on_work_items(wanted: list[tuple[int, Form]], directory: Path) -> None:
    jobs: list[Job] = []
    right: list[Any] = []
    for number, (bits, (_, program, source, destination)) in enumerate(wanted):
        data = values(int(np.prod(source.shape)), bits, number)
        jobs.append(Job(f"blocks{number}", (program,), f"i{bits}", data[numbers(source)][None]))
        right.append(data[numbers(destination)])
    found = run_batch(jobs, directory)
    for job, expected in zip(jobs, right, strict=True):
        assert np.array_equal(found[job.name][0], expected), (job.name, job.programs)


def test_work_items_on_a_cpu_convert_by_block_messages_as_the_layouts_say(tmp_path: Path) -> None:
    wanted = cases()[::11]
    assert {bits for bits, _ in wanted} == {8, 16, 32, 64}
    run_on_work_items(wanted, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(3))
def test_work_items_on_a_cpu_convert_by_all_of_them(part: int, tmp_path: Path) -> None:
    run_on_work_items(cases()[part::3], tmp_path)


@pytest.mark.parametrize("part", range(4))
def test_the_simulation_converts_by_block_messages_as_the_layouts_say(part: int) -> None:
    for number, (bits, (name, program, source, destination)) in list(enumerate(cases()))[part::16]:
        data = values(int(np.prod(source.shape)), bits, number)
        right = data[numbers(destination)]
        made = np.zeros_like(right)[None]
        text = emit_kernel(program, f"i{bits}", target="bmg", llvm=(22, 24)[number % 2])
        outcome = launch(text, [data[numbers(source)][None], made], (1, 1, 1))
        assert outcome.findings == (), (name, source, destination)
        assert np.array_equal(made[0], right), (name, source, destination)


def listings(programs: list[Program], chip: str) -> list[list[str]]:
    require("mlir-opt-22")
    return BENCHMARK["intel_listings"]([(program,) for program in programs], chip, require_new("ocloc"))


@pytest.mark.parametrize("chip", CHIPS)
def test_a_transpose_is_as_short_as_the_shortest_that_was_found_by_hand(chip: str) -> None:
    kinds = [(bar, form[1]) for bar in BARS for form in transposes(bar[0], bar[1], 2, chip)]
    plan = la.convert(*ALL_GATHER, target=chip)
    chains = [*[(program,) for _, program in kinds], plan.programs]

    def counts(chains: list[Any]) -> list[float]:
        return [float(BENCHMARK["slots"](lines)) for lines in BENCHMARK["intel_listings"](chains, chip, ocloc)]

    require("mlir-opt-22")
    ocloc = require_new("ocloc")
    *found, gathered = BENCHMARK["beyond_the_copy"](counts, chains)
    for bar in BARS:
        shortest = min(count for (one, _), count in zip(kinds, found, strict=True) if one == bar)
        assert shortest <= bar[2], (chip, bar, shortest)
    assert gathered <= 17, chip


DEFAULT_BARS = (("16x16", 32, 32), ("16x16", 16, 37), ("16x16", 8, 40))


@pytest.mark.parametrize("chip", CHIPS)
def test_the_default_of_a_transpose_is_short_and_its_lanes_meet_in_no_bank(chip: str) -> None:
    plans = [
        la.convert(*[text.format("") for text in TRANSPOSES[name]], element_bits=bits, target=chip)
        for name, bits, _ in DEFAULT_BARS
    ]
    assert [plan.bank_conflicts for plan in plans] == [1] * len(plans)

    def counts(chains: list[Any]) -> list[float]:
        return [float(BENCHMARK["slots"](lines)) for lines in BENCHMARK["intel_listings"](chains, chip, ocloc)]

    require("mlir-opt-22")
    ocloc = require_new("ocloc")
    found = BENCHMARK["beyond_the_copy"](counts, [plan.programs for plan in plans])
    assert all(count <= most for count, (*_, most) in zip(found, DEFAULT_BARS, strict=True)), (chip, found)


@pytest.mark.parametrize("chip", CHIPS)
def test_the_graphics_compiler_knows_every_block_message(chip: str) -> None:
    programs = [form[1] for _, form in cases()[:: 1 if chip == "bmg" else 4]]
    for program, lines in zip(programs, listings(programs, chip), strict=True):
        text = "\n".join(lines)
        assert "calla" not in text, program
        assert "slm" in text, program


@pytest.mark.parametrize("version", [22, 23, 24])
def test_every_version_of_llvm_takes_the_names(version: int) -> None:
    compiler = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    texts = [
        emit_kernel(form[1], f"i{bits}", target="bmg", llvm=version) for bits, form in cases()[:: 12 + version % 3]
    ]
    kind = "bin" if version == 22 else "isa"
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=bmg binary-format={kind}"
    done = run([compiler, "--split-input-file", pipeline], "// -----\n".join(texts))
    assert done.returncode == 0, done.stderr[:2000]
    assert done.stdout.count("gpu.binary") == len(texts) > 5
