"""How the work is divided: a workgroup's subgroups, a subgroup's tile of C, and how deep a step of the loop over k is.

By hand: 8x4 subgroups of 32x64 make workgroups of 256x256 elements of C; with 16 lanes they are 512 work-items. For one step of
64 of k the workgroup needs 256x64 elements of A and 64x256 of B.

>>> tiling = Tiling(Tile(32, 64, 64), subgroups=(8, 4), registers=256, prefetch="shared")
>>> tiling.workgroup_tile, tiling.count
(Tile(m=256, n=256, k=64), 32)
>>> str(tiling)
'32x64x64 per subgroup, 8x4 subgroups, 256 registers, shared prefetch 1 step ahead'
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import one_of
from layoutalg.gemm.surface import whole_number

__all__ = ["PREFETCHES", "REGISTERS", "Tile", "Tiling"]

PREFETCHES = ("none", "shared", "lines")
"""`shared`: the subgroups of a workgroup share the blocks of the next step out, one 2-D prefetch each; `lines`: each lane asks
for one cache line."""
REGISTERS = (128, 256)


@dataclass(frozen=True, order=True)
class Tile:
    """m x n elements of C, k deep in one step of the loop.

    >>> str(Tile(32, 16, 16))
    '32x16x16'
    """

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


@dataclass(frozen=True, order=True)
class Tiling:
    """The tile of a subgroup, the subgroups of a workgroup (rows, columns), registers per thread, and how data is prefetched.

    `distance` is how many steps ahead a prefetch asks; without prefetch it says nothing.

    >>> Tiling(Tile(8, 16, 16)).prefetch
    'none'
    """

    tile: Tile
    subgroups: tuple[int, int] = (1, 1)
    registers: int = 128
    prefetch: str = "none"
    distance: int = 1

    def __post_init__(self) -> None:
        one_of(self.prefetch, PREFETCHES, "prefetch", PlanError)
        if self.registers not in REGISTERS:
            raise PlanError(f"registers = {shown(self.registers)}: a thread has 128, or 256 with large register files")
        whole_number("distance", self.distance, 64)

    @property
    def count(self) -> int:
        """Subgroups of a workgroup.

        >>> Tiling(Tile(8, 16, 16), (2, 4)).count
        8
        """
        return self.subgroups[0] * self.subgroups[1]

    @property
    def workgroup_tile(self) -> Tile:
        """What a workgroup computes.

        >>> Tiling(Tile(8, 16, 16), (2, 4)).workgroup_tile
        Tile(m=16, n=64, k=16)
        """
        return Tile(self.tile.m * self.subgroups[0], self.tile.n * self.subgroups[1], self.tile.k)

    def __str__(self) -> str:
        rows, columns = self.subgroups
        steps = f"{self.distance} step{'s' * (self.distance > 1)} ahead"
        ahead = "no prefetch" if self.prefetch == "none" else f"{self.prefetch} prefetch {steps}"
        return f"{self.tile} per subgroup, {rows}x{columns} subgroups, {self.registers} registers, {ahead}"
