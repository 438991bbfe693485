"""The enums of the iree_gpu dialect, with their values and spellings.

>>> ComputeBitwidths.parse("fp32|fp16")
<ComputeBitwidths.FP32|FP16: 6>
>>> print(ComputeBitwidths.parse("fp16|fp32").spelling)
fp32|fp16
>>> TilingLevel.Lane.value
5

Sets of bits (`ComputeBitwidths`, `StorageBitwidths`, `SubgroupOps`, `DotProductOps`) are flags joined by `|`, printed from
the lowest bit on; `none` is the empty set. The other enums count from 0. The values are those of IREE's page; `fp8`, `fp6`
and `fp4` came after it, and IREE 3.13 reads them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from layoutalg.core.errors import VerificationError

__all__ = [
    "ComputeBitwidths",
    "DotProductOps",
    "IteratorType",
    "LoweringPipeline",
    "MMAFragment",
    "ReorderWorkgroupsStrategy",
    "SPIRVLoweringPipeline",
    "StorageBitwidths",
    "SubgroupOps",
    "TilingLevel",
    "VirtualMMAIntrinsic",
]


class _Bits(IntFlag):
    """A set of bits that is written with `|`."""

    @classmethod
    def spellings(cls) -> dict[str, int]:
        """Each bit's spelling with its value, lowest bit first."""
        return {name.lower(): member.value for name, member in cls.__members__.items() if member.value}

    @classmethod
    def parse(cls, text: str) -> _Bits:
        """Read `fp32|fp16`, or `none`.

        Raises `VerificationError` with the spellings that there are.
        """
        known = cls.spellings()
        found = 0
        for word in text.split("|"):
            name = word.strip()
            if name not in known and name != "none":
                raise VerificationError(f"{name!r}: expected {cls.__name__} to be one of: none, {', '.join(known)}")
            found |= known.get(name, 0)
        return cls(found)

    @property
    def spelling(self) -> str:
        """The text that IREE prints."""
        return "|".join(name for name, value in type(self).spellings().items() if self.value & value) or "none"


class ComputeBitwidths(_Bits):
    """Element types that a target computes with."""

    FP64 = 1
    FP32 = 2
    FP16 = 4
    Int64 = 8
    Int32 = 16
    Int16 = 32
    Int8 = 64
    FP8 = 128
    FP6 = 256
    FP4 = 512


class StorageBitwidths(_Bits):
    """Widths of the elements that a target stores.

    >>> StorageBitwidths.parse("b8|b64").spelling
    'b64|b8'
    """

    B64 = 1
    B32 = 2
    B16 = 4
    B8 = 8


class SubgroupOps(_Bits):
    """What the lanes of a subgroup can do together.

    >>> SubgroupOps.Arithmetic.value
    2
    """

    Shuffle = 1
    Arithmetic = 2


class DotProductOps(_Bits):
    """Dot products of a target.

    >>> DotProductOps.DP4xI8ToI32.spelling
    'dp4xi8toi32'
    """

    DP4xI8ToI32 = 1


class MMAFragment(IntEnum):
    """An operand of a matrix multiplication.

    >>> MMAFragment.Acc.value
    2
    """

    Lhs, Rhs, Acc = range(3)


class ReorderWorkgroupsStrategy(IntEnum):
    """How workgroups are reordered; the page also speaks of `Swizzle`, which no version of IREE reads."""

    None_, Transpose = range(2)


class TilingLevel(IntEnum):
    """The levels that a lowering config tiles.

    >>> TilingLevel.PartialReduction.value
    2
    """

    Workgroup, Reduction, PartialReduction, Thread, Subgroup, Lane = range(6)


class VirtualMMAIntrinsic(IntEnum):
    """The virtual intrinsics of the page."""

    (
        VMFMA_F32_16x16x32_F16,
        VMFMA_F32_32x32x16_F16,
        VMFMA_F32_16x16x32_F8E4M3FNUZ,
        VMFMA_F32_32x32x16_F8E4M3FNUZ,
    ) = range(4)


class IteratorType(IntEnum):
    """The kind of a loop.

    >>> IteratorType["reduction"].value
    1
    """

    parallel, reduction = range(2)


class LoweringPipeline(IntEnum):
    """The pipelines of IREE 3.13 for AMD's and NVIDIA's GPUs."""

    Default, BaseLowering, Distribute, Vectorize, VectorDistribute, WinogradVectorize, TileAndFuse = range(7)


class SPIRVLoweringPipeline(IntEnum):
    """The pipelines of IREE 3.13 for SPIR-V."""

    (
        BaseLowering,
        BaseDistribute,
        BaseVectorize,
        SubgroupReduce,
        MatmulPromoteVectorize,
        CooperativeMatrixVectorize,
        WinogradVectorize,
    ) = range(7)
