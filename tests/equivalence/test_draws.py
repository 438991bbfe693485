"""Wrong kernels are found, whatever they compute: each element decides in some draw. Right ones are the same in every draw."""

from __future__ import annotations

import re

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import LayoutError
from layoutalg.equivalence.data import arrays_for, kernel_of
from layoutalg.equivalence.draws import MOST, draws, how_many
from layoutalg.ir import read_module
from tests.equivalence.mutants import KERNELS, brute_force, differs, lowered, mutants, outcome
from tests.simulate.levels.kernels import KERNELS as RIGHT


def next_row_instead(row: int) -> str:
    """The lowered maximum over rows, which takes row + 1 once more and never this one."""
    text = lowered("column_max")[1]
    lines = [line for line in text.split("\n") if re.search(rf"vector\.extract %vp\[{row}\]", line)]
    return text.replace(lines[-1], lines[-1].replace(f"[{row}]", f"[{row + 1}]"))


@pytest.mark.parametrize("row", range(15))
def test_a_maximum_that_reads_the_next_row_is_found_with_the_default_seed(row: int) -> None:
    kept = la.keeps_meaning(lowered("column_max")[0], next_row_instead(row))
    assert not kept.is_kept
    assert kept.draws <= 1 + MOST


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 51))
def test_a_maximum_that_reads_the_next_row_is_found_with_every_seed(seed: int) -> None:
    assert not any(
        la.keeps_meaning(lowered("column_max")[0], next_row_instead(row), seed=seed).is_kept for row in range(15)
    )


def found_and_missed(name: str, count: int, seed: int) -> tuple[int, list[str]]:
    """How many mutants compute something else (which brute force says), and those of them that are called the same."""
    before, after = lowered(name)
    cases = brute_force(arrays_for(kernel_of(read_module(before))), seed)
    right, _ = outcome(before, cases)
    assert not differs(right, outcome(after, cases)[0])
    found, missed = 0, list[str]()
    for text in mutants(after, count, seed):
        try:
            wrong = differs(right, outcome(text, cases)[0])
            kept = la.keeps_meaning(before, text)
        except LayoutError:
            continue  # no valid kernel
        found += wrong
        if wrong and kept.is_kept:
            missed.append(text)
    return found, missed


@pytest.mark.parametrize("name", ["column_max", "clamp", "threshold", "gather", "column_and"])
def test_what_computes_something_else_is_not_called_the_same(name: str) -> None:
    found, missed = found_and_missed(name, 12, 3)
    assert found >= 4
    assert not missed


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_of_many_mutants_none_is_called_the_same(name: str) -> None:
    found, missed = found_and_missed(name, 60, 1)
    assert found >= 15
    assert not missed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax", "layer_norm", "attention", "gemm_i8", "largest_of_rows", "sum_of_columns"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_lowered_rightly_is_the_same_in_every_draw(name: str, seed: int) -> None:
    kernel = RIGHT[name]
    text = la.lower(la.propagate(kernel.text).module).module.source
    kept = la.keeps_meaning(kernel.text, text, grid=kernel.grid, seed=seed)
    assert kept.is_kept
    assert kept.draws > 10


def test_every_element_of_a_row_and_of_a_column_is_the_largest_and_the_smallest_once() -> None:
    first = np.zeros((16, 32), np.float32)
    made = np.stack([case[0] for case in draws([first], MOST, 0)])
    for axis in (1, 2):
        for extreme in (made.argmax(axis), made.argmin(axis)):
            lines = extreme.reshape(len(made), -1)
            assert all(len(np.unique(lines[:, line])) == made.shape[axis] for line in range(lines.shape[1]))


def test_large_arrays_have_fewer_draws_and_given_ones_a_single_one() -> None:
    before, after = lowered("clamp")
    assert la.keeps_meaning(before, after).draws == 1 + how_many([np.zeros((8, 16), np.float32)] * 3)
    assert how_many([np.zeros((1024, 1024), np.float32)]) == 2
    arrays = [np.ones((8, 16), np.float32) for _ in range(3)]
    assert la.keeps_meaning(before, after, arguments=arrays).draws == 1


INDEXED = """gpu.module @m { gpu.func @k(%i: memref<16xi32>, %p: memref<16xf32>, %q: memref<16xf32>) kernel
    attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
  %lane = gpu.lane_id
  %n = memref.load %i[%lane] : memref<16xi32>
  %c = arith.constant 3 : i32
  %low = arith.andi %n, %c : i32
  %at = arith.index_cast %low : i32 to index
  %x = memref.load %p[%at] : memref<16xf32>
  memref.store %x, %q[%lane] : memref<16xf32>
  gpu.return } }"""


def test_integers_may_be_indices() -> None:
    assert la.keeps_meaning(INDEXED, INDEXED).draws > MOST // 2
    found = la.keeps_meaning(INDEXED, INDEXED.replace("arith.constant 3", "arith.constant 7"))
    assert not found.is_kept
    without = INDEXED.replace("%low = arith.andi %n, %c", "%low = arith.addi %n, %c")  # out of bounds for many
    assert la.keeps_meaning(without, without).is_kept


def test_a_branch_that_the_data_decides_is_run_draw_by_draw() -> None:
    text = INDEXED.replace("%low = arith.andi %n, %c : i32", "%low = arith.constant 1 : i32").replace(
        "memref.store",
        "%z = arith.constant 0 : index %h = memref.load %p[%z] : memref<16xf32> %f = arith.constant 0.5 : f32\n"
        "%b = arith.cmpf ogt, %h, %f : f32 scf.if %b { gpu.barrier } memref.store",
    )
    assert la.keeps_meaning(text, text).draws > 10
    assert not la.keeps_meaning(text, text.replace("constant 1 : i32", "constant 2 : i32")).is_kept
