"""A sample of a planned product: some workgroups are run, and only what they compute is compared.

The kernel of 4096x4096x4096 takes the simulator a minute or more. What is wrong in a kernel is seldom wrong in one workgroup
alone, so that a few tiles of C, drawn by a seed, say nearly as much in a hundredth of the time. Everything outside of these
tiles has to stay as it was before the launch.

By hand: C of 40x80 in tiles of 32x32 is 2x3 workgroups, x over n. Number 5 is at x = 2, y = 1: rows 32 to 39, columns 64 to 79.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(40, 80, 48, tile=(32, 32), subgroups=(1, 1))
>>> tile_of(gemm, 5)
Tile of workgroup 5: C[0][32:40, 64:80]
>>> found = run_sample(gemm, drawn(gemm, 2, seed=0), np.ones((40, 48)), np.ones((48, 80)))
>>> found.as_modelled, found.untouched, found.largest_value
(True, True, 48.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import whole_number
from layoutalg.gemm.numerics import computed, exact
from layoutalg.gemm.run import execute, laid_out_c

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["SampleRun", "TileOfC", "drawn", "run_sample", "tile_of"]


@dataclass(frozen=True)
class TileOfC:
    """What a workgroup computes: these rows and columns of one matrix of the batch."""

    workgroup: int
    matrix: int
    rows: slice
    columns: slice

    def __repr__(self) -> str:
        rows, columns = (f"{side.start}:{side.stop}" for side in (self.rows, self.columns))
        return f"Tile of workgroup {self.workgroup}: C[{self.matrix}][{rows}, {columns}]"


@dataclass(frozen=True)
class SampleRun:
    """What the tiles of a sample say: have they the bits of the model, and how far are they from the definition in f64.

    `untouched` says that every element outside of them is what it was before the launch.
    """

    as_modelled: bool
    untouched: bool
    largest_difference: float
    largest_value: float


def drawn(gemm: Gemm, count: int, seed: int = 0) -> tuple[int, ...]:
    """The numbers of so many workgroups, in order; all, where the grid has no more. The last one, at both edges, is among them.

    Raises `PlanError`: no workgroup is asked for, or k is in parts, which are added when all of them are done.

    >>> from layoutalg.gemm import plan_gemm
    >>> drawn(plan_gemm(256, 256, 64, tile=(32, 32), subgroups=(1, 1)), 3, seed=1)
    (29, 32, 63)
    """
    if gemm.problem.groups:
        raise PlanError("sample: which tile of C a workgroup has depends on the starts of the groups; run all of it")
    count, seed = whole_number(count, "sample", 1), whole_number(seed, "seed", 0)
    if gemm.tiling.stream_k:
        raise PlanError(
            f"sample: {gemm.tiling.stream_k} workgroups share the steps of all tiles; run all of it, or plan with stream_k=0"
        )
    if gemm.tiling.split_k > 1:
        raise PlanError(
            f"sample: k is in {gemm.tiling.split_k} parts, which are added when all of them are done; run all of it, or "
            "plan with split_k=1"
        )
    x, y, z = gemm.grid
    total = x * y * z
    chosen = np.random.default_rng(seed).choice(total - 1, min(count, total) - 1, replace=False)
    return *sorted(chosen.tolist()), total - 1


def tile_of(gemm: Gemm, workgroup: int) -> TileOfC:
    """What the workgroup of this number computes."""
    x, y, _ = gemm.grid
    whole = gemm.tiling.workgroup_tile
    rows, columns = workgroup // x % y * whole.m, workgroup % x * whole.n
    return TileOfC(
        workgroup,
        workgroup // (x * y),
        slice(rows, min(rows + whole.m, gemm.m)),
        slice(columns, min(columns + whole.n, gemm.n)),
    )


def run_sample(
    gemm: Gemm,
    workgroups: Sequence[int],
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    text: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> SampleRun:
    """Run these workgroups of a kernel at lane level, and compare their tiles; arguments are those of `Gemm.simulate`."""
    found, _ = execute(
        gemm, a, b, c, bias, row_scale, column_scale, text=text, progress=progress, workgroups=workgroups
    )
    shape = (gemm.problem.batch, gemm.m, gemm.n)
    before = laid_out_c(gemm, c)[:, : gemm.m, : gemm.n]
    whole = found.reshape(shape)
    left, right = (np.asarray(one).reshape(-1, *np.shape(one)[-2:]) for one in (a, b))
    old = None if c is None else np.asarray(c).reshape(shape)
    vectors = [None if one is None else np.asarray(one) for one in (bias, row_scale, column_scale)]
    same, others = True, np.ones(shape, np.bool_)
    difference = value = 0.0
    for tile in (tile_of(gemm, number) for number in workgroups):
        here = tile.matrix, tile.rows, tile.columns
        others[here] = False
        given = _of_tile(gemm, tile, left, right, old, vectors)
        part, wanted = whole[here], exact(*given)
        same &= part.tobytes() == computed(*given).tobytes()
        difference = float(np.maximum(difference, abs(part.astype(wanted.dtype) - wanted).max()))  # NaN stays
        value = float(np.maximum(value, abs(wanted).max()))
    bits = f"u{whole.dtype.itemsize}"
    untouched = bool(((whole.view(bits) == np.ascontiguousarray(before).view(bits)) | ~others).all())
    return SampleRun(same, untouched, difference, value)


def _of_tile(
    gemm: Gemm,
    tile: TileOfC,
    left: NDArray[Any],
    right: NDArray[Any],
    old: NDArray[Any] | None,
    vectors: Sequence[NDArray[Any] | None],
) -> tuple[Any, ...]:
    """A tile of C as a product of its own: the problem, A and B as they lie in memory, C before, the bias, the scales."""
    problem, rows, columns = gemm.problem, tile.rows, tile.columns
    right = right[tile.matrix] if problem.trans_b else right[tile.matrix].T  # columns of B first
    of_b = right[columns]
    if problem.gated:
        of_b = np.concatenate((of_b, right[columns.start + problem.n : columns.stop + problem.n]))
    one = replace(problem, m=rows.stop - rows.start, n=columns.stop - columns.start, batch=1)
    return (
        one,
        left[tile.matrix][:, rows] if problem.trans_a else left[tile.matrix][rows],
        of_b if problem.trans_b else of_b.T,
        None if old is None else old[tile.matrix, rows, columns],
        *(
            None if vector is None else vector[rows if side == "row" else columns]
            for vector, side in zip(vectors, (problem.bias, "row", "column"), strict=True)
        ),
    )
