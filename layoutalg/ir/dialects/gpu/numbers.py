"""The numbers that the hardware gives a work-item: which one it is, and how many there are.

    %x = gpu.block_id x
    %l = gpu.lane_id upper_bound 16

>>> print(BlockIdOp.along(DimensionEnum.X))
%0 = gpu.block_id x
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from layoutalg.ir.dialects.gpu.attributes import DimensionAttr, DimensionEnum
from layoutalg.ir.dialects.gpu.directives import Dimension, UpperBound

__all__ = [
    "BlockDimOp",
    "BlockIdOp",
    "ClusterBlockIdOp",
    "ClusterDimBlocksOp",
    "ClusterDimOp",
    "ClusterIdOp",
    "GlobalIdOp",
    "GridDimOp",
    "LaneIdOp",
    "NumSubgroupsOp",
    "SubgroupIdOp",
    "SubgroupSizeOp",
    "ThreadIdOp",
]


class _DimensionOp(IRDLOperation, ABC):
    """An index with a dimension, e.g. `gpu.block_id x`, optionally with a bound that it stays below."""

    dimension = prop_def(DimensionAttr)
    upper_bound = opt_prop_def(IntegerAttr)
    result = result_def(IndexType())

    traits = traits_def(Pure())
    custom_directives = (Dimension, UpperBound)

    assembly_format = "custom<Dimension>($dimension) custom<UpperBound>($upper_bound) attr-dict"

    @classmethod
    def along(cls, dimension: DimensionEnum) -> _DimensionOp:
        """The index along one dimension of the grid."""
        return cls.build(result_types=[IndexType()], properties={"dimension": DimensionAttr(dimension)})


@irdl_op_definition
class BlockIdOp(_DimensionOp):
    """Which workgroup this is."""

    name = "gpu.block_id"


@irdl_op_definition
class BlockDimOp(_DimensionOp):
    """How many work-items a workgroup has."""

    name = "gpu.block_dim"


@irdl_op_definition
class GridDimOp(_DimensionOp):
    """How many workgroups there are."""

    name = "gpu.grid_dim"


@irdl_op_definition
class GlobalIdOp(_DimensionOp):
    """Which work-item of the whole grid this is."""

    name = "gpu.global_id"


@irdl_op_definition
class ThreadIdOp(_DimensionOp):
    """Which work-item of the workgroup this is."""

    name = "gpu.thread_id"


@irdl_op_definition
class ClusterIdOp(_DimensionOp):
    """Which cluster of workgroups this is."""

    name = "gpu.cluster_id"


@irdl_op_definition
class ClusterDimOp(_DimensionOp):
    """How many clusters of workgroups there are."""

    name = "gpu.cluster_dim"


@irdl_op_definition
class ClusterBlockIdOp(_DimensionOp):
    """Which workgroup of the cluster this is."""

    name = "gpu.cluster_block_id"


@irdl_op_definition
class ClusterDimBlocksOp(_DimensionOp):
    """How many workgroups a cluster has."""

    name = "gpu.cluster_dim_blocks"


@irdl_op_definition
class LaneIdOp(IRDLOperation):
    """Which lane of the subgroup this is."""

    name = "gpu.lane_id"

    upper_bound = opt_prop_def(IntegerAttr)
    result = result_def(IndexType())

    traits = traits_def(Pure())
    custom_directives = (UpperBound,)

    assembly_format = "custom<UpperBound>($upper_bound) attr-dict"


class _SubgroupOp(IRDLOperation, ABC):
    """A number of the subgroup, e.g. `gpu.subgroup_id : index`."""

    upper_bound = opt_prop_def(IntegerAttr)
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (UpperBound,)

    assembly_format = "custom<UpperBound>($upper_bound) attr-dict `:` type($result)"


@irdl_op_definition
class SubgroupIdOp(_SubgroupOp):
    """Which subgroup of the workgroup this is."""

    name = "gpu.subgroup_id"


@irdl_op_definition
class NumSubgroupsOp(_SubgroupOp):
    """How many subgroups the workgroup has."""

    name = "gpu.num_subgroups"


@irdl_op_definition
class SubgroupSizeOp(_SubgroupOp):
    """How many lanes a subgroup has."""

    name = "gpu.subgroup_size"
