"""Planning attention: the form is the same for all heads, so what is left to choose is how many subgroups share their keys.

The queries of a subgroup and the keys of a step follow from the size of a head (see `steps`), by what registers allow.

>>> plan_attention(100, 256, 64, target="bmg").subgroups, plan_attention(1000, 256, 64, target="bmg").subgroups
(8, 8)
>>> plan_attention(40, 256, 64, target="bmg").subgroups
4
"""

from __future__ import annotations

from collections.abc import Iterable

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.whole_numbers import one_of, whole_number
from layoutalg.gemm.attention.plan import MAXIMA, PREFETCHES, Attention
from layoutalg.gemm.attention.problem import AttentionProblem
from layoutalg.gemm.attention.steps import rows_of_subgroup, shared
from layoutalg.gemm.versions import version_with_large_blocks

__all__ = ["plan_attention"]

_MOST_SUBGROUPS = 8
_MOST_IN_WORKGROUP = 32
"""Subgroups that a core runs at once with 256 registers each."""
_MOST_ROUNDS = 2
"""Prefetches of a subgroup in a step, where nothing is said: each takes 8 instructions."""


def plan_attention(
    queries: int,
    keys: int,
    d: int = 64,
    type: str = "f16",
    out: str = "f32",
    target: str = "pvc",
    *,
    heads: int = 1,
    kv_heads: int | None = None,
    batch: int = 1,
    causal: bool = False,
    scale: float | None = None,
    order: str = "bhsd",
    ldq: int | None = None,
    ldk: int | None = None,
    ldv: int | None = None,
    ldo: int | None = None,
    window: int | None = None,
    starts_q: Iterable[int] | None = None,
    starts_k: Iterable[int] | None = None,
    subgroups: int | None = None,
    prefetch: str | None = None,
    maximum: str = "online",
    llvm: int = DEFAULT_LLVM,
) -> Attention:
    """Plan O = softmax(scale * Q K^T) V for every head: the kernel of flash attention, in which S is never in memory.

    `d` is the size of a head, `type` the type of Q, K and V, `out` that of O. `kv_heads` heads of K and V serve several of Q
    each. With `causal`, query i sees the keys 0 to i + keys - queries, and with a `window` the last ones of those alone; a
    query that sees none gives 0. The scale is 1/sqrt(d) unless given. `order` says how the arrays lie in memory: "bhsd"
    (batch, heads, rows, d) or "bshd" (batch, rows, heads, d); `ldq`, `ldk`, `ldv` and `ldo` are the elements from row to row,
    as many as a row has unless given.

    `starts_q` and `starts_k` say where sequences of different lengths begin that are packed one behind the other: numbers from
    0 to `queries` and `keys`, one more than there are sequences. The kernel reads them from memory.

    `subgroups` are those of a workgroup, which read the same keys: 8, or fewer for fewer queries. With `prefetch`
    "shared" each asks for a part of the next step's keys, for all of them: the default, unless one would ask more than twice.

    `maximum` is the number that the scores of a row are taken less of: "online" follows the scores, "first" stays with the
    largest of the first keys. "first" has a shorter loop, but where a weight overflows, a subgroup takes all its keys twice.

    Raises:
        PlanError: for types, targets and sizes that are not planned; says what would fit.

    >>> plan_attention(4096, 4096, 128, "bf16", heads=32, causal=True, target="bmg").grid
    (32, 1, 32)
    >>> plan_attention(64, 64, 50, target="bmg")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: d = 50: attention is planned for heads of 32 to 256 in steps of 8; a 2D block message \
needs rows of a multiple of 16 bytes; zeros up to 56 fit
    """
    problem = AttentionProblem.of(
        queries,
        keys,
        d,
        type,
        out,
        target,
        heads=heads,
        kv_heads=kv_heads,
        batch=batch,
        causal=causal,
        scale=scale,
        order=order,
        ldq=ldq,
        ldk=ldk,
        ldv=ldv,
        ldo=ldo,
        window=window,
        starts_q=starts_q,
        starts_k=starts_k,
    )
    rows = rows_of_subgroup(problem.d)
    needed = -(-max(1, *(one.queries for one in problem.sequences)) // rows)
    if subgroups is None:
        subgroups = min(_MOST_SUBGROUPS, 1 << (needed - 1).bit_length())
    else:
        subgroups = whole_number(subgroups, "subgroups =", 1, _MOST_IN_WORKGROUP, PlanError)
    if prefetch is None:
        few = shared(problem.d, subgroups).rounds <= _MOST_ROUNDS
        prefetch = "shared" if few else "none"
    return Attention(
        problem,
        rows,
        subgroups,
        version_with_large_blocks(llvm, "attention is"),
        one_of(prefetch, PREFETCHES, "prefetch", PlanError),
        maximum=one_of(maximum, MAXIMA, "maximum", PlanError),
    )
