"""Named barriers of the workgroups that run together: who has arrived, and what those who wait learn.

>>> from layoutalg.simulate.machine import Machine
>>> from layoutalg.simulate.memory.races import Races
>>> from layoutalg.simulate.memory.stamps import Stamps
>>> races, barriers = Races(Stamps(1, 2, 16, 4), Machine("pvc", (1, 1, 1), (32, 1, 1), 16, 0, 1)), NamedBarriers()
>>> barriers.arrive(races, group=0, subgroup=0, number=3, participants=2)
>>> barriers.wait(races, group=0, subgroup=1, number=3, participants=2)
1
>>> barriers.arrive(races, group=0, subgroup=1, number=3, participants=2)
>>> barriers.wait(races, group=0, subgroup=1, number=3, participants=2)
0
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.simulate.memory.races import Races

__all__ = ["NamedBarriers"]

Array = NDArray[Any]


@dataclass(slots=True)
class _Phase:
    arrived: int
    known: Array


@dataclass(slots=True)
class NamedBarriers:
    """Of every workgroup and barrier: how many have arrived in this phase, and what they knew.

    >>> NamedBarriers().phases
    {}
    """

    phases: dict[tuple[int, int], _Phase] = field(default_factory=dict[tuple[int, int], _Phase])

    def arrive(self, races: Races, group: int, subgroup: int, number: int, participants: int) -> None:
        """A participant has arrived; after the last one, the next arrival begins another phase."""
        phase = self.phases.get((group, number))
        known = races.arrive(group, subgroup)
        if phase is None or phase.arrived >= participants:
            self.phases[group, number] = _Phase(1, known)
        else:
            phase.arrived += 1
            phase.known = np.maximum(phase.known, known)

    def wait(self, races: Races, group: int, subgroup: int, number: int, participants: int) -> int:
        """How many have not arrived; where all have, the waiting subgroup knows what they knew."""
        phase = self.phases.get((group, number))
        arrived = 0 if phase is None else phase.arrived
        if phase is not None and arrived >= participants:
            races.learn(group, subgroup, phase.known)
        return max(0, participants - arrived)
