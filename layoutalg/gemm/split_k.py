"""Work split over k: several workgroups compute one tile of C, each a part of k, and the parts are added.

A product with a small C and a deep k has few tiles, and few workgroups leave most of the chip idle. With `split_k` parts the
grid has as many times the workgroups (z counts the parts of a matrix, then the matrices of a batch). Each writes its sums to a
workspace. They are added in the order of k, and the epilogue follows, so the result has the same bits in every run. Who adds
them is `Tiling.reduction`: a second kernel, `gemm_reduce`, or the subgroup that is done last of those that have parts of a tile
(`layoutalg.gemm.emission.last_part`). The second kernel costs a launch; the last subgroup is alone with all parts of its tile.

By hand, 8 x 40 x 256 in f16 with steps of 32 and 3 parts: 8 steps, so parts of 3, 3 and 2 steps, which begin at 0, 96 and 192.
The workspace has 3 matrices of 8 rows of 48 elements (40, up to whole lines of 64 bytes) in the accumulators' type, f32.

>>> gemm = la.plan_gemm(8, 40, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=3, reduction="kernel")
>>> gemm.grid, gemm.k_steps, gemm.workspace_bytes == 3 * 8 * 48 * 4
((3, 1, 3), 3, True)
>>> gemm.reduction_grid, [name for name, _ in gemm.parameters[:4]]
((3, 1, 1), ['a', 'b', 'c', 'workspace'])

The law: with whole numbers that are exact in f32 the result does not depend on the number of parts. In general each part is a
chain of sums of its own (`layoutalg.gemm.numerics`), and the parts are added one after the other, rounded to f32 each time:

>>> a, b = np.ones((8, 256), np.float16), np.arange(256 * 40).reshape(256, 40) % 7
>>> bool((gemm.simulate(a, b) == a.astype(int) @ b).all())
True

Both kernels take the same arguments. The last subgroup needs a counter for each tile of a subgroup, which is 0 before the first
launch, and 0 again after each:

>>> last = la.plan_gemm(8, 40, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=3, reduction="last")
>>> last.reduction_grid, counters(last.problem, last.tiling), [name for name, _ in last.parameters[3:5]]
((0, 0, 0), 3, ['workspace', 'counters'])

Atomic additions to C would need neither, but the order of the parts, and so the bits, would change from run to run.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import whole_number
from layoutalg.gemm.operand_arrays import held_scales
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import MOST_ALONG_Z, mlir_type
from layoutalg.gemm.ranking import Numbers
from layoutalg.gemm.stream_k import slots_of_workspace, steps_of_run, sums_of_runs
from layoutalg.gemm.tiling import Tiling
from layoutalg.gemm.turning import scratch_shape

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = [
    "check_parts",
    "check_split",
    "computed_by",
    "counters",
    "loaded_at_once",
    "part_steps",
    "pitch_of_parts",
    "reduced_rows",
    "reduction_grid",
    "steps_of_longest",
    "workspace_bytes",
]

_WHOLE = 16
"""Elements of 32 bits in a cache line: the workspace's rows are whole lines, as block messages need at least."""
_LOADED = 64
"""Registers of 64 bytes for what the reduction loads at once: a lane has one number of each row of each part."""
_ADDRESSES = 32
"""Registers that the last subgroup of a tile has for other things than sums: payloads of messages are one register each."""
_AT_ONCE = 12
"""Blocks that a subgroup loads at once: 6 KiB on their way."""
_TALLEST = 2**24
"""Rows of the surface of a block message (`SurfaceLimits.height_most`)."""


def part_steps(k: int, k_step: int, parts: int) -> int:
    """The steps of the longest part.

    Raises `LayoutError` for what is not a size.

    >>> part_steps(256, 32, 3)
    3
    """
    k, k_step, parts = whole_number(k, "k =", 1), whole_number(k_step, "k_step =", 1), whole_number(parts, "parts =", 1)
    steps = -(-k // k_step)
    return -(-steps // parts)


def steps_of_longest(problem: Problem, tiling: Tiling) -> int:
    """The steps of the longest part, or of the longest run."""
    if tiling.stream_k:
        return steps_of_run(problem, tiling)
    return part_steps(problem.k, tiling.tile.k, tiling.split_k)


def check_split(problem: Problem, tiling: Tiling) -> None:
    """Refuse a split that leaves a part empty, or sums that no workspace holds.

    Raises `PlanError`: says which number of parts would do.

    >>> from layoutalg.gemm.tiling import Tile
    >>> check_split(Problem.of(64, 64, 128), Tiling(Tile(8, 16, 32), split_k=3))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: split_k = 3: k = 128 is 4 steps of 32, and parts of 2 steps are 2; split_k = 2 would do
    """
    parts = tiling.split_k
    if parts == 1:
        return
    if tiling.transpose != "registers":
        raise PlanError(
            f"split_k = {parts} with transpose {tiling.transpose}: the parts are added as they lie in C; transpose registers "
            "has parts, split_k = 1 every way to transpose"
        )
    if problem.acc not in ("f32", "s32"):
        raise PlanError(f"split_k = {parts}: parts are added in f32 or s32, and the accumulators are {problem.acc}")
    if problem.edges:
        raise PlanError(
            f"split_k = {parts}: lanes move {' and '.join(problem.edges)} element by element, and such a product is not split; "
            "problem.edges says what would make block messages fit"
        )
    check_parts(problem, tiling.tile.k, parts)


def check_parts(problem: Problem, step: int, parts: int) -> None:
    """Refuse so many parts of k, in steps of `step`: one that is empty, sums that no workspace holds, a grid that is too high.

    Raises `PlanError`: says which number of parts would do.

    >>> check_parts(Problem.of(64, 64, 128), 128, 2)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: split_k = 2: k = 128 is 1 step of 128, and parts of 1 step are 1; split_k = 1 would do
    """
    steps, each = -(-problem.k // step), part_steps(problem.k, step, parts)
    if (full := -(-steps // each)) != parts:
        raise PlanError(
            f"split_k = {parts}: k = {problem.k} is {counted(steps, 'step')} of {step}, and parts of "
            f"{counted(each, 'step')} are {full}; split_k = {full} would do"
        )
    if problem.m * parts > _TALLEST:
        raise PlanError(
            f"split_k = {parts}: the parts of {problem.m} rows are {problem.m * parts} rows of the workspace, and a block "
            f"message reaches {_TALLEST}; split_k = {max(1, _TALLEST // problem.m)} would do"
        )
    if problem.batch * parts > MOST_ALONG_Z:
        raise PlanError(
            f"split_k = {parts} with batch = {problem.batch}: {problem.batch * parts} workgroups along z of the grid, at most "
            f"{MOST_ALONG_Z} are launched"
        )


def pitch_of_parts(n: int) -> int:
    """Elements from one row of the workspace to the next.

    >>> pitch_of_parts(40)
    48
    """
    return -(-n // _WHOLE) * _WHOLE


def workspace_bytes(problem: Problem, tiling: Tiling) -> int:
    """Bytes of the workspace: of the parts' sums, or of the scratch where workgroups transpose A; else 0."""
    if tiling.stream_k:
        whole = tiling.workgroup_tile
        return slots_of_workspace(problem, tiling) * whole.m * whole.n * element_bits(mlir_type(problem.acc)) // 8
    if tiling.split_k == 1:
        return prod(scratch_shape(problem, tiling)) * element_bits(mlir_type(problem.a)) // 8
    rows = tiling.split_k * problem.batch * problem.m
    return rows * pitch_of_parts(problem.n) * element_bits(mlir_type(problem.acc)) // 8


def reduced_rows(parts: int) -> int:
    """The rows of C that a subgroup of the reduction has: so few that all parts of them are loaded at once.

    >>> [reduced_rows(parts) for parts in (2, 8, 9, 16, 64)]
    [8, 8, 4, 4, 1]
    """
    return next(rows for rows in (8, 4, 2, 1) if rows * parts <= _LOADED or rows == 1)


def loaded_at_once(blocks: Numbers | int, registers: Numbers | int, parts: Numbers | int) -> tuple[Numbers, Numbers]:
    """What the last subgroup of a tile loads at once of its `blocks`, which are 8 registers each in a part: how many blocks,
    and of how many parts.

    The sums of all blocks stay in registers, and addresses take some; the parts loaded at once divide all of them.

    >>> [tuple(int(number) for number in loaded_at_once(*given)) for given in ((1, 128, 8), (3, 128, 64), (16, 256, 6))]
    [(1, 8), (3, 2), (12, 1)]
    """
    blocks, registers, parts = (np.asarray(given, np.float64) for given in (blocks, registers, parts))
    room = np.clip(np.floor((registers - _ADDRESSES) / 8) - blocks, 1, _AT_ONCE)
    some = np.minimum(blocks, room)
    together = np.ones(np.broadcast_shapes(room.shape, parts.shape))
    for count in range(2, _AT_ONCE + 1):
        together = np.where((parts % count == 0) & (count * some <= room), count, together)
    return some, together


def counters(problem: Problem, tiling: Tiling) -> int:
    """Counters (s32) of the parts that are done, one for each tile of a subgroup; 0 where no subgroup is the last.

    >>> from layoutalg.gemm.tiling import Tile
    >>> counters(Problem.of(64, 64, 256, batch=2), Tiling(Tile(8, 16, 32), (2, 2), split_k=2, reduction="last"))
    64
    """
    if (tiling.split_k == 1 and not tiling.stream_k) or tiling.reduction != "last":
        return 0
    whole = tiling.workgroup_tile
    return problem.batch * -(-problem.m // whole.m) * -(-problem.n // whole.n) * tiling.count


def reduction_grid(problem: Problem, tiling: Tiling) -> tuple[int, int, int]:
    """Workgroups of the second kernel, one subgroup each; (0, 0, 0) without one."""
    if tiling.split_k == 1 or tiling.reduction == "last":
        return 0, 0, 0
    return -(-problem.n // problem.dpas.n), -(-problem.m // reduced_rows(tiling.split_k)), problem.batch


def computed_by(
    gemm: Gemm,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    row_scale: ArrayLike | None = None,
    column_scale: ArrayLike | None = None,
    *,
    starts: ArrayLike | None = None,
) -> NDArray[Any]:
    """C as the plan computes it, bit for bit: `numerics.computed`, with k in parts where the plan has parts or runs.

    >>> gemm = la.plan_gemm(8, 64, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=2)
    >>> computed_by(gemm, np.ones((8, 256)), np.ones((256, 64)))[0, 0]
    np.float32(256.0)
    """
    from layoutalg.gemm.numerics import accumulated, computed, finished

    problem, tiling = gemm.problem, gemm.tiling
    if tiling.stream_k:
        return finished(problem, sums_of_runs(gemm, a, b), c, bias, held_scales(problem, row_scale, column_scale))
    if tiling.split_k == 1:
        return computed(problem, a, b, c, bias, row_scale, column_scale, starts=starts)
    whole = part_steps(problem.k, tiling.tile.k, tiling.split_k) * tiling.tile.k
    left, right = np.asarray(a), np.asarray(b)
    total: NDArray[Any] | None = None
    for begin in range(0, problem.k, whole):
        part = slice(begin, min(problem.k, begin + whole))
        one = replace(problem, k=part.stop - part.start)
        sums = accumulated(
            one,
            left[..., part, :] if problem.trans_a else left[..., part],
            right[..., part] if problem.trans_b else right[..., part, :],
        )
        with np.errstate(all="ignore"):
            total = sums if total is None else total + sums
    assert total is not None  # k is at least 1
    return finished(problem, total, c, bias, held_scales(problem, row_scale, column_scale))
