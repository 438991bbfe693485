"""An address bit by bit: in powers of two every bit of it is an XOR of bits of the element's coordinates.

A 4 x 2 tile stored row by row, the two elements of each odd row exchanged:

    address bit 0 = column bit 0 ^ row bit 0        row 0: 0 1    row 2: 4 5
    address bit 1 = row bit 0                       row 1: 3 2    row 3: 7 6
    address bit 2 = row bit 1

It is a layout with XOR. `by_bits` makes it of the matrix, a row for each address bit; `address_bits` says the matrix again:

>>> tile = by_bits(Layout.parse("d0 = 4@reg, d1 = 2@reg:4"), [0b101, 0b001, 0b010])
>>> print(tile)
d0 = 2@addr:4 2@(addr^addr:2), d1 = 2@(addr)
>>> [" ^ ".join(map(str, bits)) for bits in address_bits(tile)]
['d0 bit 0 ^ d1 bit 0', 'd0 bit 0', 'd0 bit 1']
>>> tile.owner_map("addr").tolist()
[[0, 1], [3, 2], [4, 5], [7, 6]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.core.factors import Factor, XorFactor, xor_factor
from layoutalg.core.gf2 import inverse
from layoutalg.core.layout import Layout

__all__ = ["ElementBit", "address_bits", "by_bits"]


class ElementBit(NamedTuple):
    """One bit of one coordinate of an element: the name of the dimension, and which bit (0 is the lowest).

    >>> str(ElementBit("d0", 2))
    'd0 bit 2'
    """

    dim: str
    bit: int

    def __str__(self) -> str:
        return f"{self.dim} bit {self.bit}"


def by_bits(tensor: Layout, rows: Sequence[int]) -> Layout:
    """The layout onto `addr` whose matrix has these rows, invertible, for a tensor of the names and the sizes of another.

    Bit j of `rows[k]` says that the j-th bit of the coordinates (in the order of dimensions, low bits first) is part of
    address bit k.
    """
    dims: list[list[Factor]] = []
    j = 0
    for size in tensor.shape:
        bits = range(j, j := j + int(size).bit_length() - 1)
        dims.append([xor_factor(("addr", 1 << k) for k, row in enumerate(rows) if row >> i & 1) for i in bits[::-1]])
    return Layout(dims, names=tensor.names, codomain=["addr"], flips=())


def address_bits(memory: Layout) -> tuple[tuple[ElementBit, ...], ...]:
    """For each address bit, lowest first, the bits of the coordinates that are XORed.

    Empty where that is not how elements and addresses go together: not all in powers of two, or not one to one.

    >>> address_bits(Layout.parse("d0 = 2@addr:2 2@addr")), address_bits(Layout.parse("d0 = 3@addr"))
    (((ElementBit(dim='d0', bit=0),), (ElementBit(dim='d0', bit=1),)), ())
    """
    form = memory.canonical()
    if form.replicas or form.offsets or form.flips or any(form.origins):
        return ()
    bits: list[ElementBit] = []
    columns: list[int] = []
    for name, factors in zip(form.names, form.dims, strict=True):
        first = len(bits)
        for factor in reversed(factors):
            weights = [weight for _, weight in factor.places] if isinstance(factor, XorFactor) else [factor.stride]
            if factor.extent & (factor.extent - 1) or any(weight & (weight - 1) for weight in weights):
                return ()
            columns += [sum(weights) << i for i in range(factor.extent.bit_length() - 1)]
        bits += [ElementBit(name, i) for i in range(len(columns) - first)]
    if len(memory.axes) > 1 or inverse(columns) is None or any(column >> len(columns) for column in columns):
        return ()
    return tuple(
        tuple(bit for bit, column in zip(bits, columns, strict=True) if column >> k & 1) for k in range(len(columns))
    )
