"""Linear algebra over GF(2), where 1 + 1 is 0: a vector is a whole number, a bit per coordinate, and `^` adds two of them.

A linear map is the list of its columns: what each unit vector becomes. Here bit 0 becomes bits 0 and 1, bit 1 stays:

>>> columns = [0b11, 0b10]
>>> image(columns, 0b01), image(columns, 0b11)
(3, 1)
>>> solve(columns, 0b01)
3

A subspace is its basis in reduced echelon form, largest first: the leading bit of each vector is 0 in all others, so one
subspace has one basis.

>>> reduced([0b110, 0b011, 0b101])
[5, 3]
>>> modulo(0b111, [0b101, 0b011])
1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

__all__ = ["Echelon", "image", "inverse", "kernel", "modulo", "preimages", "reduced", "solve"]


def image(columns: Sequence[int], vector: int) -> int:
    """What a linear map makes of a vector; bits beyond its columns must be 0."""
    result = 0
    while vector:
        low = vector & -vector
        result ^= columns[low.bit_length() - 1]
        vector ^= low
    return result


def reduced(vectors: Iterable[int]) -> list[int]:
    """The reduced basis of the space that vectors span, largest first."""
    leading: dict[int, int] = {}  # by the number of bits
    for vector in vectors:
        while vector:
            row = leading.get(vector.bit_length())
            if row is None:
                leading[vector.bit_length()] = vector
                break
            vector ^= row
    basis: list[int] = []
    for size in sorted(leading):
        basis.insert(0, modulo(leading[size], basis))
    return basis


def modulo(vector: int, basis: Iterable[int]) -> int:
    """The vector with 0 at every leading bit of a reduced basis: the least of those that differ from it by the space."""
    vector = index(vector)  # a text would be read by a number of sympy's
    for one in basis:
        less = vector ^ one
        if less < vector:  # the leading bit was set
            vector = less
    return vector


class Echelon:
    """A map brought to echelon form one column at a time, with the inputs that make each basis vector.

    `add` tells what a column adds: a new direction of the image, or a vector of the kernel.

    >>> form = Echelon()
    >>> [form.add(column, 1 << i) for i, column in enumerate([0b01, 0b11, 0b10])]
    [0, 0, 7]
    >>> form.solve(0b10), form.solve(0b100)
    (3, None)
    """

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, int]] = {}
        """(vector of the image, the input that becomes it), by the number of bits of the vector."""

    def add(self, column: int, given: int) -> int:
        """Take in that `given` becomes `column`: 0 if that is a new direction, else an input that becomes 0."""
        rows = self.rows
        while column:
            row = rows.get(column.bit_length())
            if row is None:
                rows[column.bit_length()] = column, given
                return 0
            column ^= row[0]
            given ^= row[1]
        return given

    def solve(self, wanted: int) -> int | None:
        """An input that becomes `wanted`; None where there is none."""
        given = 0
        while wanted:
            row = self.rows.get(wanted.bit_length())
            if row is None:
                return None
            wanted ^= row[0]
            given ^= row[1]
        return given


def _echelon(columns: Iterable[int]) -> tuple[Echelon, list[int]]:
    form = Echelon()
    zeros = [form.add(column, 1 << i) for i, column in enumerate(columns)]
    return form, [zero for zero in zeros if zero]


def solve(columns: Sequence[int], wanted: int) -> int | None:
    """The least input that a map makes `wanted` of; None where there is none."""
    form, zeros = _echelon(columns)
    found = form.solve(wanted)
    return None if found is None else modulo(found, reduced(zeros))


def preimages(columns: Sequence[int], wanted: Iterable[int]) -> list[int | None]:
    """The least input for each of many wanted vectors (see `solve`)."""
    form, zeros = _echelon(columns)
    nothing = reduced(zeros)
    found = [form.solve(one) for one in wanted]
    return [None if one is None else modulo(one, nothing) for one in found]


def kernel(columns: Sequence[int]) -> list[int]:
    """The reduced basis of the inputs that become 0.

    >>> kernel([0b01, 0b11, 0b10])
    [7]
    """
    return reduced(_echelon(columns)[1])


def inverse(columns: Sequence[int]) -> list[int] | None:
    """The columns of the inverse of a square map; None where it has none.

    >>> inverse([0b11, 0b10])
    [3, 2]
    """
    form, zeros = _echelon(columns)
    if zeros:
        return None
    found = [form.solve(1 << i) for i in range(len(columns))]
    return [one for one in found if one is not None] if None not in found else None
