"""What both searches and both rooflines give: candidates in an order, and what a predicted time means.

>>> longest({"issue": 2.0, "L1": 1.0, "memory": 2.0})
'memory'
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm.bottleneck import Step, what_limits

__all__ = ["Numbers", "Predicted", "Ranked", "longest"]

Numbers: TypeAlias = NDArray[np.float64]
"""A column of numbers, one entry per tiling."""
_Candidate = TypeVar("_Candidate", covariant=True)


def longest(limits: Mapping[str, Any]) -> str:
    """The name of what takes longest; of equals the last one."""
    return max(reversed(list(limits)), key=lambda name: limits[name])


class Predicted:
    """A predicted time, and what follows from it. Subclasses are dataclasses with these fields."""

    flops: int
    peak: float
    memory_bytes: int
    limit_seconds: Mapping[str, float]
    part_seconds: Mapping[str, float]
    seconds: float
    ridge: float
    """The operations per byte from which on the chip's peak, and not its memory, is the roof."""

    @property
    def limit(self) -> str:
        """What alone would take longest: a name of `limit_seconds`. A later one counts the ones before it too."""
        return longest(self.limit_seconds)

    def limited(self, step: Step = None) -> str:
        """What limits it, in words; `step` has the dpas and all instructions of one."""
        return what_limits(self.limit, self.limit_seconds[self.limit], self.seconds, step, self.part_seconds)

    @property
    def intensity(self) -> float:
        """Operations per byte of memory."""
        return self.flops / self.memory_bytes

    @property
    def part_of_peak(self) -> float:
        """The operations per second that are predicted, as a part of the peak."""
        return self.flops / self.seconds / self.peak

    def as_json(self) -> dict[str, object]:
        """The time, and what it is made of, as plain values."""
        return {
            "intensity": self.intensity,
            "ridge": self.ridge,
            "limit": self.limit,
            "limit_seconds": dict(self.limit_seconds),
            "part_seconds": dict(self.part_seconds),
            "seconds": self.seconds,
            "part_of_peak": self.part_of_peak,
        }


class Ranked(Sequence[_Candidate]):
    """All candidates of a search, the best one first. Candidates are made when they are asked for.

    `order` has the rows of the table of candidates.
    """

    order: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> _Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_Candidate, ...]: ...
    def __getitem__(self, index: int | slice) -> _Candidate | tuple[_Candidate, ...]:
        if isinstance(index, slice):
            return tuple(self._made(int(row)) for row in self.order[index])
        return self._made(int(self.order[index]))

    @abstractmethod
    def _made(self, row: int) -> _Candidate:
        """The candidate of a row of the table."""
