"""`#iree_gpu.target`: what a GPU can do, as IREE describes it.

>>> gfx942 = la.known_target("gfx942")
>>> gfx942.wgp.subgroup_size_choices, gfx942.wgp.max_workgroup_memory_bytes
((64,), 65536)
>>> gfx942.wgp.supports("MFMA_F32_16x16x16_F16"), gfx942.wgp.supports("WMMA_F32_16x16x16_F16")
(True, False)
>>> print(gfx942.wgp.check_workgroup((1024, 2, 1)))
workgroup of 2048 threads: at most 1024 run together

A target has a name, features, the description of one workgroup processor (an AMD compute unit, an NVIDIA streaming
multiprocessor) and perhaps one of the whole chip. `known_targets` has those that IREE describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MAX_EXTENT, MOST_GIVEN
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_ints, instance_of, listed, whole_number
from layoutalg.nested.gpu.dictionary import Dictionary, Typed, as_bytes, value_text
from layoutalg.nested.gpu.enums import ComputeBitwidths, DotProductOps, StorageBitwidths, SubgroupOps
from layoutalg.nested.gpu.intrinsics import intrinsic
from layoutalg.nested.gpu.iree_versions import IREE_3_2, VersionedAttr, check_dialect
from layoutalg.nested.gpu.kinds import MMAAttr
from layoutalg.nested.gpu.scaled import ScaledMMAAttr

__all__ = [
    "MMAOpsAttr",
    "TargetAttr",
    "TargetChipAttr",
    "TargetWgpAttr",
]

Ints: TypeAlias = tuple[int, ...]
_NO_DOT = DotProductOps(0)


@dataclass(frozen=True, slots=True)
class MMAOpsAttr(VersionedAttr):
    """A list of intrinsics, as a target has it. The page writes `#iree_gpu.mma_ops<[...]>`; IREE reads it only in a target.

    >>> print(MMAOpsAttr((MMAAttr("MFMA_F32_16x16x4_F32"),)))
    #iree_gpu.mma_ops<[<MFMA_F32_16x16x4_F32>]>
    """

    value: tuple[MMAAttr, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", tuple(listed(self.value, "intrinsics", MOST_GIVEN, VerificationError)))
        for one in self.value:
            instance_of(one, MMAAttr, "intrinsic", VerificationError)

    def text(self, dialect: str | None = None) -> str:
        """The text of the page.

        >>> MMAOpsAttr(()).text()
        '#iree_gpu.mma_ops<[]>'
        """
        return f"#iree_gpu.mma_ops<{_bodies(self.value, dialect)}>"


@dataclass(frozen=True, slots=True)
class TargetWgpAttr(VersionedAttr):
    """`#iree_gpu.target_wgp<...>`: features and limits of one workgroup processor. Sizes are threads and bytes.

    Raises `VerificationError` for a limit that is not a whole number of 32 bits.

    >>> la.known_target("sm_80").wgp.max_workgroup_counts
    (2147483647, 65535, 65535)
    """

    compute: ComputeBitwidths
    storage: StorageBitwidths
    subgroup: SubgroupOps
    subgroup_size_choices: Ints
    max_workgroup_sizes: Ints
    max_thread_count_per_workgroup: int
    max_workgroup_memory_bytes: int
    max_workgroup_counts: Ints
    dot: DotProductOps = _NO_DOT
    mma: tuple[MMAAttr, ...] = ()
    scaled_mma: tuple[ScaledMMAAttr, ...] = ()
    max_load_instruction_bits: int | None = None
    simds_per_wgp: int | None = None
    vgpr_space_bits: int | None = None
    dma_sizes: Ints | None = None
    workgroup_memory_bank_count: int | None = None
    extra: Dictionary | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value: Any = getattr(self, one.name)
            if value is None and one.default is None:
                continue
            if one.name in _KINDS:
                instance_of(value, _KINDS[one.name], f"{one.name} =", VerificationError)
                continue
            if one.name in _KERNELS:
                kernels = tuple(listed(value, f"{one.name} =", MOST_GIVEN, VerificationError))
                for kernel in kernels:
                    instance_of(kernel, _KERNELS[one.name], f"{one.name} with", VerificationError)
                object.__setattr__(self, one.name, kernels)
                continue
            given = as_ints(one.name, value) if one.name in _LISTS else (value,)
            numbers = tuple(whole_number(n, f"{one.name} =", -(2**200), 2**200, VerificationError) for n in given)
            for number in numbers:
                if not -MAX_EXTENT <= number < MAX_EXTENT:
                    raise VerificationError(f"{one.name} = {shown(number)}: integer value too large")
            object.__setattr__(self, one.name, numbers if one.name in _LISTS else numbers[0])

    def supports(self, name: str) -> bool:
        """Whether the target has an intrinsic.

        >>> la.known_target("gfx1100").wgp.supports("WMMA_F32_16x16x16_F16")
        True
        """
        return any(one.name == intrinsic(name).name for one in self.mma)

    def check_workgroup(self, sizes: Sequence[int], memory_bytes: int = 0) -> str | None:
        """Whether a workgroup of these sizes and this much shared memory fits: None, or the limit that it breaks.

        >>> print(la.known_target("gfx942").wgp.check_workgroup((64, 4, 1), memory_bytes=65536))
        None
        """
        sizes = as_ints("sizes", sizes)
        memory_bytes = whole_number(memory_bytes, "memory_bytes =", 0, error=VerificationError)
        threads = 1
        for d, (size, limit) in enumerate(zip(sizes, self.max_workgroup_sizes, strict=False)):
            threads *= size
            if not 1 <= size <= limit:
                return f"workgroup size {shown(size)} in dimension {d}: expected 1 to {limit}"
        if len(sizes) > len(self.max_workgroup_sizes):
            return f"a workgroup of {len(sizes)} dimensions: there are {len(self.max_workgroup_sizes)}"
        if threads > self.max_thread_count_per_workgroup:
            return f"workgroup of {threads} threads: at most {self.max_thread_count_per_workgroup} run together"
        if memory_bytes > self.max_workgroup_memory_bytes:
            return f"{shown(memory_bytes)} bytes of workgroup memory: there are {self.max_workgroup_memory_bytes}"
        return None

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it.

        Raises `VerificationError` where that version cannot say it.

        >>> la.known_target("gfx90a", dialect="iree-3.2").wgp.text("iree-3.2")[-57:]
        'on_bits = 128, simds_per_wgp = 4, vgpr_space_bits = 8192>'
        """
        return f"#iree_gpu.target_wgp<{self.body(dialect)}>"

    def body(self, dialect: str | None = None) -> str:
        """The parameters alone, as they stand inside a target.

        >>> la.known_target("gfx942").wgp.body().split(", ")[1]
        'storage = b64|b32|b16|b8'
        """
        old = check_dialect(dialect) == IREE_3_2
        parts: list[str] = []
        for name in _WGP_ORDER:
            value = getattr(self, name)
            if name == "compute":
                check_bitwidths(value, dialect)
            if name in _SETS:
                if value or name != "dot" or old:
                    parts.append(f"{name} = {value.spelling}")
            elif name in ("mma", "scaled_mma"):
                if name == "scaled_mma" and old and value:
                    raise VerificationError("IREE 3.2 has no scaled_mma")
                if value or (name == "mma" and old):
                    parts.append(f"{name} = {_bodies(value, dialect)}")
            elif value is not None:
                if old and name in ("dma_sizes", "workgroup_memory_bank_count"):
                    raise VerificationError(f"IREE 3.2 has no {name}")
                parts.append(f"{name} = {value_text(value, dialect, inside=True)}")
        return ", ".join(parts)


_SETS = ("compute", "storage", "subgroup", "dot")
_KINDS: dict[str, type] = {
    "compute": ComputeBitwidths,
    "storage": StorageBitwidths,
    "subgroup": SubgroupOps,
    "dot": DotProductOps,
    "extra": Dictionary,
}
_KERNELS: dict[str, type] = {"mma": MMAAttr, "scaled_mma": ScaledMMAAttr}
_LISTS = ("subgroup_size_choices", "max_workgroup_sizes", "max_workgroup_counts", "dma_sizes")
_WGP_ORDER = (
    *_SETS,
    "mma",
    "scaled_mma",
    *("subgroup_size_choices", "max_workgroup_sizes", "max_thread_count_per_workgroup"),
    *("max_workgroup_memory_bytes", "max_workgroup_counts", "max_load_instruction_bits", "simds_per_wgp"),
    *("vgpr_space_bits", "dma_sizes", "workgroup_memory_bank_count", "extra"),
)


def check_bitwidths(compute: int, dialect: str | None) -> None:
    """Raise `VerificationError` for fp8, fp6 and fp4 where a version does not have them.

    >>> check_bitwidths(ComputeBitwidths.FP8, "iree-3.2")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: IREE 3.2 has no fp8
    """
    late = ComputeBitwidths(compute) & (ComputeBitwidths.FP8 | ComputeBitwidths.FP6 | ComputeBitwidths.FP4)
    if late and check_dialect(dialect) == IREE_3_2:
        raise VerificationError(f"IREE 3.2 has no {ComputeBitwidths(late).spelling}")


def _bodies(values: Sequence[MMAAttr | ScaledMMAAttr], dialect: str | None) -> str:
    return f"[{', '.join(one.text(dialect)[one.text(dialect).index('<') :] for one in values)}]"


@dataclass(frozen=True, slots=True)
class TargetChipAttr(VersionedAttr):
    """`#iree_gpu.target_chip<...>`: the whole chip: how many workgroup processors, and what is sold.

    >>> print(TargetChipAttr(304, sku="mi300x"))
    #iree_gpu.target_chip<wgp_count = 304, sku = "mi300x">
    """

    wgp_count: int
    sku: str | None = None
    memory_bandwidth_tbps: Typed | None = None
    perf_tflops: Dictionary | None = None
    extra: Dictionary | None = None

    def __post_init__(self) -> None:
        if type(self.wgp_count) is not int or not 0 <= self.wgp_count < 2**32:
            raise VerificationError(f"wgp_count = {shown(self.wgp_count)}: expected a whole number of 32 bits")
        if self.sku is not None:
            object.__setattr__(self, "sku", as_bytes(self.sku))
        for name, kind in (("memory_bandwidth_tbps", Typed), ("perf_tflops", Dictionary), ("extra", Dictionary)):
            instance_of(getattr(self, name), (kind, type(None)), f"{name} =", VerificationError)

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text.

        >>> TargetChipAttr(2, extra=Dictionary((("a", 1),))).text("iree-3.2")
        '#iree_gpu.target_chip<wgp_count = 2, extra = {a = 1 : i64}>'
        """
        return f"#iree_gpu.target_chip<{self.body(dialect)}>"

    def body(self, dialect: str | None = None) -> str:
        """The parameters alone, as they stand inside a target.

        >>> TargetChipAttr(304).body()
        'wgp_count = 304'
        """
        parts = [f"wgp_count = {self.wgp_count}"]
        for one in fields(self)[1:]:
            value = getattr(self, one.name)
            if value is not None:
                if check_dialect(dialect) == IREE_3_2 and one.name in ("memory_bandwidth_tbps", "perf_tflops"):
                    raise VerificationError(f"IREE 3.2 has no {one.name}")
                parts.append(f"{one.name} = {value_text(value, dialect)}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class TargetAttr(VersionedAttr):
    """`#iree_gpu.target<...>`: an architecture, its features, a workgroup processor, and perhaps the chip.

    >>> la.known_target("mi300x").chip.wgp_count
    304
    """

    arch: str
    features: str
    wgp: TargetWgpAttr
    chip: TargetChipAttr | None = field(default=None)

    def __post_init__(self) -> None:
        for name in ("arch", "features"):
            object.__setattr__(self, name, as_bytes(getattr(self, name)))
        instance_of(self.wgp, TargetWgpAttr, "wgp =", VerificationError)
        instance_of(self.chip, (TargetChipAttr, type(None)), "chip =", VerificationError)

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it.

        >>> la.known_target("gfx942").text()[:60]
        '#iree_gpu.target<arch = "gfx942", features = "", wgp = <comp'
        """
        chip = f", chip = <{self.chip.body(dialect)}>" if self.chip is not None else ""
        words = f"arch = {value_text(self.arch)}, features = {value_text(self.features)}"
        return f"#iree_gpu.target<{words}, wgp = <{self.wgp.body(dialect)}>{chip}>"
