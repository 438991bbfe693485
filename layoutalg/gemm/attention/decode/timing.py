"""How long a decode takes: the bytes that memory has to move, and what may keep it from moving them all the time.

By hand, 32 heads on 8 of K and V, 32768 keys, d = 128, f16, one sequence on B580: K and V are 2 * 8 * 32768 * 256 bytes, 134
MB, and memory gives 160 bytes a clock: 838,861 clocks, 294 us. A step of 32 keys is 16 KiB, for which an engine's share of the
memory (1 byte a clock) takes 16,384 clocks; it has about 280 instructions. So nothing else limits, if enough subgroups wait.

>>> times = la.plan_decode(32768, 128, heads=32, kv_heads=8, target="bmg").times
>>> times.limit, round(times.limits["memory"] * 1e6)
('memory', 295)

The rules, from published and assumed numbers of the chip (`hardware.xe`); nothing ran on one:

- A subgroup has 4 KiB of K and V on their way at a time, by the order of the messages in the listings, so it waits for memory
  once for every 4 KiB of a step. A page is looked up before, which takes as long as L3 is away. Meanwhile its engine issues
  what other subgroups have. The subgroups of a grid are spread evenly over the engines; those beyond what the registers
  of an engine have room for wait for a place.
- A core gets no more than its share of what L3 gives in a clock.
- The second kernel begins 2 microseconds after the first (as for products with k in parts), and waits for L3 once for every
  step of both its loops.

`bound` is the time of the bytes of Q, K, V and O alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from layoutalg.gemm.attention.timing import LimitedTimes
from layoutalg.gemm.roofline import MEMORY_LATENCIES, SECOND_LAUNCH
from layoutalg.hardware import xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["DecodeTimes", "loop_instructions", "times_of"]

_ON_THEIR_WAY = 4096
"""Bytes that a subgroup has asked for and not yet got: the compiler lets 8 messages of K go before the first DPAS."""
_MAXIMUM = 51
"""Instructions for the largest scores of 8 rows: 8 selects among a lane's own, and a tree over lanes and rows."""


@dataclass(frozen=True)
class DecodeTimes(LimitedTimes):
    """The predicted time in seconds. `limits` has what each limit alone takes of the first kernel.

    >>> times = la.plan_decode(32768, 128, heads=32, kv_heads=8, target="bmg").times
    >>> times.seconds >= max(times.limits.values()) + times.combining
    True
    """

    combining: float
    bound: float

    @property
    def seconds(self) -> float:
        """The whole time.

        >>> la.plan_decode(64, 64, target="bmg").times.seconds < 1e-5
        True
        """
        return super().seconds + self.combining

    @property
    def around(self) -> dict[str, float]:
        """The seconds before and behind what is limited.

        >>> sorted(la.plan_decode(4096, 128, heads=8, kv_heads=2).times.around)
        ['combining', 'start']
        """
        return {**super().around, "combining": self.combining}

    @property
    def share(self) -> float:
        """The part of the memory's bound that is reached: 1 where nothing but its bytes takes time.

        >>> la.plan_decode(131072, 128, heads=32, kv_heads=8, batch=4, target="bmg").times.share > 0.95
        True
        """
        return self.bound / self.seconds


def times_of(plan: Decode) -> DecodeTimes:
    """The times of a plan, where all sequences are full."""
    from layoutalg.gemm.attention.decode.combining import at_once

    problem, chip = plan.problem, xe_chip(plan.target)
    rate = chip.clock_ghz * 1e9
    engines, far = chip.cores * chip.engines, MEMORY_LATENCIES * chip.l3_latency
    steps = max(plan.steps_of(problem.keys))
    subgroups = plan.parts * problem.groups * plan.subgroups
    each, room = -(-subgroups // engines), max(1, chip.threads(plan.registers) // chip.engines)
    together = min(each, room)
    issued = sum(plan.instructions.values()) + plan.step.dpas * (_clocks(plan) - 1)
    of_step = 2 * plan.keys_per_step * problem.d * 2
    looked_up = chip.l3_latency if problem.page else 0
    alone = steps * (issued + -(-of_step // _ON_THEIR_WAY) * far + looked_up)
    moved = problem.bytes + plan.workspace_bytes
    of_core = -(-plan.parts * problem.groups // chip.cores) * steps * of_step
    clocks = {
        "memory": moved / chip.memory_clock_bytes,
        "L3": of_core / (chip.l3_clock_bytes / chip.cores),
        "issue": each * steps * issued,
        "waiting": -(-each // together) * alone,
    }
    combining = 0.0
    if plan.parts > 1:
        rounds = 2 * (plan.parts // at_once(plan.parts))
        read = plan.workspace_bytes / chip.l3_clock_bytes
        combining = SECOND_LAUNCH + (rounds * chip.l3_latency + read) / rate
    limits = {name: taken / rate for name, taken in clocks.items()}
    return DecodeTimes(MappingProxyType(limits), far / rate, combining, problem.bytes / chip.memory_clock_bytes / rate)


def _clocks(plan: Decode) -> float:
    unit = plan.dpas
    return xe_chip(plan.target).dpas_clocks(plan.problem.type, 2 * unit.m * unit.n * unit.k)


def loop_instructions(plan: Decode) -> dict[str, int]:
    """Instructions of one step without a mask, from listings of LLVM 24 and IGC 2.40.14 for heads of 32 to 256.

    A register holds one row of a block, so an operation on a block of 8 rows is 8 instructions. A weight is a difference, a
    product, an exp2 and a rounding. To look up a page takes about 8, and smaller messages of V 2 for each one more. `addresses`
    and `waits` follow from how the compiler places instructions: they are curves fitted to the listings.

    >>> loop_instructions(la.plan_decode(4096, 128, target="bmg"))["rescaling"]
    72
    """
    rows, keys, deep = plan.rows, plan.keys_per_step // plan.dpas.n, plan.depth_blocks
    if xe_chip(plan.target).immediate_offsets:
        addresses, waits = 1 + (3 * deep + 1) // 2, round(2 + 0.31 * deep**2)
    else:  # on Xe-HPC each place is written into a payload
        addresses, waits = 7 * deep - 8, round(6.4 * deep - 8)
    loads = plan.step.loads
    looked_up = {"lookups": 8 * loads["table"] + 2 * (loads["V"] - -(-deep // 2))} if "table" in loads else {}
    return {
        "dpas": plan.step.dpas,
        "loads": plan.step.messages,
        **looked_up,
        "addresses": addresses,
        "maximum": _MAXIMUM * plan.row_blocks,
        "weights": 4 * rows * keys,
        "rescaling": rows * (deep + 1),
        "loop": 2,
        "waits": waits,
    }
