"""One operand of an MMA kind as a value of its own: `MFMA_F32_16x16x16_F16.acc` is the accumulator of that intrinsic.

IREE has no such attribute; it names what a product's fragments are compared with, converted from or to.

>>> acc = la.parse("MFMA_F32_16x16x16_F16.acc")
>>> print(acc, "is", acc.layout())
MFMA_F32_16x16x16_F16.acc is d0 = 4@lane:16 4@reg, d1 = 16@lane
>>> bool(la.same("MFMA_F32_16x16x16_F16.lhs", "d0 = 16@lane, d1 = 4@lane:16 4@reg"))
True

A kind that says more than a name is written out: `#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>.acc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Operand, own_sizes
from layoutalg.core.work_items import cover_all, machine_for
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.intrinsics import fragment_of
from layoutalg.nested.gpu.iree_versions import check_dialect
from layoutalg.nested.gpu.kinds import MMAKind

__all__ = ["MMAOperand"]


@dataclass(frozen=True, slots=True)
class MMAOperand(Notation):
    """`lhs`, `rhs` or `acc` of an MMA kind, native, virtual or data-tiled.

    Raises `VerificationError` for another kind or operand.

    >>> MMAOperand(la.mma("WMMA_F32_16x16x16_F16"), "lhs").layout()
    Layout.parse('d0 = 16@lane, d1 = 16@reg | replicas 2@lane:16')
    """

    kind: MMAKind | DataTiledMMAAttr
    fragment: MMAFragment

    def __init__(self, kind: MMAKind | DataTiledMMAAttr, fragment: str | int) -> None:
        if not isinstance(kind, (MMAKind, DataTiledMMAAttr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"kind {shown(kind)}: expected an MMA kind")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "fragment", fragment_of(fragment))

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout, with its role in the product; a data-tiled rhs is N x K, as it lies in memory, and has none.

        Raises `DistributionError` where no layout is published, and for another shape than the operand's.

        >>> la.parse("MFMA_F32_16x16x16_F16.rhs").operands()[0].role
        'B'
        """
        layout = self.kind.operand_layout(self.fragment)
        own_sizes(self, layout.shape, shape)
        on = machine_for(machine, self.kind.subgroup_size, self)
        return (self.kind.operand_of(self.fragment, str(self), *cover_all((layout,), on, self)),)

    def __str__(self) -> str:
        return self.text()

    def text(self, dialect: str | None = None) -> str:
        """The text that `parse` reads.

        >>> MMAOperand(la.mma("MFMA_F32_16x16x16_F16", col_major=True), "acc").text()
        '#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>.acc'
        """
        check_dialect(dialect)
        return f"{self.kind.short_text(dialect)}.{self.fragment.name.lower()}"
