"""300 generated kernels: what `propagate` returns is right by meaning, computes the same, and costs what it says."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import layoutalg as la
from layoutalg.side.conformance.kernel import arrays_for
from layoutalg.side.llvm_passes.comparing import compared
from layoutalg.simulate import launch
from tests.oracle.toolchains import require, require_new, run
from tests.propagation.generated import asked_of
from tests.propagation.pricing import priced

TASKS = list(asked_of(120))
OPERATIONS = sorted({kernel.operation for kernel, _ in TASKS})
LEVELS: dict[str, Any] = {"plain": "subgroup", "workgroup": "workgroup"}


def tasks(operation: str) -> list[Any]:
    return [task for task in TASKS if task[0].operation == operation]


@cache
def propagated(text: str, level: str, llvm: int) -> la.Propagated:
    return la.propagate(text, level=level, llvm=llvm)


def mistakes(module: Any, llvm: int) -> list[str]:
    """The errors of `la.check`; what LLVM makes of layouts that are right is not among them."""
    found = la.check(module, llvm=llvm).findings
    return [str(one) for one in found if one.level == "error" and not one.rule.startswith("compiler.")]


def test_there_are_enough_kernels() -> None:
    assert len(TASKS) >= 290
    assert {level for _, level in TASKS} == {"lane", "inst", "workgroup"}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_layouts_are_right_by_meaning_or_the_operation_is_named(operation: str) -> None:
    for kernel, level in tasks(operation):
        done = propagated(kernel.text, level, 24)
        wrong = mistakes(done.module, 24)
        named = [finding for finding in done.findings if finding.level == "error"]
        assert len(wrong) <= len(mistakes(kernel.text, 24)) or named, (kernel.name, level, wrong)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_kernel_computes_the_same_bits_before_and_after(operation: str) -> None:
    for kernel, level in tasks(operation):
        before, after = arrays_for(kernel), arrays_for(kernel)
        launch(kernel.text, before, kernel.grid, level=LEVELS[kernel.level])
        outcome = launch(str(propagated(kernel.text, level, 24)), after, kernel.grid, level=LEVELS[kernel.level])
        assert not outcome.findings
        assert [one.tobytes() for one in before] == [one.tobytes() for one in after], kernel.name


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_cost_is_what_the_written_module_is_counted_to_cost(operation: str) -> None:
    for kernel, level in tasks(operation):
        done = propagated(kernel.text, level, 24)
        if any(finding.level == "error" for finding in done.findings):
            continue  # an operation without a layout has no price
        counted = priced(done.module.parts[0].module, level, "pvc", 24)
        assert counted.missing == 0, kernel.name
        # What was made again is counted once, however many of its uses share it.
        again = any(conversion.kind == "made again" for conversion in done.conversions)
        assert counted.total == done.cost or (again and counted.total < done.cost), (kernel.name, level)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("llvm", [22, 24])
def test_no_kernel_costs_more_than_with_the_layouts_of_llvm(operation: str, llvm: int) -> None:
    for kernel, level in tasks(operation):
        theirs = compared(la.read(kernel.text), level, "pvc", llvm)
        if theirs.cost is not None and not (theirs.wrong or theirs.overwritten or theirs.unfit):  # the same task
            assert propagated(kernel.text, level, llvm).cost <= theirs.cost, (kernel.name, level, theirs)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_bound_is_reached_on_kernels(operation: str) -> None:
    for kernel, level in tasks(operation):
        assert propagated(kernel.text, level, 24).is_optimal, (kernel.name, level)


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_mlir_opt_accepts_what_is_written(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    texts = [str(propagated(kernel.text, level, llvm)) for kernel, level in TASKS]
    done = run([program, "--split-input-file"], "\n// -----\n".join(texts))
    assert done.returncode == 0, done.stderr[:2000]
