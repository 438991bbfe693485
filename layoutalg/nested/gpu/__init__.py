"""IREE's `iree_gpu` dialect: matrix intrinsics and their fragments, data tiling, schedules, targets, configurations.

`mma` finds an intrinsic by its name; `parse_gpu` reads any attribute of the dialect. `intrinsics` has the sizes, types and
layouts, `kinds` and `data_tiled` the kinds and what they compute, `operand` one operand of a kind, `schedule` the operands of a
contraction, `multi_mma` the operation, `target` what GPUs can do, `promotion` copies to shared memory, `lanes` hints about
lanes, `config` configurations and options.

>>> from layoutalg.nested.gpu import mma, parse_gpu
>>> print(mma("WMMAR4_F32_16x16x16_F16").lhs)
d0 = 16@lane, d1 = 2@lane:16 8@reg
>>> parse_gpu("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>") == mma("MFMA_F32_16x16x16_F16")
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.lazy import lazy_names

if TYPE_CHECKING:
    from layoutalg.nested.gpu.config import (
        ConditionalTransposeAttr,
        GPUEncodingLayoutAttr,
        GPUPaddingResolverAttr,
        InnerTiledSemanticsAttr,
        LoweringConfigAttr,
        PipelineOptionsAttr,
        UKernelConfigAttr,
    )
    from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
    from layoutalg.nested.gpu.enum_attributes import EnumAttr
    from layoutalg.nested.gpu.enums import MMAFragment, TilingLevel
    from layoutalg.nested.gpu.intrinsics import INTRINSICS, VIRTUAL_INTRINSICS, Intrinsic, OperandLayout, intrinsic
    from layoutalg.nested.gpu.kinds import MMAAttr, VirtualMMAAttr, mma
    from layoutalg.nested.gpu.lanes import (
        LaneConstantAttr,
        LaneIdAttr,
        LaneIncrementAttr,
        LaneScopeAttr,
        SubgroupScopeAttr,
    )
    from layoutalg.nested.gpu.multi_mma import MultiMma
    from layoutalg.nested.gpu.operand import MMAOperand
    from layoutalg.nested.gpu.product import Product
    from layoutalg.nested.gpu.promotion import (
        DerivedThreadConfigAttr,
        PromoteWithCacheSwizzleAttr,
        RotateRowsAttr,
        SwizzleOperandAttr,
        UseGlobalLoadDMAAttr,
        XORShuffleAttr,
    )
    from layoutalg.nested.gpu.reading import parse_gpu, read_gpu
    from layoutalg.nested.gpu.scaled import DataTiledScaledMMAAttr, ScaledMMAAttr
    from layoutalg.nested.gpu.schedule import MMAScheduleAttr, contraction_operands
    from layoutalg.nested.gpu.target import MMAOpsAttr, TargetAttr, TargetChipAttr, TargetWgpAttr
    from layoutalg.nested.gpu.target_table import known_target, known_targets
    from layoutalg.nested.gpu.tile_swizzle import TileSwizzle

_HOMES = {
    "ConditionalTransposeAttr": "config",
    "GPUEncodingLayoutAttr": "config",
    "GPUPaddingResolverAttr": "config",
    "InnerTiledSemanticsAttr": "config",
    "LoweringConfigAttr": "config",
    "PipelineOptionsAttr": "config",
    "UKernelConfigAttr": "config",
    "DataTiledMMAAttr": "data_tiled",
    "TileSwizzle": "tile_swizzle",
    "EnumAttr": "enum_attributes",
    "MMAFragment": "enums",
    "TilingLevel": "enums",
    "INTRINSICS": "intrinsics",
    "VIRTUAL_INTRINSICS": "intrinsics",
    "Intrinsic": "intrinsics",
    "OperandLayout": "intrinsics",
    "intrinsic": "intrinsics",
    "MMAAttr": "kinds",
    "VirtualMMAAttr": "kinds",
    "mma": "kinds",
    "known_target": "target_table",
    "known_targets": "target_table",
    "LaneConstantAttr": "lanes",
    "LaneIdAttr": "lanes",
    "LaneIncrementAttr": "lanes",
    "LaneScopeAttr": "lanes",
    "SubgroupScopeAttr": "lanes",
    "MultiMma": "multi_mma",
    "MMAOperand": "operand",
    "Product": "product",
    "DerivedThreadConfigAttr": "promotion",
    "PromoteWithCacheSwizzleAttr": "promotion",
    "RotateRowsAttr": "promotion",
    "SwizzleOperandAttr": "promotion",
    "UseGlobalLoadDMAAttr": "promotion",
    "XORShuffleAttr": "promotion",
    "parse_gpu": "reading",
    "read_gpu": "reading",
    "DataTiledScaledMMAAttr": "scaled",
    "ScaledMMAAttr": "scaled",
    "MMAScheduleAttr": "schedule",
    "contraction_operands": "schedule",
    "MMAOpsAttr": "target",
    "TargetAttr": "target",
    "TargetChipAttr": "target",
    "TargetWgpAttr": "target",
}

__all__ = [
    "INTRINSICS",
    "VIRTUAL_INTRINSICS",
    "ConditionalTransposeAttr",
    "DataTiledMMAAttr",
    "DataTiledScaledMMAAttr",
    "DerivedThreadConfigAttr",
    "EnumAttr",
    "GPUEncodingLayoutAttr",
    "GPUPaddingResolverAttr",
    "InnerTiledSemanticsAttr",
    "Intrinsic",
    "LaneConstantAttr",
    "LaneIdAttr",
    "LaneIncrementAttr",
    "LaneScopeAttr",
    "LoweringConfigAttr",
    "MMAAttr",
    "MMAFragment",
    "MMAOperand",
    "MMAOpsAttr",
    "MMAScheduleAttr",
    "MultiMma",
    "OperandLayout",
    "PipelineOptionsAttr",
    "Product",
    "PromoteWithCacheSwizzleAttr",
    "RotateRowsAttr",
    "ScaledMMAAttr",
    "SubgroupScopeAttr",
    "SwizzleOperandAttr",
    "TargetAttr",
    "TargetChipAttr",
    "TargetWgpAttr",
    "TileSwizzle",
    "TilingLevel",
    "UKernelConfigAttr",
    "UseGlobalLoadDMAAttr",
    "VirtualMMAAttr",
    "XORShuffleAttr",
    "contraction_operands",
    "intrinsic",
    "known_target",
    "known_targets",
    "mma",
    "parse_gpu",
    "read_gpu",
]

__getattr__ = lazy_names(__name__, globals(), _HOMES)
