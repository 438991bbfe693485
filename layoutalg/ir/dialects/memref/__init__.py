"""The memref dialect as kernels use it, with LLVM's syntax: buffers, views of them, single elements.

    %part = memref.subview %m[%i, 0] [8, 16] [1, 1] : memref<64x64xf16> to memref<8x16xf16, strided<[64, 1], offset: ?>>

>>> from layoutalg.ir import read_module, write_module
>>> text = "%m = memref.alloc() {alignment = 64 : i64} : memref<4xf32> memref.dealloc %m : memref<4xf32>"
>>> print(write_module(read_module(text), llvm=24).splitlines()[1].strip())
%m = memref.alloc() alignment = 64 : memref<4xf32>

`buffers` has what makes and ends buffers, `elements` what reads and writes single elements, `views` the rest.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.memref.buffers import (
    AllocaOp,
    AllocaScopeOp,
    AllocaScopeReturnOp,
    AllocOp,
    CopyOp,
    DeallocOp,
    GetGlobalOp,
    GlobalOp,
    ReallocOp,
)
from layoutalg.ir.dialects.memref.elements import (
    AtomicRMWOp,
    AtomicYieldOp,
    GenericAtomicRMWOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
)
from layoutalg.ir.dialects.memref.views import (
    AssumeAlignmentOp,
    CastOp,
    CollapseShapeOp,
    DimOp,
    DistinctObjectsOp,
    ExpandShapeOp,
    ExtractAlignedPointerAsIndexOp,
    ExtractStridedMetaDataOp,
    MemorySpaceCastOp,
    RankOp,
    ReinterpretCastOp,
    ReshapeOp,
    SubviewOp,
    TransposeOp,
    ViewOp,
)

__all__ = [
    "MEMREF",
    "AllocOp",
    "AllocaOp",
    "AllocaScopeOp",
    "AllocaScopeReturnOp",
    "AssumeAlignmentOp",
    "AtomicRMWOp",
    "AtomicYieldOp",
    "CastOp",
    "CollapseShapeOp",
    "CopyOp",
    "DeallocOp",
    "DimOp",
    "DistinctObjectsOp",
    "ExpandShapeOp",
    "ExtractAlignedPointerAsIndexOp",
    "ExtractStridedMetaDataOp",
    "GenericAtomicRMWOp",
    "GetGlobalOp",
    "GlobalOp",
    "LoadOp",
    "MemorySpaceCastOp",
    "PrefetchOp",
    "RankOp",
    "ReallocOp",
    "ReinterpretCastOp",
    "ReshapeOp",
    "StoreOp",
    "SubviewOp",
    "TransposeOp",
    "ViewOp",
]

MEMREF = Dialect(
    "memref",
    [
        AllocOp,
        AllocaOp,
        AllocaScopeOp,
        AllocaScopeReturnOp,
        AssumeAlignmentOp,
        AtomicRMWOp,
        AtomicYieldOp,
        CastOp,
        CollapseShapeOp,
        CopyOp,
        DeallocOp,
        DimOp,
        DistinctObjectsOp,
        ExpandShapeOp,
        ExtractAlignedPointerAsIndexOp,
        ExtractStridedMetaDataOp,
        GenericAtomicRMWOp,
        GetGlobalOp,
        GlobalOp,
        LoadOp,
        MemorySpaceCastOp,
        PrefetchOp,
        RankOp,
        ReallocOp,
        ReinterpretCastOp,
        ReshapeOp,
        StoreOp,
        SubviewOp,
        TransposeOp,
        ViewOp,
    ],
)
"""The dialect."""
