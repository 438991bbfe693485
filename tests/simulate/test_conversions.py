"""Emitted conversions run in the simulator and do what their programs say; nothing they do to memory is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Barrier, Load, Step, Store
from layoutalg.simulate import SimulationError
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


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_a_barrier_of_the_workgroup_orders_shared_memory_for_all_its_subgroups(llvm: int) -> None:
    store, _, load = _swapped_subgroups()
    swapped = Program(2, 16, 32, 1, 1, (0,), (store, Barrier(), load), (1,), slm_bytes=128)
    text = emit_kernel(swapped, name="swapped", target="pvc", llvm=llvm)
    barrier = "llvm.call spir_funccc @_Z22__spirv_ControlBarrieriii" if llvm == 22 else "gpu.barrier memfence"
    [line] = [line for line in text.splitlines() if barrier in line]
    given = np.arange(32, dtype="u4").reshape(1, 2, 16, 1)
    for kernel, rules in ((text, set[str]()), (text.replace(line, ""), {"run.race"})):
        target = np.zeros_like(given)
        outcome = launch(kernel, [given, target], (1, 1, 1))
        assert {finding.rule for finding in outcome.findings} == rules
        assert np.array_equal(target, given[:, ::-1])


@pytest.mark.parametrize(
    ("scopes", "order", "named"), [("22", 0, "orders shared memory"), ("33", 0x208, "orders"), ("23", 264, "scope 3")]
)
def test_a_control_barrier_that_orders_something_else_is_not_simulated(scopes: str, order: int, named: str) -> None:
    text = f"""gpu.module @k {{ llvm.func spir_funccc @_Z22__spirv_ControlBarrieriii(i32, i32, i32)
      gpu.func @f() kernel attributes {{known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
        %x = arith.constant {scopes[0]} : i32 %y = arith.constant {scopes[1]} : i32 %o = arith.constant {order} : i32
        llvm.call spir_funccc @_Z22__spirv_ControlBarrieriii(%x, %y, %o) : (i32, i32, i32) -> () gpu.return }} }}"""
    with pytest.raises(SimulationError, match=named):
        launch(text, [], (1, 1, 1))
