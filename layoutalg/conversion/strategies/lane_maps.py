"""Which lane each lane reads, as a map over the bits of its number: computed by masks and shifts, where others are looked up.

Lanes 1 and 3 of four are to read lanes 0 and 1, and it does not matter what the others read. Half of the lane's number is such
a map:

>>> affine_through((-1, 0, -1, 1))
(0, 0, 1, 1)

The law: the map has an XOR of a constant and a term for each bit of the lane's number, and every lane that wants a lane reads
that one.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["affine_through"]


@lru_cache(maxsize=4096)
def affine_through(pattern: tuple[int, ...]) -> tuple[int, ...] | None:
    """The lanes that all lanes read by an affine map through those that are given (-1: any); None where none goes through them.

    Bits that no given lane tells apart change nothing.

    >>> affine_through((0, 2, 1, 3)), affine_through((0, 2, 2, 2)), affine_through((5, -1, 7))
    ((0, 2, 1, 3), None, None)
    """
    count = len(pattern)
    if count & (count - 1):
        return None
    terms: dict[
        int, tuple[int, int]
    ] = {}  # by its highest bit a row: the bits of a lane's number, and what they bring in
    for lane, read in enumerate(pattern):
        if read < 0:
            continue
        row, value = _reduced(lane | count, read, terms)
        if row:
            terms[row.bit_length()] = row, value
        elif value:
            return None
    return tuple([_reduced(lane | count, 0, terms)[1] for lane in range(count)])


def _reduced(row: int, value: int, terms: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """A row without the highest bits of the others, and what it brings in beside them."""
    for bit in range(row.bit_length(), 0, -1):
        if row >> bit - 1 & 1 and bit in terms:
            row, value = row ^ terms[bit][0], value ^ terms[bit][1]
    return row, value
