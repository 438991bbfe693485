"""Many sets of arguments at once give what each of them gives alone."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.equivalence.data import arrays_for, kernel_of
from layoutalg.ir import read_module
from layoutalg.simulate import launch, launch_cases
from tests.simulate.levels.kernels import KERNELS

NAMES = ("gemm_once_relu", "rows_by_workgroup", "branch_by_workgroup", "softmax", "through_shared_memory", "gemm_i8")


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_case_is_as_if_it_ran_alone(name: str, lowered: bool) -> None:
    kernel = KERNELS[name]
    text = la.lower(la.propagate(kernel.text).module).module.source if lowered else kernel.text
    cases = [arrays_for(kernel_of(read_module(kernel.text)), seed) for seed in range(20)]
    together = launch_cases(read_module(text), cases, kernel.grid)
    assert not together.findings
    for given, found in zip(cases, together.arguments, strict=True):
        alone = launch(text, [array.copy() for array in given], kernel.grid)
        assert all(np.array_equal(a, b) for a, b in zip(alone.arguments, found, strict=True))


def test_scalars_and_the_size_of_the_grid_are_those_of_the_case() -> None:
    text = """gpu.module @m { gpu.func @k(%s: f32, %q: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
      %b = gpu.block_id x
      %n = gpu.grid_dim x
      %m = arith.addi %b, %n : index
      %i = arith.index_cast %m : index to i32
      %f = arith.sitofp %i : i32 to f32
      %r = arith.addf %f, %s : f32
      memref.store %r, %q[%b] : memref<4xf32>
      gpu.return } }"""
    found = launch_cases(read_module(text), [[100.0 * n, np.zeros(4, np.float32)] for n in range(3)], (4, 1, 1))
    assert [one.tolist() for _, one in found.arguments] == [[4 + i + 100 * n for i in range(4)] for n in range(3)]


def test_what_goes_wrong_in_one_case_is_found() -> None:
    text = """gpu.module @m { gpu.func @k(%i: memref<1xindex>, %q: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
      %z = arith.constant 0 : index
      %n = memref.load %i[%z] : memref<1xindex>
      %f = arith.constant 1.0 : f32
      memref.store %f, %q[%n] : memref<4xf32>
      gpu.return } }"""
    cases = [[np.array([n]), np.zeros(4, np.float32)] for n in (1, 2, 99)]
    assert [finding.rule for finding in launch_cases(read_module(text), cases).findings] == ["run.out_of_bounds"]
    assert not launch_cases(read_module(text), cases[:2]).findings


@pytest.mark.parametrize("second", [[], [np.zeros(4, np.float32)], [3], [np.zeros(16, np.int32)]])
def test_cases_that_are_not_alike_are_refused_in_words(second: list[object]) -> None:
    text = """gpu.module @m { gpu.func @k(%p: memref<16xf32>) kernel attributes
        {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} { gpu.return } }"""
    with pytest.raises(la.LayoutError, match="case 1"):
        launch_cases(read_module(text), [[np.zeros(16, np.float32)], second])
