"""An address as a linear map over bits: every bit of it is an XOR of bits of the element's coordinates.

Layouts in powers of two are such maps, and so are XOR swizzles of them. A 4 x 2 tile stored row by row, the two elements of
each odd row exchanged:

    address bit 0 = column bit 0 ^ row bit 0        row 0: 0 1    row 2: 4 5
    address bit 1 = row bit 0                       row 1: 3 2    row 3: 7 6
    address bit 2 = row bit 1

>>> from layoutalg.core.swizzle import Swizzle
>>> tile = BitAddress.of(Swizzled(Layout.parse("d0 = 4@addr:2, d1 = 2@addr"), Swizzle(bits=1, base=0, shift=1)))
>>> print(tile)
address bit 0 = d0 bit 0 ^ d1 bit 0
address bit 1 = d0 bit 0
address bit 2 = d0 bit 1
>>> tile.address([[[0], [1], [2], [3]], [0, 1]]).tolist()
[[0, 1], [3, 2], [4, 5], [7, 6]]

The map is invertible: every address belongs to exactly one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import LONGEST_SHOWN
from layoutalg.core.messages import shortened, shown
from layoutalg.core.relation import as_layout
from layoutalg.core.swizzle import Swizzled
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.memory.addresses import Addresses, Numbers, coordinates
from layoutalg.memory.machine_bits import view

__all__ = ["BitAddress", "ElementBit"]


class ElementBit(NamedTuple):
    """One bit of one coordinate of an element: the name of the dimension, and which bit (0 is the lowest).

    >>> str(ElementBit("d0", 2))
    'd0 bit 2'
    """

    dim: str
    bit: int

    def __str__(self) -> str:
        return f"{self.dim} bit {shown(self.bit)}"


@dataclass(frozen=True, slots=True)
class BitAddress(Addresses):
    """An address (in elements) as a linear map over bits: `matrix[k]` are the element's bits whose XOR is address bit k.

    `names` and `shape` are those of the tensor, sizes powers of two; every address belongs to exactly one element.

    Raises `LayoutError` for sizes that are not powers of two, and a matrix that isn't square and invertible.

    >>> BitAddress(("d0",), (4,), ((ElementBit("d0", 1),), (ElementBit("d0", 0),))).address([[0, 1, 2, 3]]).tolist()
    [0, 2, 1, 3]
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    matrix: tuple[tuple[ElementBit, ...], ...]

    def __post_init__(self) -> None:
        parts: tuple[object, ...] = (self.names, self.shape, self.matrix)
        if not all(isinstance(part, tuple) for part in parts) or not all(isinstance(row, tuple) for row in self.matrix):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError("a BitAddress has tuples: the names, the shape, and the bits of each address bit")
        for name in self.names:
            instance_of(name, str, "name of a dimension")
        if len(self.names) != len(self.shape) or any(type(n) is not int or n < 1 or n & (n - 1) for n in self.shape):
            raise LayoutError(f"shape {shown(list(self.shape))}: an address by bits needs sizes that are powers of two")
        known = set(self.bits)
        for bit in (bit for row in self.matrix for bit in row):
            if type(bit) is not ElementBit or list(map(type, bit)) != [str, int] or bit not in known:  # pyright: ignore[reportUnnecessaryIsInstance]
                said = str(bit) if type(bit) is ElementBit and type(bit.dim) is str else shown(bit)
                raise LayoutError(f"{shortened(said, LONGEST_SHOWN)}: no bit of an element of shape {list(self.shape)}")
        rows: list[int] = []
        for address in self.rows:
            for pivot in rows:
                address = min(address, address ^ pivot)
            rows.append(address)
        if len(rows) != len(known) or 0 in rows:
            raise LayoutError(
                f"{len(rows)} address bits for {len(known)} bits of an element: expected an invertible map"
            )

    @property
    def bits(self) -> tuple[ElementBit, ...]:
        """The bits of an element's coordinates, in the order of dimensions, low bits first.

        >>> [str(bit) for bit in BitAddress.of(Layout.parse("d0 = 4@addr")).bits]
        ['d0 bit 0', 'd0 bit 1']
        """
        pairs = zip(self.names, self.shape, strict=True)
        return tuple(ElementBit(name, i) for name, size in pairs for i in range(size.bit_length() - 1))

    @property
    def rows(self) -> tuple[int, ...]:
        """The matrix as numbers: bit j of `rows[k]` says that `bits[j]` is part of address bit k.

        >>> BitAddress.of(Layout.parse("d0 = 2@addr:2 2@addr")).rows
        (1, 2)
        """
        place = {bit: j for j, bit in enumerate(self.bits)}
        return tuple(sum(1 << place[bit] for bit in row) for row in self.matrix)

    @property
    def columns(self) -> tuple[int, ...]:
        """The address that each of `bits` brings in.

        >>> BitAddress.of(Layout.parse("d0 = 2@addr 2@addr:2")).columns
        (2, 1)
        """
        rows = self.rows
        return tuple(sum((row >> j & 1) << k for k, row in enumerate(rows)) for j in range(len(rows)))

    @staticmethod
    def of(memory: Layout | Swizzled) -> BitAddress:
        """A layout onto addresses, perhaps swizzled, as a linear map over bits.

        Raises `ConversionError` where it is not one: sizes or strides that are not powers of two, factors that meet in a bit.

        >>> print(BitAddress.of(Layout.parse("d0 = 2@addr, d1 = 2@addr:2")))
        address bit 0 = d0 bit 0
        address bit 1 = d1 bit 0
        """
        if not isinstance(memory, (Layout, Swizzled)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConversionError(f"memory of type {type(memory).__name__}: expected a Layout onto addresses")
        plain = memory if isinstance(memory, Layout) else memory.layout
        axes = list(plain.axes)
        fitting = view(Layout([[f._replace(axis="reg" if f.axis else None) for f in fs] for fs in plain.dims]))
        if fitting is None or len(axes) > 1 or plain.replicas or plain.offsets:
            raise ConversionError(
                f"no bit matrix: expected one address for each element, in powers of two (in {plain})"
            )
        columns = [1 << bit for _, bit in fitting.places]
        if isinstance(memory, Swizzled):
            columns = [memory.swizzle(column) for column in columns]
            if memory.axis not in (axes or [memory.axis]) or max(columns, default=0) >= 1 << len(columns):
                raise ConversionError(f"no bit matrix: the swizzle leaves the addresses of {plain}")
        rows = [sum((column >> k & 1) << j for j, column in enumerate(columns)) for k in range(len(columns))]
        return BitAddress.of_rows(plain, rows)

    @staticmethod
    def of_rows(tensor: Layout, rows: Sequence[int]) -> BitAddress:
        """The map whose matrix is given as numbers (see `rows`), for a tensor of the shape and names that a layout has.

        >>> print(BitAddress.of_rows(Layout.parse("d0 = 4@reg"), [0b11, 0b10]))
        address bit 0 = d0 bit 0 ^ d0 bit 1
        address bit 1 = d0 bit 1
        """
        as_layout(tensor, "tensor")
        tensor.require_numbers("taking its bits")
        rows = [whole_number(row, "row of the matrix", 0) for row in listed(rows, "rows", 64)]
        pairs = zip(tensor.names, tensor.shape, strict=True)
        bits = [ElementBit(name, i) for name, size in pairs for i in range(size.bit_length() - 1)]
        matrix = tuple(tuple(bit for j, bit in enumerate(bits) if row >> j & 1) for row in rows)
        return BitAddress(tensor.names, tensor.shape, matrix)

    def table(self) -> Numbers:
        """The address of every element, in elements: an array of the tensor's shape.

        >>> BitAddress.of(Layout.parse("d0 = 2@addr, d1 = 2@addr:2")).table().tolist()
        [[0, 2], [1, 3]]
        """
        return self.address(np.meshgrid(*map(np.arange, self.shape), indexing="ij", sparse=True))

    def address(self, coords: Sequence[Any]) -> Numbers:
        """The addresses of elements, in elements: one array of coordinates per dimension, broadcast against each other.

        Raises `LayoutError` for another number of dimensions, and for elements outside the tensor.

        >>> BitAddress.of(Layout.parse("d0 = 2@addr:4, d1 = 4@addr")).address([1, [0, 3]]).tolist()
        [4, 7]
        """
        given = coordinates(coords, self.names, self.shape)
        found: Any = np.zeros((), np.int64)
        columns = iter(self.columns)
        for values, size in zip(given, self.shape, strict=True):
            table = np.zeros(1, np.int64)
            for _ in range(size.bit_length() - 1):
                table = np.concatenate([table, table ^ next(columns)])
            found = found ^ table[values]
        return found

    def __str__(self) -> str:
        return "\n".join(f"address bit {k} = {' ^ '.join(map(str, row))}" for k, row in enumerate(self.matrix))
