"""How long attention takes: the instructions that its engines issue, and what caches and memory must give meanwhile.

By hand, 16 heads of 4096 queries and keys, d = 64, f16 on B580: 512 workgroups of 8 subgroups on 20 cores of 8 engines are 26
subgroups for an engine. A step of 64 keys has 433 instructions, 72 of them DPAS of 16 clocks: 433 + 72 * 15 = 1513 clocks. 64
steps of 26 subgroups are 2.52 million clocks: 883 us.

>>> times = la.plan_attention(4096, 4096, 64, heads=16, target="bmg").times
>>> times.limit, round(times.limits["issue"] * 1e6)
('issue', 883)

The rules, from published and assumed numbers of the chip (`hardware.xe`); nothing ran on one:

- The workgroups are spread evenly over the cores, so some core has the quotient rounded up, of subgroups that do the mean.
- An engine issues an instruction a clock, and a DPAS keeps it for as long as its products take. Other subgroups fill waits.
- L1 gives all that messages bring, L3 what a workgroup reads, once for all its subgroups. Q, K, V and O cross memory once.
- Where nothing is prefetched a subgroup waits for L3 twice in a step, for K and for V, unless others have work.

With `maximum="first"` a subgroup with a row whose weights overflow takes its keys twice. `rerun` is what it adds if all do it,
and `break_even` the part of them from which on `maximum="online"` is faster.

>>> first = la.plan_attention(4096, 4096, 64, heads=16, maximum="first", target="bmg").times
>>> round(first.seconds / times.seconds, 2), round(first.rerun / first.seconds, 2), round(first.break_even, 3)
(0.94, 1.34, 0.05)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from layoutalg.gemm.attention.counting import loop_instructions, other_instructions
from layoutalg.gemm.bottleneck import Step, what_limits
from layoutalg.gemm.roofline import MEMORY_LATENCIES
from layoutalg.hardware import xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["AttentionTimes", "LimitedTimes", "times_of"]


@dataclass(frozen=True)
class LimitedTimes:
    """A kernel's predicted time in seconds: `start`, and what takes longest of `limits`, which has each alone.

    >>> LimitedTimes({"memory": 2e-6, "issue": 3e-6}, 0.0).limit
    'issue'
    """

    limits: Mapping[str, float]
    start: float

    @property
    def limit(self) -> str:
        """What limits the kernel.

        >>> la.plan_decode(64, 64, target="bmg").times.limit
        'waiting'
        """
        return max(self.limits, key=lambda name: self.limits[name])

    @property
    def seconds(self) -> float:
        """The whole time.

        >>> LimitedTimes({"memory": 2e-6}, 1e-6).seconds
        3e-06
        """
        return self.start + max(self.limits.values())

    def limited(self, step: Step = None) -> str:
        """What limits the kernel, in words; `step` has the dpas and all instructions of one.

        >>> LimitedTimes({"memory": 2e-6, "issue": 3e-6}, 1e-6).limited()
        'issue: engines issue instructions for 75 % of the time; the wait for the first data: 25 %'
        """
        return what_limits(self.limit, self.limits[self.limit], self.seconds, step, self.around)

    @property
    def around(self) -> dict[str, float]:
        """The seconds before and behind what is limited.

        >>> LimitedTimes({"memory": 2e-6}, 1e-6).around
        {'start': 1e-06}
        """
        return {"start": self.start}


@dataclass(frozen=True)
class AttentionTimes(LimitedTimes):
    """The predicted time in seconds, where scores are such that no step is done again. `limits` has each limit alone.

    >>> la.plan_attention(64, 64, target="bmg").times.break_even is None
    True
    """

    rerun: float
    """What is added if all subgroups take their keys once more, with the exact maximum."""
    break_even: float | None
    """The part of the subgroups that may do so until the other form is faster; only of `maximum="first"`."""


def times_of(plan: Attention) -> AttentionTimes:
    """The times of a plan."""
    problem, chip, unit = plan.problem, xe_chip(plan.problem.target), plan.dpas
    longer = chip.dpas_clocks(problem.type, 2 * unit.m * unit.n * unit.k) - 1
    masked, anew = other_instructions(plan)
    steps, count = plan.steps_total, plan.subgroups_total
    keys = steps.seen * plan.keys_per_step + steps.masked * plan.keys_per_masked_step
    issued = steps.seen * (sum(loop_instructions(plan).values()) + plan.step.dpas * longer)
    issued += steps.masked * (masked + plan.masked_step.dpas * longer)
    again = keys // plan.keys_per_masked_step * (anew + plan.masked_step.dpas * longer)
    workgroups = plan.grid[0] * plan.grid[2]
    each = -(-(-(-workgroups // chip.cores) * plan.subgroups) // chip.engines)
    room = max(1, chip.threads(plan.registers) // chip.engines)
    waits = 0 if plan.share is not None else 2 * chip.l3_latency * (steps.seen + steps.masked)
    held = sum(plan.problem.count_of(one.name) * one.rows * one.columns * one.element_bytes for one in problem.matrices)
    clocks = {
        "memory": held / chip.memory_clock_bytes,
        "L3": keys / plan.subgroups * problem.d * 4 / chip.l3_clock_bytes,
        "L1": plan.bytes_total / (chip.cores * chip.l1_clock_bytes),
        "issue": each * issued / max(1, count),
        "waiting": -(-each // room) * (issued + waits) / max(1, count),
    }
    rate = chip.clock_ghz * 1e9
    limits = {name: taken / rate for name, taken in clocks.items()}
    start = MEMORY_LATENCIES * chip.l3_latency / rate
    slower = limits["issue"] + each * again / max(1, count) / rate
    rerun = max(slower, *limits.values()) - max(limits.values())
    made = AttentionTimes(MappingProxyType(limits), start, rerun, None)
    if plan.maximum == "online":
        return made
    gained = replace(plan, maximum="online").times.seconds - made.seconds
    return replace(made, break_even=min(1.0, max(0.0, gained / rerun)) if rerun > 0 else 1.0)
