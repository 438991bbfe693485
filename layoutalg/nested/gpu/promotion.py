"""How an operand is copied to shared memory first (promoted): who copies, and how the copy is swizzled.

A `lowering_config` lists the operands that are promoted, and one of these attributes for each:

>>> from layoutalg.nested.gpu.reading import parse_gpu
>>> config = parse_gpu(
...     "#iree_gpu.lowering_config<{promote_operands = [0], promotion_types = [#iree_gpu.swizzle_operand<"
...     "copy_config = #iree_gpu.use_global_load_dma, swizzle = #iree_codegen.xor_shuffle<256, 32>>]}>"
... )
>>> config.attributes["promotion_types"][0].swizzle.row_width
256

`derived_thread_config` is in both versions of IREE, the others are of IREE 3.13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Notation
from layoutalg.core.whole_numbers import whole_number
from layoutalg.nested.gpu.dictionary import Value, value_text, verify_value
from layoutalg.nested.gpu.iree_versions import LaterAttr, VersionedAttr

__all__ = [
    "DerivedThreadConfigAttr",
    "PromoteWithCacheSwizzleAttr",
    "Promotion",
    "RotateRowsAttr",
    "SwizzleOperandAttr",
    "UseGlobalLoadDMAAttr",
    "XORShuffleAttr",
]

_LOW, _HIGH = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Promotion(Notation):
    """What may stand in `promotion_types`.

    >>> isinstance(DerivedThreadConfigAttr(), Promotion)
    True
    """


@dataclass(frozen=True, slots=True)
class DerivedThreadConfigAttr(Promotion, VersionedAttr):
    """`#iree_gpu.derived_thread_config`: the thread tiles are derived after the outer levels are tiled.

    >>> print(DerivedThreadConfigAttr())
    #iree_gpu.derived_thread_config
    """

    def __str__(self) -> str:
        return "#iree_gpu.derived_thread_config"


@dataclass(frozen=True, slots=True)
class UseGlobalLoadDMAAttr(Promotion, LaterAttr):
    """`#iree_gpu.use_global_load_dma`: the copy goes from global to shared memory without registers.

    >>> print(UseGlobalLoadDMAAttr())
    #iree_gpu.use_global_load_dma
    """

    def __str__(self) -> str:
        return "#iree_gpu.use_global_load_dma"


@dataclass(frozen=True, slots=True)
class PromoteWithCacheSwizzleAttr(Promotion, LaterAttr):
    """`#iree_gpu.promote_with_cache_swizzle<...>`: the copy reads through a buffer whose cache lines are swizzled.

    `copy_config` is the lowering config of the copy; IREE takes any attribute.

    >>> print(PromoteWithCacheSwizzleAttr(UseGlobalLoadDMAAttr()))
    #iree_gpu.promote_with_cache_swizzle<#iree_gpu.use_global_load_dma>
    >>> PromoteWithCacheSwizzleAttr(3).text()
    '#iree_gpu.promote_with_cache_swizzle<3 : i64>'
    """

    copy_config: Value

    def __post_init__(self) -> None:
        verify_value(self.copy_config, "copy_config =")

    def __str__(self) -> str:
        return f"#iree_gpu.promote_with_cache_swizzle<{value_text(self.copy_config)}>"


@dataclass(frozen=True, slots=True)
class XORShuffleAttr(Notation):
    """`#iree_codegen.xor_shuffle<256, 32>`: rows of `row_width` elements whose accesses of `access_width` are XORed.

    Access j of row i moves to `j XOR (i // per_phase)`, modulo the accesses of a row. Rows begin `row_stride` elements apart.

    Raises `VerificationError` in IREE's words, and for widths of 0 (iree-opt crashes on them).

    >>> XORShuffleAttr(256, 48)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: expected access width to divide row width (in
    #iree_codegen.xor_shuffle<256, 48>)
    """

    row_width: int
    access_width: int
    row_stride: int | None = None
    per_phase: int | None = None

    def __post_init__(self) -> None:
        if self.row_stride is None and self.per_phase is not None:
            raise VerificationError("per_phase needs a row_stride before it")
        for name, width in zip(self.__slots__, self._given(), strict=False):
            number = whole_number(width, f"xor_shuffle with {name} =", _LOW, _HIGH, VerificationError)
            object.__setattr__(self, name, number)
        row, access = self.row_width, self.access_width
        if not row or not access:
            raise VerificationError(f"expected widths other than 0 (iree-opt crashes on {self})")
        phase = 1 if self.per_phase is None else self.per_phase
        problem = (
            "expected access width to divide row width"
            if row % access
            else "per_phase must be smaller than max_phase"
            if phase > row // access
            else "expected row width to divide row stride"
            if self.row_stride is not None and self.row_stride % row
            else None
        )
        if problem is not None:
            raise VerificationError(f"{problem} (in {self})")

    def _given(self) -> list[int]:
        values = (self.row_width, self.access_width, self.row_stride, self.per_phase)
        return [value for value in values if value is not None]

    def __str__(self) -> str:
        return f"#iree_codegen.xor_shuffle<{', '.join(map(str, self._given()))}>"


@dataclass(frozen=True, slots=True)
class RotateRowsAttr(Notation):
    """`#iree_codegen.rotate_rows<64, 4>`: row i of `row_width` elements is rotated by i accesses of `access_width`.

    Raises `VerificationError` in IREE's words, and for an access width of 0.

    >>> print(RotateRowsAttr(64, 4))
    #iree_codegen.rotate_rows<64, 4>
    """

    row_width: int
    access_width: int

    def __post_init__(self) -> None:
        for name, width in (("row_width", self.row_width), ("access_width", self.access_width)):
            number = whole_number(width, f"rotate_rows with {name} =", _LOW, _HIGH, VerificationError)
            object.__setattr__(self, name, number)
        if not self.access_width or self.row_width % self.access_width:
            raise VerificationError(f"expected access width to divide row width (in {self})")

    def __str__(self) -> str:
        return f"#iree_codegen.rotate_rows<{self.row_width}, {self.access_width}>"


SwizzleAttr: TypeAlias = XORShuffleAttr | RotateRowsAttr


@dataclass(frozen=True, slots=True)
class SwizzleOperandAttr(Promotion, LaterAttr):
    """`#iree_gpu.swizzle_operand<...>`: the copy in shared memory is swizzled.

    `copy_config` is the lowering config of the copy; IREE takes any attribute.

    >>> print(SwizzleOperandAttr(DerivedThreadConfigAttr(), XORShuffleAttr(256, 32)))
    #iree_gpu.swizzle_operand<copy_config = #iree_gpu.derived_thread_config, swizzle = #iree_codegen.xor_shuffle<256, 32>>
    >>> SwizzleOperandAttr(3, RotateRowsAttr(64, 4)).text()
    '#iree_gpu.swizzle_operand<copy_config = 3 : i64, swizzle = #iree_codegen.rotate_rows<64, 4>>'
    """

    copy_config: Value
    swizzle: SwizzleAttr

    def __post_init__(self) -> None:
        verify_value(self.copy_config, "copy_config =")
        if not isinstance(self.swizzle, (XORShuffleAttr, RotateRowsAttr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"swizzle {shown(self.swizzle)}: expected an xor_shuffle or rotate_rows")

    def __str__(self) -> str:
        parts = f"copy_config = {value_text(self.copy_config)}, swizzle = {self.swizzle}"
        return f"#iree_gpu.swizzle_operand<{parts}>"
