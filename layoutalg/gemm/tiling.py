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

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import found_whole, instance_of, listed, one_of
from layoutalg.gemm.matrix_in_memory import whole_number
from layoutalg.gemm.options import PREFETCHES, REDUCTIONS, TRANSPOSES

__all__ = ["MOST_AHEAD", "MOST_PARTS", "MOST_RUNS", "REGISTERS", "Tile", "Tiling", "pair", "register_file", "runs_of"]

REGISTERS = (128, 256)
MOST_PARTS = 64
"""Parts of k: the reduction loads as many numbers at once, a register each."""
MOST_AHEAD = 64
"""Steps ahead that a prefetch asks."""
MOST_RUNS = 2**16
"""Workgroups that share the steps of all tiles; no chip holds as many."""
_LARGEST = 2**24
_LONGEST = 1024
"""The longest side of a subgroup's tile, and the deepest step: registers hold less, and every block of it is planned."""


@dataclass(frozen=True, order=True)
class Tile:
    """m x n elements of C, k deep in one step of the loop.

    Raises `PlanError` for sides that are not whole numbers from 1 on.

    >>> str(Tile(32, 16, 16))
    '32x16x16'
    """

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        for name, size in (("m", self.m), ("n", self.n), ("k", self.k)):
            if type(size) is not int or not 0 < size <= _LARGEST:
                object.__setattr__(self, name, whole_number(f"tile: {name}", size, _LARGEST**2))

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


@dataclass(frozen=True, order=True)
class Tiling:
    """The tile of a subgroup, the subgroups of a workgroup (rows, columns), registers per thread, and how data is prefetched.

    `distance` is how many steps ahead a prefetch asks; without prefetch it says nothing. `split_k` is in how many parts k is
    computed, each by workgroups of its own (`layoutalg.gemm.split_k`), and `reduction` who adds the parts
    (`options.REDUCTIONS`). `stream_k` is how many workgroups share the steps of all tiles evenly, 0 where each workgroup has
    one tile (`layoutalg.gemm.stream_k`). `transpose` is how a transposed A comes to its operands (`options.TRANSPOSES`); it
    says nothing of other products.

    Raises `PlanError` for values that no kernel has.

    >>> Tiling(Tile(8, 16, 16)).prefetch
    'none'
    """

    tile: Tile
    subgroups: tuple[int, int] = (1, 1)
    registers: int = 128
    prefetch: str = "none"
    distance: int = 1
    split_k: int = 1
    transpose: str = "registers"
    reduction: str = "kernel"
    stream_k: int = 0

    def __post_init__(self) -> None:
        one_of(self.prefetch, PREFETCHES, "prefetch", PlanError)
        one_of(self.reduction, REDUCTIONS, "reduction", PlanError)
        one_of(self.transpose, TRANSPOSES, "transpose", PlanError)
        instance_of(self.tile, Tile, "tile", PlanError)
        if max(self.tile.m, self.tile.n, self.tile.k) > _LONGEST:
            raise PlanError(f"tile {shown(str(self.tile))}: a subgroup's tile and its step are at most {_LONGEST} long")
        object.__setattr__(self, "subgroups", pair("subgroups", self.subgroups))
        object.__setattr__(self, "registers", register_file(self.registers))
        object.__setattr__(self, "distance", whole_number("distance", self.distance, MOST_AHEAD))
        object.__setattr__(self, "split_k", whole_number("split_k", self.split_k, MOST_PARTS))
        object.__setattr__(self, "stream_k", runs_of(self.stream_k))

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
        parts = f", k in {self.split_k} parts" if self.split_k > 1 else ""
        parts += " added by the last" if self.split_k > 1 and self.reduction == "last" else ""
        parts += f", stream-K on {counted(self.stream_k, 'workgroup')}" if self.stream_k else ""
        turned = f", transpose {self.transpose}" if self.transpose != "registers" else ""
        return (
            f"{self.tile} per subgroup, {rows}x{columns} subgroups, {self.registers} registers, {ahead}{parts}{turned}"
        )


def pair(name: str, given: object) -> tuple[int, int]:
    """Two sizes that somebody passed, of a tile or of a grid of subgroups.

    Raises `PlanError`: it is something else.
    """
    try:
        sizes = listed(given, name, 2)
    except LayoutError:
        sizes = ()
    if len(sizes) != 2:
        example = "a tile is two sizes (m, n), such as (32, 16)" if name == "tile" else "two numbers, such as (8, 4)"
        raise PlanError(f"{name} {shown(given)}: {example}")
    return whole_number(name, sizes[0]), whole_number(name, sizes[1])


def register_file(given: object) -> int:
    """The registers of a thread that somebody passed.

    Raises `PlanError`: a thread has another number.
    """
    number = found_whole(given)
    if number not in REGISTERS:
        raise PlanError(f"registers = {shown(given)}: a thread has 128, or 256 with large register files")
    return number


def runs_of(given: object) -> int:
    """The workgroups that somebody passed to share the steps of all tiles; 0 for none.

    Raises `PlanError`: it is no such number.
    """
    number = found_whole(given)
    if number is None or not 0 <= number <= MOST_RUNS:
        raise PlanError(
            f"stream_k = {shown(given)}: expected a number of workgroups up to {MOST_RUNS}, 0 for a tile each"
        )
    return number
