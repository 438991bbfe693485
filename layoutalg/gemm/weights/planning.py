"""Planning products with quantised weights: the tile, who shares it, the parts of k and the prefetches.

Every tile is tried with every number of parts of k and every prefetch that the caller leaves open, and the plan whose predicted
time is the shortest is taken (`WeightsGemm.predicted`). Parts of k need a workspace, so they have to be worth it: unless the
caller asks, k is split only if it is `DEEP` or more, and if that takes less than `WORTH` of the best plan's time with k whole.

By hand, one row and 1024 columns on pvc, with 64 cores of 8 engines: 64 tiles of 8x16 leave 448 engines idle, so k is in 8
parts, each with 4 of the 32 steps. With 14336 columns there are more tiles than engines, and k is whole.

>>> plan = plan_weights(1, 1024, 4096)
>>> print(plan.tiling.tile, plan.tiling.split_k, plan.k_steps)
8x16x128 8 4
>>> plan_weights(1, 14336, 4096).tiling.split_k
1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import one_of, whole_number
from layoutalg.gemm.options import REDUCTIONS, WEIGHTS_PREFETCHES, GpuEpilogueOptions, check_names
from layoutalg.gemm.search import DEEP, WORTH
from layoutalg.gemm.split_k import check_parts, part_steps
from layoutalg.gemm.tiling import MOST_AHEAD, MOST_PARTS, Tile, Tiling, pair
from layoutalg.gemm.versions import version_with_large_blocks
from layoutalg.gemm.weights.plan import WeightsGemm
from layoutalg.gemm.weights.problem import WeightsProblem
from layoutalg.hardware import xe_chip

__all__ = ["TILES", "plan_weights"]

_REGISTERS = 256
TILES = ((8, 16), (8, 32), (8, 64), (16, 16), (16, 32), (16, 64), (32, 16), (32, 32))
"""Tiles of a subgroup whose listings have no spill, with every type, group and both kinds of zero points."""
_PARTS = (1, 2, 4, 8, 16, 32, 64)
"""Parts of k that are tried: a product with few columns has too few subgroups to ask memory for all that it gives."""
DISTANCES = (1, 2, 4)
"""Steps ahead that a prefetch may ask unless somebody says another number."""


def plan_weights(
    m: int,
    n: int,
    k: int,
    a: str = "f16",
    b: str = "u4",
    c: str | None = None,
    target: str = "pvc",
    *,
    group: int = 128,
    zeros: bool = False,
    batch: int = 1,
    tile: Sequence[int] | None = None,
    subgroups: Sequence[int] | None = None,
    split_k: int | None = None,
    reduction: str | None = None,
    prefetch: str | None = None,
    distance: int | None = None,
    llvm: int = DEFAULT_LLVM,
    **options: Unpack[GpuEpilogueOptions],
) -> WeightsGemm:
    """Plan C = activation(alpha * scale * A W + beta * C + bias) with quantised weights W for Intel GPUs.

    A is m x k in f16 or bf16. W is k x n in 4 bits (b = "u4") or 8 bits ("u8"), with one scale for every `group`
    neighbours along k of a column: 32, 64 or a multiple of 128, which divides k. `zeros` says that groups have zero points
    too; without them the middle is zero. `quantise` makes such weights. W may also be floats of 8 bits ("f8E4M3FN", "f8E5M2"),
    which `quantise_float8` makes. A `batch` has so many A, W and C, one behind the other.

    `tile` is (rows, columns) of a subgroup, `subgroups` (rows, columns) of a workgroup, `split_k` the parts of k, and
    `reduction` who adds them, as for `plan_gemm`; `prefetch` ("none" or "shared") says whether data is asked for ahead,
    `distance` how many steps. What is not given is chosen. The other options are those of `plan_gemm`.

    Raises:
        PlanError: for types, targets, sizes and tiles that are not planned; says what would fit.

    >>> plan_weights(1, 4096, 4096, target="bmg").tiling.tile, plan_weights(512, 4096, 4096, target="bmg").tiling.tile
    (Tile(m=8, n=32, k=128), Tile(m=16, n=64, k=128))
    >>> plan_weights(8, 64, 256, b="f8E5M2", zeros=True)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: zeros = True with b = 'f8E5M2': floats have no zero points; leave it out
    """
    check_names("plan_weights", options, GpuEpilogueOptions)
    problem = WeightsProblem.of(m, n, k, a, b, c, target, group=group, zeros=zeros, batch=batch, **options)
    version = version_with_large_blocks(llvm, "weights are")
    if tile is None:
        tiles = TILES
    else:
        tiles = (pair("tile", tile),)
        if tiles[0] not in TILES:
            offer = ", ".join(f"{rows}x{columns}" for rows, columns in TILES)
            raise PlanError(f"tile {tiles[0][0]}x{tiles[0][1]}: weights are planned with tiles of {offer}")
    grid = None if subgroups is None else pair("subgroups", subgroups)
    most = xe_chip(problem.target).threads(_REGISTERS)
    if grid is not None and grid[0] * grid[1] > most:
        raise PlanError(f"subgroups {shown(grid)}: a core runs {most} at once with {_REGISTERS} registers each")
    asked = _asked(prefetch, distance)
    ways = REDUCTIONS if reduction is None else (one_of(reduction, REDUCTIONS, "reduction", PlanError),)
    steps = problem.product.k // problem.step
    if split_k is None:
        splits = [parts for parts in _PARTS if parts == 1 or _might_split(problem, parts)]
    else:
        splits = [whole_number(split_k, "split_k", 1, MOST_PARTS, error=PlanError)]
        if splits[0] > 1:
            check_parts(problem.product, problem.step, splits[0])
    plans = [
        WeightsGemm(problem, replace(tiling, split_k=parts, reduction=way, prefetch=form, distance=far), version)
        for tiling in (_tiling(problem, one, grid) for one in tiles)
        for parts in splits
        for way in (ways if parts > 1 else REDUCTIONS[:1])
        for form, far in asked
        if form == "none" or prefetch is not None or far < part_steps(steps, 1, parts)
    ]
    ordered = sorted(plans, key=_order)
    whole = [plan for plan in ordered if plan.tiling.split_k == 1]
    return whole[0] if whole and ordered[0].predicted >= WORTH * whole[0].predicted else ordered[0]


def _asked(prefetch: str | None, distance: int | None) -> list[tuple[str, int]]:
    """The prefetches that a caller allows, with how many steps ahead they ask."""
    if isinstance(prefetch, str) and prefetch == "lines":
        raise PlanError("prefetch = 'lines': weights are prefetched with block messages; 'shared' would do")
    forms = WEIGHTS_PREFETCHES if prefetch is None else (one_of(prefetch, WEIGHTS_PREFETCHES, "prefetch", PlanError),)
    far = DISTANCES if distance is None else (whole_number(distance, "distance", 1, MOST_AHEAD, error=PlanError),)
    return [(form, ahead) for form in forms for ahead in (far if form == "shared" else (1,))]


def _might_split(problem: WeightsProblem, parts: int) -> bool:
    """Whether k is deep enough for so many parts, each of two steps or more, and the workspace has room for their sums."""
    product, each = problem.product, part_steps(problem.product.k, problem.step, parts)
    if product.k < DEEP or each == 1:
        return False
    try:
        check_parts(product, problem.step, parts)
    except PlanError:
        return False
    return True


def _order(plan: WeightsGemm) -> tuple[float, float, int]:
    """The whole time first; then the instructions, which hide the waits for memory; then the larger tile."""
    return round(plan.predicted * 1e9), round(plan.seconds["instructions"] * 1e9), -plan.dpas_per_step


def _tiling(problem: WeightsProblem, tile: tuple[int, int], grid: tuple[int, int] | None) -> Tiling:
    """The tile with its workgroup: up to 4 subgroups down, which share words, and up to 4 across, which share A."""
    product = problem.product
    if grid is None:
        down, across = (min(4, -(-size // side)) for size, side in zip((product.m, product.n), tile, strict=True))
        grid = (1 << down.bit_length() - 1, 1 << across.bit_length() - 1)
    return Tiling(Tile(*tile, problem.step), grid, _REGISTERS)
