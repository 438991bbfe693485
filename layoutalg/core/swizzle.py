"""XOR swizzles of an address, as values; `layoutalg.memory` counts the bank conflicts that they avoid.

A swizzle moves no data between rows, it renames addresses inside a block: some high bits are XORed onto low ones, so that
a column of a row-major tile no longer falls into one bank. It is linear over bits, not over the integers, so it is not
forced into factors and strides; it composes after a layout onto an address axis.

Four rows of four words; without it, column 0 is at words 0, 4, 8, 12, all in bank 0 of four:

>>> tile = Layout.parse("d0 = 4@addr:4, d1 = 4@addr")
>>> Swizzled(tile, Swizzle(bits=2, base=0, shift=2)).owner_map().tolist()
[[0, 1, 2, 3], [5, 4, 7, 6], [10, 11, 8, 9], [15, 14, 13, 12]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.extents import Extent
from layoutalg.core.fragments import Indices, owner_map
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_ENTRIES
from layoutalg.core.messages import number_text, shown
from layoutalg.core.notation import Distributed, Machine, Operand, one_operand, own_sizes
from layoutalg.core.relation import as_layout
from layoutalg.core.whole_numbers import found_whole

__all__ = ["Swizzle", "Swizzled"]


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`x ^ ((x >> shift) & mask)`, with `mask` the `bits` bits from bit `base` on (CuTe's Swizzle<bits, base, shift>).

    Raises `LayoutError` unless 0 < bits <= shift: the bits read and the bits changed must not meet; then the swizzle is
    its own inverse.

    >>> swizzle = Swizzle(bits=3, base=0, shift=3)
    >>> [swizzle(x) for x in (0, 8, 9, 63)]
    [0, 9, 8, 56]
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        whole = all(type(v) is int for v in (self.bits, self.base, self.shift))
        if not whole or not 0 < self.bits <= self.shift or self.base < 0 or self.base + self.shift + self.bits > 62:
            raise LayoutError(
                f"swizzle of {shown(self.bits)} bits from bit {shown(self.base)}, shifted by {shown(self.shift)}: "
                "expected 0 < bits <= shift, base >= 0, all within 62 bits"
            )

    def __call__(self, address: Any) -> Any:
        """The swizzled address, of an int or an integer array.

        >>> Swizzle(2, 0, 2)(6)
        7
        """
        at: Any = found_whole(address)
        if at is None:
            at = address
            if getattr(getattr(address, "dtype", None), "kind", None) not in ("i", "u"):
                raise LayoutError(f"address {shown(address)}: expected a whole number or an array of them")
            if at.size > MAX_ENTRIES:
                raise SizeError(f"{number_text(at.size)} addresses: over the limit of 2^28")
            at = at.astype(np.int64) if at.dtype.itemsize < 8 else at
        return at ^ ((at >> self.shift) & (((1 << self.bits) - 1) << self.base))

    @property
    def period(self) -> int:
        """Addresses that differ by a multiple of this are swizzled alike; an aligned block of it maps onto itself.

        >>> Swizzle(2, 0, 2).period
        16
        """
        return 1 << (self.base + self.shift + self.bits)


@dataclass(frozen=True, slots=True)
class Swizzled(Distributed):
    """A layout whose coordinates on `axis` are swizzled afterwards. `==` compares by meaning of the layout.

    >>> Swizzled(Layout.parse("d0 = 16@addr"), Swizzle(2, 0, 2)).owners((5,))
    [(4,)]
    """

    layout: Layout
    swizzle: Swizzle
    axis: str = "addr"

    def __post_init__(self) -> None:
        as_layout(self.layout, "swizzled layout")
        if not isinstance(self.swizzle, Swizzle):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(
                f"swizzle {shown(self.swizzle)}: expected a Swizzle, such as Swizzle(bits=2, base=0, shift=2)"
            )
        if not isinstance(self.axis, str) or self.axis not in self.layout.codomain:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(
                f"swizzle of axis {shown(self.axis)}: {self.layout} has {', '.join(self.layout.codomain)}"
            )

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The size of each dimension, in elements.

        >>> Swizzled(Layout.parse("d0 = 16@addr"), Swizzle(2, 0, 2)).shape
        (16,)
        """
        return self.layout.shape

    @property
    def axes(self) -> dict[str, Extent]:
        """The extent of each axis of the codomain; a swizzle moves elements inside the extent rounded up to its period.

        >>> Swizzled(Layout.parse("d0 = 16@addr"), Swizzle(2, 0, 2)).axes
        {'addr': 16}
        """
        return self.layout.axes

    @property
    def is_swizzled(self) -> bool:
        """Always true (see `Distributed.is_swizzled`).

        >>> Swizzled(Layout.parse("d0 = 16@addr"), Swizzle(2, 0, 2)).is_swizzled
        True
        """
        return True

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The swizzled layout itself.

        >>> Swizzled(Layout.parse("d0 = 16@addr"), Swizzle(2, 0, 2)).operands()[0].name
        'd0 = 16@addr, swizzled'
        """
        name = f"{self.layout}, swizzled"
        own_sizes(name, self.layout.shape, shape)
        return one_operand(name, self)

    def owners(self, element: Sequence[int]) -> list[tuple[int, ...]]:
        """Every position of an element, in the order of the layout's codomain.

        >>> Swizzled(Layout.parse("d0 = 4@addr | replicas 2@addr:4"), Swizzle(2, 0, 2)).owners((1,))
        [(1,), (4,)]
        """
        column = self.layout.codomain.index(self.axis)
        moved = [list(place) for place in self.layout.owners(element)]
        for place in moved:
            place[column] = self.swizzle(place[column])
        return sorted(map(tuple, moved))

    def owner_map(self, axis: str | None = None) -> Indices:
        """What the layout's own `owner_map` gives, swizzled (of the swizzled axis unless another is named).

        With replicas that is the lowest owner before the swizzle, which need not be the lowest after it.

        >>> Swizzled(Layout.parse("d0 = 2@addr:4, d1 = 2@addr"), Swizzle(1, 0, 2)).owner_map().tolist()
        [[0, 1], [5, 4]]
        """
        wanted = self.axis if axis is None else axis
        found = owner_map(self.layout, wanted)
        return self.swizzle(found.astype(np.int64)) if wanted == self.axis else found
