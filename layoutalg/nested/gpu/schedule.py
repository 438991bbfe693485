"""How a contraction's operands are spread over subgroups: `#iree_gpu.mma_schedule` and what it stands for.

Each loop of C[m, n] += A[m, k] * B[k, n] is shared by some subgroups; what one subgroup has left is cut into intrinsics
(batches), and the intrinsic says the rest. A 64x64x32 product with 2 x 2 subgroups:

>>> schedule = MMAScheduleAttr(MMAAttr("MFMA_F32_16x16x16_F16"), subgroup_m_count=2, subgroup_n_count=2)
>>> lhs, rhs, acc = schedule.nested_operands(64, 64, 32)
>>> lhs.subgroup_tile, lhs.batch_tile, lhs.subgroup_strides
((2, 1), (2, 2), (2, 0))
>>> print(acc.layout((64, 64), 64, 256))
d0 = 2@sg:2 2@reg:8 4@lane:16 4@reg, d1 = 2@sg 2@reg:4 16@lane

Subgroups are numbered row-major over the counts, the last one fastest. Sizes that do not divide are refused; IREE rounds
the batches up, which is the layout of a larger tensor. Measured with iree-opt 3.13.0 (58 contractions). IREE 3.2 writes the
counts as an attribute; since 3.13 they are `subgroup_basis` of the lowering config.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.messages import number_text, shown
from layoutalg.core.notation import Machine, Operand, as_sizes, product_operands
from layoutalg.core.whole_numbers import as_ints, listed, whole_number
from layoutalg.core.work_items import machine_for
from layoutalg.nested.attributes import NestedLayoutAttr
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.intrinsics import Intrinsic
from layoutalg.nested.gpu.kinds import MMAAttr, MMAKind, VirtualMMAAttr
from layoutalg.nested.gpu.maps import MapLike, as_map
from layoutalg.nested.gpu.product import MatrixProduct, Product, titled

__all__ = ["MMAScheduleAttr", "contraction_operands"]

MATMUL = ("(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)")
"""The indexing maps of a plain matrix product."""

_LETTERS = {MMAFragment.Lhs: (0, 2), MMAFragment.Rhs: (2, 1), MMAFragment.Acc: (0, 1)}


@dataclass(frozen=True, slots=True)
class MMAScheduleAttr(MatrixProduct):
    """`#iree_gpu.mma_schedule<...>`: an MMA kind, and how many subgroups share m and n.

    Raises `VerificationError` for a count below 1.

    >>> print(MMAScheduleAttr(MMAAttr("MFMA_F32_16x16x16_F16"), 1, 4))
    #iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 1,
    subgroup_n_count = 4>
    """

    intrinsic: MMAAttr | VirtualMMAAttr | DataTiledMMAAttr
    subgroup_m_count: int
    subgroup_n_count: int

    def __post_init__(self) -> None:
        if not isinstance(self.intrinsic, (MMAKind, DataTiledMMAAttr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"intrinsic {shown(self.intrinsic)}: expected an MMA kind")
        for name in ("subgroup_m_count", "subgroup_n_count"):
            what, hint = f"{name} =", " (IREE accepts this)"
            number = whole_number(getattr(self, name), what, 1, 2**31 - 1, VerificationError, hint)
            object.__setattr__(self, name, number)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """A, B and C for the sizes m, n, k (unless given, one instruction per subgroup); each notes its nested layout.

        Raises as `nested_operands` does, and for a machine with another number of lanes or fewer subgroups.

        >>> MMAScheduleAttr(MMAAttr("MFMA_F32_16x16x16_F16"), 1, 4).operands()[2].layout.shape
        (16, 64)
        """
        whole = self.product(shape)
        on = machine_for(machine, whole.subgroup_size, self) | Machine(subgroups=whole.subgroups)
        nested = self.nested_operands(*whole.sizes)
        one = self.instruction
        layouts = [each.layout(each.shape, on) for each in nested]
        found = product_operands(layouts, whole.types, whole.sizes, (one.m, one.n, one.k))
        return titled(found, [(("nested", str(each)),) for each in nested])

    @property
    def needs_shape(self) -> bool:
        """True: the subgroups share products of many sizes m, n, k.

        >>> MMAScheduleAttr(MMAAttr("MFMA_F32_16x16x16_F16"), 1, 4).needs_shape
        True
        """
        return True

    @property
    def instruction(self) -> Intrinsic:
        """The instruction that the subgroups run.

        >>> MMAScheduleAttr(MMAAttr("MFMA_F32_16x16x16_F16"), 1, 4).instruction.k
        16
        """
        return self.intrinsic.instruction

    def product(self, shape: Sequence[int] | None = None) -> Product:
        """Types, and the sizes m, n, k of `shape` or of one instruction per subgroup.

        Raises `DistributionError` for a shape that is not m, n, k.

        >>> MMAScheduleAttr(MMAAttr("MFMA_F32_16x16x16_F16"), 1, 4).product().sizes
        (16, 64, 16)
        """
        one = self.instruction
        least = (one.m * self.subgroup_m_count, one.n * self.subgroup_n_count, one.k)
        sizes = as_ints("sizes", least if shape is None else as_sizes(shape))
        if len(sizes) != 3:
            raise DistributionError(f"{self} needs the sizes m, n, k, such as {'x'.join(map(str, least))}")
        note = self.intrinsic.product().note
        subgroups = self.subgroup_m_count * self.subgroup_n_count
        return Product((sizes[0], sizes[1], sizes[2]), one.types, one.subgroup_size, subgroups, one.blocks, note)

    def nested_operands(
        self, m: int, n: int, k: int, maps: Sequence[MapLike] = MATMUL
    ) -> tuple[NestedLayoutAttr, NestedLayoutAttr, NestedLayoutAttr]:
        """The nested layouts of Lhs, Rhs and Acc for a product of these sizes.

        Raises `DistributionError` for sizes that the subgroups and the intrinsic do not divide.

        >>> MMAScheduleAttr(MMAAttr("MFMA_F32_16x16x16_F16"), 2, 2).nested_operands(64, 64, 32)[2].shape
        (64, 64)
        """
        if not isinstance(self.intrinsic, MMAKind):
            raise DistributionError(f"{self.intrinsic}: data-tiled operands have no nested layouts; see its swizzles")
        counts = (self.subgroup_m_count, self.subgroup_n_count, 1)
        return contraction_operands(self.intrinsic, (m, n, k), counts, maps=maps)

    def __str__(self) -> str:
        return self.text("iree-3.2") if _says_3_2(self.intrinsic) else self.text()

    def text(self, dialect: str | None = None) -> str:
        """The MLIR text. Only IREE 3.2 has the attribute; the kind inside is written as in `dialect`.

        >>> MMAScheduleAttr(MMAAttr("WMMAR3_F32_16x16x16_F16"), 1, 1).text("iree-3.2")[:60]
        '#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<WMMA'
        """
        counts = f"subgroup_m_count = {self.subgroup_m_count}, subgroup_n_count = {self.subgroup_n_count}"
        return f"#iree_gpu.mma_schedule<intrinsic = {self.intrinsic.text(dialect)}, {counts}>"


def _says_3_2(kind: MMAAttr | VirtualMMAAttr | DataTiledMMAAttr) -> bool:
    try:
        kind.text("iree-3.2")
    except VerificationError:
        return False
    return True


def contraction_operands(
    kind: MMAAttr | VirtualMMAAttr,
    sizes: Sequence[int],
    counts: Sequence[int] = (1, 1, 1),
    order: Sequence[int] = (0, 1, 2),
    maps: Sequence[MapLike] = MATMUL,
) -> tuple[NestedLayoutAttr, NestedLayoutAttr, NestedLayoutAttr]:
    """The nested layouts of a contraction's operands; loops are m, n, k.

    `counts` and `order` are IREE's `subgroup_basis = [counts, order]`: loop i is shared by `counts[order[i]]` subgroups.

    Raises `DistributionError` for sizes that do not divide, `VerificationError` for maps of another operation.

    >>> kind = MMAAttr("MFMA_F32_16x16x16_F16")
    >>> contraction_operands(kind, (64, 64, 32), (2, 1, 1), (1, 0, 2))[1].subgroup_tile
    (1, 2)
    """
    if not isinstance(kind, MMAKind):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"kind {shown(kind)}: expected an MMA kind that is not data-tiled")
    maps = listed(maps, "maps", 3, VerificationError)
    bounds, ways, places = (as_ints(name, v) for name, v in (("sizes", sizes), ("counts", counts), ("order", order)))
    if len(bounds) != 3 or len(ways) != 3 or sorted(places) != [0, 1, 2] or len(maps) != 3:
        raise VerificationError(
            f"a contraction has sizes, counts and an order of m, n, k, and three maps: got {shown(list(bounds))}, "
            f"{shown(list(ways))}, {shown(list(places))}, {len(maps)} maps"
        )
    if min(ways) < 1:
        raise VerificationError(f"subgroup counts {shown(list(ways))}: expected at least 1")
    if kind.intrinsic.blocks:
        raise DistributionError(f"{kind.name}: a block intrinsic has four loops, this contraction three")
    strides = (ways[1] * ways[2], ways[2], 1)
    layouts: list[NestedLayoutAttr] = []
    for fragment, which in zip(MMAFragment, maps, strict=True):
        loops = as_map(which).dims
        own = _LETTERS[fragment]
        if sorted(loops) != sorted(own):
            names = ", ".join("mnk"[i] for i in own)
            raise VerificationError(
                f"{as_map(which)}: expected the map of {fragment.name} to have loops {names}, once each"
            )
        operand = kind.operand(fragment).nested.permute([own.index(loop) for loop in loops])
        batches: list[int] = []
        for loop, tile in zip(loops, operand.shape, strict=True):
            shared = ways[places[loop]] * tile
            if bounds[loop] < 1 or bounds[loop] % shared:
                raise DistributionError(
                    f"{'mnk'[loop]} = {number_text(bounds[loop])}: expected a multiple of {number_text(shared)} "
                    f"({number_text(ways[places[loop]])} subgroups of {tile} each, {kind.name})"
                )
            batches.append(bounds[loop] // shared)
        layouts.append(
            NestedLayoutAttr(
                tuple(ways[places[loop]] for loop in loops),
                tuple(batches),
                operand.outer_tile,
                operand.thread_tile,
                operand.element_tile,
                tuple(strides[places[loop]] for loop in loops),
                operand.thread_strides,
            )
        )
    return layouts[0], layouts[1], layouts[2]
