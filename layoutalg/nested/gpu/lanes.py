"""Attributes about lanes and subgroups: what a loop is mapped to, and what a value is known to be across lanes.

A value with `lane_increment<16>` counts up by one from lane to lane in groups of 16; one with `lane_constant<16>` is the same
in the whole group. They are hints on an index, and distribute nothing:

>>> print(LaneIncrementAttr(16, step=2, aligned=True))
#iree_gpu.lane_increment<16, step = 2, aligned>

`lane_id` is in both versions of IREE, the others are of IREE 3.13.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.nested.gpu.iree_versions import LaterAttr, VersionedAttr

__all__ = ["LaneConstantAttr", "LaneIdAttr", "LaneIncrementAttr", "LaneScopeAttr", "SubgroupScopeAttr"]

_LOW, _HIGH = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class LaneIdAttr(VersionedAttr):
    """`#iree_gpu.lane_id<0>`: maps a dimension of a loop to the lanes of a subgroup.

    >>> print(LaneIdAttr(1))
    #iree_gpu.lane_id<1>
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole_number(self.dim, "lane_id =", _LOW, _HIGH, VerificationError))

    def __str__(self) -> str:
        return f"#iree_gpu.lane_id<{self.dim}>"


@dataclass(frozen=True, slots=True)
class LaneConstantAttr(LaterAttr):
    """`#iree_gpu.lane_constant<16>`: a value is the same in each group of that many lanes.

    >>> print(LaneConstantAttr(16))
    #iree_gpu.lane_constant<16>
    >>> LaneConstantAttr(32).text()
    '#iree_gpu.lane_constant<32>'
    """

    group_size: int

    def __post_init__(self) -> None:
        size = whole_number(self.group_size, "lane_constant =", _LOW, _HIGH, VerificationError)
        object.__setattr__(self, "group_size", size)

    def __str__(self) -> str:
        return f"#iree_gpu.lane_constant<{self.group_size}>"


@dataclass(frozen=True, slots=True)
class LaneIncrementAttr(LaterAttr):
    """`#iree_gpu.lane_increment<16, step = 2, aligned>`: a value grows by `step` from lane to lane in each group of lanes.

    `aligned`: the group's first value is a multiple of the group's size. A step of 1 is not printed.

    >>> print(LaneIncrementAttr(16))
    #iree_gpu.lane_increment<16>
    >>> LaneIncrementAttr(64, aligned=True).text()
    '#iree_gpu.lane_increment<64, aligned>'
    """

    group_size: int
    step: int = 1
    aligned: bool = False

    def __post_init__(self) -> None:
        size = whole_number(self.group_size, "lane_increment =", _LOW, _HIGH, VerificationError)
        step = whole_number(self.step, "lane_increment with step =", _LOW, _HIGH, VerificationError)
        object.__setattr__(self, "group_size", size)
        object.__setattr__(self, "step", step)
        if type(self.aligned) is not bool:
            raise VerificationError(f"aligned = {shown(self.aligned)}: expected True or False")

    def __str__(self) -> str:
        step = f", step = {self.step}" if self.step != 1 else ""
        return f"#iree_gpu.lane_increment<{self.group_size}{step}{', aligned' * self.aligned}>"


@dataclass(frozen=True, slots=True)
class LaneScopeAttr(LaterAttr):
    """`#iree_gpu.lane_scope`: the lanes of one subgroup work together.

    >>> print(LaneScopeAttr())
    #iree_gpu.lane_scope
    """

    def __str__(self) -> str:
        return "#iree_gpu.lane_scope"


@dataclass(frozen=True, slots=True)
class SubgroupScopeAttr(LaterAttr):
    """`#iree_gpu.subgroup_scope`: the subgroups of a workgroup work together.

    >>> print(SubgroupScopeAttr())
    #iree_gpu.subgroup_scope
    """

    def __str__(self) -> str:
        return "#iree_gpu.subgroup_scope"
