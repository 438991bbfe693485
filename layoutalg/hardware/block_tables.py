"""Which 2D block messages a chip has, as rows of sizes: what a new chip adds to the table of chips.

A row is an element size and a width, with every number of rows that a message of it may have, and every number of blocks side
by side. Of 16 bits, Xe-HPC and Xe2 load blocks of 16 columns, 1 to 32 rows high, one or two of them:

>>> print(XE_BLOCKS.loads[2])
16 bits, 16 wide x 1, 2, 4, 8, 16, 32 rows x 1, 2 blocks

Source: cl_intel_subgroup_2d_block_io 1.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["XE_BLOCKS", "BlockSizes", "BlockTable"]


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Messages of one element size and width (in elements): each of `rows` with each of `counts` blocks side by side.

    >>> BlockSizes(32, 16, (1, 8)).has(8, 1), BlockSizes(32, 16, (1, 8)).has(8, 2)
    (True, False)
    """

    bits: int
    width: int
    rows: tuple[int, ...]
    counts: tuple[int, ...] = (1,)

    def has(self, rows: int, count: int) -> bool:
        """Whether there is a message of so many rows and blocks."""
        return rows in self.rows and count in self.counts

    def __str__(self) -> str:
        return f"{self.bits} bits, {self.sizes}"

    @property
    def sizes(self) -> str:
        """Width, rows and blocks in words.

        >>> BlockSizes(32, 16, (1, 8)).sizes
        '16 wide x 1, 8 rows x 1 blocks'
        """
        rows, counts = (", ".join(map(str, numbers)) for numbers in (self.rows, self.counts))
        return f"{self.width} wide x {rows} rows x {counts} blocks"


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The 2D block messages of a chip. `transforms` pack rows to 32 bits (VNNI); `transposes` count units of `bits`.

    >>> [sizes.width for sizes in XE_BLOCKS.transposes]
    [1, 2, 4, 8]
    """

    loads: tuple[BlockSizes, ...]
    transforms: tuple[BlockSizes, ...]
    transposes: tuple[BlockSizes, ...]
    stores: tuple[BlockSizes, ...]

    def rows_of(self, kind: str) -> tuple[BlockSizes, ...]:
        """The rows of a kind of message: "plain", "packed", "transposed" or "store"."""
        kinds = {"plain": self.loads, "packed": self.transforms, "transposed": self.transposes, "store": self.stores}
        return kinds[kind]

    def all_sizes(self, kind: str) -> Iterator[tuple[int, int, int, int]]:
        """Bits, rows, width and blocks of every message of a kind."""
        for sizes in self.rows_of(kind):
            for rows in sizes.rows:
                for count in sizes.counts:
                    yield sizes.bits, rows, sizes.width, count


_ROWS = (1, 2, 4, 8, 16, 32)

XE_BLOCKS = BlockTable(
    loads=(
        BlockSizes(8, 32, _ROWS, (1, 2)),
        BlockSizes(8, 16, (8, 16, 32), (4,)),
        BlockSizes(16, 16, _ROWS, (1, 2)),
        BlockSizes(32, 8, _ROWS, (1, 2)),
        BlockSizes(32, 16, _ROWS),
    ),
    transforms=(BlockSizes(8, 16, (32,), (1, 2, 4)), BlockSizes(16, 16, (16, 32), (1, 2))),
    # The extension names the widest; the graphics compiler (IGC 2.40.14) has the narrower ones and 8 rows of 8 too
    # (..._transpose_32b_16r2x1c, ..._transpose_32b_8r8x1c: no call is left in the machine code, and 2 and 4 registers return).
    transposes=(
        BlockSizes(32, 1, (16, 32)),
        BlockSizes(32, 2, (16, 32)),
        BlockSizes(32, 4, (16, 32)),
        BlockSizes(32, 8, (8, 16, 32)),
    ),
    stores=(
        BlockSizes(8, 16, (1, 2, 4, 8)),
        BlockSizes(8, 32, (1, 2, 4, 8)),
        BlockSizes(16, 16, (1, 2, 4, 8)),
        BlockSizes(32, 16, (1, 2, 4, 8)),
    ),
)
"""Those of Xe-HPC (pvc) and Xe2 (bmg, lnl)."""
