"""`#iree_gpu.data_tiled_mma_layout`: several intrinsics at once, on operands whose memory is already in fragment order.

An operand of the kind is a tile of a matrix: Lhs M x K, Rhs N x K (k last, as it is in memory), Acc M x N. A **swizzle** says
how the tile lies in memory: each dimension is expanded into factors, and the factors are permuted, outermost first.

>>> kind = DataTiledMMAAttr("MFMA_F32_16x16x4_F32", intrinsics_m=2, intrinsics_k=4, operands_interleaving_intrinsics_k=(0, 1))
>>> lhs = kind.swizzle("Lhs")
>>> lhs.expand, lhs.permutation
(((2, 16), (4, 4)), (0, 3, 1, 2))
>>> print(lhs.memory)
d0 = 2@addr:256 16@addr:4, d1 = 4@addr 4@addr:64

Threads take the slice at their factors; its elements in memory order are their registers (`tile_swizzle` has more):

>>> print(kind.operand_layout("Lhs"))
d0 = 2@reg:4 16@lane, d1 = 4@reg 4@lane:16

The subgroups are counted m, n, k, the last fastest; subgroups that an operand does not have hold copies of it. Measured with
iree-opt 3.13.0, 74 kinds. IREE 3.2 reads kinds without `subgroups_k` and interleaving, and lays them out by older rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import VerificationError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.notation import Machine, Operand, own_sizes, product_operands
from layoutalg.core.work_items import cover_all, machine_for
from layoutalg.nested.gpu.dictionary import value_text
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.intrinsics import Intrinsic, fragment_of
from layoutalg.nested.gpu.iree_versions import IREE_3_2, check_dialect
from layoutalg.nested.gpu.kinds import MMAAttr
from layoutalg.nested.gpu.product import OPAQUE, FragmentKind, MatrixProduct, Product, titled
from layoutalg.nested.gpu.tile_counts import INTERLEAVING, TileCounts, check_counts
from layoutalg.nested.gpu.tile_swizzle import SwizzleBuilder, SwizzleFactor, TileSwizzle

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DataTiledMMAAttr"]

_SOURCES = {MMAFragment.Lhs: "mk", MMAFragment.Rhs: "nk", MMAFragment.Acc: "mn"}


@dataclass(frozen=True, slots=True)
class DataTiledMMAAttr(TileCounts, FragmentKind):
    """`#iree_gpu.data_tiled_mma_layout<...>`: counts of intrinsics per thread and of subgroups, along m, n and k.

    `operands_interleaving_intrinsics_*` list the operands (0 Lhs, 1 Rhs, 2 Acc) that keep that count next to a thread's own
    elements in memory, so that one wide load takes them.

    Raises `VerificationError` for an unknown intrinsic, and for what IREE does not check: a count below 1, an operand other
    than 0, 1, 2.

    >>> kind = DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_m=2, subgroups_n=4)
    >>> kind.shape, kind.subgroups
    ((32, 64, 16), 4)
    >>> print(kind)
    #iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 2, subgroups_n = 4>
    """

    def __post_init__(self) -> None:
        native = MMAAttr(self.intrinsic)
        if native.intrinsic.blocks:
            raise VerificationError(
                f"{native.name}: data tiling is defined for intrinsics without blocks (IREE accepts this)"
            )
        object.__setattr__(self, "intrinsic", native.name)
        check_counts(self, INTERLEAVING, ("Lhs", "Rhs", "Acc"))
        if max(self.shape) > MAX_EXTENT:
            raise VerificationError(f"sizes {'x'.join(map(str, self.shape))}: over 2^31 (IREE accepts this)")

    @property
    def native(self) -> MMAAttr:
        """The intrinsic that runs many times.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_m=2).native.subgroup_size
        64
        """
        return MMAAttr(self.intrinsic)

    @property
    def subgroup_size(self) -> int:
        """The lanes of a subgroup.

        >>> DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16").subgroup_size
        32
        """
        return self.native.subgroup_size

    @property
    def subgroups(self) -> int:
        """The subgroups that work together.

        >>> DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16", subgroups_m=2, subgroups_k=2).subgroups
        4
        """
        return self.subgroups_m * self.subgroups_n * self.subgroups_k

    @property
    def shape(self) -> tuple[int, int, int]:
        """The sizes m, n, k of the whole product, in elements.

        >>> DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16", subgroups_m=2, intrinsics_k=4).shape
        (32, 16, 64)
        """
        one = self.native.intrinsic
        return (
            one.m * self.intrinsics_m * self.subgroups_m,
            one.n * self.intrinsics_n * self.subgroups_n,
            one.k * self.intrinsics_k * self.subgroups_k,
        )

    def swizzle(self, fragment: str | int) -> TileSwizzle:
        """How an operand's tile lies in memory.

        Raises `DistributionError` for an intrinsic whose layout is not published.

        >>> DataTiledMMAAttr("MFMA_F32_32x32x8_F16", intrinsics_n=2).swizzle("Rhs").tile_shape
        (2, 2, 32, 4)
        """
        which = fragment_of(fragment)
        operand = self.native.operand(which)
        if which is MMAFragment.Rhs:
            operand = operand.transposed()
        build = SwizzleBuilder()
        for d in (1, 0):
            build.push(SwizzleFactor(d, operand.element[d], "element"))
        for d in (0, 1):
            build.push(SwizzleFactor(d, operand.thread[d], "thread", "lane", operand.tstrides[d]), keep=True)
        if min(operand.thread) > 1 and operand.tstrides[0] > operand.tstrides[1]:
            build.swap_outermost()
        for d in (1, 0):
            build.push(SwizzleFactor(d, operand.outer[d], "outer"))
        letters = _SOURCES[which]
        for d in (1, 0):
            interleaved = getattr(self, f"operands_interleaving_intrinsics_{letters[d]}") or ()
            count = SwizzleFactor(d, getattr(self, f"intrinsics_{letters[d]}"), "intrinsic")
            build.push(count, inside_threads=int(which) in interleaved)
        strides = {"k": 1, "n": self.subgroups_k, "m": self.subgroups_k * self.subgroups_n}
        for d in (1, 0):
            build.push(SwizzleFactor(d, getattr(self, f"subgroups_{letters[d]}"), "thread", "sg", strides[letters[d]]))
        return build.done()

    def operand_layout(self, fragment: str | int) -> Layout:
        """Who holds what of an operand's tile (Lhs M x K, Rhs N x K, Acc M x N).

        >>> print(DataTiledMMAAttr("MFMA_F32_16x16x16_F16", subgroups_n=2).operand_layout("Lhs"))
        d0 = 16@lane, d1 = 4@lane:16 4@reg | replicas 2@sg
        """
        return self.swizzle(fragment).fragment(self.subgroups, self.subgroup_size)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """A, B (transposed to K x N) and C, to draw around the product; each notes how its tile lies in memory.

        Raises `DistributionError` where no layout is published, for a shape that is not m, n, k, and for a machine with
        another number of lanes or fewer subgroups.

        >>> [part.layout.shape for part in DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).operands()]
        [(16, 16), (16, 32), (16, 32)]
        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").operands()[0].notes[1]
        ('memory', 'd0 = 16@addr:8, d1 = 2@addr:128 8@addr')
        """
        one = self.product(shape)
        layouts = cover_all(
            (self.lhs, self.rhs.permute((1, 0)), self.acc),
            machine_for(machine, one.subgroup_size, self.intrinsic),
            self.intrinsic,
        )
        native = self.instruction
        found = product_operands(layouts, one.types, one.sizes, (native.m, native.n, native.k))
        memory = [self.swizzle(f).memory for f in MMAFragment]
        memory[MMAFragment.Rhs] = memory[MMAFragment.Rhs].permute((1, 0))
        return titled(found, [(("memory", str(layout)),) for layout in memory])

    def subheading(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[str, ...]:
        """The product, and how many intrinsics and subgroups share it.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_m=2, intrinsics_n=2).subheading()[2]
        '2x2x1 intrinsics of 16x16x16 (M, N, K)'
        """
        own = self.instruction
        counts = "x".join(str(getattr(self, f"intrinsics_{letter}")) for letter in "mnk")
        groups = "x".join(str(getattr(self, f"subgroups_{letter}")) for letter in "mnk")
        told = f"{counts} intrinsics of {own.m}x{own.n}x{own.k} (M, N, K)"
        told += f" in each of {groups} subgroups" * (self.subgroups > 1)
        return (*MatrixProduct.subheading(self, shape, machine), told)

    def operand_of(self, fragment: MMAFragment, name: str, layout: Layout) -> Operand:
        """An operand on its own: a name, its layout, its tile, and its role (none for Rhs, which is N x K here).

        >>> tiled = DataTiledMMAAttr("MFMA_F32_16x16x16_F16")
        >>> tiled.operand_of(MMAFragment.Rhs, "B", tiled.rhs).role is None
        True
        """
        tile = self.instruction.shape(fragment)
        transposed = fragment is MMAFragment.Rhs
        notes = (("memory", str(self.swizzle(fragment).memory)),)
        return Operand(
            name, layout, tile[::-1] if transposed else tile, None if transposed else "ABC"[fragment], notes=notes
        )

    @property
    def instruction(self) -> Intrinsic:
        """The instruction that runs many times.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).instruction.n
        16
        """
        return self.native.intrinsic

    def product(self, shape: Sequence[int] | None = None) -> Product:
        """Sizes and types; raises `DistributionError` for a shape that is not its own.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).product().text()
        '16x32x16, f16 x f16 + f32'
        """
        own_sizes(self, self.shape, shape)
        one = self.instruction
        note = OPAQUE if one.is_opaque else None
        return Product(self.shape, one.types, one.subgroup_size, self.subgroups, note=note)

    @property
    def work_items(self) -> tuple[int, ...]:
        """The leading axes of fragments: subgroups and lanes.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", subgroups_n=2).work_items
        (2, 64)
        """
        return self.subgroups, self.subgroup_size

    def registers(self, fragment: str | int) -> int:
        """The elements of an operand that one lane holds.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).registers("Acc")
        8
        """
        return self.swizzle(fragment).registers

    def tile_elements(self, fragment: str | int) -> int:
        """The elements of an operand's tile.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).tile_elements("Rhs")
        512
        """
        m, n, k = self.shape
        return (m * k, n * k, m * n)[fragment_of(fragment)]

    def from_memory(self, fragment: str | int, values: NDArray[Any]) -> NDArray[Any]:
        """Fragments `[..., sg, lane, reg]` of an operand's tile as it lies in memory, `[..., element]`.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16").from_memory("Lhs", np.zeros(256)).shape
        (1, 64, 4)
        """
        from layoutalg.core.distributing import collect, distribute

        return distribute(self.operand_layout(fragment), collect(self.swizzle(fragment).memory, values))

    def to_memory(self, fragment: str | int, fragments: NDArray[Any]) -> NDArray[Any]:
        """The way back from `from_memory`.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16").to_memory("Lhs", np.zeros((1, 64, 4))).shape
        (256,)
        """
        from layoutalg.core.distributing import collect, distribute

        return distribute(self.swizzle(fragment).memory, collect(self.operand_layout(fragment), fragments))

    def multiply(self, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any]) -> NDArray[Any]:
        """`acc + lhs * rhs` on fragments `[sg, lane, reg]`: every subgroup runs its intrinsics on parts of its registers.

        Subgroups along k each do a part, and hold the whole sum afterwards.

        Raises `LayoutError` for fragments of another shape.

        >>> one, zero = np.ones((1, 64, 8)), np.zeros((1, 64, 4))
        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_k=2).multiply(one, one, zero)[0, 0].tolist()
        [32.0, 32.0, 32.0, 32.0]
        """
        from layoutalg.nested.gpu.products import multiply_tiles

        return multiply_tiles(self, lhs, rhs, acc)

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text, as a version of IREE writes it; counts of 1 are left out.

        Raises `VerificationError` where that version cannot say it.

        >>> DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16", intrinsics_k=2).text("iree-3.2")
        '#iree_gpu.data_tiled_mma_layout<intrinsic = WMMA_F32_16x16x16_F16, intrinsics_k = 2>'
        """
        parts = [f"intrinsic = {self.native.intrinsic.spelling(dialect)}"]
        for one in fields(self)[1:]:
            value = getattr(self, one.name)
            if value in (1, None):
                continue
            if check_dialect(dialect) == IREE_3_2 and (one.name in INTERLEAVING or one.name == "subgroups_k"):
                raise VerificationError(f"IREE 3.2 has no {one.name} (of {self.text()})")
            parts.append(f"{one.name} = {value_text(value, inside=True)}")
        return f"#iree_gpu.data_tiled_mma_layout<{', '.join(parts)}>"
