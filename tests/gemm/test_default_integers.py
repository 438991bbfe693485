"""Plans are the same where numpy's default integer has 32 bits: costs take up to 62."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.gemm.counting import asked, instructions, prefetches_per_step
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.tiling import Tile, Tiling
from tests.default_integers import default_integers_of_32_bits


def test_a_numpy_of_32_bits_is_what_it_says() -> None:
    with default_integers_of_32_bits():
        assert [np.arange(3).dtype, np.array([1]).dtype, np.full(2, 7).dtype] == [np.int32] * 3
        assert np.arange(3, dtype=np.int64).dtype == np.int64
        with pytest.raises(OverflowError):
            np.array([2**40])
    assert np.arange(3).dtype == np.int64


def test_a_workgroup_of_32_subgroups_asks_for_one_prefetch_each() -> None:
    # 32 subgroups of 32x64 of a step of 64: 256x64 of A are 16 messages of 16 rows, 64x256 of B 16: one for each.
    problem, tiling = Problem.of(64, 64, 64), Tiling(Tile(32, 64, 64), (8, 4), 256, "shared")
    with default_integers_of_32_bits():
        assert prefetches_per_step(problem, tiling) == 1


@pytest.mark.parametrize("prefetch", ["shared", "lines", "none"])
@pytest.mark.parametrize("size", [64, 4096, 2**20])
def test_counts_are_the_same_with_integers_of_32_bits(prefetch: str, size: int) -> None:
    problem, tiling = Problem.of(size, size, size), Tiling(Tile(32, 64, 64), registers=256, prefetch=prefetch)  # pyright: ignore[reportArgumentType]
    grids = [np.array([8, 1, 4, 2]), np.array([4, 1, 8, 2])]
    expected = (
        [part.tolist() for part in asked(problem, tiling, *grids)],
        instructions(problem, tiling, *grids).tolist(),
    )
    with default_integers_of_32_bits():
        rows, columns = (grid.astype(np.int32) for grid in grids)
        found = [part.tolist() for part in asked(problem, tiling, rows, columns)]
        assert (found, instructions(problem, tiling, rows, columns).tolist()) == expected
