"""`#ttg.blocked`, and `#ttg.slice` of any encoding: the layouts of loads, stores and reductions.

Blocked deals blocks of `sizePerThread` to lanes, then to warps, and repeats until the tensor is covered. `order` lists the
fastest dimension first. A slice is its parent's layout of a tensor with one more dimension, of size 1:

>>> blocked = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
>>> print(blocked)
#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
>>> blocked.to_linear((32, 16)).warp, Slice(1, blocked).to_linear((32,)).warp
(((8, 0), (16, 0)), ((8,), (16,)))
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import found_whole
from layoutalg.triton.encodings.encoding import (
    Distributed,
    Tiled,
    as_bases_field,
    as_sizes_field,
    check_order,
    key_text,
)
from layoutalg.triton.encodings.product import Product, Tiling, check_cga
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import LinearLayout

__all__ = ["Blocked", "Slice"]


@dataclass(frozen=True, slots=True)
class Blocked(Tiled):
    """`#ttg.blocked`; the lists have an entry per dimension, `cga` the bases of the CTA in its cluster, in tiles of CTAs.

    Raises `VerificationError` in Triton's words.

    >>> Blocked((1, 2), (8, 4), (2, 2), (1, 1))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: order must be a permutation of 0..(rank-1), but was [1, 1]
    """

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]
    cga: Bases = ()

    def __post_init__(self) -> None:
        fields = {
            "sizePerThread": as_sizes_field("sizePerThread", self.size_per_thread),
            "threadsPerWarp": as_sizes_field("threadsPerWarp", self.threads_per_warp),
            "warpsPerCTA": as_sizes_field("warpsPerCTA", self.warps_per_cta),
            "order": as_sizes_field("order", self.order, 0),
        }
        if len(set(map(len, fields.values()))) != 1:
            found = ", ".join(f"{name} = {list(value)}" for name, value in fields.items())
            raise VerificationError(
                f"sizePerThread, threadsPerWarp, warpsPerCTA, and order must all have the same rank.; found {found}"
            )
        check_order(self.order)
        for name, value in zip(
            ("size_per_thread", "threads_per_warp", "warps_per_cta", "order"), fields.values(), strict=True
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        if not self.order:
            raise VerificationError("#ttg.blocked without dimensions: expected at least one")
        check_cga(self.cga, self.rank)

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len(self.order)

    def __str__(self) -> str:
        keys: dict[str, object] = {
            "sizePerThread": self.size_per_thread,
            "threadsPerWarp": self.threads_per_warp,
            "warpsPerCTA": self.warps_per_cta,
            "order": self.order,
            "CGALayout": self.cga or None,
        }
        return f"#ttg.blocked<{key_text(keys)}>"

    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""
        return Tiling(self._blocks(self.size_per_thread), self.order, self.cga, drop_registers=True)

    def _blocks(self, sizes: tuple[int, ...], without: int | None = None) -> Product:
        """Blocks of registers, lanes and warps; lanes and warps hold copies along the dimension `without`."""
        blocks = Product(self.rank)
        for name, counts in (("register", sizes), ("lane", self.threads_per_warp), ("warp", self.warps_per_cta)):
            for d in self.order:
                blocks.put(counts[d], name, None if d == without and name != "register" else d)
        return blocks

    def _check_dot(self, index: int, width: int) -> None:
        """Refuse what Triton refuses of `#ttg.dot_op` with this parent."""
        if width:
            raise VerificationError("ttg.dot_op kWidth parameter is not supported when the parent is a blocked layout")

    def _dot_operand(self, index: int, width: int, shape: tuple[int, ...]) -> Tiling:
        """The pieces of operand A (0) or B (1) of a `tt.dot` with this result."""
        k = self.rank - 1 - index
        sizes = tuple([shape[d] if d == k else n for d, n in enumerate(self.size_per_thread)])
        cga = tuple([tuple([0 if d == k else b for d, b in enumerate(basis)]) for basis in self.cga])
        return Tiling(self._blocks(sizes, without=k), self.order, cga)


@dataclass(frozen=True, slots=True)
class Slice(Distributed):
    """`#ttg.slice`: the parent's layout with dimension `dim` left out.

    Raises `VerificationError` for a dimension that the parent does not have, and for a parent that is not distributed.

    >>> print(Slice(0, Blocked((1, 1), (8, 4), (2, 2), (1, 0))).to_linear((8,)))
    #ttg.linear<{register = [], lane = [[1], [2], [0], [0], [0]], warp = [[4], [0]], block = []}>
    """

    dim: int
    parent: Distributed

    def __post_init__(self) -> None:
        if not isinstance(self.parent, Distributed):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"slice of {shown(self.parent)}: expected a distributed encoding as its parent")
        dim = found_whole(self.dim)
        if dim is None or not 0 <= dim < self.parent.rank:
            raise VerificationError(f"slice dim={shown(self.dim)} must be less than the parent rank={self.parent.rank}")
        object.__setattr__(self, "dim", dim)
        if self.parent.rank < 2:
            raise VerificationError("slice of a parent of rank 1: expected a parent of at least rank 2")

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return self.parent.rank - 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What Triton loses or scrambles in such an attribute."""
        return (*self.remarks, *self.parent.notes)

    def _once(self) -> tuple[int, ...] | None:
        whole = self.parent._once()
        return whole and (*whole[: self.dim], *whole[self.dim + 1 :])

    def __str__(self) -> str:
        return f"#ttg.slice<{key_text({'dim': self.dim, 'parent': self.parent})}>"

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        whole = self.parent._linear((*shape[: self.dim], 1, *shape[self.dim :]))
        names = whole.get_out_dim_names()
        kept = whole.sublayout(whole.get_in_dim_names(), [name for name in names if name != names[self.dim]])
        rest = [name for d, name in enumerate(names) if d != self.dim]
        return kept.renamed(outs={name: f"dim{d}" for d, name in enumerate(rest)}).remove_zero_bases_along_dim(
            "register"
        )
