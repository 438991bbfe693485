"""`#iree_gpu.mma_layout` and `#iree_gpu.virtual_mma_layout`: one intrinsic, its operands, and what it computes.

>>> mma = MMAAttr("MFMA_F32_16x16x16_F16")
>>> print(mma.acc)
d0 = 4@lane:16 4@reg, d1 = 16@lane
>>> print(mma.text("iree-3.2"))
#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>

`multiply` computes from fragments. Rows of A, columns of B and elements of C are where the layouts say; what meets along k
is what A and B hold in equal *slots* (the same k factor of the lane, the same register along k), whatever k that is. So the
product is the matrix product only if both operands agree on the k of every slot:

>>> a, b = np.arange(256).reshape(16, 16) % 7, np.arange(256).reshape(16, 16) % 5
>>> zero = np.zeros((64, 4), np.float32)
>>> d = mma.multiply(mma.distribute("Lhs", a), mma.distribute("Rhs", b), zero)
>>> bool((mma.collect("Acc", d) == a @ b).all())
True

A virtual intrinsic runs native ones on parts of its registers: that works because its k order is the same for A and B.

With `col_major`, the accumulator is held transposed: lanes and registers of C[m, n] are those of C[n, m] otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from layoutalg.core.errors import LayoutError, VerificationError
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Operand, own_sizes, product_operands
from layoutalg.core.work_items import cover_all, machine_for
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.intrinsics import Intrinsic, OperandLayout, fragment_of, intrinsic
from layoutalg.nested.gpu.iree_versions import IREE_3_2, check_dialect
from layoutalg.nested.gpu.product import OPAQUE, FragmentKind, Product, titled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MMAAttr", "MMAKind", "VirtualMMAAttr", "mma"]


@dataclass(frozen=True, slots=True)
class MMAKind(FragmentKind):
    """What native and virtual kinds share: a name (stored in the newest spelling) and whether C is held transposed.

    >>> MMAAttr("WMMA_F32_16x16x16_F16").name
    'WMMAR3_F32_16x16x16_F16'
    """

    mnemonic: ClassVar[str] = "mma_layout"
    virtual: ClassVar[bool] = False

    name: str
    col_major: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or type(self.col_major) is not bool:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(
                f"{shown(self.name)}, col_major = {shown(self.col_major)}: expected a name and a truth value"
            )
        found = intrinsic(self.name)
        if found.is_virtual != self.virtual:
            right = "virtual_mma_layout" if found.is_virtual else "mma_layout"
            raise VerificationError(f"{found.name} belongs into #iree_gpu.{right}")
        if self.col_major and found.m != found.n:
            raise VerificationError(
                f"{found.name} is {found.m}x{found.n}: col_major needs a square accumulator (IREE accepts this)"
            )
        object.__setattr__(self, "name", found.name)

    @property
    def intrinsic(self) -> Intrinsic:
        """Sizes, types and operands of the instruction.

        >>> MMAAttr("MFMA_F32_32x32x8_F16").intrinsic.k
        8
        """
        return intrinsic(self.name)

    @property
    def instruction(self) -> Intrinsic:
        """The instruction that runs, once or many times: `intrinsic`.

        >>> MMAAttr("MFMA_F32_32x32x8_F16").instruction.k
        8
        """
        return self.intrinsic

    @property
    def runs(self) -> tuple[MMAAttr, int]:
        """The native kind, and how many of them run one after another on equal shares of A's and B's registers.

        >>> MMAAttr("MFMA_F32_32x32x8_F16").runs[1]
        1
        """
        return MMAAttr(self.name, self.col_major), 1

    def product(self, shape: Sequence[int] | None = None) -> Product:
        """Sizes and types; raises `DistributionError` for a shape that is not its own.

        >>> MMAAttr("MFMA_F32_32x32x8_F16").product().text()
        '32x32x8, f16 x f16 + f32'
        """
        one = self.intrinsic
        sizes = (one.m, one.n, one.k)
        own_sizes(self, sizes, shape)
        return Product(sizes, one.types, one.subgroup_size, 1, one.blocks, self._note())

    def _note(self) -> str | None:
        return OPAQUE if self.intrinsic.is_opaque else None

    @property
    def subgroup_size(self) -> int:
        """The lanes that execute it together.

        >>> MMAAttr("WMMA_I32_16x16x16_I8").subgroup_size
        32
        """
        return self.intrinsic.subgroup_size

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """A, B and C, to draw around the product; subgroups of a `machine` hold copies.

        Raises `DistributionError` where no layout is published, for a shape that is not the intrinsic's m, n, k, and for a
        machine with another number of lanes.

        >>> [part.role for part in MMAAttr("MFMA_F32_16x16x16_F16").operands()]
        ['A', 'B', 'C']
        """
        one = self.product(shape)
        on = machine_for(machine, one.subgroup_size, self.name)
        layouts = cover_all((self.lhs, self.rhs, self.acc), on, self.name)
        return titled(product_operands(layouts, one.types, one.sizes))

    def operand_of(self, fragment: MMAFragment, name: str, layout: Layout) -> Operand:
        """An operand on its own: a name, its layout, its tile and its role.

        >>> MMAAttr("MFMA_F32_16x16x16_F16").operand_of(MMAFragment.Acc, "C", Layout.parse("d0 = 4@lane")).role
        'C'
        """
        return Operand(name, layout, self.intrinsic.shape(fragment), "ABC"[fragment])

    def operand(self, fragment: str | int) -> OperandLayout:
        """Who holds what of `Lhs`, `Rhs` or `Acc`.

        >>> MMAAttr("MFMA_F32_16x16x16_F16", col_major=True).operand("Acc").thread
        (16, 4)
        """
        which = fragment_of(fragment)
        found = self.intrinsic.operand(which)
        return found.transposed() if self.col_major and which is MMAFragment.Acc else found

    def operand_layout(self, fragment: str | int) -> Layout:
        """The exact layout of an operand.

        Raises `DistributionError` where none is published.

        >>> print(MMAAttr("MFMA_F32_4x4x4x16B_F16").operand_layout("Lhs"))
        d0 = 16@lane:4, d1 = 4@lane, d2 = 4@reg
        """
        return self.operand(fragment).layout(self.subgroup_size)

    def distribute(self, fragment: str | int, matrix: NDArray[Any]) -> NDArray[Any]:
        """Spread a matrix `[..., rows, columns]` over the lanes: `[..., lane, reg]`.

        >>> MMAAttr("MFMA_F32_16x16x16_F16").distribute("Acc", np.zeros((16, 16))).shape
        (64, 4)
        """
        from layoutalg.core.distributing import distribute

        return distribute(self.operand_layout(fragment), matrix)[..., 0, :, :]

    def collect(self, fragment: str | int, fragments: NDArray[Any]) -> NDArray[Any]:
        """Put a matrix together from `[..., lane, reg]`.

        >>> MMAAttr("MFMA_F32_16x16x16_F16").collect("Acc", np.zeros((64, 4))).shape
        (16, 16)
        """
        from layoutalg.core.distributing import collect

        if getattr(fragments, "ndim", 0) < 2:
            raise LayoutError(f"{fragment_of(fragment).name}: expected an array [..., lane, reg] (of {self.name})")
        return collect(self.operand_layout(fragment), fragments[..., None, :, :])

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it.

        Raises `VerificationError` where that version cannot say it.

        >>> MMAAttr("WMMAR3_F32_16x16x16_F16").text("iree-3.2")
        '#iree_gpu.mma_layout<WMMA_F32_16x16x16_F16>'
        """
        name = self.intrinsic.spelling(dialect)
        if check_dialect(dialect) == IREE_3_2:
            if self.col_major:
                raise VerificationError(f"IREE 3.2 has no col_major (of {self.text()})")
            return f"#iree_gpu.{self.mnemonic}<{'intrinsic = ' * self.virtual}{name}>"
        return f"#iree_gpu.{self.mnemonic}<{name}{', col_major = true' * self.col_major}>"

    def short_text(self, dialect: str | None = None) -> str:
        """The intrinsic's name where that says it all, which `parse` reads too; else the whole text.

        >>> VirtualMMAAttr("VMFMA_F32_16x16x32_F16").short_text()
        'VMFMA_F32_16x16x32_F16'
        """
        return self.text(dialect) if self.col_major else self.intrinsic.spelling(dialect)

    @property
    def work_items(self) -> tuple[int, ...]:
        """The leading axes of fragments: the lanes.

        >>> MMAAttr("MFMA_F32_16x16x16_F16").work_items
        (64,)
        """
        return (self.subgroup_size,)

    def registers(self, fragment: str | int) -> int:
        """The elements of an operand that one lane holds.

        >>> MMAAttr("MFMA_F32_32x32x8_F16").registers("Acc")
        16
        """
        return self.operand(fragment).registers

    def tile_elements(self, fragment: str | int) -> int:
        """The elements of an operand.

        >>> MMAAttr("MFMA_F32_32x32x8_F16").tile_elements("Acc")
        1024
        """
        return prod(self.intrinsic.shape(fragment_of(fragment)))

    def from_memory(self, fragment: str | int, values: NDArray[Any]) -> NDArray[Any]:
        """Fragments `[..., lane, reg]` of an operand whose elements `[..., element]` lie row-major.

        Raises `LayoutError` for another number of elements.

        >>> MMAAttr("MFMA_F32_16x16x16_F16").from_memory("Lhs", np.zeros(256)).shape
        (64, 4)
        """
        which = fragment_of(fragment)
        if getattr(values, "ndim", 0) < 1 or values.shape[-1] != self.tile_elements(which):
            raise LayoutError(f"{which.name}: expected an array [..., {self.tile_elements(which)}] (of {self.name})")
        return self.distribute(which, values.reshape(*values.shape[:-1], *self.intrinsic.shape(which)))

    def to_memory(self, fragment: str | int, fragments: NDArray[Any]) -> NDArray[Any]:
        """The way back from `from_memory`.

        >>> MMAAttr("MFMA_F32_16x16x16_F16").to_memory("Lhs", np.zeros((64, 4))).shape
        (256,)
        """
        return self.collect(fragment, fragments).reshape(*fragments.shape[:-2], -1)

    def multiply(self, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any]) -> NDArray[Any]:
        """`acc + lhs * rhs` on fragments `[..., lane, reg]`, in the accumulator's precision; the result has acc's type.

        Integers are exact and wrap; floats are added by numpy, not in the order of the hardware.

        Raises `LayoutError` for fragments of another shape.

        >>> one = np.ones((64, 4))
        >>> MMAAttr("MFMA_F32_16x16x16_F16").multiply(one, one, np.zeros((64, 4)))[0].tolist()
        [16.0, 16.0, 16.0, 16.0]
        """
        from layoutalg.nested.gpu.products import multiply

        return multiply(self, lhs, rhs, acc)


@dataclass(frozen=True, slots=True)
class MMAAttr(MMAKind):
    """`#iree_gpu.mma_layout<...>`: a native intrinsic.

    >>> print(MMAAttr("NV_MMA_SYNC_F32_16x8x16_F16").rhs)
    d0 = 2@reg:2 4@lane 2@reg, d1 = 8@lane:4
    """


@dataclass(frozen=True, slots=True)
class VirtualMMAAttr(MMAKind):
    """`#iree_gpu.virtual_mma_layout<...>`: native intrinsics on parts of the registers.

    >>> VirtualMMAAttr("VMFMA_F32_16x16x32_F16").text("iree-3.2")
    '#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>'
    """

    mnemonic: ClassVar[str] = "virtual_mma_layout"
    virtual: ClassVar[bool] = True

    @property
    def native(self) -> tuple[MMAAttr, int]:
        """The native intrinsic, and how many of them run one after another on equal shares of A's and B's registers.

        >>> native, count = VirtualMMAAttr("VMFMA_F32_32x32x16_F16").native
        >>> native.name, count
        ('MFMA_F32_32x32x8_F16', 2)
        """
        self.intrinsic.operand(MMAFragment.Lhs)
        one = self.intrinsic
        count = 2 if one.a_type == "f16" else 1
        types = one.name.rsplit("_", 1)[1]
        return MMAAttr(f"MFMA_F32_{one.m}x{one.n}x{one.k // count}_{types}"), count

    @property
    def runs(self) -> tuple[MMAAttr, int]:
        """The native kind that runs, with `col_major` as here, and how often: see `native`.

        >>> VirtualMMAAttr("VMFMA_F32_32x32x16_F16").runs[1]
        2
        """
        kind, count = self.native
        return MMAAttr(kind.name, self.col_major), count

    def _note(self) -> str | None:
        if self.intrinsic.is_opaque:
            return OPAQUE
        run, count = self.native
        return f"{count} x {run.name} on shares of the registers" if count > 1 else f"{run.name}, k in another order"


def mma(name: str, col_major: bool = False) -> MMAAttr | VirtualMMAAttr:
    """The kind of that name, native or virtual.

    Raises `VerificationError` for an unknown name, with those that are near.

    >>> mma("VMFMA_F32_16x16x32_F16").native[1]
    2
    >>> mma("MFMA_F32_16x16x17_F16")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: unknown intrinsic 'MFMA_F32_16x16x17_F16':
    expected one of MFMA_F32_16x16x16_F16, MFMA_F32_16x16x16_BF16, MFMA_F32_16x16x8_BF16, ...
    """
    kind = VirtualMMAAttr if intrinsic(name).is_virtual else MMAAttr
    return kind(name, col_major)
