"""How every encoding of Triton is built: a product of small pieces, then made to fit a tensor and a cluster.

A `Product` counts how far each dimension is covered. `put(4, "lane", 1)` gives the next 2 bits of the lane the next 2 free bits
of dimension 1; `put(2, "warp")` gives the next bit of the warp nothing, so that warps hold copies. Here a warp covers 8x8,
and a tensor of 16x8 repeats it in the registers; of 4x8 only the lower half of the lanes hold something of their own:

>>> tile = Product(2).put(2, "register", 1).put(4, "lane", 1).put(8, "lane", 0)
>>> print(tile.fit((1, 0), (), (16, 8)))
#ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>
>>> print(tile.fit((1, 0), (), (4, 8)))
#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [0, 0]], warp = [], block = []}>

The law: with one CTA and a tensor of the product's own size, `fit` changes nothing. The rules were asked of Triton 3.9
(tests/oracle/data/triton_encodings.jsonl.gz).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.triton.bases import trusted
from layoutalg.triton.given import Bases, Basis
from layoutalg.triton.linear import LinearLayout

__all__ = ["Product", "Tiling", "cga_from_splits", "check_cga", "cut", "of_cluster", "per_cta"]

DISTRIBUTED = ("register", "lane", "warp")


class Product:
    """Bases that are put together, one piece after the other, and how far they cover each dimension.

    >>> Product(1).put(4, "lane", 0).put(2, "lane").bases["lane"]
    [(1,), (2,), (0,)]
    """

    def __init__(self, rank: int, inputs: Sequence[str] = DISTRIBUTED) -> None:
        self.sizes = [1] * rank
        self.bases: dict[str, list[Basis]] = {name: [] for name in inputs}

    def put(self, count: int, name: str, dim: int | None = None) -> Product:
        """The next bits of an input, for `count` values, cover the next bits of a dimension, or (None) hold copies."""
        for _ in range(count.bit_length() - 1):
            if dim is None:
                self.bases[name].append((0,) * len(self.sizes))
            else:
                self.bases[name].append(_one(len(self.sizes), dim, self.sizes[dim]))
                self.sizes[dim] *= 2
        return self

    def skip(self, count: int, name: str, dim: int, step: int) -> Product:
        """The next bits of an input, for `count` values, move a dimension by `step` and its doubles."""
        for i in range(count.bit_length() - 1):
            self.add(name, _one(len(self.sizes), dim, step << i))
        return self

    def add(self, name: str, basis: Basis) -> Product:
        """The next bit of an input has this basis; the dimensions reach as far as it does."""
        self.bases[name].append(basis)
        self.sizes = [max(size, 1 << value.bit_length()) for size, value in zip(self.sizes, basis, strict=True)]
        return self

    def grow(self, order: Iterable[int], shape: Sequence[int]) -> Product:
        """Cover a larger shape with more bits of the first input, dimension by dimension."""
        first = next(iter(self.bases))
        for dim in order:
            self.put(max(1, shape[dim] // self.sizes[dim]), first, dim)
        return self

    def fit(
        self, order: Sequence[int], cga: Bases, shape: Sequence[int], *, drop_registers: bool = False
    ) -> LinearLayout:
        """The layout for a tensor of `shape` on a cluster: grown in `order`, cut off where the tensor is smaller.

        What is cut off holds copies; with `drop_registers` registers that hold nothing but copies are left out.
        """
        inside, blocks = per_cta(cga, shape)
        whole = Product(len(shape), tuple(self.bases))
        whole.sizes, whole.bases = list(self.sizes), {name: list(own) for name, own in self.bases.items()}
        whole.grow(order, inside)
        bases: list[tuple[str, Bases]] = []
        for name, own in whole.bases.items():
            found = tuple([cut(basis, inside) for basis in own])
            if drop_registers and name == "register":
                found = tuple([b for b, whole in zip(found, own, strict=True) if any(b) or not any(whole)])
            bases.append((name, found))
        at = 3 if "register" in self.bases else len(bases) - ("partition" in self.bases)
        bases.insert(at, ("block", blocks))
        return trusted(LinearLayout, bases, [(f"dim{d}", size) for d, size in enumerate(shape)])


class Tiling(NamedTuple):
    """Pieces that are repeated over a tensor in an order of its dimensions, in each CTA of a cluster.

    >>> tiling = Tiling(Product(2).put(4, "lane", 1).put(8, "lane", 0), (1, 0), ((1, 0),))
    >>> tiling.once, tiling.fit((16, 8)).register
    ((16, 4), ((0, 4),))
    """

    pieces: Product
    order: Sequence[int]
    cga: Bases = ()
    drop_registers: bool = False

    @property
    def once(self) -> tuple[int, ...]:
        """The shape that the pieces of all CTAs cover once."""
        return of_cluster(self.cga, self.pieces.sizes)

    def fit(self, shape: Sequence[int]) -> LinearLayout:
        """The layout for a tensor of `shape`: see `Product.fit`."""
        return self.pieces.fit(self.order, self.cga, shape, drop_registers=self.drop_registers)


def of_cluster(cga: Bases, inside: Sequence[int]) -> tuple[int, ...]:
    """The shape that a cluster holds whose CTAs hold `inside` each.

    >>> of_cluster(((0, 1), (0, 2)), (8, 16))
    (8, 64)
    """
    return tuple([n << max([basis[d] for basis in cga], default=0).bit_length() for d, n in enumerate(inside)])


def _one(rank: int, dim: int, value: int) -> Basis:
    return tuple([value if d == dim else 0 for d in range(rank)])


def cut(basis: Basis, shape: Sequence[int]) -> Basis:
    """A basis without the components that lead outside a smaller tensor.

    >>> cut((4, 1), (4, 4))
    (0, 1)
    """
    return tuple([value if value < size else 0 for value, size in zip(basis, shape, strict=True)])


def per_cta(cga: Bases, shape: Sequence[int]) -> tuple[tuple[int, ...], Bases]:
    """The shape that each CTA of a cluster holds, and the bases of the CTA's number, in elements.

    >>> per_cta(((0, 1), (0, 0)), (32, 64))
    ((32, 32), ((0, 32), (0, 0)))
    """
    kept = [cut(basis, shape) for basis in cga]
    counts = [1 << max([basis[d] for basis in kept], default=0).bit_length() for d in range(len(shape))]
    inside = tuple([max(1, size // count) for size, count in zip(shape, counts, strict=True)])
    return inside, tuple([tuple([b * n for b, n in zip(basis, inside, strict=True)]) for basis in kept])


def check_cga(cga: Bases, rank: int) -> None:
    """Refuse bases of CTAs that do not deal the tensor out evenly, in Triton's words.

    Raises `VerificationError`.

    >>> check_cga(((0, 2),), 2)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: After removing broadcast bases the CGA encoding must be a permutation matrix; found
    CGALayout = [[0, 2]], where dim1 = 1 is missing
    """
    if any(len(basis) != rank for basis in cga):
        raise VerificationError(f"'CGALayout' entry length does not match rank {rank}")
    words = "After removing broadcast bases the CGA encoding must be a permutation matrix; found CGALayout = "
    text = [list(basis) for basis in cga]
    seen: list[set[int]] = [set() for _ in range(rank)]
    for basis in cga:
        moved = [d for d in range(rank) if basis[d]]
        if not moved:
            continue
        d, value = moved[0], basis[moved[0]]
        if len(moved) > 1 or value & (value - 1) or value in seen[d]:
            raise VerificationError(f"{words}{text}, where {list(basis)} does not move one bit of its own")
        seen[d].add(value)
    for d, values in enumerate(seen):
        for i in range(len(values)):
            if 1 << i not in values:
                raise VerificationError(f"{words}{text}, where dim{d} = {1 << i} is missing")


def cga_from_splits(per: Sequence[int], split: Sequence[int], order: Sequence[int]) -> Bases:
    """The CGALayout that CTAsPerCGA, CTASplitNum and CTAOrder of older Tritons say.

    Raises `DistributionError` for numbers that are not powers of two, or that do not go together.

    >>> cga_from_splits([4, 1], [2, 1], [0, 1])
    ((1, 0), (0, 0))
    """
    rank = len(per)
    if not len(split) == len(order) == rank or sorted(order) != list(range(rank)):
        raise DistributionError(
            f"CTAsPerCGA = {list(per)}, CTASplitNum = {list(split)}, CTAOrder = {list(order)}: "
            "expected three lists of one length, the last one a permutation"
        )
    blocks = Product(rank, ("block",))
    for d in order:
        if per[d] < 1 or per[d] & (per[d] - 1) or split[d] < 1 or split[d] & (split[d] - 1) or split[d] > per[d]:
            raise DistributionError(
                f"dimension {d}: CTAsPerCGA = {per[d]}, CTASplitNum = {split[d]}: expected powers of two, the second no larger"
            )
        blocks.put(split[d], "block", d).put(per[d] // split[d], "block")
    return tuple(blocks.bases["block"])
