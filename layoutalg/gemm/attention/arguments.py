"""What a kernel of attention is launched with: the names, types and numbers of its arguments, in order.

>>> from layoutalg.gemm.attention import plan_attention
>>> parameters_of(plan_attention(40, 100, 64, causal=True, window=9, target="bmg"))[4:]
(('queries', 'i32'), ('keys', 'i32'), ('window', 'i32'))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["arguments_of", "parameters_of", "pointers_of"]


def pointers_of(plan: Attention) -> tuple[str, ...]:
    """The arguments that are pointers; they come first.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> pointers_of(plan_attention(64, 64, order="bshd", starts_q=(0, 9, 64), starts_k=(0, 9, 64), target="bmg"))
    ('q', 'k', 'v', 'o', 'starts_q', 'starts_k')
    """
    return ("q", "k", "v", "o", *plan.problem.named_starts)


def parameters_of(plan: Attention) -> tuple[tuple[str, str], ...]:
    """Names and types of all arguments."""
    problem = plan.problem
    sizes = ("queries", "keys") if problem.starts is None else ()
    window = () if problem.window is None else ("window",)
    pitches = () if problem.without_gaps else ("ldq", "ldk", "ldv", "ldo")
    strides = (
        ("stride_q", "stride_kv", "stride_o") if problem.without_gaps else tuple(f"stride_{name}" for name in "qkvo")
    )
    return (
        *((name, "i64") for name in pointers_of(plan)),
        *((name, "i32") for name in (*sizes, *window, *pitches)),
        *((name, "i64") for name in (strides if _has_strides(plan) else ())),
    )


def arguments_of(plan: Attention) -> tuple[int, ...]:
    """The numbers behind the pointers."""
    problem = plan.problem
    q, k, v, o = problem.strides
    sizes = (problem.queries, problem.keys) if problem.starts is None else ()
    window = () if problem.window is None else (problem.window,)
    pitches = () if problem.without_gaps else problem.pitches
    strides = (q, k, o) if problem.without_gaps else (q, k, v, o)
    return *sizes, *window, *pitches, *(strides if _has_strides(plan) else ())


def _has_strides(plan: Attention) -> bool:
    return plan.grid[2] > 1 and plan.problem.starts is None
