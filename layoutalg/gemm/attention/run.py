"""Run a planned attention's kernel on arrays: lay them out in memory, launch, read O back.

Q, K and V are inputs that nobody may write, and each ends where its last head does: a kernel that reads or writes outside is
refused. O holds NaN before the launch and counts as unwritten, so what the kernel leaves out is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike, NDArray

from layoutalg.core.limits import MOST_WORK
from layoutalg.gemm.attention.arrays import heads_of, in_memory, laid_out, out_of_memory, starts_in_memory

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention
    from layoutalg.simulate.executed import Executed

__all__ = ["execute"]


def execute(
    plan: Attention,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    text: str | None = None,
    *,
    progress: Callable[[float], None] | None = None,
    counted: Literal["messages", "lines"] | None = None,
) -> tuple[NDArray[Any], Executed | None]:
    """O as the kernel computes it, and with `counted` what the launch executed (see `simulate.executed`).

    `text` is the kernel to run, by default the plan's own. `progress` is told the part of the workgroups that is done.

    Raises:
        PlanError: an array has another shape than the plan, or values that its type can't hold.
        SizeError: the arrays are too large to be laid out.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> plan, ones = plan_attention(16, 32, 64, target="bmg"), np.ones((32, 64))
    >>> executed = execute(plan, ones[:16], ones, ones, counted="messages")[1]
    >>> executed.dpas == plan.dpas_total == 44
    True
    """
    from layoutalg.simulate import Memory, run_kernel

    arrays = laid_out(plan, q, k, v)
    memory = Memory()
    result = in_memory(plan, "O", None)
    inputs = [in_memory(plan, name, array) for name, array in zip("QKV", (arrays.q, arrays.k, arrays.v), strict=True)]
    for array in inputs:
        array.flags.writeable = False
    addresses = [memory.bind(name, array) for name, array in zip("QKV", inputs, strict=True)]
    addresses.append(memory.bind("O", result, initialised=False))
    for name, array in zip(("starts of Q", "starts of K"), starts_in_memory(plan.problem), strict=False):
        array.flags.writeable = False
        addresses.append(memory.bind(name, array))
    executed = run_kernel(
        plan.emit() if text is None else text,
        [*addresses, *plan.arguments],
        plan.grid,
        memory,
        target=plan.problem.target,
        progress=progress,
        work=_work(plan),
        counted=counted,
    )
    return heads_of(plan, out_of_memory(plan, result)), executed


def _work(plan: Attention) -> int:
    """What the launch may cost: a few times what the plan's own kernel does, and no less than any launch."""
    unit = plan.dpas
    return max(MOST_WORK, 16 * plan.dpas_total * unit.m * unit.n * unit.k)
