"""Planning decode: how many parts the keys of a sequence are in.

With too few parts most of the chip is idle; with too many the second kernel has more to read than is saved. So the number with
the least predicted time is taken, of 1, 2, 4, 8 and so on.

>>> plan_decode(64, 64, target="bmg").parts, plan_decode(131072, 128, heads=32, kv_heads=8, target="pvc").parts
(1, 32)
"""

from __future__ import annotations

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.whole_numbers import whole_number
from layoutalg.gemm.attention.decode.plan import Decode
from layoutalg.gemm.attention.decode.problem import DecodeProblem
from layoutalg.gemm.attention.steps import rows_of_subgroup
from layoutalg.gemm.versions import version_with_large_blocks

__all__ = ["plan_decode"]

MOST_PARTS = 1024
_WHOLE = 32
"""Above so many, parts are a multiple of it: the second kernel takes as many in a step."""
_WORTH = 0.98
"""More parts are taken where they need no more than this part of the time."""


def plan_decode(
    keys: int,
    d: int = 128,
    type: str = "f16",
    out: str = "f32",
    target: str = "pvc",
    *,
    heads: int = 1,
    kv_heads: int | None = None,
    batch: int = 1,
    queries: int = 1,
    order: str = "hnd",
    scale: float | None = None,
    page: int | None = None,
    pages: int | None = None,
    parts: int | None = None,
    llvm: int = DEFAULT_LLVM,
) -> Decode:
    """Plan softmax(scale * Q K^T) V for the newest 1 to 16 queries of each of `batch` sequences with up to `keys` keys.

    `d` is the size of a head, `type` the type of Q, K and V, `out` that of O. `kv_heads` heads of K and V serve several of Q
    each. Query i of n sees the keys 0 to length - n + i; one that sees none gives 0, as does an empty sequence. `order` says
    how K and V lie in memory: "hnd" [batch, kv_heads, keys, d] or "nhd" [batch, keys, kv_heads, d]. With `page` (16, 32, 64 or
    128) they are a pool of `pages` pages of so many keys, [pages, kv_heads, page, d] or [pages, page, kv_heads, d], and a table
    says which pages each sequence has. The scale is 1/sqrt(d) unless given. `parts` is how many workgroups share the keys of a
    head: chosen by the predicted time unless given.

    Raises:
        PlanError: for types, targets and sizes that are not planned; says what would fit.

    >>> plan_decode(32768, 128, "bf16", heads=32, kv_heads=8, parts=16, target="bmg").grid
    (16, 1, 8)
    >>> plan_decode(32768, 128, parts=33, target="bmg")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: parts = 33: 1 to 32 or a multiple of 32 up to 1024; 64 would fit
    """
    problem = DecodeProblem.of(
        keys,
        d,
        type,
        out,
        target,
        heads=heads,
        kv_heads=kv_heads,
        batch=batch,
        queries=queries,
        order=order,
        scale=scale,
        page=page,
        pages=pages,
    )
    rows = 8 if problem.rows <= 8 else rows_of_subgroup(problem.d)
    version = version_with_large_blocks(llvm, "attention is")
    if parts is not None:
        return Decode(problem, rows, _parts(parts), version)
    one = Decode(problem, rows, 1, version)
    steps, best = -(-problem.keys // one.keys_per_step), one
    seconds = one.times.seconds
    for count in (2**power for power in range(1, MOST_PARTS.bit_length())):
        if count > steps:
            break
        plan = Decode(problem, rows, count, version)
        if plan.times.seconds < _WORTH * seconds:
            best, seconds = plan, plan.times.seconds
    return best


def _parts(parts: object) -> int:
    count = whole_number(parts, "parts =", 1, MOST_PARTS, PlanError)
    if count > _WHOLE and count % _WHOLE:
        raise PlanError(
            f"parts = {count}: 1 to {_WHOLE} or a multiple of {_WHOLE} up to {MOST_PARTS}; "
            f"{-(-count // _WHOLE) * _WHOLE} would fit"
        )
    return count
