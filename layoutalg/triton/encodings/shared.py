"""Shared memory by its bases: `#ttg.shared_linear`, `#ttg.padded_shared`, and `#ttg.partitioned_shared` of several memories.

A shared_linear lists what each bit of the offset moves, XOR included. A padded one leaves `pad` elements free after every
`interval`, and a partitioned one deals pieces of a dimension out to separate memories:

>>> print(PaddedShared(((4, 2),), offset=((0, 1), (0, 2), (1, 0))))
#ttg.padded_shared<[4:+2] {order = [1, 0], shape = [2, 4]}>
>>> PaddedShared(((4, 2),), offset=((0, 1), (0, 2), (1, 0))).address(5)
7
>>> from layoutalg.triton.encodings import SwizzledShared
>>> PartitionedShared(2, 1, 0, SwizzledShared(1, 1, 1, (1, 0))).to_linear((4, 2)).bases_of("partition")
((2, 0),)
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.triton.bases import trusted
from layoutalg.triton.encodings.encoding import InSharedMemory, as_bases_field, as_sizes_field, key_text
from layoutalg.triton.given import Bases
from layoutalg.triton.layouts import from_linear_layout
from layoutalg.triton.linear import LinearLayout, bases_text

__all__ = ["PaddedShared", "PartitionedShared", "SharedLinear"]


def _own(offset: Bases, block: Bases) -> LinearLayout:
    """The layout of bases of the offset and of the block, which say their own shape."""
    every = (*offset, *block)
    ranks = {len(basis) for basis in every}
    if len(ranks) != 1 or ranks == {0}:
        raise VerificationError(f"bases of {sorted(ranks)} coordinates: expected bases of one rank, one at least")
    shape = [1 << max(column).bit_length() for column in zip(*every, strict=True)]
    made = trusted(
        LinearLayout, (("offset", offset), ("block", block)), [(f"dim{d}", size) for d, size in enumerate(shape)]
    )
    if not made.is_surjective():
        raise VerificationError(
            "Layout is expected to be surjective, i.e. every `out` coordinate can be reached by some `in` coordinate, "
            f"but was not: nothing reaches {made.unreached()}"
        )
    return made


def _own_shape(own: LinearLayout, shape: tuple[int, ...]) -> LinearLayout:
    for d, (wanted, size) in enumerate(zip(shape, own.shape, strict=True)):
        if wanted != size:
            raise DistributionError(f"Mismatch in expected shape for dimension {d}. Expected: {wanted}, got: {size}")
    return own


@dataclass(frozen=True, slots=True)
class SharedLinear(InSharedMemory):
    """`#ttg.shared_linear`: the bases themselves, for one shape alone; `aligned` is the alignment in bytes.

    Raises `VerificationError` for coordinates that nothing reaches, and an alignment that is not a power of two.

    >>> SharedLinear(offset=((0, 1), (1, 1))).to_linear((4, 4))
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: Mismatch in expected shape for dimension 0. Expected: 4, got: 2
    """

    offset: Bases = ()
    block: Bases = ()
    aligned: int = 16

    def __post_init__(self) -> None:
        for name in ("offset", "block"):
            object.__setattr__(self, name, as_bases_field(name, getattr(self, name)))
        size = self._whole("aligned", "alignment =", 1, 2**30)
        if size & (size - 1):
            raise VerificationError(f"alignment must be a power of two; found {size}")
        own = _own(self.offset, self.block)
        if sum(map(any, (*self.offset, *self.block))) != own.out_bits:
            raise VerificationError(
                "After removing the zero bases the layout must be bijective; found more bases than the "
                f"{own.out_bits} bits of {'x'.join(map(str, own.shape))}"
            )

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len((*self.offset, *self.block)[0])

    @property
    def alignment(self) -> int:
        """The alignment of the memory, in bytes."""
        return self.aligned

    def _once(self) -> tuple[int, ...]:
        return _own(self.offset, self.block).shape

    def __str__(self) -> str:
        block = f", block = {bases_text(self.block)}" if self.block else ""
        return f"#ttg.shared_linear<{{offset = {bases_text(self.offset)}{block}}}, alignment = {self.aligned}>"

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        return _own_shape(_own(self.offset, self.block), shape)


@dataclass(frozen=True, slots=True)
class PaddedShared(InSharedMemory):
    """`#ttg.padded_shared`: `pads` lists (interval, pad) in elements; the bases are of the offset without padding.

    `block` counts elements. The layout is the part without padding; `address` adds it.

    Raises `VerificationError` in Triton's words for bases that are not a permutation, and intervals that are there twice.

    >>> PaddedShared(((4, 8), (4, 1)), offset=((1,),))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: interval values cannot have duplicates; found [4, 4]
    """

    pads: tuple[tuple[int, int], ...]
    offset: Bases = ()
    block: Bases = ()

    def __post_init__(self) -> None:
        pairs = as_bases_field("pairs of an interval and its padding", self.pads)
        object.__setattr__(self, "pads", pairs)
        for pair in pairs:
            if len(pair) != 2 or any(n < 1 or n & (n - 1) for n in pair):
                raise VerificationError(f"interval:+padding {list(pair)}: interval and padding must be powers of two")
        if len({interval for interval, _ in pairs}) != len(pairs):
            raise VerificationError(f"interval values cannot have duplicates; found {[pair[0] for pair in pairs]}")
        for name in ("offset", "block"):
            object.__setattr__(self, name, as_bases_field(name, getattr(self, name)))
        if any(not any(basis) for basis in self.offset):
            raise VerificationError("Broadcasting in offset dimension is not supported.; found a basis of zeros")
        for basis in (*self.offset, *self.block):
            moved = [value for value in basis if value]
            if len(moved) > 1 or any(value & (value - 1) for value in moved):
                raise VerificationError(
                    f"padded_shared basis {list(basis)} moves more than one bit: expected a permutation"
                )
        if not self.offset and not self.block:
            raise VerificationError("padded_shared without bases: expected a shape of two elements or more")
        own = _own(self.offset, self.block)
        # CTAs hold whole tiles: no bit of the block is below one of the offset.
        tile = [1 << max([b[d].bit_length() for b in self.offset], default=0) for d in range(self.rank)]
        for basis in self.block:
            if any(0 < value < tile[d] for d, value in enumerate(basis)):
                raise VerificationError(
                    f"layout must factor into CTA and CGA layouts: block basis {list(basis)} is inside a CTA's tile of "
                    f"{'x'.join(map(str, tile))}"
                )
        if sum(map(any, (*self.offset, *self.block))) != own.out_bits:
            raise VerificationError("padded_shared bases must be a permutation; found a bit that two of them move")

    @classmethod
    def in_order(cls, pads: object, order: tuple[int, ...], shape: tuple[int, ...]) -> PaddedShared:
        """The padded encoding that stores a tensor of `shape` with the dimensions of `order` fastest first.

        >>> PaddedShared.in_order(((4, 2),), (0, 1), (2, 2)).offset
        ((1, 0), (0, 1))
        """
        order, shape = (as_sizes_field(name, given, 0) for name, given in (("order", order), ("shape", shape)))
        if len(order) != len(shape):
            raise VerificationError(
                f"Mismatch of shape and order ranks in padded layout: order = {list(order)}, shape = {list(shape)}"
            )
        if sorted(order) != list(range(len(order))):
            raise VerificationError(f"order must be a permutation of 0..(rank-1), but was {list(order)}")
        if any(size < 1 or size & (size - 1) for size in shape):
            raise VerificationError(f"shape = {list(shape)}: expected powers of two")
        return cls(pads, _identity(order, shape))  # pyright: ignore[reportArgumentType]

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len((*self.offset, *self.block)[0])

    def _once(self) -> tuple[int, ...]:
        return _own(self.offset, self.block).shape

    def __str__(self) -> str:
        pads = ", ".join(f"{interval}:+{pad}" for interval, pad in self.pads)
        own = _own(self.offset, self.block)
        # The order in which dimensions come; those of size 1 are the slowest, the last of them first.
        seen = dict.fromkeys(next(d for d, value in enumerate(basis) if value) for basis in self.offset)
        order = (*seen, *(d for d in range(self.rank - 1, -1, -1) if d not in seen))
        if not self.block and self.offset == _identity(order, own.shape):
            return f"#ttg.padded_shared<[{pads}] {key_text({'order': order, 'shape': own.shape})}>"
        return f"#ttg.padded_shared<[{pads}] {{offset = {bases_text(self.offset)}, block = {bases_text(self.block)}}}>"

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        return _own_shape(_own(self.offset, self.block), shape)

    def _layout(self, linear: LinearLayout) -> Layout:
        """The layout onto the padded address: every bit of the offset moves past the padding before it."""

        def padded(factor: Factor) -> list[Factor]:
            extent, stride, axis = factor
            if axis != "addr":
                return [factor]
            bits = range(extent.bit_length() - 1)
            return [Factor(2, self.address(stride << bit), axis) for bit in reversed(bits)]

        plain = from_linear_layout(linear)
        return Layout([[one for factor in factors for one in padded(factor)] for factors in plain.dims], plain.replicas)

    def address(self, offset: int) -> int:
        """Where the element of an offset lies, in elements: the offset, and the padding before it.

        >>> [PaddedShared(((4, 2), (8, 1)), ((1,), (2,), (4,), (8,))).address(o) for o in (3, 4, 8)]
        [3, 6, 13]
        """
        place = whole_number(offset, "offset", 0, MAX_EXTENT)
        return place + sum(place // interval * pad for interval, pad in self.pads)


def _identity(order: tuple[int, ...], shape: tuple[int, ...]) -> Bases:
    return tuple(
        [
            tuple([1 << i if d == moved else 0 for d in range(len(shape))])
            for moved in order
            for i in range(shape[moved].bit_length() - 1)
        ]
    )


@dataclass(frozen=True, slots=True)
class PartitionedShared(InSharedMemory):
    """`#ttg.partitioned_shared`: pieces along a dimension, `partitions` memories by turns, `groups` pieces in each.

    Raises `VerificationError` in Triton's words.

    >>> from layoutalg.triton.encodings import SwizzledShared
    >>> PartitionedShared(3, 2, 0, SwizzledShared(1, 1, 1, (1, 0)))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: numPartitions must be a power of 2 and at least 2; found 3
    """

    partitions: int
    groups: int
    dim: int
    piece: InSharedMemory

    def __post_init__(self) -> None:
        if not isinstance(self.piece, InSharedMemory) or isinstance(self.piece, PartitionedShared):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"partitionLayout {shown(self.piece)}: expected another encoding of shared memory")
        count = self._whole("partitions", "numPartitions =", 0, 2**20)
        if count < 2 or count & (count - 1):
            raise VerificationError(f"numPartitions must be a power of 2 and at least 2; found {count}")
        groups = self._whole("groups", "numGroups =", 0, 2**20)
        if groups < 1 or groups & (groups - 1):
            raise VerificationError(f"numGroups must be a power of 2; found {groups}")
        dim = self._whole("dim", "partitionDim =", -(2**31), 2**31)
        if not 0 <= dim < self.piece.rank:
            raise VerificationError(f"partitionDim must be less than the rank {self.piece.rank}; found {dim}")

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return self.piece.rank

    @property
    def alignment(self) -> int:
        """The alignment of the memory, in bytes."""
        return self.piece.alignment

    @property
    def notes(self) -> tuple[str, ...]:
        """What Triton loses or scrambles in such an attribute."""
        return (*self.remarks, *self.piece.notes)

    def _once(self) -> tuple[int, ...] | None:
        piece = self.piece._once()
        pieces = self.partitions * self.groups
        return piece and tuple([n * pieces if d == self.dim else n for d, n in enumerate(piece)])

    def __str__(self) -> str:
        keys: dict[str, object] = {
            "numPartitions": self.partitions,
            "numGroups": self.groups,
            "partitionDim": self.dim,
            "partitionLayout": self.piece,
        }
        return f"#ttg.partitioned_shared<{key_text(keys)}>"

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        pieces = self.partitions * self.groups
        if shape[self.dim] < pieces:
            raise DistributionError(
                f"dimension {self.dim} of {list(shape)}: expected at least {pieces} elements, one for each piece"
            )
        part = self.piece._linear(tuple([n // pieces if d == self.dim else n for d, n in enumerate(shape)]))
        out = f"dim{self.dim}"
        split = part * LinearLayout.identity_1d(self.partitions, "partition", out)
        return split * LinearLayout.identity_1d(self.groups, "offset", out)
