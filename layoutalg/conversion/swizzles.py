"""Where to put a tensor in shared memory so that neither writing nor reading it meets bank conflicts.

For sizes that are powers of two an address is a linear map over bits: each address bit is an XOR of bits of the element's
coordinates (a `BitAddress`). Four subgroups of four lanes write a row each of a 4 x 4 tile to four banks, and read a column
each. The writer has the column's bits in lanes, the reader the row's, so bank = column ^ row serves both:

    row 0: banks 0 1 2 3        a row has every bank once, and so has a column
    row 1: banks 1 0 3 2
    row 2: banks 2 3 0 1
    row 3: banks 3 2 1 0

>>> best = best_swizzle(Layout.parse("d0 = 4@sg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@sg"), banks=4)
>>> print(best)
4 x 4 elements of 32 bits, accesses of 1 in common
address bit 0 = d0 bit 0 ^ d1 bit 0
address bit 1 = d0 bit 1 ^ d1 bit 1
address bit 2 = d0 bit 0
address bit 3 = d0 bit 1
write: 1 instruction of 1 x 32 bits per lane, 1 cycle: conflict-free
read: 1 instruction of 1 x 32 bits per lane, 1 cycle: conflict-free
>>> best.address([[[0], [1], [2], [3]], [0, 1, 2, 3]]).tolist()
[[0, 1, 2, 3], [5, 4, 7, 6], [10, 11, 8, 9], [15, 14, 13, 12]]

**How it is found.** What both hold in registers goes into the lowest address bits: one access then moves several elements.
The bank bits must tell apart the lanes of a phase, the writer's and the reader's: bits that both have in lanes are bank bits
as they are; where the rest is too much for the banks, a bit that only the writer has in lanes is joined by XOR with one that
only the reader has in lanes. That is enough: two subspaces of the same dimension have a common complement, so both sides get
as few conflicts as each could alone. What is left to search is few and countable: by how many bits one side's accesses may
be wider than the other's, and which bits share a word where accesses are smaller than one. Triton has the same aim
(triton-lang/triton pull request 6982, "generic swizzling": the widest vectors, then the fewest conflicts).

Where sizes are no powers of two, the tensor is stored row by row, with the padding that costs least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from layoutalg.conversion.accesses import Numbers, address_table, held_elements
from layoutalg.conversion.banks import Banks, Conflicts, count_conflicts
from layoutalg.conversion.bit_addresses import BitAddress, ElementBit, coordinates
from layoutalg.conversion.bits import View, view
from layoutalg.conversion.program import WORD, Address
from layoutalg.core.algebra import compose
from layoutalg.core.digits import Factor
from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.fragments import places
from layoutalg.core.layout import Layout
from layoutalg.core.views import row_major

__all__ = ["BestSwizzle", "address_terms", "best_swizzle"]

_MOST_PADDING = 8
"""Words that a row is padded by at most, beyond the end of its last word."""


@dataclass(frozen=True, slots=True)
class BestSwizzle:
    """The addresses in shared memory that `best_swizzle` found, and what writing and reading there costs a subgroup.

    `memory` maps elements to addresses: by bits, or padded rows where sizes are no powers of two (`padding` elements after
    each row of the last dimension). `vector` is the elements that both sides move in one access at least.

    >>> best = best_swizzle(Layout.parse("d0 = 16@reg, d1 = 32@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg 2@lane:16"))
    >>> best.write.ways, best.read.ways
    (1, 1)
    """

    memory: BitAddress | Layout
    vector: int
    write: Conflicts
    read: Conflicts
    padding: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor, in elements.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).shape
        (4,)
        """
        return self.memory.shape

    @property
    def matrix(self) -> tuple[tuple[ElementBit, ...], ...]:
        """For each address bit, lowest first, the bits of the coordinates that are XORed; empty for padded rows.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).matrix[1]
        (ElementBit(dim='d0', bit=1),)
        """
        return self.memory.matrix if isinstance(self.memory, BitAddress) else ()

    @property
    def size(self) -> int:
        """The elements of shared memory that it takes, padding included.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).size
        4
        """
        return prod(self.shape) if isinstance(self.memory, BitAddress) else self.memory.spans().get("addr", 1)

    def address(self, coords: Sequence[Any]) -> Numbers:
        """The addresses of elements, in elements: one array of coordinates per dimension, broadcast against each other.

        Raises `LayoutError` for another number of dimensions, and for elements outside the tensor.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).address([[0, 3]]).tolist()
        [0, 3]
        """
        if isinstance(self.memory, BitAddress):
            return self.memory.address(coords)
        given = coordinates(coords, self.memory.names, self.shape)
        moved: Numbers = places(self.memory, given)["addr"].astype(np.int64)
        return moved

    @property
    def text(self) -> str:
        """The addresses and the costs in words.

        >>> print(best_swizzle(Layout.parse("d0 = 2@reg, d1 = 3@lane"), Layout.parse("d0 = 2@reg, d1 = 3@lane")).text)
        2 x 3 elements of 32 bits, accesses of 1 in common
        no bits to XOR (not all in powers of two): row by row, 0 elements of padding after each row of 3
        write: 2 instructions of 1 x 32 bits per lane, 2 cycles: conflict-free
        read: 2 instructions of 1 x 32 bits per lane, 2 cycles: conflict-free
        """
        sizes = " x ".join(map(str, self.shape)) or "1"
        where = str(self.memory)
        if isinstance(self.memory, Layout):
            row = f"each row of {self.shape[-1]}" if self.shape else "it"
            where = (
                f"no bits to XOR (not all in powers of two): row by row, {self.padding} elements of padding after {row}"
            )
        head = f"{sizes} elements of {self.write.element_bits} bits, accesses of {self.vector} in common"
        return "\n".join(line for line in (head, where, f"write: {self.write}", f"read: {self.read}") if line)

    def __str__(self) -> str:
        return self.text


def best_swizzle(
    write: Layout, read: Layout, *, element_bits: int = 32, banks: int = 32, width: int = 4
) -> BestSwizzle:
    """Where to put a tensor in shared memory that is written as `write` and read as `read` distributes it.

    The accesses that both sides make are as wide as they can be (up to 16 bytes), then the cycles of writing plus reading (of
    a subgroup, see `bank_conflicts` for the model and its arguments) are fewest, then those of them that are lost to
    conflicts, then the instructions. Row-major is kept where nothing beats it. Where sizes, digits or banks are no powers of
    two: rows, padded by up to 8 words or so.

    Raises `ConversionError` for distributions of different shapes, or that are none over sg, lane and reg; `SizeError` over
    2^24 slots.

    >>> write, read = Layout.parse("d0 = 8@reg, d1 = 2@reg:8 8@lane"), Layout.parse("d0 = 8@lane, d1 = 16@reg")
    >>> print(best_swizzle(write, read, banks=8))
    8 x 16 elements of 32 bits, accesses of 2 in common
    address bit 0 = d1 bit 3
    address bit 1 = d1 bit 0
    address bit 2 = d0 bit 0 ^ d1 bit 1
    address bit 3 = d1 bit 2
    address bit 4 = d0 bit 0
    address bit 5 = d0 bit 1
    address bit 6 = d0 bit 2
    write: 8 instructions of 2 x 32 bits per lane, 16 cycles: conflict-free
    read: 4 instructions of 4 x 32 bits per lane, 16 cycles: conflict-free
    """
    hardware = Banks.checked(banks, width, element_bits)
    held = held_elements(write), held_elements(read)
    if write.shape != read.shape:
        raise ConversionError(
            f"a tensor of shape {list(write.shape)} to write, of shape {list(read.shape)} to read: expected one tensor "
            f"({write}; {read})"
        )

    def measured(memory: BitAddress | Layout, padding: int = 0) -> BestSwizzle:
        table = address_table(memory, write, hardware.element_bytes)
        costs = count_conflicts(held[0], table, hardware), count_conflicts(held[1], table, hardware)
        return BestSwizzle(memory, min(cost.vector for cost in costs), costs[0], costs[1], padding)

    writer, reader = view(write), view(read)
    if writer is None or reader is None or banks & (banks - 1):
        padded = (measured(memory, padding) for memory, padding in _padded_rows(write, hardware))
        return min(padded, key=_price)
    order = _significance(write)
    candidates = _candidates(order, _Side.of(writer), _Side.of(reader), hardware)
    rows = _rows(min(candidates, key=lambda found: found.price), order)
    plain = Layout(row_major(write.shape, "addr").dims, names=write.names)
    return min(measured(BitAddress.of(plain)), measured(BitAddress.of_rows(write, rows)), key=_price)


def _price(found: BestSwizzle) -> tuple[int, ...]:
    """What is compared, in this order: the common vector, cycles, cycles lost to conflicts, instructions, memory."""
    costs = found.write, found.read
    cycles, ideal = sum(c.cycles for c in costs), sum(c.ideal for c in costs)
    return -found.vector, cycles, cycles - ideal, sum(c.instructions for c in costs), found.size


class _Side(NamedTuple):
    """The element bits in a side's registers and lanes, low bits first (None: a bit of the lane that replicates)."""

    registers: tuple[int, ...]
    lanes: tuple[int | None, ...]

    @staticmethod
    def of(found: View) -> _Side:
        lanes: list[int | None] = [None] * found.widths["lane"]
        registers: dict[int, int] = {}
        for j, (axis, bit) in enumerate(found.places):
            if axis == "lane":
                lanes[bit] = j
            elif axis == "reg":
                registers[bit] = j
        return _Side(tuple(registers[bit] for bit in sorted(registers)), tuple(lanes))

    def phase(self, count: int) -> list[int]:
        """The element bits that tell apart the lanes of a phase of 2^count lanes."""
        return [j for j in self.lanes[: max(count, 0)] if j is not None]

    def price(self, vector: int, count: int, clashes: int) -> tuple[int, int, int]:
        """Cycles, how many of them are lost to conflicts, and instructions.

        With accesses of 2^vector elements, 2^count lanes in a phase, 2^clashes cycles per phase.
        """
        instructions = 1 << len(self.registers) - vector
        ideal = instructions << max(0, len(self.lanes) - count)
        return ideal << clashes, (ideal << clashes) - ideal, instructions


class _Candidate(NamedTuple):
    """What a bit matrix is built from, and what writing plus reading with it costs (see `_Side.price`)."""

    price: tuple[int, ...]
    low: list[int]
    """The element bits that are the lowest address bits: of an access, and inside a word."""
    lanes: tuple[list[int], list[int]]
    """The other element bits that tell apart the lanes of a phase, of either side."""
    room: int
    """The bank bits that are left for them."""


def _candidates(order: Sequence[int], write: _Side, read: _Side, hardware: Banks) -> Iterator[_Candidate]:
    """The bit matrices that may be best.

    One side may have wider accesses than the other: the address bits above the common vector are then register bits of that
    side, preferably such as tell apart the other side's lanes. Where an access is smaller than a word, the bits that are left
    inside a word are best those that both sides have in the lanes of a phase; else some of the one's, and some of the other's.
    """
    within = hardware.width.bit_length() - hardware.element_bytes.bit_length()
    served = hardware.banks.bit_length() - 1 + within
    widest = hardware.most.bit_length() - 1
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
    """The ways to choose the element bits that lie inside a word above an access, `room` of them."""
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


def _significance(tensor: Layout) -> list[int]:
    """For each element bit, in the order of dimensions, which bit of the row-major number of an element it is."""
    widths = [int(size).bit_length() - 1 for size in tensor.shape]
    above = [sum(widths[d + 1 :]) for d in range(len(widths))]
    return [start + i for start, width in zip(above, widths, strict=True) for i in range(width)]


def _ascending(order: Sequence[int]) -> list[int]:
    """The element bits, the fastest of row-major first."""
    return sorted(range(len(order)), key=order.__getitem__)


def _padded_rows(tensor: Layout, hardware: Banks) -> Iterator[tuple[Layout, int]]:
    """The tensor row by row, with padding after each row: none, or up to some words beyond the end of its last word."""
    shape = tensor.shape
    row = shape[-1] if shape else 1
    in_word = max(1, hardware.width // hardware.element_bytes)
    paddings = {0, *(-row % in_word + in_word * i for i in range(_MOST_PADDING + 1))}
    for padding in sorted(paddings) if prod(shape[:-1]) > 1 else [0]:
        strides = [(row + padding) * prod(shape[d + 1 : -1]) for d in range(len(shape) - 1)]
        dims = [[Factor(n, stride, "addr")] for n, stride in zip(shape, [*strides, 1], strict=False)]
        yield Layout(dims, names=tensor.names, codomain=["addr"]), padding


def address_terms(best: BestSwizzle, layout: Layout) -> tuple[Address, tuple[int, ...]]:
    """The addresses of `best` in words of 32 bits, by lane and subgroup, for code: an `Address` and a base per register.

    The word of register r is at `dataclasses.replace(address, base=bases[r])`: joined by XOR where `best` is a bit
    matrix, added where it is padded rows. An element of 64 bits starts there; of elements below 32 bits it is the word that
    they lie in, so that the first register of an access of whole words gives where that access starts.

    Raises `ConversionError` for a layout of another shape or without closed form (digits that are no powers of two for a bit
    matrix), and where lanes or subgroups share a word, which needs stores of less than 32 bits.

    >>> from dataclasses import replace
    >>> write, read = Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg")
    >>> address, bases = address_terms(best_swizzle(write, read), write)
    >>> address, bases
    (Address(base=0, xor=True, lane=(1, 2), sg=(), digits=()), (0, 4, 8, 12))
    >>> replace(address, base=bases[1]).of(np.array([0]), np.arange(4)).tolist()
    [[4, 5, 6, 7]]
    """
    if not isinstance(best, BestSwizzle):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"{type(best).__name__}: expected what best_swizzle gives")
    held = held_elements(layout)
    if layout.shape != best.shape:
        raise ConversionError(
            f"a distribution of shape {list(layout.shape)}, addresses of {list(best.shape)} ({layout})"
        )
    bits = best.write.element_bits
    if isinstance(best.memory, Layout):
        return _added_terms(best.memory, layout, held, bits)
    found = view(layout)
    if found is None:
        raise ConversionError(f"addresses by bits need digits that are powers of two, without gaps (in {layout})")
    terms = {axis: [0] * width for axis, width in found.widths.items()}
    for (axis, bit), column in zip(found.places, best.memory.columns, strict=True):
        terms[axis][bit] = column
    lane, sg = (tuple(_words(term, bits, layout) for term in terms[axis]) for axis in ("lane", "sg"))
    bases = [0]
    for term in terms["reg"]:
        bases += [base ^ term for base in bases]
    return Address(0, xor=True, lane=lane, sg=sg), tuple(base * bits // WORD for base in bases)


def _added_terms(memory: Layout, layout: Layout, held: Numbers, bits: int) -> tuple[Address, tuple[int, ...]]:
    """The addresses in padded rows: digits of lane and subgroup add up."""
    if layout.offsets:
        raise ConversionError(f"no closed form of the addresses: expected a layout without an offset ({layout})")
    try:
        reached = compose(memory, Layout(layout.dims, layout.replicas, names=memory.names).inverse())
    except LayoutError as error:
        raise ConversionError(f"no closed form of the addresses: {error}") from None
    digits: list[tuple[str, int, int, int]] = []
    for name, factors in zip(reached.names, reached.dims, strict=True):
        divisor = 1
        for extent, stride, axis in reversed(factors):
            if name != "reg" and axis is not None:
                digits.append((name, divisor, extent, _words(stride, bits, layout)))
            divisor *= extent
    registers = places(reached, [0, 0, np.arange(held.shape[2])])["addr"]
    return Address(0, digits=tuple(digits)), tuple((registers * bits // WORD).tolist())


def _words(elements: int, bits: int, layout: Layout) -> int:
    """A distance in words."""
    if elements * bits % WORD:
        raise ConversionError(
            f"lanes {elements * bits // 8} bytes apart share a word of {WORD // 8} bytes: expected accesses of whole words "
            f"(in {layout})"
        )
    return elements * bits // WORD
