"""How many instructions the loop of a planned attention has, by what they are for.

Read from the listings of the current graphics compiler (IGC 2.40.14) for heads of 32 to 256 on bmg and pvc. A register holds
one row of a block, so an operation on a block of 8 rows is 8 instructions. By hand, of 16 queries, 64 keys and d = 64: 64 DPAS,
and 8 for the sums of rows; the weights of 2x4 blocks are 8 multiplications, 8 exp2 and 8 roundings each, 192 in all.

>>> from layoutalg.gemm.attention import plan_attention
>>> found = loop_instructions(plan_attention(1024, 1024, 64))
>>> found["weights"], found["dpas"]
(192, 72)

A step in which a row gets another m is not counted. The largest score of all rows takes a select for each register but one,
and 9 instructions more. `addresses` on bmg are one for each message of K and V and for each block of keys, and 1. `addresses`
on pvc and `waits` follow from how the compiler places instructions: they are straight lines fitted to the listings, so they are
estimates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.hardware import xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["loop_instructions"]


def loop_instructions(plan: Attention) -> dict[str, int]:
    """Instructions of one step of the loop over keys without a mask."""
    blocks, each = plan.keys_per_step // plan.dpas.n, plan.dpas.m
    rows, rounds = plan.row_blocks * blocks * each, 0 if plan.share is None else plan.share.rounds
    apart = plan.step.loads["K"] + plan.step.loads["V"]
    if xe_chip(plan.problem.target).immediate_offsets:
        addresses, waits = apart + blocks + 1 + 8 * rounds, round(2.1 * apart - 2.2 * blocks)
    else:  # on Xe-HPC each place is written into a payload
        addresses, waits = (
            round(2.3 * plan.step.messages + 10.5 * blocks - 31) + 10 * rounds,
            round(2.85 * apart - 12.3),
        )
    return {
        "dpas": plan.step.dpas,
        "loads": plan.step.messages,
        "prefetches": rounds,
        "addresses": addresses,
        "maximum": rows - 1 + 9,
        "weights": 3 * rows,
        "loop": 8,
        "waits": waits,
    }
