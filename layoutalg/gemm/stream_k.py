"""Stream-K: the workgroups share the steps of all tiles evenly, so that none of them waits for the last wave.

With a tile for each workgroup, 21 tiles on 20 cores take as long as 40. With `stream_k=20` the grid has 20 workgroups, as many
as the machine holds at once. What there is to do is all (tile, step) pairs, the steps of the first tile, then those of the
second one, and so on; the tiles of a batch are one list, those of its first matrix first. The pairs are cut into 20 equal runs,
one for each workgroup. A tile that is in one run is stored as always. Of a tile that is cut, each part goes to the workspace,
and who is done last adds them in the order of k (`layoutalg.gemm.emission.last_part`). Nobody waits for anybody, and the bits
are the same in every run.

Where there are several tiles for each workgroup, only the last of them are cut: the others are whole, in the order of the plain
grid, so that neighbours read the same rows and columns at a time. What is left for the runs is at least a tile and less than
two for each workgroup (two-tile Stream-K of Osama, Merrill, Cecka, Garland and Owens, PPoPP 2023, without their waiting).

By hand, 5 tiles of 4 steps on 2 workgroups: 1 whole tile for each, 12 pairs left, 6 in each run. Tile 3 is cut in the middle:

>>> [piece for piece in cuts(5, 4, 2) if piece.tile > 1]
[Piece(run=0, tile=2, begin=0, end=4), Piece(run=0, tile=3, begin=0, end=2), Piece(run=1, tile=3, begin=2, end=4), \
Piece(run=1, tile=4, begin=0, end=4)]

The law: every pair is in one run, no run is longer than the even share (rounded up), and whole numbers that are exact in f32
give the product of the plain grid.

>>> gemm = la.plan_gemm(40, 64, 128, tile=(8, 64), k_step=32, subgroups=(1, 1), stream_k=2)
>>> gemm.grid, gemm.k_steps
((2, 1, 1), 10)
>>> a, b = np.ones((40, 128), np.float16), np.arange(128 * 64).reshape(128, 64) % 7
>>> bool((gemm.simulate(a, b) == a.astype(int) @ b).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.errors import PlanError
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import whole_number
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.ranking import Numbers
from layoutalg.gemm.tiling import MOST_RUNS, Tiling

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = [
    "MOST_PAIRS",
    "Piece",
    "Runs",
    "added_at_once",
    "busy",
    "check_runs",
    "check_stream",
    "cuts",
    "slots_of_workspace",
    "steps_of_run",
    "sums_of_runs",
    "tiles_of",
    "whole_tiles",
]

_ADDRESSES = 32
"""Registers of a subgroup for other things than sums."""
MOST_PAIRS = 2**30
"""The kernel counts pairs in 32 bits, and rounds up by adding less than one run."""
_MOST_LISTED = 2**22
"""Tiles whose pieces are listed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a run has of a tile: its steps from `begin` to before `end`."""

    run: int
    tile: int
    begin: int
    end: int


def tiles_of(problem: Problem, tiling: Tiling) -> int:
    """The tiles of workgroups that C has, those of all matrices of a batch.

    >>> from layoutalg.gemm.tiling import Tile
    >>> [tiles_of(Problem.of(40, 80, 48, batch=batch), Tiling(Tile(32, 32, 16))) for batch in (1, 5)]
    [6, 30]
    """
    whole = tiling.workgroup_tile
    return problem.batch * -(-problem.m // whole.m) * -(-problem.n // whole.n)


def whole_tiles(tiles: Numbers | int, runs: Numbers | int) -> Numbers:
    """The tiles that each workgroup computes whole before its run.

    >>> [int(whole_tiles(tiles, 20)) for tiles in (10, 39, 40, 59, 60)]
    [0, 0, 1, 1, 2]
    """
    return np.maximum(np.floor(np.asarray(tiles, np.float64) / runs) - 1, 0)


def busy(tiles: Numbers | int, steps: Numbers | int, runs: Numbers | int) -> Numbers:
    """Of so many workgroups those that have work: runs are equally long, rounded up, so the last ones may have no step.

    >>> [int(busy(1, 8, runs)) for runs in (3, 4, 7, 20)]  # runs of 3, 2, 2 and 1 steps
    [3, 4, 4, 8]
    """
    return np.where(whole_tiles(tiles, runs) > 0, runs, _with_steps(tiles, steps, runs))


def _with_steps(tiles: Numbers | int, steps: Numbers | int, runs: Numbers | int) -> Numbers:
    """How many of the runs have steps, the whole tiles before them left out."""
    rest = (tiles - whole_tiles(tiles, runs) * runs) * steps
    return np.ceil(rest / np.ceil(rest / runs))


def added_at_once(blocks: Numbers | int, registers: Numbers | int) -> Numbers:
    """How many of its `blocks` of 8 registers the last subgroup of a tile adds at once: sums, and what is loaded, beside the
    accumulators, whose registers the graphics compiler does not free in a loop over tiles.

    >>> [int(added_at_once(*given)) for given in ((16, 256), (12, 256), (8, 128), (1, 128))]
    [6, 8, 2, 1]
    """
    blocks, registers = np.asarray(blocks, np.float64), np.asarray(registers, np.float64)
    room = np.floor((registers - _ADDRESSES) / 8) - blocks
    return np.minimum(blocks, np.maximum(1.0, np.floor(room / 2)))


@dataclass(frozen=True, slots=True)
class Runs:
    """The longest run of many tilings, in columns: its steps, the tiles that it begins, those that it stores whole; the tiles
    that several runs share, and the parts that one of them has at most.

    >>> runs = Runs.of(np.array([5.0, 1.0, 40.0]), np.array([4.0, 5.0, 4.0]), np.array([2.0, 3.0, 20.0]))
    >>> runs.steps.tolist(), runs.begun.tolist(), runs.shared.tolist(), runs.parts.tolist()
    ([10.0, 2.0, 8.0], [3.0, 1.0, 2.0], [1.0, 1.0, 0.0], [2.0, 3.0, 1.0])
    """

    steps: Numbers
    begun: Numbers
    stored: Numbers
    shared: Numbers
    parts: Numbers

    @classmethod
    def of(cls, tiles: Numbers, steps: Numbers, runs: Numbers) -> Runs:
        """What follows from the numbers of tiles, of their steps, and of runs; a tile is shared where a run ends in it."""
        alone = whole_tiles(tiles, runs)
        rest = tiles - alone * runs
        each, used = np.ceil(rest * steps / runs), _with_steps(tiles, steps, runs)
        # runs begin at multiples of `common` in a tile, at worst just so far before its end
        common = np.gcd(each.astype(np.int64), steps.astype(np.int64))
        reach = each + steps - common
        aligned = np.floor((used - 1) / (steps / common))  # runs that end where a tile ends
        return cls(
            alone * steps + each,
            alone + np.minimum(np.ceil(reach / steps), rest),
            alone + np.floor(each / steps),
            np.minimum(used - 1 - aligned, rest),
            np.minimum(np.ceil(reach / each), used),
        )


def cuts(tiles: int, steps: int, runs: int) -> tuple[Piece, ...]:
    """What the runs have of all tiles, in the order of the tiles and of k; the whole tiles before the runs too.

    Raises `LayoutError` for what are not such numbers, and for more than 2^22 tiles or 2^16 runs.

    >>> [(piece.run, piece.begin, piece.end) for piece in cuts(1, 5, 3)]
    [(0, 0, 2), (1, 2, 4), (2, 4, 5)]
    """
    tiles, steps = whole_number(tiles, "tiles =", 1, _MOST_LISTED), whole_number(steps, "steps =", 1, MOST_PAIRS)
    runs = whole_number(runs, "runs =", 1, MOST_RUNS)
    alone = int(whole_tiles(tiles, runs)) * runs
    each = -(-(tiles - alone) * steps // runs)
    found = [Piece(tile % runs, tile, 0, steps) for tile in range(alone)]
    for tile in range(alone, tiles):
        before = (tile - alone) * steps
        for run in range(before // each, (before + steps - 1) // each + 1):
            begin, end = run * each - before, (run + 1) * each - before
            found.append(Piece(run, tile, max(begin, 0), min(end, steps)))
    return tuple(found)


def steps_of_run(problem: Problem, tiling: Tiling) -> int:
    """The steps of the longest run, its whole tiles included.

    >>> from layoutalg.gemm.tiling import Tile
    >>> steps_of_run(Problem.of(40, 64, 128), Tiling(Tile(8, 64, 32), stream_k=2))  # 4 of a whole tile, 6 of 12
    10
    """
    tiles, runs, steps = tiles_of(problem, tiling), tiling.stream_k, -(-problem.k // tiling.tile.k)
    alone = int(whole_tiles(tiles, runs))
    return alone * steps + -(-(tiles - alone * runs) * steps // runs)


def slots_of_workspace(problem: Problem, tiling: Tiling) -> int:
    """The tiles of workgroups that the workspace holds: the number of a part is its run's and its tile's behind the whole ones.

    Runs that have nothing to do need no room: 5 tiles of 4 steps are 20 runs of a step at most.

    >>> from layoutalg.gemm.tiling import Tile
    >>> [slots_of_workspace(Problem.of(40, 64, 128), Tiling(Tile(8, 64, 32), stream_k=runs)) for runs in (2, 1000)]
    [4, 24]
    """
    tiles, runs, steps = tiles_of(problem, tiling), tiling.stream_k, -(-problem.k // tiling.tile.k)
    return int(_with_steps(tiles, steps, runs)) + tiles - int(whole_tiles(tiles, runs)) * runs - 1


def check_runs(problem: Problem, runs: int, split_k: int, reduction: str, transpose: str) -> None:
    """Refuse what no kernel with runs computes, of a problem and of what goes with them in a tiling.

    Raises `PlanError`: says what would do.

    >>> check_runs(Problem.of(64, 64, 128, groups=2), 20, 1, "last", "registers")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: stream_k = 20 with groups: where groups begin is known on the device alone, and with it \
the number of tiles; stream_k = 0 would do
    """
    said, plain = f"stream_k = {runs}", "stream_k = 0 would do"
    if split_k > 1:
        raise PlanError(f"{said} with split_k = {split_k}: runs cut k themselves; split_k = 1 would do")
    if reduction != "last":
        raise PlanError(
            f"{said} with reduction {reduction}: the subgroup that is done last adds the parts; reduction last would do"
        )
    if problem.gated:
        raise PlanError(
            f"{said} with a gated pair: the last subgroup of a tile adds some blocks at a time, and a pair needs two at once; "
            f"{plain}"
        )
    if problem.groups:
        raise PlanError(
            f"{said} with groups: where groups begin is known on the device alone, and with it the number of tiles; {plain}"
        )
    if transpose != "registers":
        raise PlanError(
            f"{said} with transpose {transpose}: parts are added as they lie in C; transpose registers would do"
        )
    if problem.acc not in ("f32", "s32"):
        raise PlanError(f"{said}: parts are added in f32 or s32, and the accumulators are {problem.acc}; {plain}")
    if problem.edges:
        raise PlanError(
            f"{said}: lanes move {' and '.join(problem.edges)} element by element, and such a product is not cut into runs; "
            "problem.edges says what would make block messages fit"
        )


def check_stream(problem: Problem, tiling: Tiling) -> None:
    """Refuse a tiling with runs that no kernel computes, or with more of them than there is work for.

    Raises `PlanError`: says what would do.

    >>> from layoutalg.gemm.tiling import Tile
    >>> check_stream(Problem.of(2**20, 2**20, 2**20), Tiling(Tile(8, 16, 32), stream_k=20, reduction="last"))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: stream_k = 20: 281474976710656 pairs of a tile and a step; the kernel counts up to \
1073741824; stream_k = 0 would do
    >>> check_stream(Problem.of(64, 64, 256), Tiling(Tile(64, 64, 32), stream_k=20, reduction="last"))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: stream_k = 20: 1 tile of 8 steps is work for 8 workgroups; stream_k = 8 would do
    """
    runs = tiling.stream_k
    if not runs:
        return
    check_runs(problem, runs, tiling.split_k, tiling.reduction, tiling.transpose)
    tiles, steps = tiles_of(problem, tiling), -(-problem.k // tiling.tile.k)
    if tiles * steps > MOST_PAIRS:
        raise PlanError(
            f"stream_k = {runs}: {tiles * steps} pairs of a tile and a step; the kernel counts up to {MOST_PAIRS}; "
            "stream_k = 0 would do"
        )
    able = found = int(busy(tiles, steps, runs))
    while (fewer := int(busy(tiles, steps, able))) < able:
        able = fewer
    if found < runs:
        raise PlanError(
            f"stream_k = {runs}: {counted(tiles, 'tile')} of {counted(steps, 'step')} {'is' if tiles == 1 else 'are'} work for "
            f"{counted(found, 'workgroup')}; stream_k = {able} would do"
        )


def sums_of_runs(gemm: Gemm, a: ArrayLike, b: ArrayLike) -> NDArray[Any]:
    """The accumulators behind the loop, bit for bit: of each tile the parts are added in the order of k.

    >>> gemm = la.plan_gemm(8, 32, 96, tile=(8, 16), k_step=32, subgroups=(1, 1), stream_k=3)
    >>> sums_of_runs(gemm, np.ones((8, 96)), np.ones((96, 32)))[0, ::16]
    array([96., 96.], dtype=float32)
    """
    from layoutalg.gemm.numerics import accumulated

    problem, tile = gemm.problem, gemm.tiling.workgroup_tile
    many = (problem.batch,) * (problem.batch > 1)
    left, right = (np.asarray(given).reshape(problem.batch, *np.shape(given)[-2:]) for given in (a, b))
    down, across = -(-problem.m // tile.m), -(-problem.n // tile.n)
    found: NDArray[Any] | None = None
    added: set[int] = set()
    for piece in cuts(tiles_of(problem, gemm.tiling), -(-problem.k // tile.k), gemm.tiling.stream_k):
        matrix, row, column = (int(one) for one in np.unravel_index(piece.tile, (problem.batch, down, across)))
        rows = slice(row * tile.m, min((row + 1) * tile.m, problem.m))
        columns = slice(column * tile.n, min((column + 1) * tile.n, problem.n))
        part = slice(piece.begin * tile.k, min(piece.end * tile.k, problem.k))
        shape = {"m": rows.stop - rows.start, "n": columns.stop - columns.start, "k": part.stop - part.start}
        sums = accumulated(
            replace(problem, **shape, batch=1),
            left[(matrix, part, rows) if problem.trans_a else (matrix, rows, part)],
            right[(matrix, columns, part) if problem.trans_b else (matrix, part, columns)],
        )
        if found is None:
            found = np.empty((problem.batch, problem.m, problem.n), sums.dtype)
        place = matrix, rows, columns
        with np.errstate(all="ignore"):
            found[place] = found[place] + sums if piece.tile in added else sums
        added.add(piece.tile)
    assert found is not None  # there is at least one tile
    return found.reshape(*many, problem.m, problem.n)
