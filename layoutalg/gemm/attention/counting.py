"""How many instructions the loop of a planned attention has, by what they are for.

Read from the listings of the current graphics compiler (IGC 2.40.14) for heads of 32 to 256 on bmg and pvc. A register holds
one row of a block, so an operation on a block of 8 rows is 8 instructions. By hand, of 16 queries, 64 keys and d = 64: 64 DPAS, and
8 for the sums of rows; the weights of 2x4 blocks are 8 multiplications, 8 exp2 and 8 roundings each, 192 in all.

>>> from layoutalg.gemm.attention import plan_attention
>>> found = loop_instructions(plan_attention(1024, 1024, 64))
>>> found["weights"], found["dpas"]
(192, 72)

A step in which a row gets another m is not counted. A prefetch takes 8 with what its place needs. The largest score of all rows
takes a select for each register but one and then 24 instructions more. `addresses` on pvc and `waits` follow from how the compiler
places instructions: they are straight lines fitted to listings of an earlier form of the loop, so they are estimates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.hardware import xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["loop_instructions"]


def loop_instructions(plan: Attention) -> dict[str, int]:
    """Instructions of one step of the loop over keys without a mask."""
    rows, keys, depth = plan.row_blocks, plan.keys_per_step // plan.dpas.n, plan.depth_blocks
    each, rounds = plan.dpas.m, 0 if plan.share is None else plan.share.rounds
    return {
        "dpas": plan.step.dpas,
        "loads": plan.step.messages,
        "prefetches": rounds,
        "addresses": _addresses(plan, keys, depth) + 7 * rounds,
        "maximum": each * (rows * keys - 1) + 24,
        "weights": rows * keys * each * 3,
        "loop": 8,
        "waits": max(0, round(11.25 * depth - 12)) if _has_offsets(plan) else 15 * depth - 20,
    }


def _has_offsets(plan: Attention) -> bool:
    """Whether messages take an offset of their own, as those of Xe2 do: on Xe-HPC each place is written into a payload."""
    return xe_chip(plan.problem.target).immediate_offsets


def _addresses(plan: Attention, keys: int, depth: int) -> int:
    pairs = -(-depth // 2)
    if _has_offsets(plan):
        return depth + pairs  # a column of K, and one of Q and V
    moved = (keys - 1) * depth + (plan.keys_per_step // plan.loads["V"].rows - 1) * pairs
    return 2 * moved + max(0, round(9.25 * depth - 13))
