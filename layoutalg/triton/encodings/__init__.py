"""Triton's encodings: the attributes that say which register, lane and warp, or which offset in memory, holds an element.

Each is an immutable value. Its text is what Triton 3.9 prints, its `to_linear(shape)` the linear layout of a tensor:

>>> mma = NvidiaMma(2, 0, (2, 2), (16, 8))
>>> print(mma)
#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
>>> mma.to_linear((32, 32)).warp
((0, 8), (16, 0))

`parse_encoding` reads the texts of today's and of older Tritons and what Gluon prints; `parse_typed` reads types of tensors
and of memory; `as_encoding` takes Gluon's own objects, and `encoding_of` finds the attribute that says a linear layout.
"""

from layoutalg.triton.encodings.amd import AmdMfma, AmdWmma
from layoutalg.triton.encodings.blocked import Blocked, Slice
from layoutalg.triton.encodings.dot import DotOperand
from layoutalg.triton.encodings.encoding import Encoding
from layoutalg.triton.encodings.gluon import as_encoding
from layoutalg.triton.encodings.intel import Dpas, Subgroup2DBlock
from layoutalg.triton.encodings.linear_bases import GenericLinear, Linear
from layoutalg.triton.encodings.nvidia import NvidiaMma
from layoutalg.triton.encodings.nvmma import NvmmaShared
from layoutalg.triton.encodings.reading import parse_encoding, read_encoding
from layoutalg.triton.encodings.shared import PaddedShared, PartitionedShared, SharedLinear
from layoutalg.triton.encodings.spelling import encoding_of
from layoutalg.triton.encodings.swizzled import RotatingShared, SwizzledShared
from layoutalg.triton.encodings.tensor_memory import TensorMemory, TensorMemoryScales
from layoutalg.triton.encodings.types import MemDescType, TensorType, parse_typed

__all__ = [
    "AmdMfma",
    "AmdWmma",
    "Blocked",
    "DotOperand",
    "Dpas",
    "Encoding",
    "GenericLinear",
    "Linear",
    "MemDescType",
    "NvidiaMma",
    "NvmmaShared",
    "PaddedShared",
    "PartitionedShared",
    "RotatingShared",
    "SharedLinear",
    "Slice",
    "Subgroup2DBlock",
    "SwizzledShared",
    "TensorMemory",
    "TensorMemoryScales",
    "TensorType",
    "as_encoding",
    "encoding_of",
    "parse_encoding",
    "parse_typed",
    "read_encoding",
]
