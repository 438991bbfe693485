"""How many instructions the loop of a planned attention has, by what they are for.

Read from the listings of the current graphics compiler (IGC 2.40.14) for heads of 32 to 256 on bmg and pvc. A register holds
one row of a block, so an operation on a block of 8 rows is 8 instructions. By hand, of 16 queries, 64 keys and d = 64: 64 DPAS,
and 8 for the sums of rows; the weights of 2x4 blocks are 8 multiplications, 8 exp2 and 8 roundings each, 192 in all.

>>> from layoutalg.gemm.attention import plan_attention
>>> found = loop_instructions(plan_attention(1024, 1024, 64, target="bmg"))
>>> found["weights"], found["dpas"]
(192, 72)

A step in which a row gets another m is not counted. The largest score of all rows takes a select for each register but one,
and 9 instructions more. `addresses` on bmg are one for each message of K and V and for each block of keys, and 1. `addresses`
on pvc and `waits` follow from how the compiler places instructions: they are straight lines fitted to the listings, so they are
estimates.

In the form with one maximum a step has no `maximum`, and fewer of the others:

>>> loop_instructions(plan_attention(1024, 1024, 64, maximum="first", prefetch="none", target="bmg"))
{'dpas': 72, 'loads': 22, 'prefetches': 0, 'addresses': 8, 'weights': 192, 'loop': 3, 'waits': 33}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.hardware import xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["loop_instructions", "other_instructions"]


def loop_instructions(plan: Attention) -> dict[str, int]:
    """Instructions of one step of the loop over keys without a mask."""
    blocks, each = plan.keys_per_step // plan.dpas.n, plan.dpas.m
    rows, rounds = plan.row_blocks * blocks * each, 0 if plan.share is None else plan.share.rounds
    apart = plan.step.loads["K"] + plan.step.loads["V"]
    if plan.maximum == "first":
        addresses, waits = _of_one_maximum(plan)
        return {
            "dpas": plan.step.dpas,
            "loads": plan.step.messages,
            "prefetches": rounds,
            "addresses": addresses,
            "weights": 3 * rows,
            "loop": 3,
            "waits": waits,
        }
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


def other_instructions(plan: Attention) -> tuple[int, int]:
    """Instructions of a step with a mask, and of one with the exact maximum (see `large_scores`); both have 32 keys.

    A step with a mask is a step's part for as many keys, and a select for each register of S. One with the exact maximum was
    read from the listings: a weight takes one instruction more, O and the sums are rescaled, and the largest scores of 8 rows
    and the mask take 64. They are for predicted times: the tests hold them to 15 % of the listing.

    >>> from layoutalg.gemm.attention import plan_attention
    >>> other_instructions(plan_attention(1024, 1024, 64, maximum="first", target="bmg"))
    (201, 410)
    """
    rows, deep, masked = plan.rows * plan.keys_per_masked_step // plan.dpas.n, plan.depth_blocks, plan.masked_step
    part = sum(loop_instructions(plan).values()) * plan.keys_per_masked_step // plan.keys_per_step
    addresses = 6.5 if xe_chip(plan.problem.target).immediate_offsets else 8.5
    fixed = masked.dpas + masked.messages + 4 * rows + plan.rows * (deep + 1) + 64 * plan.row_blocks
    return part + rows, fixed + round(addresses * deep)


_ON_XE_HPC = {
    2: (28, 15),
    3: (42, 29),
    4: (56, 38),
    5: (69, 52),
    6: (28, 28),
    7: (28, 36),
    8: (36, 36),
    9: (122, 87),
    10: (144, 110),
    11: (182, 143),
    12: (188, 150),
    13: (168, 129),
    14: (173, 136),
    15: (95, 93),
    16: (101, 96),
}
"""Addresses and waits of the form with one maximum on pvc by blocks of 16 along d: they follow no line, so all were counted."""


def _of_one_maximum(plan: Attention) -> tuple[int, int]:
    """Addresses and waits of the form with one maximum."""
    blocks, rounds = plan.keys_per_step // plan.dpas.n, 0 if plan.share is None else plan.share.rounds
    if not xe_chip(plan.problem.target).immediate_offsets:
        addresses, waits = _ON_XE_HPC[plan.depth_blocks]
        return addresses + 9 * rounds, waits + rounds
    apart = plan.step.loads["K"] + plan.step.loads["V"]
    return round(1.5 * plan.depth_blocks + 2) + 7 * rounds, round(2.1 * apart - 2.2 * blocks)
