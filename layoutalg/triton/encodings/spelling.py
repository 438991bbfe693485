"""The way back: which encoding says a given linear layout of registers, lanes and warps.

A blocked encoding where one says the same, else the accumulator of a matrix instruction, else the bases themselves:

>>> mma = NvidiaMma(2, 0, (2, 2), (16, 8))
>>> encoding_of(mma.to_linear((32, 32))) == mma
True
>>> print(encoding_of(LinearLayout(register=((0, 1),), lane=((0, 2), (1, 0)), shape=(2, 4))))
#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [1, 1], order = [1, 0]}>
>>> print(encoding_of(LinearLayout(register=((0, 2),), lane=((0, 1), (1, 0)), shape=(2, 4))))
#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [2, 2], warpsPerCTA = [1, 1], order = [1, 0]}>
>>> print(encoding_of(LinearLayout(lane=((2,), (1,)), shape=(4,))))
#ttg.linear<{register = [], lane = [[2], [1]], warp = [], block = []}>

The law: `encoding_of(linear).to_linear(linear.shape) == linear`. Candidates are read off the bases and then asked whether they
mean the same, so what is found is right, and what is not found is said as `#ttg.linear`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.triton.encodings.amd import AmdMfma
from layoutalg.triton.encodings.blocked import Blocked
from layoutalg.triton.encodings.encoding import Distributed
from layoutalg.triton.encodings.linear_bases import GenericLinear, Linear
from layoutalg.triton.encodings.nvidia import NvidiaMma
from layoutalg.triton.encodings.product import per_cta
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import LinearLayout

__all__ = ["encoding_of"]

_MOST_ORDERED = 4
"""Dimensions of which all orders are tried; Triton's tensors rarely have more."""


def encoding_of(linear: LinearLayout) -> Distributed:
    """The encoding that means a distributed layout, for a tensor of its shape.

    Raises `ConversionError` for a layout of other inputs, and where no encoding of Triton says it.

    >>> encoding_of(LinearLayout.identity_1d(4, "offset", "dim0"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: a layout of offset: expected one of register, lane, warp and block
    """
    instance_of(linear, LinearLayout, "encoding_of", ConversionError)
    if not linear.is_distributed:
        names = ", ".join(linear.get_in_dim_names()) or "nothing"
        raise ConversionError(f"a layout of {names}: expected one of register, lane, warp and block")
    for candidate in _candidates(linear):
        if candidate.to_linear(linear.shape) == linear:
            return candidate
    lists = (linear.register, linear.lane, linear.warp, linear.block)
    reasons: list[str] = []
    for kind in (Linear, GenericLinear):
        try:
            found = kind(*lists)
            if found.to_linear(linear.shape) == linear:
                return found
            reasons.append("its shape is larger than its bases reach")
        except LayoutError as refused:
            reasons.append(str(refused))
    raise ConversionError(f"no encoding of Triton says {linear}: {reasons[-1]}")


def _candidates(linear: LinearLayout) -> Iterator[Distributed]:
    """Encodings that might say a layout; wrong ones are harmless."""
    for make in (_blocked, _nvidia, _mfma):
        try:
            yield from make(linear)
        except LayoutError:
            continue


def _counts(bases: Bases, rank: int) -> tuple[int, ...]:
    """How many values of an input each dimension takes: 2 for each basis that moves it."""
    found = [1] * rank
    for basis in bases:
        for d in range(rank):
            found[d] *= 2 if basis[d] else 1
    return tuple(found)


def _cga(linear: LinearLayout) -> Bases:
    """The bases of the block in tiles of CTAs."""
    inside, _ = _inside(linear)
    return tuple([tuple([b // n for b, n in zip(basis, inside, strict=True)]) for basis in linear.block])


def _inside(linear: LinearLayout) -> tuple[tuple[int, ...], Bases]:
    counts = _counts(linear.block, len(linear.shape))
    tiles = tuple([tuple([counts[d] // 2 if d == e else 0 for e in range(len(counts))]) for d in range(len(counts))])
    return per_cta(tuple(basis for basis in tiles if any(basis)), linear.shape)


def _blocked(linear: LinearLayout) -> Iterator[Distributed]:
    """Lanes and warps as they count each dimension; copies count along the dimension that is slowest."""
    rank = len(linear.shape)
    if not 1 <= rank <= _MOST_ORDERED:
        return
    cga = _cga(linear)
    lanes, warps = _counts(linear.lane, rank), _counts(linear.warp, rank)
    # Registers below the first bit that a lane or a warp moves lie in a block of one lane.
    outer = [min([b[d] for b in (*linear.lane, *linear.warp) if b[d]], default=0) for d in range(rank)]
    counts = _counts(linear.register, rank)
    sizes = tuple([step or count for step, count in zip(outer, counts, strict=True)])
    for order in permutations(range(rank)):
        for more in _with_copies(linear.lane, lanes):
            for yet in _with_copies(linear.warp, warps):
                yield Blocked(sizes, more, yet, order, cga)


def _with_copies(bases: Bases, counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Counts per dimension, with the values that hold copies counted along each dimension by turns."""
    copies = 1 << sum(not any(basis) for basis in bases)
    for d in reversed(range(len(counts) if copies > 1 else 1)):
        yield tuple([n * copies if i == d else n for i, n in enumerate(counts)])


def _nvidia(linear: LinearLayout) -> Iterator[Distributed]:
    rank = len(linear.shape)
    if rank < 2 or len(linear.lane) != 5:
        return
    cga = _cga(linear)
    for warps in _with_copies(linear.warp, _counts(linear.warp, rank)):
        for rows in (16, 8):
            yield NvidiaMma(2, 0, warps, ((1,) * (rank - 2)) + (rows, 8), cga)
        if rank == 2:
            for bits in range(3, 9):
                yield NvidiaMma(3, 0, warps, (16, 1 << bits, 16), cga)


def _mfma(linear: LinearLayout) -> Iterator[Distributed]:
    rank = len(linear.shape)
    if rank < 2 or len(linear.lane) != 6:
        return
    cga = _cga(linear)
    for warps in _with_copies(linear.warp, _counts(linear.warp, rank)):
        for (m, n), depth in (((32, 32), 8), ((16, 16), 16), ((4, 64), 4), ((64, 4), 4)):
            for transposed in (True, False):
                if transposed or (m, n) != (64, 4):
                    # The depth of the instruction does not show in its result.
                    yield AmdMfma(3, warps, (m, n, depth), transposed, cga)
