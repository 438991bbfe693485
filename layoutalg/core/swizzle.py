"""XOR swizzles of an address, as values; `layoutalg.memory` counts the bank conflicts that they avoid.

A swizzle moves no data between rows, it renames addresses inside a block: some high bits are XORed onto low ones, so that
a column of a row-major tile no longer falls into one bank. It is linear over bits: a swizzled layout is a layout with XOR.

Four rows of four words; without it, column 0 is at words 0, 4, 8, 12, all in bank 0 of four:

>>> tile = Layout.parse("d0 = 4@addr:4, d1 = 4@addr")
>>> swizzled(tile, Swizzle(bits=2, base=0, shift=2)).owner_map("addr").tolist()
[[0, 1, 2, 3], [5, 4, 7, 6], [10, 11, 8, 9], [15, 14, 13, 12]]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.core.algebra import compose
from layoutalg.core.errors import CompositionError, LayoutError, SizeError
from layoutalg.core.factors import Factor, XorFactor, xor_factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_ENTRIES, MOST_SWIZZLED
from layoutalg.core.messages import number_text, shown
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.relation import as_layout
from layoutalg.core.whole_numbers import found_whole

if TYPE_CHECKING:
    from layoutalg.viz.picture import Picture

__all__ = ["Swizzle", "Swizzled", "swizzled", "unswizzled"]


@dataclass(frozen=True, slots=True)
class Swizzle(NotebookAnswer):
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
            at = at.astype("int64") if at.dtype.itemsize < 8 else at
        return at ^ ((at >> self.shift) & (((1 << self.bits) - 1) << self.base))

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def _text(self) -> str:
        bits = [
            f"{low}..{low + self.bits - 1}" if self.bits > 1 else f"{low}"
            for low in (self.base + self.shift, self.base)
        ]
        return f"{self}: of an address, bits {bits[0]} are XORed onto bits {bits[1]}"

    def picture(self) -> Picture:
        """The addresses of one period, as many in a row as the swizzle shifts by.

        Raises `SizeError` for a period of more than 4,096 addresses.

        >>> Swizzle(2, 0, 2).picture().title
        'Sw<2,0,2> of 16 addresses, 4 in a row'
        """
        if self.period > MOST_SWIZZLED:
            raise SizeError(f"{self}: {number_text(self.period)} addresses; a picture has at most {MOST_SWIZZLED}")
        row = 1 << self.base + self.shift
        block = swizzled(Layout([[Factor(1 << self.bits, row, "addr")], [Factor(row, 1, "addr")]]), self)
        return block.picture(title=f"{self} of {self.period} addresses, {row} in a row")

    @property
    def period(self) -> int:
        """Addresses that differ by a multiple of this are swizzled alike; an aligned block of it maps onto itself.

        >>> Swizzle(2, 0, 2).period
        16
        """
        return 1 << (self.base + self.shift + self.bits)


def swizzled(layout: Layout, swizzle: Swizzle, axis: str = "addr") -> Layout:
    """A layout whose coordinates on `axis` are swizzled afterwards; an offset there is added before the swizzle.

    Raises `CompositionError` where the bits that the swizzle reads or changes are no digits of the layout, as in rows of 96
    words (96 = 3 * 32, and bits 5 and 6 are one digit); `LayoutError` for an axis that the layout does not have.

    >>> print(swizzled(Layout.parse("d0 = 4@addr:4, d1 = 4@addr"), Swizzle(bits=2, base=0, shift=2)))
    d0 = 2@(addr:2^addr:8) 2@(addr^addr:4), d1 = 2@(addr:2) 2@(addr)
    """
    as_layout(layout, "swizzled layout")
    if not isinstance(swizzle, Swizzle):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"swizzle {shown(swizzle)}: expected a Swizzle, such as Swizzle(bits=2, base=0, shift=2)")
    if not isinstance(axis, str) or axis not in layout.codomain:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"swizzle of axis {shown(axis)}: {layout} has {', '.join(layout.codomain)}")
    layout.require_numbers("swizzling it")
    starts = layout.offsets
    reach: dict[str, Any] = layout.spans()
    start = starts.pop(axis, 0)
    end = start + reach.pop(axis, 1)
    if start < 0:
        raise CompositionError(f"{layout} starts at {start} along {axis!r}, and a swizzle counts from 0")
    read = 1 << swizzle.base + swizzle.shift
    changing = [(axis, 1 << swizzle.base + i) for i in range(swizzle.bits) if read << i < end]
    if not changing:
        return layout
    top = read << len(changing)
    moved = (
        Factor(-(-end // top), top, axis),
        *[xor_factor([low, (axis, low[1] << swizzle.shift)]) for low in changing[::-1]],
    )
    others = [(Factor(size, 1, name),) for name, size in reach.items()]
    names = (axis, *reach)
    outer = layout.as_written(
        ((*moved, Factor(read, 1, axis)), *others), (), (), names, (0,) * len(names), layout.codomain_order, ()
    )
    inner = layout.of_parts(
        layout.dims,
        layout.replicas,
        ((axis, start),) if start else (),
        layout.names,
        layout.origins,
        layout.codomain_order,
        layout.flips,
    )
    try:
        found = compose(outer, inner)
    except CompositionError as error:
        raise CompositionError(
            f"{layout} has no factors after {swizzle} on {axis!r}: the bits of {axis!r} that it reads or changes are no digits "
            f"of the layout ({str(error).removeprefix('compose: ').split(' (outer ')[0]})"
        ) from None
    return layout.of_parts(
        found.dims,
        found.replicas,
        tuple(sorted({**starts, **found.offsets}.items())),
        layout.names,
        layout.origins,
        layout.codomain_order,
        found.flips,
    ).canonical()


def unswizzled(layout: Layout) -> Layout | None:
    """The layout without its XORs: of the places that a bit flips, the one that no other bit flips alone stays.

    None for a layout without XOR, and where that leaves a bit with none or several places.

    >>> print(unswizzled(swizzled(Layout.parse("d0 = 4@addr:4, d1 = 4@addr"), Swizzle(bits=2, base=0, shift=2))))
    d0 = 4@addr:4, d1 = 4@addr
    """
    as_layout(layout, "unswizzled layout")
    form = layout.canonical()
    if form.flips is None or any(isinstance(one, XorFactor) for one in form.replicas):
        return None
    alone = {one.places for row in form.dims for one in row if isinstance(one, XorFactor) and len(one.places) == 1}
    dims: list[tuple[Factor, ...]] = []
    for row in form.dims:
        factors: list[Factor] = []
        for one in row:
            if not isinstance(one, XorFactor):
                factors.append(one)
                continue
            left = [place for place in one.places if len(one.places) == 1 or (place,) not in alone]
            if len(left) != 1:
                return None
            ((axis, weight),) = left
            factors.append(Factor(2, weight, axis))
        dims.append(tuple(factors))
    offsets = tuple(sorted(form.offsets.items()))
    order = layout.codomain_order
    return layout.of_parts(tuple(dims), form.replicas, offsets, form.names, form.origins, order, None).canonical()


Swizzled = swizzled
"""Its name of earlier versions, where a swizzled layout was a class of its own."""
