"""Emitted conversions run in the simulator and do what their programs say; nothing they do to memory is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Barrier, Load, Step, Store
from layoutalg.simulate.launching import launch
from tests.oracle.test_conversions_run import CASES, Case


@pytest.mark.parametrize("llvm", [22, 24])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_conversion_does_what_its_program_says(case: Case, llvm: int) -> None:
    job = case.job()
    source: NDArray[np.generic] = np.ascontiguousarray(job.fragments)
    source.flags.writeable = False
    target = np.zeros(job.shape, source.dtype)
    text = emit_kernel(job.programs, job.element, job.name, llvm=llvm)
    outcome = launch(text, [source, target], (len(source), 1, 1))
    assert outcome.findings == ()
    for given, found in zip(source, target, strict=True):
        assert np.array_equal(found, case.run(given))
        if case.expected is not None:
            assert np.array_equal(found, case.expected(given))


def test_a_barrier_inside_subgroups_orders_their_lanes_and_nothing_else() -> None:
    case = next(case for case in CASES if case.name == "inside1_0")
    job = case.job()
    text = emit_kernel(job.programs, job.element, job.name, target="pvc")
    assert text.count("gpu.barrier") == 0
    [call] = [line for line in text.splitlines() if "llvm.call" in line]
    for kernel, rules in ((text, set[str]()), (text.replace(call, ""), {"run.race"})):
        target = np.zeros(job.shape, job.fragments.dtype)
        outcome = launch(kernel, [job.fragments, target], (len(target), 1, 1))
        assert {finding.rule for finding in outcome.findings} == rules
        assert np.array_equal(target[0], case.run(job.fragments[0]))
    others = Program(2, 16, 32, 1, 1, (0,), (*_swapped_subgroups(),), (1,), slm_bytes=128)
    arrays = [np.zeros((1, 2, 16, 1), "u4") for _ in range(2)]
    outcome = launch(emit_kernel(others, name="others", target="pvc"), arrays, (1, 1, 1))
    assert "run.race" in {finding.rule for finding in outcome.findings}


def _swapped_subgroups() -> Iterator[Step]:
    """Each subgroup loads what the other one stored, and waits for itself alone."""
    yield Store((0,), Address(0, xor=True, lane=(1, 2, 4, 8), sg=(16,)))
    yield Barrier("subgroup")
    yield Load((1,), Address(16, xor=True, lane=(1, 2, 4, 8), sg=(16,)))
