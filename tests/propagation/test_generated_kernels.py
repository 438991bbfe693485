"""Kernels made at random: what `propagate` returns is right by meaning, and what `lower` makes of it computes the same numbers.

The numbers are those of the kernel as it was generated, run before anything is distributed. Kernels that have all layouts (at
workgroup level) are lowered as they are.
"""

from __future__ import annotations

from itertools import islice

import pytest

import layoutalg as la
from layoutalg.ir.findings import Finding
from layoutalg.side.conformance.generating import GeneratedKernel, kernels, meaning
from layoutalg.side.conformance.kernel import arrays_for, first_difference

SEED = 13
BATCH = 50
BATCHES = [0, 1, *(pytest.param(number, marks=pytest.mark.exhaustive) for number in range(2, 6))]
"""Every run takes the first two, `make exhaustive` all 300 of each level."""


def batch(level: str, number: int) -> list[GeneratedKernel]:
    made = kernels(SEED, BATCH * len(BATCHES), level=level)  # type: ignore[arg-type]
    return list(islice(made, number * BATCH, (number + 1) * BATCH))


def runs_the_same(kernel: GeneratedKernel, lowered: la.Module) -> bool:
    """Whether the kernel leaves the same arrays; sums may be in another order where the kernel says so."""
    arrays = arrays_for(kernel)
    expected = meaning(kernel, arrays)
    found = [array.copy() for array in arrays]
    outcome = lowered.run(found, kernel.grid)
    assert not outcome.findings, f"{kernel.name}: {outcome.findings[0]}"
    return first_difference(found[-1], expected, kernel.tolerance) is None


def lowered_of(kernel: GeneratedKernel, module: la.Module) -> la.Module | None:
    """The kernel at lane level; None where an operation has no lowering, which a finding says."""
    found = la.lower(module, llvm=24)
    errors = [finding for finding in found.findings if finding.level == "error"]
    assert all(finding.rule.startswith("lower.") for finding in errors), f"{kernel.name}: {errors[0]}"
    return None if errors else found.module


def wrong_layouts(module: la.Module) -> list[Finding]:
    """What is wrong with the layouts: not what compilers get wrong, nor blocks that no message moves in any layout."""
    return [
        mistake.finding
        for mistake in la.check(module, llvm=24).mistakes
        if mistake.finding.level == "error"
        and not mistake.finding.rule.startswith("compiler.")
        and (mistake.repairs or mistake.finding.rule != "layouts.demand")
    ]


@pytest.mark.parametrize("number", BATCHES)
def test_what_propagate_returns_is_right_and_computes_the_same(number: int) -> None:
    done = 0
    for kernel in batch("plain", number):
        found = la.propagate(la.read(kernel.spelled_for(24)), level="lane", llvm=24)
        # A block that no message moves is named; what lowers it moves it element by element.
        errors = [one for one in found.findings if one.level == "error" and one.rule != "propagate.demand"]
        assert not errors, f"{kernel.name}: {errors[0]}"
        wrong = wrong_layouts(found.module)
        assert not wrong, f"{kernel.name}: {wrong[0]}"
        lowered = lowered_of(kernel, found.module)
        if lowered is not None:
            assert runs_the_same(kernel, lowered), kernel.name
            done += 1
    assert done >= 0.9 * BATCH


@pytest.mark.parametrize("number", BATCHES)
def test_a_lowered_workgroup_computes_the_same(number: int) -> None:
    done = 0
    for kernel in batch("workgroup", number):
        lowered = lowered_of(kernel, la.read(kernel.spelled_for(24)))
        if lowered is not None:
            assert runs_the_same(kernel, lowered), kernel.name
            done += 1
    assert done >= 0.9 * BATCH
