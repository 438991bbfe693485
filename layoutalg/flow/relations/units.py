"""Is a tensor spread in units: does every tile of the hardware's size lie in the lanes that the hardware wants it in?

A dpas multiplies 8x16 of A with one column per lane; a block message delivers such a tile. A tensor of 32x32 fits when each
of its tiles does, wherever the tiles are (in registers one after the other, or in other subgroups):

>>> unit = Layout.parse("d0 = 8@reg, d1 = 16@lane")
>>> misfit(Layout.parse("d0 = 2@sg 2@reg:16 8@reg, d1 = 2@reg:8 16@lane"), unit)

Where it does not, the answer says which dimension is at fault, and how:

>>> misfit(Layout.parse("d0 = 8@lane:2, d1 = 8@reg 2@lane"), unit)
'dimension 0 of an 8x16 tile is 8@lane:2, expected 8@reg'
>>> misfit(Layout.parse("d0 = 32@reg, d1 = 2@sg 8@lane"), unit)
'dimension 1 has 2@sg inside a tile of 16: no subgroup holds a whole one'

The registers of a tile are counted as the hardware counts them. Tiles may come in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from layoutalg.core.carrying import settled
from layoutalg.core.errors import CompositionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout

__all__ = ["misfit"]

_CACHED = 1 << 14


@lru_cache(maxsize=_CACHED)
def misfit(layout: Layout, unit: Layout, lanes: bool = True) -> str | None:
    """Why a layout does not consist of units, in words; None where it does. Without `lanes`, subgroups alone are asked about.

    >>> misfit(Layout.parse("d0 = 12@reg, d1 = 16@lane"), Layout.parse("d0 = 8@reg, d1 = 16@lane"))
    'dimension 0 has 12 elements, not a multiple of 8'
    """
    sizes = [int(size) for size in unit.shape]
    if layout.rank != len(sizes):
        return f"it has {layout.rank} dimensions, expected {len(sizes)}"
    for dim, (size, tile) in enumerate(zip(layout.shape, sizes, strict=True)):
        if not isinstance(size, int) or size % tile:
            return f"dimension {dim} has {size} elements, not a multiple of {tile}"
    try:
        parts = layout.divide(sizes)
    except CompositionError:
        return f"its factors do not split into tiles of {'x'.join(map(str, sizes))} (in {layout})"
    outer, inner = parts.dims[: len(sizes)], parts.dims[len(sizes) :]
    for dim, (above, below) in enumerate(zip(outer, inner, strict=True)):
        across = next((factor for factor in below if factor.axis == "sg"), None)
        if across is not None:
            return f"dimension {dim} has {across} inside a tile of {sizes[dim]}: no subgroup holds a whole one"
        among = next((factor for factor in above if factor.axis == "lane"), None)
        if lanes and among is not None:
            return (
                f"tiles of {sizes[dim]} along dimension {dim} are in different lanes ({among}); all lanes share a tile"
            )
    if not lanes:
        return None
    copies = next((factor for factor in layout.replicas if factor.axis == "lane"), None)
    if copies is not None and not any(factor.axis == "lane" for factor in unit.replicas):
        return f"{copies.extent} lanes hold copies of each element"
    found, wanted = settled(Layout(inner)).canonical(), settled(unit).canonical()
    return None if found == wanted else _difference(found, wanted, sizes)


def _difference(found: Layout, wanted: Layout, sizes: Sequence[int]) -> str:
    tile = "x".join(map(str, sizes))
    article = "an" if tile[0] == "8" or tile.startswith(("11", "18")) else "a"
    for dim, (here, there) in enumerate(zip(found.dims, wanted.dims, strict=True)):
        if here != there:
            return f"dimension {dim} of {article} {tile} tile is {_text(here)}, expected {_text(there)}"
    return f"{article} {tile} tile is {found}, expected {wanted}"


def _text(factors: tuple[Factor, ...]) -> str:
    return " ".join(map(str, factors)) or "1"
