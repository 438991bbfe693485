"""`#iree_gpu.data_tiled_mma_layout`: several intrinsics at once, on operands whose memory is already in fragment order.

An operand of the kind is a tile of a matrix: Lhs M x K, Rhs N x K (k last, as it is in memory), Acc M x N. A **swizzle** says
how the tile lies in memory: each dimension is expanded into digits, and the digits are permuted, outermost first.

>>> kind = DataTiledMMAAttr("MFMA_F32_16x16x4_F32", intrinsics_m=2, intrinsics_k=4, operands_interleaving_intrinsics_k=(0, 1))
>>> lhs = kind.swizzle("Lhs")
>>> lhs.expand, lhs.permutation
(((2, 16), (4, 4)), (0, 3, 1, 2))
>>> print(lhs.memory)
d0 = 2@addr:256 16@addr:4, d1 = 4@addr 4@addr:64

A digit belongs to the threads, to the intrinsic (`internal`) or to the count of intrinsics. Threads take the slice at their
digits; its elements in memory order are their registers:

>>> print(kind.operand_layout("Lhs"))
d0 = 2@reg:4 16@lane, d1 = 4@reg 4@lane:16

The subgroups are counted m, n, k, the last fastest; subgroups that an operand does not have hold copies of it. Measured with
iree-opt 3.13.0, 74 kinds. IREE 3.2 reads kinds without `subgroups_k` and interleaving, and lays them out by older rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.extents import as_ints
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine, Notation, Note, Operand, own_sizes, product_operands
from layoutalg.core.reader import MAX_EXTENT
from layoutalg.nested.gpu.dialects import IREE_3_2, check_dialect
from layoutalg.nested.gpu.dictionary import value_text
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.intrinsics import fragment_of
from layoutalg.nested.gpu.kinds import MMAAttr, product_notes, titled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DataTiledMMAAttr", "SwizzleDigit", "TileSwizzle"]

Ints: TypeAlias = tuple[int, ...]
Role: TypeAlias = Literal["thread", "intrinsic", "outer", "element"]

_COUNTS = ("intrinsics_m", "subgroups_m", "intrinsics_n", "subgroups_n", "intrinsics_k", "subgroups_k")
_INTERLEAVING = tuple(f"operands_interleaving_intrinsics_{d}" for d in "mnk")
_SOURCES = {MMAFragment.Lhs: "mk", MMAFragment.Rhs: "nk", MMAFragment.Acc: "mn"}


@dataclass(frozen=True, slots=True)
class SwizzleDigit:
    """One digit of dimension `dim`: its extent, whose it is, and for a thread's digit the axis and stride of the machine.

    `outer` and `element` digits are the intrinsic's own (IREE calls both internal), `intrinsic` counts intrinsics.

    >>> SwizzleDigit(0, 16, "thread", "lane", 1).extent
    16
    """

    dim: int
    extent: int
    role: Role
    axis: str = ""
    stride: int = 0


@dataclass(frozen=True, slots=True)
class TileSwizzle:
    """How a tile lies in memory: the digits of each dimension, and their order, outermost first.

    >>> swizzle = DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Acc")
    >>> swizzle.shape, swizzle.expand, swizzle.permutation
    ((16, 16), ((2, 8), (16,)), (0, 2, 1))
    """

    dims: tuple[tuple[SwizzleDigit, ...], ...]
    permutation: Ints

    @property
    def expand(self) -> tuple[Ints, ...]:
        """The extents that each dimension is expanded to.

        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").expand
        ((16,), (2, 8))
        """
        return tuple(tuple(d.extent for d in digits) for digits in self.dims)

    @property
    def shape(self) -> Ints:
        """The tile's sizes, in elements.

        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16", intrinsics_n=2).swizzle("Rhs").shape
        (32, 16)
        """
        return tuple(prod(extents) for extents in self.expand)

    @property
    def ordered(self) -> tuple[SwizzleDigit, ...]:
        """All digits in memory order, outermost first.

        >>> [d.extent for d in DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").ordered]
        [2, 16, 8]
        """
        flat = [digit for digits in self.dims for digit in digits]
        return tuple(flat[i] for i in self.permutation)

    @property
    def tile_shape(self) -> Ints:
        """The tile's shape in memory, a dimension per digit.

        >>> DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16").swizzle("Lhs").tile_shape
        (1, 16, 16)
        """
        return tuple(d.extent for d in self.ordered)

    @property
    def memory(self) -> Layout:
        """Where each element of the tile lies, in elements from its start.

        >>> print(DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").memory)
        d0 = 16@addr:8, d1 = 2@addr:128 8@addr
        """
        return Layout(self._placed("addr", lambda digit: True)).canonical()

    @property
    def registers(self) -> int:
        """The elements of a thread's slice.

        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16", intrinsics_m=3).swizzle("Lhs").registers
        24
        """
        return prod(d.extent for d in self.own)

    @property
    def own(self) -> tuple[SwizzleDigit, ...]:
        """The digits of a thread's slice in memory order: their row-major position is the register.

        >>> [d.role for d in DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16", intrinsics_m=3).swizzle("Lhs").own]
        ['intrinsic', 'element']
        """
        return tuple(d for d in self.ordered if d.role != "thread")

    def fragment(self, subgroups: int, subgroup_size: int) -> Layout:
        """Who holds what: a thread's slice in memory order is its registers; idle digits of the machine are replicas.

        >>> print(DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16").swizzle("Lhs").fragment(1, 32))
        d0 = 16@lane, d1 = 16@reg | replicas 2@lane:16
        """
        if type(subgroups) is not int or type(subgroup_size) is not int or min(subgroups, subgroup_size) < 1:
            raise VerificationError(f"{subgroups!r:.40} subgroups of {subgroup_size!r:.40}: expected whole numbers")
        used = [d for d in self.ordered if d.role == "thread" and d.extent > 1]
        idle = [
            factor
            for axis, size in (("sg", subgroups), ("lane", subgroup_size))
            for factor in _idle(axis, size, [d for d in used if d.axis == axis])
        ]
        return Layout(self._placed("reg", lambda digit: digit.role != "thread"), idle).canonical()

    def slice_of(self, tid: int, subgroup_size: int) -> tuple[Ints, Ints]:
        """The offsets and sizes of a thread's slice of the tile in memory.

        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").slice_of(17, 32)
        ((1, 1, 0), (1, 1, 8))
        """
        if type(tid) is not int or type(subgroup_size) is not int or tid < 0 or subgroup_size < 1:
            raise VerificationError(f"thread {tid!r:.40} of subgroups of {subgroup_size!r:.40}: expected whole numbers")
        place = {"sg": tid // subgroup_size, "lane": tid % subgroup_size}
        offsets = tuple(
            place[d.axis] // d.stride % d.extent if d.role == "thread" and d.extent > 1 else 0 for d in self.ordered
        )
        return offsets, tuple(1 if d.role == "thread" else d.extent for d in self.ordered)

    def _placed(self, axis: str, along: Callable[[SwizzleDigit], bool]) -> list[list[Factor]]:
        """The factors of each dimension: the digits `along` an axis in memory order, the others where their threads are."""
        flat = [digit for digits in self.dims for digit in digits]
        factors = [Factor(d.extent, d.stride, d.axis if d.extent > 1 else None) for d in flat]
        step = 1
        for i in reversed(self.permutation):
            if along(flat[i]):
                factors[i] = Factor(flat[i].extent, step, axis)
                step *= flat[i].extent
        first = len(self.dims[0])
        return [factors[:first], factors[first:]]


def _idle(axis: str, size: int, used: Sequence[SwizzleDigit]) -> list[Factor]:
    """The digits of an axis of `size` that none of `used` has."""
    found: list[Factor] = []
    place = 1
    for digit in sorted(used, key=lambda d: d.stride):
        if digit.stride > place:
            found.append(Factor(digit.stride // place, place, axis))
        place = digit.stride * digit.extent
    if size > place:
        found.append(Factor(size // place, place, axis))
    return found


@dataclass(frozen=True, slots=True)
class DataTiledMMAAttr(Notation):
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

    intrinsic: str
    intrinsics_m: int = 1
    subgroups_m: int = 1
    intrinsics_n: int = 1
    subgroups_n: int = 1
    intrinsics_k: int = 1
    subgroups_k: int = 1
    operands_interleaving_intrinsics_m: Ints | None = field(default=None)
    operands_interleaving_intrinsics_n: Ints | None = field(default=None)
    operands_interleaving_intrinsics_k: Ints | None = field(default=None)

    def __post_init__(self) -> None:
        native = MMAAttr(self.intrinsic)
        if native.intrinsic.blocks:
            raise VerificationError(
                f"{native.name}: data tiling is defined for intrinsics without blocks (IREE accepts this)"
            )
        object.__setattr__(self, "intrinsic", native.name)
        for name in _COUNTS:
            count = getattr(self, name)
            if type(count) is not int or not 1 <= count <= MAX_EXTENT:
                raise VerificationError(f"{name} = {count!r}: expected a count of at least 1 (IREE accepts this)")
        for name in _INTERLEAVING:
            operands = getattr(self, name)
            if operands is not None:
                operands = as_ints(name, operands)
                if any(not 0 <= one <= 2 for one in operands):
                    raise VerificationError(
                        f"{name} = {list(operands)}: expected operands of 0 (Lhs), 1 (Rhs), 2 (Acc)"
                    )
                object.__setattr__(self, name, operands)
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
        build = _SwizzleBuilder()
        for d in (1, 0):
            build.push(SwizzleDigit(d, operand.element[d], "element"))
        for d in (0, 1):
            build.push(SwizzleDigit(d, operand.thread[d], "thread", "lane", operand.tstrides[d]), keep=True)
        if min(operand.thread) > 1 and operand.tstrides[0] > operand.tstrides[1]:
            build.swap_outermost()
        for d in (1, 0):
            build.push(SwizzleDigit(d, operand.outer[d], "outer"))
        letters = _SOURCES[which]
        for d in (1, 0):
            interleaved = getattr(self, f"operands_interleaving_intrinsics_{letters[d]}") or ()
            count = SwizzleDigit(d, getattr(self, f"intrinsics_{letters[d]}"), "intrinsic")
            build.push(count, inside_threads=int(which) in interleaved)
        strides = {"k": 1, "n": self.subgroups_k, "m": self.subgroups_k * self.subgroups_n}
        for d in (1, 0):
            build.push(SwizzleDigit(d, getattr(self, f"subgroups_{letters[d]}"), "thread", "sg", strides[letters[d]]))
        return build.done()

    def operand_layout(self, fragment: str | int) -> Layout:
        """Who holds what of an operand's tile (Lhs M x K, Rhs N x K, Acc M x N).

        >>> print(DataTiledMMAAttr("MFMA_F32_16x16x16_F16", subgroups_n=2).operand_layout("Lhs"))
        d0 = 16@lane, d1 = 4@lane:16 4@reg | replicas 2@sg
        """
        return self.swizzle(fragment).fragment(self.subgroups, self.subgroup_size)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """A, B (turned to K x N) and C, to draw around the product.

        Raises `DistributionError` where no layout is published, and for a shape: the tile has sizes of its own.

        >>> [part.layout.shape for part in DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).operands()]
        [(16, 16), (16, 32), (16, 32)]
        """
        own_sizes(self, self.shape, shape)
        one = self.native.intrinsic
        found = product_operands(
            (self.lhs, self.rhs.permute((1, 0)), self.acc),
            (one.a_type, one.b_type, one.c_type),
            self.shape,
            (one.m, one.n, one.k),
        )
        memory = [self.swizzle(fragment).memory for fragment in MMAFragment]
        memory[1] = memory[1].permute((1, 0))
        return titled(found, [(("memory", str(layout)),) for layout in memory])

    def report(
        self,
        shape: Sequence[int] | None = None,
        machine: Machine | None = None,
        *,
        element: str = "f32",
        llvm: int | None = None,
        blocks: bool = False,
    ) -> tuple[Note, ...]:
        """The product in one line, and its lanes.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).report()[0].text
        '16x32x16, f16 x f16 + f32'
        """
        own_sizes(self, self.shape, shape)
        return product_notes(self.native.intrinsic, self.shape)

    @property
    def lhs(self) -> Layout:
        """The layout of A's tile, M x K.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_m=2).lhs.shape
        (32, 16)
        """
        return self.operand_layout(MMAFragment.Lhs)

    @property
    def rhs(self) -> Layout:
        """The layout of B's tile, N x K.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).rhs.shape
        (32, 16)
        """
        return self.operand_layout(MMAFragment.Rhs)

    @property
    def acc(self) -> Layout:
        """The layout of C's tile, M x N.

        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_n=2).acc.shape
        (16, 32)
        """
        return self.operand_layout(MMAFragment.Acc)

    def multiply(self, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any]) -> NDArray[Any]:
        """`acc + lhs * rhs` on fragments `[sg, lane, reg]`: every subgroup runs its intrinsics on parts of its registers.

        Subgroups along k each do a part, and hold the whole sum afterwards.

        Raises `LayoutError` for fragments of another shape.

        >>> import numpy as np
        >>> one, zero = np.ones((1, 64, 8)), np.zeros((1, 64, 4))
        >>> DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_k=2).multiply(one, one, zero)[0, 0].tolist()
        [32.0, 32.0, 32.0, 32.0]
        """
        from layoutalg.nested.gpu.products import multiply_tiles

        return multiply_tiles(self, lhs, rhs, acc)

    def __str__(self) -> str:
        return self.text()

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
            if check_dialect(dialect) == IREE_3_2 and (one.name in _INTERLEAVING or one.name == "subgroups_k"):
                raise VerificationError(f"IREE 3.2 has no {one.name} (of {self.text()})")
            parts.append(f"{one.name} = {value_text(value, inside=True)}")
        return f"#iree_gpu.data_tiled_mma_layout<{', '.join(parts)}>"


class _SwizzleBuilder:
    """Digits pushed one after another, each in front of its dimension's digits and outermost in memory."""

    def __init__(self) -> None:
        self.dims: tuple[list[SwizzleDigit], list[SwizzleDigit]] = ([], [])
        self.order: list[SwizzleDigit] = []

    def push(self, digit: SwizzleDigit, keep: bool = False, inside_threads: bool = False) -> None:
        """Put a digit in place; one of extent 1 only if `keep`; `inside_threads`: just inside the innermost thread digit."""
        if digit.extent == 1 and not keep:
            return
        self.dims[digit.dim].insert(0, digit)
        at = 0
        if inside_threads:
            at = max(i for i, other in enumerate(self.order) if other.role == "thread") + 1
        self.order.insert(at, digit)

    def swap_outermost(self) -> None:
        self.order[:2] = self.order[1::-1]

    def done(self) -> TileSwizzle:
        flat = [*self.dims[0], *self.dims[1]]
        return TileSwizzle((tuple(self.dims[0]), tuple(self.dims[1])), tuple(flat.index(digit) for digit in self.order))
