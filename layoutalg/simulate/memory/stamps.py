"""Who touched a byte last: one whole number, so that the shadow of a buffer is one array of int64.

A stamp holds, from the highest bits down: workgroup, epoch, subgroup, lane, two flags, operation. Epochs count barriers: what
happened in an earlier epoch of a workgroup happened before. Lanes count from 1; 0 stands for all lanes together, as in a block
message. Where several did the same, the stamp says so. The stamp 0 means that no access has happened.

>>> stamps = Stamps(workgroups=4, subgroups=2, lanes=16, operations=3)
>>> mine = int(stamps.pack(workgroup=2, epoch=1, subgroup=1, lane=6)) | 2
>>> stamps.who(mine), stamps.operation(mine)
('work-item 21 of workgroup 2', 2)
>>> stamps.who(stamps.pack(2, 1, 1, 0)), stamps.who(stamps.pack(2, 1, stamps.any_subgroup, stamps.any_lane))
('subgroup 1 of workgroup 2', 'several work-items of workgroup 2')

Two stamps of one workgroup and epoch are other work-items where their subgroups differ, or their lanes do and neither is 0.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from layoutalg.simulate.memory.passing import Passed

__all__ = ["Stamps"]

Array = NDArray[Any]

FLAG_BITS = 2
OPERATION_BITS = 16
"""More operations share the last number: a message then says that it was another operation."""


class Stamps:
    """How the numbers are put together, for the sizes of one launch.

    `lock` is for threads that compare stamps and put new ones: one at a time. `operations` are those that have a number,
    `passed` is what atomic operations have passed on between workgroups.

    `changed` flags a write that put another value there, `atomic` an atomic operation. `alone` says what a workgroup is that
    is not divided into work-items: a workgroup, or an iteration.

    >>> Stamps(1, 1, 16, 1).epochs > 2**20
    True
    """

    def __init__(self, workgroups: int, subgroups: int, lanes: int, operations: int, *, alone: str = "") -> None:
        self.lanes, self.alone = lanes, alone
        self.lock = RLock()
        self.operations: list[Operation] = []
        self.numbers: dict[Operation, int] = {}
        self.passed = Passed()
        self.any_lane, self.any_subgroup, self.any_workgroup = lanes + 1, subgroups, workgroups
        self.operation_most = (1 << min(OPERATION_BITS, operations.bit_length())) - 1
        flags = self.operation_most.bit_length()
        self.changed, self.atomic = 1 << flags, 2 << flags
        self.lane_shift = flags + FLAG_BITS
        self.subgroup_shift = self.lane_shift + self.any_lane.bit_length()
        self.epoch_shift = self.subgroup_shift + self.any_subgroup.bit_length()
        self.workgroup_shift = 62 - (workgroups + 1).bit_length()
        self.epochs = 1 << (self.workgroup_shift - self.epoch_shift)

    def pack(self, workgroup: Any, epoch: Any, subgroup: Any, lane: Any) -> Any:
        """The stamp without flags and operation, which are added with `|`."""
        high = (workgroup + np.int64(1) << self.workgroup_shift) | (epoch << self.epoch_shift)
        return high | (subgroup << self.subgroup_shift) | (lane << self.lane_shift)

    def workgroup(self, stamp: Any) -> Any:
        """The workgroup, from 0, or `any_workgroup`."""
        return (stamp >> self.workgroup_shift) - 1

    def epoch(self, stamp: Any) -> Any:
        """The epoch of its workgroup."""
        return (stamp >> self.epoch_shift) & (self.epochs - 1)

    def subgroup(self, stamp: Any) -> Any:
        """The subgroup, or `any_subgroup`."""
        return (stamp >> self.subgroup_shift) & ((1 << self.epoch_shift - self.subgroup_shift) - 1)

    def lane(self, stamp: Any) -> Any:
        """The lane from 1, 0 for all together, or `any_lane`."""
        return (stamp >> self.lane_shift) & ((1 << self.subgroup_shift - self.lane_shift) - 1)

    def operation(self, stamp: int) -> int:
        """The number of the operation."""
        return int(stamp) & self.operation_most

    def among(self, one: Any, other: Any) -> Any:
        """Whether `one` may be one of the several that `other` stands for."""
        lanes = (self.subgroup(one) == self.subgroup(other)) & (self.lane(other) == self.any_lane)
        group = (self.workgroup(one) == self.workgroup(other)) & (lanes | (self.subgroup(other) == self.any_subgroup))
        return group | (self.workgroup(other) == self.any_workgroup)

    def same_workgroup(self, one: Any, other: Any) -> Any:
        """Whether two stamps are of one workgroup (and not of several)."""
        return ((one ^ other) >> self.workgroup_shift == 0) & (self.workgroup(one) != self.any_workgroup)

    def other_item(self, one: Any, other: Any) -> Any:
        """Whether two stamps of one workgroup are of different work-items, as far as a race is concerned."""
        mine, its = self.lane(one), self.lane(other)
        alone = (mine != its) | (mine == self.any_lane)
        return (self.subgroup(one) != self.subgroup(other)) | (alone & (mine != 0) & (its != 0))

    def merged(self, one: Array, other: Array) -> Array:
        """The stamps `one`, marked as several where `other` is somebody else."""
        differs = one ^ other
        group = differs >> self.workgroup_shift != 0
        subgroup = group | (self.subgroup(differs) != 0)
        lane = subgroup | (self.lane(differs) != 0)
        made = self._with(one, lane, self.lane_shift, self.subgroup_shift, self.any_lane)
        made = self._with(made, subgroup, self.subgroup_shift, self.epoch_shift, self.any_subgroup)
        return self._with(made, group, self.workgroup_shift, 62, self.any_workgroup + 1)

    def _with(self, stamps: Array, where: Array, low: int, high: int, value: int) -> Array:
        mask = ((1 << high) - 1) ^ ((1 << low) - 1)
        return np.where(where, stamps & ~np.int64(mask) | (value << low), stamps)

    def who(self, stamp: int) -> str:
        """The work-items of a stamp, in words."""
        group, subgroup, lane = (int(part(stamp)) for part in (self.workgroup, self.subgroup, self.lane))
        if group == self.any_workgroup:
            return f"several {self.alone or 'workgroup'}s"
        if self.alone:
            return f"{self.alone} {group}"
        if subgroup == self.any_subgroup:
            return f"several work-items of workgroup {group}"
        if lane == self.any_lane:
            return f"several lanes of subgroup {subgroup} of workgroup {group}"
        if lane == 0:
            return f"subgroup {subgroup} of workgroup {group}"
        return f"work-item {subgroup * self.lanes + lane - 1} of workgroup {group}"
