"""`#ttg.nvmma_shared`: the swizzled tiles that TMA writes, and that wgmma and tcgen05 read.

A row of a swizzled tile has `swizzlingByteWidth` bytes; eight rows make a pattern, in which 16-byte pieces are XORed with the
row. Of f16 with 32 bytes, a row has 16 elements, 8 to a piece, and every fourth row another phase:

>>> shared = NvmmaShared(32, False, 16)
>>> shared.to_linear((8, 16)).bases_of("offset")
((0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8))

`transposed` swaps which dimension lies along a row. For three dimensions or more Triton scrambles it; that is answered as
Triton has it, and `notes` says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.whole_numbers import as_flag
from layoutalg.triton.encodings.encoding import InSharedMemory, as_bases_field, key_text
from layoutalg.triton.encodings.product import Product, check_cga, of_cluster, per_cta
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import LinearLayout

__all__ = ["NvmmaShared"]

_LONGEST_SIDE = 256
"""Elements along a side of a block that TMA copies."""


@dataclass(frozen=True, slots=True)
class NvmmaShared(InSharedMemory):
    """`#ttg.nvmma_shared`; `bytes_wide` is 0, 32, 64 or 128, `element_bits` the element's, `dims` the rank.

    With `fp4_padded` 8 of every 16 offsets are padding.

    Raises `VerificationError` in Triton's words.

    >>> NvmmaShared(48, False, 16)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: swizzlingByteWidth must be 0, 32, 64, or 128; found 48
    """

    bytes_wide: int
    transposed: bool
    element_bits: int
    fp4_padded: bool = False
    cga: Bases = ()
    dims: int = 2

    def __post_init__(self) -> None:
        wide = self._whole("bytes_wide", "swizzlingByteWidth =", 0, 2**20)
        if wide not in (0, 32, 64, 128):
            raise VerificationError(f"swizzlingByteWidth must be 0, 32, 64, or 128; found {self.bytes_wide}")
        bits = self._whole("element_bits", "elementBitWidth =", 0, 2**20)
        if bits not in (8, 16, 32, 64):
            raise VerificationError(f"elementBitWidth = {bits}: expected 8, 16, 32 or 64")
        object.__setattr__(self, "transposed", as_flag(self.transposed, "transposed", VerificationError))
        object.__setattr__(self, "fp4_padded", as_flag(self.fp4_padded, "fp4Padded", VerificationError))
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        self._whole("dims", "rank =", 1, 16)
        check_cga(self.cga, self.rank)

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return self.dims

    @property
    def alignment(self) -> int:
        """The alignment of the memory, in bytes."""
        return 128 * max(1, self.bytes_wide // 16)

    @property
    def notes(self) -> tuple[str, ...]:
        """What Triton loses or scrambles in such an attribute."""
        if self.transposed and self.rank > 2:
            words = "Triton scrambles transposed tiles of three dimensions and more: this is the layout that it uses"
            return (*self.remarks, words)
        return self.remarks

    def __str__(self) -> str:
        keys: dict[str, object] = {
            "swizzlingByteWidth": self.bytes_wide,
            "transposed": self.transposed,
            "elementBitWidth": self.element_bits,
            "fp4Padded": True if self.fp4_padded else None,
            "CGALayout": self.cga or None,
            "rank": self.rank if not self.cga and self.rank != 2 else None,
        }
        return f"#ttg.nvmma_shared<{key_text(keys)}>"

    @property
    def _bits(self) -> int:
        return self.element_bits

    def _once(self) -> tuple[int, ...] | None:
        """A swizzled tile: eight rows of the swizzle's bytes. Without a swizzle nothing repeats."""
        if not self.bytes_wide or self.rank < 2 or (self.transposed and self.rank > 2):
            return None
        tile = [8, self._stored]
        return of_cluster(self.cga, (*[1] * (self.rank - 2), *(reversed(tile) if self.transposed else tile)))

    @property
    def _stored(self) -> int:
        """The elements of a row of a swizzled tile."""
        return 8 * self.bytes_wide // self.element_bits // (1 + self.fp4_padded)

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        rank = self.rank
        inside, _ = per_cta(self.cga, shape)
        if rank < 2 and self.bytes_wide:
            raise DistributionError(f"rank >= 2: a swizzled nvmma_shared of shape {list(shape)} has one dimension only")
        contiguous = 0 if self.transposed else rank - 1
        block = [min(size, _LONGEST_SIDE) for size in inside]
        if self.bytes_wide:
            wide, stored = 8 * self.bytes_wide // self.element_bits, self._stored
            if inside[contiguous] < stored:
                raise DistributionError(
                    f"block shape along the contiguous dimension {contiguous} is too small for the swizzle byte size "
                    f"{self.bytes_wide} in an NVMMASharedLayout, got {inside[contiguous]} but expected at least {stored}"
                )
            block[contiguous] = stored
            memory, order = self._swizzled(block, wide), range(rank)
        else:
            memory, order = self._plain(block), range(rank - 1, -1, -1)
        return memory.grow(order, inside).fit(order, self.cga, shape)

    def _fold(self, dims: Iterable[int], sizes: Iterable[int], flat: int) -> tuple[int, ...]:
        """The coordinates of a flat index over some dimensions, the last one fastest."""
        found = [0] * self.rank
        for d, size in reversed(list(zip(dims, sizes, strict=True))):
            found[d] = flat % size
            flat //= size
        return tuple(found)

    def _order(self) -> list[int]:
        """The dimensions of the matrix, slowest first."""
        return [*range(1, self.rank), 0] if self.transposed else [*range(self.rank)]

    def _plain(self, block: list[int]) -> Product:
        memory = Product(self.rank, ("offset",))
        if not self.transposed:
            return memory.grow(range(self.rank - 1, -1, -1), block)
        # Triton turns the dimensions the wrong way round: from rank 3 on, sizes and dimensions do not belong together.
        for place, d in reversed(list(enumerate(self._order()))):
            memory.put(block[d], "offset", (place - 1) % self.rank)
        return memory

    def _swizzled(self, block: list[int], wide: int) -> Product:
        vec, per_phase, max_phase = 128 // self.element_bits, 128 // self.bytes_wide, self.bytes_wide // 16
        # The matrix that is swizzled: of a transposed block Triton takes the last dimension for the rows, whatever the rank.
        columns = prod(block[:-1]) if self.transposed else block[-1]
        rows = prod(block) // columns
        if rows < 8:
            raise DistributionError(
                f"Illegal shared layout: a block of {'x'.join(map(str, block))} has {rows} rows of {self.bytes_wide} bytes, "
                "and the swizzle needs 8"
            )

        def packed(column: int) -> int:
            return column // 16 * 8 + column % 8 if self.fp4_padded else column

        flat = [packed(column) for column in _powers(1, wide)]
        flat += [row * columns + packed(vec * (row // per_phase % max_phase)) for row in (1, 2, 4)]
        flat += [row * columns for row in _powers(8, rows)]
        flat += _powers(packed(wide), columns)
        dims = self._order()
        memory = Product(self.rank, ("offset",))
        for one in flat:
            memory.add("offset", self._fold(dims, [block[d] for d in dims], one))
        return memory


def _powers(low: int, high: int) -> list[int]:
    """The powers of two from `low` to below `high`."""
    return [1 << i for i in range(low.bit_length() - 1, high.bit_length() - 1)]
