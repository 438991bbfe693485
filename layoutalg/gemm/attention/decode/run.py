"""Run the kernels of a planned decode on arrays: lay them out in memory, launch one after the other, read O back.

Q, K, V and the lengths are inputs that nobody may write, and each ends where its last element does. O and the workspace hold
NaN before the launch and count as unwritten, so what the kernels leave out is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.limits import MOST_WORK
from layoutalg.gemm.attention.decode.arrays import laid_out
from layoutalg.gemm.attention.decode.places import COMBINE, KERNEL

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode
    from layoutalg.simulate.executed import Executed

__all__ = ["execute"]


def execute(
    plan: Decode,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    lengths: ArrayLike | None = None,
    table: ArrayLike | None = None,
    text: str | None = None,
    *,
    progress: Callable[[float], None] | None = None,
    counted: Literal["messages", "lines"] | None = None,
) -> tuple[NDArray[Any], Executed | None]:
    """O as the kernels compute it, and with `counted` what the first launch executed (see `simulate.executed`).

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold; a length or a page is out of
            range.
        SizeError: the arrays are too large to be laid out.

    >>> plan, ones = la.plan_decode(100, 64, heads=2, kv_heads=1, parts=2, target="bmg"), np.ones((1, 1, 100, 64))
    >>> executed = execute(plan, np.ones((1, 2, 1, 64)), ones, ones, counted="messages")[1]
    >>> executed.dpas == plan.dpas_total == 4 * 18
    True
    """
    from layoutalg.simulate import Memory, run_kernel

    arrays = laid_out(plan, q, k, v, lengths, table)
    memory = Memory()
    result = np.full(arrays.q.shape, np.nan, numpy_type(plan.problem.out))
    inputs = {"q": arrays.q, "k": arrays.k, "v": arrays.v, "lengths": arrays.lengths}
    if arrays.table is not None:
        inputs["table"] = arrays.table
    for array in inputs.values():
        array.flags.writeable = False
    addresses = {name: memory.bind(name.upper(), array) for name, array in inputs.items()}
    addresses["o"] = memory.bind("O", result, initialised=False)
    if plan.parts > 1:
        workspace = np.full(plan.workspace_bytes // 4, np.nan, np.float32)
        addresses["workspace"] = memory.bind("workspace", workspace, initialised=False)
    given = [*(addresses[name] for name, kind in plan.parameters if kind == "i64"), *plan.arguments]
    kernel = plan.emit() if text is None else text
    unit = plan.dpas
    work = max(MOST_WORK, 16 * plan.dpas_total * unit.m * unit.n * unit.k)
    more: dict[str, Any] = {"target": plan.target, "work": work}
    executed = run_kernel(kernel, given, plan.grid, memory, kernel=KERNEL, progress=progress, counted=counted, **more)
    if plan.parts > 1:
        run_kernel(kernel, given, plan.combining_grid, memory, kernel=COMBINE, **more)
    return result, executed
