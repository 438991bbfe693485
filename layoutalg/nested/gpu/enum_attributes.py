"""Enums of the dialect as attributes of their own: `#iree_gpu<subgroup_ops shuffle>`, `#iree_gpu.pipeline<TileAndFuse>`.

>>> print(EnumAttr("pipeline", "TileAndFuse"), EnumAttr("pipeline", "TileAndFuse").value)
#iree_gpu.pipeline<TileAndFuse> 6

Sets of bits and intrinsics stand behind the name of the enum, a single word stands in brackets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.nested.gpu import enums
from layoutalg.nested.gpu.intrinsics import intrinsic
from layoutalg.nested.gpu.iree_versions import VersionedAttr, check_dialect, since_3_13
from layoutalg.nested.gpu.target import check_bitwidths

__all__ = ["FLAGS", "WORDS", "EnumAttr", "words_of"]

_INTRINSICS = ("mma_intrinsic", "virtual_mma_intrinsic")

FLAGS: dict[str, type[Any]] = {
    "compute_bitwidths": enums.ComputeBitwidths,
    "storage_bitwidths": enums.StorageBitwidths,
    "subgroup_ops": enums.SubgroupOps,
    "dotproduct_ops": enums.DotProductOps,
}
"""The sets of bits."""

WORDS: dict[str, type[IntEnum]] = {
    "iterator_type": enums.IteratorType,
    "reorder_workgroups_strategy": enums.ReorderWorkgroupsStrategy,
    "pipeline": enums.LoweringPipeline,
    "spirv_pipeline": enums.SPIRVLoweringPipeline,
}
"""The enums whose value is one word."""


@dataclass(frozen=True, slots=True)
class EnumAttr(VersionedAttr):
    """An enum as an attribute: its mnemonic and the spelling of its value.

    IREE writes `#iree_gpu<compute_bitwidths fp32|fp16>`, and its page `#iree_gpu.compute_bitwidths<...>`: both are read.
    `pipeline` and `spirv_pipeline` are of IREE 3.13.

    >>> print(EnumAttr("compute_bitwidths", "fp32|fp16"))
    #iree_gpu<compute_bitwidths fp32|fp16>
    >>> print(EnumAttr("iterator_type", "reduction"), EnumAttr("iterator_type", "reduction").value)
    #iree_gpu.iterator_type<reduction> 1
    """

    mnemonic: str
    spelling: str

    def __post_init__(self) -> None:
        try:
            if not isinstance(self.mnemonic, str) or not isinstance(self.spelling, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise KeyError
            _ = self.value
        except KeyError:
            raise VerificationError(f"{shown(self.mnemonic)} has no value {shown(self.spelling)}") from None

    @property
    def value(self) -> int | None:
        """The value of the enum; None for an intrinsic that the page does not list.

        >>> EnumAttr("mma_intrinsic", "MFMA_F32_16x16x4_F32").value
        4112
        """
        if self.mnemonic in _INTRINSICS:
            return intrinsic(self.spelling).value
        if self.mnemonic in WORDS:
            return WORDS[self.mnemonic]["None_" if self.spelling == "None" else self.spelling].value
        return FLAGS[self.mnemonic].parse(self.spelling).value

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it.

        >>> EnumAttr("mma_intrinsic", "WMMAR3_I32_16x16x16_I8").text("iree-3.2")
        '#iree_gpu<mma_intrinsic WMMA_I32_16x16x16_I8>'
        """
        word = self.spelling
        if self.mnemonic in _INTRINSICS:
            word = intrinsic(word).spelling(dialect)
        if self.mnemonic == "compute_bitwidths":
            check_bitwidths(self.value or 0, dialect)
        text = f"#iree_gpu.{self.mnemonic}<{word}>" if self.mnemonic in WORDS else f"#iree_gpu<{self.mnemonic} {word}>"
        if self.mnemonic.endswith("pipeline"):
            return since_3_13(text, dialect)
        check_dialect(dialect)
        return text


def words_of(mnemonic: str) -> tuple[str, ...]:
    """The spellings of an enum of `WORDS`."""
    return tuple(name.rstrip("_") for name in WORDS[mnemonic].__members__)
