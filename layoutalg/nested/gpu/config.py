"""How IREE is told to lower an operation: configurations, options of pipelines, resolvers of encodings.

>>> config = LoweringConfigAttr(Dictionary((("workgroup", (64, 64, 0)), ("reduction", (0, 0, 32)))))
>>> config.tile_sizes(TilingLevel.Workgroup)
(64, 64, 0)
>>> print(config)
#iree_gpu.lowering_config<{reduction = [0, 0, 32], workgroup = [64, 64, 0]}>

An attribute that only one version of IREE has is printed in that version's way for both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Operand
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.dictionary import Dictionary, Typed, Value, as_bytes, as_tuple, value_text
from layoutalg.nested.gpu.enums import ReorderWorkgroupsStrategy, TilingLevel
from layoutalg.nested.gpu.iree_versions import IREE_3_2, LaterAttr, VersionedAttr, check_dialect
from layoutalg.nested.gpu.kinds import MMAKind
from layoutalg.nested.gpu.product import MatrixProduct, Product
from layoutalg.nested.gpu.promotion import Promotion
from layoutalg.nested.gpu.target import TargetAttr

__all__ = [
    "ConditionalTransposeAttr",
    "GPUEncodingLayoutAttr",
    "GPUPaddingResolverAttr",
    "InnerTiledSemanticsAttr",
    "LoweringConfigAttr",
    "PipelineOptionsAttr",
    "UKernelConfigAttr",
]

Flag: TypeAlias = bool | None


@dataclass(frozen=True, slots=True)
class LoweringConfigAttr(MatrixProduct):
    """`#iree_gpu.lowering_config<{...}>`: tile sizes per level, an MMA kind, and whatever else a pass looks for.

    A config with an MMA kind has the operands of the kind.

    Raises `VerificationError` in IREE's words where `promotion_types` and `promote_operands` do not fit together; IREE 3.13
    checks nothing else (3.2 not even that).

    >>> LoweringConfigAttr(Dictionary((("promotion_types", ()), ("promote_operands", (0,)))))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: promote_operands and promotion_types must have the same length (in
    #iree_gpu.lowering_config<{promote_operands = [0], promotion_types = []}>)
    """

    attributes: Dictionary

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, Dictionary):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"attributes {shown(self.attributes)}: expected a Dictionary")
        problem = _promotion_problem(self.attributes.get("promotion_types"), self.attributes.get("promote_operands"))
        if problem is not None:
            raise VerificationError(f"{problem} (in {self})")

    def _kind(self) -> MMAKind | DataTiledMMAAttr:
        """The MMA kind, which must be there."""
        kind = self.mma_kind
        if not isinstance(kind, (MMAKind, DataTiledMMAAttr)):
            raise DistributionError(f"{self} distributes nothing: it has no mma_kind whose layouts are known")
        return kind

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """A, B and C of the config's MMA kind, one instruction; a shape is that of the instruction.

        Raises `DistributionError` where there is no such kind.

        >>> config = LoweringConfigAttr(Dictionary((("mma_kind", la.mma("MFMA_F32_16x16x16_F16")),)))
        >>> [operand.role for operand in config.operands()]
        ['A', 'B', 'C']
        """
        return self._kind().operands(shape, machine)

    def heading(self) -> str:
        """The MMA kind's name.

        >>> LoweringConfigAttr(Dictionary((("mma_kind", la.mma("MFMA_F32_16x16x16_F16")),))).heading()
        '#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>'
        """
        return self._kind().heading()

    def subheading(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[str, ...]:
        """That of the MMA kind.

        >>> config = LoweringConfigAttr(Dictionary((("mma_kind", la.mma("MFMA_F32_16x16x16_F16")),)))
        >>> config.subheading() == la.mma("MFMA_F32_16x16x16_F16").subheading()
        True
        """
        return self._kind().subheading(shape, machine)

    def product(self, shape: Sequence[int] | None = None) -> Product:
        """Sizes and types of the MMA kind's product.

        >>> LoweringConfigAttr(Dictionary((("mma_kind", la.mma("MFMA_F32_16x16x16_F16")),))).product().sizes
        (16, 16, 16)
        """
        return self._kind().product(shape)

    def tile_sizes(self, level: TilingLevel) -> tuple[int, ...] | None:
        """The tile sizes of a level, 0 for a dimension that is not tiled; None where the level is missing.

        Raises `VerificationError` for an entry of that name that is not a list of numbers (IREE takes it for no entry).

        >>> LoweringConfigAttr(Dictionary((("partial_reduction", (4,)),))).tile_sizes(TilingLevel.PartialReduction)
        (4,)
        """
        instance_of(level, TilingLevel, "level", VerificationError)
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

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> LoweringConfigAttr(Dictionary((("thread", (8, 4)),))).text()
        '#iree_gpu.lowering_config<{thread = [8, 4]}>'
        """
        return f"#iree_gpu.lowering_config<{self.attributes.text(dialect)}>"


def _items(sizes: Any) -> tuple[int, ...]:
    return sizes


def _promotion_problem(types: Value, operands: Value) -> str | None:
    """What IREE 3.13 says of the attributes that promoted operands have, in its order; None where it accepts them."""
    if types is None:
        return None
    if not isinstance(types, tuple):
        return "promotion_types must be an array"
    if not isinstance(operands, tuple):
        return "promotion_types requires promote_operands to be specified"
    if not all(_is_integer(one) for one in as_tuple(operands)):
        return "promote_operands must be an array of integers"
    if len(as_tuple(types)) != len(as_tuple(operands)):
        return "promote_operands and promotion_types must have the same length"
    if not all(isinstance(one, Promotion) for one in as_tuple(types)):
        return "promotion_types elements must implement IREE::GPU::PromotionAttr"
    return None


def _is_integer(value: Value) -> bool:
    return isinstance(value, int) or (isinstance(value, Typed) and isinstance(value.value, int))


@dataclass(frozen=True, slots=True)
class PipelineOptionsAttr(VersionedAttr):
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
        for name in ("prefetch_shared_memory", "no_reduce_shared_memory_bank_conflicts", "use_igemm_convolution"):
            instance_of(getattr(self, name), (bool, type(None)), f"{name} =", VerificationError)
        if self.prefetch_num_stages is not None:
            low, high = -(2**63), 2**63 - 1
            number = whole_number(self.prefetch_num_stages, "prefetch_num_stages =", low, high, VerificationError)
            object.__setattr__(self, "prefetch_num_stages", number)
        strategies = (ReorderWorkgroupsStrategy, type(None))
        instance_of(self.reorder_workgroups_strategy, strategies, "reorder_workgroups_strategy =", VerificationError)
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
                    f"<{value.name.rstrip('_')}>"
                    if name == "reorder_workgroups_strategy"
                    else value_text(value, None, True)
                )
                parts.append(f"{name} = {shown}")
        return f"#iree_gpu.pipeline_options<{', '.join(parts)}>"


@dataclass(frozen=True, slots=True)
class UKernelConfigAttr(VersionedAttr):
    """`#iree_gpu.ukernel_config<...>` of IREE 3.2: the microkernel that an operation was matched with.

    >>> print(UKernelConfigAttr("argmax", Dictionary((("a", 1),))))
    #iree_gpu.ukernel_config<name = "argmax", def_attrs = {a = 1 : i64}>
    """

    name: str
    def_attrs: Dictionary

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", as_bytes(self.name))
        instance_of(self.def_attrs, Dictionary, "def_attrs =", VerificationError)

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> UKernelConfigAttr("x", Dictionary()).text("iree-3.2")
        '#iree_gpu.ukernel_config<name = "x", def_attrs = {}>'
        """
        check_dialect(dialect)
        return f"#iree_gpu.ukernel_config<name = {value_text(self.name)}, def_attrs = {self.def_attrs.text(dialect)}>"


@dataclass(frozen=True, slots=True)
class GPUEncodingLayoutAttr(VersionedAttr):
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
        instance_of(self.target, (TargetAttr, type(None)), "target =", VerificationError)
        instance_of(self.configuration, (Dictionary, type(None)), "configuration =", VerificationError)
        instance_of(self.resolver, bool, "resolver =", VerificationError)
        if self.target is not None and (self.resolver or self.configuration is not None):
            raise VerificationError("an encoding layout has a target, an encoding resolver a configuration: not both")
        object.__setattr__(self, "resolver", self.resolver or self.configuration is not None)

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
class GPUPaddingResolverAttr(LaterAttr):
    """`#iree_gpu.gpu_padding_resolver<...>` of IREE 3.13: how rows are padded for a cache; what is None is left out.

    Raises `VerificationError` for sizes that are not whole numbers of 32 bits.

    >>> print(GPUPaddingResolverAttr(cache_line_bytes=128, cache_sets=4))
    #iree_gpu.gpu_padding_resolver<cache_line_bytes = 128, cache_sets = 4>
    >>> GPUPaddingResolverAttr().text()
    '#iree_gpu.gpu_padding_resolver<>'
    """

    cache_line_bytes: int | None = None
    cache_sets: int | None = None

    def __post_init__(self) -> None:
        for name, size in (("cache_line_bytes", self.cache_line_bytes), ("cache_sets", self.cache_sets)):
            if size is not None:
                number = whole_number(size, f"{name} =", 0, 2**32 - 1, VerificationError)
                object.__setattr__(self, name, number)

    def __str__(self) -> str:
        sizes = (("cache_line_bytes", self.cache_line_bytes), ("cache_sets", self.cache_sets))
        parts = ", ".join(f"{name} = {size}" for name, size in sizes if size is not None)
        return f"#iree_gpu.gpu_padding_resolver<{parts}>"


@dataclass(frozen=True, slots=True)
class ConditionalTransposeAttr(LaterAttr):
    """`#iree_gpu.conditional_transpose<8, 38>` of IREE 3.13: workgroups are reordered where that loads fewer tiles.

    `num_xcds` dies have `num_cus` compute units each. Raises `VerificationError` in IREE's words where one is 0.

    >>> print(ConditionalTransposeAttr(8, 38))
    #iree_gpu.conditional_transpose<8, 38>
    >>> ConditionalTransposeAttr(8, 32).text()
    '#iree_gpu.conditional_transpose<8, 32>'
    """

    num_xcds: int
    num_cus: int

    def __post_init__(self) -> None:
        for name, number in (("num_xcds", self.num_xcds), ("num_cus", self.num_cus)):
            what = f"conditional_transpose with {name} ="
            object.__setattr__(self, name, whole_number(number, what, -(2**63), 2**63 - 1, VerificationError))
        if not self.num_xcds or not self.num_cus:
            raise VerificationError(f"conditional_transpose must have non-zeros parameters (in {self})")

    def __str__(self) -> str:
        return f"#iree_gpu.conditional_transpose<{self.num_xcds}, {self.num_cus}>"


@dataclass(frozen=True, slots=True)
class InnerTiledSemanticsAttr(LaterAttr):
    """`#iree_gpu.mma_semantics<...>` of IREE 3.13: whether an operation's tiles are one thread's, and whether opaque.

    >>> print(InnerTiledSemanticsAttr(distributed=True, opaque=False))
    #iree_gpu.mma_semantics<distributed = true, opaque = false>
    >>> InnerTiledSemanticsAttr(False, True).text()[-36:]
    '<distributed = false, opaque = true>'
    """

    distributed: bool
    opaque: bool

    def __post_init__(self) -> None:
        for name, given in (("distributed", self.distributed), ("opaque", self.opaque)):
            if type(given) is not bool:
                raise VerificationError(f"{name} = {shown(given)}: expected True or False")

    def __str__(self) -> str:
        distributed, opaque = value_text(self.distributed), value_text(self.opaque)
        return f"#iree_gpu.mma_semantics<distributed = {distributed}, opaque = {opaque}>"
