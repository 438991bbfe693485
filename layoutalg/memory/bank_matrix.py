"""Which bits of a tile make which bits of an address, so that neither writing nor reading it meets bank conflicts.

A tile of powers of two is written by lanes that differ in some of its bits, and read by lanes that differ in others. Address
bits are XORs of the tile's bits. A 4 x 4 tile in 4 banks, written by rows (the lanes are bits 0 and 1 of its row-major number)
and read by columns (bits 2 and 3): both bank bits join one of each, the rest of the address is what tells the elements apart:

>>> write, read = TileBits(registers=(), lanes=(0, 1)), TileBits(registers=(), lanes=(2, 3))
>>> [f"{row:04b}" for row in bank_rows(range(4), write, read, banks=2, widest=0)]
['0101', '1010', '0100', '1000']

What both hold in registers goes into the lowest address bits: one access then moves several elements. The bank bits must
tell apart the lanes of a phase, the writer's and the reader's: bits that both have in lanes are bank bits as they are; where
the rest is too much for the banks, a bit that only the writer has in lanes is joined by XOR with one that only the reader has
in lanes. That is enough: two subspaces of the same dimension have a common complement, so both sides get as few conflicts as
each could alone. What is left to search is few and countable: by how many bits one side's accesses may be wider than the
other's, and which bits share a word where accesses are smaller than one. Triton has the same aim (triton-lang/triton pull
request 6982, "generic swizzling": the widest vectors, then the fewest conflicts).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from layoutalg.memory.machine_bits import Place

__all__ = ["TileBits", "bank_rows"]


class TileBits(NamedTuple):
    """The tile's bits in a side's registers and lanes, low bits first (None: a bit of the lane that replicates)."""

    registers: tuple[int, ...]
    lanes: tuple[int | None, ...]

    @staticmethod
    def of(places: Sequence[Place], lane_bits: int) -> TileBits:
        """The side that has the tile's bits in these places, on a machine with so many lane bits."""
        lanes: list[int | None] = [None] * lane_bits
        registers: dict[int, int] = {}
        for j, (axis, bit) in enumerate(places):
            if axis == "lane":
                lanes[bit] = j
            elif axis == "reg":
                registers[bit] = j
        return TileBits(tuple(registers[bit] for bit in sorted(registers)), tuple(lanes))

    def phase(self, count: int) -> list[int]:
        """The bits that tell apart the lanes of a phase of 2^count lanes."""
        return [j for j in self.lanes[: max(count, 0)] if j is not None]

    def price(self, vector: int, count: int, clashes: int) -> tuple[int, int, int]:
        """Cycles, how many of them are lost to conflicts, and instructions.

        With accesses of 2^vector elements, 2^count lanes in a phase, 2^clashes cycles per phase.
        """
        instructions = 1 << len(self.registers) - vector
        ideal = instructions << max(0, len(self.lanes) - count)
        return ideal << clashes, (ideal << clashes) - ideal, instructions


class _Candidate(NamedTuple):
    """What a bit matrix is built from, and what writing plus reading with it costs (see `TileBits.price`)."""

    price: tuple[int, ...]
    low: list[int]
    """The bits that are the lowest address bits: of an access, and inside a word."""
    lanes: tuple[list[int], list[int]]
    """The other bits that tell apart the lanes of a phase, of either side."""
    room: int
    """The bank bits that are left for them."""


def bank_rows(
    order: Sequence[int], write: TileBits, read: TileBits, *, banks: int, widest: int, within: int = 0
) -> list[int]:
    """The bit matrix with the widest accesses on both sides, then the fewest cycles, conflicts and instructions.

    `order` says for each bit of the tile which bit of the plain address it would be. There are 2^banks banks of words of
    2^within elements, and accesses of at most 2^widest elements. Row k of the matrix says which bits make address bit k.
    """
    return _rows(min(_candidates(order, write, read, banks, widest, within), key=lambda found: found.price), order)


def _candidates(
    order: Sequence[int], write: TileBits, read: TileBits, banks: int, widest: int, within: int
) -> Iterator[_Candidate]:
    """The bit matrices that may be best.

    One side may have wider accesses than the other: the address bits above the common vector are then register bits of that
    side, preferably such as tell apart the other side's lanes. Where an access is smaller than a word, the bits that are left
    inside a word are best those that both sides have in the lanes of a phase; else some of the one's, and some of the other's.
    """
    served = banks + within
    common = [j for j in write.registers if j in read.registers][:widest]
    shared = len(common)
    for own, other in ((read, write), (write, read)):
        told_apart = other.phase(served - shared)
        more = sorted((j for j in own.registers if j not in common), key=lambda j: j not in told_apart)
        for vector in range(shared, min(widest, shared + len(more)) + 1):
            low = common + more[: vector - shared]
            mine = [j for j in own.phase(served - vector) if j not in low]
            theirs = [j for j in told_apart if j not in low]
            for inside in _inside_a_word(mine, theirs, order, low, within - vector):
                taken = low + inside
                lanes = [j for j in mine if j not in taken], [j for j in theirs if j not in taken]
                room = max(0, served - len(taken))
                costs = (
                    own.price(vector, served - vector, max(0, len(lanes[0]) - room)),
                    other.price(shared, served - shared, max(0, len(lanes[1]) - room)),
                )
                yield _Candidate(tuple(map(sum, zip(*costs, strict=True))), taken, lanes, room)


def _inside_a_word(
    mine: list[int], theirs: list[int], order: Sequence[int], low: list[int], room: int
) -> Iterator[list[int]]:
    """The ways to choose the bits that lie inside a word above an access, `room` of them."""
    if room <= 0:
        yield []
        return
    both = [j for j in mine if j in theirs][:room]
    only_mine, only_theirs = ([j for j in one if j not in other] for one, other in ((mine, theirs), (theirs, mine)))
    rest = [j for j in _ascending(order) if j not in low and j not in mine and j not in theirs]
    for count in range(room - len(both) + 1):
        chosen = [*both, *only_mine[:count], *only_theirs[: room - len(both) - count], *rest]
        yield chosen[:room]


def _rows(found: _Candidate, order: Sequence[int]) -> list[int]:
    """The rows of the bit matrix; bits of only one side are joined by XOR, as many as there is no room for otherwise."""
    _, low, (first, second), room = found
    both = [j for j in first if j in second]
    alone = [sorted((j for j in one if j not in both), key=order.__getitem__) for one in (first, second)]
    pairs = min(*map(len, alone), max(0, len(both) + len(alone[0]) + len(alone[1]) - room))
    # The most significant bits are joined: the lowest bits of an address then stay as plain as they can be.
    kept = [one[: len(one) - pairs] for one in alone]
    joined = zip(*(one[len(one) - pairs :] for one in alone), strict=True)
    banks = [(j,) for j in both] + [*joined] + [(j,) for one in kept for j in one]
    banks = sorted(banks[:room], key=lambda row: min(order[j] for j in row))
    used = [*low, *(min(row, key=order.__getitem__) for row in banks)]
    rest = [j for j in _ascending(order) if j not in used]
    return [1 << j for j in low] + [sum(1 << j for j in row) for row in banks] + [1 << j for j in rest]


def _ascending(order: Sequence[int]) -> list[int]:
    """The tile's bits, the fastest of row-major first."""
    return sorted(range(len(order)), key=order.__getitem__)
