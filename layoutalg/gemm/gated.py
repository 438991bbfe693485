"""Gated pairs: two products of one A in one loop, and one C of both, such as silu(a) * b.

B has 2n columns: A times the first n of them is `acc`, A times the others `acc2`. (A transposed B has 2n rows.) Frameworks keep
the gate and the up projection of a layer in one such array. A step loads A once and both parts of B. A subgroup has two
accumulators for each element of its tile of C.

By hand: a tile of 8x32 of C is 8x64 in the loop, whose columns 0 to 31 are those of C in the first part of B, and 32 to 63 the
same ones in the second, which begins n columns further.

>>> from layoutalg.gemm.problem import Problem
>>> problem = Problem.of(64, 96, 64, gated="silu")
>>> print(problem); print(problem.matrices[1])
C[64, 96] f32 = silu(acc) * acc2 with acc, acc2 = A[64, 64] f16 * B[64, 192] f16 on pvc
B is 64x192 f16
>>> str(doubled(Tiling(Tile(8, 32, 32)))), loop_of(problem).n
('8x64x32 per subgroup, 1x1 subgroups, 128 registers, no prefetch', 192)

The law: the loop is that of a plain product of m x 2n, except for where the second half of a tile's columns lies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from layoutalg.core.errors import PlanError
from layoutalg.gemm.tiling import Tile, Tiling

if TYPE_CHECKING:
    from layoutalg.gemm.product import Product

__all__ = ["check_gated", "doubled", "loop_of"]

_LINE = 64
_Product = TypeVar("_Product", bound="Product")


def check_gated(problem: Product) -> None:
    """Refuse what no loop of two products has.

    Raises `PlanError`: says what would do.

    >>> from layoutalg.gemm.problem import Problem
    >>> Problem.of(64, 96, 64, gated="silu", trans_a=True)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: trans_a with acc2: gated pairs are planned for an A that lies as m x k
    """
    if problem.trans_a:
        raise PlanError("trans_a with acc2: gated pairs are planned for an A that lies as m x k")


def loop_of(problem: _Product) -> _Product:
    """The product of m x 2n that the loop computes. Its C is in registers, so its leading dimension is one that passes."""
    n = 2 * problem.n
    plain = {"bias": None, "scale": None, "beta": 0.0, "epilogue": None}
    return replace(problem, n=n, ldc=-(-n // _LINE) * _LINE, gated=False, halves=True, **plain)  # pyright: ignore[reportArgumentType]


def doubled(tiling: Tiling) -> Tiling:
    """The tiling of the loop."""
    tile = tiling.tile
    return replace(tiling, tile=Tile(tile.m, 2 * tile.n, tile.k))
