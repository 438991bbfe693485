"""IREE's `iree_gpu` dialect: matrix intrinsics and their fragments, data tiling, schedules, targets, configurations.

`mma` finds an intrinsic by its name; `parse_gpu` reads any attribute of the dialect. `intrinsics` has the sizes, types and
layouts, `kinds` and `data_tiled` the kinds and what they compute, `schedule` the operands of a contraction, `multi_mma` the
operation, `target` what GPUs can do, `config` the rest.

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
        DerivedThreadConfigAttr,
        EnumAttr,
        GPUEncodingLayoutAttr,
        LaneIdAttr,
        LoweringConfigAttr,
        PipelineOptionsAttr,
        UKernelConfigAttr,
    )
    from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr, TileSwizzle
    from layoutalg.nested.gpu.enums import MMAFragment, TilingLevel
    from layoutalg.nested.gpu.intrinsics import INTRINSICS, VIRTUAL_INTRINSICS, Intrinsic, OperandLayout, intrinsic
    from layoutalg.nested.gpu.kinds import MMAAttr, VirtualMMAAttr, mma
    from layoutalg.nested.gpu.multi_mma import MultiMma
    from layoutalg.nested.gpu.reading import parse_gpu, read_gpu
    from layoutalg.nested.gpu.schedule import MMAScheduleAttr, contraction_operands
    from layoutalg.nested.gpu.target import (
        MMAOpsAttr,
        ScaledMMAAttr,
        TargetAttr,
        TargetChipAttr,
        TargetWgpAttr,
        known_target,
        known_targets,
    )

_HOMES = {
    "DerivedThreadConfigAttr": "config",
    "EnumAttr": "config",
    "GPUEncodingLayoutAttr": "config",
    "LaneIdAttr": "config",
    "LoweringConfigAttr": "config",
    "PipelineOptionsAttr": "config",
    "UKernelConfigAttr": "config",
    "DataTiledMMAAttr": "data_tiled",
    "TileSwizzle": "data_tiled",
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
    "MultiMma": "multi_mma",
    "parse_gpu": "reading",
    "read_gpu": "reading",
    "MMAScheduleAttr": "schedule",
    "contraction_operands": "schedule",
    "MMAOpsAttr": "target",
    "ScaledMMAAttr": "target",
    "TargetAttr": "target",
    "TargetChipAttr": "target",
    "TargetWgpAttr": "target",
    "known_target": "target",
    "known_targets": "target",
}

__all__ = [
    "INTRINSICS",
    "VIRTUAL_INTRINSICS",
    "DataTiledMMAAttr",
    "DerivedThreadConfigAttr",
    "EnumAttr",
    "GPUEncodingLayoutAttr",
    "Intrinsic",
    "LaneIdAttr",
    "LoweringConfigAttr",
    "MMAAttr",
    "MMAFragment",
    "MMAOpsAttr",
    "MMAScheduleAttr",
    "MultiMma",
    "OperandLayout",
    "PipelineOptionsAttr",
    "ScaledMMAAttr",
    "TargetAttr",
    "TargetChipAttr",
    "TargetWgpAttr",
    "TileSwizzle",
    "TilingLevel",
    "UKernelConfigAttr",
    "VirtualMMAAttr",
    "contraction_operands",
    "intrinsic",
    "known_target",
    "known_targets",
    "mma",
    "parse_gpu",
    "read_gpu",
]

__getattr__ = lazy_names(__name__, globals(), _HOMES)
