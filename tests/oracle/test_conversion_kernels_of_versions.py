"""A conversion's kernel is one that the asked version of LLVM verifies and lowers, and it moves the same elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import LayoutError
from tests.oracle.toolchains import require, require_new, run

PAIRS = {
    "a transpose": ("d0 = 16@lane, d1 = 16@reg", "d0 = 16@reg, d1 = 16@lane", 32),
    "24 registers": ("d0 = 16@lane, d1 = 24@reg", "d0 = 16@lane, d1 = 24@reg", 32),
    "one register": ("d0 = 16@lane", "d0 = 2@lane 8@lane:2", 32),
    "16 bits": ("d0 = 16@lane, d1 = 16@reg", "d0 = 16@reg, d1 = 16@lane", 16),
    "between subgroups": ("d0 = 4@sg 16@lane, d1 = 4@reg", "d0 = 4@reg 16@lane, d1 = 4@sg", 32),
}
PIPELINE = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=bmg binary-format=isa"


def plan_of(name: str) -> Any:
    source, result, bits = PAIRS[name]
    return la.convert(source, result, element_bits=bits, target="bmg")


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("name", PAIRS)
def test_a_version_of_llvm_verifies_and_lowers_its_kernel(name: str, llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    function = run([program], plan_of(name).emit(llvm=llvm))
    assert function.returncode == 0, function.stderr[:500]
    text = plan_of(name).emit(kernel=True, llvm=llvm)
    for options in ([], [PIPELINE]):
        done = run([program, *options], text)
        assert done.returncode == 0, done.stderr[:500]
    assert not la.read(text).verify(llvm=llvm)


@pytest.mark.parametrize("llvm", [22, 24])
@pytest.mark.parametrize("name", PAIRS)
def test_the_kernels_of_all_versions_move_the_same_elements(name: str, llvm: int) -> None:
    plan = plan_of(name)
    source, result, bits = PAIRS[name]
    before, after = la.Layout.parse(source).fragment_map(), la.Layout.parse(result).fragment_map()
    numbers = np.arange(np.prod(la.Layout.parse(source).shape), dtype=f"i{bits // 8}").reshape(
        la.Layout.parse(source).shape
    )
    given = numbers[tuple(np.moveaxis(before, -1, 0))].copy()
    found = np.zeros(after.shape[:-1], numbers.dtype)
    size = found.dtype.itemsize * 8
    assert size == bits
    outcome = la.read(plan.emit(kernel=True, llvm=llvm)).run([given, found], [1])
    assert not outcome.findings
    assert np.array_equal(found, numbers[tuple(np.moveaxis(after, -1, 0))])


def test_llvm_24_refuses_the_kernel_of_llvm_22() -> None:
    text = plan_of("a transpose").emit(kernel=True, llvm=22)
    said = run([require_new("mlir-opt-24")], text).stderr
    assert "Value shape must match mask shape" in said or "'alignment' cannot be parsed" in said


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(LayoutError, match="LLVM"):
        plan_of("a transpose").emit(kernel=True, llvm=3)
