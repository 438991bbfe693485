"""Workgroups of a cluster: which barriers of the cluster each has passed, and who reached into whose shared memory.

Workgroups of a cluster reach each other's shared memory by addresses of their own (`llvm.nvvm.mapa.shared.cluster`), and wait
for each other in two halves: all arrive, then all wait. What one did before it arrives is ordered before what another does
after it has waited, and nothing else is (PTX ISA, "barrier.cluster").

By hand, two workgroups: both arrive in epoch 1 and go on in epoch 2. Once workgroup 1 has waited, all that workgroup 0 did
before epoch 2 happened before; before that, nothing did.

>>> machine = Machine("sm_90", (2, 1, 1), (32, 1, 1), 32, 0, 2, cluster=2)
>>> clusters = Clusters(machine)
>>> clusters.met.tolist()
[0, 0]
>>> clusters.arrive(np.array([[1], [1]]), np.array([2, 2]))
>>> clusters.wait().tolist(), clusters.met.tolist()
([[1], [1]], [2, 2])

Two more rules, of the CUDA C++ Programming Guide ("Distributed Shared Memory"): nobody may reach the memory of a workgroup
that may not have started, nor of one that may have ended. The first barrier of a cluster shows that all have started; a
workgroup may end after a barrier that comes after all that others do in its memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.simulate.machine import Machine

__all__ = ["RANK_BYTES", "Clusters", "Reach"]

Array = NDArray[Any]

RANK_BYTES = 1 << 32
"""How far apart the memories of a cluster's workgroups are, in addresses that reach all of them."""


class Reach(NamedTuple):
    """An access to another workgroup's shared memory: the operation, who made it, and whose memory it is, in the launch."""

    operation: Operation
    by: int
    owner: int


class Clusters:
    """The clusters of the workgroups that run together: `met` is the epoch before which all of the others' work is ordered.

    It is 0 for workgroups that have passed no barrier of their cluster yet.

    >>> Clusters(Machine("sm_90", (8, 1, 1), (32, 1, 1), 32, 0, 8, cluster=4)).size
    4
    """

    def __init__(self, machine: Machine) -> None:
        self.first, self.size = machine.first, machine.cluster
        self.met: NDArray[np.int64] = np.zeros(machine.count, np.int64)
        self._arrived: tuple[Array, Array] | None = None
        self._reached: NDArray[np.int64] = np.full(machine.count, -1, np.int64)
        self._reaches: dict[int, Reach] = {}

    @property
    def waiting(self) -> bool:
        """Whether all have arrived at a barrier, and have not waited yet."""
        return self._arrived is not None

    def together(self, clock: NDArray[np.int64]) -> NDArray[np.int64]:
        """Clocks that are the same in every cluster, the latest of its workgroups'.

        >>> Clusters(Machine("sm_90", (4, 1, 1), (32, 1, 1), 32, 0, 4, cluster=2)).together(np.array([1, 5, 2, 3])).tolist()
        [5, 5, 3, 3]
        """
        return np.repeat(clock.reshape(-1, self.size).max(1), self.size)

    def arrive(self, done: Array, epoch: NDArray[np.int64]) -> None:
        """All arrive: what is done is what each subgroup did up to its epoch, `[workgroup, subgroup]`; then `epoch` begins."""
        self._arrived = done.copy(), epoch.copy()

    def wait(self) -> Array:
        """All have waited; gives what each subgroup had done when it arrived."""
        assert self._arrived is not None
        done, self.met = self._arrived
        self._arrived = None
        return done

    def ordered(self, epoch: Array, its: Array, mine: Array, group: Array, *, shared: bool) -> Array:
        """Whether accesses of other workgroups happened before those of mine: the epochs of the others, theirs and my number.

        `group` counts my workgroup from the first that runs. Memory that is `shared` belongs to one cluster, so whoever touched
        it, several workgroups too, is of mine.
        """
        alike = np.asarray(its // self.size == mine // self.size)
        if shared:
            alike = np.ones_like(alike)
        inside = (group >= 0) & (group < len(self.met))
        return alike & inside & (epoch < self.met[np.clip(group, 0, len(self.met) - 1)])

    def reach(self, operation: Operation, groups: Array, owners: Array, epochs: NDArray[np.int64]) -> Reach | None:
        """Note accesses of workgroups to others' memories, counted from the first that runs; one that came too early."""
        others = owners != groups
        if not others.any():
            return None
        pairs = np.unique(np.stack([groups[others], owners[others]], -1), axis=0)
        for by, owner in pairs.tolist():
            if epochs[by] > self._reached[owner]:
                self._reached[owner] = epochs[by]
                self._reaches[owner] = Reach(operation, self.first + by, self.first + owner)
        early = pairs[self.met[pairs[:, 0]] == 0]
        return Reach(operation, self.first + int(early[0, 0]), self.first + int(early[0, 1])) if len(early) else None

    def late(self) -> Reach | None:
        """An access to the memory of a workgroup that may have ended before, if there is one, when all have ended."""
        wrong = np.flatnonzero((self._reached >= 0) & (self._reached >= self.met))
        return self._reaches[int(wrong[0])] if wrong.size else None
