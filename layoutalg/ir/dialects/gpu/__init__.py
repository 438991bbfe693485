"""The gpu dialect with LLVM's syntax: kernels, launches, what work-items do together, what the host does.

    gpu.module @gemm {
      gpu.func @gemm(%a : i64) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
        %x = gpu.block_id x
        gpu.return
      }
    }

`functions` has modules and functions, `launching` launches, `subgroup_ops` what has a region.

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%x = gpu.block_id x")).splitlines()[1].strip())
%x = gpu.block_id x
"""

from __future__ import annotations

from xdsl.dialects.gpu import GPU as XDSL
from xdsl.ir import Dialect

from layoutalg.ir.dialects.gpu.attributes import (
    AddressSpace,
    AddressSpaceAttr,
    AllReduceOperation,
    AllReduceOperationAttr,
    AsyncTokenType,
    BarrierScope,
    BarrierScopeAttr,
    BroadcastType,
    BroadcastTypeAttr,
    DimensionAttr,
    DimensionEnum,
    ShuffleMode,
    ShuffleModeAttr,
)
from layoutalg.ir.dialects.gpu.functions import BinaryOp, FuncOp, ModuleOp
from layoutalg.ir.dialects.gpu.launching import LaunchFuncOp, LaunchOp
from layoutalg.ir.dialects.gpu.operations import (
    OPERATIONS,
    BarrierOp,
    BlockDimOp,
    BlockIdOp,
    GlobalIdOp,
    GridDimOp,
    LaneIdOp,
    NumSubgroupsOp,
    ShuffleOp,
    SubgroupIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
    YieldOp,
)
from layoutalg.ir.dialects.gpu.subgroup_ops import AllReduceOp, WarpExecuteOnLane0Op

__all__ = [
    "GPU",
    "AddressSpace",
    "AddressSpaceAttr",
    "AllReduceOp",
    "AllReduceOperation",
    "AllReduceOperationAttr",
    "AsyncTokenType",
    "BarrierOp",
    "BarrierScope",
    "BarrierScopeAttr",
    "BinaryOp",
    "BlockDimOp",
    "BlockIdOp",
    "BroadcastType",
    "BroadcastTypeAttr",
    "DimensionAttr",
    "DimensionEnum",
    "FuncOp",
    "GlobalIdOp",
    "GridDimOp",
    "LaneIdOp",
    "LaunchFuncOp",
    "LaunchOp",
    "ModuleOp",
    "NumSubgroupsOp",
    "ShuffleMode",
    "ShuffleModeAttr",
    "ShuffleOp",
    "SubgroupIdOp",
    "SubgroupSizeOp",
    "ThreadIdOp",
    "WarpExecuteOnLane0Op",
    "YieldOp",
]

GPU = Dialect(
    "gpu",
    [*OPERATIONS, AllReduceOp, BinaryOp, FuncOp, LaunchFuncOp, LaunchOp, ModuleOp, WarpExecuteOnLane0Op],
    [
        AddressSpaceAttr,
        AllReduceOperationAttr,
        BarrierScopeAttr,
        BroadcastTypeAttr,
        DimensionAttr,
        ShuffleModeAttr,
        AsyncTokenType,
        *(attribute for attribute in XDSL.attributes if attribute.name in ("gpu.processor", "gpu.loop_dim_map")),
    ],
)
"""The dialect; mappings of loops are xDSL's."""
