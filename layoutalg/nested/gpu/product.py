"""What MMA kinds, data-tiled kinds and schedules have in common: sizes and types of their product, and layouts on a machine.

>>> la.mma("MFMA_F32_16x16x16_F16").product()
Product(sizes=(16, 16, 16), types=('f16', 'f16', 'f32'), subgroup_size=64, subgroups=1, blocks=0, note=None)

A report needs no more than this and the `operands`. Where no layout is published, `operands` raises and `note` says so:

>>> la.mma("NV_WMMA_F32_16x16x16_F16").product().note
'opaque: no layout of its fragments is published'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.core.layout import Layout
from layoutalg.core.matrix_products import product_lines
from layoutalg.core.notation import Machine, Note, Operand, ReportRequest
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.iree_versions import VersionedAttr

__all__ = ["OPAQUE", "FragmentKind", "MatrixProduct", "Product", "titled"]

OPAQUE = "opaque: no layout of its fragments is published"
"""The note of an intrinsic whose fragments nobody describes."""


class Product(NamedTuple):
    """A matrix product: m, n, k in elements, the element types of A, B and C, and who executes it.

    `blocks` products are computed side by side (0: one, and no such dimension); `note` is a remark in words.

    >>> la.mma("MFMA_F32_4x4x4x16B_F16").product().text()
    '16 blocks of 4x4x4, f16 x f16 + f32'
    """

    sizes: tuple[int, int, int]
    types: tuple[str, str, str]
    subgroup_size: int
    subgroups: int = 1
    blocks: int = 0
    note: str | None = None

    def text(self) -> str:
        """Sizes and types in one line.

        >>> Product((16, 16, 32), ("bf16", "bf16", "f32"), 64).text()
        '16x16x32, bf16 x bf16 + f32'
        """
        a, b, c = self.types
        blocks = f"{self.blocks} blocks of " if self.blocks else ""
        return f"{blocks}{'x'.join(map(str, self.sizes))}, {a} x {b} + {c}"

    def notes(self) -> tuple[Note, ...]:
        """What a report says of the product.

        >>> Product((16, 16, 32), ("bf16", "bf16", "f32"), 64).notes()[1].text
        '64'
        """
        remark = [] if self.note is None else [Note("note", self.note, "note", self.note, instead=self.note == OPAQUE)]
        return (
            Note("product", self.text(), "product", self.text()),
            Note("lanes", str(self.subgroup_size), "lanes", str(self.subgroup_size)),
            Note("", "", "sizes", dict(zip("mnk", self.sizes, strict=True))),
            Note("", "", "types", list(self.types)),
            Note("", "", "subgroup_size", self.subgroup_size),
            *remark,
        )


class MatrixProduct(VersionedAttr):
    """A notation whose values multiply matrices: it says the sizes and types, and reports them.

    >>> isinstance(la.mma("MFMA_F32_16x16x16_F16"), MatrixProduct)
    True
    """

    __slots__ = ()

    def product(self, shape: Sequence[int] | None = None) -> Product:
        """Sizes and types, for m, n, k of `shape` where the value leaves them open.

        >>> la.mma("MFMA_F32_16x16x16_F16").product().sizes
        (16, 16, 16)
        """
        raise NotImplementedError

    def subheading(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[str, ...]:
        """Its equation, its sizes, and its subgroups.

        >>> la.mma("MFMA_F32_16x16x16_F16").subheading()[0]
        'D[16x16] f32 = A[16x16] f16 * B[16x16] f16 + C; D has the layout of C'
        """
        one = self.product(shape)
        lanes = f"by the {one.subgroup_size} lanes of a subgroup"
        if one.subgroups > 1:
            lanes = f"by {one.subgroups} subgroups of {one.subgroup_size} lanes"
        return product_lines(self.operands(shape, machine), one.sizes, lanes)

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """The product in one line, its lanes, and what is remarkable."""
        return self.product(shape).notes()


class FragmentKind(MatrixProduct):
    """A matrix product whose operands `Lhs`, `Rhs` and `Acc` have layouts of their own.

    >>> isinstance(la.mma("MFMA_F32_16x16x16_F16"), FragmentKind)
    True
    """

    __slots__ = ()

    def operand_layout(self, fragment: str | int) -> Layout:
        """The exact layout of an operand.

        Raises `DistributionError` where none is published.

        >>> print(la.mma("MFMA_F32_4x4x4x16B_F16").operand_layout("Lhs"))
        d0 = 16@lane:4, d1 = 4@lane, d2 = 4@reg
        """
        raise NotImplementedError

    @property
    def lhs(self) -> Layout:
        """The layout of A, M x K.

        >>> print(la.mma("WMMA_F32_16x16x16_F16").lhs)
        d0 = 16@lane, d1 = 16@reg | replicas 2@lane:16
        """
        return self.operand_layout(MMAFragment.Lhs)

    @property
    def rhs(self) -> Layout:
        """The layout of B, K x N; of a data-tiled kind, N x K.

        >>> print(la.mma("WMMA_F32_16x16x16_F16").rhs)
        d0 = 16@reg, d1 = 16@lane | replicas 2@lane:16
        """
        return self.operand_layout(MMAFragment.Rhs)

    @property
    def acc(self) -> Layout:
        """The layout of C, M x N. IREE 3.2 gave f16 and bf16 WMMA 16 registers per lane; the hardware has these 8.

        >>> print(la.mma("WMMA_F16_16x16x16_F16").acc)
        d0 = 8@reg 2@lane:16, d1 = 16@lane
        """
        return self.operand_layout(MMAFragment.Acc)

    def short_text(self, dialect: str | None = None) -> str:
        """The intrinsic's name where that says it all, which `parse` reads too; else the whole text.

        >>> la.mma("VMFMA_F32_16x16x32_F16").short_text()
        'VMFMA_F32_16x16x32_F16'
        """
        return self.text(dialect)


_TITLES = (("Lhs", "MxK"), ("Rhs", "KxN"), ("Acc", "MxN"))


def titled(
    operands: Sequence[Operand], more: Sequence[tuple[tuple[str, str], ...]] = ((), (), ())
) -> tuple[Operand, ...]:
    """Operands with IREE's names as notes (Lhs, Rhs, Acc), and with `more` notes of each."""
    return tuple(
        one._replace(notes=(("title", f"{name}  {letters}  {one.name.split()[-1]}"), *notes))
        for one, (name, letters), notes in zip(operands, _TITLES, more, strict=True)
    )
