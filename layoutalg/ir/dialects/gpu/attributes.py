"""The gpu dialect's enumerations: dimensions, memory spaces, how values are exchanged and combined.

LLVM 22 and 23 write `#gpu<dim x>` in the generic form, LLVM 24 `#gpu.dim<x>`; both are read.

>>> from layoutalg.ir import read_module
>>> for text in ("#gpu<dim x>", "#gpu.dim<x>"):
...     print(list(read_module(f'%0 = "gpu.block_id"() <{{dimension = {text}}}> : () -> index').ops)[0].dimension.data)
x
x
"""

from __future__ import annotations

from xdsl.dialects.gpu import AsyncTokenType, DimensionEnum
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum

from layoutalg.ir.dialects.enumerations import Bracketed, EitherForm

__all__ = [
    "AddressSpace",
    "AddressSpaceAttr",
    "AllReduceOperation",
    "AllReduceOperationAttr",
    "AsyncTokenType",
    "BarrierScope",
    "BarrierScopeAttr",
    "BroadcastType",
    "BroadcastTypeAttr",
    "DimensionAttr",
    "DimensionEnum",
    "ShuffleMode",
    "ShuffleModeAttr",
]


class ShuffleMode(StrEnum):
    """Whose value a lane receives: of the lane above, below, xor an offset, or of a lane by its number."""

    Up = "up"
    Down = "down"
    Xor = "xor"
    Idx = "idx"


class AllReduceOperation(StrEnum):
    """How the values of work-items are combined."""

    Add = "add"
    Mul = "mul"
    MinUI = "minui"
    MinSI = "minsi"
    MinNumF = "minnumf"
    MaxUI = "maxui"
    MaxSI = "maxsi"
    MaxNumF = "maxnumf"
    And = "and"
    Or = "or"
    Xor = "xor"
    MinimumF = "minimumf"
    MaximumF = "maximumf"


class BroadcastType(StrEnum):
    """Which lane's value all lanes receive."""

    FirstActiveLane = "first_active_lane"
    AnyLane = "any_lane"
    SpecificLane = "specific_lane"


class AddressSpace(StrEnum):
    """Who shares a memory: everybody, a workgroup, nobody."""

    Global = "global"
    Workgroup = "workgroup"
    Private = "private"
    Constant = "constant"


class BarrierScope(StrEnum):
    """Who waits for each other at a barrier (LLVM 24)."""

    Workgroup = "workgroup"
    Subgroup = "subgroup"
    Cluster = "cluster"


@irdl_attr_definition
class DimensionAttr(EitherForm, EnumAttribute[DimensionEnum], SpacedOpaqueSyntaxAttribute):
    """`#gpu<dim x>`."""

    name = "gpu.dim"


@irdl_attr_definition
class ShuffleModeAttr(EitherForm, EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """`#gpu<shuffle_mode idx>`."""

    name = "gpu.shuffle_mode"


@irdl_attr_definition
class AllReduceOperationAttr(EitherForm, EnumAttribute[AllReduceOperation], SpacedOpaqueSyntaxAttribute):
    """`#gpu<all_reduce_op add>`."""

    name = "gpu.all_reduce_op"


@irdl_attr_definition
class BroadcastTypeAttr(EitherForm, EnumAttribute[BroadcastType], SpacedOpaqueSyntaxAttribute):
    """`#gpu<broadcast specific_lane>`."""

    name = "gpu.broadcast"


@irdl_attr_definition
class AddressSpaceAttr(EitherForm, Bracketed, EnumAttribute[AddressSpace]):
    """`#gpu.address_space<workgroup>`."""

    name = "gpu.address_space"


@irdl_attr_definition
class BarrierScopeAttr(EitherForm, Bracketed, EnumAttribute[BarrierScope]):
    """`#gpu.barrier_scope<subgroup>`."""

    name = "gpu.barrier_scope"
