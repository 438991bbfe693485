"""The tables of blocks and lanes that LLVM's propagation asks: which tile one message or one dpas has.

They are the same for every chip that LLVM knows (pvc, bmg; cri from 23 on): 16 lanes, dpas of up to 8 rows and 16 columns.
`layoutalg.hardware` has what the machines do; this is what the propagation of LLVM takes them to do.

>>> tile((24, 48), STORE, 16), tile((48, 48), LOAD, 16), tile((24, 48), PREFETCH, 8)
((8, 16), (16, 16), None)
>>> tile((64, 32), LOAD, 32, transposed=True)
(32, 8)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from layoutalg.core.whole_numbers import instance_of

__all__ = [
    "DEPTHS",
    "LANES",
    "LOAD",
    "PREFETCH",
    "STORE",
    "BlockSizes",
    "Blocks",
    "largest_divisor",
    "tile",
    "whole_bytes",
]

LANES = 16
ROWS = (1, 2, 3, 4, 5, 6, 7, 8)
DEPTHS = {4: 64, 8: 32, 16: 16, 32: 8}
"""Of a dpas, by the bits of A and B."""

_UP_TO_8 = (1, 2, 4, 8)
_UP_TO_32 = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """The widths, heights and numbers of blocks that one message can have, in elements."""

    widths: tuple[int, ...]
    heights: tuple[int, ...]
    counts: tuple[int, ...] = (1,)


Blocks = Mapping[tuple[int, str], BlockSizes]
"""By the bits of an element, and by what the message does with the block: "", "transformed" or "transposed"."""

STORE: Blocks = {(bits, ""): BlockSizes((16,), _UP_TO_8) for bits in (8, 16, 32)}
PREFETCH: Blocks = {
    (8, ""): BlockSizes((32,), _UP_TO_32, (1, 2)),
    (16, ""): BlockSizes((16,), _UP_TO_32, (1, 2)),
    (32, ""): BlockSizes((16,), _UP_TO_32),
}
LOAD: Blocks = {
    (4, ""): BlockSizes((32, 64), _UP_TO_32, (1, 2)),
    (8, ""): BlockSizes((16, 32), _UP_TO_32, (1, 2)),
    (16, ""): BlockSizes((16,), _UP_TO_32, (1, 2)),
    (32, ""): BlockSizes((16,), _UP_TO_32),
    (4, "transformed"): BlockSizes((16,), (64,), (1, 2, 4)),
    (8, "transformed"): BlockSizes((16,), (32,), (1, 2, 4)),
    (16, "transformed"): BlockSizes((16,), (16, 32), (1, 2)),
    (4, "transposed"): BlockSizes((64,), (16, 32)),
    (8, "transposed"): BlockSizes((32,), (16, 32)),
    (16, "transposed"): BlockSizes((16,), (16, 32)),
    (32, "transposed"): BlockSizes((8,), (16, 32)),
}


def largest_divisor(size: int, candidates: Iterable[int]) -> int | None:
    """The largest of these sizes that divides a dimension; None where none does."""
    instance_of(size, int, "size")
    return max((candidate for candidate in candidates if size % candidate == 0), default=None)


def whole_bytes(bits: int) -> int:
    """The bits that are counted: tables of stores and prefetches go by bytes, so tf32 with its 19 bits is as f16."""
    return bits // 8 * 8


def tile(
    shape: Sequence[int],
    blocks: Blocks,
    bits: int,
    *,
    transformed: bool = False,
    transposed: bool = False,
    otherwise: int | None = None,
) -> tuple[int, ...] | None:
    """The largest block that divides the two innermost dimensions; None where there is no such block.

    `otherwise` is the size along a dimension that no block divides, where that is to go on.
    """
    block = blocks.get((bits, "transposed" if transposed else "transformed" if transformed else ""))
    if block is None:
        return None
    width = largest_divisor(shape[-1], block.widths) or otherwise
    if len(shape) == 1:
        return None if width is None else (width,)
    height = largest_divisor(shape[-2], block.heights) or otherwise
    if width is None or height is None:
        return None
    return (*(1,) * (len(shape) - 2), height, width)
