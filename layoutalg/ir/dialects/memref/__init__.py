"""The memref dialect as kernels use it, with LLVM's syntax: buffers, views of them, single elements.

    %part = memref.subview %m[%i, 0] [8, 16] [1, 1] : memref<64x64xf16> to memref<8x16xf16, strided<[64, 1], offset: ?>>

>>> from layoutalg.ir import read_module, write_module
>>> text = "%m = memref.alloc() {alignment = 64 : i64} : memref<4xf32> memref.dealloc %m : memref<4xf32>"
>>> print(write_module(read_module(text), llvm=24).splitlines()[1].strip())
%m = memref.alloc() alignment = 64 : memref<4xf32>

`buffers` has the operations that read and print themselves.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.memref.buffers import AllocaScopeOp, DistinctObjectsOp, GenericAtomicRMWOp, GlobalOp
from layoutalg.ir.dialects.memref.operations import OPERATIONS, AllocaScopeReturnOp

__all__ = [
    "MEMREF",
    "AllocaScopeOp",
    "AllocaScopeReturnOp",
    "DistinctObjectsOp",
    "GenericAtomicRMWOp",
    "GlobalOp",
]

MEMREF = Dialect("memref", [*OPERATIONS, AllocaScopeOp, DistinctObjectsOp, GenericAtomicRMWOp, GlobalOp])
"""The dialect."""
