"""Where to put a tensor in shared memory so that neither writing nor reading it meets bank conflicts.

For sizes that are powers of two each address bit is an XOR of bits of the element's coordinates: a layout with XOR. Four
subgroups of four lanes write a row each of a 4 x 4 tile to four banks, and read a column each.
The writer has the column's bits in lanes, the reader the row's, so bank = column ^ row serves both:

    row 0: banks 0 1 2 3        a row has every bank once, and so has a column
    row 1: banks 1 0 3 2
    row 2: banks 2 3 0 1
    row 3: banks 3 2 1 0

>>> best = best_swizzle(Layout.parse("d0 = 4@sg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@sg"), banks=4)
>>> print(best)
4 x 4 elements of 32 bits, at least 1 in each access
address bit 0 = d0 bit 0 ^ d1 bit 0
address bit 1 = d0 bit 1 ^ d1 bit 1
address bit 2 = d0 bit 0
address bit 3 = d0 bit 1
write: 1 instruction of 1 x 32 bits per lane, 1 cycle: conflict-free
read: 1 instruction of 1 x 32 bits per lane, 1 cycle: conflict-free
>>> best.address([[[0], [1], [2], [3]], [0, 1, 2, 3]]).tolist()
[[0, 1, 2, 3], [5, 4, 7, 6], [10, 11, 8, 9], [15, 14, 13, 12]]

How it is found: memory.bank_matrix. Where sizes are not powers of two, the tensor is stored row by row, with the padding
that costs least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.errors import ConversionError
from layoutalg.core.factors import Factor
from layoutalg.core.fragments import places
from layoutalg.core.layout import Layout, row_major
from layoutalg.core.limits import MOST_PADDING as _MOST_PADDING
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.memory.accesses import held_elements
from layoutalg.memory.addresses import Addresses, Numbers, addresses_of, coordinates
from layoutalg.memory.asked import distributions
from layoutalg.memory.bank_matrix import TileBits, bank_rows
from layoutalg.memory.conflicts import Banks, Conflicts, count_conflicts
from layoutalg.memory.linear_address import ElementBit, address_bits, by_bits
from layoutalg.memory.machine_bits import view

if TYPE_CHECKING:
    from layoutalg.viz.picture import Picture

__all__ = ["BestSwizzle", "best_rows", "best_swizzle"]


@dataclass(frozen=True, slots=True, repr=False)
class BestSwizzle(NotebookAnswer, Addresses):
    """The addresses in shared memory that `best_swizzle` found, and what writing and reading there costs a subgroup.

    `memory` maps elements to addresses: with XOR, or padded rows where sizes are not powers of two (`padding` elements after
    each row of the last dimension). `vector` is the elements that both sides move in one access at least.

    >>> best = best_swizzle(Layout.parse("d0 = 16@reg, d1 = 32@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg 2@lane:16"))
    >>> best.write.ways, best.read.ways
    (1, 1)
    """

    memory: Layout
    vector: int
    write: Conflicts
    read: Conflicts
    padding: int = 0

    def picture(self) -> Picture:
        """The memory as the swizzle fills it, coloured by bank.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).picture().by
        'bank'
        """
        return replace(self.memory.picture(), example=False)  # what is read at once, the text says

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor, in elements.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).shape
        (4,)
        """
        shape: Any = self.memory.shape
        return shape

    @property
    def matrix(self) -> tuple[tuple[ElementBit, ...], ...]:
        """For each address bit, lowest first, the bits of the coordinates that are XORed; empty for padded rows.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).matrix[1]
        (ElementBit(dim='d0', bit=1),)
        """
        return () if self.padding else address_bits(self.memory)

    @property
    def size(self) -> int:
        """The elements of shared memory that it takes, padding included.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).size
        4
        """
        size: Any = self.memory.spans().get("addr", 1)
        return size

    def table(self) -> Numbers:
        """The address of every element, in elements: an array of the tensor's shape.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).table().tolist()
        [0, 1, 2, 3]
        """
        return self.memory.owner_map("addr").astype(np.int64)

    def address(self, coords: Sequence[Any]) -> Numbers:
        """The addresses of elements, in elements: one array of coordinates per dimension, broadcast against each other.

        Raises `LayoutError` for another number of dimensions, and for elements outside the tensor.

        >>> best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).address([[0, 3]]).tolist()
        [0, 3]
        """
        given = coordinates(coords, self.memory.names, self.shape)
        moved: Numbers = places(self.memory, given)["addr"].astype(np.int64)
        return moved

    @property
    def text(self) -> str:
        """The addresses and the costs in words.

        >>> print(best_swizzle(Layout.parse("d0 = 2@reg, d1 = 3@lane"), Layout.parse("d0 = 2@reg, d1 = 3@lane")).text)
        2 x 3 elements of 32 bits, at least 1 in each access
        no bits to XOR (not all in powers of two): row by row, 0 elements of padding after each row of 3
        write: 2 instructions of 1 x 32 bits per lane, 2 cycles: conflict-free
        read: 2 instructions of 1 x 32 bits per lane, 2 cycles: conflict-free
        """
        sizes = " x ".join(map(str, self.shape)) or "1"
        where = "\n".join(f"address bit {k} = {' ^ '.join(map(str, row))}" for k, row in enumerate(self.matrix))
        if not self.matrix and prod(self.shape) > 1:
            row = f"each row of {self.shape[-1]}" if self.shape else "it"
            where = (
                f"no bits to XOR (not all in powers of two): row by row, {self.padding} elements of padding after {row}"
            )
        head = f"{sizes} elements of {self.write.element_bits} bits, at least {self.vector} in each access"
        return "\n".join(line for line in (head, where, f"write: {self.write}", f"read: {self.read}") if line)

    def __str__(self) -> str:
        return self.text


def best_swizzle(
    write: Distributed | str,
    read: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    element_bits: int = 32,
    banks: int = BANKS,
    width: int = BANK_BYTES,
) -> BestSwizzle:
    """Where to put a tensor in shared memory that is written as `write` and read as `read` distributes it.

    Both are a `Layout`, a value of any notation, or its text; `shape` and `machine` are what they leave open.

    The accesses that both sides make are as wide as they can be (up to 16 bytes), then the cycles of writing plus reading (of
    a subgroup, see `bank_conflicts` for the model and its arguments) are fewest, then those of them that are lost to
    conflicts, then the instructions. Row-major is kept where nothing beats it. Where sizes, factors or banks are not powers of
    two: rows, padded by up to 8 words or so.

    Raises `ConversionError` for different shapes, and for layouts onto other axes than sg, lane and reg; `SizeError` over
    2^24 slots; what `parse` raises for a text.

    >>> write, read = Layout.parse("d0 = 8@reg, d1 = 2@reg:8 8@lane"), Layout.parse("d0 = 8@lane, d1 = 16@reg")
    >>> print(best_swizzle(write, read, banks=8))
    8 x 16 elements of 32 bits, at least 2 in each access
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
    writer, reader = distributions((write, read), shape, machine, "counting accesses")
    return _best(writer, reader, hardware)


def _best(write: Layout, read: Layout, hardware: Banks) -> BestSwizzle:
    held = _held(write, read)
    banks = hardware.banks
    if write.shape != read.shape:
        raise ConversionError(
            f"a tensor of shape {list(write.shape)} to write, of shape {list(read.shape)} to read: expected one tensor "
            f"({write}; {read})"
        )

    writer, reader = view(write), view(read)
    if writer is None or reader is None or banks & (banks - 1):
        return best_rows(write, read, hardware)
    rows = bank_rows(
        _significance(write),
        *(TileBits.of(one.places, one.widths["lane"]) for one in (writer, reader)),
        banks=banks.bit_length() - 1,
        widest=hardware.most.bit_length() - 1,
        within=hardware.width.bit_length() - hardware.element_bytes.bit_length(),
    )
    plain = Layout(row_major(write.shape, "addr").dims, names=write.names, codomain=["addr"])
    found = plain, by_bits(write, rows)
    return min((_measured(memory, write, held, hardware) for memory in found), key=_price)


def best_rows(write: Layout, read: Layout, hardware: Banks, most: int | None = None) -> BestSwizzle:
    """The tensor row by row, with the padding that costs least, in at most `most` elements of memory (None: any number).

    The rows without padding are always tried.
    """
    held = _held(write, read)
    found = [
        (memory, padding)
        for memory, padding in _padded_rows(write, hardware)
        if padding == 0 or most is None or memory.spans()["addr"] <= most
    ]
    return min((_measured(memory, write, held, hardware, padding) for memory, padding in found), key=_price)


def _held(write: Layout, read: Layout) -> tuple[Numbers, Numbers]:
    """What the slots of both sides hold; one table where they hold the same."""
    held = held_elements(write)
    return held, held if read == write else held_elements(read)


def _measured(
    memory: Layout, tensor: Layout, held: tuple[Numbers, Numbers], hardware: Banks, padding: int = 0
) -> BestSwizzle:
    table = addresses_of(memory, tensor, hardware.element_bytes)
    write = count_conflicts(held[0], table, hardware)
    costs = write, write if held[1] is held[0] else count_conflicts(held[1], table, hardware)
    return BestSwizzle(memory, min(cost.vector for cost in costs), costs[0], costs[1], padding)


def _price(found: BestSwizzle) -> tuple[int, ...]:
    """What is compared, in this order: the common vector, cycles, cycles lost to conflicts, instructions, memory."""
    costs = found.write, found.read
    cycles, ideal = sum(c.cycles for c in costs), sum(c.ideal for c in costs)
    return -found.vector, cycles, cycles - ideal, sum(c.instructions for c in costs), found.size


def _significance(tensor: Layout) -> list[int]:
    """For each element bit, in the order of dimensions, which bit of the row-major number of an element it is."""
    widths = [int(size).bit_length() - 1 for size in tensor.shape]
    above = [sum(widths[d + 1 :]) for d in range(len(widths))]
    return [start + i for start, width in zip(above, widths, strict=True) for i in range(width)]


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
