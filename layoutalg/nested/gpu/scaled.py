"""Matrix intrinsics with block scales, of IREE 3.13: `#iree_gpu.scaled_mma_layout` and its data-tiled form.

A scaled product multiplies elements of 4 to 8 bits, and each block of 32 of them with a scale of 8 bits. IREE publishes names
and types; who holds what of the operands is not known here, and `operands` says so.

>>> kind = DataTiledScaledMMAAttr("MFMA_SCALE_F32_16x16x128_B32", "f4E2M1FN", "f4E2M1FN", "f32", intrinsics_k=4)
>>> kind.text()[-38:]
'acc_elem_type = f32, intrinsics_k = 4>'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Operand
from layoutalg.core.whole_numbers import instance_of
from layoutalg.nested.gpu.dictionary import value_text
from layoutalg.nested.gpu.iree_versions import LaterAttr
from layoutalg.nested.gpu.tile_counts import COUNTS, INTERLEAVING, TileCounts, check_counts

__all__ = ["SCALED_INTRINSICS", "DataTiledScaledMMAAttr", "ScaledMMAAttr"]


SCALED_INTRINSICS = ("MFMA_SCALE_F32_16x16x128_B32", "MFMA_SCALE_F32_32x32x64_B32")
"""The scaled intrinsics that IREE 3.13 knows."""

_TYPES = ("intrinsic", "lhs_elem_type", "rhs_elem_type", "acc_elem_type")
_OPERAND_LISTS = (*INTERLEAVING, "unswizzled_operands")


class _Scaled(LaterAttr):
    """An intrinsic with block scales, whose layouts nobody describes."""

    __slots__ = ()
    intrinsic: str

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """Not known: raises `DistributionError`.

        >>> ScaledMMAAttr("MFMA_SCALE_F32_16x16x128_B32", "f4E2M1FN", "f4E2M1FN", "f32").operands()
        Traceback (most recent call last):
        layoutalg.core.errors.DistributionError: MFMA_SCALE_F32_16x16x128_B32: the layouts of scaled intrinsics are not known
        """
        raise DistributionError(f"{self.intrinsic}: the layouts of scaled intrinsics are not known")


@dataclass(frozen=True, slots=True)
class ScaledMMAAttr(_Scaled):
    """`#iree_gpu.scaled_mma_layout<...>` of IREE 3.13: an MMA with block scales; its name and types, no layout.

    >>> print(ScaledMMAAttr("MFMA_SCALE_F32_16x16x128_B32", "f4E2M1FN", "f4E2M1FN", "f32"))
    #iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN,
    rhs_elem_type = f4E2M1FN, acc_elem_type = f32>
    >>> ScaledMMAAttr("MFMA_SCALE_F32_32x32x64_B32", "f8E5M2", "f8E5M2", "f32", True).text()[-17:]
    'col_major = true>'
    """

    intrinsic: str
    lhs_elem_type: str
    rhs_elem_type: str
    acc_elem_type: str
    col_major: bool = False

    def __post_init__(self) -> None:
        _check_name(self.intrinsic)
        _check_types(self.lhs_elem_type, self.rhs_elem_type, self.acc_elem_type)
        instance_of(self.col_major, bool, "col_major =", VerificationError)

    def __str__(self) -> str:
        parts = [f"{name} = {getattr(self, name)}" for name in _TYPES]
        if self.col_major:
            parts.append("col_major = true")
        return f"#iree_gpu.scaled_mma_layout<{', '.join(parts)}>"


@dataclass(frozen=True, slots=True)
class DataTiledScaledMMAAttr(TileCounts, _Scaled):
    """`#iree_gpu.data_tiled_scaled_mma_layout<...>`: several scaled intrinsics at once, on operands in fragment order.

    Operands are counted Lhs, Rhs, Lhs scales, Rhs scales, Acc (0 to 4). `operands_interleaving_intrinsics_*` list those that
    keep that count next to a thread's own elements in memory, `unswizzled_operands` those that lie row-major.

    Raises `VerificationError` for an unknown intrinsic, and for what IREE does not check: a count below 1, an operand other
    than 0 to 4.

    >>> print(DataTiledScaledMMAAttr("MFMA_SCALE_F32_32x32x64_B32", "f8E5M2", "f8E5M2", "f32", unswizzled_operands=(0, 1)))
    #iree_gpu.data_tiled_scaled_mma_layout<intrinsic = MFMA_SCALE_F32_32x32x64_B32, lhs_elem_type = f8E5M2,
    rhs_elem_type = f8E5M2, acc_elem_type = f32, unswizzled_operands = [0, 1]>
    >>> DataTiledScaledMMAAttr("MFMA_SCALE_F32_16x16x128_B32", "f4E2M1FN", "f4E2M1FN", "f32", subgroups_m=2).text()[-40:]
    'N, acc_elem_type = f32, subgroups_m = 2>'
    """

    lhs_elem_type: str
    rhs_elem_type: str
    acc_elem_type: str
    unswizzled_operands: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check_name(self.intrinsic)
        _check_types(self.lhs_elem_type, self.rhs_elem_type, self.acc_elem_type)
        operands = ("Lhs", "Rhs", "Lhs scales", "Rhs scales", "Acc")
        check_counts(self, _OPERAND_LISTS, operands, " (IREE accepts this)")

    def __str__(self) -> str:
        parts = [f"{name} = {getattr(self, name)}" for name in _TYPES]
        for name in (*COUNTS, *_OPERAND_LISTS):
            value = getattr(self, name)
            if value not in (1, None):
                parts.append(f"{name} = {value_text(value, inside=True)}")
        return f"#iree_gpu.data_tiled_scaled_mma_layout<{', '.join(parts)}>"


def _check_types(*elements: object) -> None:
    for one in elements:
        instance_of(one, str, "element type", VerificationError)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or name not in SCALED_INTRINSICS:
        raise VerificationError(
            f"unknown scaled intrinsic {shown(name, 80)}: expected {' or '.join(SCALED_INTRINSICS)}"
        )
