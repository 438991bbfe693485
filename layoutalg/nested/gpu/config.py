"""How IREE is told to lower an operation: configurations, options, and the enums as attributes.

>>> config = LoweringConfigAttr(Dictionary((("workgroup", (64, 64, 0)), ("reduction", (0, 0, 32)))))
>>> config.tile_sizes(TilingLevel.Workgroup)
(64, 64, 0)
>>> print(config)
#iree_gpu.lowering_config<{reduction = [0, 0, 32], workgroup = [64, 64, 0]}>

An attribute that only one version of IREE has is printed in that version's way for both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.notation import Notation
from layoutalg.nested.gpu.dialects import IREE_3_2, check_dialect
from layoutalg.nested.gpu.dictionary import Dictionary, value_text
from layoutalg.nested.gpu.enums import IteratorType, ReorderWorkgroupsStrategy, TilingLevel
from layoutalg.nested.gpu.intrinsics import intrinsic
from layoutalg.nested.gpu.target import TargetAttr, check_bitwidths

__all__ = [
    "DerivedThreadConfigAttr",
    "EnumAttr",
    "GPUEncodingLayoutAttr",
    "LaneIdAttr",
    "LoweringConfigAttr",
    "PipelineOptionsAttr",
    "UKernelConfigAttr",
]

Flag: TypeAlias = bool | None


@dataclass(frozen=True, slots=True)
class LoweringConfigAttr(Notation):
    """`#iree_gpu.lowering_config<{...}>`: tile sizes per level, an MMA kind, and whatever else a pass looks for.

    >>> LoweringConfigAttr(Dictionary()).text()
    '#iree_gpu.lowering_config<{}>'
    """

    attributes: Dictionary

    def tile_sizes(self, level: TilingLevel) -> tuple[int, ...] | None:
        """The tile sizes of a level, 0 for a dimension that is not tiled; None where the level is missing.

        Raises `VerificationError` for an entry of that name that is no list of numbers.

        >>> LoweringConfigAttr(Dictionary((("partial_reduction", (4,)),))).tile_sizes(TilingLevel.PartialReduction)
        (4,)
        """
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", level.name).lower()
        sizes = self.attributes.get(name)
        if sizes is None:
            return None
        if not isinstance(sizes, tuple) or not all(type(size) is int for size in _items(sizes)):
            raise VerificationError(f"{name} = {value_text(sizes)}: expected a list of numbers")
        return _items(sizes)

    @property
    def mma_kind(self) -> Any:
        """The MMA kind, or None.

        >>> LoweringConfigAttr(Dictionary()).mma_kind is None
        True
        """
        return self.attributes.get("mma_kind")

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> LoweringConfigAttr(Dictionary((("thread", (8, 4)),))).text()
        '#iree_gpu.lowering_config<{thread = [8, 4]}>'
        """
        return f"#iree_gpu.lowering_config<{self.attributes.text(dialect)}>"


def _items(sizes: Any) -> tuple[int, ...]:
    return sizes


@dataclass(frozen=True, slots=True)
class PipelineOptionsAttr(Notation):
    """`#iree_gpu.pipeline_options<...>`; what is None is left out.

    `prefetch_shared_memory` is of IREE 3.2, `prefetch_num_stages` of 3.13.

    >>> print(PipelineOptionsAttr(prefetch_num_stages=2, reorder_workgroups_strategy=ReorderWorkgroupsStrategy.Transpose))
    #iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>
    """

    prefetch_shared_memory: Flag = None
    prefetch_num_stages: int | None = None
    no_reduce_shared_memory_bank_conflicts: Flag = None
    use_igemm_convolution: Flag = None
    reorder_workgroups_strategy: ReorderWorkgroupsStrategy | None = None

    def __post_init__(self) -> None:
        if self.prefetch_shared_memory is not None and self.prefetch_num_stages is not None:
            raise VerificationError(
                "pipeline_options: prefetch_shared_memory is of IREE 3.2, prefetch_num_stages of 3.13; no version has both"
            )

    def __str__(self) -> str:
        dialect = IREE_3_2 if self.prefetch_shared_memory is not None else None
        return self.text(dialect)

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it.

        Raises `VerificationError` where that version cannot say it.

        >>> PipelineOptionsAttr(prefetch_shared_memory=True).text("iree-3.2")
        '#iree_gpu.pipeline_options<prefetch_shared_memory = true>'
        """
        foreign = "prefetch_num_stages" if check_dialect(dialect) == IREE_3_2 else "prefetch_shared_memory"
        if getattr(self, foreign) is not None:
            raise VerificationError(f"{check_dialect(dialect)} has no {foreign}")
        parts: list[str] = []
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None:
                shown = (
                    f"<{_strategy(value)}>" if name == "reorder_workgroups_strategy" else value_text(value, None, True)
                )
                parts.append(f"{name} = {shown}")
        return f"#iree_gpu.pipeline_options<{', '.join(parts)}>"


def _strategy(value: ReorderWorkgroupsStrategy) -> str:
    return value.name.rstrip("_")


@dataclass(frozen=True, slots=True)
class LaneIdAttr(Notation):
    """`#iree_gpu.lane_id<0>`: maps a dimension of a loop to the lanes of a subgroup.

    >>> print(LaneIdAttr(1))
    #iree_gpu.lane_id<1>
    """

    dim: int

    def __post_init__(self) -> None:
        if type(self.dim) is not int or not -(2**63) <= self.dim < 2**63:
            raise VerificationError(f"lane_id {self.dim!r:.40}: expected a whole number of 64 bits")

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> LaneIdAttr(0).text("iree-3.2")
        '#iree_gpu.lane_id<0>'
        """
        check_dialect(dialect)
        return f"#iree_gpu.lane_id<{self.dim}>"


@dataclass(frozen=True, slots=True)
class DerivedThreadConfigAttr(Notation):
    """`#iree_gpu.derived_thread_config`: the thread tiles are derived after the outer levels are tiled.

    >>> print(DerivedThreadConfigAttr())
    #iree_gpu.derived_thread_config
    """

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> DerivedThreadConfigAttr().text()
        '#iree_gpu.derived_thread_config'
        """
        check_dialect(dialect)
        return "#iree_gpu.derived_thread_config"


@dataclass(frozen=True, slots=True)
class UKernelConfigAttr(Notation):
    """`#iree_gpu.ukernel_config<...>` of IREE 3.2: the microkernel that an operation was matched with.

    >>> print(UKernelConfigAttr("argmax", Dictionary((("a", 1),))))
    #iree_gpu.ukernel_config<name = "argmax", def_attrs = {a = 1 : i64}>
    """

    name: str
    def_attrs: Dictionary

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> UKernelConfigAttr("x", Dictionary()).text("iree-3.2")
        '#iree_gpu.ukernel_config<name = "x", def_attrs = {}>'
        """
        check_dialect(dialect)
        return f"#iree_gpu.ukernel_config<name = {value_text(self.name)}, def_attrs = {self.def_attrs.text(dialect)}>"


@dataclass(frozen=True, slots=True)
class GPUEncodingLayoutAttr(Notation):
    """`#iree_gpu.gpu_encoding_layout<...>` of IREE 3.2, for a target; `#iree_gpu.gpu_encoding_resolver<...>` of IREE 3.13.

    >>> print(GPUEncodingLayoutAttr())
    #iree_gpu.gpu_encoding_layout<>
    >>> print(GPUEncodingLayoutAttr(configuration=Dictionary()))
    #iree_gpu.gpu_encoding_resolver<configuration = {}>
    """

    target: TargetAttr | None = None
    configuration: Dictionary | None = None
    resolver: bool = field(default=False)

    def __post_init__(self) -> None:
        if self.target is not None and (self.resolver or self.configuration is not None):
            raise VerificationError("an encoding layout has a target, an encoding resolver a configuration: not both")
        object.__setattr__(self, "resolver", self.resolver or self.configuration is not None)

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> GPUEncodingLayoutAttr(resolver=True).text()
        '#iree_gpu.gpu_encoding_resolver<>'
        """
        check_dialect(dialect)
        if self.resolver:
            config = "" if self.configuration is None else f"configuration = {self.configuration.text(dialect)}"
            return f"#iree_gpu.gpu_encoding_resolver<{config}>"
        try:
            target = "" if self.target is None else self.target.text(IREE_3_2)
        except VerificationError:  # a target that only a later version describes
            target = self.target.text(dialect) if self.target is not None and dialect is None else ""
            if not target:
                raise
        return f"#iree_gpu.gpu_encoding_layout<{target and 'targetAttr = ' + target[target.index('<') :]}>"


@dataclass(frozen=True, slots=True)
class EnumAttr(Notation):
    """An enum as an attribute: its mnemonic and the spelling of its value.

    IREE writes `#iree_gpu<compute_bitwidths fp32|fp16>`, and its page `#iree_gpu.compute_bitwidths<...>`: both are read.

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
            raise VerificationError(f"{self.mnemonic!r:.40} has no value {self.spelling!r:.40}") from None

    @property
    def value(self) -> int | None:
        """The value of the enum; None for an intrinsic that the page does not list.

        >>> EnumAttr("mma_intrinsic", "MFMA_F32_16x16x4_F32").value
        4112
        """
        if self.mnemonic in ("mma_intrinsic", "virtual_mma_intrinsic"):
            return intrinsic(self.spelling).value
        if self.mnemonic == "iterator_type":
            return IteratorType[self.spelling].value
        if self.mnemonic == "reorder_workgroups_strategy":
            return ReorderWorkgroupsStrategy["None_" if self.spelling == "None" else self.spelling].value
        from layoutalg.nested.gpu import enums

        kinds = {
            "compute_bitwidths": enums.ComputeBitwidths,
            "storage_bitwidths": enums.StorageBitwidths,
            "subgroup_ops": enums.SubgroupOps,
            "dotproduct_ops": enums.DotProductOps,
        }
        return kinds[self.mnemonic].parse(self.spelling).value

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it.

        >>> EnumAttr("mma_intrinsic", "WMMAR3_I32_16x16x16_I8").text("iree-3.2")
        '#iree_gpu<mma_intrinsic WMMA_I32_16x16x16_I8>'
        """
        word = self.spelling
        if self.mnemonic in ("mma_intrinsic", "virtual_mma_intrinsic"):
            word = intrinsic(word).spelling(dialect)
        if self.mnemonic == "compute_bitwidths":
            check_bitwidths(self.value or 0, dialect)
        check_dialect(dialect)
        if self.mnemonic in ("iterator_type", "reorder_workgroups_strategy"):
            return f"#iree_gpu.{self.mnemonic}<{word}>"
        return f"#iree_gpu<{self.mnemonic} {word}>"
