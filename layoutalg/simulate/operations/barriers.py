"""Named barriers and fences.

A named barrier joins some subgroups of a workgroup: each of its participants arrives, and those that wait go on when all
have arrived. What a subgroup did before it arrives is ordered before what comes after another one's wait, and nothing else
is. A fence orders a work-item's own accesses, which here are in order anyway: it does not make others wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutalg.ir.dialects.xegpu import operations as shared
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Run, fail

__all__ = ["NamedBarrier"]

MOST_BARRIERS = 32
"""Named barriers of a workgroup, numbered 0 to 31 (the dialect's page)."""


@dataclass(frozen=True, eq=False)
class NamedBarrier:
    """A barrier that a subgroup is bound to: its number, and how many subgroups take part.

    >>> NamedBarrier(np.full((1, 1, 1), 3), np.full((1, 1, 1), 2)).participants.item()
    2
    """

    number: Array
    participants: Array


@compiled_by(shared.AllocNbarrierOp, shared.FenceOp)
def nothing(op: shared.AllocNbarrierOp | shared.FenceOp, compiling: Compiling) -> Step:
    """`xegpu.alloc_nbarrier` reserves barriers, `xegpu.fence` orders what is in order here."""
    if isinstance(op, shared.AllocNbarrierOp) and not 1 <= op.nbarrier_num.value.data <= MOST_BARRIERS:
        fail(op, f"{op.nbarrier_num.value.data} named barriers; a workgroup has 1 to {MOST_BARRIERS}")
    return lambda run, values: ()


@compiled_by(shared.InitNbarrierOp)
def init_nbarrier(op: shared.InitNbarrierOp, compiling: Compiling) -> Step:
    """`xegpu.init_nbarrier`: bind the subgroup to a barrier."""

    def step(run: Run, values: list[Any]) -> tuple[NamedBarrier]:
        number, participants = values
        if ((number < 0) | (number >= MOST_BARRIERS)).any():
            fail(op, f"barrier {int(number[(number < 0) | (number >= MOST_BARRIERS)][0])}: expected 0 to 31")
        if (participants < 1).any():
            fail(op, "a barrier needs one participant at least")
        return (NamedBarrier(number, participants),)

    return step


def _subgroups(run: Run, barrier: NamedBarrier) -> list[tuple[int, int, int, int]]:
    """Workgroup, subgroup, number of the barrier and participants, for every active subgroup."""
    groups, subgroups, _ = run.machine.items
    active = np.broadcast_to(True if run.active is None else run.active, run.machine.items).any(2)
    number, participants = (
        np.broadcast_to(value, (*np.broadcast_shapes(value.shape[:2], (groups, subgroups)), value.shape[2]))[..., 0]
        for value in (barrier.number, barrier.participants)
    )
    return [(int(g), int(s), int(number[g, s]), int(participants[g, s])) for g, s in np.argwhere(active)]


@compiled_by(shared.NbarrierArriveOp)
def nbarrier_arrive(op: shared.NbarrierArriveOp, compiling: Compiling) -> Step:
    """`xegpu.nbarrier_arrive`: tell the barrier, and go on."""

    def step(run: Run, values: list[Any]) -> tuple[()]:
        for group, subgroup, number, participants in _subgroups(run, values[0]):
            run.memory.named.arrive(run.memory.races, group, subgroup, number, participants)
        return ()

    return step


@compiled_by(shared.NbarrierWaitOp)
def nbarrier_wait(op: shared.NbarrierWaitOp, compiling: Compiling) -> Step:
    """`xegpu.nbarrier_wait`: go on when all participants have arrived."""

    def step(run: Run, values: list[Any]) -> tuple[()]:
        for group, subgroup, number, participants in _subgroups(run, values[0]):
            missing = run.memory.named.wait(run.memory.races, group, subgroup, number, participants)
            if missing:
                fail(
                    op,
                    f"subgroup {subgroup} of workgroup {run.machine.first + group} waits for barrier {number}, where "
                    f"{participants - missing} of {participants} have arrived; branches that wait for a later branch "
                    "are not simulated",
                    "run.deadlock",
                )
        return ()

    return step
