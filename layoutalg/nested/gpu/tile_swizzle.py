"""How a tile of a matrix lies in memory in fragment order: each dimension expanded into factors, the factors permuted.

A factor belongs to the threads, to the intrinsic (`outer` and `element`) or to the count of intrinsics. Threads take the slice
at their factors; its elements in memory order are their registers:

>>> lhs = la.parse("#iree_gpu.data_tiled_mma_layout<intrinsic = WMMAR4_F32_16x16x16_F16, intrinsics_m = 3>").swizzle("Lhs")
>>> lhs.expand, lhs.permutation
(((3, 16), (2, 8)), (0, 2, 1, 3))
>>> print(lhs.memory)
d0 = 3@addr:256 16@addr:8, d1 = 2@addr:128 8@addr
>>> print(lhs.fragment(subgroups=1, subgroup_size=32))
d0 = 3@reg:8 16@lane, d1 = 2@lane:16 8@reg
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown

__all__ = ["SwizzleBuilder", "SwizzleFactor", "TileSwizzle"]

Ints: TypeAlias = tuple[int, ...]
Role: TypeAlias = Literal["thread", "intrinsic", "outer", "element"]


@dataclass(frozen=True, slots=True)
class SwizzleFactor:
    """One factor of dimension `dim`: its extent, whose it is, and for a thread's factor the axis and stride of the machine.

    `outer` and `element` factors are the intrinsic's own (IREE calls both internal), `intrinsic` counts intrinsics.
    """

    dim: int
    extent: int
    role: Role
    axis: str = ""
    stride: int = 0


@dataclass(frozen=True, slots=True)
class TileSwizzle:
    """How a tile lies in memory: the factors of each dimension, and their order, outermost first.

    >>> from layoutalg.nested.gpu import DataTiledMMAAttr
    >>> swizzle = DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Acc")
    >>> swizzle.shape, swizzle.expand, swizzle.permutation
    ((16, 16), ((2, 8), (16,)), (0, 2, 1))
    """

    dims: tuple[tuple[SwizzleFactor, ...], ...]
    permutation: Ints

    @property
    def expand(self) -> tuple[Ints, ...]:
        """The extents that each dimension is expanded to.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").expand
        ((16,), (2, 8))
        """
        return tuple(tuple(d.extent for d in factors) for factors in self.dims)

    @property
    def shape(self) -> Ints:
        """The tile's sizes, in elements.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16", intrinsics_n=2).swizzle("Rhs").shape
        (32, 16)
        """
        return tuple(prod(extents) for extents in self.expand)

    @property
    def ordered(self) -> tuple[SwizzleFactor, ...]:
        """All factors in memory order, outermost first.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> [d.extent for d in DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").ordered]
        [2, 16, 8]
        """
        flat = [factor for factors in self.dims for factor in factors]
        return tuple(flat[i] for i in self.permutation)

    @property
    def tile_shape(self) -> Ints:
        """The tile's shape in memory, a dimension per factor.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16").swizzle("Lhs").tile_shape
        (1, 16, 16)
        """
        return tuple(d.extent for d in self.ordered)

    @property
    def memory(self) -> Layout:
        """Where each element of the tile lies, in elements from its start.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> print(DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").memory)
        d0 = 16@addr:8, d1 = 2@addr:128 8@addr
        """
        return Layout(self._placed("addr", lambda factor: True)).canonical()

    @property
    def registers(self) -> int:
        """The elements of a thread's slice.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16", intrinsics_m=3).swizzle("Lhs").registers
        24
        """
        return prod(d.extent for d in self.own)

    @property
    def own(self) -> tuple[SwizzleFactor, ...]:
        """The factors of a thread's slice in memory order: their row-major position is the register.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> [d.role for d in DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16", intrinsics_m=3).swizzle("Lhs").own]
        ['intrinsic', 'element']
        """
        return tuple(d for d in self.ordered if d.role != "thread")

    def fragment(self, subgroups: int, subgroup_size: int) -> Layout:
        """Who holds what: a thread's slice in memory order is its registers; idle factors of the machine are replicas.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> print(DataTiledMMAAttr("WMMAR3_F32_16x16x16_F16").swizzle("Lhs").fragment(1, 32))
        d0 = 16@lane, d1 = 16@reg | replicas 2@lane:16
        """
        if type(subgroups) is not int or type(subgroup_size) is not int or min(subgroups, subgroup_size) < 1:
            raise VerificationError(f"{shown(subgroups)} subgroups of {shown(subgroup_size)}: expected whole numbers")
        used = [d for d in self.ordered if d.role == "thread" and d.extent > 1]
        idle = [
            factor
            for axis, size in (("sg", subgroups), ("lane", subgroup_size))
            for factor in _idle(axis, size, [d for d in used if d.axis == axis])
        ]
        return Layout(self._placed("reg", lambda factor: factor.role != "thread"), idle).canonical()

    def slice_of(self, tid: int, subgroup_size: int) -> tuple[Ints, Ints]:
        """The offsets and sizes of a thread's slice of the tile in memory.

        >>> from layoutalg.nested.gpu import DataTiledMMAAttr
        >>> DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16").swizzle("Lhs").slice_of(17, 32)
        ((1, 1, 0), (1, 1, 8))
        """
        if type(tid) is not int or type(subgroup_size) is not int or tid < 0 or subgroup_size < 1:
            raise VerificationError(
                f"thread {shown(tid)} of subgroups of {shown(subgroup_size)}: expected whole numbers"
            )
        place = {"sg": tid // subgroup_size, "lane": tid % subgroup_size}
        offsets = tuple(
            place[d.axis] // d.stride % d.extent if d.role == "thread" and d.extent > 1 else 0 for d in self.ordered
        )
        return offsets, tuple(1 if d.role == "thread" else d.extent for d in self.ordered)

    def _placed(self, axis: str, along: Callable[[SwizzleFactor], bool]) -> list[list[Factor]]:
        """The factors of each dimension: the factors `along` an axis in memory order, the others where their threads are."""
        flat = [factor for factors in self.dims for factor in factors]
        factors = [Factor(d.extent, d.stride, d.axis if d.extent > 1 else None) for d in flat]
        step = 1
        for i in reversed(self.permutation):
            if along(flat[i]):
                factors[i] = Factor(flat[i].extent, step, axis)
                step *= flat[i].extent
        first = len(self.dims[0])
        return [factors[:first], factors[first:]]


def _idle(axis: str, size: int, used: Sequence[SwizzleFactor]) -> list[Factor]:
    """The factors of an axis of `size` that none of `used` has."""
    found: list[Factor] = []
    place = 1
    for factor in sorted(used, key=lambda d: d.stride):
        if factor.stride > place:
            found.append(Factor(factor.stride // place, place, axis))
        place = factor.stride * factor.extent
    if size > place:
        found.append(Factor(size // place, place, axis))
    return found


class SwizzleBuilder:
    """Factors pushed one after another, each in front of its dimension's factors and outermost in memory.

    >>> build = SwizzleBuilder()
    >>> build.push(SwizzleFactor(1, 4, "element"))
    >>> build.push(SwizzleFactor(0, 16, "thread", "lane", 1), keep=True)
    >>> build.done().tile_shape
    (16, 4)
    """

    def __init__(self) -> None:
        self.dims: tuple[list[SwizzleFactor], list[SwizzleFactor]] = ([], [])
        self.order: list[SwizzleFactor] = []

    def push(self, factor: SwizzleFactor, keep: bool = False, inside_threads: bool = False) -> None:
        """Put a factor in place; one of extent 1 only if `keep`; `inside_threads`: just inside the innermost thread factor."""
        if factor.extent == 1 and not keep:
            return
        self.dims[factor.dim].insert(0, factor)
        at = 0
        if inside_threads:
            at = max(i for i, other in enumerate(self.order) if other.role == "thread") + 1
        self.order.insert(at, factor)

    def swap_outermost(self) -> None:
        """Exchange the two outermost factors in memory."""
        self.order[:2] = self.order[1::-1]

    def done(self) -> TileSwizzle:
        """The swizzle."""
        flat = [*self.dims[0], *self.dims[1]]
        return TileSwizzle(
            (tuple(self.dims[0]), tuple(self.dims[1])), tuple(flat.index(factor) for factor in self.order)
        )
