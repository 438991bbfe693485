"""The gpu dialect with LLVM's syntax: kernels, launches, what work-items do together, what the host does.

    gpu.module @gemm {
      gpu.func @gemm(%a : i64) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
        %x = gpu.block_id x
        gpu.return
      }
    }

`functions` has modules and functions, `numbers` the numbers of work-items, `together` shuffles, reductions and barriers,
`host` the device's memory, `launching` launches.

>>> print(BlockIdOp.along(DimensionEnum.X))
%0 = gpu.block_id x
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
from layoutalg.ir.dialects.gpu.functions import (
    BinaryOp,
    FuncOp,
    ModuleOp,
    ReturnOp,
)
from layoutalg.ir.dialects.gpu.host import (
    AllocOp,
    DeallocOp,
    HostRegisterOp,
    HostUnregisterOp,
    MemcpyOp,
    MemsetOp,
    SetDefaultDeviceOp,
    WaitOp,
)
from layoutalg.ir.dialects.gpu.launching import (
    LaunchFuncOp,
    LaunchOp,
    TerminatorOp,
)
from layoutalg.ir.dialects.gpu.numbers import (
    BlockDimOp,
    BlockIdOp,
    ClusterBlockIdOp,
    ClusterDimBlocksOp,
    ClusterDimOp,
    ClusterIdOp,
    GlobalIdOp,
    GridDimOp,
    LaneIdOp,
    NumSubgroupsOp,
    SubgroupIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
)
from layoutalg.ir.dialects.gpu.together import (
    AllReduceOp,
    BarrierOp,
    DynamicSharedMemoryOp,
    PrintfOp,
    RotateOp,
    ShuffleOp,
    SubgroupBroadcastOp,
    SubgroupReduceOp,
    WarpExecuteOnLane0Op,
    YieldOp,
)

__all__ = [
    "GPU",
    "AddressSpace",
    "AddressSpaceAttr",
    "AllReduceOp",
    "AllReduceOperation",
    "AllReduceOperationAttr",
    "AllocOp",
    "AsyncTokenType",
    "BarrierOp",
    "BarrierScope",
    "BarrierScopeAttr",
    "BinaryOp",
    "BlockDimOp",
    "BlockIdOp",
    "BroadcastType",
    "BroadcastTypeAttr",
    "ClusterBlockIdOp",
    "ClusterDimBlocksOp",
    "ClusterDimOp",
    "ClusterIdOp",
    "DeallocOp",
    "DimensionAttr",
    "DimensionEnum",
    "DynamicSharedMemoryOp",
    "FuncOp",
    "GlobalIdOp",
    "GridDimOp",
    "HostRegisterOp",
    "HostUnregisterOp",
    "LaneIdOp",
    "LaunchFuncOp",
    "LaunchOp",
    "MemcpyOp",
    "MemsetOp",
    "ModuleOp",
    "NumSubgroupsOp",
    "PrintfOp",
    "ReturnOp",
    "RotateOp",
    "SetDefaultDeviceOp",
    "ShuffleMode",
    "ShuffleModeAttr",
    "ShuffleOp",
    "SubgroupBroadcastOp",
    "SubgroupIdOp",
    "SubgroupReduceOp",
    "SubgroupSizeOp",
    "TerminatorOp",
    "ThreadIdOp",
    "WaitOp",
    "WarpExecuteOnLane0Op",
    "YieldOp",
]

GPU = Dialect(
    "gpu",
    [
        AllReduceOp,
        AllocOp,
        BarrierOp,
        BinaryOp,
        BlockDimOp,
        BlockIdOp,
        ClusterBlockIdOp,
        ClusterDimBlocksOp,
        ClusterDimOp,
        ClusterIdOp,
        DeallocOp,
        DynamicSharedMemoryOp,
        FuncOp,
        GlobalIdOp,
        GridDimOp,
        HostRegisterOp,
        HostUnregisterOp,
        LaneIdOp,
        LaunchFuncOp,
        LaunchOp,
        MemcpyOp,
        MemsetOp,
        ModuleOp,
        NumSubgroupsOp,
        PrintfOp,
        ReturnOp,
        RotateOp,
        SetDefaultDeviceOp,
        ShuffleOp,
        SubgroupBroadcastOp,
        SubgroupIdOp,
        SubgroupReduceOp,
        SubgroupSizeOp,
        TerminatorOp,
        ThreadIdOp,
        WaitOp,
        WarpExecuteOnLane0Op,
        YieldOp,
    ],
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
